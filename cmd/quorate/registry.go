package main

import (
	"errors"
	"slices"
	"strings"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/checker/examples/elect"
	"github.com/quorate/quorate/checker/examples/twophase"
)

// Variant is what a run changes in a model.
type Variant struct {
	// Mutation is the id of one; DropGuard a guard taken away, named as Action.Guard.
	Mutation, DropGuard string
	// On names the replicas whose software is so changed, as A,B; empty: all.
	On string
}

// String names what is changed.
func (v Variant) String() string {
	var parts []string
	if v.Mutation != "" {
		parts = append(parts, "with mutation "+v.Mutation)
	}
	if v.DropGuard != "" {
		parts = append(parts, "without guard "+v.DropGuard)
	}
	if v.On != "" {
		parts = append(parts, "on "+v.On+" only")
	}
	return strings.Join(parts, " ")
}

// errNoVariant is what a model returns that the variant does not concern. A
// command that was not told which models to run then passes it over.
var errNoVariant = errors.New("the model has no such variant")

// entry is a model that commands know by name.
type entry struct {
	// Name is what -model takes, Module the specification that it is a model of.
	Name, Module, Doc string
	// Catches names the mutations that this model is run for when no model is
	// named.
	Catches []string
	New     func(Variant) (checker.Runnable, error)
}

// registry has every model.
var registry = slices.Concat(
	kraftModels(),
	electModels(),
	twophaseModels(),
)

func electModels() []entry {
	model := func(name, doc string, servers, terms int, catches ...string) entry {
		return entry{Name: name, Module: "examples/elect", Doc: doc, Catches: catches, New: func(v Variant) (checker.Runnable, error) {
			m, err := elect.New(servers, terms)
			if err != nil {
				return nil, err
			}
			switch v {
			case Variant{}:
			case Variant{Mutation: "vote-twice"}:
				m.VoteTwice = true
			default:
				return nil, errNoVariant
			}
			return checker.Erase(m), nil
		}}
	}
	return []entry{
		model("elect3_2", "Raft-like election, 3 servers, 2 terms", 3, 2, "vote-twice"),
		model("elect3_3", "Raft-like election, 3 servers, 3 terms", 3, 3),
		model("elect3_4", "Raft-like election, 3 servers, 4 terms", 3, 4),
	}
}

func twophaseModels() []entry {
	model := func(name, doc string, managers int) entry {
		return entry{Name: name, Module: "examples/twophase", Doc: doc, New: func(v Variant) (checker.Runnable, error) {
			if v != (Variant{}) {
				return nil, errNoVariant
			}
			m, err := twophase.New(managers)
			if err != nil {
				return nil, err
			}
			return checker.Erase(m), nil
		}}
	}
	return []entry{
		model("2pc3", "two-phase commit, 3 resource managers", 3),
		model("2pc7", "two-phase commit, 7 resource managers", 7),
		model("2pc9", "two-phase commit, 9 resource managers", 9),
	}
}
