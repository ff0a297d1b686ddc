package checker

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/bits"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// NoViolation is how a simulation ends that did what it was asked to and saw no
// property violated. It proves nothing about the states that it did not come by.
const NoViolation Status = "no violation seen"

// SimulateOptions say how to walk at random.
type SimulateOptions struct {
	// Context ends the run early, with status Limit. nil: context.Background().
	Context context.Context
	// Workers is the number of goroutines that walk. 0: GOMAXPROCS.
	Workers int
	// Seed and the number of a behaviour determine it: neither the number of workers
	// nor what other behaviours did matters.
	Seed uint64
	// First is the number of the first behaviour, Behaviours how many there are at
	// most. 0: until Duration is over.
	First, Behaviours uint64
	// Depth is the number of steps after which a behaviour ends. 0: 100.
	Depth int
	// Duration ends the run. 0: none.
	Duration time.Duration
	// Properties names the properties to judge. nil: all.
	Properties []string
	// Weights multiplies the chance of actions, by name; 0 switches one off.
	Weights map[string]float64
	// Even draws actions evenly (but for Weights) in every behaviour. Otherwise each
	// behaviour has its own likes and dislikes, which reaches more.
	Even bool
	// KeepGoing goes on after a violation.
	KeepGoing bool
	// Raw leaves counterexamples as they were found.
	Raw bool
	// Show keeps the steps of the first behaviour, for a reader.
	Show bool
	// Swarm makes small searches of behaviours, each of at most so many states, in a
	// part of the model. 0: walk.
	Swarm int
	// Progress and what follows are as in Options.
	Progress        io.Writer
	ProgressEvery   time.Duration
	ProgressAfter   time.Duration
	ProgressInPlace bool
}

// Simulation is what random behaviours came by. All numbers but those of time, and
// but Actions.Within after a violation, follow from Seed, First and Behaviours.
type Simulation struct {
	Spec      string   `json:"spec"`
	Processes []string `json:"processes,omitempty"`
	Legend    string   `json:"legend,omitempty"`
	Status    Status   `json:"status"`
	LimitedBy string   `json:"limited_by,omitempty"`
	Mode      string   `json:"mode"` // "walks" or "swarm"
	Seed      uint64   `json:"seed"`
	First     uint64   `json:"first"`
	Depth     int      `json:"depth"`

	// Behaviours counts those that came to their end, Steps what they took. Judged
	// counts states: every successor of a visited state is judged, taken or not.
	Behaviours uint64 `json:"behaviours"`
	Steps      uint64 `json:"steps"`
	Judged     uint64 `json:"judged"`
	// Distinct estimates how many different states were judged, with a standard
	// error of DistinctError, by a HyperLogLog sketch of their fingerprints.
	Distinct      uint64  `json:"distinct_estimate"`
	DistinctError float64 `json:"distinct_error"`
	// Lengths has the number of behaviours that ended after so many steps; Stuck
	// those that found no step, Stopped those whose only steps lay beyond a bound.
	Lengths []uint64 `json:"lengths"`
	Stuck   uint64   `json:"stuck"`
	Stopped uint64   `json:"stopped"`
	// Swarm has what only a swarm counts.
	Swarm *SwarmCounts `json:"swarm,omitempty"`

	Actions    []ActionCount       `json:"actions"`
	Properties []SimulatedProperty `json:"properties"`
	Violations []SeenViolation     `json:"violations,omitempty"`
	// Behaviour is the one that was asked to be shown.
	Behaviour []TraceStep `json:"behaviour,omitempty"`

	Workers int     `json:"workers"`
	Seconds float64 `json:"seconds"`
}

// SimulatedProperty is what behaviours say of a property.
type SimulatedProperty struct {
	PropertyResult
	// Behaviours counts those that came by it: reached or violated it. First is the
	// number of the first.
	Behaviours uint64 `json:"behaviours"`
	First      uint64 `json:"first"`
}

// SeenViolation is a violation that a behaviour came by.
type SeenViolation struct {
	Violation
	// Behaviour is its number, and Found how many steps it took; Trace may be shorter.
	Behaviour uint64 `json:"behaviour"`
	Found     int    `json:"found"`
}

