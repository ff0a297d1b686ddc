package daemon

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/quorate/quorate/impl/config"
	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/metadata"
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
	if c.Broker && c.Controller {
		return fmt.Errorf("%s: process.roles: kraftd serves no clients of a broker: want controller, or broker for an observer of the metadata log", name)
	}
	listener := c.ControllerListener()
	if c.Controller && len(c.Listeners) > 1 {
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
	if len(c.Voters) == 0 { // else the voters are static
		o.node.Bootstrap, o.node.AutoJoin = c.Bootstrap, c.AutoJoin
		if at := slices.IndexFunc(c.Advertised, func(l config.Listener) bool { return l.Name == listener.Name }); c.Controller && at >= 0 {
			o.node.Advertised = c.Advertised[at].Addr
		}
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
	o.node.LoadsZeroAsSnapshot = c.Quorate.BeforeKIP1170
	if c.Broker {
		o.warnings = append(o.warnings, "process.roles has broker: kraftd keeps the metadata log of one, and has no listener for clients")
	}
	for _, v := range c.Voters {
		o.node.Voters = append(o.node.Voters, node.Voter{ID: core.ReplicaID(v.ID), Addr: v.Addr})
		if v.ID == c.NodeID && c.Controller && c.IsSet("advertised.listeners") && c.Advertised[0].Addr != v.Addr {
			o.warnings = append(o.warnings, fmt.Sprintf("advertised.listeners has %s, but the voters of a static quorum are told %s, as controller.quorum.voters says",
				c.Advertised[0].Addr, v.Addr))
		}
	}
	for _, key := range []string{"controller.quorum.bootstrap.servers", "controller.quorum.auto.join.enable"} {
		if c.IsSet(key) && len(c.Voters) > 0 {
			o.warnings = append(o.warnings, key+" has no effect beside controller.quorum.voters: the voters are static")
		}
	}
	return nil
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

// claim locks the log directories and decides by what they say of themselves, and by the
// configuration, how the node starts: [metaprops.Set.Decide]. Who is refused has touched
// nothing. The metadata directory is left to the node, which locks it itself.
func (o *options) claim(log *slog.Logger) (release func(), err error) {
	dirs := Directories(o.file)
	d, err := o.decide(dirs)
	if err != nil {
		o.starts(d, err)
		return nil, err
	}
	for _, dir := range d.Online.Dirs {
		if err := fs.MkdirAll(fs.OS{}, dir.Path); err != nil {
			return nil, err
		}
	}
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
	// That of the metadata log last: the node locks it anew, and whoever comes in between has
	// failed with the others before.
	for _, dir := range slices.Backward(d.Online.Dirs) {
		unlock, err := node.LockDir(dir.Path)
		if err != nil {
			return nil, fmt.Errorf("lock %s: %w", dir.Path, err)
		}
		locks = append(locks, unlock)
	}
	d, err = o.decide(dirs) // again, since somebody may just have used them
	o.starts(d, err)
	if err != nil {
		return nil, err
	}
	if err := o.prepare(d, log); err != nil {
		return nil, err
	}
	locks[len(locks)-1]()
	locks = locks[:len(locks)-1]
	return unlockAll, nil
}

// decide reads the log directories, and changes nothing.
func (o *options) decide(dirs []string) (metaprops.Decision, error) {
	c := o.file
	local, zeroErr := metadata.ReadLocal(fs.OS{}, dirs[0])
	start := metaprops.Start{
		Node: c.NodeID, Zero: local.ZeroClusterID, Snapshot: local.SnapshotClusterID, HasLog: local.HasLog,
		Bootstrap: metaprops.IsBootstrap(c.Controller, c.IsVoter(), local.HasZero, c.Quorate.UnformattedVoters),
		KeepLog:   c.IsVoter() && c.Quorate.UnformattedVoters,
	}
	set, _ := metaprops.Load(fs.OS{}, dirs) // an error is in the set too
	o.found = o.foundOf(local, set)
	d, err := set.Decide(start, metaprops.NewDirectoryID)
	if errors.Is(err, metaprops.ErrNotFormatted) {
		return d, fmt.Errorf("%w: kraftd format -config %s -cluster-id ID does it", err, c.File)
	}
	if err == nil {
		err = zeroErr
	}
	for _, dir := range dirs[1:] {
		// It is below metadata.log.dir and nowhere else.
		if _, statErr := os.Stat(filepath.Join(dir, logDir)); statErr == nil && err == nil {
			err = fmt.Errorf("%s has a %s, but metadata.log.dir is %s", dir, logDir, dirs[0])
		}
	}
	return d, err
}

// prepare drops a log of which nobody can say whose it is, writes what is missing, and
// tells the node who it is.
func (o *options) prepare(d metaprops.Decision, log *slog.Logger) error {
	o.dirs = d.Online.Dirs
	for _, dir := range d.Offline {
		log.Warn("a log directory is offline", "dir", dir.Path, "error", dir.Err)
	}
	if d.DropLog {
		log.Warn("drops the metadata log: it may be of another cluster than the one that is found", "dir", filepath.Join(o.file.MetadataLogDir, logDir))
		if err := dropLog(o.file.MetadataLogDir); err != nil {
			return err
		}
	}
	if err := o.online(log, func(offline func(metaprops.Dir, error)) error {
		return metaprops.Settle(o.fsys(), o.dirs, o.file.MetadataLogDir, offline)
	}); err != nil {
		return err
	}
	if err := o.persist(d.Write, log); err != nil {
		return err
	}
	o.remembers(d.ClusterID)
	o.node.ClusterID, o.node.Directory = d.ClusterID, core.DirectoryID(d.Directory)
	return nil
}

// persist writes meta.properties of directories.
func (o *options) persist(write []metaprops.Dir, log *slog.Logger) error {
	err := o.online(log, func(offline func(metaprops.Dir, error)) error {
		return metaprops.Persist(o.fsys(), write, o.file.MetadataLogDir, offline)
	})
	if err != nil {
		return err
	}
	for i := range o.dirs {
		for _, w := range write {
			if d := &o.dirs[i]; w.Path == d.Path {
				d.Properties, d.Formatted = w.Properties, true
				log.Info("wrote "+metaprops.FileName, "dir", d.Path, "version", d.Version, "cluster", d.ClusterID, "directory", d.Directory.String())
			}
		}
	}
	return nil
}

// online does something with the directories. One of data with which it fails is not used
// any more.
func (o *options) online(log *slog.Logger, do func(offline func(metaprops.Dir, error)) error) error {
	return do(func(dir metaprops.Dir, err error) {
		log.Warn("a log directory is offline", "dir", dir.Path, "error", err)
		o.fails(dir.Path)
		o.dirs = slices.DeleteFunc(slices.Clone(o.dirs), func(d metaprops.Dir) bool { return d.Path == dir.Path })
	})
}

// dropLog removes log, snapshots and quorum state, which an observer may at any time. The
// number of the incarnation stays, so that no connection is named twice.
func dropLog(dir string) error {
	if err := os.RemoveAll(filepath.Join(dir, logDir)); err != nil {
		return err
	}
	return fs.OS{}.SyncDir(dir)
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
