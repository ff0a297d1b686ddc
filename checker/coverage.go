package checker

import (
	"fmt"
	"math"
	"math/bits"
	"time"
)

// Coverage is what a run did with each action, where its time went, and what the
// model may have left out without anybody noticing.
type Coverage struct {
	Actions []ActionCoverage `json:"actions"`
	// The rest of the time: Table is the insertion of states, with the judging of new
	// ones; Idle the search for steps of states, after the last that was found.
	TableShare float64 `json:"table_share"`
	IdleShare  float64 `json:"idle_share"`
	// Sampled says how many states were timed.
	Sampled uint64 `json:"sampled_states"`
	// Guards has what the specification counted of its named guards, over the distinct
	// local states that were reached, once each.
	Guards []GuardCount `json:"guards,omitempty"`
	// Warnings are what may make a verdict hold for want of behaviour.
	Warnings []string `json:"warnings,omitempty"`
}

// ActionCoverage is what became of one action.
type ActionCoverage struct {
	Name string `json:"name"`
	// Enabled counts states in which a step of the action was taken, Taken the steps,
	// Within those inside of steps that carry out an exchange.
	Enabled uint64 `json:"enabled_states"`
	Taken   uint64 `json:"taken"`
	Within  uint64 `json:"within,omitempty"`
	// New counts states that this action was the first to reach. With several workers
	// it may be another of the same level.
	New uint64 `json:"new"`
	// FirstDepth is the number of steps before the first; -1 if it was never taken.
	FirstDepth int `json:"first_depth"`
	// Share is the part of the time of the run that went into making its steps: in an
	// interned System look-ups, and on first sight the action itself. TableShare is
	// its part, by the number of steps, of the time that inserting states took.
	Share      float64 `json:"share"`
	TableShare float64 `json:"table_share"`
}

const (
	timedStates = 64 // one state of so many is timed
	timedDrains = 16
)

// actionMeter counts for one worker what a Result does not have. A worker without one pays
// for a nil pointer a state.
type actionMeter struct {
	current [4]uint64 // the actions of the state under way
	ring    [ringSize]ActionID
	enabled [math.MaxUint8 + 1]uint64
	fresh   [math.MaxUint8 + 1]uint64
	first   [math.MaxUint8 + 1]int // depth + 1; 0: never
	depth   int

	states, drains uint64
	timing         bool
	drainTimed     bool
	last, drained  time.Time
	spent          [math.MaxUint8 + 1]time.Duration
	idle, table    time.Duration
}

// begin is told of each state before its steps are taken.
func (t *actionMeter) begin(depth int) {
	t.depth = depth
	t.timing = t.states%timedStates == 0
	if t.states++; t.timing {
		t.last = time.Now()
	}
}

// see is told of each step: n is its place in the ring.
func (t *actionMeter) see(n int, a ActionID) {
	if t.states == 0 {
		return // an initial state is no step
	}
	t.ring[n] = a
	t.current[a>>6] |= 1 << (a & 63)
	if t.timing {
		now := time.Now()
		t.spent[a] += now.Sub(t.last)
		t.last = now
	}
}

// end is told when the steps of a state are taken.
func (t *actionMeter) end() {
	if t.timing {
		t.idle += time.Since(t.last)
		t.timing = false
	}
	for word, set := range t.current {
		for ; set != 0; set &= set - 1 {
			a := word<<6 | bits.TrailingZeros64(set)
			t.enabled[a]++
			if t.first[a] == 0 {
				t.first[a] = t.depth
			}
		}
	}
	t.current = [4]uint64{}
}

func (t *actionMeter) beginDrain() {
	t.drainTimed = t.drains%timedDrains == 0
	if t.drains++; t.drainTimed || t.timing {
		t.drained = time.Now()
	}
}

// inserted is told which of the ring are new.
func (t *actionMeter) inserted(n int, fresh uint64) {
	if t.states == 0 {
		return
	}
	for i := range n {
		t.fresh[t.ring[i]] += fresh >> i & 1
	}
}

func (t *actionMeter) endDrain() {
	if !t.drainTimed && !t.timing {
		return
	}
	now := time.Now()
	if t.drainTimed {
		t.table += now.Sub(t.drained)
	}
	if t.timing { // the time of the table is not that of the next step
		t.last = t.last.Add(now.Sub(t.drained))
	}
}

