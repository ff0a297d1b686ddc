package elect_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/checker/checkertest"
	"github.com/quorate/quorate/checker/examples/elect"
)

// TestCounts holds the counts against those of rumur, Spin and TLC.
func TestCounts(t *testing.T) {
	for _, row := range []struct {
		servers, terms      int
		distinct, generated uint64
		depth               int
		large               bool
	}{
		{3, 2, 6_140, 18_867, 0, false},
		{3, 3, 194_179, 639_858, 20, false},
		{3, 4, 5_881_161, 19_725_699, 26, true},
	} {
		for _, workers := range []int{1, 2, 8} {
			t.Run(fmt.Sprintf("%d_%d/workers=%d", row.servers, row.terms, workers), func(t *testing.T) {
				if row.large && (testing.Short() || workers == 8) || testing.Short() && row.terms > 2 && workers != 2 {
					t.Skip("large")
				}
				m, err := elect.New(row.servers, row.terms)
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
}

func TestDepthFirst(t *testing.T) {
	for _, twice := range []bool{false, true} {
		r := checkertest.CompareOrders(t, func() checker.Spec[elect.State] {
			m, err := elect.New(3, 2)
			require.NoError(t, err)
			m.VoteTwice = twice
			return m
		})
		assert.Equal(t, twice, r.Status == checker.Violated)
	}
	if testing.Short() {
		return
	}
	m, err := elect.New(3, 3)
	require.NoError(t, err)
	r, err := checker.Run(m, checker.Options{Order: checker.DepthFirst})
	require.NoError(t, err)
	assert.EqualValues(t, 194_179, r.Distinct)
	assert.EqualValues(t, 639_858, r.Generated)
}

func BenchmarkElect3_4(b *testing.B) {
	for name, opt := range map[string]checker.Options{
		"workers=1": {Workers: 1}, "workers=2": {Workers: 2}, "depth-first": {Order: checker.DepthFirst},
	} {
		b.Run(name, func(b *testing.B) {
			m, err := elect.New(3, 4)
			require.NoError(b, err)
			var generated, distinct uint64
			for b.Loop() {
				r, err := checker.Run(m, opt)
				require.NoError(b, err)
				generated += r.Generated
				distinct += r.Distinct
			}
			b.ReportMetric(float64(generated)/b.Elapsed().Seconds(), "generated/s")
			b.ReportMetric(float64(distinct)/b.Elapsed().Seconds(), "distinct/s")
		})
	}
}

// TestVotingTwiceElectsTwoLeaders shows that the property can fail.
func TestVotingTwiceElectsTwoLeaders(t *testing.T) {
	for _, workers := range []int{1, 8} {
		m, err := elect.New(3, 2)
		require.NoError(t, err)
		m.VoteTwice = true
		r, err := checker.Run(m, checker.Options{Workers: workers})
		require.NoError(t, err)
		assert.Equal(t, checker.Violated, r.Status)
		require.Len(t, r.Violations, 1)
		assert.Equal(t, "OneLeaderPerTerm", r.Violations[0].Property)
		assert.Len(t, r.Violations[0].Trace, r.Depth)
		assert.EqualValues(t, 15_258, r.Distinct, "the level of the violation is explored to its end")
	}
}
