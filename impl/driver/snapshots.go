package driver

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/log"
	"github.com/quorate/quorate/impl/snapshot"
	"github.com/quorate/quorate/traces/event"
)

// ErrBadSnapshot: what was received of a snapshot is no snapshot.
var ErrBadSnapshot = errors.New("snapshot is no good")

// snapshots is what a Driver has open of snapshots.
type snapshots struct {
	fsys fs.FS
	// mu is held while a snapshot is verified, which may be in another goroutine.
	mu     sync.Mutex
	part   *snapshot.Partial // being received, nil if none is
	reader *snapshot.Reader  // the last one served, nil if none was
	chunk  []byte
}

func stored(id core.SnapshotID) snapshot.ID {
	return snapshot.ID{End: int64(id.End), Epoch: int32(id.Epoch)}
}

func loaded(id snapshot.ID) core.SnapshotID {
	return core.SnapshotID{End: core.Offset(id.End), Epoch: core.Epoch(id.Epoch)}
}

// openSnapshots completes DiskState with the snapshots of the directory. A crash may
// have come between a snapshot that was installed and the log that it replaces, or
// between a log start and the deletion of what it made useless: that is made up for.
// (KafkaMetadataLog.recoverSnapshots, truncateToLatestSnapshot)
func (d *Driver) openSnapshots() error {
	names, err := d.snap.fsys.List(d.dir)
	if err != nil {
		return err
	}
	var ids []snapshot.ID
	if slices.ContainsFunc(names, func(name string) bool { return strings.Contains(name, ".checkpoint") }) {
		if ids, err = snapshot.Recover(d.snap.fsys, d.dir); err != nil {
			return err
		}
	}
	if len(ids) > 0 && ids[0].End == 0 {
		// The zero checkpoint (KIP-1170) is no state of a replica. It goes with what is
		// before the log start.
		if d.log.StartOffset() > 0 {
			if err := d.deleteSnapshot(ids[0]); err != nil {
				return err
			}
		}
		ids = ids[1:]
	}
	if n := len(ids); n > 0 && !contains(d.log, ids[n-1]) {
		if err := d.reset(ids[n-1]); err != nil {
			return err
		}
	}
	start := d.log.StartOffset()
	for _, id := range snapshot.Stale(ids, start) {
		if err := snapshot.Delete(d.snap.fsys, d.dir, id); err != nil {
			return err
		}
		ids = ids[1:]
	}
	if start > 0 && len(ids) > 0 && ids[0].End > start {
		// Kafka's log starts with a segment, and that is often before the snapshot.
		if err := d.log.AdvanceStart(ids[0].End, ids[0].Epoch); err != nil {
			return err
		}
	}
	start = d.log.StartOffset()
	d.rebased = start > 0 && isRebased(d.log)
	d.disk.LogStart, d.disk.LogEnd = core.Offset(start), core.Offset(d.log.EndOffset())
	for _, id := range ids {
		r, err := snapshot.Open(d.snap.fsys, d.dir, id)
		if err != nil {
			return err
		}
		d.disk.Snapshots = append(d.disk.Snapshots, core.Snapshot{ID: loaded(id), Size: r.Size()})
		if err := r.Close(); err != nil {
			return err
		}
	}
	return nil
}

// covered refuses a log whose start no snapshot covers, before anything is changed.
func covered(fsys fs.FS, dir string, l *log.Log) error {
	if l.StartOffset() == 0 {
		return nil
	}
	ids, err := snapshot.List(fsys, dir)
	if err != nil {
		return err
	}
	_, _, err = snapshot.Covering(ids, l.StartOffset())
	return err
}

// contains says whether a log has the last record of a snapshot, or starts after it.
func contains(l *log.Log, id snapshot.ID) bool {
	epoch, ok := l.EpochOf(id.End - 1)
	return ok && epoch == id.Epoch
}

// isRebased: the log began with a snapshot of another replica, so that its digests say
// nothing about what was before.
func isRebased(l *log.Log) bool {
	digest, ok := l.DigestAt(l.StartOffset())
	return !ok || digest == log.StartDigest(l.StartOffset(), l.StartEpoch())
}

// reset empties the log, so that it begins at the end of a snapshot that is durable.
func (d *Driver) reset(id snapshot.ID) error {
	digest := log.StartDigest(id.End, id.Epoch)
	d.rebased = d.cfg.SnapshotDigest == nil
	if !d.rebased {
		var err error
		if digest, err = d.cfg.SnapshotDigest(loaded(id)); err != nil {
			return err
		}
	}
	return d.log.ResetTo(id.End, id.Epoch, digest)
}

// receive writes a chunk of a snapshot.
func (d *Driver) receive(op *core.Op) error {
	s, id := &d.snap, stored(op.SnapshotID)
	s.mu.Lock()
	defer s.mu.Unlock()
	if op.Position == 0 {
		if err := s.discard(); err != nil {
			return err
		}
		for s.part == nil {
			p, err := snapshot.Receive(s.fsys, d.dir, id, int32(op.Epoch))
			if err != nil {
				return err
			}
			if p.Size() > 0 { // of a process before, which this one did not ask for
				if err := p.Discard(); err != nil {
					return err
				}
				continue
			}
			s.part = p
		}
	}
	if s.part == nil || s.part.ID() != id {
		return fmt.Errorf("chunk at position %d of snapshot %s, which is not being received", op.Position, id)
	}
	return s.part.Append(op.Position, op.Raw)
}

