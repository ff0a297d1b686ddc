package defects

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// cell is what a check found, and at which seed.
func (r *Report) cell(c Check) string {
	f := r.By(c)
	if f == nil {
		return "-"
	}
	what := f.What
	if c == History {
		what = "not linearizable" // the operations say nothing without the run
	}
	if runes := []rune(what); len(runes) > 60 {
		what = string(runes[:57]) + "..."
	}
	if f.Seed == 0 {
		return what
	}
	return fmt.Sprintf("%d: %s", f.Seed, what)
}

// WriteFlushes prints a table, and how many were noticed. It returns how many were
// not.
func WriteFlushes(w io.Writer, list []FlushResult) (missed int, err error) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "flush left out\twhat it makes durable\ttests\tsimulation\ttrace")
	for i := range list {
		r := &list[i]
		if len(r.Found) == 0 {
			missed++
		}
		tests, simulation, trace := r.cell(Tests), r.cell(Simulation), r.cell(Trace)
		if r.NoSeeds {
			simulation, trace = "", ""
		}
		if r.Error != nil {
			tests = "NOT TRIED: " + firstLine(r.Error)
		}
		fmt.Fprintf(tw, "%s:%d\t%s\t%s\t%s\t%s\n", r.File, r.Line, r.What, tests, simulation, trace)
	}
	if err := tw.Flush(); err != nil {
		return missed, err
	}
	_, err = fmt.Fprintf(w, "flushes: %d of %d noticed when left out\n", len(list)-missed, len(list))
	return missed, err
}

// WriteCore does the same for defects of the core.
func WriteCore(w io.Writer, list []CoreResult) (missed int, err error) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "defect\twhat is wrong\tfound first by\tseeds\tsimulation\ttrace\thistory\ttests of the core")
	for i := range list {
		r := &list[i]
		first := r.First()
		by, seeds := "NOTHING", fmt.Sprint(r.Seeds)
		switch {
		case r.Error != nil:
			by = "NOT TRIED: " + firstLine(r.Error)
			missed++
		case first == nil:
			missed++
		default:
			by = string(first.By)
			if first.Seed > 0 {
				seeds = fmt.Sprint(first.Seed)
			}
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Name, r.Wrong, by, seeds,
			r.cell(Simulation), r.cell(Trace), r.cell(History), r.cell(Tests))
	}
	if err := tw.Flush(); err != nil {
		return missed, err
	}
	_, err = fmt.Fprintf(w, "defects: %d of %d found\n", len(list)-missed, len(list))
	return missed, err
}

func firstLine(err error) string {
	text := err.Error()
	for i, c := range text {
		if c == '\n' {
			return text[:i]
		}
	}
	return text
}
