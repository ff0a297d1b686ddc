package sim

import "math"

// Shrink looks for a smaller run that fails too: with fewer steps, kinds of faults,
// replicas, clients and single faults. fails makes a run and says whether it fails in the
// same way; it is asked at most so many times. The result is a function of what fails says.
// cfg itself must fail; stats is what its run gave.
//
// What a run is made of is drawn from numbers of its own for each link, node, client and
// fault, so that a fault that is left out changes little before it matters.
func Shrink(cfg Config, stats Stats, runs int, fails func(Config) (Stats, bool)) (Config, Stats) {
	s := shrinker{best: cfg, stats: stats, left: runs, fails: fails}
	if k, err := cfg.draw(); err == nil {
		s.knobs = k
	}
	for before := -1; s.left > 0 && before != s.taken; {
		before = s.taken
		s.steps()
		s.kinds()
		s.size()
		s.faults()
	}
	return s.best, s.stats
}

type shrinker struct {
	best        Config
	stats       Stats
	knobs       knobs // of the configuration at the start
	left, taken int
	fails       func(Config) (Stats, bool)
}

// try makes a run, and goes on with its configuration if it fails.
func (s *shrinker) try(c Config) bool {
	if s.left <= 0 {
		return false
	}
	s.left--
	stats, failed := s.fails(c)
	if failed {
		s.best, s.stats = c, stats
		s.taken++
	}
	return failed
}

// steps ends the faults earlier.
func (s *shrinker) steps() {
	if c := s.best; c.Heals > 0 {
		c.Heals = 0
		s.try(c)
	}
	low, high := int64(0), s.stats.Steps // no faults after so many steps: it fails with high
	if s.best.Steps > 0 {
		high = min(high, s.best.Steps)
	}
	for high-low > max(1, high/16) {
		middle := low + (high-low)/2
		c := s.best
		c.Steps = middle
		if s.try(c) {
			high = middle
		} else {
			low = middle
		}
		if s.left <= 0 {
			return
		}
	}
}

// kinds leaves kinds of faults out: half of those that are left, and then one by one.
func (s *shrinker) kinds() {
	for size := int(numKnobs) / 2; size > 0; size /= 2 {
		for from := Knob(0); from < numKnobs; from += Knob(size) {
			c := s.best
			for k := from; k < min(from+Knob(size), numKnobs); k++ {
				c.Without = c.Without.With(k)
			}
			if c.Without != s.best.Without {
				s.try(c)
			}
		}
	}
	if c := s.best; c.Snapshots {
		c.Snapshots = false
		s.try(c)
	}
	if c := s.best; c.Members {
		c.Members = false
		s.try(c)
	}
	if c := s.best; c.Pauses {
		c.Pauses = false
		s.try(c)
	}
}

// size takes replicas and clients away.
func (s *shrinker) size() {
	voters, observers, clients := s.knobs.voters, s.knobs.observers, s.knobs.clients
	if s.best.Voters > 0 {
		voters = s.best.Voters
	}
	if s.best.Observers != 0 {
		observers = max(s.best.Observers, 0)
	}
	if s.best.Clients > 0 {
		clients = s.best.Clients
	}
	if observers > 0 {
		c := s.best
		c.Observers = -1
		s.try(c)
	}
	for n := 1; n < voters; n++ {
		c := s.best
		if c.Voters = n; s.try(c) {
			break
		}
	}
	for n := 1; n < clients; n *= 2 {
		c := s.best
		if c.Clients = n; s.try(c) {
			break
		}
	}
}

// faults leaves single faults out: all after some number, then ever smaller groups.
func (s *shrinker) faults() {
	last := s.stats.Faults
	for low := int64(0); low < last; {
		middle := low + (last-low)/2
		c := s.best
		c.Skip = c.Skip.With(middle+1, math.MaxInt64)
		if s.try(c) {
			last = middle
		} else {
			low = middle + 1
		}
		if s.left <= 0 {
			return
		}
	}
	for size := last / 2; size > 0; size /= 2 {
		for from := int64(1); from <= last; from += size {
			c := s.best
			c.Skip = c.Skip.With(from, min(from+size-1, last))
			if len(c.Skip) > 0 && c.Skip.String() != s.best.Skip.String() {
				s.try(c)
			}
			if s.left <= 0 {
				return
			}
		}
	}
}
