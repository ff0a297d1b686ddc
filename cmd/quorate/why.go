package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/checker"
)

func newWhy() *cobra.Command {
	var f runFlags
	var models modelFlags
	var at string
	step := -1
	cmd := &cobra.Command{
		Use:   "why -model NAME ACTION [-at 'question' | -step K]",
		Short: "Say what keeps replicas from an action",
		Long: `Say what keeps replicas from an action: in how many states each guard, bound or
budget refuses it, in how many it alone does so, and the nearest of these states. A
guard that refuses is taken as granted to see whether another one would refuse too.

With -at the nearest state that answers a question (as of quorate find) is shown, and
what refuses the action there, for each replica and message. With -step K it is state K
of the counterexample that quorate check finds, so a mutation or a dropped guard goes
with it.

Only models of the module ` + moduleElection + ` have named guards, and can say why; those of
other modules cannot. quorate models has the module of each.

Exits with 0 if the action is enabled in a state that was asked about, 1 if it is not.`,
		Example: `  quorate why -model commit Resign
  quorate why -model vote-restart BecomeLeader
  quorate why -model commit BecomeLeader -at 'any(replicas, .role == "Candidate")'
  quorate why -model figure8 Append -at 'exposed == 1 then changed("log")'
  quorate why -model figure8 -mutate KAFKA-12619 BecomeLeader -step 12`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("step") && (step < 0 || at != "") {
				return fmt.Errorf("-step wants the number of a state, from 0, and no -at")
			}
			if step >= 0 && f.workers == 0 {
				f.workers = 1 // the counterexample that check shows
			}
			if err := f.check(); err != nil {
				return err
			}
			e, err := models.one()
			if err != nil {
				return err
			}
			spec, err := e.New(e.variant(f.variant()))
			if err != nil {
				return fmt.Errorf("%s: %w", e.Name, err)
			}
			return f.profiled(func() error {
				var w *checker.WhyResult
				if step >= 0 {
					w, err = spec.WhyStep(args[0], step, f.options(cmd))
				} else {
					w, err = spec.Why(args[0], at, f.options(cmd))
				}
				if err != nil {
					return err
				}
				if err := showWhy(cmd, &f, e, spec, w); err != nil {
					return err
				}
				if err := f.output.finish(cmd); err != nil || w.Status == checker.Found {
					return err
				}
				return verdict(w.Status.ExitCode())
			})
		},
	}
	cmd.ValidArgsFunction = completeActions
	cmd.Flags().IntVar(&step, "step", -1, "look only at this state of the counterexample, counted from 0")
	cmd.Flags().StringVar(&at, "at", "", "look only at the nearest state that answers this question")
	f.registerLimits(cmd)
	f.output.register(cmd)
	f.registerVariant(cmd)
	models.registerOne(cmd)
	return cmd
}

// showWhy shows an answer; its behaviours are kept for finish.
func showWhy(cmd *cobra.Command, f *runFlags, e *entry, spec checker.Runnable, w *checker.WhyResult) error {
	if f.output.draws() {
		info := spec.Info()
		f.output.behaviours = append(f.output.behaviours, w.Behaviours(titleOf(e, e.variant(f.variant())), info.Legend, info.Processes)...)
		if f.output.file == "" {
			return nil
		}
	}
	if f.json {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(w)
	}
	return w.WriteText(cmd.OutOrStdout())
}
