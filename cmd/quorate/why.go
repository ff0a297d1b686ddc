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
	cmd := &cobra.Command{
		Use:   "why -model NAME ACTION [-at 'question']",
		Short: "Say what keeps replicas from an action",
		Long: `Say what keeps replicas from an action: in how many states each guard, bound or
budget refuses it, in how many it alone does so, and the nearest of these states. A
guard that refuses is taken as granted to see whether another one would refuse too.

With -at the nearest state that answers a question (as of quorate find) is shown, and
what refuses the action there, for each replica and message.

Exits with 0 if the action is enabled in a state that was asked about, 1 if it is not.`,
		Example: `  quorate why -model commit Resign
  quorate why -model vote-restart BecomeLeader
  quorate why -model commit BecomeLeader -at 'any(replicas, .role == "Candidate")'
  quorate why -model figure8 Append -at 'exposed == 1 then changed("log")'`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.output.format = formatText; f.json {
				f.output.format = formatJSON
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
				w, err := spec.Why(args[0], at, f.options(cmd))
				if err != nil {
					return err
				}
				if f.json {
					err = json.NewEncoder(cmd.OutOrStdout()).Encode(w)
				} else {
					err = w.WriteText(cmd.OutOrStdout())
				}
				if err != nil || w.Status == checker.Found {
					return err
				}
				return verdict(w.Status.ExitCode())
			})
		},
	}
	cmd.Flags().StringVar(&at, "at", "", "look only at the nearest state that answers this question")
	f.registerLimits(cmd)
	f.registerVariant(cmd)
	models.registerOne(cmd)
	return cmd
}
