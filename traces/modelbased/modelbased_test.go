package modelbased_test

import (
	"errors"
	"flag"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/spec"
	"github.com/quorate/quorate/traces/modelbased"
)

var large = flag.Bool("modelbased.large", false, "walk through larger models too, for some minutes")

// walked is a model to walk through, and how many of its edges the code takes, at least: a
// few may depend on what is drawn.
type walked struct {
	model   spec.Model
	covered int
}

var silent = spec.Kinds(spec.BeginQuorumEpoch)

// small are boxes of our own: what the models of the specification have, for fewer replicas.
var small = []walked{
	{spec.Model{Name: "two", Voters: 2, PreVote: spec.All(2), Epochs: 2, Resigns: 1, InFlight: 1, MergeFlush: true}, 7640},
	{spec.Model{Name: "two-upgrade", Voters: 2, PreVote: spec.SetOf(1), Epochs: 2, Resigns: 1, InFlight: 1, Silent: silent, MergeFlush: true}, 5340},
	{spec.Model{Name: "two-check-quorum", Voters: 2, Epochs: 2, Records: 1, Resigns: 1, CheckQuorum: true, InFlight: 1, Silent: silent, MergeFlush: true}, 8770},
	{spec.Model{Name: "two-late", Voters: 2, Epochs: 2, Late: 1, InFlight: 2, Silent: silent, Stand: []spec.Set{spec.SetOf(1), spec.SetOf(2)}, MergeFlush: true}, 7220},
	{spec.Model{Name: "two-bootstrap", Voters: 2, PreVote: spec.All(2), Epochs: 2, Records: 1, InFlight: 1, Bootstrap: true, MergeFlush: true}, 4740},
	{spec.Model{Name: "two-parked", Voters: 2, Epochs: 1, Records: 1, InFlight: 2, Park: true, Silent: silent, Immediate: spec.Kinds(spec.Vote), Stand: []spec.Set{spec.SetOf(1)}, MergeFlush: true}, 270},
	{spec.Model{Name: "two-reads", Voters: 2, Epochs: 1, Records: 1, Reads: 2, InFlight: 2, Stand: []spec.Set{spec.SetOf(1)}, Immediate: spec.Kinds(spec.Vote, spec.Fetch), MergeFlush: true}, 590},
	{spec.Model{Name: "two-snapshots", Voters: 2, Epochs: 1, Records: 1, Snapshots: 2, Parts: 2, Crashes: 1, InFlight: 1, Immediate: spec.Kinds(spec.Vote, spec.Fetch), Silent: silent, Stand: []spec.Set{spec.SetOf(1)}, MergeFlush: true}, 4490},
	{spec.Model{Name: "observer-snapshots", Voters: 2, Observers: 1, Epochs: 1, Snapshots: 2, Parts: 2, InFlight: 1, Immediate: spec.Kinds(spec.Vote, spec.BeginQuorumEpoch, spec.Fetch), Silent: silent, Stand: []spec.Set{spec.SetOf(1)}, MergeFlush: true}, 955},
	{spec.Model{Name: "half-truncation", Voters: 3, Epochs: 2, Records: 1, InFlight: 1, Silent: silent, Immediate: spec.Kinds(spec.Vote, spec.BeginQuorumEpoch, spec.Fetch), Stand: []spec.Set{spec.SetOf(1), spec.SetOf(3)}, MergeFlush: true}, 36_900},
	{spec.Model{Name: "three-leaders", Voters: 3, Epochs: 3, Records: 1, InFlight: 1, Silent: silent | spec.Kinds(spec.Fetch), Immediate: spec.Kinds(spec.Vote, spec.BeginQuorumEpoch, spec.Fetch), Stand: []spec.Set{spec.SetOf(1), spec.SetOf(3), spec.SetOf(1)}, MergeFlush: true}, 3320},
	{spec.Model{Name: "single-lost-disk", Voters: 1, PreVote: spec.All(1), Epochs: 3, Records: 1, Crashes: 1, Disks: 1, InFlight: 1}, 390},
}

// named are models of the specification, by name.
var named = []struct {
	name    string
	covered int
	large   bool
}{
	{"single", 3169, false},
	{"commit", 27000, false},
	{"vote-restart", 64700, false},
	{"truncation", 27880, false},
	{"observer", 20770, false},
	{"snapshot", 125_000, true},
	{"reads", 206_000, true},
	{"flush", 414_000, true},
	{"leader-restart", 1_146_000, true},
	{"check-quorum", 557_000, true},
	{"upgrade", 285_000, true},
	{"prevote-exchanges", 170_000, true},
	{"snapshot-transfer", 1, true},
	{"snapshot-diverged", 1, true},
}

func models(t *testing.T) []walked {
	list := append([]walked(nil), small...)
	for _, n := range named {
		if n.large && !*large || testing.Short() && n.name != "single" {
			continue
		}
		m, ok := spec.ModelNamed(n.name)
		require.True(t, ok, n.name)
		list = append(list, walked{*m, n.covered})
	}
	return list
}

