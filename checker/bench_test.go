package checker

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func reportRate(b *testing.B, generated, distinct uint64) {
	b.ReportMetric(float64(generated)/b.Elapsed().Seconds(), "generated/s")
	b.ReportMetric(float64(distinct)/b.Elapsed().Seconds(), "distinct/s")
}

// BenchmarkRelay explores a System both ways.
func BenchmarkRelay(b *testing.B) {
	large := func() *relay {
		return &relay{processes: 3, inFlight: 3, conn: true, maxSeq: 2, budgets: [4]uint8{0, 0, 1, 1}}
	}
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("interned/workers=%d", workers), func(b *testing.B) {
			benchmark(b, func() Runnable { return Erase(Interned(large())) }, workers)
		})
	}
	b.Run("flat/workers=1", func(b *testing.B) {
		benchmark(b, func() Runnable { return Erase(Flat(large())) }, 1)
	})
}

func benchmark(b *testing.B, spec func() Runnable, workers int) {
	var generated, distinct uint64
	for b.Loop() {
		r, err := spec().Run(Options{Workers: workers, KeepGoing: true})
		require.NoError(b, err)
		generated += r.Generated
		distinct += r.Distinct
	}
	reportRate(b, generated, distinct)
}

// BenchmarkTable inserts fingerprints, three of four of them known, in batches
// as a search does.
func BenchmarkTable(b *testing.B) {
	t := newTable(1 << 24)
	defer t.free()
	h := t.handle()
	var batch [ringSize]uint64
	n := uint64(0)
	for b.Loop() {
		for i := range batch {
			n++
			batch[i] = mix(n/4%(1<<22)+1, hashK1)
		}
		t.insert(h, batch[:])
	}
	b.ReportMetric(float64(b.N*ringSize)/b.Elapsed().Seconds(), "inserts/s")
}
