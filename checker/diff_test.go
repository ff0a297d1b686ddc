package checker

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// graphSpec is a state graph written down: each edge is an action and a state.
type graphSpec struct {
	edges map[uint64][]graphEdge
	begin []uint64
	label func(uint64) string // a field that several states may share
}

type graphEdge struct {
	action ActionID
	to     uint64
}

func (g *graphSpec) Info() *Info {
	return &Info{Name: "graph", Actions: []string{"a", "b", "c"}, Processes: []string{"P"}}
}

func (g *graphSpec) Init(out *Sink[uint64]) {
	for _, s := range g.begin {
		*out.Slot() = s
		out.Commit(-1, Instance{}, 0, 0)
	}
}

func (g *graphSpec) Next(s *uint64, out *Sink[uint64]) {
	for _, e := range g.edges[*s] {
		*out.Slot() = e.to
		out.Commit(0, Instance{Action: e.action}, 0, 0)
	}
}

func (g *graphSpec) Check(*uint64) (violated, reached Props) { return 0, 0 }

func (g *graphSpec) Describe(s *uint64) []Field {
	f := []Field{{"P.state", fmt.Sprint(*s)}}
	if g.label != nil {
		f = append(f, Field{"P.colour", g.label(*s)})
	}
	return f
}

func (g *graphSpec) Env(s *uint64) map[string]any { return map[string]any{"state": int(*s)} }

func graphOf(begin []uint64, edges map[uint64][]graphEdge) *graphSpec {
	return &graphSpec{begin: begin, edges: edges}
}

func diffOf(t *testing.T, a, b *graphSpec, opt DiffOptions) *Comparison {
	opt.A, opt.B = "left", "right"
	c, err := Diff(Erase[uint64](a), Erase[uint64](b), opt)
	require.NoError(t, err)
	var text bytes.Buffer
	require.NoError(t, c.WriteText(&text))
	assert.NotContains(t, text.String(), "%!")
	return c
}

