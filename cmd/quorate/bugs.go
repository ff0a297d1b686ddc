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
)

// bug is a mutation and how it was caught, as JSON.
type bug struct {
	ID       string  `json:"id"`
	Title    string  `json:"title"`
	Source   string  `json:"source"`
	Module   string  `json:"module"`
	Model    string  `json:"model"`
	Property string  `json:"property"`
	Caught   bool    `json:"caught"`
	Steps    int     `json:"steps,omitempty"`
	Distinct uint64  `json:"distinct"`
	Seconds  float64 `json:"seconds"`
	Parting  string  `json:"parting,omitempty"`
}

func newBugs() *cobra.Command {
	var f runFlags
	var modules []string
	var list bool
	cmd := &cobra.Command{
		Use:   "bugs [-list] [show ID]",
		Short: "Put every known bug back and show what catches it",
		Long: `Put each known bug back into the protocol, one overridden rule at a time, and
explore the smallest model that catches it: by which property, in how many steps
of the shortest counterexample, and where the counterexample leaves the clean
protocol. Exits with 1 if a bug goes unnoticed. With -list they are only listed.`,
		Example: `  quorate bugs
  quorate bugs -list
  quorate bugs show KAFKA-12619`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if list {
				return nameBugs(cmd, &f, modules)
			}
			return f.profiled(func() error { return listBugs(cmd, &f, modules) })
		},
	}
	f.profile.register(cmd)
	flags := cmd.Flags()
	flags.IntVar(&f.workers, "workers", 0, "goroutines that expand states (default: one for each core)")
	flags.BoolVar(&f.json, "json", false, "write JSON, one line for each bug")
	flags.StringSliceVar(&modules, "module", nil, "only bugs of this module; known: "+strings.Join(bugModules(), ", "))
	complete(cmd, "module", fixed(bugModules()...))
	flags.BoolVar(&list, "list", false, "list the bugs, with modules and titles, and explore nothing")
	cmd.AddCommand(newBugsShow())
	return cmd
}

func newBugsShow() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Tell the story of a bug, with its shortest counterexample",
		Example: `  quorate bugs show KAFKA-12619
  quorate bugs show KAFKA-12619 -format html -o KAFKA-12619.html`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("bugs show: which bug? One id, of those that `quorate bugs -list` prints")
			}
			return nil
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, text string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return completeBugs(cmd, args, text)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return err
			}
			return f.profiled(func() error { return showBug(cmd, &f, args[0]) })
		},
	}
	f.output.register(cmd)
	f.profile.register(cmd)
	return cmd
}

