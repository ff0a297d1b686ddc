package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/checker/examples/elect"
	"github.com/quorate/quorate/checker/examples/lease"
	"github.com/quorate/quorate/checker/examples/twophase"
	"github.com/quorate/quorate/spec"
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
	// With is the same model with constants set to other values.
	With func([]setting) (*entry, error)
	// Constants are what With can set: name, value, and what it may be.
	Constants func() [][3]string
	// Variant is what the file that describes the model says of it.
	Variant Variant
	// Pin has the numbers that the model must give, Expect how it must end.
	Pin    *spec.Pin
	Expect expectation
}

// expectation is how a run must end. The zero value expects that all holds, and leaves
// it to the verdict to say so.
type expectation struct {
	// verdict is "holds", "violates" or "never", of property where it names one.
	verdict, property string
	// why says why a model is there that violates something.
	why string
}

// variant is v, or that of the model if v is none.
func (e *entry) variant(v Variant) Variant {
	if v == (Variant{}) {
		return e.Variant
	}
	return v
}

// registry has every model.
var registry = slices.Concat(
	kraftModels(),
	concernModels(),
	electModels(),
	twophaseModels(),
	[]entry{*leaseEntry("lease", "a lock with leases and fencing tokens, the example of docs/checker.md", 2, 3)},
)

// families are specifications of which -set makes a model of any size.
var families = []*entry{
	electEntry("elect", "Raft-like election, of -set servers=N and terms=N", 3, 3),
	twophaseEntry("2pc", "two-phase commit, of -set managers=N", 3),
}

func electModels() []entry {
	return []entry{
		*electEntry("elect3_2", "Raft-like election, 3 servers, 2 terms", 3, 2, "vote-twice"),
		*electEntry("elect3_3", "Raft-like election, 3 servers, 3 terms", 3, 3),
		*electEntry("elect3_4", "Raft-like election, 3 servers, 4 terms", 3, 4),
	}
}

func electEntry(name, doc string, servers, terms int, catches ...string) *entry {
	e := &entry{Name: name, Module: moduleElect, Doc: doc, Catches: catches}
	e.New = func(v Variant) (checker.Runnable, error) {
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
	}
	numbers := func(servers, terms *int) []number {
		return []number{{"servers", 1, elect.MaxServers, servers}, {"terms", 1, elect.MaxTerms, terms}}
	}
	e.Constants = func() [][3]string { return constantsOf(numbers(&servers, &terms)) }
	e.With = func(list []setting) (*entry, error) {
		servers, terms := servers, terms
		err := setNumbers(list, numbers(&servers, &terms))
		return electEntry(fmt.Sprintf("elect%d_%d", servers, terms), fmt.Sprintf("Raft-like election, %d servers, %d terms", servers, terms), servers, terms), err
	}
	return e
}

func twophaseModels() []entry {
	return []entry{
		*twophaseEntry("2pc3", "two-phase commit, 3 resource managers", 3),
		*twophaseEntry("2pc5", "two-phase commit, 5 resource managers", 5),
		*twophaseEntry("2pc7", "two-phase commit, 7 resource managers", 7),
		*twophaseEntry("2pc9", "two-phase commit, 9 resource managers", 9),
		*twophaseEntry("2pc10", "two-phase commit, 10 resource managers: for -symmetry", 10),
	}
}

func twophaseEntry(name, doc string, managers int) *entry {
	e := &entry{Name: name, Module: moduleTwophase, Doc: doc}
	e.New = func(v Variant) (checker.Runnable, error) {
		if v != (Variant{}) {
			return nil, errNoVariant
		}
		m, err := twophase.New(managers)
		if err != nil {
			return nil, err
		}
		return checker.Erase(m), nil
	}
	numbers := func(managers *int) []number { return []number{{"managers", 1, twophase.MaxManagers, managers}} }
	e.Constants = func() [][3]string { return constantsOf(numbers(&managers)) }
	e.With = func(list []setting) (*entry, error) {
		managers := managers
		err := setNumbers(list, numbers(&managers))
		return twophaseEntry(fmt.Sprintf("2pc%d", managers), fmt.Sprintf("two-phase commit, %d resource managers", managers), managers), err
	}
	return e
}

func leaseEntry(name, doc string, clients, tokens int) *entry {
	e := &entry{Name: name, Module: moduleLease, Doc: doc, Catches: []string{"no-fencing"}}
	e.New = func(v Variant) (checker.Runnable, error) {
		m, err := lease.New(clients, tokens)
		if err != nil {
			return nil, err
		}
		switch v {
		case Variant{}:
		case Variant{Mutation: "no-fencing"}:
			m.NoFencing = true
		default:
			return nil, errNoVariant
		}
		return checker.Erase(m), nil
	}
	numbers := func(clients, tokens *int) []number {
		return []number{{"clients", 1, lease.MaxClients, clients}, {"tokens", 1, lease.MaxTokens, tokens}}
	}
	e.Constants = func() [][3]string { return constantsOf(numbers(&clients, &tokens)) }
	e.With = func(list []setting) (*entry, error) {
		clients, tokens := clients, tokens
		err := setNumbers(list, numbers(&clients, &tokens))
		return leaseEntry(fmt.Sprintf("lease%d_%d", clients, tokens), doc, clients, tokens), err
	}
	return e
}
