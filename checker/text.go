package checker

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// WriteText writes the result for a reader: the verdict, counterexamples, what
// was counted, and what was not covered.
func (r *Result) WriteText(w io.Writer) error {
	p := &printer{w: w}
	p.line("%s: %s%s", r.Spec, r.Status, r.reason())
	for i, v := range r.Violations {
		p.line("")
		if i > 0 && v.Restates != "" {
			p.line("  also violates %s, after %d steps, which restates the guard %s", v.Property, len(v.Trace)-1, v.Restates)
			continue
		}
		p.line("  counterexample to %s, %d steps%s", v.Property, len(v.Trace)-1, prefixed("; it restates the guard ", v.Restates))
		if r.Legend != "" {
			p.line("  (%s)", r.Legend)
		}
		p.line("")
		p.behaviour(v.Trace, v.Loop)
		p.line("")
		p.line("  violates %s (%s)%s", v.Property, v.Kind, prefixed(": ", v.Doc))
		for _, why := range v.Because {
			p.line("    %s", why)
		}
	}
	if len(r.Witness) > 0 {
		p.line("")
		p.trace(r.Witness)
	}
	p.witnesses(r)
	if len(r.Violations)+len(r.Witness)+len(r.Witnesses) > 0 {
		p.line("")
	}
	p.counts(r)
	p.coverage(r.Coverage)
	if r.Explanation != nil {
		p.explanation(r.Explanation)
	}
	return p.err
}

func (r *Result) reason() string {
	switch {
	case r.Partial && r.Order == DepthFirst:
		return " (" + r.LimitedBy + ")"
	case r.Partial:
		return " (" + r.LimitedBy + ", within level " + fmt.Sprint(r.Depth) + ")"
	case r.Status == Limit:
		return " (" + r.LimitedBy + ")"
	default:
		return ""
	}
}

func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

// WriteTrace writes a behaviour: a line for each step, then what it changed.
func WriteTrace(w io.Writer, trace []TraceStep) error {
	p := &printer{w: w}
	p.trace(trace)
	return p.err
}

// WriteLasso writes a behaviour whose last state is state loop once more, so that what
// follows that state goes on for ever; if it is the last itself, nothing happens any more.
func WriteLasso(w io.Writer, trace []TraceStep, loop int) error {
	p := &printer{w: w}
	p.behaviour(trace, &loop)
	return p.err
}

// printer remembers the first error, so that its callers need not.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}

func (p *printer) trace(trace []TraceStep) { p.behaviour(trace, nil) }

func (p *printer) behaviour(trace []TraceStep, loop *int) {
	for n, s := range trace {
		if loop != nil && n == *loop+1 {
			p.line("       for ever:")
		}
		if n == 0 {
			p.line("  %3d  %s", n, s.Step)
			p.whole(s.Fields)
			p.oneShort(s.OneShort)
			continue
		}
		p.line("  %3d  %s: %s%s", n, s.Actor, s.Step, prefixed("  <- ", s.Message))
		for _, in := range s.Inner {
			if in.Lost {
				p.line("       lost: %s", in.Message)
			} else {
				p.line("       then %s: %s%s", in.Actor, in.Step, prefixed("  <- ", in.Message))
			}
		}
		for _, c := range Changes(trace[n-1].Fields, s.Fields) {
			p.line("         %s", c)
		}
		p.oneShort(s.OneShort)
	}
	switch {
	case loop == nil:
	case *loop == len(trace)-1:
		p.line("       and nothing happens any more")
	default:
		p.line("       and again from state %d", *loop)
		return
	}
	if last := len(trace) - 1; last > 0 {
		p.line("       then")
		p.whole(trace[last].Fields)
	}
}

func (p *printer) oneShort(list []OneShort) {
	for _, o := range list {
		p.line("         one guard short: %s: %s, of %s%s", o.Actor, o.Step, o.Guard, prefixed("  <- ", o.Message))
	}
}

