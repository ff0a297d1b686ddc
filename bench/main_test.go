package bench

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pkg/profile"
)

var profiles = map[string]func(*profile.Profile){
	"cpu": profile.CPUProfile, "clock": profile.ClockProfile, "mem": profile.MemProfile, "allocs": profile.MemProfileAllocs,
	"mutex": profile.MutexProfile, "block": profile.BlockProfile, "goroutine": profile.GoroutineProfile, "trace": profile.TraceProfile,
}

// TestMain adds -profile, which writes one profile of everything that runs.
func TestMain(m *testing.M) {
	known := strings.Join(slices.Sorted(maps.Keys(profiles)), ", ")
	kind := flag.String("profile", "", "write a profile: "+known)
	dir := flag.String("profile-dir", ".", "directory of the profile")
	flag.Parse()
	if *kind == "" {
		os.Exit(m.Run())
	}
	mode, ok := profiles[*kind]
	if !ok {
		fmt.Fprintf(os.Stderr, "unknown profile %q; known: %s\n", *kind, known)
		os.Exit(2)
	}
	p := profile.Start(mode, profile.ProfilePath(*dir), profile.NoShutdownHook)
	code := m.Run()
	p.Stop()
	os.Exit(code)
}

// rate reports how often a second, of the time measured so far. It is called right
// after the loop.
func rate(b *testing.B, n int64, unit string) {
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), unit+"/s")
}

// must ends the benchmark if something is not what it measures.
func must(b *testing.B, ok bool, format string, args ...any) {
	if !ok {
		b.Helper()
		b.Fatalf(format, args...)
	}
}
