package kafkasqlc

import "github.com/quorate/quorate/spec/concern"

// Concern lists the models and mutations of checkpoints as they were shipped.
func Concern() *concern.Concern { return listing.Concern() }

var listing = concern.Listing[Model, Rules]{
	Name: "kafkasqlc", Doc: "checkpoints of a SQL store as they were shipped, with markers in the journal",
	Actions: actionNames, Mutants: []string{WaiterTimeout.String(), RetentionByTime.String()}, Properties: Properties,
	GuardsOf: func(uint8) []concern.Guard { return nil },
	Models:   Models, Mutations: Mutations, Pins: pins, Steps: steps,
	Clean: func() *Rules { return &Rules{} },
	About: func(m *Model) concern.Model {
		return concern.Model{Name: m.Name, Why: m.Why, Constants: m.constants(), Unsafe: m.Unsafe}
	},
	Constants: []concern.Constant[Model]{
		concern.Number("operations", 0, MaxJournal, func(m *Model) *uint8 { return &m.Operations }),
		concern.Number("snapshots", 0, MaxSnapshots, func(m *Model) *uint8 { return &m.Snapshots }),
		concern.Number("crashes", 0, 9, func(m *Model) *uint8 { return &m.Crashes }),
		concern.Number("expired", 0, MaxJournal, func(m *Model) *uint8 { return &m.Expired }),
		concern.Number("lost-disks", 0, 9, func(m *Model) *uint8 { return &m.Disks }),
	},
	New: func(m *Model, r *Rules, _ concern.Drop) any {
		if m.Decides != nil {
			m.Decides(r)
		}
		return newMachine(m, r)
	},
}
