package composed

import (
	"fmt"

	"github.com/quorate/quorate/spec"
	"github.com/quorate/quorate/spec/bootstrap"
)

// Model is a box: one of package spec, and what controllers and nodes are given.
type Model struct {
	spec.Model
	// Of are the concerns that it is of, Meets the property that shows them meeting.
	Of    []string
	Meets string
	// Concerns that are left out of it, to see what is not caught then. Without election A
	// leads epoch 1 from the beginning; without commit it does too, and is the only voter, so
	// that its records are committed when they are written; without snapshots, bootstrap or
	// cluster ids there are none.
	NoElection, NoCommit, NoBootstrap, NoSnapshot, NoClusterID bool

	// Controllers are the first replicas. With Bootstraps they have Files, the last of which
	// stands for those after it.
	Controllers  int
	Bootstraps   bool
	Files        []bootstrap.Files
	Transactions bool
	// LazyStandbys replay nothing until they lead.
	LazyStandbys bool

	// ClusterID: the controllers are formatted with id A, and everybody else with none.
	ClusterID bool
	// Foreign are replicas that were formatted with id B, and are configured as if they
	// belonged here; ForeignLog: with a record of that cluster.
	Foreign    spec.Set
	ForeignLog bool
}

// without is the model without what is left out.
func (m *Model) without() *Model {
	w := *m
	if m.NoElection {
		w.Epochs, w.Stand = 1, []spec.Set{0}
	}
	if m.NoCommit {
		w.Observers, w.Voters = m.Observers+m.Voters-1, 1
		w.MergeFlush, w.Crashes, w.Epochs, w.Stand = true, 0, 1, []spec.Set{0}
	}
	if m.NoSnapshot {
		w.Snapshots, w.Parts = 0, 0
	}
	if m.NoBootstrap {
		w.Bootstraps = false
	}
	if m.NoClusterID {
		w.ClusterID, w.Foreign = false, 0
	}
	return &w
}

// ours are the voters that belong to the cluster.
func (m *Model) ours() spec.Set { return spec.All(m.Voters) &^ m.Foreign }

func (m *Model) constants() string {
	t := m.Model.Constants()
	add := func(ok bool, text string) {
		if ok {
			t += ", " + text
		}
	}
	add(m.Bootstraps && m.Transactions, "bootstrap in a transaction")
	add(m.Bootstraps && !m.Transactions, "bootstrap in one batch")
	add(m.Bootstraps && m.LazyStandbys, "standbys replay when they lead")
	add(m.ClusterID, "cluster ids")
	add(m.Foreign != 0, fmt.Sprintf("%s of another cluster", m.Foreign))
	return t
}

const (
	a spec.ID = iota + 1
	b
	c
)

func stand(sets ...spec.Set) []spec.Set { return sets }

var (
	justA = spec.SetOf(a)
	justC = spec.SetOf(c)
	aOrC  = spec.SetOf(a, c)

	requests = spec.Kinds(spec.Vote, spec.BeginQuorumEpoch, spec.Fetch)
	all      = spec.Kinds(spec.Vote, spec.BeginQuorumEpoch, spec.Fetch, spec.FetchSnapshot)
	silent   = spec.Kinds(spec.BeginQuorumEpoch)

	fresh = []bootstrap.Files{{Zero: bootstrap.ZeroWith(bootstrap.OfZero)}}
	none  = []bootstrap.Files{{}}
)

