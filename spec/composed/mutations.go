package composed

import (
	"github.com/quorate/quorate/spec"
	"github.com/quorate/quorate/spec/clusterid"
	"github.com/quorate/quorate/spec/concern"
)

// Mutation is a bug put back: one rule overridden.
type Mutation = concern.Mutated[Rules]

func mutation(id, title, source, story, model, property string, override func(*Rules)) Mutation {
	return Mutation{Mutation: concern.Mutation{ID: id, Title: title, Source: source, Story: story, Model: model, Property: property}, Override: override}
}

// ofSpec is a mutation of package spec, here.
func ofSpec(id string) func(*Rules) {
	return func(r *Rules) {
		mu, ok := spec.MutationNamed(id)
		if !ok {
			panic("no mutation " + id)
		}
		mu.Override(r.Spec)
	}
}

// Mutations are bugs that it takes two concerns to see, one at least of each pair.
var Mutations = []Mutation{
	mutation("pair-early-high-watermark", "the high watermark may move when a majority has only reached the epoch's start offset", "KAFKA-12619",
		"See KAFKA-12619: it takes a leader that commits, and another one that has not what was committed.",
		"pair-election-commit", "CommittedStable", ofSpec("KAFKA-12619")),
	mutation("stale-claim", "activation goes on writing under whatever epoch its replica leads", "RaftClient.prepareAppend takes the epoch for this",
		"A is told that it leads epoch 1 and decides to write its bootstrap. C leads epoch 2 and commits its own. A is elected again before its state machine has heard of any of it, and writes what it had decided.",
		"pair-election-bootstrap", "OneBootstrap", func(r *Rules) {
			r.MayAppend = func(*Process) bool { return true }
		}),
	mutation("pair-transfer-outlives-epoch", "a transfer goes on with another leader's snapshot of that name", "transfer-outlives-epoch of package spec",
		"B has a part of A's snapshot when C is elected. C holds a snapshot of the same name, and B asks it for the rest.",
		"pair-election-snapshot", "SnapshotWhole", ofSpec("transfer-outlives-epoch")),
	mutation("vote-unchecked", "a vote request is not checked for its cluster id", "KIP-1262: every request carries the id",
		"C was formatted for another cluster and is configured as a voter of this one. It stands, and B votes for it: the cluster is led from another one.",
		"pair-election-cluster-id", "RightID", func(r *Rules) {
			clean := r.Refuses
			r.Refuses = func(own clusterid.ID, m *Msg) bool { return m.Kind != spec.Vote && clean(own, m) }
		}),
	mutation("local-log-is-committed", "a controller that starts takes all that is in its log for committed", "nobody stores the high watermark; KIP-595",
		"B has the bootstrap in its log, or a part of it, restarts before it is told how far that is committed, and serves it.",
		"pair-commit-bootstrap", "NoUncommittedReplay", func(r *Rules) {
			r.LoadedAtStart = func(p *Process) uint8 { return uint8(p.Log.End()) }
		}),
	mutation("pair-snapshot-above-high-watermark", "a snapshot is taken of what is in the log, committed or not", "snapshot-above-high-watermark of package spec",
		"A takes a snapshot of a record that nobody else has.",
		"pair-commit-snapshot", "SnapshotCommitted", ofSpec("snapshot-above-high-watermark")),
	mutation("refused-fetch-counts", "a fetch counts as progress before its cluster id is looked at", "KAFKA-13141, of ids",
		"C has a record of another cluster, of the same epoch and at the same offset as A's, and fetches behind it. A counts the fetch, refuses it, and commits its record on C's account.",
		"pair-commit-cluster-id", "CommittedByMajority", func(r *Rules) { r.CountsRefused = true }),
	mutation("snapshot-named-high-watermark", "a snapshot bears the name of the high watermark, and holds what the state machine has", "KAFKA-14618, between two threads",
		"The state machine has not replayed the end of the bootstrap yet when its snapshot is named. Who installs it goes on behind what it never saw.",
		"pair-bootstrap-snapshot", "SnapshotStable", func(r *Rules) {
			r.SnapshotEnd = func(p *Process) uint8 { return p.known() }
		}),
	mutation("default-without-id", "a default bootstrap is written though its metadata.version knows cluster ids", "scenario 16; case 5 of KIP-1170 with KIP-1262",
		"B has neither a zero checkpoint nor bootstrap.checkpoint. It leads, and writes a metadata.version that promises an id that nobody has: a node that was not formatted never learns one.",
		"pair-bootstrap-cluster-id", "IDGate", func(r *Rules) { r.NeedsID = false }),
	mutation("discard-keeps-snapshot", "a node that drops the log of an unknown cluster keeps its snapshots", "docs/kip-1262.md, row 18",
		"An observer has installed a snapshot from before the cluster had an id, and restarts. It drops its log, and holds a snapshot that its log does not go on from.",
		"pair-snapshot-cluster-id", "LogContiguity", func(r *Rules) { r.DiscardsSnapshots = false }),
}
