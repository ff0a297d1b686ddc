package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/quorate/quorate/traces"
)

// sampleEvery is how often a running validation is measured, in events.
const sampleEvery = 10_000

// sample is a running validation after so many events.
type sample struct {
	events int64
	cpu    time.Duration
	rss    int64
}

// measure is what a validation cost.
type measure struct {
	began   time.Time
	samples []sample
}

// watch lets a validation be measured.
func (m *measure) watch(opt *traces.Options) {
	m.began = time.Now()
	m.samples = []sample{m.now(0)}
	opt.Every = sampleEvery
	opt.At = func(events int64) { m.samples = append(m.samples, m.now(events)) }
}

func (m *measure) now(events int64) sample {
	return sample{events, cpuTime(), residentBytes()}
}

// print says what a run of so many events cost: the rate after each power of ten, by the
// CPU time of this process, and the memory at a tenth and at the end.
func (m *measure) print(w io.Writer, s *traces.Stats) {
	wall := time.Since(m.began)
	end := m.now(s.Events)
	first := m.samples[0]
	rate := func(to sample) float64 { return float64(to.events) / max((to.cpu-first.cpu).Seconds(), 1e-6) }
	tenth := end
	for i := len(m.samples) - 1; i > 0; i-- {
		if m.samples[i].events*10 >= s.Events {
			tenth = m.samples[i]
		}
	}
	for at := int64(sampleEvery); at <= s.Events; at *= 10 {
		fmt.Fprintf(w, "after %d events: %.0f events/s of CPU time\n", at, rate(m.samples[at/sampleEvery]))
	}
	fmt.Fprintf(w, "%d events: %.0f events/s of CPU time (%.2f s), %.2f s in all; resident %.0f MB after %d events, %.0f MB at the end\n",
		s.Events, rate(end), (end.cpu - first.cpu).Seconds(), wall.Seconds(), float64(tenth.rss)/1e6, tenth.events, float64(end.rss)/1e6)
	fmt.Fprintf(w, "hidden steps: %s\n", s.HiddenText())
}

// cpuTime is that of this process, of all threads.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// residentBytes is the resident set of this process, where the system tells, and otherwise
// what the runtime has from it.
func residentBytes() int64 {
	if text, err := os.ReadFile("/proc/self/statm"); err == nil {
		if f := strings.Fields(string(text)); len(f) > 1 {
			if pages, err := strconv.ParseInt(f[1], 10, 64); err == nil {
				return pages * int64(os.Getpagesize())
			}
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys)
}
