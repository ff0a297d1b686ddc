package checker

import (
	"fmt"
	"sync"

	"github.com/expr-lang/expr/types"
	"github.com/expr-lang/expr/vm"
)

// Find answers a question with a shortest behaviour, as Result.Witness: a way to a
// state that satisfies a predicate, or a behaviour in which predicates hold one after
// another. Status is Found, Absent or Limit; properties are not judged.
//
// Predicates are in the language of expr-lang.org, over the names that the
// specification's Environment gives, and those of the step that led to a state:
// action, process, was (the names of the state before), changed("A.role"). An unknown
// name is an error. About the order in which things happen speak
//
//	P then Q while R    P, at a later state Q, and in all states between them R
//	eventually P        P now or later
//	always P, never P   P in this and all later states of the behaviour; in none
//	P until Q           Q now or later, and P in all states before
//	P before Q          P now or later, and up to then not Q
//	P since Q           Q now or later, and from the next state on, to the end, P
//	next P, finally P   P in the next state; in the last
//
// and, or, not and parentheses join them; then binds loosest, after it until, before
// and since. A question is asked of a behaviour as a whole, from its first state on,
// but that a predicate alone may hold anywhere. The behaviour is finite: "always P"
// says nothing of what could follow its last state.
func Find[S any](spec Spec[S], text string, opt Options) (*Result, error) {
	env, ok := spec.(Environment[S])
	if !ok {
		return nil, fmt.Errorf("%s gives no names for predicates", spec.Info().Name)
	}
	q, only, err := inquire(spec, env, text)
	if err != nil {
		return nil, err
	}
	if only == nil {
		return q.find(opt)
	}
	machines := sync.Pool{New: func() any { return new(vm.VM) }}
	r, err := explore(spec, opt, func(s *S) Props {
		machine := machines.Get().(*vm.VM)
		defer machines.Put(machine)
		out, err := machine.Run(only.program, env.Env(s))
		if err != nil {
			panic(&predicateError{err})
		}
		if out.(bool) {
			return 1
		}
		return 0
	})
	if r != nil {
		r.Question = text
	}
	return r, err
}

// find searches the behaviours that may still answer.
func (q *inquiry[S]) find(opt Options) (*Result, error) {
	if opt.Projected {
		return nil, fmt.Errorf("states are not counted without budgets where the question is about time")
	}
	m := q.automaton
	if err := checkParcel[S](); err != nil {
		return nil, err
	}
	r, err := exploreAsked(newAsking(q), opt, func(s *asked) Props {
		if m.accepts(uint32(s.Q)) {
			return 1
		}
		return 0
	})
	if err != nil {
		return nil, err
	}
	r.Question = q.text
	// That no way on answers is no deadlock.
	r.Stuck, r.Stopped = 0, 0
	for i := range r.Witness {
		s := r.Witness[i].State.(asked)
		r.Witness[i].State = *opened[S](&s.S)
	}
	return r, nil
}

// exploreAsked is a function of its own so that it is compiled here.
func exploreAsked(spec Spec[asked], opt Options, goal func(*asked) Props) (*Result, error) {
	return explore(spec, opt, goal)
}

// predicateError is a predicate that has no value in some state: a mistake of who
// asks, and not of the model.
type predicateError struct{ cause error }

func (e *predicateError) Error() string { return fmt.Sprintf("predicate: %v", e.cause) }

func (e *predicateError) Unwrap() error { return e.cause }

// typesOf makes unknown names an error at every depth, not only at the top.
func typesOf(env map[string]any) types.Map {
	m := types.Map{}
	for name, value := range env {
		switch v := value.(type) {
		case nil:
			m[name] = types.Any
		case map[string]any:
			m[name] = typesOf(v)
		default:
			m[name] = types.TypeOf(v)
		}
	}
	return m
}
