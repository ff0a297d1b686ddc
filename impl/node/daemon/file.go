package daemon

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/quorate/quorate/impl/config"
	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/metaprops"
	"github.com/quorate/quorate/impl/node"
	"github.com/quorate/quorate/impl/snapshot"
)

// logDir is the directory of the log, below metadata.log.dir.
const logDir = "__cluster_metadata-0"

// load maps a configuration file onto the configuration of a node. Cluster and
// directory id follow when the directories are claimed.
func (o *options) load(name string) error {
	c, err := config.Load(name)
	if err != nil {
		return err
	}
	o.file, o.warnings = c, c.Warnings
	if o.metrics == "" {
		o.metrics = c.Quorate.MetricsListener
	}
	switch {
	case c.Broker:
		return fmt.Errorf("%s: process.roles: kraftd is a controller and no broker; kraftd format can prepare the directories of one", name)
	case len(c.Voters) == 0:
		return fmt.Errorf("%s: a quorum without controller.quorum.voters needs a dynamic voter set (kraft.version 1), which is not supported yet", name)
	}
	listener := c.ControllerListener()
	if len(c.Listeners) > 1 {
		return fmt.Errorf("%s: listeners: more than one is not supported yet", name)
	}
	o.node = node.Config{
		ID: core.ReplicaID(c.NodeID), Dir: c.MetadataLogDir, Listen: listener.Addr, ListenerName: listener.Name,
		ClientListen: c.Quorate.ClientListener, Trace: c.Quorate.TraceFile,
		Core: core.Config{
			ElectionTimeout: ticks(c.Quorum.ElectionTimeout), FetchTimeout: ticks(c.Quorum.FetchTimeout),
			ElectionBackoffMax: ticks(c.Quorum.ElectionBackoffMax), RequestTimeout: ticks(c.Quorum.RequestTimeout),
			RetryBackoff: ticks(c.Quorum.RetryBackoff), AppendLinger: ticks(c.Quorum.AppendLinger),
		},
	}
	o.node.Snapshots = snapshot.Policy{MaxBytes: c.Log.SnapshotBytes, MaxIntervalMs: c.Log.SnapshotInterval.Milliseconds()}
	o.node.Retention = retention(c)
	o.node.SuperUsers, o.node.MaxConnections = c.SuperUsers, c.MaxConnections
	if listener.Protocol == config.TLS {
		if o.node.TLS, err = TLS(c.SSL); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	o.node.Log.SegmentBytes, o.node.Log.SegmentMs = c.Log.SegmentBytes, c.Log.SegmentAge.Milliseconds()
	for _, v := range c.Voters {
		o.node.Voters = append(o.node.Voters, node.Voter{ID: core.ReplicaID(v.ID), Addr: v.Addr})
		if v.ID == c.NodeID && c.IsSet("advertised.listeners") && c.Advertised[0].Addr != v.Addr {
			o.warnings = append(o.warnings, fmt.Sprintf("advertised.listeners has %s, but the voters of a static quorum are told %s, as controller.quorum.voters says",
				c.Advertised[0].Addr, v.Addr))
		}
	}
	for _, key := range ineffective {
		if c.IsSet(key) {
			o.warnings = append(o.warnings, key+" has no effect yet")
		}
	}
	return nil
}

// ineffective are keys that are read and checked, and nothing more so far.
var ineffective = []string{
	"controller.quorum.bootstrap.servers",
}

// retention is how much is kept: less than 0 is no limit, as in Kafka.
func retention(c *config.Config) snapshot.Retention {
	r := snapshot.Retention{MaxBytes: c.Log.RetentionBytes, MaxMs: c.Log.RetentionAge.Milliseconds()}
	if r == (snapshot.Retention{}) {
		r.MaxBytes = 1 // nothing but what must be kept, which is what 0 says; a zero value means the default
	}
	return r
}

func ticks(d time.Duration) core.Ticks { return core.Ticks(d.Milliseconds()) }

// claim locks the log directories and holds what they say of themselves against the
// configuration. It gives a directory id to one that has none. The metadata directory
// is left to the node, which locks it itself.
func (o *options) claim(log *slog.Logger) (release func(), err error) {
	dirs := Directories(o.file)
	var locks []func()
	unlockAll := func() {
		for _, unlock := range locks {
			unlock()
		}
	}
	defer func() {
		if err != nil {
			unlockAll()
		}
	}()
	for _, dir := range dirs {
		unlock, err := node.LockDir(dir)
		if errors.Is(err, os.ErrNotExist) {
			return nil, notFormatted(o.file, dir)
		}
		if err != nil {
			return nil, fmt.Errorf("lock %s: %w", dir, err)
		}
		locks = append(locks, unlock)
	}
	set, err := metaprops.Load(fs.OS{}, dirs)
	if err != nil {
		return nil, err
	}
	if err := set.Check(o.file.NodeID, ""); err != nil {
		return nil, err
	}
	o.node.ClusterID = set.ClusterID()
	if o.node.ClusterID == "" && set.Dirs[0].Formatted {
		return nil, fmt.Errorf("%s has no cluster.id, and to learn it from the quorum is not supported yet", filepath.Join(dirs[0], metaprops.FileName))
	}
	for i, d := range set.Dirs {
		if !d.Formatted {
			return nil, notFormatted(o.file, d.Path)
		}
		// It is below metadata.log.dir and nowhere else.
		if _, err := os.Stat(filepath.Join(d.Path, logDir)); err == nil && i > 0 {
			return nil, fmt.Errorf("%s has a %s, but metadata.log.dir is %s", d.Path, logDir, dirs[0])
		}
		if d.Directory == (metaprops.DirectoryID{}) && d.Version > 0 {
			d.Directory = metaprops.NewDirectoryID()
			if err := metaprops.Write(fs.OS{}, d.Path, d.Properties); err != nil {
				return nil, err
			}
			log.Info("gave a directory id", "dir", d.Path, "directory", d.Directory.String())
		}
		if i == 0 {
			o.node.Directory = core.DirectoryID(d.Directory)
		}
	}
	locks[0]()
	locks = locks[1:]
	return unlockAll, nil
}

func notFormatted(c *config.Config, dir string) error {
	return fmt.Errorf("%s is not formatted: kraftd format -config %s -cluster-id ID does it", dir, c.File)
}

// Directories are the log directories of a configuration, each once, that of the
// metadata log first.
func Directories(c *config.Config) []string {
	dirs := []string{c.MetadataLogDir}
	for _, dir := range c.LogDirs {
		if filepath.Clean(dir) != filepath.Clean(c.MetadataLogDir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}
