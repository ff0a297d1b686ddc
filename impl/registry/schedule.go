package registry

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/quorate/quorate/impl/registry/checkpoint"
	"github.com/quorate/quorate/impl/registry/objects"
)

// ErrNoStore: there is no place for images.
var ErrNoStore = errors.New("no store of images is configured")

// none is the store of an instance that makes no checkpoints.
type none struct{}

func (none) Put(context.Context, string, io.Reader) error { return ErrNoStore }
func (none) Get(context.Context, string) (io.ReadCloser, error) {
	return nil, ErrNoStore
}
func (none) List(context.Context, string) ([]objects.Object, error) { return nil, nil }
func (none) Delete(context.Context, string) error                   { return nil }

// Checkpoint makes a checkpoint of what is applied here, while the instance goes on.
// Errors: ErrNotReady, ErrNoStore, [checkpoint.ErrBusy].
func (i *Instance) Checkpoint(ctx context.Context) (checkpoint.Commit, error) {
	if i.cfg.Objects == nil {
		return checkpoint.Commit{}, ErrNoStore
	}
	if !i.IsReady() {
		// One that has not caught up, or came upon a record that it cannot apply, has
		// nothing to offer that others have not.
		return checkpoint.Commit{}, ErrNotReady
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(i.ctx, cancel)()
	i.slowest.Store(0)
	lag := i.watchLag(ctx)
	c, err := i.manager.Make(ctx, i.DB())
	if err != nil && i.ctx.Err() != nil {
		err = errors.Join(ErrNotReady, i.Err(), err)
	}
	if i.metrics != nil {
		i.metrics.Pause.Observe(i.Pause().Seconds())
		most, recovered := lag()
		i.metrics.LagMax.Set(float64(most))
		i.metrics.LagRecover.Set(recovered.Seconds())
	}
	return c, err
}

// Pause is the longest time for which a transaction kept others waiting, since the last
// checkpoint began.
func (i *Instance) Pause() time.Duration { return time.Duration(i.slowest.Load()) }

// watchLag looks how many records wait to be applied, until what it returns is called,
// which waits until there are few again, but not for long.
func (i *Instance) watchLag(ctx context.Context) func() (most int64, recovered time.Duration) {
	if i.metrics == nil {
		return nil
	}
	end, lags := make(chan struct{}), make(chan int64, 1)
	lag := func() int64 {
		b, err := i.cfg.Journal.Bounds(ctx)
		if err != nil {
			return 0
		}
		return b.End - i.Next()
	}
	go func() {
		most := lag()
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-end:
				lags <- most
				return
			case <-tick.C:
				most = max(most, lag())
			}
		}
	}()
	return func() (int64, time.Duration) {
		close(end)
		began := time.Now()
		for lag() >= 10 && time.Since(began) < 5*time.Second && ctx.Err() == nil {
			time.Sleep(5 * time.Millisecond)
		}
		return <-lags, time.Since(began)
	}
}

// Trim trims the journal up to what the images that are kept cover.
func (i *Instance) Trim(ctx context.Context, dry bool) (checkpoint.Trimmed, error) {
	if i.cfg.Objects == nil {
		return checkpoint.Trimmed{}, ErrNoStore
	}
	if !i.IsReady() {
		return checkpoint.Trimmed{}, ErrNotReady
	}
	return i.manager.Trim(ctx, dry)
}

// Collect deletes images that nobody needs any more.
func (i *Instance) Collect(ctx context.Context) ([]string, error) { return i.manager.Collect(ctx) }

// Checkpoints are those in the list, oldest first.
func (i *Instance) Checkpoints(ctx context.Context) ([]checkpoint.Commit, error) {
	commits, _, err := i.manager.List(ctx)
	return commits, err
}

// Verify reads an image as a start would.
func (i *Instance) Verify(ctx context.Context, c checkpoint.Commit) error {
	return i.manager.Verify(ctx, c)
}

// schedule makes a checkpoint whenever one is due and nobody else has made it. That two
// do so at once costs some work, and nothing else.
func (i *Instance) schedule() {
	if i.waitReady(i.ctx) != nil {
		return
	}
	look := max(min(i.cfg.Every/4, time.Minute), time.Millisecond)
	wait := look
	if i.cfg.Jitter > 0 {
		wait += rand.N(i.cfg.Jitter)
	}
	failures := 0
	for {
		select {
		case <-time.After(wait):
		case <-i.ctx.Done():
			return
		}
		wait = look
		if err := i.tend(i.ctx); err != nil {
			// Not before a while, and not only after the interval: nothing was made.
			failures = min(failures+1, 6)
			wait = min(look<<failures, i.cfg.Every)
			slog.Warn("no checkpoint", "instance", i.id, "err", err, "again", wait)
			continue
		}
		failures = 0
	}
}

// tend makes a checkpoint if it is due, and then tidies up. That it cannot be told whether
// one is due counts as if none were.
func (i *Instance) tend(ctx context.Context) error {
	kept, v, err := i.manager.Kept(ctx, false)
	if err != nil {
		return err
	}
	age, distance := time.Duration(-1), v.End
	if len(kept) > 0 {
		age, distance = max(i.cfg.Now().Sub(time.UnixMilli(kept[0].Time)), 0), v.End-1-kept[0].Offset
	}
	if i.metrics != nil {
		i.metrics.Age.Set(age.Seconds())
		i.metrics.Distance.Set(float64(distance))
	}
	if !i.cfg.Rules.Due(age, distance, i.cfg.Every, i.cfg.Least) {
		return nil
	}
	if _, err := i.Checkpoint(ctx); err != nil {
		// There may be no room for it in the store, and garbage in its place.
		_, e := i.Collect(ctx)
		return errors.Join(err, e)
	}
	if i.cfg.Trim {
		if _, err := i.Trim(ctx, false); err != nil && !errors.Is(err, checkpoint.ErrNotCovered) {
			return err
		}
	}
	_, err = i.Collect(ctx)
	return err
}
