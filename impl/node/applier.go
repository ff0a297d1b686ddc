package node

import (
	"errors"
	"fmt"
	"path"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/log"
	"github.com/quorate/quorate/impl/snapshot"
)

// applyBytes is how much of the log is read for the machine at once.
const applyBytes = 1 << 20

// applier brings what is committed to the machine, and snapshots out of it, beside the
// loop.
type applier struct {
	n       *Node
	machine Machine
	wake    chan struct{} // something has changed; room for one
	// applied is the offset after the last record that the machine has, -1 before it has
	// loaded what there was at the start.
	applied atomic.Int64
	writing atomic.Bool // a snapshot is being written

	mu      sync.Mutex
	waiting []waitingOp // guarded by mu

	// Of its goroutine only.
	span      log.Span
	records   []Record
	epoch     int32 // of the record before applied
	timestamp int64 // of that record's batch
	told      Leadership
	bytes     int64     // applied since the last snapshot
	since     time.Time // of the last snapshot
}

// waitingOp is an operation of a client that is done when so much is applied.
type waitingOp struct {
	op     *clientOp
	result clientResult
	need   int64
}

func newApplier(n *Node, m Machine) *applier {
	a := &applier{n: n, machine: m, wake: make(chan struct{}, 1), told: Leadership{Epoch: -1, Leader: core.NoReplica}}
	a.applied.Store(-1)
	return a
}

// awake has the applier look what is new.
func (a *applier) awake() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// retryAfter is how long a snapshot waits that is due and may not be taken yet.
const retryAfter = 50 * time.Millisecond

// run applies until the node stops.
func (a *applier) run() {
	a.since = time.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-a.wake:
		case <-timer.C:
		case <-a.n.ctx.Done():
			return
		}
		next, err := a.catchUp()
		if err != nil {
			a.n.fail(fmt.Errorf("state machine: %w", err))
			return
		}
		timer.Reset(next)
	}
}

// catchUp applies what is committed. next is when to look again if nothing happens.
func (a *applier) catchUp() (next time.Duration, err error) {
	if err := a.catchUpTo(a.n.state.Load()); err != nil {
		return 0, err
	}
	a.release()
	return a.takeSnapshot()
}

// catchUpTo brings the machine to where the replica was.
func (a *applier) catchUpTo(s *State) error {
	if applied := a.applied.Load(); applied < 0 || applied < int64(s.LogStart) {
		if s.Snapshot == core.NoSnapshot {
			if err := a.loadBootstrap(); err != nil {
				return err
			}
			a.applied.Store(0)
		} else if err := a.load(s.Snapshot); err != nil {
			return err
		}
	}
	for {
		a.tell(s)
		applied := a.applied.Load()
		if applied >= int64(s.HighWatermark) || a.n.ctx.Err() != nil {
			return nil
		}
		l := a.n.driver.Log()
		switch err := l.Read(&a.span, applied, applyBytes, int64(s.HighWatermark)); {
		case err != nil && applied < l.StartOffset():
			return nil // a snapshot was installed, of which the state will tell
		case err != nil:
			return fmt.Errorf("read committed records from offset %d: %w", applied, err)
		case a.span.End <= applied:
			return nil
		}
		if err := a.apply(); err != nil {
			return err
		}
		a.release()
	}
}

// apply applies what was read.
func (a *applier) apply() error {
	it := log.NewBatches(a.span.Bytes)
	for it.Next() {
		b := it.Batch()
		if !b.Control {
			a.records = a.records[:0]
			err := b.Records(func(r log.Record) error {
				a.records = append(a.records, Record{Offset: r.Offset, Value: r.Value})
				return nil
			})
			if err != nil {
				return err
			}
			batch := Batch{Base: b.Base, End: b.End, Epoch: b.Epoch, Timestamp: b.Timestamp, Records: a.records}
			if err := contain(func() error { return a.machine.Apply(batch) }); err != nil {
				return fmt.Errorf("apply the batch at offset %d: %w", b.Base, err)
			}
		}
		a.epoch, a.timestamp = b.Epoch, b.Timestamp
		a.bytes += int64(len(b.Bytes))
		a.applied.Store(b.End)
	}
	return it.Err()
}

