package checker

import "math/bits"

// proveWorker draws states, and tries what may be done from them.
type proveWorker[S any] struct {
	v      *prover[S]
	domain Domain[S]
	dice   dice
	// state is what is tried, walk where a walk from it has come to.
	state, walk S
	walking     bool
	number      int

	// What a block has found, merged when it ends.
	drawn, satisfy uint64
	fired          []uint64
	reached        [64]uint64
	checks         uint64
	fails          []found // by conjunct
	breaks         []found // by conjunct that was dropped
	alone          []uint64
	against        []uint64 // by theorem: conjuncts without which it fails
	tries          []int    // how often the steps from such a state were taken
	under          []map[ActionID]bool
}

// found is the smallest counterexample so far, and how many there were.
type found struct {
	count uint64
	least *Induction
}

func newProveWorker[S any](v *prover[S]) *proveWorker[S] {
	w := &proveWorker[S]{v: v, domain: v.proof.Domain()}
	w.reset()
	return w
}

func (w *proveWorker[S]) reset() {
	n := len(w.v.all)
	w.drawn, w.satisfy, w.checks = 0, 0, 0
	w.fired = make([]uint64, len(w.v.proof.Actions))
	w.reached = [64]uint64{}
	w.fails, w.breaks = make([]found, n), make([]found, n)
	w.alone, w.tries = make([]uint64, n), make([]int, n)
	w.against = make([]uint64, n)
	w.under = make([]map[ActionID]bool, n)
	w.walking = false
}

// block draws n states from the dice of block b. Half of them are made anew, half are
// reached from the one before by a step, so that what is drawn has a past; half of
// each are perturbed.
func (w *proveWorker[S]) block(b, n int) {
	w.reset()
	w.number = b
	w.dice.Seed(w.v.opt.Seed, uint64(b))
	for range n {
		w.drawn++
		if w.walking && w.dice.Intn(2) > 0 {
			w.state = w.walk
		} else {
			w.domain.Construct(&w.dice, &w.state)
		}
		w.walking = false
		for w.dice.Intn(2) == 0 {
			w.domain.Perturb(&w.dice, &w.state)
		}
		w.try()
		if w.v.done.Load() {
			break
		}
	}
	w.merge()
}

// failing is the first conjunct from on that fails in s, or -1.
func (w *proveWorker[S]) failing(s *S, from, to int) int {
	for i := from; i < to; i++ {
		if !w.v.all[i].Holds(s) {
			return i
		}
	}
	return -1
}

// try judges the drawn state: if all holds that is assumed, every step from it must
// keep the invariant. If one conjunct alone fails, it is looked for what that breaks.
func (w *proveWorker[S]) try() {
	v := w.v
	first := w.failing(&w.state, 0, v.claims)
	if first >= 0 {
		w.drop(first)
		return
	}
	w.induct()
	if v.opt.Only != "" || v.own == v.claims {
		return
	}
	c := &v.all[v.own+int(w.satisfy)%(v.claims-v.own)]
	if c.Break != nil {
		c.Break(&w.dice, &w.state)
	} else {
		w.domain.Perturb(&w.dice, &w.state)
	}
	if first := w.failing(&w.state, 0, v.claims); first >= 0 {
		w.drop(first)
	}
}

// drop looks at a state in which conjunct c is the first that fails: if it alone does,
// what breaks without it?
func (w *proveWorker[S]) drop(c int) {
	if w.v.opt.Only != "" || w.failing(&w.state, c+1, w.v.claims) >= 0 {
		return
	}
	w.alone[c]++
	if c >= w.v.own && w.tries[c] < dropTries {
		w.without(c)
	}
}

// induct takes every step from a state in which all holds that is assumed.
func (w *proveWorker[S]) induct() {
	v := w.v
	w.satisfy++
	for i := v.claims; i < len(v.all); i++ {
		if !v.all[i].Holds(&w.state) {
			w.note(&w.fails[i], i, Move{Process: -1, Message: -1}, nil)
		}
	}
	taken := 0
	w.domain.Steps(&w.state, func(m Move, next *S) {
		w.fired[m.Action]++
		for r := m.Reached; r != 0; r &= r - 1 {
			w.reached[bits.TrailingZeros64(uint64(r))]++
		}
		w.checks++
		kept := true
		for i := v.own; i < v.claims; i++ {
			if v.all[i].Holds(next) {
				continue
			}
			kept = false
			w.note(&w.fails[i], i, m, next)
			if w.under[i] == nil {
				w.under[i] = map[ActionID]bool{}
			}
			w.under[i][m.Action] = true
		}
		taken++
		if kept && w.dice.Intn(taken) == 0 {
			w.walk, w.walking = *next, true
		}
	})
}

// without looks for what fails from a state in which conjunct c alone does not hold:
// a theorem in the state itself, or another conjunct after a step.
func (w *proveWorker[S]) without(c int) {
	v := w.v
	at := &w.breaks[c]
	claims := false
	for i := v.claims; i < len(v.all); i++ {
		if !v.all[i].Holds(&w.state) {
			claims = true
			w.against[i] |= 1 << c
			w.note(at, i, Move{Process: -1, Message: -1}, nil)
		}
	}
	size := w.domain.Size(&w.state)
	if claims || at.least != nil && at.least.size <= size {
		return
	}
	w.tries[c]++
	found := false
	w.domain.Steps(&w.state, func(m Move, next *S) {
		if found {
			return
		}
		for i := v.own; i < v.claims; i++ {
			if i != c && !v.all[i].Holds(next) {
				w.note(at, i, m, next)
				found = true
				return
			}
		}
	})
}

// note keeps the smallest counterexample: step i fails after m, or within the state if
// next is nil.
func (w *proveWorker[S]) note(f *found, i int, m Move, next *S) {
	f.count++
	size := w.domain.Size(&w.state)
	if f.least != nil && f.least.size <= size {
		return
	}
	e := &Induction{Step: w.v.all[i].Name, Before: w.domain.Describe(&w.state), size: size, block: w.number}
	if next != nil {
		e.Action = w.v.proof.Actions[m.Action]
		e.Told = w.domain.Tell(&w.state, m)
		e.After = w.domain.Describe(next)
	}
	f.least = e
}

// merge adds what a block has found to the result. The smallest counterexample of the
// first block that has it is shown, whoever comes first.
func (w *proveWorker[S]) merge() {
	v := w.v
	v.mu.Lock()
	defer v.mu.Unlock()
	r := v.result
	r.Drawn += w.drawn
	r.Satisfy += w.satisfy
	for a, n := range w.fired {
		v.firings[a] += n
	}
	for b, n := range w.reached {
		v.reached[b] += n
	}
	for i := v.own; i < len(v.all); i++ {
		st := v.step(i)
		if st.Kind == StepTheorem {
			st.Checks += w.satisfy
		} else {
			st.Checks += w.checks
		}
		st.Fails += w.fails[i].count
		st.Failure = smaller(st.Failure, w.fails[i].least)
		v.against[i] |= w.against[i]
		st.Alone += w.alone[i]
		st.Breaks = smaller(st.Breaks, w.breaks[i].least)
		for a := range w.under[i] {
			v.under[i][a] = true
		}
	}
	if v.enough() {
		v.done.Store(true)
	}
}

func smaller(a, b *Induction) *Induction {
	switch {
	case a == nil:
		return b
	case b == nil || a.Initial:
		return a
	case b.size < a.size || b.size == a.size && b.block < a.block:
		return b
	}
	return a
}
