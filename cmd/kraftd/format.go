package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/quorate/quorate/impl/config"
	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/metaprops"
	"github.com/quorate/quorate/impl/node"
	"github.com/quorate/quorate/impl/node/daemon"
)

const formatHelp = `Usage: kraftd format -config FILE -cluster-id ID [-ignore-formatted]

Makes the log directories of a configuration and writes meta.properties (version 1)
into each: the cluster id, node.id and a new directory id. kraftd start refuses
directories without it, or with that of another node or cluster. All nodes of a cluster
must be given the same id; kraftd random-uuid makes one.

A directory that is formatted already is an error, and so is one of another node or
cluster. With -ignore-formatted those of this node and cluster are left as they are. A
directory that a node uses is not touched.

What Kafka's format does beyond is not supported yet: it writes no bootstrap records
(bootstrap.checkpoint, or the zero checkpoint of KIP-1170), so there is no
-release-version, -feature and -add-scram, and the voter set is static
(controller.quorum.voters): there is no -standalone, -initial-controllers and
-no-initial-controllers.

`

func format(args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("format", flag.ContinueOnError)
	var file, cluster string
	var ignore bool
	for _, name := range []string{"config", "c"} {
		flags.StringVar(&file, name, "", "configuration file")
	}
	for _, name := range []string{"cluster-id", "t"} {
		flags.StringVar(&cluster, name, "", "id of the cluster")
	}
	for _, name := range []string{"ignore-formatted", "g"} {
		flags.BoolVar(&ignore, name, false, "leave directories as they are that are formatted already")
	}
	if err := parse(flags, args, formatHelp, stderr); err != nil {
		return err
	}
	switch {
	case flags.NArg() > 0:
		return usagef("unexpected argument %q", flags.Arg(0))
	case file == "":
		return usagef("-config is required")
	case cluster == "":
		return usagef("-cluster-id is required")
	case strings.TrimSpace(cluster) != cluster || strings.ContainsFunc(cluster, func(r rune) bool { return r < ' ' }):
		return usagef("-cluster-id %q: white space at an end, or control characters", cluster)
	}
	c, err := config.Load(file)
	if err != nil {
		return usageError{err}
	}
	for _, w := range c.Warnings {
		fmt.Fprintf(stderr, "kraftd format: warning: %s\n", w)
	}
	return formatAll(daemon.Directories(c), c.NodeID, cluster, ignore, stdout)
}

// formatAll formats what is not formatted, the first directory, which is that of the
// metadata log, last: once it is, all are.
func formatAll(dirs []string, id int32, cluster string, ignore bool, stdout io.Writer) error {
	for _, dir := range dirs {
		if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
			continue // made below, when nothing is wrong with the others
		}
		unlock, err := node.LockDir(dir)
		if err != nil {
			return fmt.Errorf("lock %s: %w", dir, err)
		}
		defer unlock()
	}
	set, err := metaprops.Load(fs.OS{}, dirs)
	if err != nil {
		return err
	}
	todo := 0
	for _, d := range set.Dirs {
		switch {
		case !d.Formatted:
			todo++
		case !ignore:
			return fmt.Errorf("%s is already formatted, for node %d of cluster %q; -ignore-formatted leaves it as it is and formats the others",
				d.Path, d.NodeID, d.ClusterID)
		}
	}
	if err := set.Check(id, cluster); err != nil {
		return err
	}
	if todo == 0 {
		fmt.Fprintln(stdout, "All of the log directories are already formatted.")
		return nil
	}
	for i := len(dirs) - 1; i >= 0; i-- {
		if set.Dirs[i].Formatted {
			continue
		}
		p := metaprops.Properties{Version: 1, ClusterID: cluster, NodeID: id, Directory: metaprops.NewDirectoryID()}
		if err := formatOne(dirs[i], p); err != nil {
			return err
		}
		kind := "data"
		if i == 0 {
			kind = "metadata"
		}
		fmt.Fprintf(stdout, "Formatted %s directory %s for node %d of cluster %s, with directory id %s.\n", kind, dirs[i], id, cluster, p.Directory)
	}
	return nil
}

func formatOne(dir string, p metaprops.Properties) error {
	above := []string{filepath.Dir(dir)} // of dir and of what is made with it
	for {
		last := above[len(above)-1]
		if _, err := os.Stat(last); err == nil || filepath.Dir(last) == last {
			break
		}
		above = append(above, filepath.Dir(last))
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, d := range above {
		if err := (fs.OS{}).SyncDir(d); err != nil {
			return fmt.Errorf("flush %s: %w", d, err)
		}
	}
	return metaprops.Write(fs.OS{}, dir, p)
}
