// Package registry is a schema registry whose database is a cache of a journal: every
// write is appended to it, and every instance applies it, in order, to a SQLite file of its
// own. So instances need nothing of each other but the journal; and since to replay it
// takes long, an instance starts from a checkpoint, an image of somebody's file, and
// replays what came after.
//
// Begin at [Start] and [Instance.Write]. The database is package state, checkpoints are
// package checkpoint, and what they need from outside is in journal and objects.
package registry

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/quorate/quorate/impl/node"
	"github.com/quorate/quorate/impl/registry/checkpoint"
	"github.com/quorate/quorate/impl/registry/journal"
	"github.com/quorate/quorate/impl/registry/objects"
	"github.com/quorate/quorate/impl/registry/state"
	"github.com/quorate/quorate/impl/registry/trace"
)

// Config of an instance.
type Config struct {
	// Dir holds its files, which no other instance uses. It is made if it is missing.
	Dir string
	// Journal and Objects are those of all instances. Objects nil: no checkpoints.
	Journal journal.Journal
	Objects objects.Store
	// Rules of checkpoints. Without Usable: the default.
	Rules checkpoint.Rules
	// Schema is the layout of tables, 0: the newest.
	Schema int
	// Keep is how many images are kept (2), Grace how long others are, too (1 hour).
	Keep  int
	Grace time.Duration
	// Every is the age of the newest checkpoint, by whomever, at which another is made, 0:
	// never; Least how many records it must lie back (1); Jitter by how much the first look
	// is put off at random.
	Every, Jitter time.Duration
	Least         int64
	// Trim: the journal is trimmed after each checkpoint.
	Trim bool
	// CheckpointCPU is the share of one CPU that checkpoints take (0: [DefaultCheckpointCPU]);
	// from 1 on, all that they get.
	CheckpointCPU float64
	// StateDigest: checkpoints say the digest of all rows, and restores compare it.
	StateDigest bool
	// AcceptNewJournal: see [checkpoint.ErrForeign].
	AcceptNewJournal bool
	// Version of the program.
	Version string
	Trace   *trace.Recorder
	Metrics prometheus.Registerer
	// Now is the clock; it is asked for ages and durations only. Nil: the machine's.
	Now func() time.Time
	// Hook, if not nil, is called at points of starts and checkpoints, and may return an
	// error there. It is for tests.
	Hook func(point string) error
}

// DefaultCheckpointCPU is the share of one CPU that checkpoints take. None has a hurry, and
// whoever writes or reads meanwhile has.
const DefaultCheckpointCPU = 0.25

// Instance of a registry.
type Instance struct {
	cfg     Config
	id      string
	manager checkpoint.Manager
	metrics *checkpoint.Metrics

	ctx    context.Context
	cancel context.CancelFunc
	ready  chan struct{}
	done   chan struct{}
	wg     sync.WaitGroup

	mu      sync.Mutex
	err     error                        // why it ended
	db      *state.DB                    // once there is one
	waiters map[string]chan state.Result // by request
	next    int64                        // where to read on; all before is applied
	applied chan struct{}                // closed when next moves
	began   checkpoint.Restored

	slowest atomic.Int64 // the longest transaction, in nanoseconds, since it was set to 0
	replays atomic.Int64
}

// groups are how many records share a transaction, before and after an instance is ready.
const (
	replayGroup = 1000
	serveGroup  = 100
)

var (
	// ErrNotReady: the instance has not caught up, or has ended.
	ErrNotReady = errors.New("instance is not ready")
	// ErrUnknown: the write may take effect, now or later, or never.
	ErrUnknown = journal.ErrUnknown
)

