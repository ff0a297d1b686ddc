package checker

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSymmetryIsExact(t *testing.T) {
	for name, sys := range SymmetricRelays() {
		t.Run(name, func(t *testing.T) {
			orbits, err := VerifySymmetry(sys, 200_000)
			require.NoError(t, err)
			full, err := Run(Interned(sys), Options{KeepGoing: true})
			require.NoError(t, err)
			t.Logf("%d states, %d orbits", full.Distinct, orbits)
			assert.Positive(t, orbits)
			if name == "none" {
				assert.EqualValues(t, full.Distinct, orbits)
			} else {
				assert.Less(t, orbits, int(full.Distinct))
			}
		})
	}
}

// TestForgottenFieldIsFound leaves out one field after the other.
func TestForgottenFieldIsFound(t *testing.T) {
	for _, field := range []string{"waiting", "heard", "source", "ghost"} {
		sys := &twins{
			groups: [][]uint8{{0, 1}}, forget: field,
			relay: relay{processes: 2, inFlight: 2, maxSeq: 2},
		}
		_, err := VerifySymmetry(sys, 10_000)
		assert.Error(t, err, field)
		t.Log(err)
	}
}

// TestSymmetryIsRefused wants errors that say why.
func TestSymmetryIsRefused(t *testing.T) {
	relays := map[string]*twins{}
	for name, sys := range SymmetricRelays() {
		relays[name] = sys.(*twins)
	}
	sym := Options{Symmetry: true}
	refused := func(want string, err error) {
		t.Helper()
		assert.ErrorContains(t, err, want)
	}
	_, err := Run(Interned(System[relayR, relayM, relayG](&relays["two"].relay)), sym)
	refused("declares no symmetry", err)
	_, err = Run(Interned(relays["pinged"]), sym)
	refused("Lagging tells processes apart", err)
	_, err = Run(Interned(relays["pinged"]), Options{Symmetry: true, Properties: []string{"SeqSeen"}})
	assert.NoError(t, err)
	_, err = Find(Interned(relays["two"]), "A.seq == 1", sym)
	refused("a question may tell processes apart", err)
	_, err = Run(Interned(relays["two"]), Options{Symmetry: true, Order: DepthFirst})
	refused("only a breadth-first search", err)
	for text, groups := range map[string][][]uint8{
		"number 1 is twice":   {{0, 1}, {1, 2}},
		"number 2 is twice":   {{2, 2}},
		"the limit is 6":      {{0, 1, 2, 3, 4, 5, 6}},
		"more than 1440":      {{0, 1, 2, 3, 4, 5}, {6, 7, 8}},
		"processes and other": {{0, 3}},
	} {
		sys := *relays["three"]
		sys.groups = groups
		_, err = Run(Interned(&sys), sym)
		refused(text, err)
	}
}

// TestTracesUpToSymmetry replays counterexamples on the specification itself.
func TestTracesUpToSymmetry(t *testing.T) {
	for name, sys := range SymmetricRelays() {
		var lengths []int
		for _, symmetry := range []bool{false, true} {
			opt := Options{Symmetry: symmetry, Workers: 2, KeepGoing: true, Properties: []string{"SeqSeen", "NotAllWait", "AnswersBounded"}}
			for _, flatly := range []bool{false, true} {
				var r *Result
				var err error
				if flatly {
					r, err = Run(Flat(sys), opt)
				} else {
					r, err = Run(Interned(sys), opt)
				}
				require.NoError(t, err, name)
				for _, v := range r.Violations {
					lengths = append(lengths, len(v.Trace))
					checkTrace(t, Flat(sys), asFlat(t, sys, v.Trace))
				}
			}
		}
		quarter := len(lengths) / 4
		for k := range lengths {
			assert.Equal(t, lengths[k%quarter], lengths[k], name)
		}
		if name == "mutated" {
			assert.NotEmpty(t, lengths)
		}
	}
}

// asFlat finds the steps of a trace among those of Flat, by what a reader sees.
func asFlat(t *testing.T, sys System[relayR, relayM, relayG], trace []TraceStep) []TraceStep {
	spec := Flat(sys)
	var out []TraceStep
	var now FlatState[relayR, relayM, relayG]
	for k, step := range trace {
		found := false
		sink := newCollector(func(c successor[FlatState[relayR, relayM, relayG]]) {
			same := k == 0 || c.process == step.Process && c.instance == step.Instance
			if same && !found && fmt.Sprint(spec.Describe(c.state)) == fmt.Sprint(step.Fields) {
				found = true
				step.State = *c.state
			}
		})
		if k == 0 {
			spec.Init(sink)
		} else {
			spec.Next(&now, sink)
		}
		require.True(t, found, "step %d of a counterexample is none of the specification: %s", k, step.Step)
		now = step.State.(FlatState[relayR, relayM, relayG])
		out = append(out, step)
	}
	return out
}

func TestContentOrder(t *testing.T) {
	sys := &twins{groups: [][]uint8{{0, 1}}, relay: relay{processes: 2, inFlight: 2, maxSeq: 2}}
	reduced, err := Interned(System[relayR, relayM, relayG](sys)).(*interned[relayR, relayM, relayG]).reduced()
	require.NoError(t, err)
	s := reduced.(*interned[relayR, relayM, relayG])
	tuple := func(a, b uint8, network ...relayM) *Tuple {
		var u Tuple
		u[0], u[1] = s.internProcess(0, &relayR{ID: 0, Seq: a}), s.internProcess(1, &relayR{ID: 1, Seq: b})
		for x := range network {
			u.insert(x, s.internMessage(&network[x]))
		}
		u[tupleGhost] = s.internGhostLocked(&relayG{})
		return &u
	}
	late, early := relayM{kindPong, 0, 1, 2}, relayM{kindPing, 0, 1, 1}
	list := []*Tuple{tuple(0, 2), tuple(0, 2, early, late), tuple(0, 2, late), tuple(1, 0)}
	for i, a := range list {
		for j, b := range list {
			assert.Equal(t, i < j, s.contentLess(a, b), "%d %d", i, j)
		}
	}
}
