package defects

import (
	"fmt"
	"io"
	"slices"
	"strings"
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
	_, err = fmt.Fprintf(w, "flushes: %d of %d noticed when left out; %s\n", len(list)-missed, len(list),
		counts(len(list), func(i int) *Report { return &list[i].Report }))
	return missed, err
}

// WriteCore does the same for defects of the core.
func WriteCore(w io.Writer, list []CoreResult) (missed int, err error) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	walked := slices.ContainsFunc(list, func(r CoreResult) bool { return r.By(Walk) != nil })
	fmt.Fprint(tw, "defect\twhat is wrong\tfound first by\tseeds\tsimulation\ttrace\thistory\ttests of the package")
	if walked {
		fmt.Fprint(tw, "\twalk along state graphs")
	}
	fmt.Fprintln(tw)
	for i := range list {
		r := &list[i]
		by, seeds := "NOTHING", fmt.Sprint(r.Seeds)
		switch first := r.First(); {
		case r.Error != nil:
			by, seeds = "NOT TRIED: "+firstLine(r.Error), ""
			missed++
		case first == nil:
			missed++
		case first.Seed == 0:
			by, seeds = string(first.By), "-"
		default:
			by, seeds = string(first.By), fmt.Sprint(first.Seed)
		}
		simulation, trace, history := r.cell(Simulation), r.cell(Trace), r.cell(History)
		if r.Unsimulated != "" {
			simulation, trace, history = "", "", ""
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s", r.Name, r.Wrong, by, seeds, simulation, trace, history, r.cell(Tests))
		if walked {
			fmt.Fprint(tw, "\t"+r.cell(Walk))
		}
		fmt.Fprintln(tw)
	}
	if err := tw.Flush(); err != nil {
		return missed, err
	}
	_, err = fmt.Fprintf(w, "defects: %d of %d found; %s\n", len(list)-missed, len(list),
		counts(len(list), func(i int) *Report { return &list[i].Report }))
	return missed, err
}

// counts says how many each check found.
func counts(n int, report func(int) *Report) string {
	var parts []string
	for _, c := range []Check{Simulation, Trace, History, Tests, Walk} {
		found := 0
		for i := range n {
			if report(i).By(c) != nil {
				found++
			}
		}
		if c == Walk && found == 0 {
			continue // seldom asked for
		}
		parts = append(parts, fmt.Sprintf("%d by %s", found, c))
	}
	return strings.Join(parts, ", ")
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
