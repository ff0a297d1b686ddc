package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/spec"
	"github.com/quorate/quorate/spec/audit"
	"github.com/quorate/quorate/spec/concern"
)

// liveSubject is a live model by its name: of the specification, or of a concern.
type liveSubject struct {
	name, module, why string
	pin               concern.LivePin
	pinned            string // the file that has the pin
	run               func(ctx context.Context, mutation string, properties []string) (*checker.LiveResult, error)
}

// liveSubjects are all live models, those of the specification first.
func liveSubjects() []liveSubject {
	var list []liveSubject
	for i := range spec.LiveModels {
		m := &spec.LiveModels[i]
		list = append(list, liveSubject{m.Name, moduleElection, m.Why, concern.LivePin(m.Pin), "spec/liveness_models.go",
			func(ctx context.Context, id string, properties []string) (*checker.LiveResult, error) {
				var mutation *spec.Mutation
				if mu, ok := spec.LivenessMutationNamed(id); ok {
					mutation = &mu.Mutation
				} else {
					mutation, _ = spec.MutationNamed(id)
				}
				return runLive(ctx, m, mutation, properties)
			}})
	}
	for _, c := range audit.Concerns {
		for i := range c.Lives {
			l := &c.Lives[i]
			list = append(list, liveSubject{l.Name, c.Name, l.Why, l.Pin, "spec/" + c.Name + "/live.go",
				func(ctx context.Context, id string, properties []string) (*checker.LiveResult, error) {
					return audit.RunLive(c, l, id, checker.Options{Context: ctx, Properties: properties})
				}})
		}
	}
	return list
}

func liveModelNames() []string {
	var names []string
	for _, s := range liveSubjects() {
		names = append(names, s.name)
	}
	return names
}

func liveSubjectNamed(name string) (liveSubject, error) {
	list := liveSubjects()
	if i := slices.IndexFunc(list, func(s liveSubject) bool { return s.name == name }); i >= 0 {
		return list[i], nil
	}
	return liveSubject{}, unknown("live model", name, liveModelNames())
}

// liveMutation is a mutation by its name, with the live models that are meant for it: none
// if it is one that only safety catches.
type liveMutation struct {
	id, title, source, story, module string
	models                           []string
	property                         string
}

// liveMutations are all mutations that keep something from ever coming about.
func liveMutations() []liveMutation {
	var list []liveMutation
	for i := range spec.LivenessMutations {
		mu := &spec.LivenessMutations[i]
		list = append(list, liveMutation{mu.ID, mu.Title, mu.Source, mu.Story, moduleElection, []string{mu.Model}, mu.Property})
	}
	for _, c := range audit.Concerns {
		for i := range c.Lives {
			for _, lm := range c.Lives[i].Mutations {
				if at := slices.IndexFunc(list, func(s liveMutation) bool { return s.id == lm.ID }); at >= 0 {
					list[at].models = append(list[at].models, c.Lives[i].Name)
					continue
				}
				mu, ok := c.MutationNamed(lm.ID)
				if !ok { // a test of the concern says so first
					continue
				}
				list = append(list, liveMutation{mu.ID, mu.Title, mu.Source, mu.Story, c.Name, []string{c.Lives[i].Name}, lm.Property})
			}
		}
	}
	return list
}

func liveMutationNames() []string {
	var names []string
	for _, s := range liveMutations() {
		names = append(names, s.id)
	}
	return names
}

// liveMutationNamed finds a mutation, which may be one of safety.
func liveMutationNamed(id string) (liveMutation, error) {
	list := liveMutations()
	if i := slices.IndexFunc(list, func(s liveMutation) bool { return s.id == id }); i >= 0 {
		return list[i], nil
	}
	if mu, ok := spec.MutationNamed(id); ok {
		return liveMutation{mu.ID, mu.Title, mu.Source, mu.Story, moduleElection, nil, ""}, nil
	}
	if c, mu, ok := concernMutation(id); ok {
		return liveMutation{mu.ID, mu.Title, mu.Source, mu.Story, c.Name, nil, ""}, nil
	}
	return liveMutation{}, unknown("mutation", id, liveMutationNames())
}

// onlyInTheEnd says whether a mutation breaks no safety property, but one of liveness.
func onlyInTheEnd(id string) bool {
	if _, mu, ok := concernMutation(id); ok && mu.Harmless == "" {
		return false
	}
	return slices.Contains(liveMutationNames(), id)
}

// chosen are the live models in which a mutation is to be tried: those that were named, or those
// that are meant for it.
func (s *liveMutation) chosen(named []string) ([]liveSubject, error) {
	if len(named) == 0 {
		if named = s.models; len(named) == 0 {
			return nil, fmt.Errorf("%s is a bug that safety catches; say in which live model it is to be tried, with -model", s.id)
		}
	}
	var list []liveSubject
	for _, name := range named {
		subject, err := liveSubjectNamed(name)
		if err != nil {
			return nil, err
		}
		if s.id != "" && subject.module != s.module {
			return nil, fmt.Errorf("%s is a mutation of %s, and the live model %s is of %s", s.id, s.module, name, subject.module)
		}
		list = append(list, subject)
	}
	return list, nil
}
