package snapshot

import (
	"fmt"
	"slices"
	"testing"

	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/fs/crashtest"
	"github.com/stretchr/testify/require"
)

// done says which of swept are there for sure, and which may be.
type done struct{ durable, possible []ID }

// crashCase is about what is done with a directory of snapshots.
func crashCase(name string, before, do func(t testing.TB, d *fs.Double, m *done) error) crashtest.Case[done] {
	run := func(f func(t testing.TB, d *fs.Double, m *done) error) func(testing.TB, *fs.Double, done) (done, error) {
		return func(t testing.TB, d *fs.Double, m done) (done, error) {
			err := f(t, d, &m)
			return m, err
		}
	}
	return crashtest.Case[done]{
		Name: name,
		Before: func(t testing.TB, d *fs.Double) (done, error) {
			require.NoError(t, d.Mkdir(dir))
			return run(before)(t, d, done{})
		},
		Do: run(do),
		Recover: func(t testing.TB, d *fs.Double, m done) (done, error) {
			ids, err := Recover(d, dir)
			if err != nil {
				return m, err
			}
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
			return done{durable: ids, possible: ids}, nil
		},
		// The next process receives what is not there, from the same replica.
		Live: func(t testing.TB, d *fs.Double, m done) error {
			for i, id := range swept {
				image := image(t, i)
				p, err := Receive(d, dir, id, 7)
				require.NoError(t, err)
				require.LessOrEqual(t, p.Size(), int64(len(image)))
				require.NoError(t, p.Append(p.Size(), image[p.Size():]))
				require.NoError(t, p.Freeze(), "%s", id)
			}
			after := d.Crash(fs.KeepNone)
			ids, err := Recover(after, dir)
			require.NoError(t, err)
			require.Equal(t, swept, ids)
			for _, id := range ids {
				r, err := Open(after, dir, id)
				require.NoError(t, err)
				require.NoError(t, r.Verify())
			}
			return nil
		},
		Key: func(m done) string { return fmt.Sprint(m.durable, m.possible) },
	}
}

// Things to do, with snapshot i of swept.

func creates(i int) func(testing.TB, *fs.Double, *done) error {
	return func(t testing.TB, d *fs.Double, m *done) error {
		w, err := Create(d, dir, swept[i], int64(i))
		if err != nil {
			return err
		}
		for _, r := range bytesOf(contents[i]) {
			if err := w.Append([][]byte{r}); err != nil {
				return err
			}
			if err := w.flushBatch(); err != nil { // so that there are several writes
				return err
			}
		}
		return m.frozen(swept[i], w.Freeze)
	}
}

func (m *done) frozen(id ID, freeze func() error) error {
	m.possible = append(slices.Clone(m.possible), id)
	if err := freeze(); err != nil {
		return err
	}
	m.durable = append(slices.Clone(m.durable), id)
	return nil
}

func aborts(i int) func(testing.TB, *fs.Double, *done) error {
	return func(t testing.TB, d *fs.Double, m *done) error {
		w, err := Create(d, dir, swept[i], int64(i))
		if err != nil {
			return err
		}
		return w.Abort()
	}
}

// receives in chunks; after the first one the process is another, if it restarts.
func receives(i int, restarts bool) func(testing.TB, *fs.Double, *done) error {
	return func(t testing.TB, d *fs.Double, m *done) error {
		image := image(t, i)
		p, err := Receive(d, dir, swept[i], 7)
		if err != nil {
			return err
		}
		if err := p.Append(0, image[:len(image)/2]); err != nil {
			return err
		}
		if restarts {
			if err := p.Close(); err != nil {
				return err
			}
			if p, err = Receive(d, dir, swept[i], 7); err != nil {
				return err
			}
		}
		if err := p.Append(p.Size(), image[p.Size():]); err != nil {
			return err
		}
		return m.frozen(swept[i], p.Freeze)
	}
}

func deletes(i int) func(testing.TB, *fs.Double, *done) error {
	return func(t testing.TB, d *fs.Double, m *done) error {
		m.durable = slices.DeleteFunc(slices.Clone(m.durable), func(id ID) bool { return id == swept[i] })
		return Delete(d, dir, swept[i])
	}
}

func all(list ...func(testing.TB, *fs.Double, *done) error) func(testing.TB, *fs.Double, *done) error {
	return func(t testing.TB, d *fs.Double, m *done) error {
		for _, f := range list {
			if err := f(t, d, m); err != nil {
				return err
			}
		}
		return nil
	}
}

func crashCases() []crashtest.Case[done] {
	return []crashtest.Case[done]{
		crashCase("create and freeze", all(), creates(0)),
		crashCase("create beside others", creates(0), creates(1)),
		crashCase("abort", creates(0), aborts(1)),
		crashCase("receive and freeze", all(), receives(1, false)),
		crashCase("receive after a restart", creates(0), receives(2, true)),
		crashCase("receive what is there", creates(1), receives(1, false)),
		crashCase("delete", all(creates(0), creates(1)), deletes(0)),
		crashCase("create and delete the one before", creates(0), all(creates(2), deletes(0))),
	}
}

// TestEveryCrash: no crash at any operation, of any of them, loses a snapshot that was
// frozen, or leaves one under its name that is not whole.
func TestEveryCrash(t *testing.T) { crashtest.Sweep(t, crashCases()) }

// TestEveryFlush: each of the flushes is needed for that.
func TestEveryFlush(t *testing.T) { crashtest.Flushes(t, crashCases(), nil) }

// TestEveryFailure: what fails is said, by operation and file, and nothing is lost.
func TestEveryFailure(t *testing.T) { crashtest.Failures(t, crashCases()) }
