package checker

import "time"

// Status is how a run ended.
type Status string

const (
	// Holds: every reachable state was explored and no property is violated.
	Holds Status = "holds"
	// Violated: at least one property is violated.
	Violated Status = "violated"
	// Limit: the run ended before the end, and what it saw violates nothing.
	Limit Status = "limit"
	// Found and Absent are the answers of Find.
	Found  Status = "found"
	Absent Status = "absent"
	// Vacuous: a liveness property holds only for want of behaviours to judge.
	Vacuous Status = "vacuous"
)

// ExitCode is what a command that did the run returns: 0, 1 or 3.
func (s Status) ExitCode() int {
	switch s {
	case Holds, Found, NoViolation:
		return 0
	case Limit:
		return 3
	default:
		return 1
	}
}

// Result is what a run found. All counts but those of time and memory are the
// same whatever the number of workers, unless Partial is set.
type Result struct {
	Spec string `json:"spec"`
	// Processes names the processes of the specification.
	Processes []string `json:"processes,omitempty"`
	Legend    string   `json:"legend,omitempty"`
	Status    Status   `json:"status"`
	// LimitedBy says what ended the run if Status is Limit.
	LimitedBy string `json:"limited_by,omitempty"`
	// Checkpoint is the one to go on from, if there is one and the run was ended.
	Checkpoint *SavedAt `json:"checkpoint,omitempty"`
	// Question is what Find was asked.
	Question string `json:"question,omitempty"`
	// Partial says that the last level was not explored to its end.
	Partial bool `json:"partial,omitempty"`

	// Order is that of the search. Only a breadth-first one has levels, and
	// counterexamples that are shortest; of others Depth is that of the deepest
	// behaviour that was followed.
	Order Order `json:"order,omitempty"`

	// Distinct counts states, Generated the enabled steps that were taken from
	// them, initial states not included.
	Distinct  uint64 `json:"distinct"`
	Generated uint64 `json:"generated"`
	Initial   uint64 `json:"initial"`
	// Symmetry is the number of permutations that states were explored up to, and
	// Unreduced the number of states that Distinct stands for; 0 if the
	// specification cannot tell.
	Symmetry  int    `json:"symmetry,omitempty"`
	Unreduced uint64 `json:"unreduced,omitempty"`
	// Projected counts states that differ in more than budget counters.
	Projected uint64 `json:"projected,omitempty"`
	// Depth is the number of levels, that of the initial states included.
	Depth int `json:"depth"`
	// Widest is the number of states in the largest level.
	Widest uint64 `json:"widest"`
	// Levels has the number of states in each level.
	Levels []uint64 `json:"levels,omitempty"`

	Actions []ActionCount `json:"actions"`
	Bounds  []BoundCount  `json:"bounds"`
	// Stuck counts states without a step that no bound explains; Stopped those
	// whose only steps lie beyond a bound.
	Stuck   uint64 `json:"stuck"`
	Stopped uint64 `json:"stopped"`

	Properties []PropertyResult `json:"properties"`
	// Violations has one counterexample for each violated property, the
	// shortest; that which counts most comes first.
	Violations []Violation `json:"violations,omitempty"`
	// Coverage is what actions and guards did, if that was asked for.
	Coverage *Coverage `json:"coverage,omitempty"`
	// Witnesses are shortest ways to Sometimes properties, if they were asked for.
	Witnesses []Witness `json:"witnesses,omitempty"`
	// Witness is the way to the state that Find looked for.
	Witness []TraceStep `json:"witness,omitempty"`

	// Omission is the expected number of states that were missed because their
	// fingerprint was taken. It is 0 if whole states were compared.
	Omission   float64 `json:"expected_omissions"`
	Exact      bool    `json:"exact,omitempty"`
	Workers    int     `json:"workers"`
	Seconds    float64 `json:"seconds"`
	TableBytes uint64  `json:"table_bytes"`
	Memory     Memory  `json:"memory"`

	// Explanation says what the verdict rests on, if Options.Explain asks for it.
	Explanation *Explanation `json:"explanation,omitempty"`

	nearest [64][]TraceStep // of a question: the way to the nearest state of each answer
}

