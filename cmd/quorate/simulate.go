package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/checker"
)

// simulateFlags are those of simulate.
type simulateFlags struct {
	models     modelFlags
	variant    runFlags // of which only what changes the protocol is registered
	opt        checker.SimulateOptions
	seconds    float64
	behaviour  int64
	swarm      bool
	states     int
	weights    []string
	progress   progressFlag
	profile    profileFlag
	behaviours uint64
}

func newSimulate() *cobra.Command {
	var f simulateFlags
	cmd := &cobra.Command{
		Use:   "simulate -model NAME [-seed S] [-behaviours N] [-seconds T] [-swarm]",
		Short: "Take random behaviours of a model that is too big to exhaust",
		Long: `Take random behaviours of a model, and judge every state that is a step away from
them. Behaviour K of seed S is always the same, whatever the number of workers; a
counterexample is made as short as its steps allow, and ends with the command that
takes it again.

With -swarm each behaviour is a search instead: depth first, in an order, to a depth
and without some of the actions that are drawn from its number, and bounded in states
and memory. Swarms find what needs several rare steps, walks what needs many steps.

Exits with 0 if no violation was seen, which proves nothing, 1 if one was, and 3 if
interrupted.`,
		Example: `  quorate simulate -model four-epochs -seconds 60
  quorate simulate -model crashes -swarm -seconds 60 -seed 7
  quorate simulate -model figure8 -mutate KAFKA-12619
  quorate simulate -model figure8 -mutate KAFKA-12619 -format html -o bug.html
  quorate simulate -model figure8 -seed 1 -behaviour 812
  quorate simulate -model flush -weight Crash=0.1 -weight Drop=0 -behaviours 10000`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			e, err := f.models.one()
			if err != nil {
				return err
			}
			if err := f.options(cmd); err != nil {
				return err
			}
			return f.profile.run(func() error { return f.run(cmd, e) })
		},
	}
	f.models.registerOne(cmd)
	f.variant.registerVariant(cmd)
	f.progress.register(cmd)
	f.profile.register(cmd)
	flags := cmd.Flags()
	flags.Uint64Var(&f.opt.Seed, "seed", 1, "what all random choices come from")
	flags.Uint64Var(&f.behaviours, "behaviours", 0, "stop after so many behaviours (default: no limit)")
	flags.Int64Var(&f.behaviour, "behaviour", -1, "take this behaviour alone, and show its steps")
	flags.IntVar(&f.opt.Depth, "depth", 100, "end each behaviour after so many steps")
	flags.Float64Var(&f.seconds, "seconds", 10, "stop after so many seconds; 0: no limit")
	flags.BoolVar(&f.swarm, "swarm", false, "searches in random parts of the model, instead of walks")
	flags.IntVar(&f.states, "swarm-states", 100_000, "states that a search of a swarm expands at most; it remembers about 16 bytes for each")
	flags.StringArrayVar(&f.weights, "weight", nil, "multiply the chance of an action, as Crash=0.1; 0 switches it off; may be given several times")
	flags.BoolVar(&f.opt.Even, "even", false, "draw actions evenly; otherwise every behaviour has likes of its own")
	flags.StringSliceVar(&f.opt.Properties, "property", nil, "a property to judge; may be given several times (default: all)")
	flags.BoolVar(&f.opt.KeepGoing, "keep-going", false, "go on after a violation")
	flags.BoolVar(&f.opt.Raw, "raw", false, "show counterexamples as they were found, not shortened")
	flags.IntVar(&f.opt.Workers, "workers", 0, "goroutines that take behaviours (default: one for each core)")
	flags.BoolVar(&f.variant.json, "json", false, "write JSON: as -format json")
	f.variant.output.register(cmd)
	complete(cmd, "property", completeProperties)
	return cmd
}