func TestDiffOfWholeStates(t *testing.T) {
	line := graphOf([]uint64{0}, map[uint64][]graphEdge{0: {{0, 1}}, 1: {{0, 2}, {1, 0}}})
	t.Run("same", func(t *testing.T) {
		c := diffOf(t, line, line, DiffOptions{})
		assert.Equal(t, Same, c.Status)
		assert.Equal(t, &SideCounts{Common: 3}, c.Counts)
		assert.Equal(t, 0, c.ExitCode())
	})
	t.Run("an order of edges is no difference", func(t *testing.T) {
		other := graphOf([]uint64{0}, map[uint64][]graphEdge{0: {{0, 1}, {0, 1}}, 1: {{1, 0}, {0, 2}}})
		assert.Equal(t, Same, diffOf(t, line, other, DiffOptions{}).Status)
	})
	t.Run("one edge more", func(t *testing.T) {
		more := graphOf([]uint64{0}, map[uint64][]graphEdge{0: {{0, 1}}, 1: {{0, 2}, {1, 0}}, 2: {{2, 5}}, 5: {{0, 6}}})
		c := diffOf(t, line, more, DiffOptions{Count: true})
		assert.Equal(t, Differ, c.Status)
		assert.Equal(t, 1, c.ExitCode())
		assert.Nil(t, c.OnlyA)
		assert.False(t, c.OnlyAOpen, "all that A does, B does: it was looked at to the end")
		require.NotNil(t, c.OnlyB)
		assert.Len(t, c.OnlyB.Trace, 4)
		assert.Equal(t, uint64(5), c.OnlyB.Trace[3].State)
		assert.Equal(t, "c(0)", c.OnlyB.Trace[3].Step)
		assert.Equal(t, &SideCounts{Common: 3, OnlyB: 2}, c.Counts)
		// and the other way round
		c = diffOf(t, more, line, DiffOptions{Count: true})
		assert.Nil(t, c.OnlyB)
		assert.Len(t, c.OnlyA.Trace, 4)
		assert.Equal(t, &SideCounts{Common: 3, OnlyA: 2}, c.Counts)
	})
	t.Run("the same states by other steps", func(t *testing.T) {
		other := graphOf([]uint64{0}, map[uint64][]graphEdge{0: {{1, 1}}, 1: {{0, 2}, {1, 0}}})
		c := diffOf(t, line, other, DiffOptions{Count: true})
		require.NotNil(t, c.OnlyA)
		require.NotNil(t, c.OnlyB)
		assert.Len(t, c.OnlyA.Trace, 2)
		assert.Len(t, c.OnlyB.Trace, 2)
		assert.Equal(t, &SideCounts{Common: 3}, c.Counts)
	})
	t.Run("differences at different depths", func(t *testing.T) {
		other := graphOf([]uint64{0}, map[uint64][]graphEdge{0: {{0, 1}}, 1: {{0, 2}}, 2: {{0, 3}}})
		c := diffOf(t, line, other, DiffOptions{})
		require.NotNil(t, c.OnlyA)
		require.NotNil(t, c.OnlyB)
		assert.Len(t, c.OnlyA.Trace, 3)
		assert.Len(t, c.OnlyB.Trace, 4)
		first := diffOf(t, line, other, DiffOptions{First: true})
		assert.NotNil(t, first.OnlyA)
		assert.Nil(t, first.OnlyB)
		assert.True(t, first.OnlyBOpen)
	})
	t.Run("another beginning besides", func(t *testing.T) {
		other := graphOf([]uint64{0, 7}, line.edges)
		c := diffOf(t, line, other, DiffOptions{})
		require.NotNil(t, c.OnlyB)
		assert.Len(t, c.OnlyB.Trace, 1)
	})
	t.Run("another beginning", func(t *testing.T) {
		_, err := Diff(Erase[uint64](line), Erase[uint64](graphOf([]uint64{7}, line.edges)), DiffOptions{})
		assert.ErrorContains(t, err, "which fields to compare")
	})
	t.Run("a limit", func(t *testing.T) {
		c := diffOf(t, line, line, DiffOptions{Options: Options{MaxDepth: 2}})
		assert.Equal(t, Limit, c.Status)
		assert.Equal(t, 3, c.ExitCode())
		assert.True(t, c.OnlyAOpen)
		assert.True(t, c.OnlyBOpen)
	})
}

// colours gives states colours, which several share.
func colours(g *graphSpec) *graphSpec {
	g.label = func(s uint64) string { return []string{"white", "red", "blue"}[s%3] }
	return g
}

