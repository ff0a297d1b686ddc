package composed

import (
	"github.com/quorate/quorate/spec"
	"github.com/quorate/quorate/spec/bootstrap"
	"github.com/quorate/quorate/spec/clusterid"
)

// Rules are those of the three specifications, and the decisions where they meet.
type Rules struct {
	Spec      *spec.Rules
	Bootstrap *bootstrap.Rules
	ClusterID *clusterid.Rules

	// MayAppend: a state machine may write what its activation has decided. It hands the
	// epoch that it was told it leads to the replica (RaftClient.prepareAppend).
	MayAppend func(p *Process) bool
	// LoadedAtStart is how much of its log a state machine takes for committed when its
	// process starts. Nobody stores the high watermark.
	LoadedAtStart func(p *Process) uint8
	// SnapshotEnd is the end of the snapshot that a state machine writes of its state.
	SnapshotEnd func(p *Process) uint8
	// Refuses: a request of this id is answered with INCONSISTENT_CLUSTER_ID.
	Refuses func(own clusterid.ID, m *Msg) bool
	// CountsRefused: a fetch counts as progress before its id is looked at.
	CountsRefused bool
	// NeedsID: a bootstrap whose metadata.version knows cluster ids must have one.
	NeedsID bool
	// DiscardsSnapshots: who drops a log that may be another cluster's drops its snapshots.
	DiscardsSnapshots bool
}

// CleanRules are those of Kafka, KIP-1170 and KIP-1262.
func CleanRules() *Rules {
	return &Rules{
		Spec: spec.CleanRules(), Bootstrap: bootstrap.CleanRules(), ClusterID: clusterid.CleanRules(),
		MayAppend:         func(p *Process) bool { return p.Claimed == uint8(p.Election.Epoch) },
		LoadedAtStart:     func(p *Process) uint8 { return uint8(p.LogStart) },
		SnapshotEnd:       func(p *Process) uint8 { return p.Controller.Loaded },
		Refuses:           func(own clusterid.ID, m *Msg) bool { return m.ID != clusterid.NoID && m.ID != own },
		NeedsID:           true,
		DiscardsSnapshots: true,
	}
}
