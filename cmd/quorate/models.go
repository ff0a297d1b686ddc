package main

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

func newModels() *cobra.Command {
	return &cobra.Command{
		Use:   "models",
		Short: "List the models",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			tw := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			for _, e := range registry {
				catches := ""
				if len(e.Catches) > 0 {
					catches = "; catches " + strings.Join(e.Catches, ", ")
				}
				fmt.Fprintf(tw, "%s\t%s\t%s%s\n", e.Name, e.Module, e.Doc, catches)
			}
			return tw.Flush()
		},
	}
}

// lookUp returns the model of that name.
func lookUp(name string) (*entry, error) {
	names := make([]string, len(registry))
	for i := range registry {
		if registry[i].Name == name {
			return &registry[i], nil
		}
		names[i] = registry[i].Name
	}
	return nil, unknown("model", name, names)
}

// unknown is the error for a name that is not among those known: it lists them,
// and says which is nearest.
func unknown(kind, name string, known []string) error {
	if len(known) == 0 {
		return fmt.Errorf("unknown %s %q; there are none", kind, name)
	}
	nearest := slices.MinFunc(known, func(a, b string) int {
		return distance(name, a) - distance(name, b)
	})
	return fmt.Errorf("unknown %s %q, did you mean %q? Known: %s", kind, name, nearest, strings.Join(known, ", "))
}

// distance is the number of letters to insert, delete or replace to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// choose gives the models to run: those named, or else those that a variant is
// for, or else all.
func choose(names []string, v Variant) ([]*entry, error) {
	var list []*entry
	for _, name := range names {
		e, err := lookUp(name)
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	if len(list) > 0 {
		return list, nil
	}
	var mutations []string
	for i := range registry {
		e := &registry[i]
		mutations = append(mutations, e.Catches...)
		if v.Mutation == "" || slices.Contains(e.Catches, v.Mutation) {
			list = append(list, e)
		}
	}
	if len(list) == 0 {
		slices.Sort(mutations)
		return nil, unknown("mutation", v.Mutation, slices.Compact(mutations))
	}
	return list, nil
}
