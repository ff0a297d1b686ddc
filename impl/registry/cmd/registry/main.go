// Command registry is a schema registry that is fed by a journal and starts from
// checkpoints; docs/registry.md tells how it is used.
package main

import (
	"os"

	"github.com/quorate/quorate/impl/registry/cli"
)

func main() { os.Exit(cli.Main(nil, os.Args[1:])) }
