package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/spec"
)

const moduleElection = "election"

// kraftModels are the models of the KRaft specification.
func kraftModels() []entry {
	var list []entry
	for i := range spec.Models {
		m := &spec.Models[i]
		e := entry{Name: m.Name, Module: moduleElection, Doc: m.Why + ": " + m.Constants(), New: func(v Variant) (checker.Runnable, error) {
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
		}}
		for j := range spec.Mutations {
			if spec.Mutations[j].Model == m.Name {
				e.Catches = append(e.Catches, spec.Mutations[j].ID)
			}
		}
		list = append(list, e)
	}
	return list
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
			return out, unknown("mutation", v.Mutation, ids)
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
