package driver

import (
	"fmt"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/log"
	"github.com/quorate/quorate/impl/snapshot"
	"github.com/quorate/quorate/traces/event"
)

// stop keeps what Unrecorded needs: the ops of the action that was in progress,
// up to its event.
func (d *Driver) stop(ops []core.Op, link Link) {
	d.pending, d.pendingLink = nil, link
	writes := false
	for i := range ops {
		switch ops[i].Kind {
		case core.OpPersist, core.OpAppendLeaderChange, core.OpAppendVoters, core.OpAppendData, core.OpAppendRaw, core.OpTruncate,
			core.OpInstallSnapshot, core.OpAdvanceLogStart:
			writes = true
		case core.OpEvent:
			if writes {
				d.pending = ops[:i+1]
			}
			return
		}
	}
}

// Unrecorded is for a simulator. It tells of the action in which Apply was
// stopped before its event was recorded, and which may have left something on
// disk all the same.
type Unrecorded struct {
	// Event is the event as it would have been recorded, but with nothing sent.
	Event *event.Event
	// Log is the log as the action was to leave it, on the scratch file system.
	Log *log.Log
	// Election is what the action was to write; HasElection false: nothing.
	Election    core.Election
	HasElection bool
}

// Unrecorded is nil unless Interrupted. It carries the changes of the log out on
// scratch, which must hold the log with at least all that was recorded, to learn
// their runs and digests.
func (d *Driver) Unrecorded(scratch fs.FS) (*Unrecorded, error) {
	var logOps []*core.Op
	u := &Unrecorded{}
	for i := range d.pending {
		switch op := &d.pending[i]; op.Kind {
		case core.OpPersist:
			u.Election, u.HasElection = op.Election, true
		case core.OpAppendLeaderChange, core.OpAppendVoters, core.OpAppendData, core.OpAppendRaw, core.OpTruncate,
			core.OpInstallSnapshot, core.OpAdvanceLogStart:
			logOps = append(logOps, op)
		case core.OpEvent:
			e := *op.Event
			u.Event = &e
		}
	}
	if u.Event == nil {
		return nil, nil
	}
	copied, _, err := log.Open(scratch, d.dir, d.cfg.Log)
	if err != nil {
		return nil, fmt.Errorf("scratch: %w", err)
	}
	u.Log = copied
	again := &Driver{
		cfg: d.cfg, node: d.node, seq: d.seq, step: d.step, log: copied,
		saved: u.Election, hasSaved: u.HasElection, timestamp: d.timestamp,
		dir: d.dir, snap: snapshots{fsys: scratch}, rebased: d.rebased,
	}
	if err := again.redo(d.recordedEnd, logOps); err != nil {
		return nil, fmt.Errorf("scratch: %w", err)
	}
	u.Event.Send = nil
	if err := again.complete(u.Event, d.pendingLink); err != nil {
		return nil, fmt.Errorf("scratch: %w", err)
	}
	return u, nil
}

func (d *Driver) redo(recorded int64, ops []*core.Op) error {
	if len(ops) == 1 && ops[0].Kind == core.OpInstallSnapshot {
		return d.redoInstall(ops[0])
	}
	if _, err := d.log.TruncateTo(recorded); err != nil {
		return err
	}
	if err := d.log.Flush(); err != nil {
		return err
	}
	if d.log.EndOffset() < recorded {
		return d.redoCut(recorded, ops)
	}
	for _, op := range ops {
		var err error
		switch op.Kind {
		case core.OpTruncate:
			err = d.truncate(op)
		case core.OpAdvanceLogStart:
			err = d.advance(op)
		default:
			err = d.append(op)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// redoCut is for a truncation that has been carried out already.
func (d *Driver) redoCut(recorded int64, ops []*core.Op) error {
	if len(ops) == 0 || ops[0].Kind != core.OpTruncate {
		return fmt.Errorf("log ends at %d, before what was recorded up to %d", d.log.EndOffset(), recorded)
	}
	end := int64(ops[0].End)
	if d.log.EndOffset() < end {
		return fmt.Errorf("log ends at %d, before the truncation to %d", d.log.EndOffset(), end)
	}
	if _, err := d.log.TruncateTo(end); err != nil {
		return err
	}
	d.changed = true
	d.change = event.LogChange{Truncated: end, Base: end, Digest: d.log.Digest()}
	return nil
}

// redoInstall is for a snapshot that has its name: without it nothing has happened.
func (d *Driver) redoInstall(op *core.Op) error {
	id := stored(op.SnapshotID)
	r, err := snapshot.Open(d.snap.fsys, d.dir, id)
	if err != nil {
		return err
	}
	if err := r.Close(); err != nil {
		return err
	}
	if err := d.reset(id); err != nil {
		return err
	}
	d.changed = true
	d.change = event.LogChange{Truncated: -1, Reset: id.End, Base: id.End, Digest: d.log.Digest()}
	return nil
}
