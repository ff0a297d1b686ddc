package node

import (
	"encoding/binary"
	"errors"
	"os"
	"path"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/driver"
	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/snapshot"
	"github.com/quorate/quorate/traces/event"
	"github.com/quorate/quorate/traces/event/mapped"
)

// A process can be killed when an action has changed a file and its event is not in
// the trace yet: then the next incarnation finds on its disk what no event tells
// of. So the actions of a step that are about to change files stand in a file of
// their own before they do, and the next incarnation adds the one that was in
// progress to the trace if its changes are found on the disk: what is recorded is
// still what happened. Its sends never left. The file needs no flush: like the
// trace, it has to survive the process, not the machine.

// pendingFile is its name in the directory of the replica.
const pendingFile = "trace.pending"

// pending is that file, mapped: a number of bytes, and from [mapped.Head] on so many, with
// events in the binary form, each after its length.
type pending struct {
	f    *mapped.File
	path string
	buf  []byte
}

// write notes the actions of a step that change files. seq is that of the last
// event before the step.
func (p *pending) write(n *Node, in *input, seq int64) error {
	p.buf = p.buf[:0]
	changes := false
	for i := range n.effects.Ops {
		op := &n.effects.Ops[i]
		switch op.Kind {
		case core.OpPersist, core.OpAppendLeaderChange, core.OpAppendVoters, core.OpAppendData, core.OpAppendRaw, core.OpTruncate,
			core.OpInstallSnapshot, core.OpAdvanceLogStart:
			changes = true
		case core.OpEvent:
			seq++
			if changes {
				p.add(n, in, op.Event, seq)
			}
			changes = false
		}
	}
	if len(p.buf) == 0 {
		return nil // what stands there has been recorded
	}
	return p.store()
}

// store has the file hold what was noted, and at no time a part of it.
func (p *pending) store() error {
	return p.f.Replace(p.buf, mapped.Head, 0, uint64(len(p.buf)))
}

func (p *pending) add(n *Node, in *input, of *event.Event, seq int64) {
	e := *of
	e.Node, e.Inc, e.Seq, e.Step = n.self(), n.incarnation, seq, n.steps
	if e.Recv != nil {
		m := *e.Recv
		m.Conn, m.External = in.link.Conn, in.link.External
		e.Recv = &m
	}
	e.Send = nil
	p.buf = appendPending(p.buf, &e)
}

func appendPending(b []byte, e *event.Event) []byte {
	at := len(b)
	b = event.AppendBinary(append(b, 0, 0, 0, 0), e)
	binary.LittleEndian.PutUint32(b[at:], uint32(len(b)-at-4))
	return b
}

// readPending gives the events that a process was about to record, none if the file is not
// there or none was noted. A file that is damaged has the events before the damage.
func readPending(dir string, node event.Node) (events []event.Event, err error) {
	b, err := os.ReadFile(path.Join(dir, pendingFile))
	if errors.Is(err, os.ErrNotExist) || err == nil && len(b) < mapped.Head {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	size, b := binary.LittleEndian.Uint64(b), b[mapped.Head:]
	if size > uint64(len(b)) {
		return nil, nil
	}
	b = b[:size]
	for len(b) >= 4 {
		n, rest := uint64(binary.LittleEndian.Uint32(b)), b[4:]
		if n > uint64(len(rest)) {
			break
		}
		var e event.Event
		if event.DecodeBinary(rest[:n], node, &e) != nil {
			break
		}
		events, b = append(events, e), rest[n:]
	}
	return events, nil
}

// close removes the file if nothing is in progress.
func (p *pending) close(clean bool) {
	p.f.Close(mapped.Head + int64(len(p.buf)))
	if clean {
		os.Remove(p.path)
	}
}

// openPending opens the file, empty.
func openPending(dir string) (*pending, error) {
	p := &pending{path: path.Join(dir, pendingFile)}
	var err error
	if p.f, err = mapped.Open(p.path, os.O_CREATE|os.O_TRUNC, 0o644); err != nil {
		return nil, err
	}
	return p, nil
}

// completeTrace adds to a trace whose last event is given what its process did last, if it
// is found on the disk: the action that it was killed in, and a snapshot that was
// durable and not taken by the replica yet.
func completeTrace(trace, dir string, last *event.Event, d *driver.Driver) error {
	if err := completeAction(trace, dir, last, d); err != nil {
		return err
	}
	all := d.Disk().Snapshots
	if len(all) == 0 {
		return nil
	}
	id := event.SnapshotID{End: int64(all[len(all)-1].ID.End), Epoch: int32(all[len(all)-1].ID.Epoch)}
	if id.End <= last.State.Snapshot.End || id.End > last.State.HighWatermark {
		return nil
	}
	e := *last
	e.Seq, e.Step = last.Seq+1, last.Step+1
	e.Action, e.Args, e.Recv, e.Send, e.Log = "TakeSnapshot", event.Args{Snapshot: id}, nil, nil, nil
	e.State.Has |= event.HasSnapshot
	e.State.Snapshot, e.Durable = id, &event.Durable{LogEnd: -1, Snapshot: id}
	return event.Amend(trace, &e)
}

// untold are the snapshots that no event can tell of: written when a new leader did not
// know the high watermark, so that the replica had not taken them when it was killed.
// They are deleted, as if they had not been finished. last is the last event of the
// process before.
func untold(fsys fs.FS, dir string, last *event.Event) error {
	ids, err := snapshot.List(fsys, dir)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	for _, id := range ids {
		received := id.End == last.State.Fetching.Snapshot.End && id.Epoch == last.State.Fetching.Snapshot.Epoch
		if id.End > last.State.Snapshot.End && id.End > last.State.HighWatermark && !received {
			if err := snapshot.Delete(fsys, dir, id); err != nil {
				return err
			}
		}
	}
	return nil
}

// completeAction adds the action that the process was killed in. last becomes it.
func completeAction(trace, dir string, last *event.Event, d *driver.Driver) error {
	events, err := readPending(dir, last.Node)
	if err != nil {
		return err
	}
	for _, e := range events {
		if e.Inc != last.Inc || e.Seq != last.Seq+1 || !happened(&e, d) {
			continue
		}
		digest, known := d.Digest()
		if e.Log != nil {
			e.Log.Digest, e.Log.NoDigest = digest, !known
		}
		if known {
			e.State.Has |= event.HasDigest
			e.State.Digest = digest
		} else if e.Log != nil {
			e.Log.Digest = 0
		}
		*last = e
		return event.Amend(trace, &e)
	}
	return nil
}

// happened says whether the disk is as the action was to leave it.
func happened(e *event.Event, d *driver.Driver) bool {
	disk := d.Disk()
	was := disk.Election
	if d := e.Durable; d != nil && d.Snapshot != (event.SnapshotID{}) {
		id := core.SnapshotID{End: core.Offset(d.Snapshot.End), Epoch: core.Epoch(d.Snapshot.Epoch)}
		if n := len(disk.Snapshots); n == 0 || disk.Snapshots[n-1].ID != id {
			return false
		}
	}
	return disk.HasElection && int32(was.Epoch) == e.State.Epoch && int32(was.Leader) == e.State.Leader &&
		int32(was.Voted.ID) == e.State.Voted && int64(disk.LogEnd) == e.State.LogEnd && int64(disk.LogStart) == e.State.LogStart
}
