package concern

import "github.com/quorate/quorate/checker"

// Live is a model in which it is asked what comes about in the end, under the assumptions
// of its Liveness.
type Live struct {
	// Name of the model, which is one of the concern's with constants set.
	Name, Why string
	Model     string
	Set       []Setting
	Liveness  *checker.Liveness
	// Mutations of the concern that it catches, each by a lasso.
	Mutations []LiveMutation
	Pin       LivePin
}

// LivePin is what a live model must give: states, those in which its assumptions may
// hold, and fair components.
type LivePin struct{ Distinct, Suffix, Fair uint64 }

// LiveMutation is a mutation that keeps something from ever coming about: by Property, in
// a lasso of Stem steps and a Cycle that repeats (0: nothing happens any more).
type LiveMutation struct {
	ID, Property string
	Stem, Cycle  int
}

// Judge is a Spec with state predicates for liveness, bit i for Liveness.Atoms[i].
type Judge[S any] interface {
	Spec[S]
	Atoms(s *S) checker.Atoms
}

// Steps is the set of steps of these actions.
func Steps[A ~uint8](actions ...A) checker.StepSet {
	var s checker.StepSet
	for _, a := range actions {
		s.Actions = append(s.Actions, checker.ActionID(a))
	}
	return s
}

// Fair is that each of these actions, by each of n processes, is taken if it stays
// possible.
func Fair[A interface {
	~uint8
	String() string
}](n int, actions ...A) (list []checker.Fairness) {
	for p := range n {
		for _, a := range actions {
			s := Steps(a)
			s.Processes = []int{p}
			list = append(list, checker.Fairness{Name: a.String() + " of process " + string(rune('1'+p)), Steps: []checker.StepSet{s}})
		}
	}
	return list
}