// ActionCount is how often an action was taken: as a step, and within steps
// that carry out an exchange of immediate messages.
type ActionCount struct {
	Name   string `json:"name"`
	Fired  uint64 `json:"fired"`
	Within uint64 `json:"within,omitempty"`
}

// BoundCount says in how many states a bound of the model kept a step from
// being taken. For a budget: in how many states it was used up.
type BoundCount struct {
	Name   string `json:"name"`
	Kind   string `json:"kind"` // "bound", "budget", "in flight"
	Limit  int    `json:"limit,omitempty"`
	States uint64 `json:"states"`
}

// PropertyResult is the judgement of one property.
type PropertyResult struct {
	Name     string `json:"name"`
	Kind     string `json:"kind"` // "invariant", "always", "sometimes"
	Restates string `json:"restates,omitempty"`
	// Verdict is "holds", "violated", "reached", "never", or "open" if the run
	// ended too early to say.
	Verdict string `json:"verdict"`
}

// Violation is a violated property and the shortest way to it. For an Always
// property it is the last step that violates.
type Violation struct {
	Property string      `json:"property"`
	Kind     string      `json:"kind"`
	Doc      string      `json:"doc,omitempty"`
	Restates string      `json:"restates,omitempty"`
	Trace    []TraceStep `json:"trace"`
	// Because says which part of the property fails, and of whom.
	Because []string `json:"because,omitempty"`
	// Loop, of a liveness property, is the state of Trace that the last one equals:
	// the behaviour repeats from there for ever. If it is the last one itself,
	// nothing happens any more.
	Loop *int `json:"loop,omitempty"`
}

// TraceStep is one state of a behaviour, and the step that led to it; the first
// has none.
type TraceStep struct {
	// Process took the step; -1 for the environment and in the first state.
	Process  int      `json:"process"`
	Actor    string   `json:"actor,omitempty"`
	Instance Instance `json:"instance"`
	// Step is the step in words, Message the message that it took.
	Step    string `json:"step"`
	Message string `json:"message,omitempty"`
	// Kept says that the message is still in flight afterwards.
	Kept bool `json:"kept,omitempty"`
	// Sends are the messages that the step puts in flight or, if the environment
	// took it, those that Message became. Inner parts list their own.
	Sends []Sent      `json:"sends,omitempty"`
	Inner []InnerStep `json:"inner,omitempty"`
	// OneShort are steps that a single guard refuses in this state; only at the end of
	// a counterexample, and with Options.Explain.
	OneShort []OneShort `json:"one_short,omitempty"`
	// State is the value of type S; Fields describe it.
	State  any     `json:"-"`
	Fields []Field `json:"fields"`
}

// InnerStep is a part of a step that carries out an exchange.
type InnerStep struct {
	Process  int      `json:"process"`
	Actor    string   `json:"actor"`
	Instance Instance `json:"instance"`
	Step     string   `json:"step"`
	Message  string   `json:"message"`
	// Lost says that the message was lost, and no step taken.
	Lost  bool   `json:"lost,omitempty"`
	Sends []Sent `json:"sends,omitempty"`
}

// Sent is a message that a step sends, and the number of the process that it goes to.
type Sent struct {
	Message string `json:"message"`
	To      int    `json:"to"`
}

// Caught says that a property is violated that does not restate a guard.
func (r *Result) Caught() bool {
	return len(r.Violations) > 0 && r.Violations[0].Restates == ""
}

// Never lists the Sometimes properties that the run did not reach.
func (r *Result) Never() []string {
	var names []string
	for _, p := range r.Properties {
		if p.Verdict == "never" {
			names = append(names, p.Name)
		}
	}
	return names
}

// Rate is the number of steps taken a second.
func (r *Result) Rate() float64 {
	if r.Seconds == 0 {
		return 0
	}
	return float64(r.Generated) / r.Seconds
}

// Elapsed is the time that the run took.
func (r *Result) Elapsed() time.Duration { return time.Duration(r.Seconds * float64(time.Second)) }

func (k PropertyKind) String() string {
	return [...]string{"invariant", "always", "sometimes"}[k]
}
