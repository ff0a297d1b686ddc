package audit

import (
	"fmt"
	"slices"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/spec"
	"github.com/quorate/quorate/spec/bootstrap"
	"github.com/quorate/quorate/spec/clusterid"
	"github.com/quorate/quorate/spec/composed"
	"github.com/quorate/quorate/spec/concern"
	"github.com/quorate/quorate/spec/kafkasql"
	"github.com/quorate/quorate/spec/kafkasqlc"
)

// Concerns are the specifications of single concerns over an abstract log.
var Concerns = []*concern.Concern{bootstrap.Concern(), clusterid.Concern(), composed.Concern(), kafkasql.Concern(), kafkasqlc.Concern()}

// Runnable is a model of a concern under a variant.
func Runnable(c *concern.Concern, model string, v concern.Variant) (checker.Runnable, error) {
	made, err := c.New(model, v)
	if err != nil {
		return nil, err
	}
	switch s := made.(type) {
	case concern.Spec[bootstrap.State]:
		return checker.Erase(checker.Spec[bootstrap.State](listed[bootstrap.State]{s})), nil
	case concern.Spec[clusterid.State]:
		return checker.Erase(checker.Spec[clusterid.State](listed[clusterid.State]{s})), nil
	case *composed.System:
		return checker.Erase(checker.Interned[composed.Process, composed.Msg, spec.Ghost](s)), nil
	case concern.Spec[kafkasql.State]:
		return checker.Erase(checker.Spec[kafkasql.State](listed[kafkasql.State]{s})), nil
	case concern.Spec[kafkasqlc.State]:
		return checker.Erase(checker.Spec[kafkasqlc.State](listed[kafkasqlc.State]{s})), nil
	}
	return nil, fmt.Errorf("concern %s has states of unknown type", c.Name)
}

// listed hands the steps of a concern to the checker.
type listed[S any] struct{ spec concern.Spec[S] }

func (l listed[S]) Info() *checker.Info { return l.spec.Info() }

func (l listed[S]) Init(out *checker.Sink[S]) {
	l.spec.Init(func(s *S) {
		*out.Slot() = *s
		out.Commit(-1, checker.Instance{}, 0, 0)
	})
}

func (l listed[S]) Next(s *S, out *checker.Sink[S]) {
	l.spec.Next(s, func(step concern.Step[S]) {
		*out.Slot() = *step.Next
		out.Commit(step.Process, step.Instance, step.Violated, step.Reached)
	}, out.Bounded)
}

func (l listed[S]) Check(s *S) (violated, reached checker.Props) { return l.spec.Check(s), 0 }

func (l listed[S]) Describe(s *S) []checker.Field { return l.spec.Describe(s) }

func (l listed[S]) Env(s *S) map[string]any { return l.spec.Env(s) }

// Alone says whether a mutation goes unnoticed in its model without one of the concerns
// that meet there. All properties are asked that do not restate a guard.
func Alone(c *concern.Concern, mu *concern.Mutation, without string, opt checker.Options) (unnoticed bool, err error) {
	s, err := Runnable(c, mu.Model, concern.Variant{Mutation: mu.ID, Set: []concern.Setting{{Name: "no-" + without, Value: "1"}}})
	if err != nil {
		return false, err
	}
	for _, p := range c.Properties {
		if p.Restates == "" {
			opt.Properties = append(opt.Properties, p.Name)
		}
	}
	res, err := s.Run(opt)
	if err != nil {
		return false, fmt.Errorf("mutation %s without %s: %w", mu.ID, without, err)
	}
	return res.Status == checker.Holds && len(res.Violations) == 0, nil
}

// Attempt is what came of a mutation of a concern.
type Attempt struct {
	Mutation *concern.Mutation
	Result   *checker.Result
	// Caught by its property, in Steps, or by never being reached if Steps is 0.
	Caught bool
	Steps  int
	// Harm is what a mutation violates that should do none.
	Harm string
}

// AsPinned says whether the mutation was caught in as many steps as it must be, or did
// no harm if it should not.
func (a *Attempt) AsPinned() bool {
	if a.Mutation.Harmless != "" {
		return a.Result.Status == checker.Holds && a.Harm == ""
	}
	return a.Caught && a.Steps == a.Mutation.Steps
}

// Try explores the model of a mutation, judging its property alone, or all of them if it
// should do no harm.
func Try(c *concern.Concern, mu *concern.Mutation, opt checker.Options) (*Attempt, error) {
	s, err := Runnable(c, mu.Model, concern.Variant{Mutation: mu.ID})
	if err != nil {
		return nil, err
	}
	if mu.Harmless == "" {
		opt.Properties = []string{mu.Property}
	}
	res, err := s.Run(opt)
	if err != nil {
		return nil, fmt.Errorf("mutation %s: %w", mu.ID, err)
	}
	a := &Attempt{Mutation: mu, Result: res}
	switch {
	case mu.Harmless != "" && len(res.Violations) > 0:
		a.Harm = res.Violations[0].Property
	case mu.Harmless != "":
	case len(res.Violations) > 0:
		a.Caught, a.Steps = true, len(res.Violations[0].Trace)-1
	default:
		a.Caught = res.Status == checker.Holds && slices.Contains(res.Never(), mu.Property)
	}
	return a, nil
}
