package checker

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func simulatedRelay() *relay {
	return &relay{processes: 3, conn: true, inFlight: 2, maxSeq: 2, budgets: [4]uint8{0, 1, 1, 1}}
}

// numbers is what of a simulation does not depend on time, as text.
func numbers(t *testing.T, r *Simulation) string {
	c := *r
	c.Seconds, c.Workers = 0, 0
	b, err := json.Marshal(&c)
	require.NoError(t, err)
	return string(b)
}

// Interned numbers what it sees in the order in which it sees it, so workers disturb
// each other's numbers: behaviours must not follow from those.
func TestSimulationDoesNotDependOnWorkers(t *testing.T) {
	quiet := []string{"SeqSeen", "Answered", "Impossible"}
	for _, opt := range []SimulateOptions{
		{Behaviours: 400, Depth: 40, Properties: quiet},
		{Behaviours: 400, Depth: 40, Properties: quiet, Even: true},
		{Behaviours: 60, Depth: 30, Properties: quiet, Swarm: 300},
		{Behaviours: 400, Depth: 6},
		{Behaviours: 400, Depth: 6, KeepGoing: true},
	} {
		opt.Seed = 3
		texts := map[int]string{}
		var actions []ActionCount
		for _, workers := range []int{1, 2, 8} {
			opt.Workers = workers
			r, err := Simulate(Interned(simulatedRelay()), opt)
			require.NoError(t, err)
			if opt.Properties != nil {
				assert.Equal(t, NoViolation, r.Status)
				assert.Zero(t, r.Status.ExitCode())
				assert.Equal(t, opt.Behaviours, r.Behaviours)
			} else {
				assert.Equal(t, Violated, r.Status)
				assert.Equal(t, opt.KeepGoing, r.Behaviours == opt.Behaviours)
			}
			assert.NotZero(t, r.Steps)
			texts[workers], actions = numbers(t, r), r.Actions
			assert.True(t, texts[workers] == texts[1], "%d workers:\n%s\nwant\n%s", workers, texts[workers], texts[1])
		}
		opt.Seed++
		r, err := Simulate(Interned(simulatedRelay()), opt)
		require.NoError(t, err)
		assert.NotEqual(t, actions, r.Actions, "another seed is another run")
	}
}

func TestBehaviourIsTheSameAlone(t *testing.T) {
	buggy := simulatedRelay()
	buggy.countTwice = true
	for _, swarm := range []int{0, 300} {
		opt := SimulateOptions{Seed: 9, Behaviours: 5000, Depth: 40, Workers: 2, Swarm: swarm, Raw: true}
		r, err := Simulate(Interned(buggy), opt)
		require.NoError(t, err)
		require.Equal(t, Violated, r.Status)
		v := r.Violations[0]
		assert.Equal(t, v.Found, len(v.Trace)-1)
		assert.Equal(t, v.Behaviour+1, r.Behaviours, "those before it, and no later ones")

		opt.First, opt.Behaviours = v.Behaviour, 1
		alone, err := Simulate(Interned(buggy), opt)
		require.NoError(t, err)
		require.NotEmpty(t, alone.Violations)
		require.Equal(t, v.Property, alone.Violations[0].Property)
		require.Len(t, alone.Violations[0].Trace, len(v.Trace))
		for i, s := range alone.Violations[0].Trace {
			assert.Equal(t, v.Trace[i].Step, s.Step)
			assert.Equal(t, v.Trace[i].Fields, s.Fields)
		}
	}
}

func TestCounterexamplesAreShrunk(t *testing.T) {
	buggy := simulatedRelay()
	buggy.countTwice = true
	shortest, err := Run(Interned(buggy), Options{})
	require.NoError(t, err)
	least := map[string]int{}
	for _, v := range shortest.Violations {
		least[v.Property] = len(v.Trace)
	}
	require.NotEmpty(t, least)
	steps, found := 0, 0
	for seed := range uint64(6) {
		spec := Interned(buggy)
		r, err := Simulate(spec, SimulateOptions{Seed: seed, Behaviours: 5000, Depth: 60})
		require.NoError(t, err)
		require.NotEmpty(t, r.Violations)
		for _, v := range r.Violations {
			checkTrace(t, spec, v.Trace)
			assert.LessOrEqual(t, len(v.Trace)-1, v.Found)
			if n, known := least[v.Property]; known {
				assert.GreaterOrEqual(t, len(v.Trace), n)
			}
			steps, found = steps+len(v.Trace)-1, found+v.Found
		}
	}
	assert.Less(t, 2*steps, found, "in all")
}

// Where the part of the model around a counterexample is too large, steps are dropped.
func TestShrinkByDropping(t *testing.T) {
	buggy := simulatedRelay()
	buggy.countTwice = true
	spec := Interned(buggy)
	d, err := Simulate(spec, SimulateOptions{Seed: 2, Behaviours: 5000, Properties: []string{"Lagging"}, Raw: true})
	require.NoError(t, err)
	require.NotEmpty(t, d.Violations)
	trace := d.Violations[0].Trace
	property := -1
	for i, p := range spec.Info().Properties {
		if p.Name == d.Violations[0].Property {
			property = i
		}
	}
	w, err := newWalker(spec, nil)
	require.NoError(t, err)
	edges := edgesOf(t, w, trace)
	z := &shrinker[Tuple]{w: w, property: 1 << property, near: 1, steps: retaken}
	after, err := z.shortcut(edges)
	require.NoError(t, err)
	after, err = z.drop(after)
	require.NoError(t, err)
	assert.Nil(t, z.around(after), "one state is not enough")
	assert.Less(t, len(after), len(edges))
	short, err := retrace(spec, spec.Info(), after)
	require.NoError(t, err)
	checkTrace(t, spec, short)
	end := last(short).State.(Tuple)
	violated, _ := spec.Check(&end)
	assert.NotZero(t, violated&(1<<property))
}

