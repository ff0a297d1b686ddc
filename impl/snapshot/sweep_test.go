package snapshot

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/quorate/quorate/impl/fs"
	"github.com/stretchr/testify/require"
)

// life is what a directory of snapshots must be: a crash leaves all of durable, and of
// the others any.
type life struct {
	durable, possible []ID
}

var (
	swept    = []ID{{End: 10, Epoch: 1}, {End: 20, Epoch: 2}, {End: 30, Epoch: 2}}
	contents = [][]string{{"a", strings.Repeat("b", 700)}, {strings.Repeat("c", 600), "d", "e"}, {"f"}}
)

func bytesOf(records []string) (all [][]byte) {
	for _, r := range records {
		all = append(all, []byte(r))
	}
	return all
}

// image is the file of one of swept as another replica has it.
func image(t testing.TB, i int) []byte {
	d := newDir(t)
	w, err := Create(d, dir, swept[i], int64(i))
	require.NoError(t, err)
	require.NoError(t, w.Append(bytesOf(contents[i])))
	require.NoError(t, w.Freeze())
	b, err := fs.ReadFile(d, dir+"/"+swept[i].FileName())
	require.NoError(t, err)
	return b
}

// script writes a snapshot, aborts another, receives one in chunks with a restart
// between, deletes the first, and receives one without a restart. It ends with the
// first error.
func (m *life) script(d *fs.Double, images [][]byte) error {
	frozen := func(id ID, freeze func() error) error {
		m.possible = append(m.possible, id)
		if err := freeze(); err != nil {
			return err
		}
		m.durable = append(m.durable, id)
		return nil
	}
	w, err := Create(d, dir, swept[0], 0)
	if err != nil {
		return err
	}
	for _, r := range bytesOf(contents[0]) {
		if err := w.Append([][]byte{r}); err != nil {
			return err
		}
		if err := w.flushBatch(); err != nil { // so that there are several writes
			return err
		}
	}
	if err := frozen(swept[0], w.Freeze); err != nil {
		return err
	}
	if w, err = Create(d, dir, swept[1], 0); err != nil {
		return err
	}
	if err := w.Abort(); err != nil {
		return err
	}
	for _, restarted := range []bool{true, false} {
		i := 2
		if restarted {
			i = 1
		}
		p, err := Receive(d, dir, swept[i], 7)
		if err != nil {
			return err
		}
		for p.Size() < int64(len(images[i])) {
			pos := p.Size()
			if err := p.Append(pos, images[i][pos:min(pos+300, int64(len(images[i])))]); err != nil {
				return err
			}
			if restarted && pos > 300 {
				restarted = false
				if err := p.Close(); err != nil {
					return err
				}
				if p, err = Receive(d, dir, swept[i], 7); err != nil {
					return err
				}
			}
		}
		if err := frozen(swept[i], p.Freeze); err != nil {
			return err
		}
		if i == 1 {
			m.durable = m.durable[1:]
			if err := Delete(d, dir, swept[0]); err != nil {
				return err
			}
		}
	}
	return nil
}

// recovered holds what is found against the model, and lets the next process go on.
func (m *life) recovered(t testing.TB, d *fs.Double, images [][]byte) []ID {
	ids, err := Recover(d, dir)
	require.NoError(t, err)
	for _, id := range m.durable {
		require.Contains(t, ids, id, "a durable snapshot is lost")
	}
	for _, id := range ids {
		require.Contains(t, m.possible, id)
		r, err := Open(d, dir, id)
		require.NoError(t, err)
		require.Equal(t, contents[slices.Index(swept, id)], recordsOf(t, r))
	}
	for _, name := range names(t, d) {
		_, who, k := parse(name)
		require.True(t, k == frozen || who == fromPart(7), name)
	}
	for i, id := range swept {
		p, err := Receive(d, dir, id, 7)
		require.NoError(t, err)
		require.LessOrEqual(t, p.Size(), int64(len(images[i])))
		require.NoError(t, p.Append(p.Size(), images[i][p.Size():]))
		require.NoError(t, p.Freeze(), "%s", id)
	}
	after := d.Crash(fs.KeepNone)
	again, err := Recover(after, dir)
	require.NoError(t, err)
	require.Equal(t, swept, again)
	for _, id := range again {
		r, err := Open(after, dir, id)
		require.NoError(t, err)
		require.NoError(t, r.Verify())
	}
	return ids
}