// Models are all models. The pairs first.
var Models = []Model{
	{
		Model: spec.Model{
			Name: "pair-election-commit", Why: "A and C lead by turns, and commit what the other has left",
			Voters: 3, Epochs: 4, InFlight: 1, Immediate: requests, Silent: silent, Stand: stand(justA, justC, justA, justC), MergeFlush: true,
		},
		Of: []string{Election, Commit}, Meets: "CommittedByLaterEpoch", Controllers: 3,
	},
	{
		Model: spec.Model{
			Name: "pair-election-bootstrap", Why: "a bootstrap transaction while A, C and A lead",
			Voters: 3, Epochs: 3, InFlight: 1, Immediate: requests, Silent: silent, Stand: stand(justA, justC, justA), MergeFlush: true,
		},
		Of: []string{Election, Bootstrap}, Meets: "BootstrapCut", Controllers: 3, Bootstraps: true, Files: fresh, LazyStandbys: true,
	},
	{
		Model: spec.Model{
			Name: "pair-election-snapshot", Why: "a new leader while a snapshot is on its way in two parts",
			Voters: 3, Epochs: 2, Snapshots: 2, Parts: 2, InFlight: 1, Immediate: requests, Silent: silent, Stand: stand(justA, justC), MergeFlush: true,
		},
		Of: []string{Election, Snapshot}, Meets: "TransferOvertaken", Controllers: 3,
	},
	{
		Model: spec.Model{
			Name: "pair-election-cluster-id", Why: "a voter of another cluster stands, and an observer learns its id over a change of leader",
			Voters: 3, Observers: 1, Epochs: 2, InFlight: 1, Immediate: requests, Silent: silent, Stand: stand(aOrC, spec.SetOf(b, c)), MergeFlush: true,
		},
		Of: []string{Election, ClusterID}, Meets: "FollowedAnotherLeader", Controllers: 3, ClusterID: true, Foreign: spec.SetOf(c),
	},
	{
		Model: spec.Model{
			Name: "pair-commit-bootstrap", Why: "a bootstrap transaction that is flushed, committed and lost record by record",
			Voters: 2, Epochs: 1, Crashes: 1, InFlight: 1, Immediate: requests, Silent: silent, Stand: stand(justA),
		},
		Of: []string{Commit, Bootstrap}, Meets: "CommittedInTransaction", Controllers: 2, Bootstraps: true, Files: fresh, Transactions: true,
	},
	{
		Model: spec.Model{
			Name: "pair-commit-snapshot", Why: "snapshots while records are on their way to a majority",
			Voters: 3, Epochs: 1, Records: 1, Snapshots: 1, InFlight: 1, Immediate: requests, Silent: silent, Stand: stand(justA),
		},
		Of: []string{Commit, Snapshot}, Meets: "SnapshotBelowEnd", Controllers: 3,
	},
	{
		Model: spec.Model{
			Name: "pair-commit-cluster-id", Why: "a voter of another cluster fetches, and an observer learns its id as it is committed",
			Voters: 3, Observers: 1, Epochs: 1, InFlight: 1, Immediate: requests, Silent: silent, Stand: stand(justA), Bootstrap: true,
		},
		Of: []string{Commit, ClusterID}, Meets: "IDSeenUncommitted", Controllers: 3, ClusterID: true, Foreign: spec.SetOf(c), ForeignLog: true,
	},
	{
		Model: spec.Model{
			Name: "pair-bootstrap-snapshot", Why: "snapshots of a state machine that is behind, and the zero checkpoint that they replace",
			Voters: 1, Observers: 1, Epochs: 2, Records: 1, Snapshots: 1, Crashes: 1, InFlight: 1, Immediate: all, Silent: silent, Stand: stand(justA, justA),
		},
		Of: []string{Bootstrap, Snapshot}, Meets: "ZeroSuperseded", Controllers: 1, Bootstraps: true, Files: fresh,
	},
	{
		Model: spec.Model{
			Name: "pair-bootstrap-cluster-id", Why: "an observer learns its id from a bootstrap; a controller has nothing to bootstrap from",
			Voters: 2, Observers: 1, Epochs: 1, InFlight: 1, Immediate: requests, Silent: silent, Stand: stand(spec.SetOf(a, b)), MergeFlush: true,
		},
		Of: []string{Bootstrap, ClusterID}, Meets: "LearnedFromBootstrap", Controllers: 2, Bootstraps: true, Transactions: true, ClusterID: true, LazyStandbys: true,
		Files: []bootstrap.Files{fresh[0], none[0]},
	},
	{
		Model: spec.Model{
			Name: "pair-snapshot-cluster-id", Why: "an observer learns its id from a snapshot, or drops one that has none",
			Voters: 1, Observers: 1, Epochs: 2, Snapshots: 1, Crashes: 1, InFlight: 1, Immediate: all, Silent: silent, Stand: stand(justA, justA),
		},
		Of: []string{Snapshot, ClusterID}, Meets: "LearnedFromSnapshot", Controllers: 1, ClusterID: true,
	},
	{
		Model: spec.Model{
			Name: "five-concerns", Why: "all five: A and B lead, one of them bootstraps, one takes a snapshot, and an observer learns its id",
			Voters: 2, Observers: 1, Epochs: 2, Snapshots: 1, InFlight: 1, Immediate: all, Silent: silent, Stand: stand(justA, spec.SetOf(b)), MergeFlush: true,
		},
		Of: Five, Meets: "FiveMet", Controllers: 2, Bootstraps: true, Files: fresh, Transactions: true, ClusterID: true, LazyStandbys: true,
	},
	{
		Model: spec.Model{
			Name: "five-concerns-deep", Why: "all five with three voters and two snapshots",
			Voters: 3, Observers: 1, Epochs: 2, Snapshots: 2, InFlight: 1, Immediate: all, Silent: silent, Stand: stand(justA, justC), MergeFlush: true,
			Deep: true,
		},
		Of: Five, Meets: "FiveMet", Controllers: 3, Bootstraps: true, Files: fresh, ClusterID: true, LazyStandbys: true,
	},
	{
		Model: spec.Model{
			Name: "election-bootstrap-transaction", Why: "a bootstrap transaction that is cut, or aborted, by the next leader",
			Voters: 3, Epochs: 2, InFlight: 1, Immediate: requests, Silent: silent, Stand: stand(justA, justC), MergeFlush: true,
		},
		Of: []string{Election, Bootstrap}, Meets: "OpenTransactionCut", Controllers: 3, Bootstraps: true, Files: fresh, Transactions: true, LazyStandbys: true,
	},
}
