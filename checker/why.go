package checker

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
)

// WhyResult says what keeps processes from an action.
type WhyResult struct {
	Spec   string `json:"spec"`
	Action string `json:"action"`
	// Status is Found if the action is enabled in a state that was asked about, Absent
	// if in none, Limit if not all could be looked at.
	Status    Status `json:"status"`
	LimitedBy string `json:"limited_by,omitempty"`
	// Unoffered is why the model never has the action.
	Unoffered string `json:"unoffered,omitempty"`
	// Distinct counts the states looked at, Considered those in which the model offers
	// an instance, and Enabled those in which nothing refuses one.
	Distinct   uint64 `json:"distinct"`
	Considered uint64 `json:"considered"`
	Enabled    uint64 `json:"enabled"`
	// Nearest is the way to the nearest state in which the action is enabled.
	Nearest []TraceStep `json:"nearest,omitempty"`
	// Conditions are those that refuse it, that which most often does so alone first.
	Conditions []WhyCondition `json:"conditions,omitempty"`
	// Property is the one whose counterexample Trace is the beginning of, if the
	// question was about one of its states.
	Property string `json:"property,omitempty"`
	// At has every instance in the one state that was asked about; Trace is the way there.
	At    []WhyAttempt `json:"at,omitempty"`
	Trace []TraceStep  `json:"trace,omitempty"`
}

// WhyCondition is a condition that refuses an action in some states.
type WhyCondition struct {
	Refusal
	// States counts those in which it refuses an instance, Alone those in which nothing
	// else refuses that instance; Instances counts these instances.
	States    uint64 `json:"states"`
	Alone     uint64 `json:"alone"`
	Instances uint64 `json:"instances"`
	// Nearest is the way to the nearest state of Alone.
	Nearest []TraceStep `json:"nearest,omitempty"`
}

// WhyAttempt is an instance of the action in one state.
type WhyAttempt struct {
	Actor   string    `json:"actor"`
	Step    string    `json:"step"`
	Message string    `json:"message,omitempty"`
	Refused []Refusal `json:"refused,omitempty"`
}

// Why explores a specification and says what keeps its processes from an action. With
// at, a question as of Find, only the nearest state that answers it is looked at.
func Why[S any](spec Spec[S], action, at string, opt Options) (*WhyResult, error) {
	w, e, a, err := askWhy(spec, action)
	switch {
	case err != nil:
		return nil, err
	case at != "":
		return w, lookAt(w, spec, e, a, at, opt)
	case w.Unoffered != "":
		return w, nil
	}
	return w, lookEverywhere(w, spec, e, a, opt)
}

// WhyStep says what keeps processes from an action in one state of the counterexample
// that Run finds with these options: the first state has number 0. It is an error if no
// property is violated.
func WhyStep[S any](spec Spec[S], action string, step int, opt Options) (*WhyResult, error) {
	w, e, a, err := askWhy(spec, action)
	if err != nil {
		return nil, err
	}
	if opt.Symmetry {
		return nil, fmt.Errorf("%s: a question may tell processes apart, so symmetry is for properties only", w.Spec)
	}
	r, err := Run(spec, opt)
	switch {
	case err != nil:
		return nil, err
	case len(r.Violations) == 0:
		return nil, fmt.Errorf("no property of %s is violated, in the %s states looked at: there is no counterexample with a state %d", w.Spec, thousands(r.Distinct), step)
	}
	v := &r.Violations[0]
	if step < 0 || step >= len(v.Trace) {
		return nil, fmt.Errorf("the counterexample to %s has states 0 to %d, and no state %d", v.Property, len(v.Trace)-1, step)
	}
	w.Distinct, w.Property, w.Trace = r.Distinct, v.Property, v.Trace[:step+1]
	lookAtLast(w, spec, e, a)
	return w, nil
}

func askWhy[S any](spec Spec[S], action string) (*WhyResult, attempter[S], ActionID, error) {
	info := spec.Info()
	a := slices.Index(info.Actions, action)
	if a < 0 {
		return nil, nil, 0, fmt.Errorf("%s has no action %q; it has %s", info.Name, action, strings.Join(info.Actions, ", "))
	}
	e, ok := spec.(attempter[S])
	if !ok || !e.canExplain() {
		return nil, nil, 0, fmt.Errorf("%s does not say why steps are refused: its actions have no named guards", info.Name)
	}
	return &WhyResult{Spec: info.Name, Action: action, Status: Absent, Unoffered: e.unoffered(ActionID(a))}, e, ActionID(a), nil
}

