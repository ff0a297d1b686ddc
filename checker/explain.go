package checker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Explanation says what a verdict rests on: what was not covered, and why.
type Explanation struct {
	// Complete says that every reachable state was looked at.
	Complete bool `json:"complete"`
	// Cuts has every limit of the model, and what it kept from being taken.
	Cuts []Cut `json:"cuts"`
	// Counted says that Cut.Actions was counted: in a breadth-first run of a
	// specification that says why steps are refused.
	Counted bool `json:"counted"`
	// Never has the actions that were not taken.
	Never []NeverTaken `json:"never,omitempty"`
	// Hides is Info.Hides: behaviours that the model leaves out silently.
	Hides []string `json:"hides,omitempty"`
	// Notes say in sentences how far the verdict goes.
	Notes []string `json:"notes"`
}

// Cut is a limit of the model and the actions that it cut.
type Cut struct {
	BoundCount
	Actions []ActionCut `json:"actions,omitempty"`
}

// ActionCut says in how many states a limit, and nothing else, kept an instance of an
// action from being taken.
type ActionCut struct {
	Name   string `json:"name"`
	States uint64 `json:"states"`
}

// NeverTaken is an action that was not taken, and, if it is known, why not.
type NeverTaken struct {
	Name string `json:"name"`
	Why  string `json:"why,omitempty"`
}

// OneShort is a step that only one guard of the protocol refuses.
type OneShort struct {
	Actor   string `json:"actor"`
	Step    string `json:"step"`
	Message string `json:"message,omitempty"`
	Guard   string `json:"guard"`
}

// explain says what a result covers. The tallies are those of the workers; nil: nobody
// counted.
func explain[S any](spec Spec[S], opt *Options, selected Props, r *Result, tallies []*cutTally[S]) *Explanation {
	info := spec.Info()
	x := &Explanation{Hides: info.Hides, Counted: len(tallies) > 0}
	x.Complete = r.LimitedBy == "" && (r.Status == Holds || opt.KeepGoing)
	total := map[cutting]uint64{}
	for _, t := range tallies {
		for c, n := range t.states {
			total[c] += n
		}
	}
	for i, b := range r.Bounds {
		limit := limitNumber(info, i)
		line := Cut{BoundCount: b}
		for a, name := range info.Actions {
			if n := total[cutting{uint8(limit), ActionID(a)}]; n > 0 {
				line.Actions = append(line.Actions, ActionCut{name, n})
			}
		}
		slices.SortStableFunc(line.Actions, func(a, b ActionCut) int { return cmp.Compare(b.States, a.States) })
		x.Cuts = append(x.Cuts, line)
	}
	e, _ := spec.(attempter[S])
	for i, a := range r.Actions {
		if a.Fired+a.Within > 0 {
			continue
		}
		never := NeverTaken{Name: a.Name}
		if e != nil && e.canExplain() {
			never.Why = e.unoffered(ActionID(i))
		}
		x.Never = append(x.Never, never)
	}
	x.Notes = notes(info, opt, selected, r)
	return x
}

// limitNumber is the number, as in Sink.bounded, of entry i of what boundCounts lists.
func limitNumber(info *Info, i int) int {
	if i < len(info.Bounds) {
		return i
	}
	i -= len(info.Bounds)
	if i+1 < len(info.Budgets) {
		return budgetBit + i + 1
	}
	return inFlightBit
}

// notes say how far a verdict goes.
func notes(info *Info, opt *Options, selected Props, r *Result) []string {
	var list []string
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	switch {
	case r.Status == Violated && opt.KeepGoing && r.LimitedBy == "":
		add("The violation is of the model within its bounds; the run went on to the end, and every other property is judged.")
	case r.Status == Violated && r.Order == DepthFirst:
		add("The run ended at the violation, depth first: the counterexample is rarely the shortest, and the properties that are not violated are not judged.")
	case r.Status == Violated:
		add("The run ended after the level in which the violation is: no shorter behaviour violates what is violated, and longer ones were not looked at, so that no other property is judged beyond %s.", stepsText(r.Depth-1))
	case r.Status == Limit:
		where := stepsText(max(0, r.Depth-1))
		if r.Partial {
			where += ", and the last of these not all"
		}
		add("The run ended before its end (%s): behaviours of up to %s were looked at. What was seen violates nothing; nothing is said of the rest.", r.LimitedBy, where)
	default:
		add("Every state that the model can reach within its bounds was judged, %s of them. Of larger constants, and of what lies beyond a bound, nothing is said.", thousands(r.Distinct))
	}
	if r.Exact {
		add("Whole states were compared: none was missed.")
	} else {
		add("States were told apart by fingerprints of 64 bits. If two states had the same, the second was not explored: %.2g states are expected to be missed so. -exact compares whole states.", r.Omission)
	}
	if r.Symmetry > 0 {
		add("Of the states that differ only in the names of interchangeable processes one was explored, %s renamings in all: counts are of such classes, and the verdict is that of all states, since steps and the properties judged do not depend on names.", thousands(uint64(r.Symmetry)))
	}
	if never := r.Never(); len(never) > 0 {
		add("Never reached: %s. What is claimed of such behaviour holds here for want of it.", strings.Join(never, ", "))
	}
	var unjudged, restating []string
	for i, p := range info.Properties {
		switch {
		case selected>>i&1 == 0:
			unjudged = append(unjudged, p.Name)
		case p.Restates != "":
			restating = append(restating, p.Name)
		}
	}
	if len(unjudged) > 0 {
		add("Not judged: %s.", strings.Join(unjudged, ", "))
	}
	if len(restating) > 0 {
		add("%s repeat what a guard says, and are no evidence that the guard is right.", strings.Join(restating, ", "))
	}
	add("Judged are states and steps. That something comes about in the end is a question of liveness, and not judged here.")
	return list
}

