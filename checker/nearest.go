package checker

import (
	"fmt"
	"math"
	"time"
	"unsafe"
)

// startSurvey prepares a survey of a specification, by one goroutine.
func startSurvey[S any](spec Spec[S], opt Options, what string) (*survey[S], func(), error) {
	switch {
	case opt.Exact:
		return nil, nil, fmt.Errorf("a search for %s keeps fingerprints: it has no exact comparison", what)
	case opt.Projected:
		return nil, nil, fmt.Errorf("a search for %s does not count states without budgets", what)
	case opt.Order != BreadthFirst:
		return nil, nil, fmt.Errorf("a search for %s is breadth first, since they are to be short", what)
	case opt.onDisk():
		return nil, nil, fmt.Errorf("a search for %s is in memory: it has no use for files", what)
	case opt.Symmetry:
		return nil, nil, fmt.Errorf("a search for %s does not go up to symmetry", what)
	case opt.Workers > 1:
		return nil, nil, fmt.Errorf("a search for %s has one worker, not %d", what, opt.Workers)
	}
	w, err := newWalker(spec, opt.Properties)
	if err != nil {
		return nil, nil, err
	}
	s := newSurvey(w, opt.context(), opt.MaxDistinct)
	s.depthLimit = opt.MaxDepth
	began := time.Now()
	rate := meter{at: began}
	stop := opt.lines(began, func(now time.Time) string {
		generated := s.shown.generated.Load()
		return fmt.Sprintf("%s, for %s: level %d of %s states, %s distinct, %s generated, %s/s%s, %.0f s",
			w.info.Name, what, s.shown.level.Load(), round(float64(s.shown.queue.Load())), round(float64(s.shown.distinct.Load())),
			round(float64(generated)), round(rate.read(now, generated)), memoryText(), now.Sub(began).Seconds())
	})
	return s, func() { stop(); s.free() }, nil
}

// result is what a survey counted.
func (s *survey[S]) result(began time.Time) *Result {
	r := &Result{
		Status: Holds, LimitedBy: s.limitedBy, Distinct: s.size(), Initial: s.initials,
		Depth: len(s.levels), Levels: s.levels, TableBytes: s.seen.peak,
		Partial: s.limitedBy == "canceled" || s.limitedBy == "states",
	}
	for _, n := range s.levels {
		r.Widest = max(r.Widest, n)
	}
	var one S
	r.Memory = Memory{
		Tables: s.seen.peak, Frontier: 2 * r.Widest * uint64(unsafe.Sizeof(one)), Parents: 8*uint64(cap(s.log)) + uint64(cap(s.actions)),
	}
	s.tell(r)
	if s.limitedBy != "" {
		r.Status = Limit
	}
	r.Seconds = time.Since(began).Seconds()
	return r
}

// Witness is a shortest behaviour that reaches a Sometimes property.
type Witness struct {
	Property string      `json:"property"`
	Doc      string      `json:"doc,omitempty"`
	Trace    []TraceStep `json:"trace"`
}

// Witnesses looks for a shortest behaviour to each of the named Sometimes properties,
// or to all. Status is Found if each has one, Absent if some are never reached, and
// Limit if the search ended before that was known.
func Witnesses[S any](spec Spec[S], names []string, opt Options) (result *Result, err error) {
	began := time.Now()
	opt.Properties = nil
	s, stop, err := startSurvey(spec, opt, "witnesses")
	if err != nil {
		return nil, err
	}
	defer stop()
	defer func() {
		if p := recover(); p != nil {
			result, err = nil, modelError(p)
		}
	}()
	wanted, err := (&Options{Properties: names}).selected(s.info)
	if err != nil {
		return nil, err
	}
	for i, p := range s.info.Properties {
		if p.Kind == Sometimes {
			continue
		}
		if names != nil && wanted>>i&1 == 1 {
			return nil, fmt.Errorf("%s of %s is not something that is reached: it is to hold in every %s", p.Name, s.info.Name,
				map[PropertyKind]string{Invariant: "state", Always: "step"}[p.Kind])
		}
		wanted &^= 1 << i
	}
	wanted &= 1<<len(s.info.Properties) - 1
	if wanted == 0 {
		return nil, fmt.Errorf("%s has no Sometimes property", s.info.Name)
	}
	var ways [64]ref
	var order []int
	missing := wanted
	s.run(func(k *kid[S], way ref, fresh bool, _, reached Props) (follow, more bool) {
		for i := range s.info.Properties {
			if (reached|k.reached)&missing>>i&1 == 1 {
				ways[i], order, missing = way, append(order, i), missing&^(1<<i)
			}
		}
		return true, missing != 0
	})
	edges := make([][]uint32, len(order))
	for n, i := range order {
		edges[n] = s.edges(ways[i])
	}
	r := s.result(began)
	r.Properties = verdicts(s.info, wanted, 0, wanted&^missing, s.limitedBy != "")
	switch {
	case missing == 0:
		r.Status, r.LimitedBy, r.Partial = Found, "", false
	case s.limitedBy == "":
		r.Status = Absent
	}
	for n, i := range order {
		trace, err := retrace(s.spec, s.info, edges[n])
		if err != nil {
			return nil, err
		}
		p := s.info.Properties[i]
		r.Witnesses = append(r.Witnesses, Witness{Property: p.Name, Doc: p.Doc, Trace: trace})
	}
	return r, nil
}