// Start starts an instance, which goes on until Close, or until it must not: see Ready,
// Done and Err.
func Start(cfg Config) (*Instance, error) {
	if cfg.Rules.Usable == nil {
		cfg.Rules = checkpoint.DefaultRules()
	}
	if cfg.Keep == 0 {
		cfg.Keep = 2
	}
	if cfg.Keep < 2 {
		return nil, fmt.Errorf("%d images are to be kept: with fewer than 2, one that is damaged after the journal was trimmed is all that there was", cfg.Keep)
	}
	if cfg.Grace == 0 {
		cfg.Grace = time.Hour
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Schema == 0 {
		cfg.Schema = state.SchemaVersion
	}
	if cfg.CheckpointCPU == 0 {
		cfg.CheckpointCPU = DefaultCheckpointCPU
	}
	if !(cfg.CheckpointCPU > 0) {
		return nil, fmt.Errorf("checkpoints are to take %v of a CPU: with nothing none comes to its end", cfg.CheckpointCPU)
	}
	cfg.Least = max(cfg.Least, 1)
	i := &Instance{
		cfg: cfg, id: rand.Text(), ready: make(chan struct{}), done: make(chan struct{}),
		waiters: map[string]chan state.Result{}, applied: make(chan struct{}),
	}
	if cfg.Metrics != nil {
		i.metrics = checkpoint.NewMetrics(cfg.Metrics)
	}
	images := filepath.Join(cfg.Dir, "images")
	i.manager = checkpoint.Manager{
		Journal: cfg.Journal, Objects: cfg.Objects, Rules: cfg.Rules, Dir: images, Instance: i.id, App: cfg.Version, Schema: cfg.Schema,
		Keep: cfg.Keep, Grace: cfg.Grace, StateDigest: cfg.StateDigest, Share: cfg.CheckpointCPU, Now: cfg.Now, Trace: cfg.Trace, Metrics: i.metrics, Hook: cfg.Hook,
	}
	if i.manager.Objects == nil {
		i.manager.Objects = none{}
	}
	if err := os.MkdirAll(images, 0o755); err != nil {
		return nil, err
	}
	unlock, err := lock(cfg.Dir)
	if err != nil {
		return nil, err
	}
	if err := tidy(images); err != nil {
		unlock()
		return nil, err
	}
	i.ctx, i.cancel = context.WithCancel(context.Background())
	i.wg.Go(i.run)
	if cfg.Every > 0 && cfg.Objects != nil {
		i.wg.Go(i.schedule)
	}
	go func() {
		i.wg.Wait()
		if db := i.DB(); db != nil {
			if err := db.Close(); err != nil {
				slog.Warn("close the database", "err", err)
			}
		}
		unlock()
		close(i.done)
	}()
	return i, nil
}

// lock takes a directory for as long as the instance lives: of two that used the same one, the
// one would take the database of the other for its own.
func lock(dir string) (unlock func(), err error) {
	if runtime.GOOS == "windows" {
		return func() {}, nil // there are none
	}
	if unlock, err = node.LockDir(dir); err != nil {
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	return unlock, nil
}

// tidy removes what attempts and restores that did not come to
// their end have left in it. An image that was brought here stays.
func tidy(dir string) error {
	for _, pattern := range []string{"attempt-*", "verify-*", "*.tmp"} {
		names, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return err
		}
		for _, n := range names {
			if err := os.RemoveAll(n); err != nil {
				return err
			}
		}
	}
	return nil
}

// ID of this start of the instance.
func (i *Instance) ID() string { return i.id }

// Ready is closed when the instance has everything that was in the journal after it had
// been started.
func (i *Instance) Ready() <-chan struct{} { return i.ready }

// IsReady says whether it serves.
func (i *Instance) IsReady() bool {
	select {
	case <-i.ready:
		return i.ctx.Err() == nil
	default:
		return false
	}
}

// Done is closed when the instance has ended, for whatever reason.
func (i *Instance) Done() <-chan struct{} { return i.done }

// Err says why it ended, nil if it was told to.
func (i *Instance) Err() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.err
}

// Close ends the instance, and not its journal.
func (i *Instance) Close() error {
	i.cancel()
	<-i.done
	return i.Err()
}

// DB is the database, for reading; nil until there is one.
func (i *Instance) DB() *state.DB {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.db
}

// Began is how the instance started, and Replayed how many records it applied before it
// was ready.
func (i *Instance) Began() checkpoint.Restored {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.began
}

// Replayed is how many records were applied before the instance was ready.
func (i *Instance) Replayed() int64 { return i.replays.Load() }

// Next is the offset before which everything is applied.
func (i *Instance) Next() int64 {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.next
}

func (i *Instance) fail(err error) {
	i.mu.Lock()
	if i.err == nil && i.ctx.Err() == nil {
		i.err = err
		slog.Error("the registry ends", "instance", i.id, "err", err)
	}
	i.mu.Unlock()
	i.cancel()
}

func (i *Instance) record(e trace.Event) {
	e.Instance = i.id
	i.cfg.Trace.Record(e)
}

// WaitApplied waits until a record is applied here.
func (i *Instance) WaitApplied(ctx context.Context, offset int64) error {
	for {
		i.mu.Lock()
		next, applied := i.next, i.applied
		i.mu.Unlock()
		if next > offset {
			return nil
		}
		select {
		case <-applied:
		case <-ctx.Done():
			return ctx.Err()
		case <-i.ctx.Done():
			return ErrNotReady
		}
	}
}

// Write appends an operation and waits until it is applied here, so that whoever reads
// here afterwards sees it. offset is that of its record. What the registry refuses is in
// the result. Errors: ErrNotReady, [journal.NotLeaderError], and with both nothing has
// happened; ErrUnknown.
func (i *Instance) Write(ctx context.Context, op state.Op) (r state.Result, offset int64, err error) {
	if !i.IsReady() {
		return r, 0, ErrNotReady
	}
	op.Request = rand.Text()
	value, err := op.Encode()
	if err != nil {
		return r, 0, err
	}
	// Before the append: the record may be applied before the append returns.
	result := make(chan state.Result, 1)
	i.mu.Lock()
	i.waiters[op.Request] = result
	i.mu.Unlock()
	defer func() {
		i.mu.Lock()
		delete(i.waiters, op.Request)
		i.mu.Unlock()
	}()
	offset, err = i.cfg.Journal.Append(ctx, value)
	if err != nil {
		return r, 0, err
	}
	i.record(trace.Event{Action: trace.Append, Offset: offset})
	select {
	case r = <-result:
		return r, offset, nil
	case <-ctx.Done():
		return r, offset, fmt.Errorf("%w: %w", ErrUnknown, ctx.Err())
	case <-i.ctx.Done():
		return r, offset, fmt.Errorf("%w: %w", ErrUnknown, ErrNotReady)
	}
}
