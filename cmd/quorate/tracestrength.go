package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/traces"
)

func newTraceStrength() *cobra.Command {
	var opt traces.Options
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "strength DIR|FILE...",
		Short: "Say what runs exercise of the specification, and which bugs they would show",
		Long: `Say what runs exercise of the specification, and which bugs they would show.

Of each run: the actions that were taken, the branches of guards that were seen, and for each
known bug whether the run would still be accepted if the specification had it. A bug that
only allows more is not told apart by a run in which nothing went wrong; one that refuses, or
does something else, is, if the run comes by it and enough of it was recorded. quorate trace
degrade takes away from a run what a recorder might not have said: so it shows what a field
is worth.

Exit codes: 0 all accepted, 1 one rejected, 2 malformed input, 3 a search budget was used up
before an answer.`,
		Example: "  quorate trace strength traces/recorded/seed-3",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("trace strength: of which runs? Give directories that hold files node-*.ndjson, or such files themselves")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if opt.Hidden < 0 {
				return fmt.Errorf("trace strength: --hidden %d: how many hidden steps there may be, from 0", opt.Hidden)
			}
			list, err := recordings(args)
			if err != nil {
				return err
			}
			worst := verdict(exitHolds)
			for i := range list {
				opt.Run = list[i].Run
				s, err := traces.Measure(list[i].Inputs, opt)
				if err != nil {
					return err
				}
				switch {
				case s.Verdict == traces.Rejected:
					worst = exitViolated
				case s.Verdict == traces.OutOfBudget && worst == exitHolds:
					worst = exitLimit
				}
				if asJSON {
					err = json.NewEncoder(cmd.OutOrStdout()).Encode(struct {
						Name string `json:"name"`
						*traces.Strength
					}{list[i].Name, s})
				} else {
					_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %s", list[i].Name, s.Text())
				}
				if err != nil {
					return err
				}
			}
			if worst == exitHolds {
				return nil
			}
			return worst
		},
	}
	f := cmd.Flags()
	f.IntVar(&opt.Hidden, "hidden", 0, "how many hidden steps there may be between two events of a node (default 0)")
	f.Int32SliceVar(&opt.HiddenAt, "hidden-at", nil, "the nodes that may take hidden steps (default all)")
	f.BoolVar(&asJSON, "json", false, "print a line of JSON for each run")
	return cmd
}
