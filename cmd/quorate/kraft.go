package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/spec"
)

// The specifications that there are models of.
const (
	moduleElection = "election"
	moduleElect    = "examples/elect"
	moduleTwophase = "examples/twophase"
	moduleLease    = "examples/lease"
)

// kraftModels are the models of the KRaft specification.
func kraftModels() []entry {
	var list []entry
	for i := range spec.Models {
		m := &spec.Models[i]
		e := kraftEntry(m)
		for j := range spec.Mutations {
			if spec.Mutations[j].Model == m.Name {
				e.Catches = append(e.Catches, spec.Mutations[j].ID)
			}
		}
		if pin, ok := m.Pin(); ok {
			e.Pin = &pin
		}
		list = append(list, *e)
	}
	return list
}

// kraftEntry is a model of the KRaft specification by its constants.
func kraftEntry(m *spec.Model) *entry {
	e := &entry{Name: m.Name, Module: moduleElection, Doc: m.Why + ": " + m.Constants()}
	if m.Unsafe != "" {
		e.Expect = expectation{
			verdict: "violates", // of what comes first, which need not be m.Unsafe
			why:     "the model is there to show an assumption without which " + m.Unsafe + " does not hold",
		}
	}
	e.New = func(v Variant) (checker.Runnable, error) {
		sv, err := kraftVariant(v)
		if err != nil {
			return nil, err
		}
		sv.On, err = m.ReplicaSet(v.On)
		if err == nil && v.On != "" && sv.On == 0 {
			err = errors.New("the changed software runs on no replica")
		}
		if err != nil {
			return nil, err
		}
		return checker.Erase(checker.Interned(spec.NewSystem(m, sv))), nil
	}
	e.Constants = func() [][3]string {
		var list [][3]string
		for _, c := range spec.Constants {
			list = append(list, [3]string{c.Name, c.Get(m), c.Values})
		}
		return list
	}
	e.With = func(list []setting) (*entry, error) {
		changed := *m
		for _, s := range inOrder(list) {
			if err := changed.Set(s.name, s.value); err != nil {
				text := err.Error()
				if strings.HasSuffix(s.where, s.value) { // the flag says it already
					text = strings.TrimPrefix(text, s.name+"="+s.value+": ")
				}
				return nil, fmt.Errorf("%s: %s", s.where, text)
			}
			changed.Name += fmt.Sprintf(" %s=%s", s.name, s.value)
		}
		if err := changed.Check(); err != nil {
			return nil, fmt.Errorf("%s: %w", changed.Name, err)
		}
		return kraftEntry(&changed), nil
	}
	return e
}

// inOrder sorts settings as the specification lists its constants, since what some
// may be depends on those before: who may stand on how many voters there are.
func inOrder(list []setting) []setting {
	place := func(s setting) int {
		return slices.IndexFunc(spec.Constants, func(c spec.Constant) bool { return c.Name == s.name })
	}
	return slices.SortedStableFunc(slices.Values(list), func(a, b setting) int { return place(a) - place(b) })
}

// kraftVariant reads the names of a mutation and of a guard.
func kraftVariant(v Variant) (spec.Variant, error) {
	var out spec.Variant
	if v.Mutation != "" {
		mu, ok := spec.MutationNamed(v.Mutation)
		if !ok {
			var ids []string
			for i := range spec.Mutations {
				ids = append(ids, spec.Mutations[i].ID)
			}
			return out, unknownMutation(v.Mutation, ids)
		}
		out.Mutation = mu
	}
	if v.DropGuard == "" {
		return out, nil
	}
	action, guard, ok := strings.Cut(v.DropGuard, ".")
	if !ok {
		return out, fmt.Errorf("a guard is named Action.Guard, as BecomeLeader.HasMajority, not %q", v.DropGuard)
	}
	a, ok := spec.ActionNamed(action)
	if !ok {
		var names []string
		for a := spec.ActionID(0); a < spec.NumReplicaActions; a++ {
			names = append(names, a.String())
		}
		return out, unknown("action", action, names)
	}
	var names []string
	for _, g := range spec.GuardsOf(a) {
		if g.String() == guard {
			out.DropAction, out.DropGuard = a, g
			return out, nil
		}
		names = append(names, g.String())
	}
	return out, unknown("guard of "+action, guard, names)
}
