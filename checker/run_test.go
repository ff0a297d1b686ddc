package checker

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// grid is a walk on a square: right or up, from the origin. Its counts can be
// told from its side.
type grid struct {
	side       uint32
	bound      uint32 // steps beyond it are not explored; 0: none
	diagonal   uint32 // x + y = diagonal violates NotOnWall; 0: none
	wall       uint32 // x = y = wall violates NotOnWall; 0: none
	properties []Property
	panicAt    uint32
}

type gridState struct{ X, Y uint32 }

func (g *grid) Info() *Info {
	return &Info{
		Name: "grid", Actions: []string{"Right", "Up"}, Bounds: []string{"edge"},
		Properties: append([]Property{
			{Name: "NotOnWall", Kind: Invariant, Doc: "x and y never meet at the wall"},
			{Name: "Straight", Kind: Always, Restates: "Up"},
			{Name: "Corner", Kind: Sometimes},
		}, g.properties...),
	}
}

func (g *grid) Init(out *Sink[gridState]) {
	*out.Slot() = gridState{}
	out.Commit(-1, Instance{}, 0, 0)
}

func (g *grid) Next(s *gridState, out *Sink[gridState]) {
	if g.panicAt > 0 && s.X == g.panicAt {
		panic("off the paper")
	}
	for a, d := range []gridState{{1, 0}, {0, 1}} {
		to := gridState{s.X + d.X, s.Y + d.Y}
		if max(to.X, to.Y) > g.side {
			continue
		}
		if g.bound > 0 && max(to.X, to.Y) > g.bound {
			out.Bounded(0)
			continue
		}
		*out.Slot() = to
		var violated, reached Props
		if g.wall > 0 && to == (gridState{2, 1}) {
			violated = 2
		}
		if to == (gridState{g.side, g.side}) {
			reached = 4
		}
		out.Commit(0, Instance{ActionID(a), s.X}, violated, reached)
	}
}

func (g *grid) Check(s *gridState) (violated, reached Props) {
	if g.wall > 0 && s.X == g.wall && s.Y == g.wall {
		return 1, 0
	}
	if g.diagonal > 0 && s.X+s.Y == g.diagonal {
		return 1, 0
	}
	return 0, 0
}

func (g *grid) Describe(s *gridState) []Field {
	return []Field{{"x", fmt.Sprint(s.X)}, {"y", fmt.Sprint(s.Y)}}
}

func (g *grid) Env(s *gridState) map[string]any {
	return map[string]any{"at": map[string]any{"x": int(s.X), "y": int(s.Y)}}
}

func TestCountsOfAGrid(t *testing.T) {
	for _, workers := range []int{1, 2, 8} {
		r, err := Run(&grid{side: 300}, Options{Workers: workers, tableBits: 12})
		require.NoError(t, err)
		assert.Equal(t, Holds, r.Status)
		assert.EqualValues(t, 301*301, r.Distinct)
		assert.EqualValues(t, 2*300*301, r.Generated)
		assert.Equal(t, 601, r.Depth)
		assert.EqualValues(t, 301, r.Widest)
		assert.EqualValues(t, 1, r.Initial)
		assert.Equal(t, []ActionCount{{"Right", 300 * 301, 0}, {"Up", 300 * 301, 0}}, r.Actions)
		assert.EqualValues(t, 1, r.Stuck, "the far corner")
		assert.Zero(t, r.Stopped)
		assert.Equal(t, "reached", r.Properties[2].Verdict)
	}
}

func TestTerminalStatesAreToldApart(t *testing.T) {
	r, err := Run(&grid{side: 20, bound: 10}, Options{})
	require.NoError(t, err)
	assert.EqualValues(t, 11*11, r.Distinct)
	assert.Zero(t, r.Stuck)
	assert.EqualValues(t, 1, r.Stopped)
	assert.Equal(t, []BoundCount{{Name: "edge", Kind: "bound", States: 21}}, r.Bounds)
	assert.Equal(t, []string{"Corner"}, r.Never())
}

// TestViolationEndsAfterItsLevel also has a property that restates a guard: it
// must be reported, and must not end the run.
func TestViolationEndsAfterItsLevel(t *testing.T) {
	for _, workers := range []int{1, 2, 8} {
		r, err := Run(&grid{side: 50, wall: 5}, Options{Workers: workers})
		require.NoError(t, err)
		assert.Equal(t, Violated, r.Status)
		assert.Equal(t, 1, r.Status.ExitCode())
		assert.True(t, r.Caught())
		assert.Equal(t, 11, r.Depth, "levels up to that of (5,5)")
		assert.EqualValues(t, 11*12/2, r.Distinct)
		require.Len(t, r.Violations, 2)
		v := r.Violations[0]
		assert.Equal(t, "NotOnWall", v.Property)
		require.Len(t, v.Trace, 11)
		assert.Equal(t, gridState{5, 5}, v.Trace[10].State)
		checkTrace(t, &grid{side: 50, wall: 5}, v.Trace)
		v = r.Violations[1]
		assert.Equal(t, "Straight", v.Property)
		assert.Equal(t, "Up", v.Restates)
		require.Len(t, v.Trace, 4)
		assert.Equal(t, gridState{2, 1}, v.Trace[3].State)
	}
}

// TestLeastViolatingStateIsReported has many states of one level violate.
func TestLeastViolatingStateIsReported(t *testing.T) {
	var want any
	side := uint32(2000)
	if testing.Short() {
		side = 500
	}
	for _, workers := range []int{1, 2, 8} {
		r, err := Run(&grid{side: side, diagonal: side * 3 / 4}, Options{Workers: workers})
		require.NoError(t, err)
		got := last(r.Violations[0].Trace).State
		if want == nil {
			want = got
		}
		assert.Equal(t, want, got)
	}
}

