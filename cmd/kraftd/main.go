// Command kraftd runs a replica.
//
//	kraftd start -id 1 -dir d1 -voters 1@127.0.0.1:9091,2@127.0.0.1:9092,3@127.0.0.1:9093
//
// kraftd start -help lists the flags. It exits with 0 when it was told to stop, 1 if
// the replica failed, 2 for a usage error.
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/quorate/quorate/impl/node/daemon"
)

const usage = `Usage: kraftd start [flags]

  start   run a replica until it is told to stop (kraftd start -help lists the flags)
`

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		fmt.Fprint(stderr, usage)
		return 2
	}
	switch args[0] {
	case "start":
		return daemon.Start("kraftd start", args[1:], stdout, stderr)
	case "help", "-h", "-help", "--help":
		fmt.Fprint(stdout, usage)
		return 0
	}
	fmt.Fprintf(stderr, "kraftd: unknown command %q\n%s", args[0], usage)
	return 2
}
