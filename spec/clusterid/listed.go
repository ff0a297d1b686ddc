package clusterid

import "github.com/quorate/quorate/spec/concern"

// Concern lists the models and mutations of cluster-id discovery.
func Concern() *concern.Concern { return listing.Concern() }

var listing = concern.Listing[Model, Rules]{
	Name: "clusterid", Doc: "how a node that nobody has formatted learns the id of its cluster (KIP-1262)",
	Actions: actionNames, Mutants: []string{SecondProcess.String()}, Properties: Properties,
	Guards: guardNames, GuardsOf: func(a uint8) []concern.Guard { return guardsOf[Action(a)] },
	Models: Models, Mutations: Mutations, Pins: pins, Steps: steps, Clean: CleanRules, Lives: Lives,
	About: func(m *Model) concern.Model {
		return concern.Model{Name: m.Name, Why: m.Why, Constants: m.constants(), Deep: m.Deep, Unsafe: m.Unsafe}
	},
	Constants: []concern.Constant[Model]{
		concern.Number("epochs", 1, 4, func(m *Model) *int { return &m.Epochs }),
		concern.Number("crashes", 0, 9, func(m *Model) *uint8 { return &m.Crashes }),
		concern.Number("moves", 0, 9, func(m *Model) *uint8 { return &m.Moves }),
		concern.Number("lost-disks", 0, 9, func(m *Model) *uint8 { return &m.Losses }),
		concern.Number("failures", 0, 9, func(m *Model) *uint8 { return &m.Failures }),
		concern.Number("upgrades", 0, 9, func(m *Model) *uint8 { return &m.Upgrades }),
		concern.Number("snapshots", 0, 9, func(m *Model) *uint8 { return &m.Snapshots }),
		concern.Switch("voters", func(m *Model) *bool { return &m.Voters }),
		concern.Switch("timeouts", func(m *Model) *bool { return &m.Timeouts }),
		concern.Switch("formats", func(m *Model) *bool { return &m.Formats }),
	},
	New: func(m *Model, r *Rules, d concern.Drop) any { return newMachine(m, r, d) },
}
