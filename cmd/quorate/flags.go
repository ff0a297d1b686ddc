package main

import (
	"fmt"
	"os"

	"github.com/pkg/profile"
	"github.com/spf13/cobra"

	"github.com/quorate/quorate/checker"
)

// runFlags are those of every command that explores.
type runFlags struct {
	workers   int
	maxStates uint64
	maxDepth  int
	exact     bool
	symmetry  bool
	progress  progressFlag
	json      bool
	output    output
	store     storeFlags
	profile   profileFlag
	mutate    string
	dropGuard string
	on        string
}

func (f *runFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.IntVar(&f.workers, "workers", 0, "goroutines that expand states (default: one for each core)")
	flags.Uint64Var(&f.maxStates, "max-states", 0, "stop after so many distinct states, with exit code 3")
	flags.IntVar(&f.maxDepth, "max-depth", 0, "stop after so many levels, with exit code 3")
	flags.BoolVar(&f.exact, "exact", false, "compare whole states, not fingerprints")
	flags.BoolVar(&f.symmetry, "symmetry", false, "explore one of the states that differ only in the names of interchangeable processes")
	f.progress.register(cmd)
	flags.BoolVar(&f.json, "json", false, "write JSON, one line for each model: as -format json")
	f.output.register(cmd)
	f.store.register(cmd)
	f.profile.register(cmd)
	f.registerVariant(cmd)
}

// registerLimits is for commands that show no result of a run and vary models
// themselves.
func (f *runFlags) registerLimits(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.IntVar(&f.workers, "workers", 0, "goroutines that expand states (default: one for each core)")
	flags.Uint64Var(&f.maxStates, "max-states", 0, "stop after so many distinct states, with exit code 3")
	flags.IntVar(&f.maxDepth, "max-depth", 0, "stop after so many levels, with exit code 3")
	f.progress.register(cmd)
	flags.BoolVar(&f.json, "json", false, "write JSON")
	f.profile.register(cmd)
}

func (f *runFlags) registerVariant(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.mutate, "mutate", "", "explore with this mutation of the protocol")
	cmd.Flags().StringVar(&f.dropGuard, "drop-guard", "", "explore without this guard, named as Action.Guard")
	cmd.Flags().StringVar(&f.on, "on", "", "the replicas that run the changed software, as A,B; the others run that of the protocol (default: all)")
	complete(cmd, "mutate", completeMutations)
	complete(cmd, "drop-guard", completeGuards)
}

func (f *runFlags) variant() Variant {
	return Variant{Mutation: f.mutate, DropGuard: f.dropGuard, On: f.on}
}

// check refuses what no run can mean.
func (f *runFlags) check() error {
	switch {
	case f.workers < 0:
		return fmt.Errorf("-workers %d: want a number from 1, or 0 for one for each core", f.workers)
	case f.maxDepth < 0:
		return fmt.Errorf("-max-depth %d: want a number from 1, or 0 for no limit", f.maxDepth)
	case f.on != "" && f.mutate == "" && f.dropGuard == "":
		return fmt.Errorf("-on %s: it says which replicas run what -mutate or -drop-guard changes", f.on)
	}
	if err := f.store.check(); err != nil {
		return err
	}
	if f.json {
		if f.output.format != formatText && f.output.format != formatJSON {
			return fmt.Errorf("-json and -format %s: want one of them", f.output.format)
		}
		f.output.format = formatJSON
	}
	f.json = f.output.format == formatJSON
	return f.output.check()
}

func (f *runFlags) options(cmd *cobra.Command) checker.Options {
	o := f.progress.options(cmd)
	o.Context, o.Workers, o.MaxDistinct, o.MaxDepth, o.Exact = cmd.Context(), f.workers, f.maxStates, f.maxDepth, f.exact
	o.Symmetry = f.symmetry
	f.store.set(&o)
	o.Notes = cmd.ErrOrStderr()
	if v := f.variant(); v != (Variant{}) {
		o.Variant = fmt.Sprintf("%+v", v)
	}
	return o
}

// write shows a result as it was asked for: at once, or in the file that finish writes.
func (f *runFlags) write(cmd *cobra.Command, e *entry, r *checker.Result) error {
	return f.output.result(cmd, e, e.variant(f.variant()), r)
}

// profiled runs work under the profile that was asked for.
func (f *runFlags) profiled(work func() error) error { return f.profile.run(work) }

// profileFlag is the profile that a command writes of itself.
type profileFlag struct{ mode string }

func (p *profileFlag) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.mode, "profile", "", "write a profile of the run to the working directory: cpu, mem, mutex, block, trace")
	complete(cmd, "profile", fixed("cpu", "mem", "mutex", "block", "trace"))
}

func (p *profileFlag) run(work func() error) error {
	modes := map[string]func(*profile.Profile){
		"cpu": profile.CPUProfile, "mem": profile.MemProfile, "mutex": profile.MutexProfile,
		"block": profile.BlockProfile, "trace": profile.TraceProfile,
	}
	if p.mode == "" {
		return work()
	}
	mode, ok := modes[p.mode]
	if !ok {
		return fmt.Errorf("unknown profile %q; known: cpu, mem, mutex, block, trace", p.mode)
	}
	// The package ends the process if it cannot write, with the code of a violation.
	probe, err := os.CreateTemp(".", ".profile-")
	if err != nil {
		return fmt.Errorf("-profile: %w", err)
	}
	probe.Close()
	os.Remove(probe.Name())
	defer profile.Start(mode, profile.ProfilePath("."), profile.NoShutdownHook, profile.Quiet).Stop()
	return work()
}
