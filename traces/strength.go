package traces

import (
	"fmt"
	"slices"
	"strings"

	"github.com/quorate/quorate/spec"
)

// Strength is how much a run says about the specification: what of it the run exercised, and
// from which wrong specifications it can tell it.
type Strength struct {
	Verdict Verdict `json:"verdict"`
	Events  int64   `json:"events"`
	// Taken and NotTaken are the actions of the specification.
	Taken    []string `json:"actions_taken"`
	NotTaken []string `json:"actions_not_taken"`
	// Branches are the sides of guards that were seen: an action that handles a message asks
	// a guard and goes on either way, one that does not is taken only where its guards hold.
	Branches    []string `json:"branches_seen"`
	NotBranches []string `json:"branches_not_seen"`
	// Mutations are the known bugs, each put into the specification: a run that is no
	// behaviour of it any more tells it apart.
	Mutations []Told `json:"mutations"`
}

// Told says whether a run tells a mutation of the specification from the specification.
type Told struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	// Apart: it does. Unknown: the search budget was used up before an answer.
	Apart   bool `json:"told_apart"`
	Unknown bool `json:"unknown,omitempty"`
	// Where is the first event that cannot be, or after which a property does not hold.
	Where string `json:"where,omitempty"`
	Why   string `json:"why,omitempty"`
}

// Measure says how strong a run is. Of a run that is not accepted it says the verdict only.
func Measure(inputs []Input, opt Options) (*Strength, error) {
	trial := &spec.Trial{}
	opt.Rules, opt.Trial = nil, trial
	res, err := Validate(inputs, opt)
	if err != nil {
		return nil, err
	}
	s := &Strength{Verdict: res.Verdict, Events: res.Stats.Events, NotTaken: res.Stats.NotTaken}
	if res.Verdict != Accepted {
		return s, nil
	}
	for a := spec.ActionID(0); a < spec.NumReplicaActions; a++ {
		if !slices.Contains(s.NotTaken, a.String()) {
			s.Taken = append(s.Taken, a.String())
		}
		for _, g := range spec.GuardsOf(a) {
			s.branch(trial, a, g, 1, "true")
			if a.Handles() {
				s.branch(trial, a, g, 0, "false")
			}
		}
	}
	opt.Trial = nil
	for i := range spec.Mutations {
		told, err := tell(inputs, opt, &spec.Mutations[i])
		if err != nil {
			return nil, err
		}
		s.Mutations = append(s.Mutations, *told)
	}
	return s, nil
}

func (s *Strength) branch(t *spec.Trial, a spec.ActionID, g spec.Guard, side int, name string) {
	text := fmt.Sprintf("%v.%v %s", a, g, name)
	if t.Counts[a][g][side] > 0 {
		s.Branches = append(s.Branches, text)
	} else {
		s.NotBranches = append(s.NotBranches, text)
	}
}

// tell holds a run against the specification with one mutation.
func tell(inputs []Input, opt Options, m *spec.Mutation) (*Told, error) {
	opt.Rules = spec.CleanRules()
	m.Override(opt.Rules)
	if opt.MaxWorlds == 0 {
		opt.MaxWorlds = 32 // what a bug allows beside the rest need not be followed far
	}
	res, err := Validate(inputs, opt)
	if err != nil {
		return nil, err
	}
	t := &Told{ID: m.ID, Title: m.Title, Apart: res.Verdict == Rejected, Unknown: res.Verdict == OutOfBudget}
	if r := res.Rejection; r != nil && t.Apart {
		t.Where, t.Why = fmt.Sprintf("%s:%d", short(r.File), r.Line), r.Why
	}
	return t, nil
}

// Score is how many mutations the run tells apart, and of how many.
func (s *Strength) Score() (apart, all int) {
	for i := range s.Mutations {
		if s.Mutations[i].Apart {
			apart++
		}
	}
	return apart, len(s.Mutations)
}

// Text is the report for a reader.
func (s *Strength) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v, %s events\n", s.Verdict, thousands(s.Events))
	if s.Verdict != Accepted {
		return b.String()
	}
	fmt.Fprintf(&b, "actions: %d of %d taken; never: %s\n", len(s.Taken), len(s.Taken)+len(s.NotTaken), orNone(s.NotTaken))
	fmt.Fprintf(&b, "branches: %d of %d seen; never: %s\n", len(s.Branches), len(s.Branches)+len(s.NotBranches), orNone(s.NotBranches))
	apart, all := s.Score()
	fmt.Fprintf(&b, "mutations: %d of %d told apart\n", apart, all)
	width := 0
	for i := range s.Mutations {
		width = max(width, len(s.Mutations[i].ID))
	}
	for i := range s.Mutations {
		switch t := &s.Mutations[i]; {
		case t.Apart:
			fmt.Fprintf(&b, "  %-*s  told apart at %s: %s\n", width, t.ID, t.Where, t.Why)
		case t.Unknown:
			fmt.Fprintf(&b, "  %-*s  no answer within the budget\n", width, t.ID)
		default:
			fmt.Fprintf(&b, "  %-*s  not told apart: %s\n", width, t.ID, t.Title)
		}
	}
	return b.String()
}

func orNone(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}
