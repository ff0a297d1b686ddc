package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/spec"
	"github.com/quorate/quorate/spec/audit"
	"github.com/quorate/quorate/spec/concern"
)

// concernModels are the models of the concerns over an abstract log.
func concernModels() []entry {
	var list []entry
	for _, c := range audit.Concerns {
		for i := range c.Models {
			m := &c.Models[i]
			e := concernEntry(c, m, nil)
			for _, mu := range c.Mutations {
				if mu.Model == m.Name {
					e.Catches = append(e.Catches, mu.ID)
				}
			}
			if m.Distinct > 0 {
				e.Pin = &spec.Pin{Distinct: m.Distinct, Depth: m.Depth}
			}
			list = append(list, *e)
		}
	}
	return list
}

// concernEntry is a model of a concern, with constants set.
func concernEntry(c *concern.Concern, m *concern.Model, set []concern.Setting) *entry {
	e := &entry{Name: m.Name, Module: c.Name, Doc: m.Why + ": " + m.Constants}
	for _, s := range set {
		e.Name += " " + s.Name + "=" + s.Value
	}
	if m.Unsafe != "" {
		e.Expect = expectation{verdict: "violates", why: "the model is there to show an assumption without which " + m.Unsafe + " does not hold"}
	}
	e.New = func(v Variant) (checker.Runnable, error) {
		if v.On != "" || v.DropGuard != "" && !slices.Contains(c.Guards, v.DropGuard) {
			return nil, errNoVariant
		}
		if _, ok := c.MutationNamed(v.Mutation); !ok && v.Mutation != "" {
			return nil, errNoVariant
		}
		return audit.Runnable(c, m.Name, concern.Variant{Mutation: v.Mutation, Guard: v.DropGuard, Set: set})
	}
	e.Constants = func() [][3]string { return c.Constants(m.Name) }
	e.With = func(list []setting) (*entry, error) {
		more := slices.Clone(set)
		for _, s := range list {
			one := concern.Setting{Name: s.name, Value: s.value}
			if _, err := c.Changed(m.Name, []concern.Setting{one}); err != nil {
				return nil, fmt.Errorf("%s: %s", s.where, strings.TrimPrefix(err.Error(), s.name+"="+s.value+": "))
			}
			more = append(more, one)
		}
		changed, err := c.Changed(m.Name, more)
		if err != nil {
			return nil, err
		}
		return concernEntry(c, changed, more), nil
	}
	return e
}

// bugModules are the modules that have mutations.
func bugModules() []string {
	list := []string{moduleElection}
	for _, c := range audit.Concerns {
		list = append(list, c.Name)
	}
	return list
}

// concernMutation finds a mutation of any concern.
func concernMutation(id string) (*concern.Concern, *concern.Mutation, bool) {
	for _, c := range audit.Concerns {
		if mu, ok := c.MutationNamed(id); ok {
			return c, mu, true
		}
	}
	return nil, nil, false
}

// concernBugs puts the bugs of the concerns back, or of those that modules name. It
// returns how many are not as they should be, and whether it ended before the end.
func concernBugs(cmd *cobra.Command, f *runFlags, modules []string) (wrong int, limited bool, err error) {
	out := cmd.OutOrStdout()
	for _, c := range audit.Concerns {
		if len(modules) > 0 && !slices.Contains(modules, c.Name) {
			continue
		}
		tw := checker.NewColumns(out)
		if !f.json {
			fmt.Fprintf(out, "\nBugs of %s\n\n", c.Name)
			fmt.Fprintln(tw, "bug\tcaught by\tsteps\tmodel\tdistinct\tseconds\tsource")
		}
		harmless, missed := 0, 0
		for i := range c.Mutations {
			mu := &c.Mutations[i]
			opt := f.options(cmd)
			if opt.Workers == 0 {
				opt.Workers = 1 // among equally short counterexamples always the same
			}
			a, err := audit.Try(c, mu, opt)
			if err != nil {
				return wrong, false, err
			}
			if a.Result.Status == checker.Limit {
				fmt.Fprintf(cmd.ErrOrStderr(), "quorate: ended at %s, before the end (%s)\n", mu.ID, a.Result.LimitedBy)
				return wrong + missed, true, tw.Flush()
			}
			if !a.AsPinned() {
				missed++
			}
			if mu.Harmless != "" {
				harmless++
			}
			if f.json {
				b := bug{ID: mu.ID, Title: mu.Title, Source: mu.Source, Module: c.Name, Model: mu.Model, Property: mu.Property,
					Caught: a.Caught, Steps: a.Steps, Distinct: a.Result.Distinct, Seconds: a.Result.Seconds}
				if err := json.NewEncoder(out).Encode(b); err != nil {
					return wrong, false, err
				}
				continue
			}
			fmt.Fprintf(tw, "%s\t%s\t%d\t%s\t%s\t%.2f\t%s\n", mu.ID, caughtBy(a), a.Steps, mu.Model, count(a.Result.Distinct), a.Result.Seconds, mu.Source)
		}
		if err := tw.Flush(); err != nil {
			return wrong, false, err
		}
		if !f.json {
			for i := range c.Mutations {
				if mu := &c.Mutations[i]; mu.Harmless != "" {
					fmt.Fprintf(out, "\n%s does no harm: %s\n", mu.ID, mu.Harmless)
				}
			}
			fmt.Fprintf(out, "\n%d bugs of %s, %d as they should be (%d of them harmless)\n", len(c.Mutations), c.Name, len(c.Mutations)-missed, harmless)
		}
		wrong += missed
	}
	return wrong, false, nil
}

