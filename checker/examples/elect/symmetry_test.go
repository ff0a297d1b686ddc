package elect_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/checker/examples/elect"
)

// TestSymmetricCounts holds the counts against those of TLC and rumur.
func TestSymmetricCounts(t *testing.T) {
	for _, workers := range []int{1, 2, 8} {
		for _, exact := range []bool{false, true} {
			t.Run(fmt.Sprintf("workers=%d exact=%v", workers, exact), func(t *testing.T) {
				m, err := elect.New(3, 3)
				require.NoError(t, err)
				r, err := checker.Run(m, checker.Options{Symmetry: true, Workers: workers, Exact: exact})
				require.NoError(t, err)
				assert.Equal(t, checker.Holds, r.Status)
				assert.EqualValues(t, 32_514, r.Distinct)
				assert.EqualValues(t, 107_204, r.Generated)
				assert.Equal(t, 20, r.Depth)
			})
		}
	}
}

func TestSymmetryIsExact(t *testing.T) {
	for _, row := range []struct {
		servers, terms int
		twice          bool
	}{{2, 2, false}, {3, 1, false}, {3, 2, false}, {4, 1, false}, {3, 1, true}} {
		m, err := elect.New(row.servers, row.terms)
		require.NoError(t, err)
		m.VoteTwice = row.twice
		var images []func(*elect.State) elect.State
		for _, p := range elect.Permutations(row.servers) {
			images = append(images, func(s *elect.State) elect.State { return m.Rename(s, p) })
		}
		orbits, err := checker.VerifySymmetricSpec(m, images, 10_000)
		require.NoError(t, err)
		full, err := checker.Run(m, checker.Options{KeepGoing: true})
		require.NoError(t, err)
		t.Logf("%d servers, %d terms: %d states, %d orbits", row.servers, row.terms, full.Distinct, orbits)
		assert.Less(t, orbits, int(full.Distinct))
	}
}

// TestCounterexampleUpToSymmetry is as short, and one of the specification itself.
func TestCounterexampleUpToSymmetry(t *testing.T) {
	m, err := elect.New(3, 2)
	require.NoError(t, err)
	m.VoteTwice = true
	full, err := checker.Run(m, checker.Options{})
	require.NoError(t, err)
	r, err := checker.Run(m, checker.Options{Symmetry: true})
	require.NoError(t, err)
	require.Len(t, r.Violations, 1)
	trace := r.Violations[0].Trace
	assert.Len(t, trace, len(full.Violations[0].Trace))
	for k := 1; k < len(trace); k++ {
		from, to := trace[k-1].State.(elect.State), trace[k].State.(elect.State)
		changed := 0
		for i := range m.Servers {
			if from.Term[i] != to.Term[i] || from.Role[i] != to.Role[i] || from.Votes[i] != to.Votes[i] || from.Voted[i] != to.Voted[i] {
				changed++
			}
		}
		assert.LessOrEqual(t, changed, 1, "step %d changes one server, under its own name", k)
	}
}
