package cli

import (
	"errors"
	"fmt"
	"os"

	"github.com/quorate/quorate/impl/registry/trace"
	"github.com/spf13/cobra"
)

func (c *command) judge() *cobra.Command {
	var keep int
	cmd := &cobra.Command{
		Use: "judge FILE", Short: "Hold what instances have recorded (run --trace) against what checkpoints have to keep to",
		Example: `  registry judge events`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError{fmt.Errorf("%s wants one file of events", cmd.CommandPath())}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := os.Open(args[0])
			if err != nil {
				return err
			}
			defer f.Close()
			events, err := trace.Read(f)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			if len(events) == 0 {
				return fmt.Errorf("%s: there is no event", args[0])
			}
			count := func(actions ...string) int { return trace.Count(events, actions...) }
			fmt.Fprintf(cmd.OutOrStdout(), "%d events: %d starts, %d from an image, %d commits, %d trims, %d objects collected\n",
				len(events), count(trace.Start), count(trace.Install), count(trace.AppendCommit), count(trace.TrimJournal), count(trace.CollectGarbage))
			found := trace.Judge(events, keep)
			if len(found) == 0 {
				fmt.Fprintln(cmd.OutOrStdout(), "nothing is violated")
				return nil
			}
			return errors.Join(found...)
		},
	}
	cmd.Flags().IntVar(&keep, "keep", 2, "images that were kept")
	return cmd
}
