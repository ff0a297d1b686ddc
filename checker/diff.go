package checker

import (
	"errors"
	"fmt"
	"slices"
	"sync"
)

// Verdicts of Diff.
const (
	// Same: every behaviour of either side is one of the other.
	Same Status = "same"
	// Differ: at least one side has a behaviour that the other lacks.
	Differ Status = "differ"
)

// DiffOptions say how to compare.
type DiffOptions struct {
	Options
	// A and B are what a reader knows the sides by.
	A, B string
	// On names the fields to observe: as "role", of every part that has it, or as
	// "A.role". Steps that change none of them are not seen. Without it whole states
	// and steps are compared, if the sides begin in the same state, and else Default.
	On, Default []string
	// Actions are steps to observe besides, whether or not they change a field.
	Actions []string
	// First ends the search with the first difference, whichever side it is on.
	First bool
	// Count explores both sides to the end and counts their states.
	Count bool
}

// Comparison is what Diff found.
type Comparison struct {
	A      string `json:"a"`
	B      string `json:"b"`
	Status Status `json:"status"`
	// LimitedBy says what ended the comparison before its end, if anything did.
	LimitedBy string `json:"limited_by,omitempty"`
	// On are the observed fields, and Actions the observed steps; without either,
	// whole states and steps were compared.
	On      []string `json:"on,omitempty"`
	Actions []string `json:"actions,omitempty"`
	Legend  string   `json:"legend,omitempty"`
	// OnlyA is the shortest behaviour that only A has, nil if none was found. OnlyAOpen
	// says that there may be one.
	OnlyA     *Divergence `json:"only_a,omitempty"`
	OnlyB     *Divergence `json:"only_b,omitempty"`
	OnlyAOpen bool        `json:"only_a_open,omitempty"`
	OnlyBOpen bool        `json:"only_b_open,omitempty"`
	// Compared counts the states that common behaviours lead to; of a comparison on
	// fields, the pairs of what the sides may be in after one observed behaviour.
	Compared uint64 `json:"compared"`
	// Counts has the reachable states of both sides, if both were exhausted.
	Counts  *SideCounts `json:"counts,omitempty"`
	Seconds float64     `json:"seconds"`
}

// SideCounts counts the reachable states that both sides have, and that one has.
type SideCounts struct {
	Common uint64 `json:"common"`
	OnlyA  uint64 `json:"only_a"`
	OnlyB  uint64 `json:"only_b"`
}

// Divergence is a behaviour of one side whose last step the other cannot follow.
type Divergence struct {
	Trace []TraceStep `json:"trace"`
	// Observed are, of a comparison on fields, the changes that are seen of it.
	Observed []string `json:"observed,omitempty"`
	// Refused is what keeps the other side from the last step, where the two parted;
	// Unoffered says that its model never has it.
	Refused   []Refusal `json:"refused,omitempty"`
	Unoffered string    `json:"unoffered,omitempty"`
	// Effect is how what the other side makes of the step differs from what this one
	// does: that of its outcomes which is nearest.
	Effect []Change `json:"effect,omitempty"`
	// Among is how many states the other side may be in, if it may be in several.
	Among int `json:"among,omitempty"`
}

// ExitCode is 0 if the sides are the same, 1 if they differ, 3 if a limit was met
// before that could be said.
func (c *Comparison) ExitCode() int {
	switch c.Status {
	case Same:
		return 0
	case Differ:
		return 1
	}
	return 3
}

// Diff compares the behaviours of two variants of a specification: is there one that
// A has and B lacks, or the other way round?
func Diff(a, b Runnable, opt DiffOptions) (*Comparison, error) {
	d, ok := a.(comparer)
	if !ok {
		return nil, fmt.Errorf("%s cannot be compared", a.Info().Name)
	}
	return d.diff(b, opt)
}

type comparer interface {
	diff(b Runnable, opt DiffOptions) (*Comparison, error)
	side() observable
}

