package checker

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// circle is a cycle of states, by process 0 and action 0; atom i holds in state i.
func circle(n int) *labelled {
	g := &labelled{states: n, initials: []int{0}, bounds: map[int]Bound{}}
	g.info = Info{Name: "ring", Actions: []string{"go", "stop"}, Processes: []string{"p"}, Bounds: []string{"length", "width"}}
	for s := range n {
		g.edges = append(g.edges, labelledEdge{from: s, to: (s + 1) % n})
		g.atoms = append(g.atoms, 1<<s)
		g.live.Atoms = append(g.live.Atoms, string(rune('a'+s)))
	}
	g.live.Fair = []Fairness{{Name: "go", Steps: []StepSet{{Actions: []ActionID{0}}}}}
	g.live.Properties = []LivenessProperty{{Name: "comes round", Form: AlwaysEventually, Q: 1}}
	return g
}

func TestLivenessRefuses(t *testing.T) {
	for name, row := range map[string]struct {
		change func(g *labelled, o *Options)
		want   string
	}{
		"states":    {func(_ *labelled, o *Options) { o.MaxDistinct = 9 }, "leaves the state graph incomplete"},
		"depth":     {func(_ *labelled, o *Options) { o.MaxDepth = 9 }, "leaves the state graph incomplete"},
		"symmetry":  {func(_ *labelled, o *Options) { o.Symmetry = true }, "a cycle of orbits need not be one of states"},
		"projected": {func(_ *labelled, o *Options) { o.Projected = true }, "states that differ only in budgets"},
		"bound": {func(g *labelled, _ *Options) { g.bounds[2] = 0 },
			`no verdict: the bound "length" keeps steps from being taken in 1 states after which the assumptions hold`},
		"bound, excused by half": {func(g *labelled, _ *Options) {
			g.bounds[2] = 0
			g.live.Limits = []StepLimit{{Bound: "length", Steps: StepSet{Actions: []ActionID{1}}}}
			g.live.Finally.Never = []StepSet{{Actions: []ActionID{1}, When: 1}}
		}, "no verdict"},
		"unknown property": {func(_ *labelled, o *Options) { o.Properties = []string{"x"} }, `no property "x"; it has comes round`},
		"unknown bound":    {func(g *labelled, _ *Options) { g.live.Limits = []StepLimit{{Bound: "x"}} }, `Limits names bound "x"`},
		"unknown action": {func(g *labelled, _ *Options) { g.live.Finally.Never = []StepSet{{Actions: []ActionID{2}}} },
			"Finally.Never names action 2 of 2"},
		"unknown process": {func(g *labelled, _ *Options) { g.live.Fair[0].Steps[0].Processes = []int{1} }, "fairness go names process 1 of 1"},
		"unknown atom":    {func(g *labelled, _ *Options) { g.live.Properties[0].Q = 64 }, "property comes round uses an atom that has no name"},
		"empty mask":      {func(g *labelled, _ *Options) { g.live.Fair[0].Steps[0].Args = 1 }, "no parameters p have p&0x0 == 0x1"},
		"no property":     {func(g *labelled, _ *Options) { g.live.Properties = nil }, "no property"},
		"steps of a state property": {func(g *labelled, _ *Options) {
			g.live.Properties[0].Form, g.live.Properties[0].Steps = EventuallyAlways, []StepSet{{}}
		}, "EventuallyAlways is of states"},
		"form": {func(g *labelled, _ *Options) { g.live.Properties[0].Form = 9 }, "unknown form 9"},
		"fairness": {func(g *labelled, _ *Options) {
			for range 64 {
				g.live.Fair = append(g.live.Fair, g.live.Fair[0])
			}
		}, "65 fairness conditions, the limit is 64"},
		"no initial state": {func(g *labelled, _ *Options) { g.initials = nil }, "has no initial state"},
	} {
		g, o := circle(3), Options{}
		row.change(g, &o)
		_, err := RunLiveness[uint64](g, o)
		assert.ErrorContains(t, err, row.want, name)
	}
}

func TestLivenessBounds(t *testing.T) {
	stops := StepLimit{Bound: "length", Steps: StepSet{Actions: []ActionID{1}}}
	g := circle(3)
	g.bounds[2] = 0
	g.live.Limits = []StepLimit{stops}
	g.live.Finally.Never = []StepSet{{Actions: []ActionID{1}}}
	r, err := RunLiveness[uint64](g, Options{})
	require.NoError(t, err)
	assert.Equal(t, Holds, r.Status, "the bound stops only what the assumptions rule out")

	g = circle(4)
	g.edges = append(g.edges, labelledEdge{from: 3, to: 3})
	g.edges[3] = labelledEdge{from: 2, to: 2} // a way to a circle, which is not at the bound
	g.edges[2] = labelledEdge{from: 2, to: 3}
	g.bounds[0] = 0
	g.live.Finally.From = 8
	g.live.Properties[0].Q = 8
	r, err = RunLiveness[uint64](g, Options{})
	require.NoError(t, err)
	assert.Equal(t, Holds, r.Status, "the bound is met before the assumptions hold")

	g = circle(3)
	g.bounds[2] = 0
	_, err = RunLiveness[uint64](g, Options{})
	var limit *LimitError
	require.ErrorAs(t, err, &limit)
	assert.Len(t, limit.Trace, 3)
	assert.EqualValues(t, 1, limit.States)
}