// options reads the flags, and refuses what no run can mean.
func (f *simulateFlags) options(cmd *cobra.Command) error {
	changed := cmd.Flags().Changed
	switch {
	case f.opt.Workers < 0:
		return fmt.Errorf("-workers %d: want a number from 1, or 0 for one for each core", f.opt.Workers)
	case f.opt.Depth < 1:
		return fmt.Errorf("-depth %d: want a number from 1", f.opt.Depth)
	case !(f.seconds >= 0 && f.seconds < 1e9):
		return fmt.Errorf("-seconds %v: want a time, or 0 for no limit", f.seconds)
	case changed("behaviour") && f.behaviour < 0:
		return fmt.Errorf("-behaviour %d: behaviours are numbered from 0", f.behaviour)
	case changed("behaviour") && changed("behaviours"):
		return fmt.Errorf("-behaviour takes one, -behaviours many: want one of them")
	case changed("swarm-states") && (!f.swarm || f.states < 1):
		return fmt.Errorf("-swarm-states %d: goes with -swarm, and wants a number from 1", f.states)
	}
	if err := f.variant.check(); err != nil {
		return err
	}
	f.opt.Behaviours = f.behaviours
	if changed("behaviour") {
		f.opt.First, f.opt.Behaviours, f.opt.Show = uint64(f.behaviour), 1, !f.swarm
	}
	// Who says how many behaviours wants all of them.
	if f.opt.Behaviours == 0 || changed("seconds") {
		f.opt.Duration = time.Duration(f.seconds * float64(time.Second))
	}
	if f.swarm {
		f.opt.Swarm = f.states
	}
	f.opt.Weights = map[string]float64{}
	for _, w := range f.weights {
		name, value, ok := strings.Cut(w, "=")
		x, err := strconv.ParseFloat(value, 64)
		if !ok || err != nil {
			return fmt.Errorf("-weight %s: want Action=number, as Crash=0.1", w)
		}
		f.opt.Weights[name] = x
	}
	f.opt.Context = cmd.Context()
	p := f.progress.options(cmd)
	f.opt.Progress, f.opt.ProgressAfter, f.opt.ProgressInPlace = p.Progress, p.ProgressAfter, p.ProgressInPlace
	return nil
}

func (f *simulateFlags) run(cmd *cobra.Command, e *entry) error {
	model, err := e.New(f.variant.variant())
	if err != nil {
		return fmt.Errorf("%s: %w", e.Name, err)
	}
	r, err := model.Simulate(f.opt)
	if err != nil {
		return err
	}
	out := &f.variant.output
	if out.draws() {
		out.behaviours = r.Drawings(titleOf(e, e.variant(f.variant.variant())))
	}
	if out.draws() && out.file == "" {
		// the picture is what goes to standard output
	} else if f.variant.json {
		err = json.NewEncoder(cmd.OutOrStdout()).Encode(struct {
			Model     string `json:"model"`
			Module    string `json:"module"`
			Mutation  string `json:"mutation,omitempty"`
			DropGuard string `json:"drop_guard,omitempty"`
			On        string `json:"on,omitempty"`
			*checker.Simulation
		}{e.Name, e.Module, f.variant.mutate, f.variant.dropGuard, f.variant.on, r})
	} else {
		err = r.WriteText(cmd.OutOrStdout(), func(k uint64) string { return f.again(e, k) })
	}
	if err != nil {
		return err
	}
	if err := out.finish(cmd); err != nil {
		return err
	}
	if code := r.Status.ExitCode(); code != exitHolds {
		return verdict(code)
	}
	return nil
}

// again is the command that takes a behaviour again.
func (f *simulateFlags) again(e *entry, behaviour uint64) string {
	b := &strings.Builder{}
	word := func(flag, value string) {
		if strings.ContainsAny(value, " '\"*$&|;<>()") {
			value = "'" + strings.ReplaceAll(value, "'", `'\''`) + "'"
		}
		fmt.Fprintf(b, " -%s %s", flag, value)
	}
	b.WriteString("quorate simulate")
	for _, file := range f.models.files {
		word("file", file)
	}
	word("model", e.Name)
	for _, s := range f.models.set {
		word("set", s)
	}
	v := f.variant.variant()
	for _, p := range [][2]string{{"mutate", v.Mutation}, {"drop-guard", v.DropGuard}, {"on", v.On}} {
		if p[1] != "" {
			word(p[0], p[1])
		}
	}
	word("seed", fmt.Sprint(f.opt.Seed))
	if f.opt.Depth != 100 {
		word("depth", fmt.Sprint(f.opt.Depth))
	}
	if f.swarm {
		b.WriteString(" -swarm")
		if f.states != 100_000 {
			word("swarm-states", fmt.Sprint(f.states))
		}
	}
	if f.opt.Even {
		b.WriteString(" -even")
	}
	for _, w := range f.weights {
		word("weight", w)
	}
	for _, p := range f.opt.Properties {
		word("property", p)
	}
	word("behaviour", fmt.Sprint(behaviour))
	return b.String()
}
