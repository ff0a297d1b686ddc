package main

import (
	"bufio"
	"errors"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/traces/event"
)

func newTraceLines() *cobra.Command {
	return &cobra.Command{
		Use:   "lines FILE",
		Short: "Print the events of a file, of either form, as lines of JSON",
		Long: `Print the events of a file as lines of JSON.

Nodes record in a binary form where the file's name ends in .events; it says the same
as the lines, in fewer bytes and for less processor time. A file of lines is printed as
it would be written.

Exit codes: 0 all printed, 2 malformed input.`,
		Example: `  quorate trace lines out/run/node-1.events.zst | jq 'select(.action == "BecomeLeader")'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("trace lines: which file? One")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := event.Open(args[0])
			if err != nil {
				return err
			}
			defer r.Close()
			out := bufio.NewWriterSize(cmd.OutOrStdout(), 1<<16)
			var line []byte
			for e, err := range r.All() {
				if err != nil {
					return errors.Join(err, out.Flush())
				}
				line = append(event.AppendJSON(line[:0], e), '\n')
				if _, err := out.Write(line); err != nil {
					return err
				}
			}
			return out.Flush()
		},
	}
}
