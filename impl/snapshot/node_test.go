package snapshot

import (
	"fmt"
	"slices"
	"testing"

	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/log"
	"github.com/stretchr/testify/require"
)

// disk is what a replica keeps, as its driver does: a log and snapshots of it. The
// state of its machine is the list of all records, so that nothing can go unseen.
type disk struct {
	fsys fs.FS
	log  *log.Log
	// history is what the records are, one for each offset; those below flushed, and
	// below committed, must be found after a crash.
	history []string
	flushed int
	// next is the history after an installation that may have happened.
	next []string
}

var diskConfig = log.Config{SegmentBytes: 1500, RecoveryPointBytes: 1, IndexIntervalBytes: 300}

func (n *disk) append(epoch int32, count int) error {
	base := n.log.EndOffset()
	var values [][]byte
	for i := range count {
		v := fmt.Sprintf("record %d of epoch %d %0*d", base+int64(i), epoch, 200, 0)
		n.history = append(n.history, v)
		values = append(values, []byte(v))
	}
	_, err := n.log.AppendData(epoch, values, base)
	return err
}

func (n *disk) flush() error {
	end := len(n.history)
	err := n.log.Flush()
	if err == nil {
		n.flushed = end
	}
	return err
}

// take makes a snapshot of all below an offset.
func (n *disk) take(end int64, history []string) error {
	epoch, _ := n.log.EpochOf(end - 1)
	w, err := Create(n.fsys, dir, ID{End: end, Epoch: epoch}, end)
	if err != nil {
		return err
	}
	if err := w.Append(bytesOf(history[:end])); err != nil {
		return err
	}
	return w.Freeze()
}

// clean drops all before the newest snapshot.
func (n *disk) clean() error {
	ids, err := List(n.fsys, dir)
	if err != nil {
		return err
	}
	latest := ids[len(ids)-1]
	if err := n.log.AdvanceStart(latest.End, latest.Epoch); err != nil {
		return err
	}
	for _, id := range ids[:len(ids)-1] {
		if err := Delete(n.fsys, dir, id); err != nil {
			return err
		}
	}
	_, _, err = n.log.DeleteOld()
	return err
}

// install receives a snapshot of another history, and begins the log anew behind it.
func (n *disk) install(id ID, history []string) error {
	image := func() []byte {
		d := fs.NewDouble()
		must(d.Mkdir(dir))
		w, err := Create(d, dir, id, 1)
		must(err)
		must(w.Append(bytesOf(history)))
		must(w.Freeze())
		b, err := fs.ReadFile(d, dir+"/"+id.FileName())
		must(err)
		return b
	}()
	p, err := Receive(n.fsys, dir, id, 2)
	if err != nil {
		return err
	}
	for p.Size() < int64(len(image)) {
		if err := p.Append(p.Size(), image[p.Size():min(int64(len(image)), p.Size()+900)]); err != nil {
			return err
		}
	}
	n.next = history
	if err := p.Freeze(); err != nil {
		return err
	}
	if err := n.reset(id); err != nil {
		return err
	}
	n.history, n.flushed, n.next = slices.Clone(history), len(history), nil
	return n.clean()
}