// coverage puts together what the workers counted.
func (s *search[S]) coverage(r *Result) *Coverage {
	c := &Coverage{}
	var spent [math.MaxUint8 + 1]float64
	var idle, table, steps float64
	for _, a := range r.Actions {
		c.Actions = append(c.Actions, ActionCoverage{Name: a.Name, Taken: a.Fired, Within: a.Within, FirstDepth: -1})
		steps += float64(a.Fired)
	}
	for _, w := range s.workers {
		t := w.tally
		sampled := (t.states + timedStates - 1) / timedStates
		drains := (t.drains + timedDrains - 1) / timedDrains
		c.Sampled += sampled
		scale := float64(t.states) / float64(max(sampled, 1))
		idle += t.idle.Seconds() * scale
		table += t.table.Seconds() * float64(t.drains) / float64(max(drains, 1))
		for i := range c.Actions {
			a := &c.Actions[i]
			a.Enabled += t.enabled[i]
			a.New += t.fresh[i]
			spent[i] += t.spent[i].Seconds() * scale
			if d := t.first[i] - 1; d >= 0 && (a.FirstDepth < 0 || d < a.FirstDepth) {
				a.FirstDepth = d
			}
		}
	}
	total := idle + table
	for i := range c.Actions {
		total += spent[i]
	}
	if total > 0 {
		for i := range c.Actions {
			a := &c.Actions[i]
			a.Share = spent[i] / total
			a.TableShare = table / total * float64(a.Taken) / max(steps, 1)
		}
		c.TableShare, c.IdleShare = table/total, idle/total
	}
	if g, ok := s.workers[0].spec.(GuardCounter); ok {
		c.Guards = g.GuardCounts()
	}
	return c
}

// warn says what may be vacuous: only a run that came to its end can.
func (c *Coverage) warn(info *Info, r *Result) {
	if r.Status == Limit || r.Partial {
		c.Warnings = append(c.Warnings, "the run did not come to its end: what was not met may be met later")
		return
	}
	taken := map[string]bool{}
	for _, a := range c.Actions {
		if taken[a.Name] = a.Taken+a.Within > 0; !taken[a.Name] {
			c.Warnings = append(c.Warnings, fmt.Sprintf("action %s is never enabled", a.Name))
		}
	}
	for _, p := range r.Properties {
		if p.Kind == Sometimes.String() {
			if taken[p.Name] = p.Verdict == "reached"; p.Verdict == "never" {
				c.Warnings = append(c.Warnings, fmt.Sprintf("%s is never reached", p.Name))
			}
		}
	}
	judged := map[string]bool{}
	for _, p := range r.Properties {
		judged[p.Name] = true
	}
	for _, p := range info.Properties {
		if happens, known := taken[p.Subject]; judged[p.Name] && p.Subject != "" && known && !happens {
			c.Warnings = append(c.Warnings, fmt.Sprintf("%s holds of nothing: %s does not happen", p.Name, p.Subject))
		}
	}
	for _, g := range c.Guards {
		switch {
		case g.True+g.False == 0:
			if taken[g.Action] {
				c.Warnings = append(c.Warnings, fmt.Sprintf("guard %s.%s is never asked", g.Action, g.Guard))
			}
		case g.False == 0:
			c.Warnings = append(c.Warnings, fmt.Sprintf("guard %s.%s never refused anything, of %s times that it was asked", g.Action, g.Guard, thousands(g.True)))
		case g.True == 0:
			c.Warnings = append(c.Warnings, fmt.Sprintf("guard %s.%s was always false, %s times", g.Action, g.Guard, thousands(g.False)))
		}
	}
}

// coverage writes what a run covered.
func (p *printer) coverage(c *Coverage) {
	if c == nil {
		return
	}
	percent := func(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) }
	p.line("")
	p.line("  coverage: of the time %s went into the table and the judging of new states, %s into looking for steps that are not enabled",
		percent(c.TableShare), percent(c.IdleShare))
	p.line("  (estimated from %s states that were timed)", thousands(c.Sampled))
	p.table("actions: states with a step, steps taken, new states, depth of the first, time to make its steps, time in the table", len(c.Actions), func(i int) string {
		a := c.Actions[i]
		if a.Taken+a.Within == 0 {
			return a.Name + "\tnever enabled"
		}
		if a.Taken == 0 {
			return fmt.Sprintf("%s\twithin steps %s", a.Name, thousands(a.Within))
		}
		return fmt.Sprintf("%s\t%s\t%s\t%s\t%d\t%s\t%s", a.Name, thousands(a.Enabled), thousands(a.Taken), thousands(a.New),
			a.FirstDepth, percent(a.Share), percent(a.TableShare))
	})
	p.table("guards: true, false, in the distinct local states where they were asked", len(c.Guards), func(i int) string {
		g := c.Guards[i]
		return fmt.Sprintf("%s.%s\t%s\t%s", g.Action, g.Guard, thousands(g.True), thousands(g.False))
	})
	for _, w := range c.Warnings {
		p.line("  warning: %s", w)
	}
}
