package checker

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// RunLiveness judges the liveness properties of spec on its whole state graph.
//
// A behaviour is an endless sequence of states from an initial state on, each of
// which is reached from the one before it by a step or is the same: a behaviour may
// stutter. One that ends stutters for ever. It is judged if
//
//   - in the end the assumptions hold: from some state on, its suffix satisfies
//     [Finally], and
//   - it is fair: each [Fairness] holds of its steps. A step of Finally.Never does
//     not count for fairness, neither as enabled nor as taken; stuttering is no step.
//
// A property holds if every behaviour that is judged has it, from the initial state
// on, not only in the suffix. It is vacuous, and does not hold, if no behaviour is
// judged, or if the premise of LeadsTo is true in none that is. Otherwise there is a
// counterexample: a shortest way to a fair component that violates it, and then a
// cycle that does all that fairness asks for.
//
// What would make an answer unsound is refused with an error: limits on states or
// depth, symmetry, states taken for equal by less than all of their parts, and a
// bound or budget that keeps a step from being taken in the suffix, unless that step
// is one of Finally.Never: the property would hold or fail because of the bound, not
// because of the protocol. See [LimitError].
//
// Invariants are not judged. The run takes one goroutine, and keeps the graph in
// memory: a state of size n with e steps costs about n+30+6e bytes.
func RunLiveness[S any](spec LiveSpec[S], opt Options) (result *LiveResult, err error) {
	defer func() {
		if p := recover(); p != nil {
			result, err = nil, modelError(p)
		}
	}()
	l := &liveRun[S]{spec: spec, info: spec.Info(), live: spec.Liveness(), began: time.Now()}
	if err := l.refuse(&opt); err != nil {
		return nil, err
	}
	l.compile()
	if err := l.build(&opt); err != nil {
		return nil, err
	}
	r := &LiveResult{
		Spec: l.info.Name, Legend: l.info.Legend, Assumes: l.live.Assumes, Status: Holds,
		Distinct: uint64(l.n), Edges: uint64(len(l.to)), Exact: l.exact, Processes: l.info.Processes,
	}
	if !l.exact {
		r.Omission = omissions(r.Distinct, r.Edges)
	}
	if l.canceled {
		r.Status, r.LimitedBy = Limit, "canceled"
		return l.finish(r), nil
	}
	if err := l.judgeAll(r, opt.Properties); err != nil {
		return nil, err
	}
	return l.finish(r), nil
}

// LimitError says that a liveness model has no verdict, since a bound of the model
// keeps a step from being taken that the assumptions do not rule out.
type LimitError struct {
	Spec, Bound string
	// States is in how many states of the suffix, Trace the shortest way to one.
	States uint64
	Trace  []TraceStep
	// Spends, if not empty, is a step of the suffix that uses the budget up.
	Spends string
}

func (e *LimitError) Error() string {
	if e.Spends != "" {
		return fmt.Sprintf("%s: no verdict: %s is a step that may be taken for ever, and costs the budget %q: the property would be judged by the budget; "+
			"make it free, or let the model assume that it stops", e.Spec, e.Spends, e.Bound)
	}
	return fmt.Sprintf("%s: no verdict: the bound %q keeps steps from being taken in %d states after which the assumptions hold: the property would be judged by the bound; "+
		"raise it, or let the model assume that these steps stop (the nearest such state is %d steps away)", e.Spec, e.Bound, e.States, len(e.Trace)-1)
}

// liveRun is one run.
type liveRun[S any] struct {
	liveGraph
	spec  LiveSpec[S]
	info  *Info
	live  *Liveness
	began time.Time

	states   pagedStates[S]
	exact    bool
	canceled bool
	spent    func(s *S, b Budget) uint8 // nil: the specification has no budgets
}

