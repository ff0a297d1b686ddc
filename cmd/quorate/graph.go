package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/checker"
)

func newGraph() *cobra.Command {
	var f runFlags
	var models modelFlags
	var format string
	var limit int
	cmd := &cobra.Command{
		Use:   "graph -model NAME -format dot|json",
		Short: "Write the reachable states of a small model as a graph",
		Long: `Write the reachable states of a small model as a graph. A node is a state, named
by what it changed in the state before it on a shortest way; edges are steps. Models
of more than -max-states states are refused, with exit code 3; small ones are 2pc3,
single and truncation.`,
		Example: `  quorate graph -model 2pc3 | dot -Tsvg > 2pc3.svg
  quorate graph -model single -format json > single.json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if format != "dot" && format != "json" {
				return fmt.Errorf("unknown format %q; known: dot, json", format)
			}
			if limit < 1 {
				return fmt.Errorf("-max-states %d: want a number from 1", limit)
			}
			e, err := models.one()
			if err != nil {
				return err
			}
			spec, err := e.New(f.variant())
			if err != nil {
				return fmt.Errorf("%s: %w", e.Name, err)
			}
			g, err := spec.Graph(limit)
			if errors.Is(err, checker.ErrTooManyStates) {
				fmt.Fprintf(cmd.ErrOrStderr(), "quorate: %v\n", err)
				return verdict(exitLimit)
			}
			if err != nil {
				return err
			}
			if format == "json" {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(g)
			}
			text, err := g.DOT()
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(append(text, '\n'))
			return err
		},
	}
	f.registerVariant(cmd)
	models.registerOne(cmd)
	cmd.Flags().StringVar(&format, "format", "dot", "dot or json")
	cmd.Flags().IntVar(&limit, "max-states", 10_000, "refuse models with more states")
	complete(cmd, "format", fixed("dot", "json"))
	return cmd
}
