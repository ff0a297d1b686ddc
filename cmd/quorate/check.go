package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/spec"
)

func newCheck() *cobra.Command {
	var f runFlags
	var models modelFlags
	var c checkFlags
	cmd := &cobra.Command{
		Use:   "check [-model NAME]... [-file FILE]... [-mutate ID] [-drop-guard Action.Guard]",
		Short: "Explore all reachable states of models and judge their properties",
		Long: `Explore all reachable states of the named models and judge their properties.
Without -model and -file: those that the mutation is meant for; without a mutation
either, all of them, against their pinned numbers, and then each guard and effect is
taken away in turn to see what would go unnoticed.

A counterexample is text, or a sequence diagram (-format svg or html), or a trace for
other tools (-format itf, Apalache's format). Several models end with a table;
-report junit and -report json write what a CI system reads.`,
		Example: `  quorate check
  quorate check -mutate KAFKA-12619 -format html -o counterexample.html
  quorate check -model flush -drop-guard SendFetch.LogFlushed
  quorate check -model 'figure8*,election' -report junit -o report.xml
  quorate check -model election -set epochs=3 -set in-flight=1
  quorate check -file docs/models/election.toml
  quorate check -model flush -mutate KAFKA-10533 -counterexamples 3
  quorate check -model reads -witness ReadServed
  quorate check -model figure8 -mutate KAFKA-12619 -explain
  quorate check -model commit -why LeaveResigned
  quorate check -model four-epochs -workers 2 -progress -profile cpu`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			if (f.mutate != "" || c.explore.oneWorker()) && f.workers == 0 {
				f.workers = 1 // among equally short counterexamples always the same
			}
			if slices.Contains(models.names, "") || cmd.Flags().Changed("model") && len(models.names) == 0 {
				return fmt.Errorf("-model wants the name of a model")
			}
			whole := !models.named() && len(models.set) == 0 && f.variant() == (Variant{}) && f.output.format == formatText
			if whole && (len(c.properties) > 0 || c.keepGoing || c.projected || c.explain || c.why != "" || f.symmetry || c.explore.asked()) {
				return fmt.Errorf("-property, -keep-going, -projected, -explain, -why, -symmetry, %s go with -model (or -model all)", exploreNames)
			}
			if c.why != "" && (c.explain || f.output.report != "" || len(c.properties) > 0 || c.explore.asked()) {
				return fmt.Errorf("-why asks about an action and judges nothing: -explain, -report, -property, %s do not go with it", exploreNames)
			}
			if whole {
				return f.profiled(func() error { return runSuite(cmd, &f, c.deep) })
			}
			list, err := models.choose(f.variant())
			if err != nil {
				return err
			}
			return f.profiled(func() error { return checkAll(cmd, list, &f, &c, models.named()) })
		},
	}
	f.register(cmd)
	f.output.registerReport(cmd)
	models.register(cmd)
	cmd.Flags().StringSliceVar(&c.properties, "property", nil, "a property to judge; may be given several times (default: all)")
	cmd.Flags().BoolVar(&c.keepGoing, "keep-going", false, "explore past violations")
	cmd.Flags().BoolVar(&c.deep, "deep", false, "without -model: the big models too")
	cmd.Flags().BoolVar(&c.projected, "projected", false, "also count the states that differ in more than budgets")
	cmd.Flags().BoolVar(&c.explain, "explain", false, "say what the verdict rests on: which bounds cut which actions, and what the model leaves out")
	cmd.Flags().StringVar(&c.why, "why", "", "say what keeps replicas from this action instead, as quorate why does")
	c.explore.register(cmd)
	complete(cmd, "why", completeActions)
	complete(cmd, "property", completeProperties)
	return cmd
}

// checkFlags are those of check alone.
type checkFlags struct {
	properties                 []string
	keepGoing, deep, projected bool
	explain                    bool
	why                        string
	explore                    exploreFlags
}

// checkAll checks one model after the other. The exit code is that of the worst:
// a violation counts more than a limit.
func checkAll(cmd *cobra.Command, list []*entry, f *runFlags, c *checkFlags, named bool) error {
	opt := f.options(cmd)
	opt.Properties, opt.KeepGoing, opt.Projected, opt.Explain = c.properties, c.keepGoing, c.projected, c.explain
	if err := c.explore.set(&opt); err != nil {
		return err
	}
	names := make([]string, len(list))
	for i, e := range list {
		names[i] = e.Name
	}
	if err := f.store.checkResume(names); err != nil {
		return err
	}
	worst, done := verdict(exitHolds), 0
	for _, e := range list {
		f.store.forModel(&opt, e.Name, len(list))
		code, err := checkOne(cmd, e, f, c, opt)
		switch {
		case err == nil:
			done++
			if code == exitViolated || worst == exitHolds {
				worst = code
			}
		case errors.Is(err, errNoVariant) && !named:
		default:
			return err
		}
		if cmd.Context().Err() != nil {
			break
		}
	}
	if done == 0 {
		return fmt.Errorf("no model has mutation %q and guard %q", f.mutate, f.dropGuard)
	}
	if done > 1 && c.why == "" && f.output.format == formatText {
		if err := writeSummary(cmd.OutOrStdout(), f.output.runs); err != nil {
			return err
		}
	}
	if err := f.output.finish(cmd); err != nil {
		return err
	}
	if worst == exitHolds {
		return nil
	}
	return worst
}

