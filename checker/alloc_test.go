//go:build !race

// Under the race detector other things allocate.

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

// TestNoAllocationPerState runs a second time, when everything is interned, and
// demands that what is allocated does not grow with the states.
func TestNoAllocationPerState(t *testing.T) {
	spec := Interned(&relay{processes: 3, immediate: true, conn: true, inFlight: 2, maxSeq: 2, budgets: [4]uint8{0, 1, 0, 1}})
	allocations := func() (uint64, uint64) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r, err := Run(spec, Options{Workers: 1, KeepGoing: true})
		require.NoError(t, err)
		runtime.ReadMemStats(&after)
		return after.Mallocs - before.Mallocs, r.Generated
	}
	allocations()
	n, generated := allocations()
	assert.Greater(t, generated, uint64(1_000_000))
	assert.Less(t, n, generated/chunkStates+5_000, "chunks and one-time costs only")
}
