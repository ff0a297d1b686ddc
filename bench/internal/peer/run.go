// Package peer runs other model checkers as processes and reads what they print, so
// that they can be compared with ours.
package peer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Run is a process that has ended.
type Run struct {
	// Output is what it wrote, standard error included.
	Output string
	// Exit is its exit code.
	Exit int
	// Seconds it took by the clock, CPU seconds of all its threads.
	Seconds, CPU float64
	// PeakRSS is its largest resident set in bytes, 0 where the system does not tell.
	// It counts from the moment of the fork, so it is never less than what this
	// process held then.
	PeakRSS int64
}

// Do runs a command in a directory and waits for its end. An exit code other than 0
// is no error: checkers tell their verdict by it.
func Do(ctx context.Context, dir, name string, args ...string) (*Run, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	begin := time.Now()
	err := cmd.Run()
	r := &Run{Output: out.String(), Seconds: time.Since(begin).Seconds()}
	if ctx.Err() != nil {
		return r, fmt.Errorf("%s: stopped after %.0f s: %w", name, r.Seconds, ctx.Err())
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return r, err
	}
	s := cmd.ProcessState
	r.Exit = s.ExitCode()
	r.CPU = (s.UserTime() + s.SystemTime()).Seconds()
	r.PeakRSS = peakRSS(s)
	return r, nil
}

// Must is Do for a command that has to succeed, such as a compiler.
func Must(ctx context.Context, dir, name string, args ...string) error {
	r, err := Do(ctx, dir, name, args...)
	if err == nil && r.Exit != 0 {
		err = fmt.Errorf("exit code %d", r.Exit)
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, r.Tail(10))
	}
	return nil
}

// Tail is the last lines of the output.
func (r *Run) Tail(lines int) string {
	all := strings.Split(strings.TrimRight(r.Output, "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// Clear makes an empty directory.
func Clear(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return os.MkdirAll(dir, 0o755)
}
