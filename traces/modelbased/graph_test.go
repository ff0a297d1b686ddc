package modelbased_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/spec"
	"github.com/quorate/quorate/traces/modelbased"
)

// TestGraphs: a graph has the states that the checker finds.
func TestGraphs(t *testing.T) {
	for _, name := range []string{"single", "commit", "vote-restart", "truncation", "observer", "snapshot"} {
		m, ok := spec.ModelNamed(name)
		require.True(t, ok)
		pin, ok := m.Pin()
		require.True(t, ok)
		g, err := modelbased.Explore(m, int(pin.Distinct))
		require.NoError(t, err)
		require.Len(t, g.States, int(pin.Distinct), name)
		_, err = modelbased.Explore(m, int(pin.Distinct)-1)
		require.ErrorContains(t, err, "has more than")
	}
}
