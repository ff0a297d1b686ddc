package checker

import (
	"fmt"
	"io"
	"strings"
)

// LiveResult is what a liveness run found.
type LiveResult struct {
	Spec      string   `json:"spec"`
	Processes []string `json:"processes,omitempty"`
	Legend    string   `json:"legend,omitempty"`
	// Assumes says in words what is assumed of the behaviours that are judged.
	Assumes string `json:"assumes,omitempty"`
	// Status is Holds, Violated, Vacuous (some property is, and none is violated), or
	// Limit if the run was canceled.
	Status    Status `json:"status"`
	LimitedBy string `json:"limited_by,omitempty"`

	// Distinct counts the states, Edges the steps between them, Suffix the states in
	// which a behaviour may be once the assumptions hold.
	Distinct uint64 `json:"distinct"`
	Edges    uint64 `json:"edges"`
	Suffix   uint64 `json:"suffix"`
	// Hopeless counts those of Suffix that are in no behaviour that is judged, since
	// being fair there breaks an assumption sooner or later: nothing is said of them.
	Hopeless uint64 `json:"hopeless"`
	// Components counts the strongly connected components of the suffix, NonTrivial
	// those with a step inside. Fair counts the components in which a fair behaviour
	// may stay for ever, and FairEnds those of them that are one state in which
	// nothing happens any more. What is left of a component without the states that a
	// strong fairness forbids may be several.
	Components uint64 `json:"components"`
	NonTrivial uint64 `json:"non_trivial"`
	Fair       uint64 `json:"fair"`
	FairEnds   uint64 `json:"fair_ends"`
	// Idle names fairness conditions that are never enabled in the suffix.
	Idle []string `json:"idle,omitempty"`

	Properties []LivePropertyResult `json:"properties"`
	// Violations has a lasso for each violated property: Trace ends with the state of
	// number Loop.
	Violations []Violation `json:"violations,omitempty"`

	// Omission is the expected number of states missed, 0 if whole states were
	// compared (Exact).
	Omission float64 `json:"expected_omissions"`
	Exact    bool    `json:"exact"`
	Seconds  float64 `json:"seconds"`
	Bytes    uint64  `json:"bytes"`
}

// LivePropertyResult is the judgement of one liveness property.
type LivePropertyResult struct {
	Name string `json:"name"`
	Form string `json:"form"`
	Doc  string `json:"doc,omitempty"`
	// Verdict is "holds", "violated" or "vacuous".
	Verdict string `json:"verdict"`
	// Stem and Cycle are the numbers of steps of the counterexample: up to where it
	// begins to repeat, and of what repeats. A cycle of 0: nothing happens any more.
	Stem  int `json:"stem,omitempty"`
	Cycle int `json:"cycle,omitempty"`
}

func (f LivenessForm) String() string {
	if f > EventuallyAlways {
		return fmt.Sprintf("form %d", uint8(f))
	}
	return [...]string{"eventually", "leads to", "always eventually", "eventually always"}[f]
}

// WriteText writes the result for a reader: counterexamples, verdicts, and what
// they rest on.
func (r *LiveResult) WriteText(w io.Writer) error {
	p := &printer{w: w}
	reason := ""
	if r.Status == Limit {
		reason = " (" + r.LimitedBy + ")"
	}
	p.line("%s: %s%s", r.Spec, r.Status, reason)
	for _, v := range r.Violations {
		loop, last := *v.Loop, len(v.Trace)-1
		what := fmt.Sprintf("%d steps, of which the last %d repeat for ever", last, last-loop)
		if loop == last {
			what = fmt.Sprintf("%d steps, and then nothing happens any more", last)
		}
		p.line("")
		p.line("  counterexample to %s, %s", v.Property, what)
		if r.Legend != "" {
			p.line("  (%s)", r.Legend)
		}
		p.line("")
		p.trace(v.Trace)
		if loop == last {
			p.line("  The behaviour then stutters for ever: no step is taken that fairness asks for, as none is enabled.")
		} else {
			p.line("  The behaviour then repeats from step %d: state %d is state %d again.", loop+1, last, loop)
		}
		p.line("")
		p.line("  violates %s (%s)%s", v.Property, v.Kind, prefixed(": ", v.Doc))
	}
	if len(r.Violations) > 0 {
		p.line("")
	}
	p.line("  %s states, %s steps; in %s states the assumptions may hold, in %s of them not for ever", thousands(r.Distinct), thousands(r.Edges), thousands(r.Suffix), thousands(r.Hopeless))
	if r.Status != Limit {
		p.line("  %s components of those, %s with a step inside; %s fair, of which %s are ends", thousands(r.Components), thousands(r.NonTrivial), thousands(r.Fair), thousands(r.FairEnds))
	}
	p.line("  %.2f s, %.0f MiB, %.2g states expected to be missed", r.Seconds, float64(r.Bytes)/(1<<20), r.Omission)
	if r.Assumes != "" {
		p.line("  assumes: %s", r.Assumes)
	}
	if len(r.Idle) > 0 {
		p.line("  asks for nothing, since never enabled there: fairness of %s", strings.Join(r.Idle, ", "))
	}
	p.table("properties", len(r.Properties), func(i int) string {
		c := r.Properties[i]
		row := c.Name + "\t" + c.Form + "\t" + c.Verdict
		if c.Verdict == "vacuous" {
			if r.Fair == 0 {
				return row + "\tno behaviour satisfies the assumptions"
			}
			return row + "\tits premise is true in no behaviour that satisfies the assumptions"
		}
		return row + prefixed("\t", c.Doc)
	})
	return p.err
}
