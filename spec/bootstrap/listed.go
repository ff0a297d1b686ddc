package bootstrap

import "github.com/quorate/quorate/spec/concern"

// Concern lists the models and mutations of bootstrap.
func Concern() *concern.Concern { return listing.Concern() }

var listing = concern.Listing[Model, Rules]{
	Name: "bootstrap", Doc: "how the first metadata comes into the log (KIP-1170)",
	Actions: actionNames, Mutants: []string{InstallZero.String()}, Properties: Properties,
	Guards: guardNames, GuardsOf: func(a uint8) []concern.Guard { return guardsOf[Action(a)] },
	Models: Models, Mutations: Mutations, Pins: pins, Steps: steps, Clean: CleanRules, Lives: Lives,
	About: func(m *Model) concern.Model {
		return concern.Model{Name: m.Name, Why: m.Why, Constants: m.constants(), Deep: m.Deep, Unsafe: m.Unsafe}
	},
	Constants: []concern.Constant[Model]{
		concern.Number("epochs", 1, 9, func(m *Model) *int { return &m.Epochs }),
		concern.Number("format-runs", 0, 9, func(m *Model) *uint8 { return &m.Runs }),
		concern.Number("crashes", 0, 9, func(m *Model) *uint8 { return &m.Crashes }),
		concern.Number("records", 0, 9, func(m *Model) *uint8 { return &m.Others }),
		concern.Number("snapshots", 0, 9, func(m *Model) *uint8 { return &m.Snapshots }),
		concern.Number("reformats", 0, 9, func(m *Model) *uint8 { return &m.Reformats }),
		concern.Switch("transactions", func(m *Model) *bool { return &m.Transactions }),
		concern.Switch("dynamic", func(m *Model) *bool { return &m.Dynamic }),
		concern.Switch("deletions", func(m *Model) *bool { return &m.Deletions }),
		concern.Switch("lazy-standbys", func(m *Model) *bool { return &m.LazyStandbys }),
	},
	New: func(m *Model, r *Rules, d concern.Drop) any { return newMachine(m, r, d) },
}
