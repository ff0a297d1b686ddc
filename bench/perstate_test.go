package bench

import (
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/checker/examples/elect"
	"github.com/quorate/quorate/spec"
)

// BenchmarkBytesPerState explores models to their end, and reports by how much the
// peak of the resident set exceeds what it was before, for each distinct state. It
// has a meaning with -benchtime 1x.
func BenchmarkBytesPerState(b *testing.B) {
	kraft := func(name string) func() checker.Runnable {
		return func() checker.Runnable {
			m, ok := spec.ModelNamed(name)
			require.True(b, ok)
			return checker.Erase(checker.Interned(spec.NewSystem(m, spec.Variant{})))
		}
	}
	models := []struct {
		name string
		new  func() checker.Runnable
	}{
		{"elect3_4", func() checker.Runnable {
			m, err := elect.New(3, 4)
			require.NoError(b, err)
			return checker.Erase(m)
		}},
		{"four-epochs", kraft("four-epochs")},
	}
	modes := []struct {
		name string
		opt  checker.Options
	}{
		{"fingerprints", checker.Options{}},
		{"fingerprints-parents-on-disk", checker.Options{ParentsOnDisk: true}},
		{"exact", checker.Options{Exact: true}},
	}
	for _, m := range models {
		for _, mode := range modes {
			for _, workers := range []int{1, 2} {
				b.Run(fmt.Sprintf("%s/%s/workers=%d", m.name, mode.name, workers), func(b *testing.B) {
					perState(b, m.new, mode.opt, workers)
				})
			}
		}
	}
}

func perState(b *testing.B, model func() checker.Runnable, opt checker.Options, workers int) {
	opt.Workers, opt.Dir = workers, b.TempDir()
	var most float64
	var distinct, generated uint64
	for b.Loop() {
		debug.FreeOSMemory()
		resetPeak(b)
		before := residentSet(b, "VmRSS")
		r, err := model().Run(opt)
		require.NoError(b, err)
		must(b, r.Status == checker.Holds, "%v", r.Status)
		most = max(most, float64(residentSet(b, "VmHWM")-before)/float64(r.Distinct))
		distinct += r.Distinct
		generated += r.Generated
	}
	b.ReportMetric(most, "bytes/state")
	rate(b, int64(distinct), "states")
	rate(b, int64(generated), "generated")
}

// resetPeak makes the peak of the resident set what it is now.
func resetPeak(b *testing.B) {
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		b.Skipf("the peak of the resident set cannot be had here: %v", err)
	}
}

// residentSet reads a line of /proc/self/status, in bytes.
func residentSet(b *testing.B, name string) int64 {
	status, err := os.ReadFile("/proc/self/status")
	require.NoError(b, err)
	_, line, ok := strings.Cut(string(status), name+":")
	require.True(b, ok, name)
	var kib int64
	_, err = fmt.Sscan(line, &kib)
	require.NoError(b, err)
	return kib << 10
}
