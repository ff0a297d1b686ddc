package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/log"
	"github.com/quorate/quorate/impl/snapshot"
)

// ErrOffset: an offset is not in the log, or not committed yet.
var ErrOffset = log.ErrOffset

// Committed reads batches of committed records, the protocol's own left out, from the one
// that holds an offset on, up to maxBytes bytes of the log but at least one batch. next is
// where to read on; it is from if nothing more is committed. It is for a machine that
// keeps its state elsewhere and reads at a pace of its own ([Machine] tells when there is
// more). An offset before the log start is ErrOffset.
func (n *Node) Committed(from int64, maxBytes int) (batches []Batch, next int64, err error) {
	hw := int64(n.state.Load().HighWatermark)
	if from >= hw {
		return nil, from, nil
	}
	var span log.Span
	if err := n.driver.Log().Read(&span, from, maxBytes, hw); err != nil {
		return nil, from, err
	}
	it := log.NewBatches(span.Bytes)
	for it.Next() {
		b := it.Batch()
		if b.Control {
			continue
		}
		batch := Batch{Base: b.Base, End: b.End, Epoch: b.Epoch, Timestamp: b.Timestamp}
		err := b.Records(func(r log.Record) error {
			batch.Records = append(batch.Records, Record{Offset: r.Offset, Value: r.Value})
			return nil
		})
		if err != nil {
			return nil, from, err
		}
		batches = append(batches, batch)
	}
	return batches, max(from, span.End), it.Err()
}

// EpochOf is the epoch of the record at an offset, or of the last one before the log;
// false if the log has neither.
func (n *Node) EpochOf(offset int64) (epoch int32, ok bool) {
	if n.ctx.Err() != nil {
		return 0, false
	}
	return n.driver.Log().EpochOf(offset)
}

// TrimTo takes a snapshot that write writes, at the last end of a batch that is not after
// an offset, and has the log start there: for a machine whose state is kept elsewhere, up
// to that offset at least. It returns the log start, which is where it was if it is at or
// after that batch already. Use it with a configuration that takes no snapshots by itself.
// ErrOffset: the offset is not committed, or not applied.
func (n *Node) TrimTo(ctx context.Context, offset int64, write func(SnapshotWriter) error) (start int64, err error) {
	s := n.State()
	if offset > int64(s.HighWatermark) || offset > s.Applied {
		return int64(s.LogStart), fmt.Errorf("trim to %d, of what is applied up to %d: %w", offset, s.Applied, ErrOffset)
	}
	l := n.driver.Log()
	for offset > int64(s.LogStart) && !l.IsBoundary(offset) {
		offset--
	}
	if offset <= int64(s.LogStart) {
		return int64(s.LogStart), nil
	}
	epoch, ok := l.EpochOf(offset - 1)
	if !ok {
		return int64(s.LogStart), fmt.Errorf("trim to %d: %w", offset, ErrOffset)
	}
	id := core.SnapshotID{End: core.Offset(offset), Epoch: core.Epoch(epoch)}
	if err := n.snapshotAt(ctx, id, write); err != nil {
		return int64(n.State().LogStart), fmt.Errorf("trim to %d: %w", offset, err)
	}
	in := input{}
	in.Kind, in.SnapshotID = core.InputAdvanceLogStart, id
	if !n.give(in) {
		return int64(n.State().LogStart), ErrStopped
	}
	for int64(n.State().LogStart) < offset {
		if err := n.pause(ctx); err != nil {
			return int64(n.State().LogStart), err
		}
	}
	return int64(n.State().LogStart), nil
}

// snapshotAt takes a snapshot, once the replica may, unless there is one as late.
func (n *Node) snapshotAt(ctx context.Context, id core.SnapshotID, write func(SnapshotWriter) error) error {
	var voters *core.VoterSet
	for {
		var refused error
		if !n.ask(func() { refused, voters = n.replica.MayTakeSnapshot(id), n.replica.VoterSetAt(id.End) }) {
			return ErrStopped
		}
		switch {
		case errors.Is(refused, core.ErrSnapshotOld):
			// Taken before, but the log does not start there yet, or there is a later one.
			ids, err := snapshot.List(n.fsys, n.logDir())
			for _, have := range ids {
				if have == stored(id) {
					return err
				}
			}
			return errors.Join(err, fmt.Errorf("there is a later snapshot: %w", refused))
		case errors.Is(refused, core.ErrSnapshotUnflushed), errors.Is(refused, core.ErrSnapshotUncommitted):
			if err := n.pause(ctx); err != nil {
				return err
			}
			continue
		case refused != nil:
			return refused
		}
		break
	}
	timestamp, err := n.timestampBefore(int64(id.End))
	if err != nil {
		return err
	}
	size, err := n.applier.freezeSnapshot(stored(id), timestamp, voters, write)
	if err != nil {
		return err
	}
	in := input{}
	in.Kind, in.SnapshotID, in.Size = core.InputSnapshotTaken, id, size
	if !n.give(in) {
		return ErrStopped
	}
	for n.State().Snapshot.End < id.End {
		if err := n.pause(ctx); err != nil {
			return err
		}
	}
	return nil
}

// timestampBefore is the timestamp of the batch that ends at an offset, 0 if it is gone.
func (n *Node) timestampBefore(end int64) (timestamp int64, err error) {
	var span log.Span
	err = n.driver.Log().Read(&span, end-1, 1, end)
	if errors.Is(err, log.ErrOffset) || errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	it := log.NewBatches(span.Bytes)
	for it.Next() {
		timestamp = it.Batch().Timestamp
	}
	return timestamp, it.Err()
}

// pause waits a moment for the loop.
func (n *Node) pause(ctx context.Context) error {
	select {
	case <-time.After(5 * time.Millisecond):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-n.ctx.Done():
		return ErrStopped
	}
}
