package kafkasql

import (
	"fmt"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/spec/concern"
)

// Recorded is a step of a run of a real thing.
type Recorded struct {
	// Process is the number of an instance, or -1 of whoever else it is.
	Process int
	Action  string
	// Offset that the instance stands at after Apply, Install and BecomeReady, that an image
	// has after FinishCapture, and at which the journal starts after TrimJournal, each that of
	// the next record. Less than 0: whatever it is.
	Offset int
}

// Run is a recorded run of variant T.
type Run struct {
	Instances, Keep int
	// Records is how many the journal has in the end. Appends are not recorded: a record may
	// have been appended at any time before it was applied.
	Records int
	Steps   []Recorded
}

// Conform says whether a run is one of variant T: how many of its steps are, which is all
// of them if it is, and otherwise why the next is none. An implementation may leave the
// record with which the oldest image ends when it trims.
func Conform(run Run) (steps int, why error) {
	if run.Instances > MaxInstances || run.Records > MaxJournal {
		return 0, fmt.Errorf("%d instances and %d records: a state has room for %d and %d", run.Instances, run.Records, MaxInstances, MaxJournal)
	}
	const often = 100
	model := &Model{
		Name: "recorded", Variant: T, Instances: run.Instances, Fine: true, Attempts: MaxAttempts, Keep: run.Keep,
		Crashes: often, Pauses: often, Trims: often, Damages: often, Rewinds: often, Collections: often,
	}
	for range run.Records {
		model.Script = append(model.Script, Touch)
	}
	rules := CleanRules(T, run.Keep)
	trimTo := rules.TrimTo
	rules.TrimTo = func(s *State) uint8 {
		to := trimTo(s)
		return max(to, 1) - 1
	}
	m := newMachine(model, rules, concern.Drop{})
	states := map[State]bool{}
	m.Init(func(s *State) { states[*s] = true })
	for i, step := range run.Steps {
		m.appends(states)
		next, broken := map[State]bool{}, ""
		for s := range states {
			m.Next(&s, func(t concern.Step[State]) {
				if !matches(step, run.Instances, &s, t) {
					return
				}
				if bad := t.Violated; bad != 0 {
					broken = fmt.Sprintf("it breaks a property (%b)", bad)
					return
				}
				next[*t.Next] = true
			}, func(checker.Bound) {})
		}
		if len(next) == 0 {
			if broken == "" {
				broken = "it is not possible here"
			}
			return i, fmt.Errorf("step %d, %s of instance %d at offset %d: %s", i+1, step.Action, step.Process, step.Offset, broken)
		}
		states = next
	}
	return len(run.Steps), nil
}

// appends adds to states those that appends lead to.
func (m *machine) appends(states map[State]bool) {
	for s := range states {
		for {
			if !m.write(&s) {
				break
			}
			states[s] = true
		}
	}
}

// matches says whether a step of the model is the recorded one.
func matches(r Recorded, instances int, s *State, t concern.Step[State]) bool {
	a := Action(t.Instance.Action)
	if a.String() != r.Action || (t.Process < 0 || t.Process >= instances) != (r.Process < 0) || r.Process >= 0 && t.Process != r.Process {
		return false
	}
	if r.Offset < 0 {
		return true
	}
	at := -1
	switch a {
	case Apply, Install, BecomeReady:
		at = int(t.Next.I[r.Process].Pos)
	case FinishCapture:
		at = int(t.Next.Atts[s.I[r.Process].Att-1].Off)
	case TrimJournal:
		at = int(t.Next.LogStart)
	default:
		return true
	}
	return at == r.Offset
}
