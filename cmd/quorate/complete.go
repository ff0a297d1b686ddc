package main

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/spec"
	"github.com/quorate/quorate/spec/audit"
)

// completion is what a shell asks for: the values that a flag may have.
type completion = func(cmd *cobra.Command, args []string, text string) ([]string, cobra.ShellCompDirective)

// complete registers the values of a flag. It cannot fail: the flag is there, and has
// no values yet.
func complete(cmd *cobra.Command, flag string, values completion) {
	_ = cmd.RegisterFlagCompletionFunc(flag, values)
}

func fixed(values ...string) completion {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return values, cobra.ShellCompDirectiveNoFileComp
	}
}

func completeModels(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var list []string
	for _, e := range append(registered(), families...) {
		list = append(list, e.Name+"\t"+e.Doc)
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

func completeLiveModels(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var list []string
	for _, s := range liveSubjects() {
		list = append(list, s.name+"\t"+s.why)
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

func completeLiveMutations(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var list []string
	for _, mu := range liveMutations() {
		list = append(list, mu.id+"\t"+mu.title)
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

func completeSettings(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var list []string
	for _, c := range spec.Constants {
		list = append(list, c.Name+"=\t"+c.Values)
	}
	return list, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

func completeMutations(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var list []string
	for i := range spec.Mutations {
		list = append(list, spec.Mutations[i].ID+"\t"+spec.Mutations[i].Title)
	}
	for _, c := range audit.Concerns {
		for i := range c.Mutations {
			if onlyInTheEnd(c.Mutations[i].ID) {
				continue
			}
			list = append(list, c.Mutations[i].ID+"\t"+c.Mutations[i].Title)
		}
	}
	return append(list, "vote-twice\tof examples/elect", "no-fencing\tof examples/lease"), cobra.ShellCompDirectiveNoFileComp
}

// completeBugs are those of bugs show: of liveness too.
func completeBugs(cmd *cobra.Command, args []string, text string) ([]string, cobra.ShellCompDirective) {
	list, directive := completeMutations(cmd, args, text)
	for _, mu := range liveMutations() {
		if onlyInTheEnd(mu.id) {
			list = append(list, mu.id+"\t"+mu.title)
		}
	}
	return list, directive
}

func completeActions(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var list []string
	for a := spec.ActionID(0); a < spec.NumActions; a++ {
		list = append(list, a.String())
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

func completeGuards(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var list []string
	for a := spec.ActionID(0); a < spec.NumReplicaActions; a++ {
		for _, g := range spec.GuardsOf(a) {
			list = append(list, a.String()+"."+g.String())
		}
	}
	slices.Sort(list)
	return list, cobra.ShellCompDirectiveNoFileComp
}

func completeProperties(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var list []string
	for _, p := range spec.Properties {
		list = append(list, p.Name+"\t"+p.Doc)
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}
