package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/quorate/quorate/impl/concern"
	"github.com/quorate/quorate/impl/config"
	kraftformat "github.com/quorate/quorate/impl/format"
	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/log"
	"github.com/quorate/quorate/impl/metaprops"
	"github.com/quorate/quorate/impl/node"
	"github.com/quorate/quorate/impl/node/daemon"
)

const formatHelp = `Usage: kraftd format -config FILE -cluster-id ID [flags]

Prepares the log directories of a configuration, as kafka-storage format of Kafka 4.4
does. Each gets meta.properties (version 1): the cluster id, node.id and a new directory
id. All nodes of a cluster must be given the same id; kraftd random-uuid makes one. A
controller also gets the zero checkpoint, with what the first leader is to write into the
log (KIP-1170): the levels of features, from metadata.version 4.5-IV1 on the cluster id
(KIP-1262), and credentials. bootstrap.checkpoint is not written.

A controller with controller.quorum.voters needs no more. One without, of a dynamic
quorum, needs one of -standalone, -initial-controllers and -no-initial-controllers.

A directory that is formatted already is an error, and so is one of another node or
cluster. With -ignore-formatted those of this node and cluster are left as they are. A
directory that a node uses is not touched. Where something is refused, nothing is written.

`

// formatFlags are the flags of the command.
type formatFlags struct {
	file, cluster, release, initial string
	ignore, standalone, noInitial   bool
	features, credentials           texts
}

// texts is a flag that may be given several times.
type texts []string

func (t *texts) String() string     { return strings.Join(*t, " ") }
func (t *texts) Set(s string) error { *t = append(*t, s); return nil }

func format(args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("format", flag.ContinueOnError)
	var f formatFlags
	both := func(add func(name string), names ...string) {
		for _, name := range names {
			add(name)
		}
	}
	both(func(n string) { flags.StringVar(&f.file, n, "", "configuration file") }, "config", "c")
	both(func(n string) { flags.StringVar(&f.cluster, n, "", "id of the cluster") }, "cluster-id", "t")
	both(func(n string) {
		flags.BoolVar(&f.ignore, n, false, "leave directories as they are that are formatted already")
	}, "ignore-formatted", "g")
	both(func(n string) {
		flags.StringVar(&f.release, n, "", "release whose features the cluster begins with, such as 4.4-IV2 or 4.4; empty: the latest")
	}, "release-version", "r")
	both(func(n string) {
		flags.Var(&f.features, n, "`name=level` of a feature, such as group.version=1; may be given several times")
	}, "feature", "f")
	both(func(n string) {
		flags.Var(&f.credentials, n, "`credential` that the cluster begins with, such as SCRAM-SHA-256=[name=alice,password=secret]; may be given several times")
	}, "add-scram", "S")
	both(func(n string) {
		flags.BoolVar(&f.standalone, n, false, "the node is the only voter of a dynamic quorum")
	}, "standalone", "s")
	both(func(n string) {
		flags.StringVar(&f.initial, n, "", "`voters` that a dynamic quorum begins with: id@host:port:directory, separated by commas; the same at all nodes")
	}, "initial-controllers", "I")
	both(func(n string) {
		flags.BoolVar(&f.noInitial, n, false, "the node is to join a dynamic quorum that there is")
	}, "no-initial-controllers", "N")
	if err := parse(flags, args, formatHelp, stderr); err != nil {
		return err
	}
	switch {
	case flags.NArg() > 0:
		return usagef("unexpected argument %q", flags.Arg(0))
	case f.file == "":
		return usagef("-config is required")
	case strings.TrimSpace(f.cluster) != f.cluster || strings.ContainsFunc(f.cluster, func(r rune) bool { return r < ' ' }):
		return usagef("-cluster-id %q: white space at an end, or control characters", f.cluster)
	}
	c, err := config.Load(f.file)
	if err != nil {
		return usageError{err}
	}
	for _, w := range c.Warnings {
		fmt.Fprintf(stderr, "kraftd format: warning: %s\n", w)
	}
	o, err := f.options(c)
	if err != nil {
		return usageError{err}
	}
	plan, err := kraftformat.New(o)
	if err != nil {
		return usageError{err}
	}
	var trace *concern.Recorder
	if name := c.Quorate.TraceFile; name != "" {
		if trace, err = concern.Open(name, c.NodeID); err != nil {
			return fmt.Errorf("quorate.trace.file=%s: %w", name, err)
		}
		defer trace.Close()
	}
	return formatAll(plan, trace.FS(fs.OS{}, o.Dirs, true), o.Dirs, o.Node, f.cluster, stdout)
}

// options are those of the flags and the configuration.
func (f *formatFlags) options(c *config.Config) (kraftformat.Options, error) {
	o := kraftformat.Options{
		Node: c.NodeID, Controller: c.Controller, StaticVoters: len(c.Voters) > 0, Dirs: daemon.Directories(c),
		ClusterID: f.cluster, MayLackID: c.Quorate.UnformattedVoters, NoInitial: f.noInitial, IgnoreFormatted: f.ignore,
		Release: f.release, Unstable: c.UnstableFeatures,
		Timestamp: time.Now().UnixMilli(), NewID: metaprops.NewDirectoryID,
	}
	quorum := c.ControllerListeners[0]
	if f.standalone {
		o.Standalone = new(log.VoterEndpoint)
		if c.Controller {
			at := slices.IndexFunc(c.Advertised, func(l config.Listener) bool { return l.Name == quorum })
			e, err := kraftformat.ParseEndpoint(quorum, c.Advertised[at].Addr)
			if err != nil {
				return o, fmt.Errorf("-standalone: the voter set says where others reach the node, and %w: advertised.listeners can say it", err)
			}
			*o.Standalone = e
		}
	}
	var err error
	if f.initial != "" {
		if o.Initial, err = kraftformat.ParseVoters(f.initial, quorum); err != nil {
			return o, fmt.Errorf("-initial-controllers %w", err)
		}
	}
	for _, text := range f.features {
		name, level, err := kraftformat.ParseFeature(text)
		if err != nil {
			return o, fmt.Errorf("-feature %w", err)
		}
		if o.Features == nil {
			o.Features = map[string]int16{}
		}
		if before, ok := o.Features[name]; ok && before != level {
			return o, fmt.Errorf("-feature %s is given twice, as %d and %d", name, before, level)
		}
		o.Features[name] = level
	}
	for _, text := range f.credentials {
		credential, err := kraftformat.ParseCredential(text)
		if err != nil {
			return o, fmt.Errorf("-add-scram %w", err)
		}
		o.Credentials = append(o.Credentials, credential)
	}
	return o, nil
}

// formatAll formats what is not formatted. Who is refused has touched nothing: directories
// are looked at before they are locked, and again after.
func formatAll(plan *kraftformat.Plan, fsys fs.FS, dirs []string, id int32, cluster string, stdout io.Writer) error {
	todo, err := plan.Check(fsys)
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
			continue // nobody uses it
		}
		unlock, err := node.LockDir(dir)
		if err != nil {
			return fmt.Errorf("lock %s: %w", dir, err)
		}
		defer unlock()
	}
	if todo == 0 {
		fmt.Fprintln(stdout, "All of the log directories are already formatted.")
	}
	return plan.Run(fsys, func(d kraftformat.Formatted) {
		of := "cluster " + cluster
		if cluster == "" {
			of = "a cluster that has no id yet"
		}
		fmt.Fprintf(stdout, "Formatted %s directory %s for node %d of %s, with directory id %s and metadata.version %s.\n",
			d.Kind, d.Path, id, of, d.Directory, plan.Version())
	})
}
