package twophase_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/checker/examples/twophase"
)

// TestSymmetricCounts holds the counts against an independent enumeration.
func TestSymmetricCounts(t *testing.T) {
	for _, row := range []struct {
		managers            int
		distinct, generated uint64
	}{{5, 314, 2_047}, {7, 920, 8_409}, {10, 3_300, 43_297}} {
		for _, workers := range []int{1, 2, 8} {
			for _, exact := range []bool{false, true} {
				t.Run(fmt.Sprintf("%d workers=%d exact=%v", row.managers, workers, exact), func(t *testing.T) {
					m, err := twophase.New(row.managers)
					require.NoError(t, err)
					r, err := checker.Run(m, checker.Options{Symmetry: true, Workers: workers, Exact: exact})
					require.NoError(t, err)
					assert.Equal(t, checker.Holds, r.Status)
					assert.Equal(t, row.distinct, r.Distinct)
					assert.Equal(t, row.generated, r.Generated)
				})
			}
		}
	}
}

func TestSymmetryIsExact(t *testing.T) {
	m, err := twophase.New(3)
	require.NoError(t, err)
	swap := func(a, b int) func(*twophase.State) twophase.State {
		bit := func(x uint16) uint16 {
			if (x>>a^x>>b)&1 == 1 {
				return x ^ 1<<a ^ 1<<b
			}
			return x
		}
		return func(s *twophase.State) twophase.State {
			t := *s
			t.RM[a], t.RM[b] = s.RM[b], s.RM[a]
			t.Prepared, t.PreparedSent = bit(s.Prepared), bit(s.PreparedSent)
			return t
		}
	}
	after := func(f, g func(*twophase.State) twophase.State) func(*twophase.State) twophase.State {
		return func(s *twophase.State) twophase.State { t := f(s); return g(&t) }
	}
	x, y, z := swap(0, 1), swap(1, 2), swap(0, 2)
	orbits, err := checker.VerifySymmetricSpec(m, []func(*twophase.State) twophase.State{
		func(s *twophase.State) twophase.State { return *s }, x, y, z, after(x, y), after(y, x),
	}, 288)
	require.NoError(t, err)
	t.Log(orbits, "orbits")
	assert.Less(t, orbits, 288)
}