// caughtBy says what became of a mutation.
func caughtBy(a *audit.Attempt) string {
	mu := a.Mutation
	switch {
	case mu.Harmless != "" && a.Harm != "":
		return "NOT HARMLESS: violates " + a.Harm
	case mu.Harmless != "":
		return "nothing, as it should be"
	case !a.Caught:
		return "NOT CAUGHT by " + mu.Property
	case a.Steps != mu.Steps:
		return fmt.Sprintf("%s (NOT AS PINNED: %d steps)", mu.Property, mu.Steps)
	case a.Steps == 0:
		return mu.Property + " (never reached)"
	}
	return mu.Property
}

// concernBugsOnly is listBugs for modules without election.
func concernBugsOnly(cmd *cobra.Command, f *runFlags, modules []string) error {
	wrong, limited, err := concernBugs(cmd, f, modules)
	switch {
	case err != nil:
		return err
	case wrong > 0:
		return verdict(exitViolated)
	case limited:
		return verdict(exitLimit)
	}
	return nil
}

// showConcernBug tells the story of a bug of a concern.
func showConcernBug(cmd *cobra.Command, f *runFlags, c *concern.Concern, mu *concern.Mutation) error {
	out := cmd.OutOrStdout()
	if f.output.quiet() {
		out = io.Discard
	}
	fmt.Fprintf(out, "%s: %s\nSource: %s\n\n", mu.ID, mu.Title, mu.Source)
	if mu.Harmless != "" {
		fmt.Fprintf(out, "It does no harm: %s\n", wrapped(mu.Harmless))
		return nil
	}
	fmt.Fprintf(out, "%s\n\n", wrapped(mu.Story))
	a, err := audit.Try(c, mu, checker.Options{Context: cmd.Context(), Workers: 1})
	if err != nil {
		return err
	}
	if !a.Caught {
		return errors.New(mu.ID + " is not caught by " + mu.Property)
	}
	m, _ := c.ModelNamed(mu.Model)
	fmt.Fprintf(out, "Model %s (%s), %s.\n\n", m.Name, m.Why, m.Constants)
	if f.output.format != formatText {
		if err := f.output.result(cmd, &entry{Name: m.Name, Module: c.Name}, Variant{Mutation: mu.ID}, a.Result); err != nil {
			return err
		}
		return f.output.finish(cmd)
	}
	return a.Result.WriteText(out)
}

// concerns explores the models of the concerns, and holds them to their pins.
func (s *suite) concerns() error {
	for _, c := range audit.Concerns {
		log := "over an abstract log"
		if len(c.Models[0].Of) > 0 {
			log = "over the log of the specification"
		}
		fmt.Fprintf(s.out, "\nModels of %s: %s, %s\n\n", c.Name, c.Doc, log)
		tw := checker.NewColumns(s.out)
		fmt.Fprintln(tw, s.row("model", "distinct", "generated", "depth", "properties", "sometimes", "seconds", "constants"))
		reached, fired := map[string]bool{}, map[string]bool{}
		var distinct, generated uint64
		var seconds float64
		for i := range c.Models {
			m := &c.Models[i]
			if m.Deep && !s.deep {
				continue
			}
			r, err := audit.Runnable(c, m.Name, concern.Variant{})
			if err != nil {
				return err
			}
			opt := s.opt
			opt.KeepGoing = m.Unsafe != ""
			res, err := r.Run(opt)
			if err != nil {
				return fmt.Errorf("model %s: %w", m.Name, err)
			}
			before := s.fail
			s.limited = s.limited || res.Status == checker.Limit
			mark := func(now, then uint64) string {
				if now != then && res.Status != checker.Limit {
					s.fail++
					return fmt.Sprintf("%s* (pinned %s)", count(now), count(then))
				}
				return count(now)
			}
			verdict := s.judge(&spec.Model{Unsafe: m.Unsafe}, res)
			if m.Meets != "" && slices.Contains(res.Never(), m.Meets) {
				s.fail++
				verdict += ", " + m.Meets + " NEVER REACHED"
			}
			fmt.Fprintln(tw, s.row(m.Name, mark(res.Distinct, m.Distinct), count(res.Generated), mark(uint64(res.Depth), uint64(m.Depth)),
				verdict, sometimes(res), fmt.Sprintf("%.2f", res.Seconds), m.Constants))
			if err := s.record(m.Name, res, before); err != nil {
				return err
			}
			s.distinct[m.Name] = res.Distinct
			distinct, generated, seconds = distinct+res.Distinct, generated+res.Generated, seconds+res.Seconds
			for _, p := range res.Properties {
				reached[p.Name] = reached[p.Name] || p.Verdict == "reached"
			}
			for _, a := range res.Actions {
				fired[a.Name] = fired[a.Name] || a.Fired+a.Within > 0
			}
		}
		fmt.Fprintln(tw, s.row("all", count(distinct), count(generated), "", "", "", fmt.Sprintf("%.2f", seconds), fmt.Sprintf("%d mutations, see quorate bugs -module %s", len(c.Mutations), c.Name)))
		if err := tw.Flush(); err != nil {
			return err
		}
		s.unreached(c, reached, fired)
	}
	return nil
}

// unreached says which sometimes properties and actions no model of a concern reaches.
func (s *suite) unreached(c *concern.Concern, reached, fired map[string]bool) {
	if s.limited {
		return
	}
	var missing []string
	for _, p := range c.Properties {
		if p.Kind == checker.Sometimes && !reached[p.Name] {
			missing = append(missing, p.Name)
		}
	}
	for _, a := range c.Actions {
		if !fired[a] && !slices.Contains(c.Mutants, a) {
			missing = append(missing, a)
		}
	}
	if len(missing) > 0 {
		s.fail += len(missing)
		fmt.Fprintf(s.out, "\nNever reached in any model of %s: %s\n", c.Name, strings.Join(missing, ", "))
	}
}
