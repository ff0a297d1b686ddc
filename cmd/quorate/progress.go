package main

import (
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/checker"
)

// progressFlag says whether a run tells how far it is. On a terminal it does if it
// takes long, elsewhere a line each minute: a log then shows that it is alive.
type progressFlag struct{ on bool }

func (p *progressFlag) register(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&p.on, "progress", false, "report progress every second on standard error (default: on a terminal after some seconds, elsewhere a line each minute)")
}

// options has the fields of Options that concern progress.
func (p *progressFlag) options(cmd *cobra.Command) checker.Options {
	const long, seldom = 3 * time.Second, time.Minute
	w := cmd.ErrOrStderr()
	terminal := isTerminal(w)
	switch {
	case cmd.Flags().Changed("progress") && !p.on:
		return checker.Options{}
	case !p.on && !terminal:
		return checker.Options{Progress: w, ProgressEvery: seldom}
	case p.on:
		return checker.Options{Progress: w, ProgressInPlace: terminal}
	default:
		return checker.Options{Progress: w, ProgressInPlace: true, ProgressAfter: long}
	}
}

// isTerminal says that somebody may be watching.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && f.Name() != os.DevNull
}
