package sim

import (
	"errors"
	"fmt"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/driver"
	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/log"
	"github.com/quorate/quorate/impl/snapshot"
	"github.com/quorate/quorate/traces/event"
)

// moment is the state of a machine that has applied all below an offset. It is what a
// snapshot holds, besides the digest of the log, so that the log of who installs it has
// the digests of the others.
type moment struct {
	hash    uint64 // of all records, in order
	records int64
	last    []byte // value
}

// machine is the state machine of a node.
type machine struct {
	applied int64
	now     moment
	due     bool // a snapshot is to be taken
	// frozen is a snapshot that was written and of which no event says so yet.
	frozen snapshot.ID
}

// machines is what all of them together have shown. They apply the same records, so
// at an offset they have one state: also one that was loaded from a snapshot.
type machines struct {
	moments map[int64]moment // only looked up
	values  []applied        // in order, each once
	end     int64
}

type applied struct {
	offset int64
	value  []byte
}

// reach notes the state of a node at an offset, or holds it against that of others.
func (m *machines) reach(n *node, offset int64, now moment, how string) error {
	if m.moments == nil {
		m.moments = map[int64]moment{}
	}
	was, ok := m.moments[offset]
	if !ok {
		m.moments[offset] = now
		return nil
	}
	if was.hash != now.hash || was.records != now.records || string(was.last) != string(now.last) {
		return violated("SnapshotState", "%v %s to offset %d: %d records, hash %016x; by the log they are %d, %016x",
			n, how, offset, now.records, now.hash, was.records, was.hash)
	}
	return nil
}

// machineTo has the state machine of a node apply all below an offset.
func (n *node) machineTo(offset int64) error {
	l, m := n.driver.Log(), &n.machine
	if start := l.StartOffset(); m.applied < start {
		if err := n.load(snapshot.ID{End: start, Epoch: l.StartEpoch()}); err != nil {
			return err
		}
	}
	var span log.Span
	for m.applied < offset {
		if err := l.Read(&span, m.applied, 1<<20, offset); err != nil {
			return err
		}
		for it := log.NewBatchesAt(span.Bytes, m.applied, 0); it.Next(); {
			if err := n.applyBatch(it.Batch()); err != nil {
				return err
			}
		}
	}
	return nil
}

