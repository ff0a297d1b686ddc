package checker

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWitnesses(t *testing.T) {
	g := &grid{side: 6}
	r, err := Witnesses(g, nil, Options{})
	require.NoError(t, err)
	assert.Equal(t, Found, r.Status)
	require.Len(t, r.Witnesses, 1)
	assert.Equal(t, "Corner", r.Witnesses[0].Property)
	require.Len(t, r.Witnesses[0].Trace, 13)
	checkTrace(t, g, r.Witnesses[0].Trace)

	r, err = Witnesses(&grid{side: 6, bound: 5}, []string{"Corner"}, Options{})
	require.NoError(t, err)
	assert.Equal(t, Absent, r.Status)
	assert.Equal(t, []string{"Corner"}, r.Never())
	assert.EqualValues(t, 36, r.Distinct)

	r, err = Witnesses(g, nil, Options{MaxDepth: 5})
	require.NoError(t, err)
	assert.Equal(t, Limit, r.Status)
	assert.Equal(t, "depth", r.LimitedBy)
	assert.Equal(t, "open", r.Properties[0].Verdict)

	for want, names := range map[string][]string{"in every state": {"NotOnWall"}, "in every step": {"Straight"}, `"None"`: {"None"}} {
		_, err = Witnesses(g, names, Options{})
		assert.ErrorContains(t, err, want)
	}
	_, err = Witnesses(g, nil, Options{Exact: true})
	assert.Error(t, err)
}

// A survey counts what Run counts, level by level.
func TestSurveyCountsAsRun(t *testing.T) {
	spec := Interned(&relay{processes: 3, inFlight: 2, maxSeq: 1, budgets: [4]uint8{0, 0, 0, 1}})
	want, err := Run(spec, Options{KeepGoing: true})
	require.NoError(t, err)
	got, err := Witnesses(spec, []string{"Impossible"}, Options{})
	require.NoError(t, err)
	assert.Equal(t, Absent, got.Status)
	assert.Equal(t, want.Levels, got.Levels)
	assert.Equal(t, want.Generated, got.Generated)
	assert.Equal(t, want.Actions, got.Actions)
	assert.Equal(t, want.Bounds, got.Bounds)
	assert.Equal(t, want.Initial, got.Initial)
}

func TestCounterexamplesDiffer(t *testing.T) {
	spec := Interned(&relay{processes: 3, inFlight: 2, maxSeq: 1, budgets: [4]uint8{0, 0, 1, 1}, countTwice: true})
	shortest, err := Run(spec, Options{})
	require.NoError(t, err)
	r, err := Run(spec, Options{Counterexamples: 60})
	require.NoError(t, err)
	assert.Equal(t, Violated, r.Status)
	require.Greater(t, len(r.Violations), 2)
	assert.Len(t, r.Violations[0].Trace, len(shortest.Violations[0].Trace))
	count := func(trace []TraceStep) (c actionCounts) {
		for _, s := range trace[1:] {
			c[s.Instance.Action]++
		}
		return c
	}
	for i, v := range r.Violations {
		checkTrace(t, spec, v.Trace)
		assert.Empty(t, v.Restates)
		for j := range i {
			w := r.Violations[j]
			assert.LessOrEqual(t, len(w.Trace), len(v.Trace), "the shortest first")
			if w.Property == v.Property && last(w.Trace).Instance.Action == last(v.Trace).Instance.Action {
				a, b := count(w.Trace), count(v.Trace)
				assert.False(t, a.within(&b), "%d is %d with more steps", i, j)
			}
		}
	}

	// On the grid all ways to the wall are one in another order, but for the last step.
	r, err = Run(&grid{side: 9, wall: 3}, Options{Counterexamples: 5})
	require.NoError(t, err)
	require.Len(t, r.Violations, 1, "the second way to a state is not a second state")
	assert.Equal(t, "NotOnWall", r.Violations[0].Property)
	r, err = Run(&grid{side: 9, wall: 3}, Options{Counterexamples: 5, Properties: []string{"Straight"}})
	require.NoError(t, err)
	require.Len(t, r.Violations, 2, "restates a guard, but was named; two actions lead there")

	for _, opt := range []Options{{Counterexamples: -1}, {Counterexamples: 2, Workers: 2}, {Counterexamples: 2, Order: DepthFirst}} {
		_, err = Run(&grid{side: 3}, opt)
		assert.ErrorContains(t, err, "counterexamples")
	}
}
