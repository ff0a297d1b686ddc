package registry_test

import (
	"bytes"
	"context"
	"sync"
	"time"

	"github.com/quorate/quorate/impl/registry"
	"github.com/quorate/quorate/impl/registry/checkpoint"
	"github.com/quorate/quorate/impl/registry/journal"
	"github.com/quorate/quorate/impl/registry/state"
	"github.com/stretchr/testify/require"
)

func init() {
	scenarios[8] = zombie
	scenarios[9] = corruption
	scenarios[10] = noneUsableWhole
	scenarios[11] = noneUsableTrimmed
	scenarios[13] = trimSafety
	scenarios[14] = continuousWriters
	scenarios[15] = recreated
	scenarios[16] = ahead
	scenarios[17] = upgrade
	scenarios[18] = downgrade
	scenarios[19] = unknownOperation
	scenarios[21] = listLost
	scenarios[22] = clockSkew
}

// 8: an instance that stood still for two checkpoints and a trim commits late. Nobody
// takes what it commits, and nobody comes to where the journal no longer is.
// (TestStoppedProcess does the same to a process.)
func zombie(w *world) {
	adjust, reached, resume := pausing("mid-upload")
	w.t.Cleanup(resume)
	a, b := w.start("", adjust), w.start("")
	a.fill("a", 10)
	late := make(chan error, 1)
	go func() { _, err := a.Checkpoint(w.ctx); late <- err }()
	<-reached
	for _, name := range []string{"b", "c"} {
		b.fill(name, 10)
		b.checkpoint()
	}
	b.fill("d", 4)
	trimmed, err := b.Trim(w.ctx, false)
	require.NoError(w.t, err)
	resume()
	require.NoError(w.t, <-late, "it may commit: that does no harm")
	list, err := b.Checkpoints(w.ctx)
	require.NoError(w.t, err)
	require.Len(w.t, list, 3)
	require.Less(w.t, list[2].Offset, trimmed.To, "its commit is the last one, of a record that is gone")
	c := w.start("")
	require.Equal(w.t, list[1].ID, c.Began().From.ID)
	require.Equal(w.t, b.digest(), c.digest())
	_, err = b.Collect(w.ctx)
	require.NoError(w.t, err)
	left, err := w.store.List(w.ctx, "images/")
	require.NoError(w.t, err)
	require.Len(w.t, left, 4, "its image is garbage")
}

// 9: whatever is wrong with an image, it is noticed, and the one before is used.
func corruption(w *world) {
	a := w.start("", func(c *registry.Config) { c.StateDigest = false })
	a.fill("a", 40)
	first := a.checkpoint()
	a.fill("b", 40)
	second := a.checkpoint()
	a.fill("c", 5)
	want := a.digest()
	var good []byte
	w.change(second.Key, func(b []byte) []byte { good = b; return b })
	other := func() (b []byte) {
		w.change(first.Key, func(f []byte) []byte { b = f; return f })
		return b
	}()
	for what, damage := range map[string]func([]byte) []byte{
		"half of it":           func(b []byte) []byte { return b[:len(b)/2] },
		"all but a little":     func(b []byte) []byte { return b[:len(b)-len(b)/1000-1] },
		"a flipped bit":        flip,
		"the image of another": func([]byte) []byte { return other },
		"a letter in a text": func(b []byte) []byte {
			// SQLite itself would not notice this one.
			raw := expandBytes(w.t, b)
			at := bytes.Index(raw, []byte("schema 7 of b"))
			require.Positive(w.t, at)
			raw[at] ^= 1
			return compressBytes(w.t, raw)
		},
	} {
		w.change(second.Key, func([]byte) []byte { return damage(good) })
		b := w.start("")
		require.Equal(w.t, first.ID, b.Began().From.ID, what)
		require.Equal(w.t, want, b.digest(), what)
		require.EqualValues(w.t, 1, b.metric("images_rejected_total"), what)
		b.stop()
	}
}