// TestWalk: cores take every step of small models that they can take, and at random some
// more, and are after each where the specification is.
func TestWalk(t *testing.T) {
	var actions [spec.NumActions]int
	all, walks := models(t), 0
	for _, m := range all {
		t.Run(m.model.Name, func(t *testing.T) {
			walks++
			g, err := modelbased.Explore(&m.model, 2_000_000)
			require.NoError(t, err)
			w := newWalk(g, nil)
			require.NoError(t, w.all())
			require.NoError(t, w.wander(1, 200, 200))
			t.Log(w.report())
			counts, total := w.tally(), 0
			for _, n := range counts {
				total += n
			}
			require.Equal(t, len(g.Edges), total)
			require.GreaterOrEqual(t, counts[taken], m.covered)
			for k, covered := range w.covered {
				if covered {
					actions[g.Edges[k].Step.Action]++
				}
			}
		})
	}
	if walks < len(all) {
		return // not all were asked for
	}
	for a, n := range actions {
		if spec.ActionID(a).AboutMembership() {
			continue // the voter sets of these models do not change
		}
		require.NotZero(t, n, "no step of %v was taken", spec.ActionID(a))
	}
}

// mutant is a core with something wrong.
type mutant struct {
	replica
	before func(in *core.Input, s core.State)
	after  func(op *core.Op, s core.State) bool // false: the effect is left out
}

func (m *mutant) Step(now core.Ticks, in *core.Input, out *core.Effects) {
	if m.before != nil {
		m.before(in, m.State())
	}
	m.replica.Step(now, in, out)
	if m.after == nil {
		return
	}
	kept := out.Ops[:0]
	for _, op := range out.Ops {
		if m.after(&op, m.State()) {
			kept = append(kept, op)
		}
	}
	out.Ops = kept
}

func response(in *core.Input, kind core.MessageKind) bool {
	return in.Kind == core.InputResponse && in.Message.Kind == kind
}

func request(in *core.Input, kind core.MessageKind) bool {
	return in.Kind == core.InputRequest && in.Message.Kind == kind
}

// mutants are bugs, and a model in which the walk must come upon each.
var mutants = []struct {
	name, model string
	before      func(in *core.Input, s core.State)
	after       func(op *core.Op, s core.State) bool
}{
	{name: "every vote is taken for granted", model: "vote-restart", before: func(in *core.Input, _ core.State) {
		if response(in, core.Vote) {
			in.Message.Granted = true
		}
	}},
	{name: "a vote is granted whatever the log", model: "truncation", before: func(in *core.Input, s core.State) {
		if request(in, core.Vote) {
			in.Message.Offset, in.Message.LastEpoch = 1<<40, max(0, in.Message.Epoch-1)
		}
	}},
	{name: "the quorum-state file is not written", model: "vote-restart", after: func(op *core.Op, _ core.State) bool {
		return op.Kind != core.OpPersist
	}},
	{name: "a truncation does not reach the log", model: "truncation", after: func(op *core.Op, _ core.State) bool {
		return op.Kind != core.OpTruncate
	}},
	{name: "nothing is flushed", model: "commit", after: func(op *core.Op, _ core.State) bool {
		return op.Kind != core.OpFlush
	}},
	{name: "a fetch acknowledges what it asks for", model: "commit", before: func(in *core.Input, s core.State) {
		if request(in, core.Fetch) && s.Role == core.Leader && in.Message.Offset < s.LogEnd {
			in.Message.Offset, in.Message.LastEpoch = s.LogEnd, s.LastEpoch
		}
	}},
	{name: "a follower believes any high watermark", model: "observer", before: func(in *core.Input, _ core.State) {
		if response(in, core.Fetch) {
			in.Message.HighWatermark = 1 << 40
		}
	}},
	{name: "a follower does not hear that it has diverged", model: "truncation", before: func(in *core.Input, _ core.State) {
		if response(in, core.Fetch) {
			in.Message.Diverging = core.NoEpochEnd
		}
	}},
	{name: "a record of a client is not written", model: "single", after: func(op *core.Op, _ core.State) bool {
		return op.Kind != core.OpAppendData
	}},
}

// TestMutants: the walk finds bugs.
func TestMutants(t *testing.T) {
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			model, ok := spec.ModelNamed(m.model)
			require.True(t, ok)
			g, err := modelbased.Explore(model, 100_000)
			require.NoError(t, err)
			w := newWalk(g, func(r replica) replica { return &mutant{replica: r, before: m.before, after: m.after} })
			err = w.all()
			var f *failure
			require.True(t, errors.As(err, &f), "not found: %v", err)
			t.Logf("after %d steps of cores: %.300v", w.steps, err)
		})
	}
}
