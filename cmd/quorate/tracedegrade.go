package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/traces"
	"github.com/quorate/quorate/traces/event"
)

func newTraceDegrade() *cobra.Command {
	var out string
	var without []string
	var nodes []int32
	cmd := &cobra.Command{
		Use:   "degrade -o DIR [-without NAME,...] [-lose NODE,...] RUN",
		Short: "Take away what a recorder might not have said",
		Long: `Take away what a recorder might not have said, to see what can still be decided.

What can be left out of all events: ` + strings.Join(traces.Degradable(), ", ") + `.
The trace of a node can be lost as a whole. The run is written with a run.json that says
so; ` + "`quorate trace check -hidden N`" + ` looks for what is not shown.`,
		Example: "  quorate trace degrade -o out/less -without action,log,durable,hw -lose 3 out/run/seed-1",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("trace degrade: which run? One directory that holds files node-*.ndjson")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if out == "" {
				return errors.New("trace degrade: to which directory? -o DIR")
			}
			list, err := traces.Recordings(args[0])
			if err != nil {
				return err
			}
			if len(list) != 1 || list[0].Run == nil {
				return fmt.Errorf("trace degrade: %s holds %d runs: one is needed, with its run.json", args[0], len(list))
			}
			events, err := readEvents(list[0].Inputs)
			if err != nil {
				return err
			}
			run, left, err := traces.Degrade(list[0].Run, events, without, nodes)
			if err != nil {
				return fmt.Errorf("trace degrade: %w", err)
			}
			if err := writeRecording(out, "degraded", run, left); err != nil {
				return err
			}
			for _, id := range slices.Sorted(maps.Keys(events)) {
				fmt.Fprintf(cmd.OutOrStdout(), "node %d: %d of %d events\n", id, len(left[id]), len(events[id]))
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVarP(&out, "output", "o", "", "the directory to write, which must not hold a run (required)")
	f.StringSliceVar(&without, "without", nil, "what no event says")
	f.Int32SliceVar(&nodes, "lose", nil, "nodes whose traces are lost")
	complete(cmd, "without", fixed(traces.Degradable()...))
	return cmd
}

// readEvents reads whole traces.
func readEvents(inputs []traces.Input) (map[int32][]event.Event, error) {
	events := map[int32][]event.Event{}
	for _, in := range inputs {
		s, err := in.Open()
		if err != nil {
			return nil, err
		}
		for {
			var e event.Event
			if err = s.Read(&e); err != nil {
				break
			}
			events[e.Node.ID] = append(events[e.Node.ID], e)
		}
		if c, ok := s.(io.Closer); ok {
			c.Close()
		}
		if err != io.EOF {
			return nil, err
		}
	}
	return events, nil
}