// 10: no image can be used and the journal is whole: it is replayed, and that is told.
func noneUsableWhole(w *world) {
	a := w.start("")
	a.fill("a", 20)
	w.change(a.checkpoint().Key, flip)
	want := a.digest()
	b := w.start("")
	require.Equal(w.t, want, b.digest())
	require.EqualValues(w.t, 1, b.metric("full_replay_total"))
	require.EqualValues(w.t, 1, b.metric("images_rejected_total"))
}

// 11: no image can be used and the journal is not whole: there is no state to be had, and
// the first record that is missing is named.
func noneUsableTrimmed(w *world) {
	a := w.start("")
	a.fill("a", 20)
	first := a.checkpoint()
	a.fill("b", 20)
	second := a.checkpoint()
	_, err := a.Trim(w.ctx, false)
	require.NoError(w.t, err)
	w.change(first.Key, flip)
	w.change(second.Key, flip)
	var missing *checkpoint.MissingError
	require.ErrorAs(w.t, w.refused(), &missing)
	require.Equal(w.t, first.Offset, missing.Start)
	require.Zero(w.t, missing.First)
	require.Len(w.t, missing.Reasons, 2)
	// The same if one is whole, but the record after it is gone.
	a.fill("c", 20)
	third := a.checkpoint()
	a.fill("d", 20)
	_, err = w.mem.TrimTo(w.ctx, third.Offset+5)
	require.NoError(w.t, err)
	require.ErrorAs(w.t, w.refused(), &missing)
	require.Equal(w.t, third.Offset+1, missing.First)
}

// 13: after every trim, whichever one image is damaged, a start has everything.
func trimSafety(w *world) {
	a := w.start("")
	for round := range 4 {
		a.fill("a"+string(rune('0'+round)), 12)
		a.checkpoint()
		dry, err := a.Trim(w.ctx, true)
		if round == 0 {
			require.ErrorIs(w.t, err, checkpoint.ErrNotCovered, "one image is too few")
			continue
		}
		require.NoError(w.t, err)
		before, err := w.journal.Bounds(w.ctx)
		require.NoError(w.t, err)
		require.Equal(w.t, dry.Start, before.Start, "a dry run does nothing")
		done, err := a.Trim(w.ctx, false)
		require.NoError(w.t, err)
		require.Equal(w.t, dry.To, done.To)
		after, err := w.journal.Bounds(w.ctx)
		require.NoError(w.t, err)
		require.Equal(w.t, done.To, after.Start)
		_, err = a.Collect(w.ctx)
		require.NoError(w.t, err)
		left, err := w.store.List(w.ctx, "images/")
		require.NoError(w.t, err)
		require.Len(w.t, left, 4, "as many as are kept, each with its commit")
		want := a.digest()
		for damaged := range done.Kept {
			var whole []byte
			w.change(done.Kept[damaged].Key, func(b []byte) []byte { whole = b; return flip(b) })
			b := w.start("")
			require.Equal(w.t, want, b.digest(), "round %d, image %d damaged", round, damaged)
			b.stop()
			w.change(done.Kept[damaged].Key, func([]byte) []byte { return whole })
		}
	}
	// A trim reads all images that it relies on.
	list, err := a.Checkpoints(w.ctx)
	require.NoError(w.t, err)
	w.change(list[len(list)-1].Key, flip)
	_, err = a.Trim(w.ctx, false)
	require.ErrorIs(w.t, err, checkpoint.ErrNotCovered)
	// And so does who collects: beside one that is damaged an older one is needed.
	a.fill("more", 5)
	a.checkpoint()
	collected, err := a.Collect(w.ctx)
	require.NoError(w.t, err)
	require.Empty(w.t, collected)
}

// endless is a journal that has grown whenever somebody asks where it ends, or has read.
type endless struct {
	*journal.Memory
	mu sync.Mutex
	n  int
}

func (e *endless) grow(ctx context.Context) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.n++
	op := reg("endless", time.Duration(e.n).String())
	b, err := op.Encode()
	if err == nil {
		_, _ = e.Append(ctx, b) // closed: the test is over
	}
}

func (e *endless) Bounds(ctx context.Context) (journal.Bounds, error) {
	e.grow(ctx)
	return e.Memory.Bounds(ctx)
}

