package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/checker"
)

func newReplay() *cobra.Command {
	var f runFlags
	var models modelFlags
	var variables []string
	var limit int
	cmd := &cobra.Command{
		Use:   "replay FILE.itf.json -model NAME",
		Short: "Say whether a trace in Apalache's format is a behaviour of a model",
		Long: `Say whether a trace in the Informal Trace Format (ITF) of Apalache is a behaviour of a
model, and if not, which state cannot be, and what the model has instead.

Variables are those that -format itf writes: a record for each process, network as a
map from messages to copies, ghost and budget. What a trace does not say of a state may
be anything; of network it says all. Each state must follow from the one before it in
one step; a trace with a loop must go back to the same state, not to a similar one.

Exits with 0 if it is one, even if it violates a property, which is said; with 1 if it
is none.`,
		Example: `  quorate check -mutate KAFKA-12619 -format itf -o bug.itf.json
  quorate replay bug.itf.json -model figure8 -mutate KAFKA-12619
  quorate replay bug.itf.json -model figure8
  quorate replay bug.itf.json -model figure8 -vars A,C -format html -o bug.html`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return err
			}
			if limit < 1 {
				return fmt.Errorf("-max-states %d: want a number from 1", limit)
			}
			e, err := models.one()
			if err != nil {
				return err
			}
			model, err := e.New(f.variant())
			if err != nil {
				return fmt.Errorf("%s: %w", e.Name, err)
			}
			file, err := os.Open(args[0])
			if err != nil {
				return err
			}
			defer file.Close()
			trace, err := checker.ReadITF(file, variables...)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			return f.profiled(func() error {
				r, err := model.Replay(cmd.Context(), trace, limit)
				if errors.Is(err, checker.ErrTooManyStates) || cmd.Context().Err() != nil && err != nil {
					fmt.Fprintf(cmd.ErrOrStderr(), "quorate: %v\n", err)
					return verdict(exitLimit)
				}
				if err != nil {
					return fmt.Errorf("%s: %w", args[0], err)
				}
				return f.writeReplayed(cmd, r)
			})
		},
	}
	f.output.register(cmd)
	f.profile.register(cmd)
	f.registerVariant(cmd)
	models.registerOne(cmd)
	cmd.Flags().StringSliceVar(&variables, "vars", nil, "the variables to compare (default: all that the trace has)")
	cmd.Flags().IntVar(&limit, "max-states", 100_000, "give up, with exit code 3, if more states of the model fit one of the trace")
	return cmd
}

func (f *runFlags) writeReplayed(cmd *cobra.Command, r *checker.Replayed) error {
	out, o := cmd.OutOrStdout(), &f.output
	var err error
	switch {
	case o.format == formatJSON:
		err = json.NewEncoder(out).Encode(r)
	case !o.quiet():
		err = r.WriteText(out)
	}
	if err != nil {
		return err
	}
	if o.draws() && len(r.Trace) > 0 {
		o.behaviours = append(o.behaviours, r.Behaviour())
	}
	if err := o.finish(cmd); err != nil {
		return err
	}
	if !r.Accepted {
		return verdict(exitViolated)
	}
	return nil
}
