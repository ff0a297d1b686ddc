package node

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/driver"
	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/snapshot"
	"github.com/quorate/quorate/traces/event"
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

// pending is that file.
type pending struct {
	f    *os.File
	buf  []byte
	size int
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
	p.buf = append(p.buf, '\n')
	size := len(p.buf)
	for len(p.buf) < p.size {
		p.buf = append(p.buf, '\n') // nothing is left of a longer one
	}
	p.size = size
	_, err := p.f.WriteAt(p.buf, 0)
	return err
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
	p.buf = append(event.AppendJSON(p.buf, &e), '\n')
}

// close removes the file: nothing is in progress.
func (p *pending) close(clean bool) {
	p.f.Close()
	if clean {
		os.Remove(p.f.Name())
	}
}

// openPending opens the file, empty.
func openPending(dir string) (*pending, error) {
	f, err := os.OpenFile(path.Join(dir, pendingFile), os.O_CREATE|os.O_RDWR|os.O_TRUNC, 0o644)
	if err != nil {
		return nil, err
	}
	return &pending{f: f}, nil
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
	return addEvent(trace, &e)
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
	text, err := os.ReadFile(path.Join(dir, pendingFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	for line := range bytes.SplitSeq(text, []byte{'\n'}) {
		var e event.Event
		if len(line) == 0 || event.Decode(line, &e) != nil {
			return nil // the end, or killed while it was written
		}
		if e.Node != last.Node || e.Inc != last.Inc || e.Seq != last.Seq+1 || !happened(&e, d) {
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
		return addEvent(trace, &e)
	}
	return nil
}

func addEvent(trace string, e *event.Event) error {
	f, err := os.OpenFile(trace, os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(append(event.AppendJSON(nil, e), '\n'))
	return errors.Join(err, f.Close())
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

// lastEvent finds the last event of a trace; false if there is none, or if the file
// ends in a torn line, after which nothing of that incarnation may follow.
func lastEvent(trace string) (last event.Event, found bool, err error) {
	f, err := os.Open(trace)
	if errors.Is(err, os.ErrNotExist) {
		return last, false, nil
	} else if err != nil {
		return last, false, err
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return last, false, err
	}
	for want := int64(1 << 16); ; want *= 4 {
		tail := make([]byte, min(want, size))
		if _, err := f.ReadAt(tail, size-int64(len(tail))); err != nil {
			return last, false, fmt.Errorf("%s: %w", trace, err)
		}
		line, ended := bytes.CutSuffix(tail, []byte{'\n'})
		if !ended {
			return last, false, nil
		}
		if i := bytes.LastIndexByte(line, '\n'); i >= 0 || want >= size {
			return last, event.Decode(line[i+1:], &last) == nil, nil
		}
	}
}
