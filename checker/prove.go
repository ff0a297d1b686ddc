package checker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// ProveOptions says how much of a domain is tried.
type ProveOptions struct {
	Context context.Context
	// Samples is how many states are drawn; most satisfy the invariant. Default
	// [DefaultSamples].
	Samples int
	// Seed decides which: the result does not depend on Workers, which is one for each
	// core if 0.
	Seed    uint64
	Workers int
	// Only, if not "", ends the run as soon as the step of that name fails, and looks
	// for nothing else. How much was drawn by then depends on Workers.
	Only string
}

// DefaultSamples is enough for each proof of the specification to break every
// conjunct that it can break, with a margin of ten.
const DefaultSamples = 150_000

// StepKind says what a step of a proof claims.
type StepKind string

const (
	// StepLemma is a fact about single steps or values, in every case of a domain.
	StepLemma StepKind = "lemma"
	// StepInvariant is a conjunct that holds initially and is kept by every step.
	StepInvariant StepKind = "invariant"
	// StepTheorem follows from the invariant within a state.
	StepTheorem StepKind = "theorem"
)

// Use says what becomes of a proof without one conjunct.
type Use string

const (
	// UseNeeded: without it another step fails.
	UseNeeded Use = "needed"
	// UseConclusion: nothing in this proof leans on it, as on what is itself to be shown.
	UseConclusion Use = "conclusion"
	// UseImplied: no state was found in which it alone fails.
	UseImplied Use = "implied"
)

// ProofStep is the verdict on one step of a proof.
type ProofStep struct {
	Name string   `json:"name"`
	Kind StepKind `json:"kind"`
	Doc  string   `json:"doc"`
	// Checks is how often it was judged: cases of a lemma, steps out of states for an
	// invariant, states for a theorem.
	Checks uint64 `json:"checks"`
	// Failure is the smallest counterexample found, Fails how often it failed, Under
	// the actions that made it fail.
	Failure *Induction `json:"failure,omitempty"`
	Fails   uint64     `json:"fails"`
	Under   []string   `json:"under,omitempty"`
	// Use says whether the proof stands without it (an invariant only), Alone in how
	// many states it alone failed, and Breaks which step fails then.
	Use    Use        `json:"use,omitempty"`
	Alone  uint64     `json:"alone,omitempty"`
	Breaks *Induction `json:"breaks,omitempty"`
	// Without names the conjuncts without which a theorem fails.
	Without []string `json:"without,omitempty"`
}

// Induction is a counterexample to induction: a state in which all holds that was
// assumed, a step, and the state after it, in which Step does not hold.
type Induction struct {
	Step string `json:"step"`
	// Action is "" where Step fails within the state.
	Action string  `json:"action,omitempty"`
	Told   string  `json:"told,omitempty"`
	Before []Field `json:"before,omitempty"`
	After  []Field `json:"after,omitempty"`
	// Initial: Before is an initial state.
	Initial bool `json:"initial,omitempty"`

	size  int
	block int
}

// Firings counts the steps of one action, or those that took one branch.
type Firings struct {
	Name  string `json:"name"`
	Count uint64 `json:"count"`
}

// ProofResult is what came of the steps of a proof.
type ProofResult struct {
	Proof string      `json:"proof"`
	Doc   string      `json:"doc"`
	Steps []ProofStep `json:"steps"`
	// Drawn states, those of them that Satisfy what is assumed, and the steps taken from these,
	// by action.
	Drawn   uint64    `json:"drawn"`
	Satisfy uint64    `json:"satisfy"`
	Initial uint64    `json:"initial"`
	Firings []Firings `json:"firings"`
	// Branches counts the steps that took each branch that was to be reached.
	Branches []Firings `json:"branches,omitempty"`
	// Vacuous names what was never tried: an action that never fired, or no state at all.
	Vacuous []string `json:"vacuous,omitempty"`
	Seconds float64  `json:"seconds"`
	// Stopped: the context ended first.
	Stopped bool `json:"stopped,omitempty"`
}

// Failed names the steps that do not hold.
func (r *ProofResult) Failed() []string {
	var names []string
	for i := range r.Steps {
		if r.Steps[i].Failure != nil {
			names = append(names, r.Steps[i].Name)
		}
	}
	return names
}

// Step is the step of that name, or nil.
func (r *ProofResult) Step(name string) *ProofStep {
	for i := range r.Steps {
		if r.Steps[i].Name == name {
			return &r.Steps[i]
		}
	}
	return nil
}

// ExitCode is 0 if every step holds and none is vacuous, 1 if one fails, and 3 if the
// run was stopped, or drew too little to say anything.
func (r *ProofResult) ExitCode() int {
	switch {
	case len(r.Failed()) > 0:
		return 1
	case r.Stopped, len(r.Vacuous) > 0:
		return 3
	}
	return 0
}