func (e erased[S]) diff(other Runnable, opt DiffOptions) (c *Comparison, err error) {
	defer func() {
		if p := recover(); p != nil {
			c, err = nil, modelError(p)
		}
	}()
	for _, info := range []*Info{e.Info(), other.Info()} {
		if err := checkInfo(info); err != nil {
			return nil, err
		}
	}
	c = &Comparison{A: opt.A, B: opt.B, Legend: e.Info().Legend}
	o, sameType := other.(erased[S])
	if len(opt.On) == 0 && len(opt.Actions) == 0 && sameType {
		d := newDiffer(e.spec, o.spec)
		if d.beginAlike() {
			return c, d.compare(c, &opt)
		}
	}
	b, ok := other.(comparer)
	if !ok {
		return nil, fmt.Errorf("%s cannot be compared", other.Info().Name)
	}
	if len(opt.On) == 0 {
		opt.On = opt.Default
	}
	if len(opt.On) == 0 && len(opt.Actions) == 0 {
		return nil, errors.New("the two begin in different states: say which fields to compare")
	}
	return c, compareOn(e.side(), b.side(), c, &opt)
}

// pair is a state that both sides are in, or one that only one side can go to.
type pair struct {
	A, B parcel
	Side uint64
}

// Sides of a pair, as properties that a step to it violates.
const (
	both  uint64 = 0
	onlyA uint64 = 1
	onlyB uint64 = 2
)

// differ is a specification whose states are those that common behaviours of both
// sides lead to. A step that only one side has violates a property of it.
type differ[S any] struct {
	a, b   Spec[S]
	fa, fb func(*S) uint64
	info   *Info
	idle   sync.Pool
}

func newDiffer[S any](a, b Spec[S]) *differ[S] {
	info := *a.Info()
	info.Properties = []Property{
		{Name: "only A", Kind: Always}, {Name: "only B", Kind: Always},
	}
	d := &differ[S]{a: a, b: b, info: &info}
	d.fa, d.fb = fingerprintOf(a), fingerprintOf(b)
	d.idle.New = func() any { return d.fork() }
	return d
}

// fingerprintOf is how the states of a specification are told apart.
func fingerprintOf[S any](spec Spec[S]) func(*S) uint64 {
	if f, ok := spec.(Fingerprinter[S]); ok {
		return f.Fingerprint
	}
	return func(s *S) uint64 { return hashWords(wordsOf(s)) }
}

// beginAlike says whether the sides have an initial state in common.
func (d *differ[S]) beginAlike() bool {
	known := map[uint64]bool{}
	d.a.Init(newCollector(func(c successor[S]) { known[d.fa(c.state)] = true }))
	alike := false
	d.b.Init(newCollector(func(c successor[S]) { alike = alike || known[d.fb(c.state)] }))
	return alike
}

func (d *differ[S]) Info() *Info { return d.info }

func (d *differ[S]) Init(out *Sink[pair]) { d.fork().(*differWorker[S]).Init(out) }

func (d *differ[S]) Next(p *pair, out *Sink[pair]) {
	w := d.idle.Get().(*differWorker[S])
	w.Next(p, out)
	d.idle.Put(w)
}

func (d *differ[S]) Check(*pair) (violated, reached Props) { return 0, 0 }

// Fingerprint is that of the states, which is the same on both sides.
func (d *differ[S]) Fingerprint(p *pair) uint64 {
	if p.Side == onlyB {
		return mix(d.fb(opened[S](&p.B)), hashK2)
	}
	return mix(d.fa(opened[S](&p.A)), hashK1+p.Side)
}

func (d *differ[S]) Describe(p *pair) []Field {
	if p.Side == onlyB {
		return d.b.Describe(opened[S](&p.B))
	}
	return d.a.Describe(opened[S](&p.A))
}

func (d *differ[S]) fork() Spec[pair] {
	w := &differWorker[S]{differ: d, a: d.a, b: d.b}
	if f, ok := d.a.(forker[S]); ok {
		w.a = f.fork()
	}
	if f, ok := d.b.(forker[S]); ok {
		w.b = f.fork()
	}
	w.sinkA = newCollector(func(c successor[S]) { w.ofA = append(w.ofA, w.step(c, w.fa)) })
	w.sinkB = newCollector(func(c successor[S]) { w.ofB = append(w.ofB, w.step(c, w.fb)) })
	return w
}

// differWorker is a fork for one worker.
type differWorker[S any] struct {
	*differ[S]
	a, b         Spec[S]
	sinkA, sinkB *Sink[S]
	ofA, ofB     []sideStep[S]
}

// sideStep is a step and the state that it leads to.
type sideStep[S any] struct {
	fp       uint64
	process  int
	instance Instance
	shared   bool
	state    S
	detail   detail
}

