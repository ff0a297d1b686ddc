package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/checker"
)

// observedByDefault are the fields by which sides are compared that begin in different
// states: what a replica has and says, and not by which roles it came there.
var observedByDefault = []string{"epoch", "leader", "voted", "log", "highWatermark"}

func newDiff() *cobra.Command {
	var f runFlags
	var models modelFlags
	var opt checker.DiffOptions
	cmd := &cobra.Command{
		Use:   "diff [-model NAME] SIDE SIDE",
		Short: "Compare two variants: the shortest behaviour that only one of them has",
		Long: `Compare the behaviours of two variants of a specification, and show for each the
shortest behaviour that it has and the other lacks: all but the last step both can
take. What refuses the last step on the other side is said, or what it does instead.

A side is a model and what is changed in it, joined by +:

  base                         the model of -model, as it is
  election                     another model
  mutation=ID                  a mutation of the protocol: quorate bugs
  drop=Action.Guard            without a guard
  on=A,B                       only these replicas run what the two above change
  NAME=VALUE                   a constant: quorate models election

Where both sides begin in the same state, whole states and steps are compared: a bound
or a budget of one side counts as a difference. Where they do not (Pre-Vote on one
side, another number of replicas), and with -fields or -actions, only those are
looked at: every sequence of changes of the fields that one side can show, with any
other steps between them, must be one of the other. That is exact too, but follows
sets of states, which may need much memory. Without -fields it looks at
` + strings.Join(observedByDefault, ", ") + `.

Exits with 0 if the behaviours are the same, 1 if they differ, 3 if a limit was
reached before that could be said.`,
		Example: `  quorate diff -model four base drop=BecomeLeader.HasMajority
  quorate diff -model figure8 base mutation=KAFKA-12619 -format html -o difference.html
  quorate diff -model vote-restart base mutation=vote-forgotten+on=B
  quorate diff -model commit records=1 records=2 -count
  quorate diff -model upgrade pre-vote=none pre-vote=all -fields epoch,leader,voted
  quorate diff -model commit base drop=SendFetch.LogFlushed -fields log,flushed -actions BecomeLeader`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return fmt.Errorf("want two sides to compare, not %d: as base and drop=BecomeLeader.HasMajority", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return err
			}
			var base *entry
			if models.named() || len(models.set) > 0 {
				e, err := models.one()
				if err != nil {
					return err
				}
				base = e
			}
			var sides [2]checker.Runnable
			var names [2]string
			for i, arg := range args {
				e, v, err := parseSide(arg, base)
				if err != nil {
					return fmt.Errorf("%s: %w", arg, err)
				}
				if sides[i], err = e.New(v); err != nil {
					return fmt.Errorf("%s: %w", arg, err)
				}
				names[i] = strings.TrimSpace(e.Name + " " + v.String())
			}
			opt.Options, opt.A, opt.B = f.options(cmd), names[0], names[1]
			opt.Default = observedByDefault
			return f.profiled(func() error {
				c, err := checker.Diff(sides[0], sides[1], opt)
				if err != nil {
					return err
				}
				if f.output.draws() {
					f.output.behaviours = c.Behaviours(sides[0].Info().Processes, sides[1].Info().Processes)
				}
				switch {
				case f.json:
					err = json.NewEncoder(cmd.OutOrStdout()).Encode(c)
				case !f.output.quiet():
					err = c.WriteText(cmd.OutOrStdout())
				}
				if err != nil {
					return err
				}
				if err := f.output.finish(cmd); err != nil {
					return err
				}
				if code := c.ExitCode(); code != exitHolds {
					return verdict(code)
				}
				return nil
			})
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&opt.On, "fields", nil, "compare only these fields of states, as role,epoch or A.log")
	flags.StringSliceVar(&opt.Actions, "actions", nil, "look at these steps too, with the replica that takes them")
	flags.BoolVar(&opt.First, "first", false, "stop at the first difference, whichever side it is on")
	flags.BoolVar(&opt.Count, "count", false, "explore both sides to the end and count what states they have in common")
	f.registerLimits(cmd)
	f.output.register(cmd)
	models.registerOne(cmd)
	return cmd
}

// parseSide reads a model and what is changed in it.
func parseSide(text string, base *entry) (*entry, Variant, error) {
	e := base
	var v Variant
	var constants []setting
	for i, term := range strings.Split(text, "+") {
		term = strings.TrimSpace(term)
		at := strings.IndexAny(term, "=:")
		if at < 0 {
			if i > 0 {
				return nil, v, fmt.Errorf("%q: want NAME=VALUE, mutation=ID or drop=Action.Guard", term)
			}
			if term == "base" {
				continue
			}
			named, err := lookUp(term)
			if err != nil {
				return nil, v, err
			}
			e = named
			continue
		}
		name, value := strings.TrimSpace(term[:at]), strings.TrimSpace(term[at+1:])
		var into *string
		switch name {
		case "mutation":
			into = &v.Mutation
		case "drop":
			into = &v.DropGuard
		case "on":
			into = &v.On
		default:
			constants = append(constants, setting{constantName(name), value, term})
			continue
		}
		if *into != "" || value == "" {
			return nil, v, fmt.Errorf("%q: want one %s, as %s", term, name, map[string]string{
				"mutation": "mutation=KAFKA-12619", "drop": "drop=BecomeLeader.HasMajority", "on": "on=A,B",
			}[name])
		}
		*into = value
	}
	if e == nil {
		return nil, v, errors.New("which model? Name it first, or all sides' with -model")
	}
	if v.On != "" && v.Mutation == "" && v.DropGuard == "" {
		return nil, v, fmt.Errorf("on=%s says which replicas run what mutation= or drop= changes", v.On)
	}
	if len(constants) > 0 {
		changed, err := e.With(constants)
		if err != nil {
			return nil, v, err
		}
		changed.Variant = e.Variant
		e = changed
	}
	return e, e.variant(v), nil
}