// edgesOf finds the numbers of the steps of a trace.
func edgesOf(t *testing.T, w *walker[Tuple], trace []TraceStep) []uint32 {
	var edges []uint32
	w.begin()
	for i, s := range trace {
		if i > 0 {
			from := trace[i-1].State.(Tuple)
			w.enumerate(&from)
		}
		for j := range w.kids {
			if k := &w.kids[j]; k.state == s.State.(Tuple) && (i == 0 || k.instance == s.Instance) {
				edges = append(edges, k.edge)
				break
			}
		}
		require.Len(t, edges, i+1)
	}
	return edges
}

func TestWeights(t *testing.T) {
	opt := SimulateOptions{Seed: 1, Behaviours: 100, Depth: 30, Even: true, Weights: map[string]float64{"Up": 0}}
	r, err := Simulate(&grid{side: 20}, opt)
	require.NoError(t, err)
	assert.Zero(t, r.Actions[1].Fired)
	assert.EqualValues(t, 100*20, r.Actions[0].Fired)
	assert.EqualValues(t, 100, r.Stopped, "what is switched off is a bound")

	opt.Weights["Up"] = 3
	r, err = Simulate(&grid{side: 1000}, opt)
	require.NoError(t, err)
	assert.InDelta(t, 0.75, float64(r.Actions[1].Fired)/float64(r.Steps), 0.03)
	assert.Equal(t, uint64(100), r.Lengths[30])

	for name, w := range map[string]float64{"Down": 1, "Up": -1, "Right": math.NaN()} {
		opt.Weights = map[string]float64{name: w}
		_, err = Simulate(&grid{side: 3}, opt)
		assert.ErrorContains(t, err, name)
	}
}

func TestSimulationEnds(t *testing.T) {
	began := time.Now()
	r, err := Simulate(&grid{side: 1 << 30}, SimulateOptions{Duration: 20 * time.Millisecond})
	require.NoError(t, err)
	assert.Equal(t, NoViolation, r.Status)
	assert.NotZero(t, r.Behaviours)
	assert.Less(t, time.Since(began), 10*time.Second)

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r, err = Simulate(&grid{side: 5}, SimulateOptions{Context: ctx, Behaviours: 10})
	require.NoError(t, err)
	assert.Equal(t, Limit, r.Status)

	for want, opt := range map[string]SimulateOptions{
		"needs an end":         {},
		"behaviours of -1":     {Depth: -1, Behaviours: 1},
		"a swarm of searches":  {Swarm: -1, Behaviours: 1},
		"a simulation of -1s":  {Duration: -time.Second},
		"numbers end before 2": {First: math.MaxUint64, Behaviours: 2},
		`no property "Flat"`:   {Properties: []string{"Flat"}, Behaviours: 1},
	} {
		_, err := Simulate(&grid{side: 5}, opt)
		assert.ErrorContains(t, err, want)
	}
	_, err = Simulate(&grid{side: 5, panicAt: 3}, SimulateOptions{Behaviours: 10})
	var model *ModelError
	assert.ErrorAs(t, err, &model)
}

func TestSimulationText(t *testing.T) {
	r, err := Simulate(&grid{side: 50, wall: 5}, SimulateOptions{Seed: 4, Behaviours: 1000, Show: true})
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, r.WriteText(&b, func(k uint64) string { return "again" }))
	assert.Contains(t, b.String(), "counterexample to NotOnWall, 10 steps")
	assert.Contains(t, b.String(), "reproduce with: again")
	assert.NotContains(t, b.String(), "proves nothing")

	r, err = Simulate(&grid{side: 5}, SimulateOptions{Seed: 4, Behaviours: 50, Swarm: 10})
	require.NoError(t, err)
	b.Reset()
	require.NoError(t, r.WriteText(&b, nil))
	assert.Contains(t, b.String(), "proves nothing")
	assert.Contains(t, b.String(), "actions switched off")
}

// The space of a swarm is fixed, and what it forgets is counted.
func TestSwarmForgets(t *testing.T) {
	r, err := Simulate(&grid{side: 1000}, SimulateOptions{Behaviours: 20, Depth: 2000, Swarm: 2000})
	require.NoError(t, err)
	assert.NotZero(t, r.Swarm.Forgotten)
	assert.EqualValues(t, 2048*8, r.Swarm.Bytes)
	assert.LessOrEqual(t, r.Swarm.Expanded, uint64(20*2000))
	assert.NotZero(t, r.Swarm.Off)

	all, err := Simulate(&grid{side: 10}, SimulateOptions{Behaviours: 20, Depth: 40, Swarm: 2000})
	require.NoError(t, err)
	assert.EqualValues(t, 20, all.Swarm.Exhausted, "all of 121 states or a part")
	assert.InDelta(t, 121, float64(all.Distinct), 3)
}

func TestSketch(t *testing.T) {
	var s, half sketch
	added := 0
	for _, n := range []int{0, 1, 10, 1000, 30_000, 300_000, 3_000_000} {
		for ; added < n; added++ {
			fp := uint64(added) * hashK2
			s.add(fp)
			s.add(fp)
			if added%2 == 0 {
				half.add(fp)
			}
		}
		assert.InDelta(t, n, s.estimate(), 4*sketchError*float64(n)+0.5)
	}
	half.merge(&s)
	assert.Equal(t, s.estimate(), half.estimate())
}