func (l *sideStep[S]) same(m *sideStep[S]) bool {
	return l.fp == m.fp && l.process == m.process && l.instance == m.instance
}

func (w *differWorker[S]) step(c successor[S], finger func(*S) uint64) sideStep[S] {
	return sideStep[S]{fp: finger(c.state), process: c.process, instance: c.instance, state: *c.state, detail: c.detail}
}

func (w *differWorker[S]) Init(out *Sink[pair]) {
	w.begin(out)
	w.a.Init(w.sinkA)
	w.b.Init(w.sinkB)
	w.match(out)
}

func (w *differWorker[S]) Next(p *pair, out *Sink[pair]) {
	if p.Side != both {
		return
	}
	w.begin(out)
	w.a.Next(opened[S](&p.A), w.sinkA)
	w.b.Next(opened[S](&p.B), w.sinkB)
	w.match(out)
	out.bounded |= w.sinkA.bounded | w.sinkB.bounded
}

func (w *differWorker[S]) begin(out *Sink[pair]) {
	w.ofA, w.ofB = w.ofA[:0], w.ofB[:0]
	for _, k := range []*Sink[S]{w.sinkA, w.sinkB} {
		k.plain, k.edge, k.bounded = !out.explains(), 0, 0
	}
}

// match emits what both sides do, and, as a violation, what only one does.
func (w *differWorker[S]) match(out *Sink[pair]) {
	for i := range w.ofA {
		a := &w.ofA[i]
		var found *sideStep[S]
		for j := range w.ofB {
			if b := &w.ofB[j]; a.same(b) {
				b.shared = true
				if found == nil {
					found = b
				}
			}
		}
		p := out.Slot()
		*p = pair{A: parcelOf(&a.state)}
		if found != nil {
			p.B = parcelOf(&found.state)
			w.emit(out, a, 0)
		} else {
			p.Side = onlyA
			w.emit(out, a, 1<<0)
		}
	}
	for j := range w.ofB {
		if b := &w.ofB[j]; !b.shared {
			*out.Slot() = pair{B: parcelOf(&b.state), Side: onlyB}
			w.emit(out, b, 1<<1)
		}
	}
}

func (w *differWorker[S]) emit(out *Sink[pair], l *sideStep[S], violated Props) {
	if out.explains() {
		out.detail = l.detail
	}
	out.Commit(l.process, l.instance, violated, 0)
}

// compare looks for a behaviour of each side that the other lacks.
func (d *differ[S]) compare(c *Comparison, opt *DiffOptions) error {
	if err := checkParcel[S](); err != nil {
		return err
	}
	search := opt.Options
	search.KeepGoing, search.Exact, search.Projected = false, false, false
	want := map[string]bool{"only A": true, "only B": true}
	for len(want) > 0 {
		search.Properties = nil
		for name := range want {
			search.Properties = append(search.Properties, name)
		}
		r, err := runPairs(d, search)
		if err != nil {
			return err
		}
		c.Seconds += r.Seconds
		// What only one side has was counted with the rest.
		c.Compared = max(c.Compared, r.Distinct)
		for _, v := range r.Violations {
			delete(want, v.Property)
			if v.Property == "only A" {
				c.OnlyA = d.divergence(v.Trace, onlyA)
			} else {
				c.OnlyB = d.divergence(v.Trace, onlyB)
			}
		}
		if len(r.Violations) == 0 || opt.First {
			c.LimitedBy = r.LimitedBy
			open := r.Status == Limit || len(r.Violations) > 0
			c.OnlyAOpen, c.OnlyBOpen = open && want["only A"], open && want["only B"]
			break
		}
	}
	switch {
	case c.OnlyA != nil || c.OnlyB != nil:
		c.Status = Differ
	case c.LimitedBy != "":
		c.Status = Limit
	default:
		c.Status = Same
		c.Counts = &SideCounts{Common: c.Compared}
		return nil
	}
	if opt.Count {
		return countSides(d.a, d.b, c, opt)
	}
	return nil
}

// runPairs is a function of its own so that it is compiled here.
func runPairs(spec Spec[pair], opt Options) (*Result, error) { return Run(spec, opt) }