// outcome is what one behaviour came by.
type outcome struct {
	steps, judged     uint64
	length            int
	stuck, stopped    bool
	fired             []uint32
	violated, reached Props
	edges             map[int][]uint32 // of violations
	swarm             SwarmCounts
	sketch            *sketch // of what was judged
}

// simulation is a run of behaviours.
type simulation[S any] struct {
	spec    Spec[S]
	opt     SimulateOptions
	info    *Info
	weights []float64
	began   time.Time
	ctx     context.Context

	next     atomic.Uint64 // behaviours handed out
	last     atomic.Uint64 // those beyond are not wanted: an earlier one violates
	mu       sync.Mutex    // guards what follows
	merged   uint64        // all before it are in result
	early    map[uint64]*outcome
	result   *Simulation
	sketch   sketch
	edges    map[int][]uint32
	failed   error
	sketches sync.Pool
	// for the progress report
	behaviours, steps, judged atomic.Uint64
}

// simulator is one worker of a simulation.
type simulator[S any] struct {
	*walker[S]
	run *simulation[S]
	// of the behaviour under way
	character uint64
	off       [math.MaxUint8 + 1]bool
	swarm     *swarm[S]
}

// Simulate takes random behaviours of a specification and judges what they come by.
//
// An action is drawn among those that are enabled, then one of its instances, by
// hashes of what they lead to and not by their order, which for an interned System
// depends on what was seen before. So behaviour k of a seed is always the same.
func Simulate[S any](spec Spec[S], opt SimulateOptions) (*Simulation, error) {
	run, err := newSimulation(spec, opt)
	if err != nil {
		return nil, err
	}
	n := opt.Workers
	if n <= 0 {
		n = runtime.GOMAXPROCS(0)
	}
	if opt.Behaviours > 0 && opt.Behaviours < uint64(n) {
		n = int(opt.Behaviours)
	}
	run.result.Workers = n
	cancel := context.CancelFunc(func() {})
	if opt.Duration > 0 {
		run.ctx, cancel = context.WithTimeout(run.ctx, opt.Duration)
	}
	defer cancel()
	walks := make([]*simulator[S], n)
	for i := range walks {
		w, err := newWalker(spec, opt.Properties)
		if err != nil {
			return nil, err
		}
		walks[i] = &simulator[S]{walker: w, run: run}
		if opt.Swarm > 0 {
			walks[i].swarm = newSwarm[S](opt.Swarm)
			defer walks[i].swarm.free()
		}
	}
	stop := run.report()
	var wg sync.WaitGroup
	for _, w := range walks {
		wg.Go(w.work)
	}
	wg.Wait()
	stop()
	if run.failed != nil {
		return nil, run.failed
	}
	return run.finish(walks)
}

func newSimulation[S any](spec Spec[S], opt SimulateOptions) (*simulation[S], error) {
	info := spec.Info()
	if opt.Context == nil {
		opt.Context = context.Background()
	}
	if opt.Depth == 0 {
		opt.Depth = 100
	}
	switch {
	case opt.Depth < 0:
		return nil, fmt.Errorf("behaviours of %d steps: want at least 1", opt.Depth)
	case opt.Swarm < 0 || opt.Swarm > maxSwarm:
		return nil, fmt.Errorf("a swarm of searches of %d states: want 1 to %d", opt.Swarm, maxSwarm)
	case opt.Duration < 0:
		return nil, fmt.Errorf("a simulation of %s: want a time to come", opt.Duration)
	case opt.Behaviours == 0 && opt.Duration == 0 && opt.Context.Done() == nil:
		return nil, fmt.Errorf("a simulation of %s needs an end: a number of behaviours, or a time", info.Name)
	case opt.First+opt.Behaviours < opt.First:
		return nil, fmt.Errorf("behaviours from %d on: numbers end before %d more", opt.First, opt.Behaviours)
	}
	weights, err := actionWeights(info, opt.Weights)
	if err != nil {
		return nil, err
	}
	run := &simulation[S]{
		spec: spec, opt: opt, info: info, began: time.Now(), ctx: opt.Context, weights: weights,
		merged: opt.First, early: map[uint64]*outcome{}, edges: map[int][]uint32{},
		result: &Simulation{
			Spec: info.Name, Processes: info.Processes, Legend: info.Legend, Status: NoViolation, Mode: "walks",
			Seed: opt.Seed, First: opt.First, Depth: opt.Depth, DistinctError: sketchError, Lengths: make([]uint64, opt.Depth+1),
		},
	}
	if opt.Swarm > 0 {
		run.result.Mode, run.result.Swarm = "swarm", &SwarmCounts{States: opt.Swarm}
	}
	for _, name := range info.Actions {
		run.result.Actions = append(run.result.Actions, ActionCount{Name: name})
	}
	for _, p := range info.Properties {
		run.result.Properties = append(run.result.Properties, SimulatedProperty{
			PropertyResult: PropertyResult{Name: p.Name, Kind: p.Kind.String(), Restates: p.Restates, Verdict: "open"},
		})
	}
	run.next.Store(opt.First)
	run.last.Store(math.MaxUint64)
	if opt.Behaviours > 0 {
		run.last.Store(opt.First + opt.Behaviours - 1)
	}
	return run, nil
}