// lastSteps is in how many states at the end of a counterexample it is said what was
// one condition short.
const lastSteps = 3

// noteOneShort says, in the last states of a behaviour, what only one guard refuses.
func noteOneShort[S any](spec Spec[S], trace []TraceStep) {
	e, ok := spec.(attempter[S])
	if !ok || !e.canExplain() {
		return
	}
	info := spec.Info()
	for n := max(0, len(trace)-lastSteps); n < len(trace); n++ {
		state, ok := trace[n].State.(S)
		if !ok {
			return
		}
		var list []OneShort
		for a := range info.Actions {
			e.attempts(&state, ActionID(a), func(process int, message string, at *Attempt) {
				if len(at.Refused) != 1 || at.Refused[0].Bound || at.Refused[0].Lesser {
					return
				}
				o := OneShort{info.processName(process), info.stepText(process, at.Instance), message, at.Refused[0].Name}
				if !slices.Contains(list, o) {
					list = append(list, o)
				}
			})
		}
		trace[n].OneShort = list
	}
}

// explanation writes what a verdict rests on.
func (p *printer) explanation(x *Explanation) {
	p.line("")
	p.line("  what was covered, and what was not")
	for _, note := range x.Notes {
		p.paragraph("    - ", note)
	}
	var absent []string
	for _, c := range x.Cuts {
		if c.Kind == "budget" && c.Limit == 0 {
			absent = append(absent, c.Name)
			continue
		}
		p.paragraph("    - ", c.text(x))
	}
	if len(absent) > 0 {
		p.paragraph("    - ", fmt.Sprintf("The model has no %s.", strings.Join(absent, ", no ")))
	}
	if !x.Counted && len(x.Cuts) > 0 {
		p.paragraph("    - ", "Which actions the bounds cut was not counted: that is for breadth-first runs of specifications that say why steps are refused.")
	}
	var unknown, reasons []string
	because := map[string][]string{}
	for _, n := range x.Never {
		switch {
		case n.Why == "":
			unknown = append(unknown, n.Name)
			continue
		case because[n.Why] == nil:
			reasons = append(reasons, n.Why)
		}
		because[n.Why] = append(because[n.Why], n.Name)
	}
	for _, why := range reasons {
		p.paragraph("    - ", fmt.Sprintf("Never taken, since %s: %s.", why, strings.Join(because[why], ", ")))
	}
	if len(unknown) > 0 {
		p.paragraph("    - ", fmt.Sprintf("Never taken: %s. quorate why says what keeps replicas from one.", strings.Join(unknown, ", ")))
	}
	for _, h := range x.Hides {
		p.paragraph("    - ", h)
	}
}

// text is a limit in a sentence.
func (c *Cut) text(x *Explanation) string {
	name := fmt.Sprintf("bound %q", c.Name)
	switch c.Kind {
	case "budget":
		name = fmt.Sprintf("budget of %d %s", c.Limit, c.Name)
	case "in flight":
		name = fmt.Sprintf("limit of %d messages in flight", c.Limit)
	}
	switch {
	case c.States == 0 && !x.Complete:
		return fmt.Sprintf("The %s was not met in what was looked at.", name)
	case c.States == 0:
		return fmt.Sprintf("The %s was never met: a higher one would show nothing new.", name)
	}
	met := "kept a step from being taken"
	if c.Kind == "budget" {
		met = "was used up"
	}
	text := fmt.Sprintf("The %s %s in %s states", name, met, thousands(c.States))
	var cuts []string
	for _, a := range c.Actions {
		cuts = append(cuts, fmt.Sprintf("%s in %s", a.Name, thousands(a.States)))
	}
	switch {
	case len(cuts) > 0:
		text += "; it alone refused " + strings.Join(cuts, ", ")
	case x.Counted && c.Kind == "budget":
		text += ", in none of which a step would have spent more of it"
	}
	return text + "."
}

// paragraph writes a text in lines that fit a terminal, the first with a prefix and the
// others as far from the margin.
func (p *printer) paragraph(prefix, text string) {
	const width = 92
	line := prefix
	indent := strings.Repeat(" ", len(prefix))
	empty := true
	for _, word := range strings.Fields(text) {
		if !empty && len(line)+1+len(word) > width {
			p.line("%s", line)
			line, empty = indent, true
		}
		if !empty {
			line += " "
		}
		line += word
		empty = false
	}
	p.line("%s", line)
}