// StepFacts are the steps of the proof, in order.
func (p *Proof[S]) StepFacts() []Fact {
	var all []Fact
	for _, l := range p.Lemmas {
		all = append(all, l.Facts...)
	}
	for _, list := range [][]Conjunct[S]{p.Invariant, p.Theorem} {
		for _, c := range list {
			all = append(all, Fact{c.Name, c.Doc})
		}
	}
	return all
}

// StepNames are the names of the steps, in order.
func (p *Proof[S]) StepNames() []string {
	var names []string
	for _, f := range p.StepFacts() {
		names = append(names, f.Name)
	}
	return names
}

// blockSize is how many states one stream of dice draws.
const blockSize = 250

// dropTries is how many states in which one conjunct alone fails are followed in a
// block. The first ones tell.
const dropTries = 6

// Prove tries every step of a proof in its domain.
func Prove[S any](p *Proof[S], o ProveOptions) (*ProofResult, error) {
	if err := proofError(p, &o); err != nil {
		return nil, err
	}
	start := time.Now()
	v := newProver(p, &o)
	v.lemmas()
	v.initial(p.Domain())
	if !v.enough() {
		v.induction()
	}
	v.result.Stopped = o.Context.Err() != nil && !v.done.Load()
	v.conclude()
	v.result.Seconds = time.Since(start).Seconds()
	return v.result, nil
}

func proofError[S any](p *Proof[S], o *ProveOptions) error {
	if o.Context == nil {
		o.Context = context.Background()
	}
	if o.Samples == 0 {
		o.Samples = DefaultSamples
	}
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	known := map[string]bool{}
	note := func(name string) error {
		if known[name] {
			return fmt.Errorf("proof %s: two steps are named %s", p.Name, name)
		}
		known[name] = true
		return nil
	}
	var errs []error
	for _, l := range p.Lemmas {
		for _, f := range l.Facts {
			errs = append(errs, note(f.Name))
		}
	}
	for _, list := range [][]Conjunct[S]{p.Assumed, p.Invariant, p.Theorem} {
		for _, c := range list {
			errs = append(errs, note(c.Name))
		}
	}
	switch n := len(p.Assumed) + len(p.Invariant) + len(p.Theorem); {
	case n > 64:
		errs = append(errs, fmt.Errorf("proof %s: %d conjuncts, want at most 64", p.Name, n))
	case o.Samples < 0 || o.Workers < 0:
		errs = append(errs, fmt.Errorf("proof %s: %d samples on %d workers", p.Name, o.Samples, o.Workers))
	case o.Only != "" && !known[o.Only]:
		errs = append(errs, fmt.Errorf("proof %s has no step %s", p.Name, o.Only))
	}
	return errors.Join(errs...)
}

// prover runs one proof.
type prover[S any] struct {
	proof *Proof[S]
	opt   *ProveOptions
	// all are the conjuncts: assumed, invariant, theorem, in this order; own is where
	// the invariant begins and claims where the theorem does.
	all         []Conjunct[S]
	own, claims int
	result      *ProofResult
	steps       int // index in result.Steps of the first conjunct of the invariant
	done        atomic.Bool

	mu      sync.Mutex
	firings []uint64
	reached [64]uint64
	under   []map[ActionID]bool
	against []uint64
}

func newProver[S any](p *Proof[S], o *ProveOptions) *prover[S] {
	v := &prover[S]{proof: p, opt: o, result: &ProofResult{Proof: p.Name, Doc: p.Doc}}
	v.all = append(append(append(v.all, p.Assumed...), p.Invariant...), p.Theorem...)
	v.own, v.claims = len(p.Assumed), len(p.Assumed)+len(p.Invariant)
	v.firings = make([]uint64, len(p.Actions))
	v.against = make([]uint64, len(v.all))
	v.under = make([]map[ActionID]bool, len(v.all))
	for _, l := range p.Lemmas {
		for _, f := range l.Facts {
			v.result.Steps = append(v.result.Steps, ProofStep{Name: f.Name, Kind: StepLemma, Doc: f.Doc})
		}
	}
	v.steps = len(v.result.Steps)
	for i, c := range v.all {
		v.under[i] = map[ActionID]bool{}
		kind := StepInvariant
		if i >= v.claims {
			kind = StepTheorem
		}
		if i >= v.own {
			v.result.Steps = append(v.result.Steps, ProofStep{Name: c.Name, Kind: kind, Doc: c.Doc})
		}
	}
	return v
}

// step is the verdict on conjunct i, nil for an assumed one.
func (v *prover[S]) step(i int) *ProofStep {
	if i < v.own {
		return nil
	}
	return &v.result.Steps[v.steps+i-v.own]
}

