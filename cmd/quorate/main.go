// Command quorate explores specifications.
//
//	quorate models
//	quorate check -model elect3_3
//	quorate find -model elect3_3 'leaders == 2'
//	quorate graph -model 2pc3 -format dot
//
// It exits with 0 if what was asked for holds, 1 if it is violated, 2 if the
// question is malformed, and 3 if a limit was reached before the end.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
)

// Exit codes.
const (
	exitHolds    = 0
	exitViolated = 1
	exitUsage    = 2
	exitLimit    = 3
)

func main() {
	survivePipes()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// verdict is an answer that is not an error, as an exit code.
type verdict int

func (v verdict) Error() string { return fmt.Sprintf("exit code %d", int(v)) }

// run is main without the process around it.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	cmd := newCommand()
	cmd.SetArgs(normalise(args))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd.SetOut(&pipe{Writer: stdout, cancel: cancel})
	cmd.SetErr(stderr)
	strict(cmd)
	err := cmd.ExecuteContext(ctx)
	var v verdict
	switch {
	case err == nil:
		return exitHolds
	case errors.As(err, &v):
		return int(v)
	default:
		fmt.Fprintf(stderr, "quorate: %v\n", err)
		return exitUsage
	}
}

var longFlag = regexp.MustCompile(`^-[a-z][a-z-]+(=|$)`)

// normalise lets flags be written with one dash, as Go's own tools have them.
func normalise(args []string) []string {
	list := make([]string, 0, len(args))
	for i, a := range args {
		if a == "--" {
			return append(list, args[i:]...)
		}
		if longFlag.MatchString(a) {
			a = "-" + a
		}
		list = append(list, a)
	}
	return list
}
