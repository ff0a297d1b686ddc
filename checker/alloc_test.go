package checker

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestStoreAllocatesNothingPerState compares runs of two sizes of a graph: what a run allocates
// on the heap must not grow with the states but for the pages that have them.
func TestStoreAllocatesNothingPerState(t *testing.T) {
	for name, opt := range map[string]Options{"memory": {}, "budget": {Mem: 4 << 20}} {
		t.Run(name, func(t *testing.T) {
			opt.Workers, opt.KeepGoing = 1, true
			count := func(size uint64) (allocs, distinct uint64) {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				r, err := Run(&loops{size: size}, opt)
				runtime.ReadMemStats(&after)
				require.NoError(t, err)
				return after.Mallocs - before.Mallocs, r.Distinct
			}
			count(20_000) // what is allocated once
			few, small := count(20_000)
			many, large := count(220_000)
			require.Greater(t, large, small+100_000)
			perState := float64(int64(many)-int64(few)) / float64(large-small)
			t.Logf("%d allocations for %d states, %d for %d: %.4f a state", few, small, many, large, perState)
			assert.Less(t, perState, 0.05)
		})
	}
}