func (run *simulation[S]) newOutcome() *outcome {
	o := &outcome{fired: make([]uint32, len(run.info.Actions)), edges: map[int][]uint32{}}
	if o.sketch, _ = run.sketches.Get().(*sketch); o.sketch == nil {
		o.sketch = new(sketch)
	}
	return o
}

// actionWeights gives each action its weight.
func actionWeights(info *Info, named map[string]float64) ([]float64, error) {
	weights := make([]float64, len(info.Actions))
	for i := range weights {
		weights[i] = 1
	}
	for name, w := range named {
		i := slices.Index(info.Actions, name)
		if i < 0 {
			return nil, fmt.Errorf("%s has no action %q to weigh; it has %s", info.Name, name, strings.Join(info.Actions, ", "))
		}
		if !(w >= 0 && w <= 1e9) {
			return nil, fmt.Errorf("the weight of %s is %v: want 0 to 1e9", name, w)
		}
		weights[i] = w
	}
	return weights, nil
}

// work takes behaviours until there are none left.
func (w *simulator[S]) work() {
	run := w.run
	defer func() {
		if p := recover(); p != nil {
			run.mu.Lock()
			if run.failed == nil {
				run.failed = modelError(p)
			}
			run.mu.Unlock()
			run.last.Store(0)
		}
	}()
	for {
		k := run.next.Add(1) - 1
		if k > run.last.Load() || run.ctx.Err() != nil {
			return
		}
		var o *outcome
		if w.swarm != nil {
			o = w.search(k)
		} else {
			o = w.walk(k)
		}
		if o == nil {
			return // interrupted
		}
		run.take(k, o)
	}
}

// take adds the outcome of a behaviour to the result, in the order of numbers.
func (run *simulation[S]) take(k uint64, o *outcome) {
	run.behaviours.Add(1)
	run.steps.Add(o.steps)
	run.judged.Add(o.judged)
	run.mu.Lock()
	defer run.mu.Unlock()
	run.early[k] = o
	for {
		o := run.early[run.merged]
		if o == nil || run.merged > run.last.Load() {
			return
		}
		delete(run.early, run.merged)
		run.add(run.merged, o)
		run.merged++
	}
}

// add counts behaviour k, after all before it.
func (run *simulation[S]) add(k uint64, o *outcome) {
	r := run.result
	r.Behaviours++
	r.Steps += o.steps
	r.Judged += o.judged
	run.sketch.merge(o.sketch)
	*o.sketch = sketch{}
	run.sketches.Put(o.sketch)
	r.Lengths[min(o.length, len(r.Lengths)-1)]++
	if o.stuck {
		r.Stuck++
	}
	if o.stopped {
		r.Stopped++
	}
	for i, n := range o.fired {
		r.Actions[i].Fired += uint64(n)
	}
	if r.Swarm != nil {
		r.Swarm.add(&o.swarm)
	}
	ends := false
	for i := range r.Properties {
		p := &r.Properties[i]
		switch {
		case o.reached>>i&1 == 1 && run.info.Properties[i].Kind == Sometimes:
			p.Verdict = "reached"
		case o.violated>>i&1 == 1:
			p.Verdict = "violated"
			if p.Behaviours == 0 {
				run.edges[i] = o.edges[i]
			}
			ends = ends || p.Restates == ""
		default:
			continue
		}
		if p.Behaviours++; p.Behaviours == 1 {
			p.First = k
		}
	}
	if ends && !run.opt.KeepGoing {
		run.last.Store(k)
	}
}