// checkOne explores one model and shows what came of it.
func checkOne(cmd *cobra.Command, e *entry, f *runFlags, c *checkFlags, opt checker.Options) (verdict, error) {
	model, err := e.New(f.variant())
	if err != nil {
		return 0, fmt.Errorf("%s: %w", e.Name, err)
	}
	if c.why != "" {
		w, err := model.Why(c.why, "", opt)
		if err != nil {
			return 0, err
		}
		return verdict(w.Status.ExitCode()), showWhy(cmd, f, e, model, w)
	}
	if len(c.explore.witness) > 0 {
		return c.explore.showWitnesses(cmd, e, f, model, opt)
	}
	if x := e.Expect; x.property != "" && x.verdict == "violates" && opt.Properties == nil && f.variant() == (Variant{}) {
		opt.Properties = []string{x.property} // and not what is violated sooner
	}
	r, err := model.Run(opt)
	if err != nil {
		return 0, err
	}
	if err := f.write(cmd, e, r); err != nil {
		return 0, err
	}
	code, note := judge(e, f.variant(), r)
	if note != "" && !f.output.quiet() {
		fmt.Fprintf(cmd.OutOrStdout(), "  %s\n", note)
	}
	f.output.record(e, e.variant(f.variant()), r, code, note)
	return code, nil
}

// judge holds a result to what is expected of the model: a mutation may show in what
// is never reached, a model may be there to show a violation, and the numbers of
// states are pinned. What flags change is held to nothing but its verdict.
func judge(e *entry, asked Variant, r *checker.Result) (code verdict, note string) {
	code = verdict(r.Status.ExitCode())
	v := e.variant(asked)
	if asked == (Variant{}) && code != exitLimit {
		if code, note, ok := e.Expect.judge(code, r); ok {
			if code == exitHolds {
				return e.pinned(r, code, note)
			}
			return code, note
		}
		if r.Status == checker.Holds {
			return e.pinned(r, code, "")
		}
	}
	if note := neverReached(e, v, r); note != "" {
		return exitViolated, note
	}
	return code, ""
}

// neverReached says that a mutation is caught by what it keeps from coming about, in the
// model that is listed for it; empty if it is not.
func neverReached(e *entry, v Variant, r *checker.Result) string {
	mu, ok := spec.MutationNamed(v.Mutation)
	if !ok || v != (Variant{Mutation: mu.ID}) || mu.Model != e.Name || r.Status != checker.Holds || !slices.Contains(r.Never(), mu.Property) {
		return ""
	}
	return fmt.Sprintf("caught: %s is never reached", mu.Property)
}

// judge says whether a run that came to its end did so as it must; ok is false if
// nothing was expected.
func (x expectation) judge(code verdict, r *checker.Result) (_ verdict, note string, ok bool) {
	var violated []string
	for _, v := range r.Violations {
		violated = append(violated, v.Property)
	}
	met := false
	switch x.verdict {
	case "":
		return code, "", false
	case "holds":
		met = code == exitHolds
	case "violates":
		met = slices.Contains(violated, x.property) || x.property == "" && r.Caught()
	case "never":
		met = len(violated) == 0 && slices.Contains(r.Never(), x.property)
	}
	if !met {
		return exitViolated, "NOT AS EXPECTED: " + strings.TrimSpace(x.verdict+" "+x.property), true
	}
	note = "as expected"
	if x.why != "" {
		note += ": " + x.why
	}
	return exitHolds, note, true
}

// pinned holds the numbers of a run to those that the model must give; 0 is not held.
// A run that a violation has ended has none.
func (e *entry) pinned(r *checker.Result, code verdict, note string) (verdict, string) {
	p := e.Pin
	if p == nil || r.Status != checker.Holds {
		return code, note
	}
	distinct := r.Distinct
	if r.Symmetry > 0 {
		distinct = r.Unreduced
	}
	if p.Distinct != 0 && distinct != p.Distinct || p.Depth != 0 && r.Order == checker.BreadthFirst && r.Depth != p.Depth {
		where := "spec/pins.go"
		if _, ok := spec.ModelNamed(e.Name); !ok {
			where = "its file"
		}
		return exitViolated, fmt.Sprintf("NOT AS PINNED: %s distinct states and depth %d (%s)", count(p.Distinct), p.Depth, where)
	}
	return code, note
}
