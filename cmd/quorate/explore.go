package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/checker"
)

// exploreFlags say in which order check explores, and what else it is to find on the
// way than one counterexample for each property.
type exploreFlags struct {
	order           string
	counterexamples int
	witness         []string
	coverage        bool
}

const exploreNames = "-order, -counterexamples, -witness and -coverage"

func (x *exploreFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&x.order, "order", "bfs", "bfs: breadth first; dfs: depth first, by one worker, whose counterexamples are rarely the shortest")
	flags.IntVar(&x.counterexamples, "counterexamples", 1, "stop after so many that differ in more than the order of their steps, by one worker")
	flags.StringSliceVar(&x.witness, "witness", nil, "show a shortest behaviour that reaches this Sometimes property, or all; may be given several times")
	flags.BoolVar(&x.coverage, "coverage", false, "also tell what each action and guard did, where the time went, and what may be vacuous")
	complete(cmd, "order", fixed("bfs", "dfs"))
	complete(cmd, "witness", completeProperties)
}

// asked says that something else is wanted than what check does by itself.
func (x *exploreFlags) asked() bool {
	return x.order != "bfs" || x.counterexamples != 1 || len(x.witness) > 0 || x.coverage
}

// oneWorker says that the search has only one.
func (x *exploreFlags) oneWorker() bool {
	return x.order == "dfs" || x.counterexamples > 1 || len(x.witness) > 0
}

func (x *exploreFlags) set(opt *checker.Options) error {
	switch x.order {
	case "bfs":
	case "dfs":
		opt.Order = checker.DepthFirst
	default:
		return unknown("order", x.order, []string{"bfs", "dfs"})
	}
	switch {
	case x.counterexamples < 1:
		return fmt.Errorf("-counterexamples %d: want a number from 1", x.counterexamples)
	case x.counterexamples > 1 && len(x.witness) > 0:
		return fmt.Errorf("-witness and -counterexamples are two questions: want one of them")
	case len(x.witness) > 0 && opt.Properties != nil:
		return fmt.Errorf("-witness names its properties: -property does not go with it")
	}
	opt.Counterexamples, opt.Coverage = x.counterexamples, x.coverage
	return nil
}

// showWitnesses finds and shows the witnesses that were asked for.
func (x *exploreFlags) showWitnesses(cmd *cobra.Command, e *entry, f *runFlags, model checker.Runnable, opt checker.Options) (verdict, error) {
	names := x.witness
	if len(names) == 1 && names[0] == "all" {
		names = nil
	}
	r, err := model.Witnesses(names, opt)
	if err != nil {
		return 0, err
	}
	if err := f.write(cmd, e, r); err != nil {
		return 0, err
	}
	code := verdict(r.Status.ExitCode())
	f.output.record(e, e.variant(f.variant()), r, code, "")
	return code, nil
}