// lookAt tells of the nearest state that answers a question.
func lookAt[S any](w *WhyResult, spec Spec[S], e attempter[S], a ActionID, at string, opt Options) error {
	r, err := Find(spec, at, opt)
	if err != nil {
		return err
	}
	w.Distinct, w.LimitedBy, w.Trace = r.Distinct, r.LimitedBy, r.Witness
	if r.Status != Found {
		if w.Status = r.Status; r.Status == Absent {
			return fmt.Errorf("no state of %s answers %q", w.Spec, at)
		}
		return nil
	}
	lookAtLast(w, spec, e, a)
	return nil
}

// lookAtLast tells of the state in which w.Trace ends.
func lookAtLast[S any](w *WhyResult, spec Spec[S], e attempter[S], a ActionID) {
	if w.Unoffered != "" {
		return
	}
	state := w.Trace[len(w.Trace)-1].State.(S)
	e.attempts(&state, a, func(process int, message string, at *Attempt) {
		w.At = append(w.At, WhyAttempt{
			Actor: spec.Info().processName(process), Step: spec.Info().stepText(process, at.Instance), Message: message, Refused: at.Refused,
		})
		if len(at.Refused) == 0 {
			w.Status, w.Enabled = Found, 1
		}
	})
	slices.SortStableFunc(w.At, func(a, b WhyAttempt) int { return len(a.Refused) - len(b.Refused) })
}

// lookEverywhere counts over all states.
func lookEverywhere[S any](w *WhyResult, spec Spec[S], e attempter[S], a ActionID, opt Options) error {
	opt.KeepGoing, opt.Properties = true, nil
	t := &tally{names: map[string]int{}}
	r, err := explore(spec, opt, func(s *S) Props {
		var list []*Attempt
		e.attempts(s, a, func(_ int, _ string, at *Attempt) { list = append(list, at) })
		return t.add(list)
	})
	if err != nil {
		return err
	}
	w.Distinct, w.LimitedBy = r.Distinct, r.LimitedBy
	w.Considered, w.Enabled, w.Nearest = t.considered, t.enabled, r.nearest[0]
	for i := range t.conditions {
		t.conditions[i].Nearest = r.nearest[i+1]
	}
	w.Conditions = t.conditions
	slices.SortStableFunc(w.Conditions, func(a, b WhyCondition) int {
		if a.Alone != b.Alone {
			return int(b.Alone) - int(a.Alone)
		}
		return strings.Compare(a.Name, b.Name)
	})
	switch {
	case w.Enabled > 0:
		w.Status = Found
	case r.LimitedBy != "":
		w.Status = Limit
	}
	return nil
}

// tally collects what refuses an action, over all states.
type tally struct {
	sync.Mutex
	considered, enabled uint64
	names               map[string]int
	conditions          []WhyCondition
}

// maxConditions is how many are told apart: each has a bit of a search, and one is of
// the states in which the action is enabled.
const maxConditions = 63

// add counts one state, and returns what it is the nearest state of, as bits.
func (t *tally) add(attempts []*Attempt) Props {
	if len(attempts) == 0 {
		return 0
	}
	t.Lock()
	defer t.Unlock()
	t.considered++
	enabled := false
	var answers, refusing Props
	for _, at := range attempts {
		enabled = enabled || len(at.Refused) == 0
		for _, r := range at.Refused {
			i, ok := t.names[r.Name]
			if !ok {
				if len(t.conditions) == maxConditions {
					panic(&predicateError{fmt.Errorf("more than %d conditions refuse the action", maxConditions)})
				}
				i = len(t.conditions)
				t.names[r.Name] = i
				t.conditions = append(t.conditions, WhyCondition{Refusal: r})
			}
			c := &t.conditions[i]
			if refusing>>i&1 == 0 {
				refusing |= 1 << i
				c.States++
			}
			if len(at.Refused) > 1 {
				continue
			}
			c.Instances++
			if answers>>(i+1)&1 == 0 {
				answers |= 2 << i
				c.Alone++
			}
		}
	}
	if enabled {
		t.enabled++
		answers |= 1
	}
	return answers
}