// finish judges what was counted.
func (run *simulation[S]) finish(walks []*simulator[S]) (*Simulation, error) {
	r := run.result
	// Of an interrupted run some outcomes wait for one that never came.
	rest := make([]uint64, 0, len(run.early))
	for k := range run.early {
		rest = append(rest, k)
	}
	slices.Sort(rest)
	for _, k := range rest {
		if k <= run.last.Load() {
			run.add(k, run.early[k])
		}
	}
	for _, w := range walks {
		for i := range r.Actions {
			r.Actions[i].Within += w.sink.within[i]
		}
	}
	r.Distinct = min(uint64(math.Round(run.sketch.estimate())), r.Judged)
	if err := run.ctx.Err(); err != nil && run.opt.Context.Err() != nil {
		r.Status, r.LimitedBy = Limit, "canceled"
	}
	for i, p := range r.Properties {
		edges := run.edges[i]
		if edges == nil {
			continue
		}
		if p.Restates == "" || r.Status == NoViolation {
			r.Status = Violated
		}
		found := len(edges) - 1
		if !run.opt.Raw {
			var err error
			if edges, err = shrink(run.spec, i, edges); err != nil {
				return nil, err
			}
		}
		v, err := walks[0].violation(i, edges)
		if err != nil {
			return nil, err
		}
		r.Violations = append(r.Violations, SeenViolation{Violation: v, Behaviour: p.First, Found: found})
	}
	slices.SortStableFunc(r.Violations, func(a, b SeenViolation) int {
		if (a.Restates == "") != (b.Restates == "") {
			return len(a.Restates) - len(b.Restates)
		}
		return len(a.Trace) - len(b.Trace)
	})
	kept := r.Properties[:0]
	for i, p := range r.Properties {
		if walks[0].selected>>i&1 == 1 {
			kept = append(kept, p)
		}
	}
	r.Properties = kept
	if run.opt.Show {
		edges := walks[0].alone(run.opt.First)
		trace, err := retrace(run.spec, run.info, edges)
		if err != nil {
			return nil, err
		}
		r.Behaviour = trace
	}
	r.Seconds = time.Since(run.began).Seconds()
	return r, nil
}

// walk takes behaviour k; nil if it was interrupted.
func (w *simulator[S]) walk(k uint64) *outcome {
	o := w.run.newOutcome()
	edges := make([]uint32, 0, w.run.opt.Depth+1)
	if !w.follow(k, o, &edges) {
		return nil
	}
	return o
}

// alone takes behaviour k for its edges.
func (w *simulator[S]) alone(k uint64) []uint32 {
	var edges []uint32
	w.follow(k, w.run.newOutcome(), &edges)
	return edges
}

// follow takes behaviour k, and ends it after a step that violates a property.
func (w *simulator[S]) follow(k uint64, o *outcome, edges *[]uint32) bool {
	random := chance(w.run.opt.Seed, k)
	w.character = random
	w.begin()
	if len(w.kids) == 0 {
		panic(fmt.Errorf("%s has no initial state", w.info.Name))
	}
	choice := w.anyOf(random)
	for n := 0; ; n++ {
		if n%64 == 0 && w.run.ctx.Err() != nil {
			return false
		}
		if end := w.judge(o, *edges); end {
			return true
		}
		*edges = append(*edges, choice.edge)
		if n > 0 {
			o.steps++
			o.length++
			o.fired[choice.instance.Action]++
		}
		if n == w.run.opt.Depth {
			return true
		}
		state := choice.state
		w.enumerate(&state)
		random = chance(random, uint64(n))
		if len(w.kids) == 0 {
			o.stuck, o.stopped = w.sink.bounded == 0, w.sink.bounded != 0
			return true
		}
		if choice = w.draw(random); choice == nil { // all are switched off
			o.stopped = true
			return true
		}
	}
}

