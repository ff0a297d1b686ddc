package main

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/spec"
)

func newCheck() *cobra.Command {
	var f runFlags
	var models, properties []string
	var keepGoing, projected, deep bool
	cmd := &cobra.Command{
		Use:   "check [-model NAME]... [-mutate ID] [-drop-guard Action.Guard]",
		Short: "Explore all reachable states of models and judge their properties",
		Long: `Explore all reachable states of the named models and judge their properties.
Without -model: those that the mutation is meant for; without either, all of them,
against their pinned numbers, and then each guard and effect is taken away in turn
to see what would go unnoticed.`,
		Example: `  quorate check
  quorate check -mutate KAFKA-12619
  quorate check -model flush -drop-guard SendFetch.LogFlushed
  quorate check -model four-epochs -workers 2 -progress -profile cpu`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			if len(models) == 1 && models[0] == "all" {
				models = nil
				for i := range registry {
					models = append(models, registry[i].Name)
				}
			}
			if f.mutate != "" && f.workers == 0 {
				f.workers = 1 // among equally short counterexamples always the same
			}
			if slices.Contains(models, "") || cmd.Flags().Changed("model") && len(models) == 0 {
				return fmt.Errorf("-model wants the name of a model")
			}
			whole := len(models) == 0 && f.variant() == (Variant{}) && !f.json
			if whole && (len(properties) > 0 || keepGoing || projected) {
				return fmt.Errorf("-property, -keep-going and -projected go with -model (or -model all)")
			}
			if whole {
				return f.profiled(func() error { return runSuite(cmd, &f, deep) })
			}
			list, err := choose(models, f.variant())
			if err != nil {
				return err
			}
			opt := f.options(cmd)
			opt.Properties, opt.KeepGoing, opt.Projected = properties, keepGoing, projected
			return f.profiled(func() error {
				return checkAll(cmd, list, &f, func(e *entry) error {
					spec, err := e.New(f.variant())
					if err != nil {
						return fmt.Errorf("%s: %w", e.Name, err)
					}
					r, err := spec.Run(opt)
					if err != nil {
						return err
					}
					if err := writeResult(cmd.OutOrStdout(), e, f.variant(), r, f.json); err != nil {
						return err
					}
					return judge(cmd.OutOrStdout(), e, f.variant(), r, f.json)
				}, len(models) > 0)
			})
		},
	}
	f.register(cmd)
	cmd.Flags().StringSliceVar(&models, "model", nil, "a model to explore, or all; may be given several times")
	cmd.Flags().StringSliceVar(&properties, "property", nil, "a property to judge; may be given several times (default: all)")
	cmd.Flags().BoolVar(&keepGoing, "keep-going", false, "explore past violations")
	cmd.Flags().BoolVar(&deep, "deep", false, "without -model: the big models too")
	cmd.Flags().BoolVar(&projected, "projected", false, "also count the states that differ in more than budgets")
	return cmd
}

// checkAll checks one model after the other. The exit code is that of the worst:
// a violation counts more than a limit.
func checkAll(cmd *cobra.Command, list []*entry, f *runFlags, check func(*entry) error, named bool) error {
	worst, done := verdict(exitHolds), 0
	for _, e := range list {
		err := check(e)
		var v verdict
		switch {
		case errors.As(err, &v):
			done++
			if v == exitViolated || worst == exitHolds {
				worst = v
			}
		case errors.Is(err, errNoVariant) && !named:
		default:
			return err
		}
		if cmd.Context().Err() != nil {
			break
		}
	}
	switch {
	case done == 0:
		return fmt.Errorf("no model has mutation %q and guard %q", f.mutate, f.dropGuard)
	case worst == exitHolds:
		return nil
	default:
		return worst
	}
}

// judge holds a result to what is expected of the model: a mutation may show in what
// is never reached, a model may be there to show a violation, and the numbers of
// states are pinned.
func judge(w io.Writer, e *entry, v Variant, r *checker.Result, quiet bool) error {
	note := func(format string, args ...any) {
		if !quiet {
			fmt.Fprintf(w, "  "+format+"\n", args...)
		}
	}
	code := verdict(r.Status.ExitCode())
	m, ok := spec.ModelNamed(e.Name)
	if !ok {
		return code
	}
	if v == (Variant{}) {
		if m.Unsafe != "" && r.Caught() {
			note("as expected: the model is there to show an assumption without which %s does not hold", m.Unsafe)
			return verdict(exitHolds)
		}
		if pin, pinned := m.Pin(); pinned && r.Status == checker.Holds && (r.Distinct != pin.Distinct || r.Depth != pin.Depth) {
			note("NOT AS PINNED: %s distinct states and depth %d (spec/pins.go)", count(pin.Distinct), pin.Depth)
			return verdict(exitViolated)
		}
		return code
	}
	if mu, ok := spec.MutationNamed(v.Mutation); ok && v == (Variant{Mutation: mu.ID}) && mu.Model == e.Name && r.Status == checker.Holds && slices.Contains(r.Never(), mu.Property) {
		note("caught: %s is never reached", mu.Property)
		return verdict(exitViolated)
	}
	return code
}
