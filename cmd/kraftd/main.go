// Command kraftd runs a replica, and looks after its directories.
//
//	kraftd random-uuid
//	kraftd format -config node1.properties -cluster-id ID
//	kraftd start -config node1.properties
//	kraftd quorum describe -status -bootstrap-controller 127.0.0.1:9091
//	kraftd quorum add-controller -bootstrap-controller 127.0.0.1:9091 -command-config node4.properties
//	kraftd dump FILE...
//
// kraftd COMMAND -help lists the flags of a command. docs/kraftd.md shows how to run
// three nodes. Exit codes: 0 done, 1 it failed, 2 usage.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/quorate/quorate/impl/metaprops"
	"github.com/quorate/quorate/impl/node/daemon"
)

const usage = `Usage: kraftd COMMAND [flags]

  start        run a replica until it is told to stop
  format       prepare the directories of a replica
  random-uuid  print an id for a cluster or a directory
  quorum       describe a quorum that runs, and change its voters
  dump         print segments, checkpoints, indexes and other files of a replica

kraftd COMMAND -help lists the flags of a command.
`

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		fmt.Fprint(stderr, usage)
		return exitUsage
	}
	switch name, args := args[0], args[1:]; name {
	case "start":
		return daemon.Start("kraftd start", args, stdout, stderr)
	case "format":
		return report(name, stderr, format(args, stdout, stderr))
	case "random-uuid":
		return report(name, stderr, randomUUID(args, stdout, stderr))
	case "quorum":
		return report(name, stderr, quorum(args, stdout, stderr))
	case "dump":
		return report(name, stderr, dump(args, stdout, stderr))
	case "help", "-h", "-help", "--help":
		fmt.Fprint(stdout, usage)
		return exitOK
	default:
		fmt.Fprintf(stderr, "kraftd: unknown command %q\n%s", name, usage)
		return exitUsage
	}
}

// usageError is an error about the command line.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// report prints an error and returns the exit code.
func report(name string, stderr io.Writer, err error) int {
	var u usageError
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return exitOK
	case errors.As(err, &u):
		fmt.Fprintf(stderr, "kraftd %s: %v (see -help)\n", name, err)
		return exitUsage
	}
	fmt.Fprintf(stderr, "kraftd %s: %v\n", name, err)
	return exitFailed
}

// parse parses the flags of a command. What is wrong with them is a usageError; help
// goes to stderr.
func parse(flags *flag.FlagSet, args []string, help string, stderr io.Writer) error {
	flags.SetOutput(io.Discard)
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stderr, help)
		flags.SetOutput(stderr)
		flags.PrintDefaults()
		return err
	}
	if err != nil {
		return usageError{err}
	}
	return nil
}

func randomUUID(args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("random-uuid", flag.ContinueOnError)
	if err := parse(flags, args, "Usage: kraftd random-uuid\n\nPrints a random id for a cluster or a directory.\n", stderr); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return usagef("unexpected argument %q", flags.Arg(0))
	}
	_, err := fmt.Fprintln(stdout, metaprops.NewDirectoryID())
	return err
}