// WriteText writes the answer for a reader.
func (w *WhyResult) WriteText(out io.Writer) error {
	p := &printer{w: out}
	if w.Trace != nil {
		if w.Property != "" {
			p.line("%s of %s in state %d of the counterexample to %s", w.Action, w.Spec, len(w.Trace)-1, w.Property)
		} else {
			p.line("%s of %s in the state", w.Action, w.Spec)
		}
		p.line("")
		p.trace(w.Trace)
		p.line("")
	}
	switch {
	case w.Unoffered != "":
		p.line("%s is never enabled in %s: %s", w.Action, w.Spec, w.Unoffered)
		return p.err
	case w.Trace != nil:
		if len(w.At) == 0 {
			p.line("  nobody could take it there: the model offers it to none, or no message is there to handle")
		}
		for _, at := range w.At {
			step := at.Actor + ": " + at.Step + prefixed("  <- ", at.Message)
			if len(at.Refused) == 0 {
				p.line("  %s is enabled", step)
			} else {
				p.line("  %s: refused by %s", step, refusalText(at.Refused))
			}
		}
		return p.err
	case w.Status == Found:
		p.line("%s is enabled in %s of %s states of %s, first after %s", w.Action, thousands(w.Enabled), thousands(w.Distinct), w.Spec, plural(len(w.Nearest)-1, "step"))
	case w.Status == Limit:
		p.line("%s is enabled in none of the %s states of %s that were looked at (%s)", w.Action, thousands(w.Distinct), w.Spec, w.LimitedBy)
	default:
		p.line("%s is never enabled in the %s states of %s", w.Action, thousands(w.Distinct), w.Spec)
	}
	if w.Considered == 0 {
		p.line("  there is nobody who could take it: no message that it handles is ever in flight, or the model offers it to none")
		p.line("  (an exchange that the model takes at once has no message in flight)")
		return p.err
	}
	p.line("")
	p.table("what refuses it", len(w.Conditions), func(i int) string {
		c := w.Conditions[i]
		row := fmt.Sprintf("%s\tin %s states\talone in %s", c.Name, thousands(c.States), thousands(c.Alone))
		if c.Bound {
			row += "\ta bound of the model"
		}
		return row
	})
	if w.Status == Found {
		return p.err
	}
	for _, c := range w.Conditions {
		if c.Nearest == nil {
			continue
		}
		p.line("")
		p.line("  the nearest state in which only %s refuses it, after %s", c.Name, plural(len(c.Nearest)-1, "step"))
		p.line("")
		p.trace(c.Nearest)
		return p.err // the others are alone less often
	}
	p.line("  in no state is it one condition short")
	return p.err
}

// Behaviours has the way to the state that was asked about, or to the nearest in which the
// action is enabled, or else to that in which one condition alone refuses it, to be drawn.
func (w *WhyResult) Behaviours(title, legend string, processes []string) []Behaviour {
	add := func(trace []TraceStep, what string, verdict ...string) []Behaviour {
		return []Behaviour{{
			Title: fmt.Sprintf("%s: %s, %s", title, what, stepsText(len(trace)-1)), Legend: legend, Processes: processes,
			Trace: trace, Verdict: verdict,
		}}
	}
	if w.Trace != nil {
		var lines []string
		for _, at := range w.At {
			text := at.Actor + ": " + at.Step + prefixed("  <- ", at.Message)
			if len(at.Refused) == 0 {
				lines = append(lines, text+" is enabled")
			} else {
				lines = append(lines, text+": refused by "+refusalText(at.Refused))
			}
		}
		if w.Unoffered != "" {
			lines = append(lines, w.Action+" is never enabled: "+w.Unoffered)
		}
		return add(w.Trace, "may "+w.Action+" be taken here?", lines...)
	}
	if w.Nearest != nil {
		return add(w.Nearest, w.Action+" is enabled", w.Action+" is enabled in this state")
	}
	for _, c := range w.Conditions {
		if c.Nearest != nil {
			return add(c.Nearest, w.Action+" is one condition short", fmt.Sprintf("only %s refuses %s in this state", c.Name, w.Action))
		}
	}
	return nil
}
