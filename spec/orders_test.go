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