// load has the machine begin at a snapshot.
func (a *applier) load(id core.SnapshotID) error {
	r, err := snapshot.Open(a.n.fsys, a.n.logDir(), stored(id))
	if err != nil {
		if latest := a.n.state.Load().Snapshot; errors.Is(err, fs.ErrNotExist) && latest != id {
			return nil // overtaken by another, of which the state tells already
		}
		return err
	}
	defer r.Close()
	if err := contain(func() error { return a.machine.Load(r) }); err != nil {
		return fmt.Errorf("load snapshot %s: %w", r.ID(), err)
	}
	a.epoch, a.timestamp = int32(id.Epoch), r.LastTimestamp()
	a.bytes, a.since = 0, time.Now()
	a.applied.Store(int64(id.End))
	return nil
}

// loadBootstrap hands over the zero checkpoint, if there is one. With the rules before
// KIP-1170 it is a snapshot like any other, with what it says of the cluster's state.
func (a *applier) loadBootstrap() error {
	bootstrapper, ok := a.machine.(Bootstrapper)
	if !ok && !a.n.cfg.LoadsZeroAsSnapshot {
		return nil
	}
	r, err := snapshot.Open(a.n.fsys, a.n.logDir(), snapshot.ID{})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer r.Close()
	load := a.machine.Load
	if !a.n.cfg.LoadsZeroAsSnapshot {
		load = bootstrapper.LoadBootstrap
	}
	if err := contain(func() error { return load(r) }); err != nil {
		return fmt.Errorf("load the zero checkpoint %s: %w", path.Join(a.n.logDir(), r.ID().FileName()), err)
	}
	return nil
}

// tell tells the machine who leads, if that is new.
func (a *applier) tell(s *State) {
	l := Leadership{Epoch: int32(s.Epoch), Leader: s.Leader, Self: s.Leader == s.ID}
	if l.Self && s.Role != core.Leader {
		l.Leader, l.Self = core.NoReplica, false
	}
	if l == a.told || l.Self && a.applied.Load() <= int64(s.EpochStart) {
		return
	}
	a.told = l
	// It returns nothing, but it may panic.
	if err := contain(func() error { a.machine.LeaderChange(l); return nil }); err != nil {
		a.n.fail(fmt.Errorf("state machine: leader change in epoch %d: %w", l.Epoch, err))
	}
}

// contain calls the machine, whose panic ends the node and not the process.
func contain(call func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return call()
}

// await ends an operation as soon as all below an offset is applied.
func (a *applier) await(op *clientOp, r clientResult, need int64) {
	a.mu.Lock()
	a.waiting = append(a.waiting, waitingOp{op: op, result: r, need: need})
	a.mu.Unlock()
}

// release ends the operations that had to wait for what is applied now. They stand in
// the order in which they were committed, or nearly so: none waits for more than is
// committed, so one that waits behind another waits for little.
func (a *applier) release() {
	applied := a.applied.Load()
	a.mu.Lock()
	defer a.mu.Unlock()
	i := 0
	for ; i < len(a.waiting) && a.waiting[i].need <= applied; i++ {
		a.waiting[i].op.done <- a.waiting[i].result
	}
	if i > 0 {
		n := copy(a.waiting, a.waiting[i:])
		clear(a.waiting[n:])
		a.waiting = a.waiting[:n]
	}
}

// logDir is the directory of log and snapshots.
func (n *Node) logDir() string { return path.Join(n.cfg.Dir, logDir) }

func stored(id core.SnapshotID) snapshot.ID {
	return snapshot.ID{End: int64(id.End), Epoch: int32(id.Epoch)}
}
