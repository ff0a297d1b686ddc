package checker

import (
	"fmt"
	"io"
	"slices"
)

// WriteText writes the simulation for a reader. Reproduce, if not nil, gives the
// command that takes one behaviour again.
func (r *Simulation) WriteText(w io.Writer, reproduce func(behaviour uint64) string) error {
	p := &printer{w: w}
	p.line("%s: %s%s", r.Spec, r.Status, prefixed(": ", r.LimitedBy))
	for i, v := range r.Violations {
		steps := len(v.Trace) - 1
		p.line("")
		if i > 0 && v.Restates != "" {
			p.line("  also violates %s, after %d steps, which restates the guard %s; see behaviour %d", v.Property, steps, v.Restates, v.Behaviour)
			continue
		}
		p.line("  counterexample to %s, %d steps%s", v.Property, steps, prefixed("; it restates the guard ", v.Restates))
		if steps != v.Found {
			p.line("  (found after %d steps; what it does not need was left out, and the rest taken again)", v.Found)
		}
		if r.Legend != "" {
			p.line("  (%s)", r.Legend)
		}
		p.line("")
		p.trace(v.Trace)
		p.line("")
		p.line("  violates %s (%s)%s", v.Property, v.Kind, prefixed(": ", v.Doc))
		if reproduce != nil {
			p.line("  reproduce with: %s", reproduce(v.Behaviour))
		}
	}
	if len(r.Behaviour) > 0 && len(r.Violations) == 0 {
		p.line("")
		p.trace(r.Behaviour)
	}
	if len(r.Violations)+len(r.Behaviour) > 0 {
		p.line("")
	}
	r.counts(p)
	return p.err
}

func (r *Simulation) counts(p *printer) {
	behaviours := "behaviours"
	if r.Swarm != nil {
		behaviours = "searches"
	}
	p.line("  seed %d, %s from %d: %s, of at most %d steps; %s steps taken", r.Seed, behaviours, r.First, thousands(r.Behaviours), r.Depth, thousands(r.Steps))
	p.line("  %s states judged (all successors of what was visited), about %s of them distinct (HyperLogLog, standard error %.1f %%)",
		thousands(r.Judged), thousands(r.Distinct), 100*r.DistinctError)
	if s := r.Swarm; s != nil {
		p.line("  %s states expanded, at most %s a search; %s searches saw all of their part; on average %.1f of %d actions switched off",
			thousands(s.Expanded), thousands(uint64(s.States)), thousands(s.Exhausted), float64(s.Off)/float64(max(r.Behaviours, 1)), len(r.Actions))
		p.line("  %s of fingerprints for each worker; %s were forgotten to make room, and their states may have been expanded again",
			binaryBytes(s.Bytes), thousands(s.Forgotten))
		p.line("  depth of searches: %s", quantiles(r.Lengths))
	} else {
		p.line("  length of behaviours: %s; %s ended stuck, %s at a bound", quantiles(r.Lengths), thousands(r.Stuck), thousands(r.Stopped))
	}
	p.line("  %.2f s, %s states judged a second, workers %d", r.Seconds, round(float64(r.Judged)/max(r.Seconds, 1e-9)), r.Workers)
	if len(r.Violations) == 0 {
		p.line("  a simulation proves nothing about what it did not come by: quorate check does, if the model is small enough")
	}
	// Beside a behaviour only what bears on it.
	brief := len(r.Violations)+len(r.Behaviour) > 0
	properties := slices.DeleteFunc(slices.Clone(r.Properties), func(c SimulatedProperty) bool { return brief && c.Behaviours == 0 })
	actions := slices.DeleteFunc(slices.Clone(r.Actions), func(a ActionCount) bool { return brief && a.Fired+a.Within == 0 })
	p.table("properties, and how many "+behaviours+" came by them", len(properties), func(i int) string {
		c := properties[i]
		row := c.Name + "\t" + c.Kind + "\t" + c.Verdict + "\t"
		if c.Behaviours > 0 {
			row += fmt.Sprintf("%s, first %d", thousands(c.Behaviours), c.First)
		}
		return row + prefixed("\trestates ", c.Restates)
	})
	p.table("actions taken", len(actions), func(i int) string {
		a := actions[i]
		row := a.Name + "\t" + thousands(a.Fired)
		if a.Within > 0 {
			row += "\twithin steps judged " + thousands(a.Within)
		} else if a.Fired == 0 {
			row += "\tnever taken"
		}
		return row
	})
}

// quantiles says how a histogram is spread.
func quantiles(counts []uint64) string {
	total := uint64(0)
	for _, n := range counts {
		total += n
	}
	if total == 0 {
		return "none"
	}
	at := func(q float64) int {
		rest := uint64(q * float64(total-1))
		for i, n := range counts {
			if rest < n {
				return i
			}
			rest -= n
		}
		return len(counts) - 1
	}
	return fmt.Sprintf("shortest %d, quartiles %d, %d, %d, longest %d", at(0), at(0.25), at(0.5), at(0.75), at(1))
}