// enough: the step that was asked for has failed.
func (v *prover[S]) enough() bool {
	if v.opt.Only == "" {
		return false
	}
	s := v.result.Step(v.opt.Only)
	return s != nil && s.Failure != nil
}

func (v *prover[S]) lemmas() {
	at := 0
	for _, l := range v.proof.Lemmas {
		fired := make([]uint64, len(l.Actions))
		steps := v.result.Steps[at : at+len(l.Facts)]
		at += len(l.Facts)
		if only := v.opt.Only; only != "" && !slices.ContainsFunc(l.Facts, func(f Fact) bool { return f.Name == only }) {
			continue
		}
		cases := uint64(0)
		l.Cases(func(a ActionID, failed uint64, tell func() string) bool {
			cases++
			action := ""
			if l.Actions != nil {
				fired[a]++
				action = l.Actions[a]
			}
			for i := range steps {
				if failed>>i&1 == 0 {
					continue
				}
				s := &steps[i]
				s.Fails++
				if s.Failure == nil {
					s.Failure = &Induction{Step: s.Name, Action: action, Told: tell()}
				}
				s.Under = withName(s.Under, action)
			}
			return (cases%1024 != 0 || v.opt.Context.Err() == nil) && !v.enough()
		})
		for i := range steps {
			steps[i].Checks = cases
			if cases == 0 {
				v.result.Vacuous = append(v.result.Vacuous, steps[i].Name+": no case")
			}
		}
		for a, n := range fired {
			if n == 0 && l.Actions[a] != "" && !v.enough() {
				v.result.Vacuous = append(v.result.Vacuous, steps[0].Name+": "+l.Actions[a]+" never fired")
			}
		}
	}
}

func withName(names []string, name string) []string {
	if name == "" {
		return names
	}
	for _, n := range names {
		if n == name {
			return names
		}
	}
	return append(names, name)
}

// initial judges the initial states.
func (v *prover[S]) initial(d Domain[S]) {
	d.Init(func(s *S) {
		v.result.Initial++
		for i := range v.all {
			if i < v.own || v.all[i].Holds(s) {
				continue
			}
			st := v.step(i)
			st.Fails++
			if st.Failure == nil {
				st.Failure = &Induction{Step: st.Name, Before: d.Describe(s), Initial: true}
			}
		}
	})
}

// induction draws states, block by block.
func (v *prover[S]) induction() {
	blocks := (v.opt.Samples + blockSize - 1) / blockSize
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(v.opt.Workers, max(blocks, 1)) {
		all.Go(func() {
			w := newProveWorker(v)
			for !v.done.Load() && v.opt.Context.Err() == nil {
				b := int(next.Add(1) - 1)
				if b >= blocks {
					break
				}
				w.block(b, min(blockSize, v.opt.Samples-b*blockSize))
			}
		})
	}
	all.Wait()
}

// conclude says what is vacuous, and what each conjunct is good for.
func (v *prover[S]) conclude() {
	r := v.result
	for a, n := range v.firings {
		if v.proof.Actions[a] != "" {
			r.Firings = append(r.Firings, Firings{v.proof.Actions[a], n})
		}
	}
	for i := range v.all {
		st := v.step(i)
		if st == nil {
			continue
		}
		for a := range v.proof.Actions {
			if v.under[i][ActionID(a)] {
				st.Under = append(st.Under, v.proof.Actions[a])
			}
		}
		for c := v.own; c < v.claims; c++ {
			if v.against[i]>>c&1 == 1 {
				st.Without = append(st.Without, v.all[c].Name)
			}
		}
		if st.Kind != StepInvariant || v.opt.Only != "" {
			continue
		}
		switch {
		case st.Breaks != nil:
			st.Use = UseNeeded
		case st.Alone > 0:
			st.Use = UseConclusion
		default:
			st.Use = UseImplied
		}
	}
	for b, name := range v.proof.Branches {
		if name != "" {
			r.Branches = append(r.Branches, Firings{name, v.reached[b]})
		}
	}
	if v.opt.Only != "" || r.Stopped {
		return
	}
	if r.Satisfy == 0 {
		r.Vacuous = append(r.Vacuous, "no state satisfies the invariant")
	}
	for _, f := range r.Firings {
		if f.Count == 0 {
			r.Vacuous = append(r.Vacuous, f.Name+" never fired")
		}
	}
	for _, b := range r.Branches {
		if b.Count == 0 {
			r.Vacuous = append(r.Vacuous, b.Name+" was never reached")
		}
	}
}

// dice are numbers from a seed.
type dice struct{ rand.PCG }

// Intn implements Dice.
func (d *dice) Intn(n int) int { return int(uint64(uint32(d.Uint64()>>32)) * uint64(n) >> 32) }
