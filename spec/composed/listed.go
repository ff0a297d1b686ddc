package composed

import (
	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/spec"
	"github.com/quorate/quorate/spec/concern"
)

// The five concerns.
const (
	Election  = "election"
	Commit    = "commit"
	Bootstrap = "bootstrap"
	Snapshot  = "snapshot"
	ClusterID = "cluster-id"
)

// Five are all of them.
var Five = []string{Election, Commit, Bootstrap, Snapshot, ClusterID}

// Concern lists the models and mutations of the composition.
func Concern() *concern.Concern { return listing.Concern() }

// unused are actions that no model takes: those of package spec that its own models are
// for.
var unused = []string{
	"BecomeProspective", "AbandonPreVote", "CheckQuorumResign", "Resign", "LeaveResigned", "StartRead", "ServeRead", "LoseDisk",
	"HandleBeginQuorumEpochResponse", "Duplicate", "CloseConnection",
	"SendEndQuorumEpoch", "HandleEndQuorumEpochRequest", "HandleEndQuorumEpochResponse",
	"AddVoter", "RemoveVoter", "UpdateVoter",
}

var listing = concern.Listing[Model, Rules]{
	Name: "composed", Doc: "election, commit, bootstrap, snapshot and cluster ids with each other",
	Actions: actionNames, Mutants: unused, Properties: Properties,
	GuardsOf: func(uint8) []concern.Guard { return nil },
	Models:   Models, Mutations: Mutations, Pins: pins, Steps: steps, Clean: CleanRules,
	About: func(m *Model) concern.Model {
		return concern.Model{Name: m.Name, Why: m.Why, Constants: m.constants(), Deep: m.Deep, Unsafe: m.Unsafe, Of: m.Of, Meets: m.Meets}
	},
	Constants: []concern.Constant[Model]{
		concern.Number("epochs", 1, 6, func(m *Model) *spec.Epoch { return &m.Epochs }),
		concern.Number("records", 0, 9, func(m *Model) *uint8 { return &m.Records }),
		concern.Number("crashes", 0, 9, func(m *Model) *uint8 { return &m.Crashes }),
		concern.Number("snapshots", 0, maxHeld, func(m *Model) *uint8 { return &m.Snapshots }),
		concern.Number("in-flight", 1, checker.MaxMessages, func(m *Model) *int { return &m.InFlight }),
		concern.Switch("transactions", func(m *Model) *bool { return &m.Transactions }),
		concern.Switch("lazy-standbys", func(m *Model) *bool { return &m.LazyStandbys }),
		concern.Switch("no-election", func(m *Model) *bool { return &m.NoElection }),
		concern.Switch("no-commit", func(m *Model) *bool { return &m.NoCommit }),
		concern.Switch("no-bootstrap", func(m *Model) *bool { return &m.NoBootstrap }),
		concern.Switch("no-snapshot", func(m *Model) *bool { return &m.NoSnapshot }),
		concern.Switch("no-cluster-id", func(m *Model) *bool { return &m.NoClusterID }),
	},
	New: func(m *Model, r *Rules, d concern.Drop) any { return newSystem(m, r, d) },
}
