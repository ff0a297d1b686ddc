package checker

import (
	"fmt"
	"io"
	"strings"
)

// WriteText writes the comparison for a reader.
func (c *Comparison) WriteText(w io.Writer) error {
	p := &printer{w: w}
	p.line("A: %s", c.A)
	p.line("B: %s", c.B)
	p.line("%s%s", c.verdict(), prefixed(" on ", strings.Join(append(append([]string{}, c.On...), c.Actions...), ", ")))
	c.writeSide(p, "A", "B", c.OnlyA, c.OnlyAOpen)
	c.writeSide(p, "B", "A", c.OnlyB, c.OnlyBOpen)
	p.line("")
	if c.onFields() {
		p.line("  %s pairs of what A and B may be in after the same was seen of both, %.1f s", thousands(c.Compared), c.Seconds)
	} else {
		p.line("  %s states compared, %.1f s", thousands(c.Compared), c.Seconds)
	}
	if n := c.Counts; n != nil {
		p.line("  reachable states: %s common, %s only of A, %s only of B", thousands(n.Common), thousands(n.OnlyA), thousands(n.OnlyB))
	}
	return p.err
}

func (c *Comparison) onFields() bool { return len(c.On)+len(c.Actions) > 0 }

func (c *Comparison) verdict() string {
	switch c.Status {
	case Same:
		return "the same behaviours"
	case Differ:
		return "they differ"
	}
	return "no verdict: out of budget (" + c.LimitedBy + ") before a difference was found"
}

func (c *Comparison) writeSide(p *printer, mine, other string, v *Divergence, open bool) {
	p.line("")
	switch {
	case v == nil && open && c.LimitedBy != "":
		p.line("  whether %s has a behaviour that %s lacks is open: out of budget (%s)", mine, other, c.LimitedBy)
		return
	case v == nil && open:
		p.line("  whether %s has a behaviour that %s lacks was not asked to the end", mine, other)
		return
	case v == nil:
		p.line("  %s has no behaviour that %s lacks", mine, other)
		return
	}
	steps := len(v.Trace) - 1
	if steps == 0 {
		p.line("  only %s begins so:", mine)
		p.trace(v.Trace)
		return
	}
	p.line("  only %s has this behaviour of %s; %s cannot take the last", mine, plural(steps, "step"), other)
	if c.Legend != "" {
		p.line("  (%s)", c.Legend)
	}
	if c.onFields() {
		p.line("  seen of it: %s", strings.Join(v.Observed, "; "))
	}
	p.line("")
	p.trace(v.Trace)
	p.line("")
	last := v.Trace[steps]
	step := last.Actor + ": " + last.Step
	where := "there"
	if v.Among > 1 {
		where = fmt.Sprintf("in none of the %s states that it may be in", thousands(uint64(v.Among)))
	}
	switch {
	case v.Unoffered != "":
		p.line("  %s never has %s: %s", other, step, v.Unoffered)
	case len(v.Refused) > 0:
		p.line("  what refuses %s in %s%s: %s", step, other, among(v.Among), refusalText(v.Refused))
	case len(v.Effect) > 0:
		p.line("  %s takes %s as well, and comes to another state (there -> here):", other, step)
		for _, e := range v.Effect {
			p.line("    %s", e)
		}
	default:
		p.line("  %s has no such step as %s %s", other, step, where)
	}
}

func among(n int) string {
	if n <= 1 {
		return ""
	}
	return fmt.Sprintf(" (in that of the %s states it may be in where least is missing)", thousands(uint64(n)))
}

func refusalText(list []Refusal) string {
	var names []string
	for _, r := range list {
		if r.Bound {
			names = append(names, r.Name+" (a bound of the model)")
		} else {
			names = append(names, r.Name)
		}
	}
	return strings.Join(names, ", then ")
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%s %ss", thousands(uint64(n)), noun)
}