func TestLivenessVacuous(t *testing.T) {
	g := circle(3)
	g.live.Finally.Always = 1 // and fairness leaves it
	r, err := RunLiveness[uint64](g, Options{})
	require.NoError(t, err)
	assert.Equal(t, Vacuous, r.Status)
	assert.Equal(t, 1, r.Status.ExitCode())
	assert.Zero(t, r.Fair)
	assert.EqualValues(t, 1, r.Hopeless)
	assert.Equal(t, "vacuous", r.Properties[0].Verdict)
	var text bytes.Buffer
	require.NoError(t, r.WriteText(&text))
	assert.Contains(t, text.String(), "no behaviour satisfies the assumptions")

	g = circle(3)
	g.live.Properties = []LivenessProperty{{Name: "never asked", Form: LeadsTo, P: 3, Q: 4}}
	r, err = RunLiveness[uint64](g, Options{})
	require.NoError(t, err)
	assert.Equal(t, Vacuous, r.Status)
	assert.NotZero(t, r.Fair)
	text.Reset()
	require.NoError(t, r.WriteText(&text))
	assert.Contains(t, text.String(), "its premise is true in no behaviour")
}

// A behaviour that ends stutters for ever; so does one that no fairness drives on.
func TestLivenessStuttering(t *testing.T) {
	g := circle(3)
	g.edges = g.edges[:2]
	g.live.Properties = []LivenessProperty{{Name: "back", Form: AlwaysEventually, Q: 1}, {Name: "end", Form: EventuallyAlways, Q: 4}}
	r, err := RunLiveness[uint64](g, Options{})
	require.NoError(t, err)
	require.Len(t, r.Violations, 1)
	assert.Equal(t, LivePropertyResult{Name: "back", Form: "always eventually", Verdict: "violated", Stem: 2}, r.Properties[0])
	assert.Equal(t, "holds", r.Properties[1].Verdict)
	assert.EqualValues(t, 1, r.FairEnds)
	assert.Zero(t, r.NonTrivial)
	var text bytes.Buffer
	require.NoError(t, r.WriteText(&text))
	assert.Contains(t, text.String(), "stutters for ever")

	g = circle(3)
	g.live.Fair = nil
	g.live.Properties[0] = LivenessProperty{Name: "goes on", Form: Eventually, Q: 2}
	r, err = RunLiveness[uint64](g, Options{})
	require.NoError(t, err)
	assert.Equal(t, 0, r.Properties[0].Stem)
	assert.Equal(t, 0, r.Properties[0].Cycle)
	assert.Equal(t, Violated, r.Status)
}

func TestLivenessText(t *testing.T) {
	g := circle(3)
	g.live.Assumes = "that it goes on"
	g.live.Fair = append(g.live.Fair, Fairness{Name: "stop", Steps: []StepSet{{Actions: []ActionID{1}}}})
	g.live.Properties = []LivenessProperty{{Name: "rests", Form: EventuallyAlways, Q: 2, Doc: "it rests in b"}}
	r, err := RunLiveness[uint64](g, Options{})
	require.NoError(t, err)
	var text bytes.Buffer
	require.NoError(t, r.WriteText(&text))
	for _, want := range []string{
		"ring: violated", "counterexample to rests, 3 steps, of which the last 3 repeat for ever",
		"repeats from step 1: state 3 is state 0 again", "violates rests (eventually always): it rests in b",
		"3 states, 3 steps; in 3 states the assumptions may hold, in 0 of them not for ever",
		"1 components of those, 1 with a step inside; 1 fair, of which 0 are ends",
		"assumes: that it goes on", "asks for nothing, since never enabled there: fairness of stop",
	} {
		assert.Contains(t, text.String(), want)
	}
}

func TestLivenessCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r, err := RunLiveness[uint64](circle(3), Options{Context: ctx})
	require.NoError(t, err)
	assert.Equal(t, Limit, r.Status)
	assert.Empty(t, r.Properties)
}

// A long way does not overflow a stack.
func TestLivenessDeep(t *testing.T) {
	const n = 1_000_000
	g := &longRing{labelled: circle(1), n: n}
	g.live.Properties[0] = LivenessProperty{Name: "back", Form: AlwaysEventually, Q: 1}
	r, err := RunLiveness[uint64](g, Options{})
	require.NoError(t, err)
	assert.Equal(t, Holds, r.Status)
	assert.EqualValues(t, n, r.Distinct)
	assert.EqualValues(t, 1, r.Fair)
}

type longRing struct {
	*labelled
	n uint64
}

func (g *longRing) Next(s *uint64, out *Sink[uint64]) {
	*out.Slot() = (*s + 1) % g.n
	out.Commit(0, Instance{}, 0, 0)
}

func (g *longRing) Atoms(s *uint64) Atoms {
	if *s == 0 {
		return 1
	}
	return 0
}
