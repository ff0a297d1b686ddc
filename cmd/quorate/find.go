package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newFind() *cobra.Command {
	var f runFlags
	var models modelFlags
	cmd := &cobra.Command{
		Use:   "find -model NAME 'predicate'",
		Short: "Find a shortest way to a state that satisfies a predicate",
		Long: `Find a shortest way to a state that satisfies a predicate, which is written in
the language of expr-lang.org. Exits with 1 if no reachable state does.

Models of the specification give replicas (id, role, epoch, leader, voted, hw, end,
lastEpoch, flushed, epochStart, reading, log), messages (kind, response, from, to,
epoch, error, preVote, granted, offset, diverging, records, late), and how many
records were ever exposed and chosen.`,
		Example: `  quorate find -model commit 'any(replicas, .role == "Leader" && .hw > 1)'
  quorate find -model election 'count(replicas, .role == "Candidate") > 1'
  quorate find -model truncation 'any(messages, .diverging)'`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return err
			}
			e, err := models.one()
			if err != nil {
				return err
			}
			spec, err := e.New(f.variant())
			if err != nil {
				return fmt.Errorf("%s: %w", e.Name, err)
			}
			return f.profiled(func() error {
				r, err := spec.Find(args[0], f.options(cmd))
				if err != nil {
					return err
				}
				if err := f.write(cmd, e, r); err != nil {
					return err
				}
				if err := f.output.finish(cmd); err != nil {
					return err
				}
				if code := r.Status.ExitCode(); code != exitHolds {
					return verdict(code)
				}
				return nil
			})
		},
	}
	f.register(cmd)
	models.registerOne(cmd)
	return cmd
}
