package checker

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// progress is what a search shows of itself while it runs. Its fields are written
// by the search and read by whoever reports.
type progress struct {
	distinct, generated, level, queue atomic.Uint64
	_                                 [4]uint64
}

// lines writes a line about a run now and then, until the returned function is
// called. In place, each line takes the place of the one before, and the last is
// wiped away: a terminal then ends with the result alone.
func (o *Options) lines(began time.Time, line func(now time.Time) string) (stop func()) {
	if o.Progress == nil {
		return func() {}
	}
	every := o.ProgressEvery
	if every <= 0 {
		every = time.Second
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		width := 0
		for {
			select {
			case <-done:
				if width > 0 {
					fmt.Fprintf(o.Progress, "\r%s\r", strings.Repeat(" ", width))
				}
				return
			case now := <-tick.C:
				if now.Sub(began) < o.ProgressAfter {
					continue
				}
				text := line(now)
				if !o.ProgressInPlace {
					fmt.Fprintln(o.Progress, text)
					continue
				}
				n := len([]rune(text))
				fmt.Fprintf(o.Progress, "\r%s%s", text, strings.Repeat(" ", max(0, width-n)))
				width = n
			}
		}
	})
	return func() { close(done); wg.Wait() }
}

// meter gives the rate at which a count grows, over the time since it was asked.
type meter struct {
	before uint64
	at     time.Time
	rate   float64 // a second, smoothed
}

func (m *meter) read(now time.Time, count uint64) float64 {
	if d := now.Sub(m.at).Seconds(); d > 0 {
		rate := float64(count-m.before) / d
		if m.rate == 0 {
			m.rate = rate
		}
		m.rate = 0.7*m.rate + 0.3*rate
	}
	m.before, m.at = count, now
	return m.rate
}

// residentBytes is the memory that the process holds, 0 where that cannot be told.
func residentBytes() uint64 {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var total, resident uint64
	if _, err := fmt.Sscan(string(b), &total, &resident); err != nil {
		return 0
	}
	return resident * uint64(os.Getpagesize())
}

func memoryText() string {
	n := residentBytes()
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", %s of memory", binaryBytes(n))
}

// binaryBytes writes 1610612736 as 1.5 GiB.
func binaryBytes(n uint64) string {
	switch {
	case n >= 10<<30:
		return fmt.Sprintf("%.0f GiB", float64(n)/(1<<30))
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	default:
		return fmt.Sprintf("%.0f MiB", float64(n)/(1<<20))
	}
}

// round writes 1234567 as 1.2 M: enough for what changes every second.
func round(n float64) string {
	for _, u := range []struct {
		unit float64
		name string
	}{{1e9, " G"}, {1e6, " M"}, {1e3, " k"}} {
		if n >= 9.95*u.unit {
			return fmt.Sprintf("%.0f%s", n/u.unit, u.name)
		}
		if n >= 0.995*u.unit {
			return fmt.Sprintf("%.1f%s", n/u.unit, u.name)
		}
	}
	return fmt.Sprintf("%.0f", n)
}

// reportProgress reports on a breadth-first run.
func (s *search[S]) reportProgress() (stop func()) {
	var rate, fresh meter
	rate.at, fresh.at = s.began, s.began
	return s.opt.lines(s.began, func(now time.Time) string {
		generated := uint64(0)
		for _, w := range s.workers {
			generated += w.generatedNow.Load()
		}
		distinct := s.distinctNow()
		perSecond, newPerSecond := rate.read(now, generated), fresh.read(now, distinct)
		text := ""
		if levels := s.levelsNow.Load(); levels != nil {
			text = forecastText(*levels, distinct, newPerSecond)
		}
		return fmt.Sprintf("%s: level %d of %s states, %s distinct, %s generated, %s/s%s, %.0f s%s",
			s.info.Name, s.depthNow.Load(), round(float64(s.widthNow.Load())), round(float64(distinct)),
			round(float64(generated)), round(perSecond), memoryText(), now.Sub(s.began).Seconds(), text)
	})
}

// report reports on a depth-first run.
func (d *dive[S]) report() (stop func()) {
	rate := meter{at: d.began}
	return d.opt.lines(d.began, func(now time.Time) string {
		generated := d.shown.generated.Load()
		return fmt.Sprintf("%s, depth first: %s distinct, %s generated, %s/s, deepest %d, %s on the stack%s, %.0f s",
			d.info.Name, round(float64(d.shown.distinct.Load())), round(float64(generated)), round(rate.read(now, generated)),
			d.shown.level.Load(), round(float64(d.shown.queue.Load())), memoryText(), now.Sub(d.began).Seconds())
	})
}