// divergence says of a behaviour of one side why the other does not take its last
// step.
func (d *differ[S]) divergence(trace []TraceStep, side uint64) *Divergence {
	v := &Divergence{Trace: trace}
	mine, other := d.a, d.b
	if side == onlyB {
		mine, other = d.b, d.a
	}
	var parted *S // the state of the other side before the last step
	for i := range trace {
		p := trace[i].State.(pair)
		own, others := *opened[S](&p.A), *opened[S](&p.B)
		if side == onlyB {
			own, others = others, own
		}
		trace[i].State = own
		if i == len(trace)-2 {
			parted = &others
		}
		if i > 0 {
			trace[i].reword(mine.Info()) // the sides may say the same step differently
		}
	}
	if parted != nil { // else they do not even begin alike
		blame(v, other, parted)
	}
	return v
}

// reword says the steps as info has them.
func (t *TraceStep) reword(info *Info) {
	t.Step = info.stepText(t.Process, t.Instance)
	for j := range t.Inner {
		if in := &t.Inner[j]; !in.Lost {
			in.Step = info.stepText(in.Process, in.Instance)
		}
	}
}

// blame says what keeps a side that is in state s from the last step of v, or else
// what that step does there.
func blame[S any](v *Divergence, spec Spec[S], s *S) {
	last := &v.Trace[len(v.Trace)-1]
	v.Refused, v.Unoffered = refusalsOf(spec, s, last)
	if len(v.Refused) > 0 || v.Unoffered != "" {
		return
	}
	spec.Next(s, newCollector(func(c successor[S]) {
		if c.process != last.Process || c.instance != last.Instance || c.detail.message != last.Message {
			return
		}
		changes := Changes(spec.Describe(c.state), last.Fields)
		if v.Effect == nil || len(changes) < len(v.Effect) {
			v.Effect = changes
		}
	}))
}

// refusalsOf is what keeps spec, in state s, from a step: of several ways to take it
// that which lacks least.
func refusalsOf[S any](spec Spec[S], s *S, step *TraceStep) (refused []Refusal, unoffered string) {
	e, ok := spec.(attempter[S])
	if !ok || !e.canExplain() || step.Process < 0 {
		return nil, ""
	}
	if why := e.unoffered(step.Instance.Action); why != "" {
		return nil, why
	}
	found := false
	e.attempts(s, step.Instance.Action, func(process int, message string, at *Attempt) {
		if process != step.Process || at.Instance != step.Instance || message != step.Message {
			return
		}
		if !found || len(at.Refused) < len(refused) {
			found, refused = true, at.Refused
		}
	})
	return refused, ""
}

// countSides explores both sides to their ends, and compares the fingerprints of
// their states.
func countSides[S any](a, b Spec[S], c *Comparison, opt *DiffOptions) error {
	var sets [2]fingerprints
	for i, spec := range []Spec[S]{a, b} {
		finger := fingerprintOf(spec)
		search := opt.Options
		search.Exact, search.Projected, search.Properties = false, false, nil
		r, err := explore(spec, search, func(s *S) Props {
			sets[i].add(finger(s))
			return 0
		})
		if err != nil {
			return err
		}
		c.Seconds += r.Seconds
		if r.Status == Limit {
			c.LimitedBy = r.LimitedBy
			return nil
		}
	}
	common := sets[0].common(&sets[1])
	c.Counts = &SideCounts{Common: common, OnlyA: sets[0].len() - common, OnlyB: sets[1].len() - common}
	return nil
}

// fingerprints are those of distinct states, in lists that are locked one by one.
type fingerprints [256]struct {
	sync.Mutex
	list []uint64
}

func (f *fingerprints) add(fp uint64) {
	s := &f[fp>>56]
	s.Lock()
	s.list = append(s.list, fp)
	s.Unlock()
}

func (f *fingerprints) len() uint64 {
	n := 0
	for i := range f {
		n += len(f[i].list)
	}
	return uint64(n)
}

// common counts what is in both. It sorts them.
func (f *fingerprints) common(g *fingerprints) uint64 {
	n := uint64(0)
	for i := range f {
		a, b := f[i].list, g[i].list
		slices.Sort(a)
		slices.Sort(b)
		for len(a) > 0 && len(b) > 0 {
			switch {
			case a[0] < b[0]:
				a = a[1:]
			case a[0] > b[0]:
				b = b[1:]
			default:
				n++
				a, b = a[1:], b[1:]
			}
		}
	}
	return n
}
