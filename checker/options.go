package checker

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"
)

// Options say how to explore. The zero value explores everything with all
// cores, and stops after the first level in which a property is violated.
type Options struct {
	// Context ends the run early, with status Limit. nil: context.Background().
	Context context.Context
	// Workers is the number of goroutines that expand states. 0: GOMAXPROCS.
	Workers int
	// MaxDistinct ends the run, with status Limit, after the level in which that
	// many distinct states are passed, or at once when twice as many are. 0: none.
	MaxDistinct uint64
	// MaxDepth ends the run, with status Limit, after so many levels. 0: none.
	MaxDepth int
	// Properties names the properties to judge. nil: all.
	Properties []string
	// KeepGoing explores past violations, to the end.
	KeepGoing bool
	// Projected also counts the distinct states with budget counters left out;
	// the specification must be a Projector. It costs a second table.
	Projected bool
	// Exact keeps every state and compares states, not fingerprints: no state can
	// be missed, at the price of memory. States must be their bytes, which those
	// of Flat are not.
	Exact bool
	// Symmetry explores one state of each orbit, where the specification says which
	// names may be exchanged. Distinct then counts orbits, and Generated the steps
	// from one state of each.
	Symmetry bool
	// Explain fills Result.Explanation, and TraceStep.OneShort at the end of
	// counterexamples.
	Explain bool
	// Counterexamples, if more than 1, asks for so many that differ in more than the
	// order of their steps, the shortest first. Such a run has one worker, and ends when
	// it has them.
	Counterexamples int
	// Coverage also counts what each action and guard did, and samples where the time
	// went. It slows the run by some percent.
	Coverage bool
	// Order is that in which states are visited.
	Order Order
	// Progress gets a line about the run every ProgressEvery (0: one second), from
	// ProgressAfter on. ProgressInPlace overwrites it, for a terminal.
	Progress        io.Writer
	ProgressEvery   time.Duration
	ProgressAfter   time.Duration
	ProgressInPlace bool

	// Mem is how many bytes the search may take for the states that it has seen and
	// those that it has still to expand; what does not fit goes to disk. 0: no limit,
	// and no disk. What the engine remembers of a model's steps is not counted.
	Mem uint64
	// Dir is where files go; they are removed at the end. "": the system's directory
	// for temporary files.
	Dir string
	// Notes, if not nil, gets a line about files in Dir that a run has left which was
	// killed. They are removed.
	Notes io.Writer
	// ParentsOnDisk keeps what counterexamples are rebuilt from, one or two bytes a
	// state, on disk. With Mem it is always there.
	ParentsOnDisk bool

	// Checkpoint is a directory to which the search writes, between two levels and
	// when CheckpointEvery has passed (0: after each level), all that it needs to go
	// on later. One whole checkpoint is always there. A run that ends for a limit after
	// a whole level writes one too, and one whose Context ends finishes its level if
	// that takes some seconds only.
	Checkpoint      string
	CheckpointEvery time.Duration
	// Resume is a directory with a checkpoint to go on from, with any number of
	// workers. The specification and the options that decide what is counted must be
	// the same.
	Resume string
	// Variant names what the specification does not say of itself, such as a mutation,
	// so that no checkpoint of another one is resumed.
	Variant string

	openFile  func(path string) (*os.File, error) // for tests: makes the files
	impatient bool                                // for tests: finishes no level when Context ends
	tableBits uint                                // of the first table; small ones in tests, so that they grow
}

// patience is how long a level may take to its end when Context has ended.
func (o *Options) patience() time.Duration {
	if o.impatient {
		return 0
	}
	return 5 * time.Second
}

// onDisk says that a search is to keep something in files.
func (o *Options) onDisk() bool {
	return o.Mem > 0 || o.Dir != "" || o.ParentsOnDisk || o.Checkpoint != "" || o.Resume != ""
}

func (o *Options) context() context.Context {
	if o.Context == nil {
		return context.Background()
	}
	return o.Context
}

func (o *Options) workers() int {
	n := o.Workers
	if n <= 0 {
		n = runtime.GOMAXPROCS(0)
	}
	return min(n, maxWorkers-1) // the last ordinal of all is taken by initial
}

// selected turns property names into a set.
func (o *Options) selected(info *Info) (Props, error) {
	if o.Properties == nil {
		return ^Props(0), nil
	}
	var set Props
	names := make([]string, len(info.Properties))
	for i, p := range info.Properties {
		names[i] = p.Name
	}
	for _, want := range o.Properties {
		found := false
		for i, name := range names {
			if name == want {
				set |= 1 << i
				found = true
			}
		}
		if !found {
			return 0, fmt.Errorf("%s has no property %q; it has %q", info.Name, want, names)
		}
	}
	return set, nil
}
