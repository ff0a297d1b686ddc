package registry_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/quorate/quorate/impl/registry"
	"github.com/quorate/quorate/impl/registry/checkpoint"
	"github.com/quorate/quorate/impl/registry/state"
	"github.com/stretchr/testify/require"
)

// impatience is how long a trial waits for what a mutation keeps from coming.
const impatience = 3 * time.Second

func neverDue(time.Duration, int64, time.Duration, int64) bool { return false }

func allGarbage(string, time.Duration, time.Duration, []checkpoint.Commit, int) bool { return true }

func init() {
	scenarios[1] = restoreIsUsed
	scenarios[2] = equality
	scenarios[3] = hiddenState
	scenarios[4] = writesDuring
	scenarios[5] = readsDuring
	scenarios[7] = twoAtOnce
	scenarios[20] = storeDown
	scenarios[23] = single
	scenarios[24] = diskFull
	scenarios[25] = killedRestores
	scenarios[27] = startUp
}

// 1: the journal has no longer what the image has, and all is there.
func restoreIsUsed(w *world) {
	a := w.start("")
	a.fill("a", 40)
	c := a.checkpoint()
	a.fill("tail", 7)
	want := a.digest()
	if !w.without {
		_, err := w.mem.TrimTo(w.ctx, c.Offset+1)
		require.NoError(w.t, err)
	}
	b := w.start("")
	require.Equal(w.t, want, b.digest())
	require.EqualValues(w.t, 1, b.metric("restore_used_total"))
	require.EqualValues(w.t, 7, b.Replayed())
	require.EqualValues(w.t, 7, b.metric("start_records_replayed"))
}

// operation is a random one, which may well be refused.
func operation(r *rand.Rand) state.Op {
	subject := fmt.Sprint("s", r.IntN(6))
	switch r.IntN(10) {
	case 0:
		return state.Op{Type: state.OpDeleteSubject, Subject: subject, Permanent: r.IntN(2) == 0}
	case 1, 2:
		return state.Op{Type: state.OpDeleteVersion, Subject: subject, Version: r.IntN(6), Permanent: r.IntN(2) == 0}
	case 3:
		return state.Op{Type: state.OpSetConfig, Subject: subject, Level: []string{"NONE", "FULL", "BACKWARD", "wrong"}[r.IntN(4)]}
	case 4:
		return state.Op{Type: state.OpDeleteConfig, Subject: subject}
	}
	op := reg(subject, fmt.Sprint("t", r.IntN(30)))
	if r.IntN(4) == 0 {
		op.References = []state.Reference{{Name: "r", Subject: fmt.Sprint("s", r.IntN(6)), Version: 1 + r.IntN(4)}}
	}
	if r.IntN(4) == 0 {
		op.Level, op.Checked = "BACKWARD", r.IntN(4)
	}
	return op
}

// 2: image and tail, the whole journal, and an instance that never stopped: the same rows,
// wherever the image was taken.
func equality(w *world) {
	r := rand.New(rand.NewPCG(2, 2))
	a := w.start("")
	refused := 0
	for cut := range 20 {
		for range 15 {
			if a.write(operation(r)).Refused != nil {
				refused++
			}
		}
		a.checkpoint()
		for range 5 {
			a.write(operation(r))
		}
		want := a.digest()
		b := w.start("")
		require.Equal(w.t, want, b.digest(), "cut %d, from the image", cut)
		require.NotNil(w.t, b.Began().From)
		b.stop()
		if cut%5 == 0 {
			c := w.start("", func(cfg *registry.Config) { cfg.Objects = nil; cfg.Rules.Usable = notUsable; cfg.Trace = nil })
			require.Equal(w.t, want, c.digest(), "cut %d, from the journal", cut)
			require.Nil(w.t, c.Began().From)
			c.stop()
		}
	}
	require.Greater(w.t, refused, 20, "what is refused moves the position too")
}

func notUsable(checkpoint.Commit, checkpoint.View) error { return errors.New("not now") }

