package kafkasql

import "github.com/quorate/quorate/spec/concern"

// Concern lists the models and mutations of checkpoints for a SQL store.
func Concern() *concern.Concern { return listing.Concern() }

// Change overrides the rules of a model: what a mutation does.
type Change func(*Rules)

var listing = concern.Listing[Model, Change]{
	Name: "kafkasql", Doc: "checkpoints of a SQL store that is fed by a journal",
	Actions: actionNames, Mutants: mutants, Properties: Properties,
	Guards: guardNames, GuardsOf: func(a uint8) []concern.Guard { return guardsOf[Action(a)] },
	Models: Models, Mutations: Mutations, Pins: pins, Steps: steps, Lives: Lives,
	Clean: func() *Change {
		none := Change(func(*Rules) {})
		return &none
	},
	About: func(m *Model) concern.Model {
		return concern.Model{Name: m.Name, Why: m.Why, Constants: m.constants(), Deep: m.Deep, Unsafe: m.Unsafe}
	},
	Constants: []concern.Constant[Model]{
		concern.Number("keep", 1, MaxAttempts, func(m *Model) *int { return &m.Keep }),
		concern.Number("attempts", 0, MaxAttempts, func(m *Model) *int { return &m.Attempts }),
		concern.Number("crashes", 0, 9, func(m *Model) *uint8 { return &m.Crashes }),
		concern.Number("pauses", 0, 9, func(m *Model) *uint8 { return &m.Pauses }),
		concern.Number("trims", 0, 9, func(m *Model) *uint8 { return &m.Trims }),
		concern.Number("collections", 0, 9, func(m *Model) *uint8 { return &m.Collections }),
		concern.Number("damages", 0, 9, func(m *Model) *uint8 { return &m.Damages }),
		concern.Number("rewinds", 0, 2, func(m *Model) *uint8 { return &m.Rewinds }),
		concern.Number("lost", 0, 9, func(m *Model) *uint8 { return &m.Lost }),
		concern.Number("failures", 0, 9, func(m *Model) *uint8 { return &m.Failures }),
		concern.Number("clock-jumps", 0, 9, func(m *Model) *uint8 { return &m.Jumps }),
		concern.Number("unread", 3, MaxCoord, func(m *Model) *int { return &m.Unread }),
		concern.Switch("fine", func(m *Model) *bool { return &m.Fine }),
	},
	New: func(m *Model, c *Change, d concern.Drop) any {
		rules := CleanRules(m.Variant, m.Keep)
		if m.Decides != nil {
			m.Decides(rules)
		}
		(*c)(rules)
		return newMachine(m, rules, d)
	},
}
