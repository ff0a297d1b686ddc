package metrics

import "time"

// sampleTime is how long a sample lasts (metrics.sample.window.ms).
const sampleTime = 30 * time.Second

// window keeps figures of the current sample and the one before
// (metrics.num.samples = 2).
type window struct {
	start    time.Time // of now; zero: nothing was ever added
	now, old sample
}

type sample struct {
	n        int
	sum, max float64
}

// add adds a figure. Times do not go back.
func (w *window) add(at time.Time, v float64) {
	w.roll(at)
	s := &w.now
	if s.n == 0 || v > s.max {
		s.max = v
	}
	s.n++
	s.sum += v
}

func (w *window) roll(at time.Time) {
	switch age := at.Sub(w.start); {
	case w.start.IsZero() || age >= 2*sampleTime:
		*w = window{start: at}
	case age >= sampleTime:
		*w = window{start: w.start.Add(sampleTime), old: w.now}
	}
}

// total is what the window has.
func (w *window) total(at time.Time) sample {
	if w.start.IsZero() {
		return sample{}
	}
	w.roll(at)
	s := sample{n: w.now.n + w.old.n, sum: w.now.sum + w.old.sum, max: w.now.max}
	if w.old.n > 0 && (w.now.n == 0 || w.old.max > s.max) {
		s.max = w.old.max
	}
	return s
}

// rate is the sum per second. The window counts as one sample at least, so that a few
// figures in the first second are not a large rate (Rate.windowSize).
func (w *window) rate(at time.Time) float64 {
	s := w.total(at)
	if s.n == 0 {
		return 0
	}
	return s.sum / (at.Sub(w.start) + sampleTime).Seconds()
}