func listBugs(cmd *cobra.Command, f *runFlags, modules []string) error {
	for _, m := range modules {
		if !slices.Contains(bugModules(), m) {
			return unknown("module", m, bugModules())
		}
	}
	out := cmd.OutOrStdout()
	if len(modules) > 0 && !slices.Contains(modules, moduleElection) {
		return concernBugsOnly(cmd, f, modules)
	}
	tw := checker.NewColumns(out)
	if !f.json {
		fmt.Fprintln(tw, "bug\tcaught by\tsteps\tmodel\tdistinct\tseconds\tleaves the clean protocol at")
	}
	missed := 0
	for i := range spec.Mutations {
		mu := &spec.Mutations[i]
		b, res, err := try(mu, f.options(cmd))
		if err != nil {
			return err
		}
		if res.Status == checker.Limit {
			fmt.Fprintf(cmd.ErrOrStderr(), "quorate: ended at %s, before the end (%s)\n", mu.ID, res.LimitedBy)
			if err := tw.Flush(); err != nil {
				return err
			}
			return verdict(exitLimit)
		}
		if !b.Caught {
			missed++
		}
		if f.json {
			if err := json.NewEncoder(out).Encode(b); err != nil {
				return err
			}
			continue
		}
		by := b.Property
		if !b.Caught {
			by = "NOT CAUGHT by " + by
		} else if b.Steps == 0 {
			by += " (never reached)"
		}
		fmt.Fprintf(tw, "%s\t%s\t%d\t%s\t%s\t%.2f\t%s\n", b.ID, by, b.Steps, b.Model, count(b.Distinct), b.Seconds, b.Parting)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	if !f.json {
		fmt.Fprintf(out, "\n%d bugs, %d caught\n\n", len(spec.Mutations), len(spec.Mutations)-missed)
	}
	still, limited, err := liveBugs(cmd.Context(), out, f.workers, f.json)
	if err != nil {
		return err
	}
	more, short, err := concernBugs(cmd, f, modules)
	if err != nil {
		return err
	}
	limited = limited || short
	if missed += still + more; missed == 0 && limited {
		return verdict(exitLimit)
	}
	if missed > 0 {
		return verdict(exitViolated)
	}
	return nil
}

// try explores the model of a mutation, judging its property alone.
func try(mu *spec.Mutation, opt checker.Options) (bug, *checker.Result, error) {
	b := bug{ID: mu.ID, Title: mu.Title, Source: mu.Source, Module: moduleElection, Model: mu.Model, Property: mu.Property}
	m, ok := spec.ModelNamed(mu.Model)
	if !ok {
		return b, nil, fmt.Errorf("mutation %s: no model %q", mu.ID, mu.Model)
	}
	opt.Properties = []string{mu.Property}
	if opt.Workers == 0 {
		opt.Workers = 1 // among equally short counterexamples always the same
	}
	res, err := checker.Run(checker.Interned(spec.NewSystem(m, spec.Variant{Mutation: mu})), opt)
	if err != nil {
		return b, nil, fmt.Errorf("mutation %s: %w", mu.ID, err)
	}
	b.Distinct, b.Seconds = res.Distinct, res.Seconds
	if len(res.Violations) == 0 {
		b.Caught = res.Status == checker.Holds && slices.Contains(res.Never(), mu.Property)
		return b, res, nil
	}
	trace := res.Violations[0].Trace
	b.Caught, b.Steps = true, len(trace)-1
	parting, err := audit.Replay(m, mu, trace)
	if err != nil {
		return b, res, fmt.Errorf("mutation %s, replayed on the clean protocol: %w", mu.ID, err)
	}
	b.Parting = parting.String()
	if b.Steps != mu.Steps {
		return b, res, fmt.Errorf("mutation %s is caught in %d steps, and pinned at %d", mu.ID, b.Steps, mu.Steps)
	}
	if parting.Action != mu.Action || parting.Guard != mu.Guard {
		return b, res, fmt.Errorf("mutation %s leaves the clean protocol at %s, and should at %s", mu.ID, parting, audit.Parting{Step: parting.Step, Action: mu.Action, Guard: mu.Guard})
	}
	return b, res, nil
}

func showBug(cmd *cobra.Command, f *runFlags, id string) error {
	id = bugCalled(id)
	if onlyInTheEnd(id) {
		mu, err := liveMutationNamed(id)
		if err != nil {
			return err
		}
		if !f.output.quiet() {
			fmt.Fprintf(cmd.OutOrStdout(), "Source: %s\n", mu.source)
		}
		f.mutate = id
		err = liveSome(cmd, f, nil, []string{mu.property})
		if v := verdict(exitHolds); errors.As(err, &v) && v == exitViolated {
			return nil // that it is caught is what is told
		}
		return err
	}
	if c, mu, ok := concernMutation(id); ok {
		return showConcernBug(cmd, f, c, mu)
	}
	mu, ok := spec.MutationNamed(id)
	if !ok {
		return unknownBug(id)
	}
	out := cmd.OutOrStdout()
	if f.output.quiet() {
		out = io.Discard
	}
	fmt.Fprintf(out, "%s: %s\nSource: %s\n\n%s\n\n", mu.ID, mu.Title, mu.Source, wrapped(mu.Story))
	b, res, err := try(mu, checker.Options{Context: cmd.Context()})
	if err != nil {
		return err
	}
	m, _ := spec.ModelNamed(mu.Model)
	fmt.Fprintf(out, "Model %s (%s), %s.\n", m.Name, m.Why, m.Constants())
	if b.Parting != "" {
		fmt.Fprintf(out, "The clean protocol parts from the counterexample at %s.\n", b.Parting)
	}
	fmt.Fprintln(out)
	if f.output.format != formatText {
		e := &entry{Name: m.Name, Module: moduleElection}
		if err := f.output.result(cmd, e, Variant{Mutation: mu.ID}, res); err != nil {
			return err
		}
		return f.output.finish(cmd)
	}
	return res.WriteText(out)
}
