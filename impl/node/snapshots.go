package node

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/driver"
	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/snapshot"
)

// takeSnapshot begins a snapshot of what is applied, if one is due and may be taken.
// next is when to look again.
func (a *applier) takeSnapshot() (next time.Duration, err error) {
	policy, passed := a.n.cfg.Snapshots, time.Since(a.since).Milliseconds()
	if a.writing.Load() {
		return time.Hour, nil // it wakes the applier when it is done
	}
	if !policy.Due(a.bytes, passed) {
		if policy.MaxIntervalMs > 0 && a.bytes > 0 {
			return time.Duration(policy.MaxIntervalMs-passed) * time.Millisecond, nil
		}
		return time.Hour, nil
	}
	// What is applied ends with a batch, as a snapshot must.
	id := core.SnapshotID{End: core.Offset(a.applied.Load()), Epoch: core.Epoch(a.epoch)}
	var refused error
	var voters *core.VoterSet
	if !a.n.ask(func() { refused, voters = a.n.replica.MayTakeSnapshot(id), a.n.replica.VoterSetAt(id.End) }) {
		return time.Hour, nil
	}
	switch {
	case errors.Is(refused, core.ErrSnapshotUnflushed), errors.Is(refused, core.ErrSnapshotUncommitted):
		return retryAfter, nil // a flush is under way, or a leader does not know yet what is committed
	case errors.Is(refused, core.ErrSnapshotOld):
		a.bytes, a.since = 0, time.Now()
		return time.Hour, nil
	case refused != nil:
		return 0, fmt.Errorf("snapshot %s: %w", stored(id), refused)
	}
	var write func(SnapshotWriter) error
	err = contain(func() (err error) { write, err = a.machine.Snapshot(); return err })
	if errors.Is(err, ErrNoSnapshot) {
		return time.Hour, nil // still due: what is applied next wakes the applier
	}
	if err != nil {
		return 0, fmt.Errorf("make snapshot %s: %w", stored(id), err)
	}
	a.bytes, a.since = 0, time.Now()
	a.writing.Store(true)
	timestamp := a.timestamp
	a.n.wg.Go(func() { a.writeSnapshot(id, timestamp, voters, write) })
	return time.Hour, nil
}

// writeSnapshot writes a snapshot, and hands it to the replica when it is durable.
func (a *applier) writeSnapshot(id core.SnapshotID, timestamp int64, voters *core.VoterSet, write func(SnapshotWriter) error) {
	began := time.Now()
	size, err := a.freezeSnapshot(stored(id), timestamp, voters, write)
	switch {
	case a.n.ctx.Err() != nil:
		return
	case err != nil:
		a.n.fail(fmt.Errorf("state machine: write snapshot %s: %w", stored(id), err))
		return
	}
	slog.Info("wrote a snapshot", "node", a.n.cfg.ID, "snapshot", stored(id).String(), "bytes", size, "took", time.Since(began).Round(time.Millisecond))
	in := input{}
	in.Kind, in.SnapshotID, in.Size = core.InputSnapshotTaken, id, size
	a.n.give(in)
	a.writing.Store(false)
	a.awake()
	select {
	case a.n.clean <- struct{}{}:
	default:
	}
}

func (a *applier) freezeSnapshot(id snapshot.ID, timestamp int64, voters *core.VoterSet, write func(SnapshotWriter) error) (size int64, err error) {
	w, err := snapshot.Create(a.n.fsys, a.n.logDir(), id, timestamp, driver.SnapshotControls(voters)...)
	if err != nil {
		return 0, err
	}
	err = contain(func() error { return write(stoppable{w, a.n}) })
	if err == nil && a.n.ctx.Err() != nil {
		err = ErrStopped
	}
	if err != nil {
		return 0, errors.Join(err, w.Abort())
	}
	if err := w.Freeze(); err != nil {
		return 0, errors.Join(err, w.Abort())
	}
	return w.Size(), nil
}

// stoppable is a writer that fails when the node stops, which waits for it.
type stoppable struct {
	w *snapshot.Writer
	n *Node
}

func (s stoppable) Append(records [][]byte) error {
	if s.n.ctx.Err() != nil {
		return ErrStopped
	}
	return s.w.Append(records)
}

// cleaner moves the log start, by what the configuration keeps, after each snapshot and
// from time to time.
func (n *Node) cleaner() {
	tick := time.NewTicker(n.cfg.RetentionCheck)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-n.clean:
		case <-n.ctx.Done():
			return
		}
		id, due, err := n.oldestToKeep()
		if err != nil {
			n.fail(fmt.Errorf("retention: %w", err))
			return
		}
		if due {
			in := input{}
			in.Kind, in.SnapshotID = core.InputAdvanceLogStart, id
			n.give(in)
		}
	}
}

// oldestToKeep is the snapshot at whose end the log is to start; false if it is to stay
// as it is. What the machine has not applied stays whatever the limits.
func (n *Node) oldestToKeep() (core.SnapshotID, bool, error) {
	s := n.State()
	ids, err := snapshot.List(n.fsys, n.logDir())
	if err != nil {
		return core.NoSnapshot, false, err
	}
	var kept []snapshot.Stored
	for _, id := range ids {
		if id.End > int64(s.Snapshot.End) || id.End > s.Applied {
			continue // not the replica's yet, or not ours
		}
		r, err := snapshot.Open(n.fsys, n.logDir(), id)
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted since
		}
		if err != nil {
			return core.NoSnapshot, false, err
		}
		kept = append(kept, snapshot.Stored{ID: id, Size: r.Size(), LastTimestamp: r.LastTimestamp()})
		if err := r.Close(); err != nil {
			return core.NoSnapshot, false, err
		}
	}
	id, due := n.cfg.Retention.Keep(kept, n.driver.Log().Segments(), time.Now().UnixMilli())
	return core.SnapshotID{End: core.Offset(id.End), Epoch: core.Epoch(id.Epoch)}, due, nil
}

// ask has the loop run a function; false if the node stops instead.
func (n *Node) ask(f func()) bool {
	done := make(chan struct{})
	select {
	case n.asks <- func() { f(); close(done) }:
		<-done
		return true
	case <-n.ctx.Done():
		return false
	}
}
