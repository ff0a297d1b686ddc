package checkertest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/checker"
)

// CompareOrders explores a specification depth first and breadth first, and demands
// the same counts and verdicts of both. It returns the depth-first result.
func CompareOrders[S any](t testing.TB, spec func() checker.Spec[S]) *checker.Result {
	t.Helper()
	want, err := checker.Run(spec(), checker.Options{KeepGoing: true})
	require.NoError(t, err)
	got, err := checker.Run(spec(), checker.Options{KeepGoing: true, Order: checker.DepthFirst})
	require.NoError(t, err)
	assert.Equal(t, orderless(want), orderless(got), "depth first, against breadth first")
	return got
}

// orderless leaves out of a result what depends on the order of the search.
func orderless(r *checker.Result) checker.Result {
	c := judgement(r)
	c.Order, c.Depth, c.Widest, c.Levels = "", 0, 0, nil
	for i := range c.Violations {
		c.Violations[i].Trace = nil
	}
	return c
}
