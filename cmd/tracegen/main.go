// Command tracegen records runs of the implementation as traces, to be checked
// with quorate trace check and quorate history check.
//
//	tracegen -sim -seeds 1-20 -out DIR
//
// records simulated runs, one for each seed: a bad network, disks that forget,
// clients. The same seed gives the same run, byte for byte.
//
//	tracegen -sim -check -seeds 1-2000 -parallel 2 -twice 50 -out DIR
//
// makes such runs and holds each against the specification in the same process, as quorate
// trace check would; it writes only those that fail, with the command that makes them
// again, and of the first one that fails finds a smaller run that does so too
// (docs/simulation.md).
//
//	tracegen -nodes 3 -crashes 3 -seconds 10 -seed 1 -out DIR
//
// records a run of real processes, which are this program again: sockets, files,
// clients, and kill -9. The seed chooses whom it kills and what clients ask; the run
// happens as it happens.
//
//	tracegen -nodes 3 -crashes 150 -seconds 600 -snapshot-bytes 16000 -out DIR
//
// has the nodes take snapshots too, and some stay down until they need one. Clients use
// the provisional protocol of impl/node, since Kafka's has no append whose offset is told:
// the exact check of a history is by offsets.
//
//	tracegen -nodes 3 -crashes 60 -faults all -seconds 60 -snapshot-bytes 16000 -out DIR
//
// also stops processes for a time (SIGSTOP), leaves no space on their disks, and puts a
// proxy between each two nodes that cuts one or both directions, loses messages or delays
// them. Disks that can be filled are file systems in memory, which takes Linux and the
// right to mount them; otherwise such faults are left out, and that is printed.
//
// Each run is a directory, seed-7 or real-7, which must not exist:
//
//	DIR/seed-7/run.json                who took part
//	DIR/seed-7/node-1.ndjson.zst       events of a node
//	DIR/seed-7/history.ndjson.zst      what the clients saw
//	DIR/seed-7/committed.ndjson.zst    the committed log at the end, if the run got there
//
// With -sim, -plain leaves the files uncompressed. The format is described in
// traces/README.md.
//
// It exits with 0 if all runs were fine, 1 if one broke a property that the run
// itself is held to (those that the simulator checks, a process that ended by itself,
// logs that differ or do not converge, a history that is not linearizable), 2 for a usage error, a file
// that cannot be written or a run that could not be made.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/pkg/profile"
)

// Exit codes.
const (
	exitOK       = 0
	exitViolated = 1
	exitUsage    = 2
)

// mode is a way of recording runs. Each has a file of its own.
type mode interface {
	// asked says whether the flags ask for this mode.
	asked() bool
	// name is the flag that asks for it.
	name() string
	// run records, prints a line for each run, and returns an exit code. An error
	// is exitUsage.
	run(out string, stdout, stderr io.Writer) (int, error)
}

// modes add their flags.
var modes = []func(*flag.FlagSet) mode{newSim}

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is main without the process around it.
func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("tracegen", flag.ContinueOnError)
	flags.SetOutput(stderr)
	out := flags.String("out", "", "directory for the runs (required)")
	prof := flags.Bool("profile", false, "write a CPU profile of this process to the directory of the runs")
	var all []mode
	owners := map[string]mode{}
	for _, add := range modes {
		before := map[string]bool{}
		flags.VisitAll(func(f *flag.Flag) { before[f.Name] = true })
		m := add(flags)
		flags.VisitAll(func(f *flag.Flag) {
			if !before[f.Name] {
				owners[f.Name] = m
			}
		})
		all = append(all, m)
	}
	code, err := dispatch(flags, all, owners, args, out, prof, stdout, stderr)
	if err != nil {
		fmt.Fprintf(stderr, "tracegen: %v\n", err)
	}
	return code
}

// dispatch runs the mode that is asked for. owners has the mode of each flag that is of one.
func dispatch(flags *flag.FlagSet, all []mode, owners map[string]mode, args []string, out *string, prof *bool, stdout, stderr io.Writer) (int, error) {
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return exitOK, nil
	case err != nil:
		return exitUsage, nil // the flag package has said why
	case flags.NArg() > 0:
		return exitUsage, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	var asked mode
	for _, m := range all {
		if m.asked() && asked != nil {
			return exitUsage, errors.New("-sim and -nodes exclude each other")
		} else if m.asked() {
			asked = m
		}
	}
	if asked != nil {
		var others []string
		flags.Visit(func(f *flag.Flag) {
			if m := owners[f.Name]; m != nil && m != asked {
				others = append(others, "-"+f.Name)
			}
		})
		if len(others) > 0 {
			return exitUsage, fmt.Errorf("%s: not with -%s", strings.Join(others, ", "), asked.name())
		}
	}
	switch {
	case asked == nil:
		return exitUsage, errors.New("nothing to do: give -sim or -nodes (see -help)")
	case *out == "":
		return exitUsage, errors.New("-out is required")
	}
	if err := os.MkdirAll(*out, 0o755); err != nil {
		return exitUsage, err
	}
	if *prof {
		defer profile.Start(profile.CPUProfile, profile.ProfilePath(*out), profile.NoShutdownHook, profile.Quiet).Stop()
	}
	code, err := asked.run(*out, stdout, stderr)
	if err != nil {
		return exitUsage, err
	}
	return code, nil
}
