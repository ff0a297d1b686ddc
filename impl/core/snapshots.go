package core

import (
	"errors"

	"github.com/quorate/quorate/traces/event"
)

// Snapshots (KIP-630). The state machine takes them, at a place that is committed;
// a log may then begin at the end of one that is held. This file is what a replica
// does by itself; snapshot_leader.go and snapshot_follower.go are the transfer.

// Reasons why a snapshot may not be taken.
var (
	ErrSnapshotOld         = errors.New("snapshot does not end after the log start and the snapshots held")
	ErrSnapshotUncommitted = errors.New("snapshot ends above the high watermark")
	ErrSnapshotUnflushed   = errors.New("snapshot ends above what is flushed")
	ErrSnapshotEpoch       = errors.New("epoch of the snapshot is not that of its last record")
)

// MayTakeSnapshot says why the state machine may not take a snapshot, nil if it may.
// Whether the snapshot ends between two batches is asked of the log. (KafkaMetadataLog.
// createNewSnapshot; Kafka does not ask for the flush: docs/divergence.md)
func (r *Replica) MayTakeSnapshot(id SnapshotID) error {
	l := &r.log
	switch {
	case id.End <= max(l.start, l.latest().End):
		return ErrSnapshotOld
	case id.End > r.hw:
		return ErrSnapshotUncommitted
	case id.End > l.flushed:
		return ErrSnapshotUnflushed
	case !l.contains(id):
		return ErrSnapshotEpoch
	}
	return nil
}

// takeSnapshots takes the snapshots that the state machine has written. One that was
// begun before this replica became leader waits until it knows the high watermark again.
func (r *Replica) takeSnapshots() {
	kept := r.written[:0]
	for _, s := range r.written {
		switch err := r.MayTakeSnapshot(s.ID); {
		case err == nil && s.Size > 0:
			r.takeSnapshot(s)
		case err == ErrSnapshotUncommitted && s.ID.End <= r.hwFloor:
			kept = append(kept, s)
		case !r.log.holds(s.ID):
			r.op(OpDeleteSnapshot).SnapshotID = s.ID
		}
	}
	r.written = kept
}

// takeSnapshot is the action TakeSnapshot: the replica holds one more.
func (r *Replica) takeSnapshot(s Snapshot) {
	r.assert(s.ID.End <= r.hw && s.ID.End <= r.log.flushed, "a snapshot of what is not committed")
	r.log.snapshots = append(r.log.snapshots, s)
	r.recording.snapshot = s.ID
	r.finish(actTakeSnapshot, event.Args{Snapshot: s.ID.event()}, nil, nil)
}

// advanceLogStart is the action AdvanceLogStart: what is before a snapshot goes, older
// snapshots too (KafkaMetadataLog.deleteBeforeSnapshot).
func (r *Replica) advanceLogStart(in *Input) {
	id, l := in.SnapshotID, &r.log
	if !l.holds(id) || id.End <= l.start {
		return
	}
	r.assert(id.End <= r.hwFloor, "the log start passes the high watermark")
	r.assert(id.End <= l.flushed, "the log start passes what is flushed")
	l.advanceStart(id)
	r.history.forget(id.End)
	r.op(OpAdvanceLogStart).SnapshotID = id
	r.finish(actAdvanceLogStart, event.Args{Snapshot: id.event()}, nil, nil)
}

func (id SnapshotID) event() event.SnapshotID {
	return event.SnapshotID{End: int64(id.End), Epoch: int32(id.Epoch)}
}

// latest is the latest snapshot held, NoSnapshot if there is none.
func (l *logState) latest() SnapshotID {
	if len(l.snapshots) == 0 {
		return NoSnapshot
	}
	return l.snapshots[len(l.snapshots)-1].ID
}

// startEpoch is the epoch of the record before the log start, 0 if there is none.
func (l *logState) startEpoch() Epoch {
	if l.start == 0 || len(l.snapshots) == 0 {
		return 0
	}
	return l.snapshots[0].ID.Epoch
}

func (l *logState) holds(id SnapshotID) bool { return l.size(id) > 0 }

// size of a snapshot in bytes, 0 if it is not held.
func (l *logState) size(id SnapshotID) int64 {
	for _, s := range l.snapshots {
		if s.ID == id {
			return s.Size
		}
	}
	return 0
}

// contains says whether the log has, or begins after, the last record of a snapshot:
// then it has what the snapshot holds.
func (l *logState) contains(id SnapshotID) bool {
	if id.End <= l.start {
		return id.End > 0 && id.End == l.start && id.Epoch == l.startEpoch()
	}
	if id.End > l.end {
		return false
	}
	i := len(l.epochs)
	for i > 0 && l.epochs[i-1].Start >= id.End {
		i--
	}
	return i > 0 && l.epochs[i-1].Epoch == id.Epoch
}

// belowLog says whether a fetch position is where the log cannot tell whether it
// diverges, and only a snapshot helps: below the log start, at it with another epoch,
// or in an epoch before the first snapshot (ReplicatedLog.validateOffsetAndEpoch). Who
// has nothing gets the latest snapshot even if the log begins at 0.
func (l *logState) belowLog(offset Offset, epoch Epoch) bool {
	if len(l.snapshots) == 0 {
		return false
	}
	first := l.snapshots[0].ID
	return offset == 0 || offset < l.start || offset == l.start && epoch != first.Epoch || epoch < first.Epoch
}

// advanceStart forgets what is below a snapshot that is held. The epoch in which the
// log begins now begins there.
func (l *logState) advanceStart(id SnapshotID) {
	l.start = id.End
	for len(l.snapshots) > 0 && l.snapshots[0].ID.End < id.End {
		l.snapshots = l.snapshots[1:]
	}
	for len(l.epochs) > 1 && l.epochs[1].Start <= id.End {
		l.epochs = l.epochs[1:]
	}
	switch {
	case l.end == id.End:
		l.epochs = l.epochs[:0]
	case l.epochs[0].Start < id.End:
		l.epochs[0].Start = id.End
	}
}

// reset makes the log empty at the end of a snapshot. Flushes that are under way say
// nothing about it.
func (l *logState) reset(s Snapshot) {
	l.start, l.end, l.flushed = s.ID.End, s.ID.End, s.ID.End
	l.epochs = l.epochs[:0]
	l.snapshots = append(l.snapshots[:0], s)
	l.truncating, l.truncFlush = false, l.lastFlush+1
}