// TestSweep makes every operation fail in turn, restarts in many ways and checks what
// is found. TestEveryCrash is the same for crashes, in every way.
func TestSweep(t *testing.T) {
	images := [][]byte{image(t, 0), image(t, 1), image(t, 2)}
	clean := newDir(t)
	first := clean.Ops()
	require.NoError(t, new(life).script(clean, images))
	for _, fault := range []fs.Fault{fs.Error, fs.TornWrite, fs.DiskFull} {
		points, crashes := 0, 0
		for k := first + 1; k <= clean.Ops(); k++ {
			d := newDir(t)
			d.FailAt(k, fault)
			var m life
			if m.script(d, images) == nil {
				continue // the fault does not apply to this operation
			}
			points++
			for after := range crashesOf(d) {
				crashes++
				m.recovered(t, after, images)
			}
			// The process died, the machine did not: what Recover found is durable.
			d.Restart()
			ids, err := Recover(d, dir)
			require.NoError(t, err)
			(&life{durable: ids, possible: ids}).recovered(t, d.Crash(fs.KeepNone), images)
			m.recovered(t, d, images)
		}
		t.Logf("fault %d: %d points, %d crashes", fault, points, crashes)
	}
}

// crashesOf yields the disk after every crash that is possible, if these are not too
// many, else after some of all kinds.
func crashesOf(d *fs.Double) iter.Seq[*fs.Double] {
	const most = 32
	return func(yield func(*fs.Double) bool) {
		var all []*fs.Double
		for _, disk := range d.Crashes() {
			if all = append(all, disk()); len(all) > most {
				break
			}
		}
		if len(all) > most {
			all = nil
			for _, keep := range choices(d.Ops()) {
				all = append(all, d.Crash(keep))
			}
		}
		for _, disk := range all {
			if !yield(disk) {
				return
			}
		}
	}
}

// choices are ways for a crash to keep what was not flushed when the disk had begun n
// operations.
func choices(n int) []fs.Chooser {
	all := []fs.Chooser{fs.KeepAll, fs.KeepNone}
	for k := max(1, n-4); k <= n; k++ {
		all = append(all, fs.KeepBelow(k), fs.LoseOnly(k), fs.KeepOnly(k))
	}
	for seed := range 4 {
		all = append(all, fs.KeepRandom(uint64(n*1000+seed)))
	}
	return all
}

// TestFailedFlush: a flush that failed took what was written since; a snapshot that is
// received again is written again.
func TestFailedFlush(t *testing.T) {
	b := image(t, 1)
	d := newDir(t)
	p, err := Receive(d, dir, swept[1], 7)
	require.NoError(t, err)
	require.NoError(t, p.Append(0, b))
	d.FailAt(d.Ops()+1, fs.Error)
	require.ErrorContains(t, p.Freeze(), "flush "+fmt.Sprint(dir, "/", swept[1].partName(fromPart(7))))
	require.Error(t, p.Freeze(), "nothing is retried")
	require.NoError(t, p.Close())
	p, err = Receive(d, dir, swept[1], 7)
	require.NoError(t, err)
	require.EqualValues(t, len(b), p.Size())
	require.NoError(t, p.Freeze())
	(&life{durable: swept[1:2], possible: swept[1:2]}).recovered(t, d.Crash(fs.KeepNone), [][]byte{image(t, 0), b, image(t, 2)})
}
