package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/spec"
	"github.com/quorate/quorate/spec/audit"
	"github.com/quorate/quorate/spec/concern"
)

// concernSize is how much there is of a concern.
type concernSize struct{ models, deep, properties, mutations int }

// concernSizes are pinned: a model or a property that goes missing shows here.
var concernSizes = map[string]concernSize{
	"election":   {models: 16, deep: 2, properties: 17, mutations: 6},
	"commit":     {models: 17, deep: 1, properties: 17, mutations: 13},
	"bootstrap":  {models: 15, deep: 2, properties: 40, mutations: 37},
	"snapshot":   {models: 5, deep: 1, properties: 18, mutations: 12},
	"cluster-id": {models: 15, deep: 1, properties: 43, mutations: 35},
	"membership": {models: 12, deep: 1, properties: 12, mutations: 14},
}

// pairedConcerns are those of which each two have a composed model. Membership is not among
// them: its models have elections, commits and snapshots of their own.
var pairedConcerns = []string{"election", "commit", "bootstrap", "snapshot", "cluster-id"}

// concernNames are all, in the order of tables.
var concernNames = append(slices.Clone(pairedConcerns), "membership")

// sizes counts what there is of each concern, and the states of its models that were
// explored.
func (s *suite) sizes() (map[string]concernSize, map[string]uint64) {
	sizes, states := map[string]concernSize{}, map[string]uint64{}
	change := func(name string, f func(*concernSize)) {
		n := sizes[name]
		f(&n)
		sizes[name] = n
	}
	model := func(of, name string, deep bool) {
		change(of, func(n *concernSize) {
			if deep {
				n.deep++
			} else {
				n.models++
			}
		})
		states[of] += s.distinct[name]
	}
	for i := range spec.Models {
		m := &spec.Models[i]
		model(string(m.Concern()), m.Name, m.Deep)
	}
	for i := range spec.Properties {
		change(string(spec.ConcernOfProperty(1<<i)), func(n *concernSize) { n.properties++ })
	}
	for i := range spec.Mutations {
		change(string(spec.Mutations[i].Concern()), func(n *concernSize) { n.mutations++ })
	}
	for _, c := range audit.Concerns {
		name := c.Name
		switch name {
		case "bootstrap":
		case "clusterid":
			name = "cluster-id"
		default:
			continue // of several, or not of a cluster
		}
		for i := range c.Models {
			model(name, c.Models[i].Name, c.Models[i].Deep)
		}
		change(name, func(n *concernSize) { n.properties, n.mutations = len(c.Properties), len(c.Mutations) })
	}
	return sizes, states
}

// byConcern prints a row for each concern.
func (s *suite) byConcern() error {
	sizes, states := s.sizes()
	fmt.Fprintf(s.out, "\nThe concerns\n\n")
	tw := checker.NewColumns(s.out)
	fmt.Fprintln(tw, s.row("concern", "models", "states", "properties", "mutations"))
	for _, name := range concernNames {
		n, note := sizes[name], ""
		if n != concernSizes[name] {
			s.fail++
			note = fmt.Sprintf("* pinned: %+v", concernSizes[name])
		}
		models := fmt.Sprint(n.models)
		if n.deep > 0 {
			models += fmt.Sprintf(" and %d deep", n.deep)
		}
		fmt.Fprintln(tw, s.row(name, models, count(states[name]), n.properties, n.mutations, note))
	}
	return tw.Flush()
}

// pairs prints the table of pairs: for each a model in which both are seen to meet, and a
// mutation that is caught there, and in the same model without the one or the other is
// not.
func (s *suite) pairs() error {
	c := composed()
	fmt.Fprintf(s.out, "\nPairs of concerns\n\n")
	tw := checker.NewColumns(s.out)
	fmt.Fprintln(tw, s.row("pair", "states", "they meet", "mutation", "caught by", "steps", "noticed by one alone"))
	seen := map[string]bool{}
	for i := range c.Mutations {
		mu := &c.Mutations[i]
		m, ok := c.ModelNamed(mu.Model)
		if !ok {
			return fmt.Errorf("mutation %s: no model %q", mu.ID, mu.Model)
		}
		opt := s.opt
		a, err := audit.Try(c, mu, opt)
		if err != nil {
			return err
		}
		if a.Result.Status == checker.Limit {
			s.limited = true
			break
		}
		by := caughtBy(a)
		if !a.AsPinned() {
			s.fail++
		}
		alone := "no"
		for _, without := range m.Of {
			unnoticed, err := audit.Alone(c, mu, without, opt)
			if err != nil {
				return err
			}
			if !unnoticed {
				s.fail++
				alone = "YES, without " + without
			}
		}
		seen[strings.Join(m.Of, ", ")] = true
		fmt.Fprintln(tw, s.row(strings.Join(m.Of, ", "), count(s.distinct[m.Name]), m.Meets, mu.ID, by, a.Steps, alone))
	}
	if err := tw.Flush(); err != nil || s.limited {
		return err
	}
	for i, x := range pairedConcerns {
		for _, y := range pairedConcerns[i+1:] {
			if !seen[x+", "+y] {
				s.fail++
				fmt.Fprintf(s.out, "\n%s and %s have no mutation that is caught only where they meet\n", x, y)
			}
		}
	}
	return nil
}

// composed is the concern of all that are paired.
func composed() *concern.Concern {
	for _, c := range audit.Concerns {
		if c.Name == "composed" {
			return c
		}
	}
	return nil
}

// guardsCaught are pinned: how many guards of a concern a property misses.
var guardsCaught = map[string]int{"bootstrap": 17, "clusterid": 10, "kafkasql": 29}

// concernGuards takes the guards of the concerns away.
func (s *suite) concernGuards() error {
	for _, c := range audit.Concerns {
		models := audit.DeletionModels[c.Name]
		if models == nil {
			continue
		}
		all, err := audit.GuardDeletions(c, models, s.opt.Workers)
		if err != nil {
			return err
		}
		var t takenAway
		for _, d := range all {
			t.add(d.Guard, d.Property, d.Reason)
		}
		s.judgeTakenAway(&t, guardsCaught[c.Name], fmt.Sprintf("Guards of %s taken away one by one, in %s: %d of %d make a difference; ",
			c.Name, strings.Join(models, ", "), len(all), len(c.Guards)), "")
	}
	return nil
}
