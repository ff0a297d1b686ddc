package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/spec"
	"github.com/quorate/quorate/spec/audit"
)

// bugName is a bug that `quorate bugs show` tells the story of.
type bugName struct {
	ID     string `json:"id"`
	Module string `json:"module"`
	Title  string `json:"title"`
}

// bugNames are all bugs, those of liveness last.
func bugNames() []bugName {
	var list []bugName
	for i := range spec.Mutations {
		mu := &spec.Mutations[i]
		list = append(list, bugName{mu.ID, moduleElection, mu.Title})
	}
	for _, c := range audit.Concerns {
		for i := range c.Mutations {
			mu := &c.Mutations[i]
			list = append(list, bugName{mu.ID, c.Name, mu.Title})
		}
	}
	for _, mu := range liveMutations() {
		if !slices.ContainsFunc(list, func(b bugName) bool { return b.ID == mu.id }) {
			list = append(list, bugName{mu.id, mu.module, mu.title})
		}
	}
	return list
}

// nameBugs lists the bugs of some modules, or of all if there are none.
func nameBugs(cmd *cobra.Command, f *runFlags, modules []string) error {
	for _, m := range modules {
		if !slices.Contains(bugModules(), m) {
			return unknown("module", m, bugModules())
		}
	}
	out := cmd.OutOrStdout()
	tw := checker.NewColumns(out)
	if !f.json {
		fmt.Fprintln(tw, "bug\tmodule\ttitle")
	}
	for _, b := range bugNames() {
		switch {
		case len(modules) > 0 && !slices.Contains(modules, b.Module):
		case f.json:
			if err := json.NewEncoder(out).Encode(b); err != nil {
				return err
			}
		default:
			fmt.Fprintf(tw, "%s\t%s\t%s\n", b.ID, b.Module, b.Title)
		}
	}
	return tw.Flush()
}

// bugCalled is the id of a bug whose letters may be in the other case.
func bugCalled(id string) string {
	list := bugNames()
	if slices.ContainsFunc(list, func(b bugName) bool { return b.ID == id }) {
		return id
	}
	if i := slices.IndexFunc(list, func(b bugName) bool { return strings.EqualFold(b.ID, id) }); i >= 0 {
		return list[i].ID
	}
	return id
}

// unknownBug says which bug may have been meant, and where all are.
func unknownBug(id string) error {
	var known []string
	for _, b := range bugNames() {
		known = append(known, b.ID)
	}
	if near := checker.Nearest(id, known); near != "" {
		return fmt.Errorf("unknown bug %q, did you mean %q? `quorate bugs -list` lists them", id, near)
	}
	return fmt.Errorf("unknown bug %q; `quorate bugs -list` lists them", id)
}