// 14: an instance becomes ready though the end of the journal moves all the time.
func continuousWriters(w *world) {
	w.journal = &endless{Memory: w.mem}
	a := w.start("")
	a.fill("a", 10)
	b := w.start("")
	require.Less(w.t, b.Began().End, int64(1000))
}

// 15: a journal that was made anew under the same name: images of the old one are none of
// it, and whether to begin with nothing is for somebody to say.
func recreated(w *world) {
	a := w.start("")
	a.fill("a", 10)
	a.checkpoint()
	a.stop()
	w.mem.Recreate("journal-2")
	err := w.refused()
	require.ErrorIs(w.t, err, checkpoint.ErrForeign)
	b := w.start("", func(c *registry.Config) { c.AcceptNewJournal = true })
	names, err := b.DB().Subjects(w.ctx, "", true)
	require.NoError(w.t, err)
	require.Empty(w.t, names)
	b.fill("b", 30)
	b.checkpoint()
	c := w.start("")
	require.Equal(w.t, "journal-2", c.Began().From.Journal)
	require.Equal(w.t, b.digest(), c.digest())
}

// 16: the journal lost its tail: an image that has it is not used, not even when the
// journal has grown past it; and an instance that has it ends.
func ahead(w *world) {
	a := w.start("")
	a.fill("a", 10)
	a.checkpoint()
	a.fill("b", 10)
	lost := a.checkpoint()
	w.mem.Rewind(15)
	select {
	case <-a.Done():
	case <-time.After(w.patient):
		require.Fail(w.t, "an instance goes on with what the journal has lost")
	}
	require.ErrorIs(w.t, a.Err(), registry.ErrRewound)
	b := w.start("")
	require.EqualValues(w.t, 9, b.Began().From.Offset)
	require.EqualValues(w.t, 1, b.metric("images_rejected_total"))
	for range 3 { // and past the offset of the image
		b.fill("c", 10)
		c := w.start("")
		require.EqualValues(w.t, 9, c.Began().From.Offset)
		require.Equal(w.t, b.digest(), c.digest())
		c.stop()
	}
	require.Greater(w.t, b.Next(), lost.Offset+1)
}

// 17: a newer binary takes an image of an older one, and changes a copy of it.
func upgrade(w *world) {
	a := w.start("", func(c *registry.Config) { c.Schema = 1 })
	a.fill("a", 20)
	c := a.checkpoint()
	if !w.without {
		_, err := w.mem.TrimTo(w.ctx, c.Offset+1)
		require.NoError(w.t, err)
	}
	dir := w.t.TempDir()
	b := w.launch(dir, at("migrated", func() error { return context.Canceled }))
	select {
	case <-b.Done():
	case <-time.After(w.patient):
		require.Fail(w.t, "it goes on")
	}
	b.stop()
	require.NoError(w.t, a.Verify(w.ctx, c), "the image is as it was")
	b = w.start(dir)
	require.NotNil(w.t, b.Began().From)
	require.Equal(w.t, a.digest(), b.digest())
	p, err := b.DB().Position(w.ctx)
	require.NoError(w.t, err)
	require.Equal(w.t, state.SchemaVersion, p.Schema)
	require.Equal(w.t, 1, c.Schema)
	require.Equal(w.t, state.SchemaVersion, b.checkpoint().Schema)
}

// 18: an older binary passes over an image of a newer one, and takes an older image; if
// there is none and the journal is not whole, it does not serve.
func downgrade(w *world) {
	old := func(c *registry.Config) { c.Schema = 1 }
	a := w.start("", old)
	a.fill("a", 10)
	first := a.checkpoint()
	b := w.start("")
	b.fill("b", 10)
	second := b.checkpoint()
	b.fill("c", 3)
	c := w.start("", old)
	require.NotNil(w.t, c.Began().From)
	require.Equal(w.t, first.ID, c.Began().From.ID)
	require.Equal(w.t, b.digest(), c.digest())
	_, err := w.mem.TrimTo(w.ctx, second.Offset+1)
	require.NoError(w.t, err)
	var missing *checkpoint.MissingError
	require.ErrorAs(w.t, w.refused(old), &missing)
	require.Equal(w.t, first.Offset+1, missing.First)
}

