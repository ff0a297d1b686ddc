package bench

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/spec"
)

// BenchmarkStates explores models of the specification to their end, from nothing:
// what the engine remembers of a model is part of the work. It allocates for each
// distinct replica, message and step, but not for each state.
func BenchmarkStates(b *testing.B) {
	for _, name := range []string{"check-quorum", "late-leader", "resign", "four-epochs"} {
		m, ok := spec.ModelNamed(name)
		require.True(b, ok)
		pin, ok := m.Pin()
		require.True(b, ok)
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/workers=%d", name, workers), func(b *testing.B) {
				var distinct, generated int64
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				for b.Loop() {
					res, err := checker.Run(checker.Interned(spec.NewSystem(m, spec.Variant{})), checker.Options{Workers: workers})
					require.NoError(b, err)
					must(b, res.Status == checker.Holds && res.Distinct == pin.Distinct, "%v with %d states, pinned %d", res.Status, res.Distinct, pin.Distinct)
					distinct += int64(res.Distinct)
					generated += int64(res.Generated)
				}
				runtime.ReadMemStats(&after)
				b.ReportMetric(float64(after.Mallocs-before.Mallocs)/float64(distinct), "allocs/state")
				rate(b, distinct, "states")
				rate(b, generated, "generated")
			})
		}
	}
}
