package main

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/checker"
)

func newModels() *cobra.Command {
	return &cobra.Command{
		Use:   "models [NAME]",
		Short: "List the models, or the constants of one",
		Long: `List the models, or the constants of one: its name for -set and for files, its value,
and what it may be.`,
		Example: `  quorate models
  quorate models figure8`,
		Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, text string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return completeModels(cmd, args, text)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			tw := checker.NewColumns(cmd.OutOrStdout())
			if len(args) == 1 {
				return listConstants(tw, args[0])
			}
			for _, e := range append(registered(), families...) {
				catches := ""
				if len(e.Catches) > 0 {
					catches = "; catches " + strings.Join(e.Catches, ", ")
				}
				fmt.Fprintf(tw, "%s\t%s\t%s%s\n", e.Name, e.Module, e.Doc, catches)
			}
			fmt.Fprintln(tw, "\nLive models, which quorate live judges:")
			for _, s := range liveSubjects() {
				fmt.Fprintf(tw, "%s\t%s\t%s\n", s.name, s.module, s.why)
			}
			return tw.Flush()
		},
	}
}

// showLive says what a live model is for; its constants are those of its source.
func showLive(tw *tabwriter.Writer, s *liveSubject) error {
	fmt.Fprintf(tw, "%s: %s\n", s.name, s.why)
	fmt.Fprintf(tw, "  module\t%s\n", s.module)
	fmt.Fprintf(tw, "  states\t%s, of which %s in the suffix, %s fair (pinned in %s)\n", count(s.pin.Distinct), count(s.pin.Suffix), count(s.pin.Fair), s.pinned)
	for _, mu := range liveMutations() {
		if slices.Contains(mu.models, s.name) {
			fmt.Fprintf(tw, "  catches\t%s\n", mu.id)
		}
	}
	fmt.Fprintf(tw, "  judge it\tquorate live -model %s\n", s.name)
	return tw.Flush()
}

func listConstants(tw *tabwriter.Writer, name string) error {
	if s, err := liveSubjectNamed(name); err == nil {
		return showLive(tw, &s)
	}
	e, err := lookUp(name)
	if err != nil {
		return err
	}
	fmt.Fprintf(tw, "%s: %s\n", e.Name, e.Doc)
	for _, c := range e.Constants() {
		fmt.Fprintf(tw, "  %s\t%s\t%s\n", c[0], c[1], c[2])
	}
	return tw.Flush()
}

// lookUp returns the model of that name.
func lookUp(name string) (*entry, error) {
	list, err := matching([]string{name}, registered(), families)
	if err != nil {
		return nil, err
	}
	if len(list) != 1 {
		return nil, fmt.Errorf("%q is %d models; want one", name, len(list))
	}
	return list[0], nil
}

// unknown is the error for a name that is not among those known.
func unknown(kind, name string, known []string) error { return checker.Unknown(kind, name, known) }

// unknownMutation is unknown for commands that judge safety.
func unknownMutation(id string, known []string) error {
	if onlyInTheEnd(id) {
		return fmt.Errorf("%s breaks what comes about in the end, which is judged by: quorate live -mutate %s", id, id)
	}
	return unknown("mutation", id, known)
}

// modelFlags say which models a command is about.
type modelFlags struct {
	names []string // or patterns of names
	files []string
	set   []string
}

// register is for commands that take several models, registerOne for those that take
// one.
func (m *modelFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&m.names, "model", nil, "a model, a pattern as 'figure8*', or all; may be given several times")
	m.registerMore(cmd)
}

func (m *modelFlags) registerOne(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&m.names, "model", nil, "the model")
	m.registerMore(cmd)
}

func (m *modelFlags) registerMore(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&m.files, "file", nil, "a file that describes models, in TOML; see docs/models")
	cmd.Flags().StringArrayVar(&m.set, "set", nil, "set a constant of the model, as epochs=3; may be given several times")
	complete(cmd, "model", completeModels)
	complete(cmd, "set", completeSettings)
}

// named says that models were named or described.
func (m *modelFlags) named() bool { return len(m.names)+len(m.files) > 0 }

// choose gives the models to run: those named or described, or else those that a
// variant is for, or else all.
func (m *modelFlags) choose(v Variant) ([]*entry, error) {
	settings, err := parseSettings(m.set)
	if err != nil {
		return nil, err
	}
	var list []*entry
	switch {
	case !m.named() && len(settings) > 0:
		return nil, errors.New("-set goes with -model or -file")
	case !m.named():
		return chosenFor(v)
	case len(m.files) > 0:
		list, err = m.described()
	default:
		list, err = matching(m.names, registered(), families)
	}
	if err != nil || len(settings) == 0 {
		return list, err
	}
	for i, e := range list {
		changed, err := e.With(settings)
		if err != nil {
			return nil, err
		}
		changed.Variant = e.Variant
		list[i] = changed
	}
	return list, nil
}

// one gives the only model that was named or described.
func (m *modelFlags) one() (*entry, error) {
	if !m.named() {
		return nil, errors.New("which model? -model NAME, or -file FILE with one; quorate models lists them")
	}
	list, err := m.choose(Variant{})
	if err != nil {
		return nil, err
	}
	if len(list) != 1 {
		var names []string
		for _, e := range list {
			names = append(names, e.Name)
		}
		return nil, fmt.Errorf("one model at a time, of %s", strings.Join(names, ", "))
	}
	return list[0], nil
}

// described are the models of the files, or those of them that are named.
func (m *modelFlags) described() ([]*entry, error) {
	var list []*entry
	for _, file := range m.files {
		more, err := readModels(file)
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	if len(m.names) == 0 {
		return list, nil
	}
	return matching(m.names, list, nil)
}

func registered() []*entry {
	list := make([]*entry, len(registry))
	for i := range registry {
		list[i] = &registry[i]
	}
	return list
}

// matching gives the models with these names, or whose names match these patterns,
// each once, in the order in which they were asked for. Others are known by name only.
func matching(names []string, list, others []*entry) ([]*entry, error) {
	var out []*entry
	add := func(e *entry) {
		if !slices.Contains(out, e) {
			out = append(out, e)
		}
	}
	for _, name := range names {
		if name == "" {
			return nil, errors.New("-model wants the name of a model")
		}
		if name == "all" {
			name = "*"
		}
		before, known := len(out), []string{}
		for _, e := range list {
			ok, err := path.Match(name, e.Name)
			if err != nil {
				return nil, fmt.Errorf("-model %s: %w", name, err)
			}
			if ok || e.Name == name {
				add(e)
			}
			known = append(known, e.Name)
		}
		for _, e := range others {
			if e.Name == name {
				add(e)
			}
			known = append(known, e.Name)
		}
		if len(out) == before && !slices.ContainsFunc(out, func(e *entry) bool { return e.Name == name }) {
			return nil, unknown("model", name, known)
		}
	}
	return out, nil
}

// chosenFor gives the models that a variant is for, or all if there is none.
func chosenFor(v Variant) ([]*entry, error) {
	var list []*entry
	var mutations []string
	if onlyInTheEnd(v.Mutation) {
		return nil, unknownMutation(v.Mutation, nil)
	}
	for i := range registry {
		e := &registry[i]
		mutations = append(mutations, e.Catches...)
		if v.Mutation == "" || slices.Contains(e.Catches, v.Mutation) {
			list = append(list, e)
		}
	}
	if len(list) == 0 {
		slices.Sort(mutations)
		return nil, unknownMutation(v.Mutation, slices.Compact(mutations))
	}
	return list, nil
}
