// Package concern is what the specifications of single concerns have in common:
// bootstrap and cluster-id discovery, each over a replicated log that is abstract. It
// says how their models and mutations are listed, and what they give the checker.
//
// Read [Spec], then package bootstrap or clusterid.
package concern

import "github.com/quorate/quorate/checker"

// Spec is a transition system over states of type S, as [checker.Spec] without its
// sink: steps are handed to a function. package audit makes the one of the other.
type Spec[S any] interface {
	Info() *checker.Info
	// Init calls yield with each initial state.
	Init(yield func(s *S))
	// Next calls yield with every step from s, and bounded with each bound of the model
	// that kept a step from being one. The state of a step belongs to Next again
	// afterwards.
	Next(s *S, yield func(Step[S]), bounded func(checker.Bound))
	// Check returns the invariants that s violates.
	Check(s *S) checker.Props
	Describe(s *S) []checker.Field
	// Env is what a predicate of find may ask.
	Env(s *S) map[string]any
}

// Step is a step of a process, -1 for the environment.
type Step[S any] struct {
	Process           int
	Instance          checker.Instance
	Next              *S
	Violated, Reached checker.Props
}

// Concern lists a specification: what there is to run, and what it must give.
type Concern struct {
	// Name is what -module takes.
	Name, Doc string
	Models    []Model
	Mutations []Mutation
	Lives     []Live
	Actions   []string
	// Mutants are actions that only a mutation takes.
	Mutants []string
	// Properties are those of every model.
	Properties []checker.Property
	// Guards are all guards, as Action.Guard.
	Guards []string
	// New is a Spec[S] of the concern's own S: of a model under a variant.
	New func(model string, v Variant) (any, error)
	// Constants are those that Variant.Set may set of a model: name, value, range.
	Constants func(model string) [][3]string
	// Changed is a model with constants set.
	Changed func(model string, set []Setting) (*Model, error)
}

// Variant is what a run changes: nothing, one rule, one guard, or constants.
type Variant struct {
	// Mutation is the id of one, Guard a guard that is taken away, as Action.Guard.
	Mutation, Guard string
	Set             []Setting
}

// Setting is a constant and the value that it is to have.
type Setting struct{ Name, Value string }

// Model is a box that is explored to the end.
type Model struct {
	Name, Why, Constants string
	// Deep models run in check-deep only.
	Deep bool
	// Unsafe models are expected to violate a property: they show an assumption.
	Unsafe string
	// Of are the concerns that meet in it, if they are several. Each may be left out, by
	// the constant of its name with no- in front.
	Of []string
	// Meets is the sometimes property that shows them meeting.
	Meets string
	Pin
}

// Pin is what a model must give. Any change of the specification shows there.
type Pin struct {
	Distinct uint64
	Depth    int
}

// Mutation is a bug put back, or, if Harmless says why, a change that turned out not to
// be one.
type Mutation struct {
	ID, Title, Source, Story string
	// Model is the smallest model that catches it, by Property. A Sometimes property
	// catches by never being reached.
	Model, Property string
	// Steps is the length of the shortest counterexample, 0 if a Sometimes property
	// catches.
	Steps    int
	Harmless string
}

// ModelNamed finds a model.
func (c *Concern) ModelNamed(name string) (*Model, bool) {
	for i := range c.Models {
		if c.Models[i].Name == name {
			return &c.Models[i], true
		}
	}
	return nil, false
}

// MutationNamed finds a mutation.
func (c *Concern) MutationNamed(id string) (*Mutation, bool) {
	for i := range c.Mutations {
		if c.Mutations[i].ID == id {
			return &c.Mutations[i], true
		}
	}
	return nil, false
}