func (n *disk) reset(id ID) error {
	return n.log.ResetTo(id.End, id.Epoch, log.StartDigest(id.End, id.Epoch))
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// histories of the leaders of epochs 2 and 3, whose snapshots are installed: over a
// log that ends before, and over one that is longer and has diverged.
func otherHistory(own []string, common, end int) []string {
	h := slices.Clone(own[:common])
	for len(h) < end {
		h = append(h, fmt.Sprintf("record %d of another leader", len(h)))
	}
	return h
}

func (n *disk) script() error {
	for _, step := range []func() error{
		func() error { return n.append(1, 2) }, n.flush,
		func() error { return n.append(1, 3) }, func() error { return n.append(1, 3) }, n.flush,
		func() error { return n.append(1, 1) },
		func() error { return n.take(5, n.history) }, n.clean,
		func() error { return n.append(1, 3) }, n.flush,
		func() error { return n.take(8, n.history) }, func() error { return n.append(1, 4) }, n.clean,
		func() error {
			n.flushed = min(n.flushed, 12)
			return n.install(ID{40, 2}, otherHistory(n.history, 12, 40))
		},
		func() error { return n.append(2, 4) }, n.flush, func() error { return n.append(2, 4) }, n.flush,
		func() error { // a leader of epoch 3 has only up to 42 of that
			n.flushed = 42
			return n.install(ID{43, 3}, otherHistory(n.history, 42, 43))
		},
		func() error { return n.append(3, 2) }, n.flush,
		func() error { return n.take(45, n.history) }, n.clean, func() error { return n.append(3, 1) }, n.flush,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// restart is what a driver does at its start; it returns the state of the machine.
func restart(t testing.TB, fsys fs.FS) (*log.Log, []string) {
	ids, err := Recover(fsys, dir)
	require.NoError(t, err)
	l, _, err := log.Open(fsys, dir, diskConfig)
	require.NoError(t, err)
	id, found, err := Covering(ids, l.StartOffset())
	require.NoError(t, err, "records are gone that no snapshot covers")
	var state []string
	if found {
		if id.Compare(ID{End: l.EndOffset(), Epoch: l.LastEpoch()}) > 0 { // died before the reset
			require.NoError(t, l.ResetTo(id.End, id.Epoch, 1))
		}
		r, err := Open(fsys, dir, id)
		require.NoError(t, err)
		state = recordsOf(t, r)
		require.Len(t, state, int(id.End))
		require.True(t, l.IsBoundary(id.End))
	}
	for _, id := range Stale(ids, l.StartOffset()) {
		require.NoError(t, Delete(fsys, dir, id))
	}
	var span log.Span
	for at := int64(len(state)); at < l.EndOffset(); at = span.End {
		require.NoError(t, l.Read(&span, at, 1<<20, l.EndOffset()))
		it := log.NewBatches(span.Bytes)
		for it.Next() {
			require.NoError(t, it.Batch().Records(func(r log.Record) error {
				state = append(state, string(r.Value))
				return nil
			}))
		}
	}
	return l, state
}

// TestNodeSweep crashes at every operation of appending, rolling, snapshots, retention
// and installation: what the next process finds is a beginning of the history with all
// that was flushed, or the one that was being installed.
func TestNodeSweep(t *testing.T) {
	start := func() (*fs.Double, *disk) {
		d := newDir(t)
		l, _, err := log.Open(d, dir, diskConfig)
		require.NoError(t, err)
		return d, &disk{fsys: d, log: l}
	}
	clean, n := start()
	first := clean.Ops()
	require.NoError(t, n.script())
	points, crashes := 0, 0
	for k := first + 1; k <= clean.Ops(); k++ {
		d, n := start()
		d.FailAt(k, fs.Crash)
		require.Error(t, n.script())
		points++
		check := func(d *fs.Double) {
			crashes++
			l, state := restart(t, d)
			if n.next == nil || !slices.Equal(state, n.next) {
				require.GreaterOrEqual(t, len(state), n.flushed, "point %d", k)
				require.LessOrEqual(t, len(state), len(n.history))
				require.True(t, slices.Equal(n.history[:len(state)], state), "point %d", k)
			}
			_, err := l.AppendData(max(l.LastEpoch(), 1), [][]byte{[]byte("next")}, 0)
			require.NoError(t, err)
			require.NoError(t, l.Flush())
			require.NoError(t, l.Abandon())
			_, again := restart(t, d.Crash(fs.KeepNone))
			require.Equal(t, append(slices.Clone(state), "next"), again)
		}
		for after := range crashesOf(d) {
			check(after)
		}
		d.Restart()
		check(d)
	}
	t.Logf("%d crash points, %d crashes", points, crashes)
}