func TestDiffOnFields(t *testing.T) {
	on := DiffOptions{On: []string{"colour"}}
	// 0 and 3, 1 and 4 look alike.
	a := colours(graphOf([]uint64{0}, map[uint64][]graphEdge{0: {{0, 1}}, 1: {{0, 2}}}))
	t.Run("steps that are not seen", func(t *testing.T) {
		b := colours(graphOf([]uint64{3}, map[uint64][]graphEdge{3: {{1, 0}}, 0: {{1, 3}, {2, 4}}, 4: {{0, 1}}, 1: {{1, 5}}}))
		c := diffOf(t, a, b, on)
		assert.Equal(t, Same, c.Status, "white, red, blue, however many steps that takes")
		assert.Equal(t, []string{"colour"}, c.On)
	})
	t.Run("a choice made early is no difference of what is seen", func(t *testing.T) {
		// a(b+c) and ab+ac: no simulation, but the same sequences.
		late := colours(graphOf([]uint64{0}, map[uint64][]graphEdge{0: {{0, 1}}, 1: {{0, 2}, {0, 3}}}))
		early := colours(graphOf([]uint64{0}, map[uint64][]graphEdge{0: {{0, 1}, {0, 4}}, 1: {{0, 2}}, 4: {{0, 3}}}))
		assert.Equal(t, Same, diffOf(t, late, early, on).Status)
	})
	t.Run("a difference behind steps that are not seen", func(t *testing.T) {
		b := colours(graphOf([]uint64{3}, map[uint64][]graphEdge{3: {{1, 0}}, 0: {{2, 4}}, 4: {{0, 1}}, 1: {{1, 5}, {2, 3}}}))
		c := diffOf(t, a, b, on)
		assert.Equal(t, Differ, c.Status)
		assert.Nil(t, c.OnlyA)
		assert.False(t, c.OnlyAOpen)
		require.NotNil(t, c.OnlyB)
		assert.Equal(t, []string{"P.colour: white -> red", "P.colour: red -> white"}, c.OnlyB.Observed)
		var states []any
		for _, s := range c.OnlyB.Trace {
			states = append(states, s.State)
		}
		assert.Equal(t, []any{uint64(3), uint64(0), uint64(4), uint64(1), uint64(3)}, states, "the shortest behaviour that shows it")
	})
	t.Run("actions are seen if asked for", func(t *testing.T) {
		b := colours(graphOf([]uint64{0}, map[uint64][]graphEdge{0: {{1, 3}}, 3: {{0, 4}}, 4: {{0, 5}}}))
		assert.Equal(t, Same, diffOf(t, a, b, on).Status)
		assert.Equal(t, Same, diffOf(t, a, b, DiffOptions{On: on.On, Actions: []string{"c"}}).Status)
		c := diffOf(t, a, b, DiffOptions{On: on.On, Actions: []string{"b"}})
		require.NotNil(t, c.OnlyB)
		assert.Len(t, c.OnlyB.Trace, 2)
	})
	t.Run("another beginning", func(t *testing.T) {
		b := colours(graphOf([]uint64{1}, a.edges))
		c := diffOf(t, a, b, DiffOptions{Default: on.On})
		require.NotNil(t, c.OnlyA)
		assert.Len(t, c.OnlyA.Trace, 1)
	})
	t.Run("bad names", func(t *testing.T) {
		_, err := Diff(Erase[uint64](a), Erase[uint64](a), DiffOptions{On: []string{"color"}})
		assert.ErrorContains(t, err, `no state of graph has a field "color"; there are colour, state, did you mean "colour"?`)
		_, err = Diff(Erase[uint64](a), Erase[uint64](a), DiffOptions{On: []string{"colour"}, Actions: []string{"d"}})
		assert.ErrorContains(t, err, `no action "d"; it has a, b, c`)
	})
	t.Run("out of budget", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		c := diffOf(t, a, a, DiffOptions{On: on.On, Options: Options{Context: ctx}})
		assert.Equal(t, Limit, c.Status)
		assert.Equal(t, "canceled", c.LimitedBy)
		c = diffOf(t, a, a, DiffOptions{On: on.On, Options: Options{MaxDistinct: 5}})
		assert.Equal(t, Limit, c.Status)
		assert.Equal(t, "states", c.LimitedBy)
		assert.True(t, c.OnlyAOpen)
	})
}

// The comparison on fields that leaves nothing out agrees with that of whole states,
// on graphs of all kinds.
func TestDiffsAgree(t *testing.T) {
	seeds := uint64(300)
	if testing.Short() {
		seeds = 60
	}
	for seed := range seeds {
		random := func(salt uint64) *graphSpec {
			edges := map[uint64][]graphEdge{}
			for s := range uint64(6) {
				for k := range uint64(2) {
					// salt changes one edge in twelve
					h := mix(seed*100+s*10+k+1, hashK1)
					if h%12 == 0 {
						h = mix(h+salt, hashK2)
					}
					if to := h >> 8 % 6; to != s { // no step is unseen
						edges[s] = append(edges[s], graphEdge{0, to})
					}
				}
			}
			return graphOf([]uint64{0}, edges)
		}
		a, b := random(1), random(2)
		whole := diffOf(t, a, b, DiffOptions{})
		fields := diffOf(t, a, b, DiffOptions{On: []string{"state"}})
		require.Equal(t, whole.Status, fields.Status, "seed %d", seed)
		require.Equal(t, whole.OnlyA == nil, fields.OnlyA == nil, "seed %d", seed)
		require.Equal(t, whole.OnlyB == nil, fields.OnlyB == nil, "seed %d", seed)
		if whole.OnlyA != nil {
			require.Len(t, fields.OnlyA.Trace, len(whole.OnlyA.Trace), "seed %d", seed)
		}
	}
}