// actionCounts says how often each action is taken in a behaviour.
type actionCounts [math.MaxUint8 + 1]uint16

// within says that a behaviour with counts c, of which one with counts d is to be told
// apart, has all steps of it: it is the other with more steps added, or in another order.
func (d *actionCounts) within(c *actionCounts) bool {
	for i := range d {
		if d[i] > c[i] {
			return false
		}
	}
	return true
}

// severalCounterexamples explores breadth first until it has so many counterexamples
// that differ: in the property, in the last action, or in that neither has all the
// actions of the other, so that none is another in a different order, or with steps
// added. It does not go on from states that violate. Properties that restate a guard
// are left out, unless they are named.
func severalCounterexamples[S any](spec Spec[S], opt Options) (result *Result, err error) {
	began := time.Now()
	s, stop, err := startSurvey(spec, opt, "several counterexamples")
	if err != nil {
		return nil, err
	}
	defer stop()
	defer func() {
		if p := recover(); p != nil {
			result, err = nil, modelError(p)
		}
	}()
	type example struct {
		property int
		last     ActionID
		counts   actionCounts
		way      ref
	}
	var list []example
	var known Props
	s.actions = []ActionID{}
	s.run(func(k *kid[S], way ref, fresh bool, violated, _ Props) (follow, more bool) {
		violated |= k.violated
		if opt.Properties == nil {
			violated &^= s.restating
		}
		if violated == 0 {
			return true, true
		}
		known |= violated
		var counts actionCounts
		counted := false
		for i := range s.info.Properties {
			if violated>>i&1 == 0 || len(list) == opt.Counterexamples {
				continue
			}
			if !counted {
				counts, counted = s.count(k.instance.Action, way), true
			}
			old := false
			for j := range list {
				e := &list[j]
				old = old || e.property == i && e.last == k.instance.Action && e.counts.within(&counts)
			}
			if !old {
				list = append(list, example{i, k.instance.Action, counts, way})
			}
		}
		return false, len(list) < opt.Counterexamples
	})
	edges := make([][]uint32, len(list))
	for i, e := range list {
		edges[i] = s.edges(e.way)
	}
	r := s.result(began)
	ended := s.limitedBy != "" || len(list) == opt.Counterexamples
	r.Properties = verdicts(s.info, s.selected, known, s.reached, ended)
	for i, e := range list {
		v, err := s.violation(e.property, edges[i])
		if err != nil {
			return nil, err
		}
		r.Violations = append(r.Violations, v)
		r.Status = Violated
	}
	return r, nil
}

// count counts the actions of the behaviour that ends with a step.
func (s *survey[S]) count(last ActionID, way ref) (c actionCounts) {
	if way.parent() == initial {
		return c
	}
	c[last]++
	for r := way; r.parent() != initial; {
		o := r.parent()
		if r = s.log[o]; r.parent() != initial {
			c[s.actions[o]]++
		}
	}
	return c
}

// witnesses writes the behaviours that reach what was to be reached.
func (p *printer) witnesses(r *Result) {
	for _, w := range r.Witnesses {
		p.line("")
		p.line("  a shortest way to %s, %s%s", w.Property, stepsText(len(w.Trace)-1), prefixed(": ", w.Doc))
		p.line("")
		p.trace(w.Trace)
	}
	if len(r.Witnesses) > 0 {
		for _, name := range r.Never() {
			p.line("")
			p.line("  %s is never reached", name)
		}
	}
}
