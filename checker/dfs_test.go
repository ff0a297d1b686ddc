package checker

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// counts are what does not depend on the order of a search.
func counts(r *Result) map[string]any {
	return map[string]any{
		"status": r.Status, "distinct": r.Distinct, "generated": r.Generated, "initial": r.Initial,
		"actions": r.Actions, "bounds": r.Bounds, "stuck": r.Stuck, "stopped": r.Stopped,
		"properties": r.Properties, "omission": r.Omission,
	}
}

func TestDepthFirstCountsAsBreadthFirst(t *testing.T) {
	for _, g := range []*grid{{side: 1}, {side: 60}, {side: 40, bound: 10}} {
		want, err := Run(g, Options{})
		require.NoError(t, err)
		got, err := Run(g, Options{Order: DepthFirst})
		require.NoError(t, err)
		assert.Equal(t, counts(want), counts(got))
		assert.Equal(t, want.Depth, got.Depth, "on a grid every behaviour to the corner has the same length")
		assert.Equal(t, DepthFirst, got.Order)
	}
}

// ladder has states that a depth-first search first reaches by a long way: a step
// up is tried before a leap, and what lies beyond depends on how far is left.
type ladder struct{ grid }

func (l *ladder) Next(s *gridState, out *Sink[gridState]) {
	for a, d := range []uint32{1, 7} {
		if to := s.X + d; to <= l.side {
			*out.Slot() = gridState{X: to}
			out.Commit(0, Instance{Action: ActionID(a)}, 0, 0)
		}
	}
}

func TestBoundOnDepthIsSound(t *testing.T) {
	for _, spec := range []Spec[gridState]{&ladder{grid{side: 40}}, &grid{side: 5}} {
		for depth := 1; depth < 45; depth++ {
			want, err := Run(spec, Options{MaxDepth: depth})
			require.NoError(t, err)
			got, err := Run(spec, Options{MaxDepth: depth, Order: DepthFirst})
			require.NoError(t, err)
			require.Equal(t, counts(want), counts(got), "depth %d", depth)
			require.Equal(t, want.LimitedBy, got.LimitedBy, "depth %d", depth)
		}
	}
}

func TestDepthFirstCounterexampleIsTheStack(t *testing.T) {
	g := &grid{side: 50, wall: 5}
	r, err := Run(g, Options{Order: DepthFirst})
	require.NoError(t, err)
	assert.Equal(t, Violated, r.Status)
	require.NotEmpty(t, r.Violations)
	v := r.Violations[0]
	assert.Equal(t, "NotOnWall", v.Property)
	assert.Equal(t, gridState{5, 5}, last(v.Trace).State)
	checkTrace(t, g, v.Trace)

	r, err = Run(g, Options{Order: DepthFirst, KeepGoing: true})
	require.NoError(t, err)
	assert.EqualValues(t, 51*51, r.Distinct)
	require.Len(t, r.Violations, 2)
	checkTrace(t, g, r.Violations[1].Trace)
	assert.Equal(t, "Straight", r.Violations[1].Property)
}

func TestDepthFirstLimits(t *testing.T) {
	r, err := Run(&grid{side: 300}, Options{Order: DepthFirst, MaxDistinct: 1000})
	require.NoError(t, err)
	assert.Equal(t, Limit, r.Status)
	assert.Equal(t, "states", r.LimitedBy)
	assert.True(t, r.Partial)
	assert.Less(t, r.Distinct, uint64(1010))

	for _, opt := range []Options{{Exact: true}, {Projected: true}, {Workers: 2}} {
		opt.Order = DepthFirst
		_, err = Run(&grid{side: 3}, opt)
		assert.ErrorContains(t, err, "depth-first search")
	}
	_, err = Run(&grid{side: 3}, Options{Order: "sideways"})
	assert.ErrorContains(t, err, `unknown order of search "sideways"`)
	_, err = Run(&grid{side: 30, panicAt: 7}, Options{Order: DepthFirst})
	var model *ModelError
	assert.ErrorAs(t, err, &model)
}

func TestSeen(t *testing.T) {
	s := newSeen(4, true)
	defer s.free()
	for i := uint64(1); i <= 5000; i++ {
		place, fresh := s.add(i * hashK1)
		require.True(t, fresh)
		s.setValue(place, uint32(i))
	}
	for i := uint64(1); i <= 5000; i++ {
		place, fresh := s.add(i * hashK1)
		require.False(t, fresh)
		require.Equal(t, uint32(i), s.value(place))
	}
	assert.Equal(t, 5000, s.n)
}