// judge judges every kid, and says whether one violates a property.
func (w *simulator[S]) judge(o *outcome, edges []uint32) (end bool) {
	var by [64]*kid[S]
	for i := range w.kids {
		k := &w.kids[i]
		violated, reached := w.check(k)
		violated |= k.violated
		o.reached |= reached | k.reached
		o.judged++
		o.sketch.add(k.fp)
		for v := violated &^ o.violated; v != 0; v &= v - 1 {
			p := bits.TrailingZeros64(uint64(v))
			if by[p] == nil || k.fp < by[p].fp {
				by[p] = k
			}
		}
	}
	for p, k := range by {
		if k != nil {
			o.violated |= 1 << p
			o.edges[p] = append(slices.Clone(edges), k.edge)
		}
	}
	return o.violated&^w.restating != 0
}

// liking is how much the behaviour under way likes an action. Random
// behaviours that are all alike have the same blind spots.
func (w *simulator[S]) liking(a ActionID) float64 {
	if w.off[a] {
		return 0
	}
	if w.run.opt.Even {
		return w.run.weights[a]
	}
	return w.run.weights[a] * likings[chance(w.character^hashK0, uint64(a))%uint64(len(likings))]
}

// likings were compared by how soon known bugs are found. All alike misses twice as
// many in the same time; wider ones, or one draw for each process, find fewer too.
var likings = [...]float64{0.1, 0.5, 1, 1, 2, 5}

// draw draws an action by its weight among those of the kids, and then one of its
// kids; nil if all have weight 0.
func (w *simulator[S]) draw(random uint64) *kid[S] {
	best, action, before := math.Inf(1), -1, -1
	for i := range w.kids {
		a := int(w.kids[i].instance.Action)
		if a == before { // those of an action mostly follow each other
			continue
		}
		before = a
		weight := w.liking(w.kids[i].instance.Action)
		if weight == 0 {
			continue
		}
		// The least of exponential variates falls to each by its rate.
		u := float64(chance(random, uint64(a))>>11+1) / (1 << 53)
		if key := -math.Log(u) / weight; key < best {
			best, action = key, a
		}
	}
	var chosen *kid[S]
	least := uint64(math.MaxUint64)
	for i := range w.kids {
		k := &w.kids[i]
		if int(k.instance.Action) != action {
			continue
		}
		if h := w.lot(k, random); chosen == nil || h < least {
			least, chosen = h, k
		}
	}
	return chosen
}

// anyOf draws one of the kids.
func (w *simulator[S]) anyOf(random uint64) *kid[S] {
	chosen := &w.kids[0]
	for i := range w.kids {
		if k := &w.kids[i]; w.lot(k, random) < w.lot(chosen, random) {
			chosen = k
		}
	}
	return chosen
}

// chance is a random number that follows from two others, of which one may count
// up: hash is mixed twice, since the fold of one product keeps neighbours alike.
func chance(a, b uint64) uint64 { return mix(mix(a^hashK0, b^hashK1)^b*spread, hashK3) ^ a }

// lot is the number that a step has drawn: by what it is, not by where it stands.
func (w *simulator[S]) lot(k *kid[S], random uint64) uint64 {
	step := uint64(k.instance.Args)<<16 ^ uint64(k.instance.Action)<<8 ^ uint64(uint8(k.process))
	return chance(k.fp^random, step)
}

// report reports on a simulation.
func (run *simulation[S]) report() (stop func()) {
	o := Options{
		Progress: run.opt.Progress, ProgressEvery: run.opt.ProgressEvery,
		ProgressAfter: run.opt.ProgressAfter, ProgressInPlace: run.opt.ProgressInPlace,
	}
	rate := meter{at: run.began}
	return o.lines(run.began, func(now time.Time) string {
		judged := run.judged.Load()
		return fmt.Sprintf("%s, %s of seed %d: %s behaviours, %s steps, %s states judged, %s/s%s, %.0f s",
			run.info.Name, run.result.Mode, run.opt.Seed, round(float64(run.behaviours.Load())), round(float64(run.steps.Load())),
			round(float64(judged)), round(rate.read(now, judged)), memoryText(), now.Sub(run.began).Seconds())
	})
}
