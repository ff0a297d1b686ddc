package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/traces"
)

func newTraceShrink() *cobra.Command {
	var opt traces.Options
	var out string
	var most, tries int
	var progress progressFlag
	cmd := &cobra.Command{
		Use:   "shrink -o DIR RUN",
		Short: "Look for the fewest events of a rejected run that still cannot be",
		Long: `Look for the fewest events of a rejected run that still cannot be.

First only what the rejected event depends on is kept; then whole nodes are left out, then
single events, as long as the run is rejected at the same event and for the same reason. To
leave events out says that they are not known: as many hidden steps as -most are allowed
in their place, so what is left is refused whatever happened there. It is written as a run,
and the command is printed that rejects it. An interrupt ends the search, and what was found
so far is written.

Exit codes: 0 written, 1 the run is not rejected, 2 malformed input or a file that cannot
be read or written, 3 written after an interrupt.`,
		Example: "  quorate trace shrink -o out/less out/run",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("trace shrink: which run? One directory that holds files node-*.ndjson")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case out == "":
				return errors.New("trace shrink: to which directory? -o DIR")
			case most < 1 || most > traces.MaxHidden:
				return fmt.Errorf("trace shrink: --most %d: how many events of a node may be left out in a row, from 1 to %d", most, traces.MaxHidden)
			case opt.Hidden < 0:
				return fmt.Errorf("trace shrink: --hidden %d: how many hidden steps there may be, from 0", opt.Hidden)
			case tries < 1:
				return fmt.Errorf("trace shrink: --tries %d: how many runs to validate, from 1", tries)
			}
			list, err := traces.Recordings(args[0])
			if err != nil {
				return err
			}
			if len(list) != 1 || list[0].Run == nil {
				return fmt.Errorf("trace shrink: %s holds %d runs: one is needed, with its run.json", args[0], len(list))
			}
			opt.Run = list[0].Run
			s, err := traces.Shrink(list[0].Inputs, opt, most, tries, progress.shrinking(cmd, tries))
			if errors.Is(err, traces.ErrNotRejected) {
				fmt.Fprintf(cmd.OutOrStdout(), "%s: %v\n", args[0], err)
				return verdict(exitViolated)
			}
			if err != nil {
				return fmt.Errorf("trace shrink: %w", err)
			}
			if err := writeRecording(out, "shrunk", opt.Run, s.Events); err != nil {
				return err
			}
			w := cmd.OutOrStdout()
			fmt.Fprintf(w, "%d events; the rejected one depends on %d; %d are left, after %d runs\n\n%s\n\n", s.Before, s.Past-1, s.Left, s.Tries, s.Rejection.Text())
			check := "quorate trace check"
			if s.Hidden > 0 {
				check += fmt.Sprintf(" -hidden %d -hidden-at %s", s.Hidden, strings.Trim(strings.ReplaceAll(fmt.Sprint(s.HiddenAt), " ", ","), "[]"))
			}
			fmt.Fprintln(w, check, out)
			if s.Stopped {
				fmt.Fprintln(cmd.ErrOrStderr(), "quorate: interrupted: this is the smallest run that was found so far")
				return verdict(exitLimit)
			}
			return nil
		},
	}
	progress.register(cmd)
	f := cmd.Flags()
	f.StringVarP(&out, "output", "o", "", "the directory to write, which must not hold a run (required)")
	f.IntVar(&opt.Hidden, "hidden", 0, "how many hidden steps the run as it is may have between two events of a node (default 0)")
	f.Int32SliceVar(&opt.HiddenAt, "hidden-at", nil, "the nodes that may take them (default all)")
	f.IntVar(&most, "most", 4, "how many events of a node may be left out in a row")
	f.IntVar(&tries, "tries", 1000, "how many runs to validate at most")
	return cmd
}

// shrinking tells how far it is, and goes on until it is interrupted.
func (p *progressFlag) shrinking(cmd *cobra.Command, most int) func(tries, left int) bool {
	o := p.options(cmd)
	every, began := max(o.ProgressEvery, time.Second), time.Now()
	last := began
	return func(tries, left int) bool {
		if now := time.Now(); o.Progress != nil && now.Sub(began) >= o.ProgressAfter && now.Sub(last) >= every {
			last = now
			fmt.Fprintf(o.Progress, "quorate: %d of at most %d runs were tried, %d events are left\n", tries, most, left)
		}
		return cmd.Context().Err() == nil
	}
}
