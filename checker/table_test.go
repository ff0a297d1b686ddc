package checker

import (
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTableGrowsWhileInserting has goroutines insert overlapping sets into a
// table that starts too small: each fingerprint must be new exactly once.
func TestTableGrowsWhileInserting(t *testing.T) {
	for _, goroutines := range []int{1, 2, 8} {
		const each, step = 60_000, 20_000
		table := newTable(1 << 12)
		var handles []*handle
		for range goroutines {
			handles = append(handles, table.handle())
		}
		var fresh atomic.Int64
		var wg sync.WaitGroup
		for g, h := range handles {
			wg.Go(func() {
				for i := 0; i < each; i += ringSize {
					var batch [ringSize]uint64
					for k := range batch {
						batch[k] = mix(uint64(g*step+i+k)+1, hashK2) | 1
					}
					fresh.Add(int64(bits.OnesCount64(table.insert(h, batch[:]))))
				}
			})
		}
		wg.Wait()
		want := int64((goroutines-1)*step + each)
		assert.Equal(t, want, fresh.Load(), "%d goroutines", goroutines)
		assert.Greater(t, len(table.slots), int(want), "the table must not be more than full")
		used := 0
		for _, key := range table.slots {
			if key != 0 {
				used++
			}
		}
		assert.Equal(t, int(want), used)
		table.free()
	}
}

// TestWorkersInsertTheSameAtOnce has goroutines start together on the same
// fingerprints, in small tables that are soon too small, many times.
func TestWorkersInsertTheSameAtOnce(t *testing.T) {
	const goroutines, each = 4, 8192
	for round := range 60 {
		table := newTable(1 << 12)
		var fresh, ready atomic.Int64
		var wg sync.WaitGroup
		for range goroutines {
			h := table.handle()
			wg.Go(func() {
				for ready.Add(1); ready.Load() < goroutines; {
					runtime.Gosched()
				}
				var batch [ringSize]uint64
				for i := 0; i < each; i += ringSize {
					for k := range batch {
						batch[k] = mix(uint64(round*each+i+k)+1, hashK2) | 1
					}
					fresh.Add(int64(bits.OnesCount64(table.insert(h, batch[:]))))
				}
			})
		}
		wg.Wait()
		table.free()
		require.EqualValues(t, each, fresh.Load(), "round %d", round)
	}
}

// TestHashSeesEveryByte flips each bit of contents of several sizes.
func TestHashSeesEveryByte(t *testing.T) {
	seen := map[uint64]bool{}
	for size := range 100 {
		content := make([]byte, size)
		for seed := range uint64(4) {
			h := hashBytes(content, seed)
			assert.False(t, seen[h], "size %d seed %d", size, seed)
			seen[h] = true
			for bit := range 8 * size {
				content[bit/8] ^= 1 << (bit % 8)
				h := hashBytes(content, seed)
				assert.False(t, seen[h], "size %d seed %d bit %d", size, seed, bit)
				seen[h] = true
				content[bit/8] ^= 1 << (bit % 8)
			}
		}
	}
}
