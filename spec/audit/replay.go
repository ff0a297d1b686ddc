package audit

import (
	"fmt"
	"slices"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/spec"
)

// Parting is the step of a counterexample that the clean protocol does not take.
type Parting struct {
	// Step is the step of the counterexample, counted from 1.
	Step   int
	Action spec.ActionID
	// Guard refused the action; NoGuard: the clean protocol takes it with another
	// effect.
	Guard spec.Guard
}

func (p Parting) String() string {
	if p.Guard == spec.NoGuard {
		return fmt.Sprintf("step %d, %s has another effect", p.Step, p.Action)
	}
	return fmt.Sprintf("step %d, %s is refused by %s", p.Step, p.Action, p.Guard)
}

// world is a global state to replay in.
type world struct {
	replicas []spec.Replica
	network  []spec.Msg
}

// Replay follows a counterexample, found in a model under a mutation, on the clean
// protocol. It returns an error if the counterexample is not a behaviour of the
// mutated protocol, or is one of the clean protocol too.
func Replay(m *spec.Model, mu *spec.Mutation, trace []checker.TraceStep) (Parting, error) {
	mutated := spec.NewSystem(m, spec.Variant{Mutation: mu})
	clean := spec.NewSystem(m, spec.Variant{})
	var w world
	mutated.Init(func(r []spec.Replica, n []spec.Msg, _ spec.Ghost) {
		w.replicas, w.network = slices.Clone(r), slices.Clone(n)
	})
	for n, step := range trace[1:] {
		count := n + 1
		parts := []checker.InnerStep{{Process: step.Process, Instance: step.Instance, Step: step.Step, Message: step.Message}}
		for _, part := range append(parts, step.Inner...) {
			parted, where, err := w.take(mutated, clean, part)
			if err != nil {
				return Parting{}, fmt.Errorf("step %d (%s %s): %w", count, part.Step, part.Message, err)
			}
			if parted {
				where.Step = count
				return where, nil
			}
		}
	}
	return Parting{}, fmt.Errorf("the clean protocol takes all %d steps", len(trace)-1)
}

// take advances by one step of the mutated protocol, and says whether the clean
// one does something else there.
func (w *world) take(mutated, clean *spec.System, part checker.InnerStep) (bool, Parting, error) {
	var m *spec.Msg
	at := -1
	if part.Message != "" {
		if at = slices.IndexFunc(w.network, func(m spec.Msg) bool { return m.String() == part.Message }); at < 0 {
			return false, Parting{}, fmt.Errorf("no such message in flight among %d", len(w.network))
		}
		in := w.network[at]
		m = &in
	}
	if part.Lost {
		w.network = slices.Delete(w.network, at, at+1)
		return false, Parting{}, nil
	}
	if part.Process < 0 {
		return false, Parting{}, w.environment(mutated, at, part.Instance)
	}
	r := &w.replicas[part.Process]
	want, ok := find(mutated, r, m, part.Instance)
	if !ok {
		return false, Parting{}, fmt.Errorf("the mutated protocol does not take it")
	}
	got, ok := find(clean, r, m, part.Instance)
	where := Parting{Action: spec.ActionID(part.Instance.Action)}
	if !ok {
		where.Guard = clean.Refusal(r, m, part.Instance)
		return true, where, nil
	}
	if got.Next != want.Next || got.SendN != want.SendN || got.Sends != want.Sends {
		return true, where, nil
	}
	if at >= 0 && !want.Keep {
		w.network = slices.Delete(w.network, at, at+1)
	}
	*r = want.Next
	w.network = append(w.network, want.Sends[:want.SendN]...)
	return false, Parting{}, nil
}

func (w *world) environment(s *spec.System, at int, i checker.Instance) error {
	if at < 0 {
		return fmt.Errorf("the environment acts on no message")
	}
	var fates checker.Fates[spec.Msg]
	s.Network(&w.network[at], &fates)
	for _, f := range fates.List {
		if f.Instance == i {
			w.network = append(slices.Delete(w.network, at, at+1), f.Becomes[:f.N]...)
			return nil
		}
	}
	return fmt.Errorf("the environment cannot do that to %s", w.network[at].String())
}

// find is the step of an instance, whatever budget it costs.
func find(s *spec.System, r *spec.Replica, m *spec.Msg, i checker.Instance) (checker.Step[spec.Replica, spec.Msg], bool) {
	var steps checker.Steps[spec.Replica, spec.Msg]
	if m != nil {
		s.Deliver(r, m, &steps)
	} else {
		for b := range s.Info().Budgets {
			s.Local(r, checker.Budget(b), &steps)
		}
	}
	for _, step := range steps.List {
		if step.Instance == i {
			return step, true
		}
	}
	return checker.Step[spec.Replica, spec.Msg]{}, false
}
