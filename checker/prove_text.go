package checker

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// WriteText writes the steps of a proof as a table, how well they were tried, and the
// counterexample to each that fails.
func (r *ProofResult) WriteText(w io.Writer) error {
	p := &printer{w: w}
	verdict := "every step holds"
	switch failed := r.Failed(); {
	case len(failed) > 0:
		verdict = "fails: " + strings.Join(failed, ", ")
	case r.Stopped:
		verdict = "stopped before the end"
	case len(r.Vacuous) > 0:
		verdict = "says nothing: " + strings.Join(r.Vacuous, "; ") + " (more samples may: -samples)"
	}
	p.line("%s: %s", r.Proof, verdict)
	p.line("  (%s)", r.Doc)
	p.line("")
	p.steps(r.Steps)
	p.line("")
	p.line("  %d initial states; %d of %d states drawn satisfy what is assumed; steps from these", r.Initial, r.Satisfy, r.Drawn)
	p.extremes("actions", r.Firings)
	p.extremes("branches", r.Branches)
	p.line("  %.1f s", r.Seconds)
	for i := range r.Steps {
		if f := r.Steps[i].Failure; f != nil {
			p.line("")
			p.line("  counterexample to %s, the smallest of %d (%s)", f.Step, r.Steps[i].Fails, r.Steps[i].Doc)
			p.induction(f)
		}
	}
	return p.err
}

// WriteWithout writes why the proof needs a conjunct: what fails without it.
func (r *ProofResult) WriteWithout(w io.Writer, s *ProofStep) error {
	p := &printer{w: w}
	switch s.Use {
	case UseNeeded:
		p.line("without %s of %s, %s does not hold (%s)", s.Name, r.Proof, s.Breaks.Step, s.Doc)
		p.induction(s.Breaks)
	case UseImplied:
		p.line("%s of %s follows from the others: in no state that was drawn it failed alone", s.Name, r.Proof)
	case UseConclusion:
		p.line("nothing in the proof of %s leans on %s, which failed alone in %d states", r.Proof, s.Name, s.Alone)
	default:
		p.line("%s of %s is no part of the invariant, and cannot be left out", s.Name, r.Proof)
	}
	return p.err
}

func (p *printer) steps(steps []ProofStep) {
	if p.err != nil {
		return
	}
	tw := NewColumns(p.w)
	fmt.Fprintln(tw, "  step\tkind\tchecked\t\twithout it")
	for i := range steps {
		s := &steps[i]
		verdict := "holds"
		if s.Failure != nil {
			verdict = "FAILS" + prefixed(" in ", strings.Join(s.Under, ", "))
		}
		fmt.Fprintf(tw, "  %s\t%s\t%d\t%s\t%s\n", s.Name, s.Kind, s.Checks, verdict, s.loss())
	}
	p.err = tw.Flush()
}

// loss says what is lost without a step.
func (s *ProofStep) loss() string {
	switch {
	case s.Use == UseNeeded && s.Breaks.Action != "":
		return s.Breaks.Step + " fails in " + s.Breaks.Action
	case s.Use == UseNeeded:
		return s.Breaks.Step + " fails"
	case s.Use == UseImplied:
		return "nothing: it follows from the others"
	case s.Use == UseConclusion:
		return "nothing here: it is a conclusion"
	case len(s.Without) > 0:
		return "(fails without " + strings.Join(s.Without, ", ") + ")"
	}
	return ""
}

// extremes writes what was taken least and most often.
func (p *printer) extremes(what string, counts []Firings) {
	if len(counts) == 0 {
		return
	}
	less := func(a, b Firings) int {
		switch {
		case a.Count < b.Count:
			return -1
		case a.Count > b.Count:
			return 1
		}
		return 0
	}
	least, most := slices.MinFunc(counts, less), slices.MaxFunc(counts, less)
	p.line("  took %d %s, least often %s (%d), most often %s (%d)", len(counts), what, least.Name, least.Count, most.Name, most.Count)
}

func (p *printer) induction(f *Induction) {
	p.line("")
	if len(f.Before) == 0 {
		p.line("    %s", f.Told)
		return
	}
	if f.Initial {
		p.line("  initially")
	}
	p.whole(f.Before)
	if f.Told == "" {
		return
	}
	p.line("  then %s", f.Told)
	for _, c := range Changes(f.Before, f.After) {
		p.line("         %s", c)
	}
}
