package daemon

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/quorate/quorate/impl/concern"
	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/metadata"
	"github.com/quorate/quorate/impl/metaprops"
	"github.com/quorate/quorate/impl/node"
	"github.com/quorate/quorate/impl/snapshot"
	event "github.com/quorate/quorate/traces/event/concern"
)

// What is recorded of a node's start and of its cluster id, beside the trace of its replica:
// see package impl/concern.

// recordConcerns begins that, if the replica is recorded from its start on.
func (o *options) recordConcerns() (err error) {
	if o.node.Trace != "" {
		if o.concerns, err = concern.Open(o.node.Trace, int32(o.node.ID)); err != nil {
			key := "quorate.trace.file"
			if o.file.Quorate.TraceFile == "" { // a recording that goes on
				key = "quorate.trace.dir"
			}
			return fmt.Errorf("%s: %s: %w", key, o.node.Trace, err)
		}
	}
	return nil
}

// watch ties what is recorded to the events of the replica.
func (o *options) watch(n *node.Node) {
	o.concerns.Watch(func() (int32, int64) {
		_, events := n.Tracing()
		return n.State().Incarnation, events
	})
}

// fsys is the file system for what is recorded of it.
func (o *options) fsys() fs.FS { return o.concerns.FS(fs.OS{}, Directories(o.file), false) }

func (o *options) record(action string, e event.Event) {
	e.Concern, e.Action = event.ClusterID, action
	o.concerns.Record(e)
}

// foundOf is what there is of the node on its disks.
func (o *options) foundOf(local metadata.Local, set metaprops.Set) *event.Found {
	if o.concerns == nil {
		return nil
	}
	f := &event.Found{
		Role: event.Observer, R2: o.file.Quorate.UnformattedVoters, Zero: local.HasZero,
		ZeroID: local.ZeroClusterID, SnapID: local.SnapshotClusterID, Log: local.HasLog,
	}
	switch {
	case o.file.Broker:
		f.Role = event.Broker
	case o.file.IsVoter():
		f.Role = event.StaticVoter
	case local.HasZero:
		if b, ok, err := metadata.ReadZero(fs.OS{}, o.node.Dir); ok && err == nil && b.IsVoter(int32(o.node.ID)) {
			f.Role = event.DynamicVoter
		}
	}
	for _, d := range set.Dirs {
		f.Dirs = append(f.Dirs, concern.MetaOf(d))
	}
	_, err := os.Stat(filepath.Join(o.node.Dir, metadata.LegacyFile))
	f.Legacy = err == nil
	if id, ok, err := snapshot.Latest(fs.OS{}, filepath.Join(o.node.Dir, logDir)); ok && err == nil {
		f.Snapshot = id.End
	}
	return f
}

// starts records what was found and decided.
func (o *options) starts(d metaprops.Decision, err error) {
	e := event.Event{Found: o.found}
	if err != nil {
		e.Fatal = err.Error()
	} else {
		e.ID, e.Drops = &d.ClusterID, d.DropLog
	}
	o.record("Start", e)
}

// fails records that a data directory goes offline.
func (o *options) fails(dir string) {
	o.record("FailMeta", event.Event{Dir: slices.Index(Directories(o.file), dir)})
}

// remembers records that the node uses its cluster id from now on, or, if it is empty, looks
// for it.
func (o *options) remembers(id string) { o.record("SetMemory", event.Event{ID: &id}) }

// leaves records that a node without a cluster id turns to another leader, and has dropped
// the log of the one before.
func (o *options) leaves() { o.record("Fetch", event.Event{Drops: true}) }

// registered records that the active controller has let the node in.
func (o *options) registered(id string) { o.record("Register", event.Event{ID: &id}) }

// gaveUp records that the node was not let in in time.
func (o *options) gaveUp(err error) { o.record("Timeout", event.Event{Fatal: err.Error()}) }

// legacyDeleted records that bootstrap.checkpoint is gone.
func (o *options) legacyDeleted() {
	o.concerns.Record(event.Event{Concern: event.Bootstrap, Action: "DeleteLegacy"})
}

// becomesVoter is what sees that an observer is a voter now, and records that once; nil if the
// node is none that can become one.
func (o *options) becomesVoter() func(node.State) {
	if o.concerns == nil || !o.observes() || !o.file.Controller || o.found == nil || o.found.Role != event.Observer {
		return nil
	}
	action, is := "AddVoter", false
	if o.file.AutoJoin {
		action = "AutoJoin"
	}
	return func(s node.State) {
		if is || !s.VoterSet.Dynamic() {
			return
		}
		if v, ok := s.VoterSet.Find(o.node.ID); ok && v.Key.Directory == o.node.Directory {
			is = true
			o.record(action, event.Event{})
		}
	}
}

// zeroDeleted is what looks whether the zero checkpoint is gone, and records it once; nil if
// there is none.
func (o *options) zeroDeleted() func() {
	if o.concerns == nil || o.found == nil || !o.found.Zero {
		return nil
	}
	name, gone := filepath.Join(o.node.Dir, logDir, metadata.ZeroID.FileName()), false
	return func() {
		if gone {
			return
		}
		if _, err := os.Stat(name); errors.Is(err, os.ErrNotExist) {
			gone = true
			o.concerns.Record(event.Event{Concern: event.Bootstrap, Action: "DeleteZero"})
		}
	}
}
