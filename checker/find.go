package checker

import (
	"fmt"
	"sync"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/types"
	"github.com/expr-lang/expr/vm"
)

// Find looks for a state that satisfies a predicate and returns a shortest way
// to it, as Result.Witness. The predicate is in the language of expr-lang.org,
// over the names that the specification's Environment gives; an unknown name is
// an error. Status is Found, Absent or Limit; properties are not judged.
func Find[S any](spec Spec[S], predicate string, opt Options) (*Result, error) {
	env, ok := spec.(Environment[S])
	if !ok {
		return nil, fmt.Errorf("%s gives no names for predicates", spec.Info().Name)
	}
	program, err := compile(spec, env, predicate)
	if err != nil {
		return nil, err
	}
	machines := sync.Pool{New: func() any { return new(vm.VM) }}
	return explore(spec, opt, func(s *S) Props {
		machine := machines.Get().(*vm.VM)
		defer machines.Put(machine)
		out, err := machine.Run(program, env.Env(s))
		if err != nil {
			panic(&predicateError{err})
		}
		if out.(bool) {
			return 1
		}
		return 0
	})
}

// predicateError is a predicate that has no value in some state: a mistake of who
// asks, and not of the model.
type predicateError struct{ cause error }

func (e *predicateError) Error() string { return fmt.Sprintf("predicate: %v", e.cause) }

func (e *predicateError) Unwrap() error { return e.cause }

// compile checks the predicate against the names of an initial state.
func compile[S any](spec Spec[S], env Environment[S], predicate string) (*vm.Program, error) {
	var names types.Map
	spec.Init(newCollector(func(c successor[S]) {
		if names == nil {
			names = typesOf(env.Env(c.state))
		}
	}))
	program, err := expr.Compile(predicate, expr.Env(names), expr.AsBool())
	if err != nil {
		return nil, fmt.Errorf("predicate: %w", err)
	}
	return program, nil
}

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