// 19: a record that this binary does not know: the instance does not pass over it, does
// not serve, and publishes no image.
func unknownOperation(w *world) {
	a := w.start("")
	a.fill("a", 10)
	_, err := w.mem.Append(w.ctx, []byte(`{"v":99,"type":"rename"}`))
	require.NoError(w.t, err)
	select {
	case <-a.Done():
	case <-time.After(w.patient):
		require.Fail(w.t, "it goes on")
	}
	require.ErrorIs(w.t, a.Err(), state.ErrUnknownOp)
	require.False(w.t, a.IsReady())
	_, err = a.Checkpoint(w.ctx)
	require.ErrorIs(w.t, err, registry.ErrNotReady)
	require.ErrorIs(w.t, w.refused(), state.ErrUnknownOp)
	list, err := a.Checkpoints(w.ctx)
	require.NoError(w.t, err)
	require.Empty(w.t, list)
}

// 21: the list is lost: it is made anew from what stands beside the images. Without
// those, and a journal that is not whole, nobody serves.
func listLost(w *world) {
	a := w.start("")
	a.fill("a", 10)
	first := a.checkpoint()
	a.fill("b", 10)
	a.checkpoint()
	if !w.without {
		_, err := a.Trim(w.ctx, false)
		require.NoError(w.t, err)
	}
	want := a.digest()
	w.mem.DropCheckpoints()
	b := w.start("")
	require.NotNil(w.t, b.Began().From)
	require.Equal(w.t, want, b.digest())
	// A part of it is lost, and what is left names an image that is damaged.
	lost := *b.Began().From
	require.NotEqual(w.t, first.ID, lost.ID)
	record, err := first.Encode()
	require.NoError(w.t, err)
	require.NoError(w.t, w.mem.AddCheckpoint(w.ctx, record))
	w.change(first.Key, flip)
	c := w.start("")
	require.NotNil(w.t, c.Began().From)
	require.Equal(w.t, lost.ID, c.Began().From.ID)
	require.Equal(w.t, want, c.digest())
	all, err := w.store.List(w.ctx, "")
	require.NoError(w.t, err)
	for _, o := range all {
		require.NoError(w.t, w.store.Delete(w.ctx, o.Key))
	}
	var missing *checkpoint.MissingError
	require.ErrorAs(w.t, w.refused(), &missing)
}

// 22: clocks that are an hour wrong change nothing of what is chosen, and cost one
// checkpoint more or less.
func clockSkew(w *world) {
	clock := func(d time.Duration) func(*registry.Config) {
		return func(c *registry.Config) { c.Now = func() time.Time { return time.Now().Add(d) } }
	}
	fast, slow := w.start("", clock(time.Hour)), w.start("", clock(-time.Hour))
	fast.fill("a", 10)
	fast.checkpoint()
	slow.fill("b", 10)
	newer := slow.checkpoint()
	for _, d := range []time.Duration{-time.Hour, 0, time.Hour} {
		b := w.start("", clock(d))
		require.Equal(w.t, newer.ID, b.Began().From.ID)
		b.stop()
	}
	// One that is fast takes the newest for old, and makes one more; one that is slow takes
	// it for young, and makes none.
	fast.fill("c", 1)
	once := func(d time.Duration) int {
		before := len(must(slow.Checkpoints(w.ctx))(w.t))
		b := w.start("", clock(d), func(c *registry.Config) { c.Every = 40 * time.Minute })
		looked := b.cfg.Rules.Due(b.age(), 1, b.cfg.Every, 1)
		after := len(must(slow.Checkpoints(w.ctx))(w.t))
		b.stop()
		require.Equal(w.t, before, after, "it has not looked yet")
		if looked {
			return 1
		}
		return 0
	}
	require.Equal(w.t, 1, once(time.Hour))
	require.Equal(w.t, 0, once(-time.Hour))
}

// age of the newest commit, by the clock of an instance.
func (n *inst) age() time.Duration {
	list := must(n.Checkpoints(n.w.ctx))(n.w.t)
	return n.cfg.Now().Sub(time.UnixMilli(list[len(list)-1].Time))
}

func must[V any](v V, err error) func(tester) V {
	return func(t tester) V {
		require.NoError(t, err)
		return v
	}
}
