package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/impl/sim"
	"github.com/quorate/quorate/traces"
	"github.com/quorate/quorate/traces/event"
)

// hardEvents is how many events a hard case has.
const hardEvents = 100

func newTraceHard() *cobra.Command {
	var seeds string
	var everywhere, each bool
	cmd := &cobra.Command{
		Use:   "hard",
		Short: "Time the validator on short runs of which little was recorded",
		Long: fmt.Sprintf(`Time the validator on short runs of which little was recorded.

A run of three voters is simulated for each seed, with a bad network and crashes. The file of
one node is left out, and of the events of the others their names, how their logs changed,
what became durable, whom they follow and voted for, and where their logs start, are flushed
and end in which epoch. %d events are left of them. Each case is decided twice: as it was, and
with one of its last events changed to what should not be. It is allowed as many hidden steps
between two messages of the lost node as it took there at most.

Exit codes: 0 all decided, and none rejected as it was; 1 otherwise.`, hardEvents),
		Example: "  quorate trace hard -seeds 1-200",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			first, last, err := seedRange(seeds)
			if err != nil {
				return fmt.Errorf("trace hard: %w", err)
			}
			return timeHard(cmd.OutOrStdout(), first, last, everywhere, each)
		},
	}
	f := cmd.Flags()
	f.StringVar(&seeds, "seeds", "1-200", "a seed, or a range of them")
	f.BoolVar(&everywhere, "everywhere", false, "allow hidden steps at all nodes, not only at the one that lost its file")
	f.BoolVar(&each, "each", false, "print a line for each case")
	return cmd
}

// seedRange reads N or N-M.
func seedRange(text string) (first, last uint64, err error) {
	var n int
	if n, err = fmt.Sscanf(text, "%d-%d", &first, &last); n == 1 && fmt.Sprint(first) == text {
		last, err = first, nil
	}
	if err != nil || first > last || text != fmt.Sprint(first) && text != fmt.Sprintf("%d-%d", first, last) {
		return 0, 0, fmt.Errorf("seeds %q: a number, or two with a dash between", text)
	}
	return first, last, nil
}

// hardRun is a simulated run as hard cases are made of.
func hardRun(seed uint64) (*traces.Run, []event.Event, error) {
	cfg := sim.Config{Seed: seed, Voters: 3, Observers: -1, Steps: 200}
	setup, err := cfg.Setup()
	if err != nil {
		return nil, nil, err
	}
	var events []event.Event
	_, err = sim.Run(cfg, sim.Sinks{Event: func(e *event.Event) error {
		events = append(events, *e)
		return nil
	}})
	return &traces.Run{Voters: []int32{1, 2, 3}, PreVote: traces.PreVote{All: setup.PreVote}}, events, err
}

func timeHard(w io.Writer, first, last uint64, everywhere, each bool) error {
	table := checker.NewColumns(w)
	if each {
		fmt.Fprint(table, "seed\tlost\thidden steps at once\tCPU\tverdict\tchanged\n")
	}
	type sum struct {
		name     string
		took     []time.Duration
		verdicts [3]int
	}
	sums := []*sum{{name: "as it was"}, {name: "changed"}}
	passed := 0
	for seed := first; seed <= last; seed++ {
		run, events, err := hardRun(seed)
		if err != nil {
			return fmt.Errorf("seed %d: %w", seed, err)
		}
		for i, s := range sums {
			c, err := traces.Hard(run, events, hardEvents, i == 1)
			if errors.Is(err, traces.ErrNotHard) {
				passed++
				continue
			}
			if err != nil {
				return fmt.Errorf("seed %d: %w", seed, err)
			}
			opt := traces.Options{Run: c.Run, Hidden: c.Hidden, HiddenAt: []int32{c.Lost}}
			if everywhere {
				opt.HiddenAt = nil
			}
			before := cpuTime()
			res, err := traces.Validate(c.Inputs, opt)
			if err != nil {
				return fmt.Errorf("seed %d: %w", seed, err)
			}
			took := cpuTime() - before
			s.took = append(s.took, took)
			s.verdicts[res.Verdict]++
			if each {
				fmt.Fprintf(table, "%d\t%d\t%d\t%v\t%v\t%s\n", seed, c.Lost, c.Hidden, took.Round(10*time.Microsecond), res.Verdict, c.Changed)
			}
		}
	}
	if each {
		if err := table.Flush(); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	table = checker.NewColumns(w)
	fmt.Fprint(table, "case\truns\taccepted\trejected\tout of budget\tmedian CPU\t99 %\tlongest\n")
	for _, s := range sums {
		if len(s.took) == 0 {
			continue
		}
		slices.Sort(s.took)
		at := func(percent int) time.Duration {
			return s.took[min(len(s.took)*percent/100, len(s.took)-1)].Round(10 * time.Microsecond)
		}
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%v\t%v\t%v\n", s.name, len(s.took), s.verdicts[traces.Accepted], s.verdicts[traces.Rejected],
			s.verdicts[traces.OutOfBudget], at(50), at(99), at(100))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if passed > 0 {
		fmt.Fprintf(w, "%d cases passed over: too few events, or none that could be changed\n", passed)
	}
	if sums[0].verdicts[traces.Rejected] > 0 || sums[0].verdicts[traces.OutOfBudget]+sums[1].verdicts[traces.OutOfBudget] > 0 {
		return verdict(exitViolated)
	}
	return nil
}
