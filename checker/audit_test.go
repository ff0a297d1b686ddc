package checker

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A search that loses a state from its frontier or from its table says so.
func TestLossIsNoticed(t *testing.T) {
	begun := func() *search[gridState] {
		s, err := newSearch[gridState](&grid{side: 40}, Options{Workers: 2}, nil)
		require.NoError(t, err)
		t.Cleanup(s.free)
		require.NoError(t, s.begin())
		for range 5 {
			more, err := s.nextLevel()
			require.NoError(t, err)
			require.True(t, more)
			require.NoError(t, s.expandLevel())
		}
		_, err = s.nextLevel()
		require.NoError(t, err)
		require.NoError(t, s.auditTable())
		return s
	}
	t.Run("a state of the frontier", func(t *testing.T) {
		s := begun()
		s.level[0].n--
		require.ErrorContains(t, s.expandLevel(), "were expanded: this is a fault of the checker")
	})
	t.Run("a key of the table", func(t *testing.T) {
		s := begun()
		for i, key := range s.seen.slots {
			if key != 0 {
				s.seen.slots[i] = 0
				break
			}
		}
		require.ErrorContains(t, s.auditTable(), "are in the table: this is a fault of the checker")
	})
}
