package main

import (
	"fmt"
	"math/bits"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/checker"
)

// storeFlags say where a search keeps what it has seen.
type storeFlags struct {
	cmd *cobra.Command

	mem     size
	dir     string
	parents string

	checkpoint string
	every      time.Duration
	resume     string
}

func (f *storeFlags) register(cmd *cobra.Command) {
	f.cmd = cmd
	flags := cmd.Flags()
	flags.Var(&f.mem, "mem", "memory for states, as 500M or 4G; what does not fit goes to disk (default: no limit, no disk)")
	flags.StringVar(&f.dir, "dir", "", "directory for what goes to disk (default: that for temporary files)")
	flags.StringVar(&f.parents, "parents", "", "where to keep what counterexamples are rebuilt from: memory or disk (default: memory, with -mem disk)")
	flags.StringVar(&f.checkpoint, "checkpoint", "", "directory to write checkpoints to, from which -resume goes on, also after kill -9; of several models each has a directory in it")
	flags.DurationVar(&f.every, "checkpoint-every", 10*time.Minute, "time between checkpoints, which are written between two levels")
	flags.StringVar(&f.resume, "resume", "", "directory with a checkpoint to go on from, with any number of workers")
}

func (f *storeFlags) check() error {
	switch {
	case f.parents != "" && f.parents != "memory" && f.parents != "disk":
		return fmt.Errorf("-parents %s: want memory or disk", f.parents)
	case f.parents == "memory" && f.mem > 0:
		return fmt.Errorf("-parents memory: with -mem they are on disk")
	}
	for name, dir := range map[string]string{"dir": f.dir, "checkpoint": f.checkpoint, "resume": f.resume} {
		if f.cmd != nil && dir == "" && f.cmd.Flags().Changed(name) {
			return fmt.Errorf("-%s wants the name of a directory", name)
		}
	}
	if f.every < 0 {
		return fmt.Errorf("-checkpoint-every %s: want a time from 0s, which is after each level", f.every)
	}
	return nil
}

func (f *storeFlags) set(o *checker.Options) {
	o.Mem, o.Dir, o.ParentsOnDisk = uint64(f.mem), f.dir, f.parents == "disk"
	o.Checkpoint, o.CheckpointEvery, o.Resume = f.checkpoint, f.every, f.resume
}

// checkpointDir is where the checkpoint of a model is: with several models each has
// a directory of its own.
func checkpointDir(dir, model string, models int) string {
	if dir == "" || models < 2 {
		return dir
	}
	return filepath.Join(dir, strings.ReplaceAll(model, string(filepath.Separator), "_"))
}

// forModel has a run of one of several models use its own checkpoint. One that has
// none yet begins.
func (f *storeFlags) forModel(o *checker.Options, model string, models int) {
	o.Checkpoint = checkpointDir(f.checkpoint, model, models)
	o.Resume = checkpointDir(f.resume, model, models)
	if models > 1 && !checker.HasCheckpoint(o.Resume) {
		o.Resume = ""
	}
}

// checkResume demands that one of several models has something to go on from.
func (f *storeFlags) checkResume(models []string) error {
	if f.resume == "" || len(models) < 2 {
		return nil
	}
	for _, name := range models {
		if checker.HasCheckpoint(checkpointDir(f.resume, name, len(models))) {
			return nil
		}
	}
	return fmt.Errorf("-resume %s: none of the %d models has a checkpoint there", f.resume, len(models))
}

// size is a number of bytes, as 4096, 64K, 500M or 4G.
type size uint64

const sizeUnits = "KMGT" // powers of 1024

// String implements [pflag.Value].
func (s *size) String() string {
	n, unit := uint64(*s), ""
	for i := range sizeUnits {
		if n == 0 || n%1024 != 0 {
			break
		}
		n, unit = n/1024, sizeUnits[i:i+1]
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n, unit)
}

// Set implements [pflag.Value].
func (s *size) Set(text string) error {
	digits, factor := text, uint64(1)
	if n := len(text); n > 0 {
		if i := strings.IndexByte(sizeUnits, text[n-1]&^('a'-'A')); i >= 0 {
			digits, factor = text[:n-1], 1<<(10*(i+1))
		}
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	high, bytes := bits.Mul64(n, factor)
	if err != nil || high != 0 || n == 0 {
		return fmt.Errorf("want a number of bytes, as 500M or 4G")
	}
	*s = size(bytes)
	return nil
}

// Type implements [pflag.Value].
func (s *size) Type() string { return "size" }
