package bench

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/checker/examples/elect"
	"github.com/quorate/quorate/spec"
)

// BenchmarkWorkers explores models by one worker and by two, in turn, and reports how
// many times faster the two were: the fastest run of each, over at least three.
func BenchmarkWorkers(b *testing.B) {
	elect34 := func() checker.Runnable {
		m, err := elect.New(3, 4)
		require.NoError(b, err)
		return checker.Erase(m)
	}
	kraft := func(name string) func() checker.Runnable {
		return func() checker.Runnable {
			m, ok := spec.ModelNamed(name)
			require.True(b, ok)
			return checker.Erase(checker.Interned(spec.NewSystem(m, spec.Variant{})))
		}
	}
	for _, m := range []struct {
		name string
		new  func() checker.Runnable
	}{
		{"elect3_4", elect34},
		{"resign", kraft("resign")},
		{"observer-three", kraft("observer-three")},
		{"four-epochs", kraft("four-epochs")},
	} {
		b.Run(m.name, func(b *testing.B) {
			least := map[int]time.Duration{}
			var generated, distinct uint64
			for range max(3, b.N) {
				for _, workers := range []int{1, 2} {
					begin := time.Now()
					r, err := m.new().Run(checker.Options{Workers: workers})
					took := time.Since(begin)
					require.NoError(b, err)
					must(b, r.Status == checker.Holds && (distinct == 0 || r.Distinct == distinct), "%v with %d states, %d before", r.Status, r.Distinct, distinct)
					generated, distinct = r.Generated, r.Distinct
					if least[workers] == 0 || took < least[workers] {
						least[workers] = took
					}
				}
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(distinct), "states")
			b.ReportMetric(float64(generated)/least[1].Seconds(), "generated/s-one")
			b.ReportMetric(float64(generated)/least[2].Seconds(), "generated/s-two")
			b.ReportMetric(least[1].Seconds()/least[2].Seconds(), "times")
		})
	}
}
