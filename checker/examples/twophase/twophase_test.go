package twophase_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/checker/checkertest"
	"github.com/quorate/quorate/checker/examples/twophase"
)

// TestCounts holds the counts against those of rumur, Spin and TLC.
func TestCounts(t *testing.T) {
	for _, row := range []struct {
		managers            int
		distinct, generated uint64
		depth               int
	}{
		{managers: 3, distinct: 288, generated: 1_145},
		{managers: 5, distinct: 8_832, generated: 58_145},
		{managers: 7, distinct: 296_448, generated: 2_744_705, depth: 23},
		{managers: 9, distinct: 10_340_352, generated: 123_558_401, depth: 29},
	} {
		for _, workers := range []int{1, 2, 8} {
			t.Run(fmt.Sprintf("%d/workers=%d", row.managers, workers), func(t *testing.T) {
				if row.managers > 7 && workers != 2 || row.managers > 5 && testing.Short() {
					t.Skip("large")
				}
				m, err := twophase.New(row.managers)
				require.NoError(t, err)
				r, err := checker.Run(m, checker.Options{Workers: workers})
				require.NoError(t, err)
				assert.Equal(t, checker.Holds, r.Status)
				assert.Equal(t, row.distinct, r.Distinct)
				assert.Equal(t, row.generated, r.Generated)
				if row.depth > 0 {
					assert.Equal(t, row.depth, r.Depth)
				}
			})
		}
	}
	_, err := twophase.New(twophase.MaxManagers + 1)
	assert.Error(t, err)
}

// TestGraph has the same counts from an independent search.
func TestGraph(t *testing.T) {
	m, err := twophase.New(3)
	require.NoError(t, err)
	g, err := checker.Graph(m, 288)
	require.NoError(t, err)
	assert.Len(t, g.Nodes, 288)
	assert.Len(t, g.Steps, 1_145)
}

func BenchmarkTwoPhase7(b *testing.B) {
	m, err := twophase.New(7)
	require.NoError(b, err)
	var generated uint64
	for b.Loop() {
		r, err := checker.Run(m, checker.Options{Workers: 1})
		require.NoError(b, err)
		generated += r.Generated
	}
	b.ReportMetric(float64(generated)/b.Elapsed().Seconds(), "generated/s")
}

func TestDepthFirst(t *testing.T) {
	r := checkertest.CompareOrders(t, func() checker.Spec[twophase.State] {
		m, err := twophase.New(5)
		require.NoError(t, err)
		return m
	})
	assert.EqualValues(t, 8_832, r.Distinct)
}
