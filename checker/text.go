package checker

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// WriteText writes the result for a reader: the verdict, counterexamples, what
// was counted, and what was not covered.
func (r *Result) WriteText(w io.Writer) error {
	p := &printer{w: w}
	p.line("%s: %s%s", r.Spec, r.Status, r.reason())
	for _, v := range r.Violations {
		p.line("")
		p.trace(v.Trace)
		p.line("  violates %s (%s)%s%s", v.Property, v.Kind, prefixed(": ", v.Doc), prefixed("; restates the guard ", v.Restates))
	}
	if len(r.Witness) > 0 {
		p.line("")
		p.trace(r.Witness)
	}
	if len(r.Violations)+len(r.Witness) > 0 {
		p.line("")
	}
	p.counts(r)
	return p.err
}

func (r *Result) reason() string {
	switch {
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

func (p *printer) trace(trace []TraceStep) {
	for n, s := range trace {
		if n == 0 {
			p.line("  %3d  %s", n, s.Step)
			for _, f := range s.Fields {
				p.line("         %s: %s", f.Path, f.Value)
			}
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
	}
}

func (p *printer) counts(r *Result) {
	p.line("  %s distinct states, %s steps, depth %d, widest level %s", thousands(r.Distinct), thousands(r.Generated), r.Depth, thousands(r.Widest))
	if r.Projected > 0 {
		p.line("  %s distinct states without budgets", thousands(r.Projected))
	}
	p.line("  %.2f s, %.1f M steps/s, workers %d, tables %.0f MiB, %.2g states expected to be missed",
		r.Seconds, r.Rate()/1e6, r.Workers, float64(r.TableBytes)/(1<<20), r.Omission)
	if r.Stuck > 0 || r.Stopped > 0 {
		p.line("  without a step: %s stuck, %s at a bound", thousands(r.Stuck), thousands(r.Stopped))
	}
	p.table("properties", len(r.Properties), func(i int) string {
		c := r.Properties[i]
		return c.Name + "\t" + c.Kind + "\t" + c.Verdict + prefixed("\trestates ", c.Restates)
	})
	p.table("actions", len(r.Actions), func(i int) string {
		a := r.Actions[i]
		row := a.Name + "\t" + thousands(a.Fired)
		if a.Within > 0 {
			row += "\twithin steps " + thousands(a.Within)
		} else if a.Fired == 0 {
			row += "\tnever taken"
		}
		return row
	})
	p.table("bounds, and in how many states they were met", len(r.Bounds), func(i int) string {
		b := r.Bounds[i]
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
	tw := tabwriter.NewWriter(p.w, 0, 0, 2, ' ', 0)
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