// checkTrace holds each step of a counterexample against the specification.
func checkTrace[S comparable](t *testing.T, spec Spec[S], trace []TraceStep) {
	t.Helper()
	spec.Init(newCollector(func(c successor[S]) {
		if *c.state == trace[0].State.(S) {
			trace[0].Step = "found"
		}
	}))
	require.Equal(t, "found", trace[0].Step, "the first state is not initial")
	for n := 1; n < len(trace); n++ {
		from, to := trace[n-1].State.(S), trace[n].State.(S)
		found := false
		spec.Next(&from, newCollector(func(c successor[S]) {
			found = found || *c.state == to && c.instance == trace[n].Instance && c.process == trace[n].Process
		}))
		require.True(t, found, "step %d is not one of the specification", n)
	}
}

func TestOnlyRestatingDoesNotCatch(t *testing.T) {
	r, err := Run(&grid{side: 9, wall: 5}, Options{Properties: []string{"Straight", "Corner"}})
	require.NoError(t, err)
	assert.Equal(t, Violated, r.Status)
	assert.False(t, r.Caught())
	assert.EqualValues(t, 100, r.Distinct, "the run goes on to the end")
	assert.Len(t, r.Properties, 2)
}

func TestKeepGoing(t *testing.T) {
	r, err := Run(&grid{side: 50, wall: 5}, Options{KeepGoing: true})
	require.NoError(t, err)
	assert.Equal(t, Violated, r.Status)
	assert.EqualValues(t, 51*51, r.Distinct)
	assert.Len(t, r.Violations[0].Trace, 11)
}

func TestLimits(t *testing.T) {
	r, err := Run(&grid{side: 1000}, Options{MaxDepth: 10})
	require.NoError(t, err)
	assert.Equal(t, Limit, r.Status)
	assert.Equal(t, "depth", r.LimitedBy)
	assert.Equal(t, 3, r.Status.ExitCode())
	assert.EqualValues(t, 55, r.Distinct)
	assert.Equal(t, "open", r.Properties[0].Verdict)

	r, err = Run(&grid{side: 1000}, Options{MaxDistinct: 1000})
	require.NoError(t, err)
	assert.Equal(t, Limit, r.Status)
	assert.Equal(t, "states", r.LimitedBy)
	assert.False(t, r.Partial)
	assert.EqualValues(t, 1035, r.Distinct, "the first full level beyond 1000")

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r, err = Run(&grid{side: 1000}, Options{Context: ctx})
	require.NoError(t, err)
	assert.Equal(t, Limit, r.Status)
	assert.Equal(t, "canceled", r.LimitedBy)
}

func TestMistakesOfAModelAreErrors(t *testing.T) {
	for _, workers := range []int{1, 8} {
		_, err := Run(&grid{side: 1000, panicAt: 400}, Options{Workers: workers})
		var e *ModelError
		require.ErrorAs(t, err, &e)
		assert.Equal(t, "off the paper", e.Cause)
		assert.Contains(t, e.Stack, "grid")
	}
	_, err := Run(Interned(&relay{processes: 2, inFlight: 2, maxSeq: 2, panics: true}), Options{Workers: 2, KeepGoing: true})
	assert.ErrorContains(t, err, "the model does not fit")

	_, err = Run(&grid{side: 1}, Options{Properties: []string{"NotOnWal"}})
	assert.ErrorContains(t, err, `"NotOnWall"`, "the error lists the names that exist")
	_, err = Run(&grid{properties: slices.Repeat([]Property{{}}, 64)}, Options{})
	assert.ErrorContains(t, err, "the limit is 64")
	_, err = Run(&grid{side: 1}, Options{Projected: true})
	assert.ErrorContains(t, err, "budgets")
}

func TestStatesMustBeTheirBytes(t *testing.T) {
	assert.ErrorContains(t, checkPlain[struct {
		A uint8
		B uint64
	}](), "padding before field B")
	assert.ErrorContains(t, checkPlain[struct {
		A uint64
		B uint8
	}](), "padding at the end")
	assert.ErrorContains(t, checkPlain[struct {
		A [7]uint8
		_ struct{}
	}](), "padding at the end")
	assert.ErrorContains(t, checkPlain[[3]uint8](), "multiple of 8")
	assert.ErrorContains(t, checkPlain[struct{ P *int }](), "not its value")
	assert.ErrorContains(t, checkPlain[struct{ S string }](), "not its value")
	assert.NoError(t, checkPlain[Tuple]())
	assert.NoError(t, checkPlain[gridState]())
}

func TestProgress(t *testing.T) {
	var b bytes.Buffer
	_, err := Run(&grid{side: 500}, Options{Progress: &b, ProgressEvery: time.Millisecond, Workers: 1})
	require.NoError(t, err)
	line, _, _ := strings.Cut(b.String(), "\n")
	assert.Regexp(t, `^grid: level \d+ of [\d.]+( k)? states, [\d.]+( k| M)? distinct, [\d.]+( k| M)? generated, [\d.]+( k| M)?/s(, [\d.]+ [MG]iB of memory)?, \d+ s(, about .* left)?$`, line)
}

// A question judges no properties: a step that violates one is neither an answer nor
// an end.
func TestFindPassesOverViolations(t *testing.T) {
	sys := &relay{processes: 3, countTwice: true, inFlight: 1, maxSeq: 1, budgets: [4]uint8{0, 1, 1, 1}}
	run, err := Run(Interned(sys), Options{KeepGoing: true})
	require.NoError(t, err)
	require.Equal(t, Violated, run.Status)
	r, err := Find(Interned(sys), "false", Options{})
	require.NoError(t, err)
	assert.Equal(t, Absent, r.Status)
	assert.Equal(t, run.Distinct, r.Distinct)
}