// whole writes a state, a line for each of its parts.
func (p *printer) whole(fields []Field) {
	for i := 0; i < len(fields); {
		part, _, _ := strings.Cut(fields[i].Path, ".")
		var texts []string
		for ; i < len(fields); i++ {
			of, name, ok := strings.Cut(fields[i].Path, ".")
			if of != part {
				break
			}
			switch {
			case !ok:
				texts = append(texts, fields[i].Value)
			case fields[i].Value != "":
				texts = append(texts, name+" "+fields[i].Value)
			}
		}
		p.line("         %s: %s", part, strings.Join(texts, ", "))
	}
}

func (p *printer) counts(r *Result) {
	if r.Order == DepthFirst {
		p.line("  %s distinct states, %s steps, longest behaviour followed %d", thousands(r.Distinct), thousands(r.Generated), r.Depth-1)
		if len(r.Violations) > 0 {
			p.line("  depth first: a counterexample is the stack, and rarely the shortest; without -order dfs it is")
		}
	} else {
		p.line("  %s distinct states, %s steps, depth %d, widest level %s", thousands(r.Distinct), thousands(r.Generated), r.Depth, thousands(r.Widest))
	}
	switch {
	case r.Symmetry == 1:
		p.line("  symmetry gains nothing here: no process can take the place of another")
	case r.Symmetry > 1:
		p.line("  up to symmetry, %s renamings: they stand for %s states", thousands(uint64(r.Symmetry)), thousands(r.Unreduced))
	}
	if r.Projected > 0 {
		p.line("  %s distinct states without budgets", thousands(r.Projected))
	}
	p.line("  %.2f s, %.1f M steps/s, workers %d, %.2g states expected to be missed", r.Seconds, r.Rate()/1e6, r.Workers, r.Omission)
	p.line("  %s", r.Memory.text(r.Distinct))
	if c := r.Checkpoint; c != nil {
		p.line("  resume %s to go on from depth %d, with %s states", c.Dir, c.Depth, thousands(c.Distinct))
	}
	if r.Stuck > 0 || r.Stopped > 0 {
		p.line("  without a step: %s stuck, %s at a bound", thousands(r.Stuck), thousands(r.Stopped))
	}
	// Beside a behaviour only what bears on it.
	brief := len(r.Violations)+len(r.Witness)+len(r.Witnesses) > 0
	properties := slices.DeleteFunc(slices.Clone(r.Properties), func(c PropertyResult) bool {
		return brief && c.Verdict != "violated" && (len(r.Witnesses) == 0 || c.Verdict == "reached")
	})
	actions := slices.DeleteFunc(slices.Clone(r.Actions), func(a ActionCount) bool { return brief && a.Fired+a.Within == 0 })
	bounds := slices.DeleteFunc(slices.Clone(r.Bounds), func(b BoundCount) bool { return brief && b.States == 0 })
	p.table("properties", len(properties), func(i int) string {
		c := properties[i]
		return c.Name + "\t" + c.Kind + "\t" + c.Verdict + prefixed("\trestates ", c.Restates)
	})
	p.table("actions", len(actions), func(i int) string {
		a := actions[i]
		row := a.Name + "\t" + thousands(a.Fired)
		if a.Within > 0 {
			row += "\twithin steps " + thousands(a.Within)
		} else if a.Fired == 0 {
			row += "\tnever taken"
		}
		return row
	})
	p.table("bounds, and in how many states they were met", len(bounds), func(i int) string {
		b := bounds[i]
		limit := "-"
		if b.Kind != "bound" {
			limit = fmt.Sprint(b.Limit)
		}
		return b.Name + "\t" + b.Kind + "\t" + limit + "\t" + thousands(b.States)
	})
}

// table writes rows whose columns are separated by tabs.
func (p *printer) table(title string, n int, row func(int) string) {
	if n == 0 {
		return
	}
	p.line("  %s", title)
	if p.err != nil {
		return
	}
	tw := NewColumns(p.w)
	for i := range n {
		fmt.Fprintf(tw, "    %s\n", row(i))
	}
	p.err = tw.Flush()
}

// thousands writes 1234567 as 1,234,567.
func thousands(n uint64) string {
	s := fmt.Sprint(n)
	var b strings.Builder
	for i, d := range s {
		if i > 0 && (len(s)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}
