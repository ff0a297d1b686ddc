// Package checkertest has the tests that every System should pass.
package checkertest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/checker"
)

// CompareEngines explores a System as plain structs, and interned with 1, 2 and
// 8 workers, and demands the same of all: counts of states, steps, actions and
// bounds, depth, verdicts, and lengths of counterexamples. It catches faults of
// encoding, of sharing, and steps that depend on more than they may.
//
// It returns the result of the plain engine.
func CompareEngines[R, M, G comparable](t testing.TB, sys func() checker.System[R, M, G], opt checker.Options) *checker.Result {
	t.Helper()
	opt.Projected = true
	opt.Workers = 1
	want, err := checker.Run(checker.Flat(sys()), opt)
	require.NoError(t, err)
	for _, workers := range []int{1, 2, 8} {
		opt.Workers = workers
		got, err := checker.Run(checker.Interned(sys()), opt)
		require.NoError(t, err)
		assert.Equal(t, judgement(want), judgement(got), "interned, %d workers, against plain structs", workers)
	}
	return want
}

// judgement leaves out of a result what may differ between engines.
func judgement(r *checker.Result) checker.Result {
	c := *r
	c.Seconds, c.TableBytes, c.Memory, c.Workers, c.Witness = 0, 0, checker.Memory{}, 0, nil
	c.Symmetry, c.Unreduced = 0, 0 // which the plain engine does not count
	c.Violations = nil
	for _, v := range r.Violations {
		v.Trace = make([]checker.TraceStep, len(v.Trace))
		c.Violations = append(c.Violations, v)
	}
	return c
}