// 3: an id that was given and deleted is not given again by whoever restores.
func hiddenState(w *world) {
	a := w.start("")
	a.fill("a", 3)
	last := a.write(reg("gone", "highest"))
	require.Nil(w.t, a.write(state.Op{Type: state.OpDeleteSubject, Subject: "gone"}).Refused)
	require.Nil(w.t, a.write(state.Op{Type: state.OpDeleteSubject, Subject: "gone", Permanent: true}).Refused)
	a.checkpoint()
	b := w.start("")
	require.NotNil(w.t, b.Began().From)
	made := a.write(reg("new", "next"))
	require.Equal(w.t, last.ID+1, made.ID)
	_ = b.digest()
	s, err := b.DB().Version(w.ctx, "new", 0, false)
	require.NoError(w.t, err)
	require.Equal(w.t, made.ID, s.ID)
	require.Equal(w.t, a.digest(), b.digest())
}

// during holds a checkpoint of a at a point, does something, and lets it go on.
func (w *world) during(point string, do func(a *inst)) (*inst, checkpoint.Commit) {
	adjust, reached, resume := pausing(point)
	w.t.Cleanup(resume)
	a := w.start("", adjust)
	a.fill("before", 30)
	made := make(chan checkpoint.Commit, 1)
	if w.without {
		do(a)
		return a, checkpoint.Commit{}
	}
	go func() {
		c, err := a.Checkpoint(w.ctx)
		if err != nil {
			c = checkpoint.Commit{}
		}
		made <- c
	}()
	<-reached
	do(a)
	resume()
	return a, <-made
}

// 4: writes go on while a checkpoint is made; the image is what it says, and none of them
// is lost or there twice.
func writesDuring(w *world) {
	var end int64
	a, c := w.during("mid-copy", func(a *inst) {
		a.fill("during", 50)
		end = a.Next()
	})
	require.NotEmpty(w.t, c.ID)
	require.Less(w.t, c.Offset, end-1, "they were applied beside it")
	require.NoError(w.t, a.Verify(w.ctx, c))
	b := w.start("")
	require.EqualValues(w.t, 50, b.Replayed())
	require.Equal(w.t, a.digest(), b.digest())
}

// 5: reads go on, too.
func readsDuring(w *world) {
	_, c := w.during("mid-upload", func(a *inst) {
		for range 100 {
			_, err := a.DB().Version(w.ctx, "before-1", 0, false)
			require.NoError(w.t, err)
		}
	})
	require.NotEmpty(w.t, c.ID)
}

// 7: two instances at once: both are answered, and a start takes the greater offset.
func twoAtOnce(w *world) {
	adjust, reached, resume := pausing("before-commit")
	w.t.Cleanup(resume)
	a, b := w.start("", adjust), w.start("")
	a.fill("a", 10)
	_ = b.digest()
	older := make(chan error, 1)
	if w.without {
		require.Fail(w.t, "there is nothing to take")
	}
	go func() { _, err := a.Checkpoint(w.ctx); older <- err }()
	<-reached
	a.fill("b", 10)
	_ = b.digest()
	newer := b.checkpoint()
	_, err := a.Checkpoint(w.ctx)
	require.ErrorIs(w.t, err, checkpoint.ErrBusy, "one instance makes one at a time")
	resume()
	require.NoError(w.t, <-older)
	list, err := a.Checkpoints(w.ctx)
	require.NoError(w.t, err)
	require.Equal(w.t, newer.ID, list[0].ID, "the older one is committed last")
	require.Len(w.t, list, 2)
	require.Equal(w.t, newer.ID, w.start("").Began().From.ID)
}

// 20: the store is down: the registry serves, the checkpoint is tried again, and not only
// after the whole interval.
func storeDown(w *world) {
	down := errors.New("the store is down")
	w.store.set(func(string, string) error { return down })
	a := w.start("", func(c *registry.Config) { c.Every = 200 * time.Millisecond })
	a.fill("a", 5)
	require.Eventually(w.t, func() bool { return a.metric("ck_attempts_total") >= 2 }, w.patient, time.Millisecond, "it is tried again")
	a.fill("b", 5)
	list, err := a.Checkpoints(w.ctx)
	require.NoError(w.t, err)
	require.Empty(w.t, list)
	w.store.set(nil)
	require.Eventually(w.t, func() bool {
		list, err := a.Checkpoints(w.ctx)
		return err == nil && len(list) > 0
	}, w.patient, time.Millisecond)
	require.True(w.t, a.IsReady())
}