// refuse returns an error for what cannot be judged.
func (l *liveRun[S]) refuse(opt *Options) error {
	if err := checkInfo(l.info); err != nil {
		return err
	}
	fail := func(format string, args ...any) error {
		return fmt.Errorf("%s: liveness: %s", l.info.Name, fmt.Sprintf(format, args...))
	}
	switch {
	case opt.MaxDistinct > 0 || opt.MaxDepth > 0:
		return fail("a limit on states or depth leaves the state graph incomplete, so nothing follows for endless behaviours")
	case opt.Symmetry:
		return fail("under symmetry a cycle of orbits need not be one of states, and fairness is of single processes")
	case opt.Projected:
		return fail("states that differ only in budgets are not the same where behaviours are endless")
	case len(l.live.Atoms) > 64:
		return fail("%d atoms, the limit is 64", len(l.live.Atoms))
	case len(l.live.Fair) > 64:
		return fail("%d fairness conditions, the limit is 64", len(l.live.Fair))
	case len(l.live.Properties) == 0:
		return fail("no property")
	}
	known := Atoms(1)<<len(l.live.Atoms) - 1
	check := func(what string, atoms Atoms) error {
		if atoms&^known != 0 {
			return fail("%s uses an atom that has no name", what)
		}
		return nil
	}
	errs := []error{check("Finally", l.live.Finally.From|l.live.Finally.Always)}
	sets := func(what string, list []StepSet) {
		for _, s := range list {
			errs = append(errs, check(what, s.When|s.Unless))
			for _, a := range s.Actions {
				if int(a) >= len(l.info.Actions) {
					errs = append(errs, fail("%s names action %d of %d", what, a, len(l.info.Actions)))
				}
			}
			for _, p := range s.Processes {
				if p < -1 || p >= len(l.info.Processes) {
					errs = append(errs, fail("%s names process %d of %d", what, p, len(l.info.Processes)))
				}
			}
			if s.Args&^s.Mask != 0 {
				errs = append(errs, fail("%s: no parameters p have p&%#x == %#x", what, s.Mask, s.Args))
			}
		}
	}
	sets("Finally.Never", l.live.Finally.Never)
	for _, f := range l.live.Fair {
		sets("fairness "+f.Name, f.Steps)
	}
	for _, p := range l.live.Properties {
		errs = append(errs, check("property "+p.Name, p.P|p.Q))
		sets("property "+p.Name, p.Steps)
		if p.Form == EventuallyAlways && len(p.Steps) > 0 {
			errs = append(errs, fail("property %s: EventuallyAlways is of states, not of steps", p.Name))
		}
		if p.Form > EventuallyAlways {
			errs = append(errs, fail("property %s: unknown form %d", p.Name, p.Form))
		}
	}
	for _, limit := range l.live.Limits {
		sets("limit "+limit.Bound, []StepSet{limit.Steps})
		if _, ok := l.boundBit(limit.Bound); !ok {
			errs = append(errs, fail("Limits names bound %q, which the specification does not have", limit.Bound))
		}
	}
	for _, want := range opt.Properties {
		if !slices.ContainsFunc(l.live.Properties, func(p LivenessProperty) bool { return p.Name == want }) {
			var names []string
			for _, p := range l.live.Properties {
				names = append(names, p.Name)
			}
			errs = append(errs, fail("no property %q; it has %s", want, strings.Join(names, ", ")))
		}
	}
	return errors.Join(errs...)
}

// boundBit finds a bound or budget by name; "messages" is MaxInFlight.
func (l *liveRun[S]) boundBit(name string) (int, bool) {
	for i, b := range l.info.Bounds {
		if b == name {
			return i, true
		}
	}
	for i, b := range l.info.Budgets {
		if i > 0 && b.Name == name {
			return budgetBit + i, true
		}
	}
	if name == "messages" && l.info.MaxInFlight > 0 {
		return inFlightBit, true
	}
	return 0, false
}

func (l *liveRun[S]) boundName(bit int) string {
	switch {
	case bit == inFlightBit:
		return "messages"
	case bit >= budgetBit:
		return l.info.Budgets[bit-budgetBit].Name
	case bit < len(l.info.Bounds):
		return l.info.Bounds[bit]
	}
	return fmt.Sprintf("bound %d", bit)
}

// excused says that a bound stops only steps that the assumptions rule out.
func (l *liveRun[S]) excused(bit int) bool {
	declared := false
	for _, limit := range l.live.Limits {
		if at, _ := l.boundBit(limit.Bound); at != bit {
			continue
		}
		declared = true
		if !l.ruledOut(limit.Steps) {
			return false
		}
	}
	return declared
}

// ruledOut says that every step of a set is among Finally.Never, whatever the
// state that it is taken from.
func (l *liveRun[S]) ruledOut(s StepSet) bool {
	actions, processes := s.Actions, s.Processes
	if actions == nil {
		for a := range l.info.Actions {
			actions = append(actions, ActionID(a))
		}
	}
	if processes == nil {
		for p := -1; p < len(l.info.Processes); p++ {
			processes = append(processes, p)
		}
	}
	for _, a := range actions {
		for _, p := range processes {
			if !slices.ContainsFunc(l.live.Finally.Never, func(n StepSet) bool {
				return n.Mask == 0 && n.When == 0 && n.Unless == 0 && !n.Lost &&
					(n.Actions == nil || slices.Contains(n.Actions, a)) &&
					(n.Processes == nil || slices.Contains(n.Processes, p))
			}) {
				return false
			}
		}
	}
	return true
}