// discard forgets what was received.
func (s *snapshots) discard() error {
	if s.part == nil {
		return nil
	}
	p := s.part
	s.part = nil
	return p.Discard()
}

func (d *Driver) abandon() error {
	d.snap.mu.Lock()
	defer d.snap.mu.Unlock()
	return d.snap.discard()
}

// VerifySnapshot checks what was received of a snapshot, as OpVerifySnapshot asks, and
// flushes it. Errors: ErrBadSnapshot, which goes to the core; others end the replica.
func (d *Driver) VerifySnapshot(id core.SnapshotID) error {
	s := &d.snap
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.part == nil || s.part.ID() != stored(id) {
		return fmt.Errorf("snapshot %s was given up: %w", stored(id), ErrBadSnapshot)
	}
	err := s.part.Verify()
	var corrupt *snapshot.CorruptError
	if errors.As(err, &corrupt) {
		return fmt.Errorf("%w: %w", ErrBadSnapshot, err)
	}
	return err
}

// install gives a verified snapshot its name, durably, before it empties the log: a
// crash in between is made up for by openSnapshots.
func (d *Driver) install(op *core.Op) error {
	s, id := &d.snap, stored(op.SnapshotID)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.part == nil || s.part.ID() != id {
		return fmt.Errorf("snapshot %s is to be installed and was not received", id)
	}
	if err := s.part.Freeze(); err != nil {
		return err
	}
	s.part = nil
	if err := d.reset(id); err != nil {
		return err
	}
	d.changed = true
	d.change = event.LogChange{Truncated: -1, Reset: id.End, Base: id.End, Digest: d.log.Digest()}
	return d.deleteBefore(id)
}

// advance moves the log start to the end of a snapshot.
func (d *Driver) advance(op *core.Op) error {
	id := stored(op.SnapshotID)
	if err := d.log.AdvanceStart(id.End, id.Epoch); err != nil {
		return err
	}
	if err := d.deleteBefore(id); err != nil {
		return err
	}
	_, _, err := d.log.DeleteOld()
	return err
}

// deleteBefore deletes the snapshots that end before one, the zero checkpoint too: the
// log starts after it, so what it was for is committed (KIP-1170).
func (d *Driver) deleteBefore(id snapshot.ID) error {
	ids, err := snapshot.List(d.snap.fsys, d.dir)
	if err != nil {
		return err
	}
	for _, old := range ids {
		if old.End < id.End {
			if err := d.deleteSnapshot(old); err != nil {
				return err
			}
		}
	}
	return nil
}

// deleteSnapshot deletes a snapshot, if it is there.
func (d *Driver) deleteSnapshot(id snapshot.ID) error {
	if r := d.snap.reader; r != nil && r.ID() == id {
		d.snap.reader = nil
		if err := r.Close(); err != nil {
			return err
		}
	}
	if err := snapshot.Delete(d.snap.fsys, d.dir, id); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// fillChunk reads what a FetchSnapshot response carries.
func (d *Driver) fillChunk(op *core.Op) error {
	m, s := &op.Message, &d.snap
	if op.MaxBytes <= 0 || m.Kind != core.FetchSnapshot {
		return nil
	}
	id := stored(m.SnapshotID)
	if s.reader == nil || s.reader.ID() != id {
		r, err := snapshot.Open(s.fsys, d.dir, id)
		if err != nil {
			return err
		}
		if s.reader != nil {
			if err := s.reader.Close(); err != nil {
				return errors.Join(err, r.Close())
			}
		}
		s.reader = r
	}
	if cap(s.chunk) < int(op.MaxBytes) {
		s.chunk = make([]byte, op.MaxBytes)
	}
	m.Chunk = s.chunk[:op.MaxBytes]
	if n, err := s.reader.ReadAt(m.Chunk, m.Position); n < len(m.Chunk) {
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return fmt.Errorf("read snapshot %s at %d: %w", id, m.Position, err)
	}
	return nil
}

// close closes the files; what was received so far is of no use to another process.
func (s *snapshots) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	if s.part != nil {
		err = s.part.Close()
	}
	if s.reader != nil {
		err = errors.Join(err, s.reader.Close())
	}
	s.part, s.reader = nil, nil
	return err
}

// checkSnapshot holds an event that calls a snapshot held against the disk.
func (d *Driver) checkSnapshot(e *event.Event) error {
	if e.Durable == nil || e.Durable.Snapshot == (event.SnapshotID{}) {
		return nil
	}
	id := snapshot.ID{End: e.Durable.Snapshot.End, Epoch: e.Durable.Snapshot.Epoch}
	r, err := snapshot.Open(d.snap.fsys, d.dir, id)
	if err != nil {
		return fmt.Errorf("%s: %w", e.Action, err)
	}
	return r.Close()
}
