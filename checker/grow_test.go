package checker

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTableGrowsInPlace grows tables of several kinds of keys by several factors:
// all keys stay, and each is still found from its place on.
func TestTableGrowsInPlace(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	kinds := map[string]func(i int) uint64{
		"even":       func(int) uint64 { return r.Uint64() | 1 },
		"ascending":  func(i int) uint64 { return uint64(i + 1) },
		"at the end": func(i int) uint64 { return ^uint64(i) },
		"in lumps":   func(i int) uint64 { return uint64(i%5)<<61 | uint64(i+1) },
		"both ends":  func(i int) uint64 { return uint64(i)<<63 | uint64(i+1)<<32 ^ -uint64(i&1) },
	}
	sizes, percents, share := []int{leastSlots, 5000, 3 * growPart}, []int{101, 125, 150, 200, 400}, crowdedShare
	if testing.Short() {
		sizes, percents, share = []int{5000, 3 * growPart}, []int{125, 400}, crowdedShare/8
	}
	for name, key := range kinds {
		for _, n := range sizes {
			share := share
			if name == "even" {
				share = crowdedShare
			} else if n > 10_000 {
				continue // long rows of collisions
			}
			for _, percent := range percents {
				t.Run(fmt.Sprintf("%s/%d/%d%%", name, n, percent), func(t *testing.T) {
					table := newTable(n)
					defer table.free()
					for range 3 {
						table.handle()
					}
					var want []uint64
					for i := range n / 100 * share {
						if k := key(i); table.add(k) {
							want = append(want, k)
						}
					}
					slices.Sort(want)
					table.growTo(n * percent / 100)
					require.Equal(t, want, table.keys())
					for _, k := range want {
						require.False(t, table.add(k), "%x is not found from its place on", k)
					}
					assert.Len(t, table.keys(), len(want))
				})
			}
		}
	}
}

func TestScrambleIsABijection(t *testing.T) {
	const inverse = 0xf1de83e19937733d
	var n uint64 = inverse
	require.EqualValues(t, 1, n*spread)
	r := rand.New(rand.NewPCG(3, 4))
	for range 1000 {
		fp := r.Uint64()
		back := scramble(fp) * n
		require.Equal(t, fp, back^back>>32)
	}
	assert.Zero(t, scramble(0))
}
