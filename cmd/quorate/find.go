package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

func newFind() *cobra.Command {
	var f runFlags
	var models modelFlags
	cmd := &cobra.Command{
		Use:   "find -model NAME 'question'",
		Short: "Find a shortest behaviour that answers a question",
		Long: `Find a shortest way to a state that satisfies a predicate, which is written in
the language of expr-lang.org, or a shortest behaviour in which predicates hold one
after another. Exits with 1 if there is none.

Models of the specification give replicas (id, role, epoch, leader, voted, hw, end,
lastEpoch, flushed, epochStart, reading, log), messages (kind, response, from, to,
epoch, error, preVote, granted, offset, diverging, records, late), and how many
records were ever exposed and chosen. Of the step that led to a state a predicate
may ask for action and process, for the same names before it as was.exposed, and
whether a field changed: changed("A.role"), or changed("role") of anybody. Of an
exchange that a model takes at once, action and process are those that begin it.

Words about time, loosest first, and what they say of a behaviour:

  P then Q while R             P; at a later state Q; in all states between them R
  P until Q                    Q now or later, and P in all states before
  P before Q                   P now or later, and up to then not Q
  P since Q                    Q now or later, and from the next state to the end P
  or, and
  eventually P, always P       now or later; in this and all later states
  never P, next P, finally P   in none; in the next state; in the last one
  not

Parentheses group. The first state is asked, but that a predicate alone may hold
anywhere. Behaviours are finite: what could follow the last state is not asked.`,
		Example: `  quorate find -model commit 'any(replicas, .role == "Leader" && .hw > 1)'
  quorate find -model election 'count(replicas, .role == "Candidate") > 1'
  quorate find -model truncation 'any(messages, .diverging)'
  quorate find -model figure8 'action == "BecomeLeader" and process == "A" then action == "BecomeLeader" and process == "C"'
  quorate find -model divergence 'exposed == 1 then changed("log") while never changed("epoch")'
  quorate find -model commit 'eventually(chosen == 1) and never(was.exposed < exposed)'`,
		Args: func(_ *cobra.Command, args []string) error {
			switch len(args) {
			case 1:
				return nil
			case 0:
				return errors.New("which question? find -model NAME 'question'; quorate help find has examples")
			}
			return fmt.Errorf("one question at a time, in quotes: %q came besides %q", args[1:], args[0])
		},
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