// 23: one instance alone: at no point of a checkpoint do reads or writes stand still.
func single(w *world) {
	for _, point := range []string{"before-capture", "mid-copy", "after-copy", "mid-upload", "after-upload", "before-commit"} {
		_, c := w.during(point, func(a *inst) {
			require.Nil(w.t, a.write(reg("x", point)).Refused)
			_, err := a.DB().Version(w.ctx, "x", 0, false)
			require.NoError(w.t, err)
			require.True(w.t, a.IsReady())
		})
		require.NotEmpty(w.t, c.ID, point)
		w.mem.DropCheckpoints()
	}
}

// 24: there is no room for the copy: the attempt is over, and nothing else.
func diskFull(w *world) {
	for _, point := range []string{"mid-copy", "after-copy"} {
		a := w.start("", at(point, func() error { return syscall.ENOSPC }))
		a.fill(point, 5)
		_, err := a.Checkpoint(w.ctx)
		require.ErrorIs(w.t, err, syscall.ENOSPC)
		left, err := filepath.Glob(filepath.Join(a.dir, "images", "attempt-*"))
		require.NoError(w.t, err)
		require.Empty(w.t, left)
		require.EqualValues(w.t, 1, a.metric("ck_attempts_total"))
		a.fill(point, 5)
		_, err = a.Checkpoint(w.ctx)
		require.NoError(w.t, err, "the next one is made")
		// SQLite itself, without a place to write to.
		require.NoError(w.t, os.RemoveAll(filepath.Join(a.dir, "images")))
		_, err = a.Checkpoint(w.ctx)
		require.Error(w.t, err)
		a.fill("still", 5)
		a.stop()
	}
	// A store that is full is rid of what nobody needs, although no image fits in.
	a := w.start("")
	var keys []string
	for range 3 {
		a.fill("c", 1)
		keys = append(keys, a.checkpoint().Key)
	}
	w.store.set(func(what, _ string) error {
		if what == "put" {
			return syscall.ENOSPC
		}
		return nil
	})
	b := w.start("", func(c *registry.Config) { c.Every = 50 * time.Millisecond })
	b.fill("d", 1)
	require.Eventually(w.t, func() bool {
		left, err := w.store.List(w.ctx, keys[0])
		return err == nil && len(left) == 0
	}, w.patient, time.Millisecond)
	left, err := w.store.List(w.ctx, keys[1])
	require.NoError(w.t, err)
	require.Len(w.t, left, 1)
}

// 25: three starts are ended in the middle; the fourth uses what they have brought here.
func killedRestores(w *world) {
	a := w.start("")
	a.fill("a", 20)
	c := a.checkpoint()
	a.fill("b", 3)
	want := a.digest()
	dir := w.t.TempDir()
	for _, point := range []string{"fetched", "verified", "migrated"} {
		b := w.launch(dir, at(point, func() error { return context.Canceled }), func(cfg *registry.Config) {
			cfg.Rules.MayReplay = func(checkpoint.View) bool { return false }
		})
		select {
		case <-b.Done():
		case <-time.After(w.patient):
			require.Fail(w.t, "it goes on")
		}
		require.Error(w.t, b.Err(), point)
		b.stop()
	}
	gets := 0
	w.store.set(func(what, key string) error {
		if what == "get" && key == c.Key {
			gets++
		}
		return nil
	})
	b := w.start(dir)
	require.True(w.t, b.Began().Cached)
	require.Zero(w.t, gets, "it is not brought again")
	require.Equal(w.t, want, b.digest())
	require.EqualValues(w.t, 3, b.Replayed())
}

// 27: what a start replays is the tail, however long the journal. How many seconds that
// saves is for cmd/ckbench to say.
func startUp(w *world) {
	a := w.start("")
	a.fill("a", 600)
	a.checkpoint()
	a.fill("tail", 20)
	want := a.digest()
	b := w.start("")
	d, err := b.DB().Digest(w.ctx)
	require.NoError(w.t, err)
	require.Equal(w.t, want, d, "all of it, as soon as it is ready")
	require.EqualValues(w.t, 20, b.Replayed())
}
