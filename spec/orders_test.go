package spec

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/checker/checkertest"
)

func TestDepthFirst(t *testing.T) {
	for _, name := range []string{"single", "prevote-exchanges", "commit", "flush", "reads", "observer"} {
		m, ok := ModelNamed(name)
		require.True(t, ok)
		pin, _ := m.Pin()
		r := checkertest.CompareOrders(t, func() checker.Spec[checker.Tuple] {
			return checker.Interned(NewSystem(m, Variant{}))
		})
		assert.Equal(t, pin.Distinct, r.Distinct, name)
	}
}

// The guards that coverage tells of are those of the table, and were asked.
func TestGuardCounts(t *testing.T) {
	m, _ := ModelNamed("flush")
	r, err := checker.Run(checker.Interned(NewSystem(m, Variant{})), checker.Options{Coverage: true})
	require.NoError(t, err)
	at := map[string]checker.GuardCount{}
	for _, g := range r.Coverage.Guards {
		at[g.Action+"."+g.Guard] = g
	}
	assert.NotZero(t, at["SendFetch.LogFlushed"].True)
	assert.NotZero(t, at["SendFetch.LogFlushed"].False)
	assert.Zero(t, at["ServeRead.ReadConfirmed"].True, "the model has no reads")
	assert.Contains(t, r.Coverage.Warnings, "LinearizableRead holds of nothing: ServeRead does not happen")
}
