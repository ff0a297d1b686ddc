package registry

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/quorate/quorate/impl/registry/journal"
	"github.com/quorate/quorate/impl/registry/state"
	"github.com/quorate/quorate/impl/registry/trace"
)

// ErrRewound: the journal no longer has what was applied.
var ErrRewound = errors.New("the journal has lost records that were applied here")

// run starts the database and applies the journal to it, until the instance ends.
func (i *Instance) run() {
	i.fail(i.follow()) // which is nothing, if it was told to end
}

// follow ends with an error, if only that of the context.
func (i *Instance) follow() error {
	began := time.Now()
	path := filepath.Join(i.cfg.Dir, "db")
	r, err := i.manager.Restore(i.ctx, path, i.cfg.AcceptNewJournal)
	if err != nil {
		return err
	}
	db, err := state.Open(i.ctx, path, i.cfg.Schema)
	if err != nil {
		return err
	}
	i.mu.Lock()
	i.db, i.next, i.began = db, r.Next, r
	i.mu.Unlock()
	if err := db.Begin(i.ctx, r.Journal); err != nil {
		return err
	}
	p, err := db.Position(i.ctx)
	if err != nil {
		return err
	}
	a := applier{i: i, db: db, position: p, end: r.End, told: time.Now()}
	replay := time.Now()
	for !i.cfg.Rules.Ready(i.Next(), r.End, a.endNow) {
		if err := a.step(replayGroup); err != nil {
			return err
		}
		if time.Since(a.told) > 5*time.Second {
			a.told = time.Now()
			slog.Info("replaying the journal", "next", i.Next(), "end", r.End)
		}
	}
	i.metrics.Started(r, time.Since(replay), time.Since(began), i.Replayed())
	i.record(trace.Event{Action: trace.BecomeReady, Offset: a.position.Offset, Epoch: a.position.Epoch, End: r.End, Tail: i.Replayed()})
	slog.Info("ready", "instance", i.id, "next", i.Next(), "restored", r.From != nil, "replayed", i.Replayed(), "took", time.Since(began).Round(time.Millisecond))
	a.ready = true
	close(i.ready)
	for {
		if err := a.step(serveGroup); err != nil {
			return err
		}
	}
}

// applier applies the journal; it is of one goroutine.
type applier struct {
	i        *Instance
	db       *state.DB
	position state.Position
	end      int64
	ready    bool
	told     time.Time
}

// endNow is the end of the journal, as far as it can be told.
func (a *applier) endNow() int64 {
	b, err := a.i.cfg.Journal.Bounds(a.i.ctx)
	if err != nil {
		return a.end
	}
	return b.End
}

// step waits for records and applies them.
func (a *applier) step(group int) error {
	i := a.i
	records, next, err := i.cfg.Journal.Read(i.ctx, i.Next())
	if hole := (*journal.HoleError)(nil); errors.As(err, &hole) {
		if hole.Offset > hole.Bounds.End {
			i.record(trace.Event{Action: trace.NoticeRewind, Offset: a.position.Offset, Epoch: a.position.Epoch})
			return fmt.Errorf("%w: %w", ErrRewound, err)
		}
		i.record(trace.Event{Action: trace.OutOfRange, Offset: hole.Offset, Start: hole.Bounds.Start, End: hole.Bounds.End})
		return err
	}
	if err != nil {
		return err
	}
	for len(records) > 0 {
		n := min(group, len(records))
		if err := a.apply(records[:n]); err != nil {
			return err
		}
		records = records[n:]
	}
	i.mu.Lock()
	i.next = next
	close(i.applied)
	i.applied = make(chan struct{})
	i.mu.Unlock()
	return nil
}

// apply applies some records in one transaction, and answers who waits for them.
func (a *applier) apply(records []journal.Record) error {
	if err := a.sameLine(records[0]); err != nil {
		return err
	}
	group := make([]state.Record, len(records))
	for k, r := range records {
		group[k] = state.Record(r)
	}
	began := time.Now()
	results, err := a.db.Apply(a.i.ctx, group)
	took := int64(time.Since(began))
	for old := a.i.slowest.Load(); took > old && !a.i.slowest.CompareAndSwap(old, took); old = a.i.slowest.Load() {
	}
	if n := len(results); n > 0 {
		last := records[n-1]
		if !a.ready {
			a.i.replays.Add(int64(n))
		}
		a.position.Offset, a.position.Epoch = last.Offset, last.Epoch
		if a.i.cfg.Trace != nil {
			a.i.record(trace.Event{Action: trace.Apply, First: records[0].Offset, Offset: last.Offset, Epoch: last.Epoch, Sum: sumOf(records[:n])})
		}
		a.answer(records[:n], results)
	}
	return err
}

// sameLine makes sure, where an epoch begins, that the journal still has the record that
// was applied last: if it lost its tail and grew again, it is another journal from there
// on.
func (a *applier) sameLine(first journal.Record) error {
	if a.position.Offset < 0 || first.Epoch == a.position.Epoch {
		return nil
	}
	epoch, err := a.i.cfg.Journal.EpochAt(a.i.ctx, a.position.Offset)
	if errors.Is(err, journal.ErrNoEpoch) {
		return nil // it is trimmed
	}
	if err != nil {
		return err
	}
	if epoch != a.position.Epoch {
		a.i.record(trace.Event{Action: trace.NoticeRewind, Offset: a.position.Offset, Epoch: a.position.Epoch})
		return fmt.Errorf("%w: offset %d is of epoch %d now, and was of %d", ErrRewound, a.position.Offset, epoch, a.position.Epoch)
	}
	return nil
}

// answer hands results to who waits for them.
func (a *applier) answer(records []journal.Record, results []state.Result) {
	a.i.mu.Lock()
	waiting := len(a.i.waiters) > 0
	a.i.mu.Unlock()
	if !waiting {
		return
	}
	for k, r := range records {
		op, err := state.DecodeOp(r.Value)
		if err != nil || op.Request == "" {
			continue
		}
		a.i.mu.Lock()
		if w := a.i.waiters[op.Request]; w != nil {
			w <- results[k] // there is room
			delete(a.i.waiters, op.Request)
		}
		a.i.mu.Unlock()
	}
}

// sumOf is the same of the same records.
func sumOf(records []journal.Record) string {
	h := sha256.New()
	var b [12]byte
	for _, r := range records {
		binary.BigEndian.PutUint64(b[:], uint64(r.Offset))
		binary.BigEndian.PutUint32(b[8:], uint32(r.Epoch))
		h.Write(b[:])
		h.Write(r.Value)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// waitReady waits until the instance serves.
func (i *Instance) waitReady(ctx context.Context) error {
	select {
	case <-i.ready:
		return nil
	case <-i.ctx.Done():
		return ErrNotReady
	case <-ctx.Done():
		return ctx.Err()
	}
}