func (n *node) applyBatch(b log.Batch) error {
	m, all := &n.machine, &n.c.machines
	first := b.Base == all.end
	if !b.Control {
		err := b.Records(func(r log.Record) error {
			m.now.records++
			for _, c := range r.Value {
				m.now.hash = (m.now.hash ^ uint64(c)) * 0x100000001b3
			}
			m.now.hash = mix(m.now.hash ^ uint64(r.Offset))
			m.now.last = append([]byte(nil), r.Value...)
			if first {
				all.values = append(all.values, applied{r.Offset, m.now.last})
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	m.applied = b.End
	if first {
		all.end = b.End
	}
	return all.reach(n, b.End, m.now, "applied the log")
}

// machineStep follows the high watermark, and decides when a snapshot is due.
func (n *node) machineStep() error {
	s := n.core.State()
	if err := n.machineTo(int64(s.HighWatermark)); err != nil {
		return err
	}
	have := max(int64(s.LogStart), int64(s.Snapshot.End))
	if m := &n.machine; !m.due && m.applied-have >= n.c.knobs.snapshotEvery {
		m.due = true
		n.c.after(n.c.snapRNG.between(0, n.c.knobs.flushMax), item{kind: snapshots, node: n.index, inc: n.inc})
	}
	return nil
}

// snapshots takes the snapshot that is due, and now and then lets the log start later.
func (n *node) snapshots(inc int32) error {
	if !n.up || inc != n.inc {
		return nil
	}
	n.machine.due = false
	n.c.stepNode = n.index
	s, l := n.core.State(), n.driver.Log()
	id := snapshot.ID{End: int64(min(s.HighWatermark, s.Flushed))}
	state, known := n.c.machines.moments[id.End]
	if id.End > int64(max(s.LogStart, s.Snapshot.End)) && known && l.IsBoundary(id.End) {
		id.Epoch, _ = l.EpochOf(id.End - 1)
		size, err := n.write(id, state)
		if n.burnt {
			return n.crash()
		}
		if err != nil {
			return err
		}
		n.c.met(SnapshotTaken)
		taken := core.Input{Kind: core.InputSnapshotTaken, Size: size,
			SnapshotID: core.SnapshotID{End: core.Offset(id.End), Epoch: core.Epoch(id.Epoch)}}
		if err := n.input(&taken, driver.Link{}); err != nil || !n.up {
			return err
		}
	}
	if n.c.snapRNG.chance(n.c.knobs.clean) {
		return n.clean()
	}
	return nil
}

// clean lets the log start at one of the snapshots.
func (n *node) clean() error {
	ids, err := snapshot.List(n.disk, dataDir)
	if err != nil || len(ids) == 0 {
		return err
	}
	id := ids[n.c.snapRNG.below(len(ids))]
	in := core.Input{Kind: core.InputAdvanceLogStart, SnapshotID: core.SnapshotID{End: core.Offset(id.End), Epoch: core.Epoch(id.Epoch)}}
	return n.input(&in, driver.Link{})
}

// padding makes a snapshot long enough for several chunks.
var padding [100]byte

// write writes a snapshot.
func (n *node) write(id snapshot.ID, state moment) (size int64, err error) {
	digest, _ := n.driver.Log().DigestAt(id.End)
	w, err := snapshot.Create(n.disk, dataDir, id, n.Time(), driver.SnapshotControls(n.raw.VoterSetAt(core.Offset(id.End)))...)
	if err != nil {
		return 0, err
	}
	records := [][]byte{fmt.Appendf(nil, "%016x %016x %d %x", digest, state.hash, state.records, state.last)}
	for range n.c.knobs.snapshotPad {
		records = append(records, padding[:])
	}
	if err := w.Append(records); err != nil {
		return 0, errors.Join(err, w.Abort())
	}
	n.machine.frozen = id // from here on it may be there
	if err := w.Freeze(); err != nil {
		return 0, errors.Join(err, w.Abort())
	}
	r, err := snapshot.Open(n.disk, dataDir, id)
	if err != nil {
		return 0, err
	}
	return r.Size(), r.Close()
}

// content reads a snapshot.
func content(disk fs.FS, id snapshot.ID) (digest uint64, state moment, err error) {
	r, err := snapshot.Open(disk, dataDir, id)
	if err != nil {
		return 0, state, err
	}
	defer r.Close()
	first := true
	err = r.Records(func(value []byte) error {
		if !first {
			return nil
		}
		first = false
		_, err := fmt.Sscanf(string(value)+" ", "%x %x %d %x", &digest, &state.hash, &state.records, &state.last)
		if state.records == 0 {
			err = nil // no last value
		}
		return err
	})
	return digest, state, err
}

// load has the machine go on from a snapshot.
func (n *node) load(id snapshot.ID) error {
	_, state, err := content(n.disk, id)
	if err != nil {
		return err
	}
	n.c.met(SnapshotLoaded)
	n.machine.applied, n.machine.now = id.End, state
	return n.c.machines.reach(n, id.End, state, "loaded snapshot "+id.String())
}

// snapshotDigest is for the driver of this node: the digest of the log that a snapshot
// tells.
func (n *node) snapshotDigest(id core.SnapshotID) (uint64, error) {
	digest, _, err := content(n.disk, snapshot.ID{End: int64(id.End), Epoch: int32(id.Epoch)})
	return digest, err
}

// VerifySnapshot implements [driver.Hooks].
func (n *node) VerifySnapshot(id core.SnapshotID, transfer int64) error {
	if err := n.point(); err != nil {
		return err
	}
	n.c.after(n.flushDelay(), item{kind: verifies, node: n.index, inc: n.inc, snapshot: id, transfer: transfer})
	return nil
}

func (n *node) verify(it *item) error {
	if !n.up || it.inc != n.inc {
		return nil
	}
	n.c.stepNode = n.index
	in := core.Input{Kind: core.InputSnapshotVerified, SnapshotID: it.snapshot, Transfer: it.transfer}
	err := n.driver.VerifySnapshot(it.snapshot)
	switch {
	case n.burnt:
		return n.crash()
	case errors.Is(err, driver.ErrBadSnapshot):
		n.c.met(SnapshotDamaged)
		in.Error = core.InvalidRequest
	case err != nil:
		return err
	default:
		in.VoterSet = n.driver.VerifiedVoters()
	}
	return n.input(&in, driver.Link{})
}

// recoveredSnapshots holds the snapshots on the disk of a process that starts against
// what the events said. One that was written just before the crash gets its event now.
func (n *node) recoveredSnapshots(h *history, d *driver.Driver) error {
	latest := event.SnapshotID{}
	if s := d.Disk().Snapshots; len(s) > 0 {
		latest = event.SnapshotID{End: int64(s[len(s)-1].ID.End), Epoch: int32(s[len(s)-1].ID.Epoch)}
	}
	frozen := n.machine.frozen
	n.machine = machine{}
	if latest == h.snapshot {
		return nil
	}
	if latest != (event.SnapshotID{End: frozen.End, Epoch: frozen.Epoch}) || n.last == nil {
		return violated("Durability", "the latest snapshot is %v, by the events it is %v", latest, h.snapshot)
	}
	e := *n.last
	e.Seq++
	e.Action, e.Args, e.Recv, e.Send, e.Log = "TakeSnapshot", event.Args{Snapshot: latest}, nil, nil, nil
	e.State.Has = e.State.Has&^event.HasVoters | event.HasSnapshot
	e.State.Voters = nil
	e.State.Snapshot = latest
	e.Durable = &event.Durable{LogEnd: -1, Snapshot: latest}
	n.c.met(UnrecordedSnapshotKept)
	return n.c.emit(n, &e, nil)
}
