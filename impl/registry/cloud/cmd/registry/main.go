// Command registry is that of impl/registry, which also keeps images in buckets:
// --objects s3://NAME, gs://NAME or azblob://NAME. Build it with the tag cloud, which links
// the SDKs; without it only file:///DIR is known, as gocloud.dev/blob writes it.
package main

import (
	"os"

	"github.com/quorate/quorate/impl/registry/cli"
	"github.com/quorate/quorate/impl/registry/cloud"
	_ "gocloud.dev/blob/fileblob" // file://
)

// openers by scheme.
var openers = map[string]cli.Opener{"file": cloud.Open}

func main() { os.Exit(cli.Main(openers, os.Args[1:])) }
