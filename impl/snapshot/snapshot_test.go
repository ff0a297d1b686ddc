package snapshot

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/log"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// write makes a snapshot of records with the sizes.
func write(t testing.TB, fsys fs.FS, dir string, id ID, sizes ...int) []string {
	w, err := Create(fsys, dir, id, 5)
	require.NoError(t, err)
	var want []string
	for i, n := range sizes {
		v := bytes.Repeat([]byte{byte('a' + i%26)}, n)
		want = append(want, string(v))
		require.NoError(t, w.Append([][]byte{v}))
		v[0] = '?' // it was copied
	}
	require.NoError(t, w.Freeze())
	return want
}

func names(t testing.TB, fsys fs.FS) []string {
	all, err := fsys.List(dir)
	require.NoError(t, err)
	return all
}

func TestBatching(t *testing.T) {
	d := newDir(t)
	var sizes []int
	for range 3000 {
		sizes = append(sizes, 1000)
	}
	sizes = append(sizes, 2<<20, 1, log.MaxBatchBytes-overhead, 1)
	want := write(t, d, dir, vectorID, sizes...)
	r, err := Open(d, dir, vectorID)
	require.NoError(t, err)
	assert.Equal(t, want, recordsOf(t, r))
	it := r.Batches()
	n := 0
	for it.Next() {
		n++
		b := it.Batch()
		assert.True(t, len(b.Bytes) <= batchBytes || b.End-b.Base == 1, "%d bytes", len(b.Bytes))
	}
	require.NoError(t, it.Err())
	assert.Equal(t, 10, n)
	stop := errors.New("stop")
	assert.Equal(t, stop, r.Records(func([]byte) error { return stop }))
}

func TestRefused(t *testing.T) {
	d := newDir(t)
	_, err := Create(d, dir, ID{End: -1}, 0)
	require.ErrorContains(t, err, "negative")
	_, err = Open(d, dir, ID{Epoch: -1})
	require.ErrorContains(t, err, "negative")
	_, err = Receive(d, dir, ID{Epoch: -1}, 1)
	require.ErrorContains(t, err, "negative")
	_, err = Open(d, dir, vectorID)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorIs(t, Delete(d, dir, vectorID), fs.ErrNotExist)
	w, err := Create(d, dir, vectorID, 0)
	require.NoError(t, err)
	require.ErrorIs(t, w.Append([][]byte{{1}, {}}), ErrRecord)
	require.ErrorIs(t, w.Append([][]byte{make([]byte, log.MaxBatchBytes)}), ErrRecord)
	require.NoError(t, w.Freeze())
	require.ErrorIs(t, w.Append(nil), ErrClosed)
	require.ErrorIs(t, w.Freeze(), ErrClosed)
	require.NoError(t, w.Abort())
	r, err := Open(d, dir, vectorID)
	require.NoError(t, err)
	assert.Empty(t, recordsOf(t, r), "nothing of a refused call was taken")
	_, err = Create(d, dir, vectorID, 0)
	require.ErrorIs(t, err, fs.ErrExist)

	w, err = Create(d, dir, ID{End: 1}, 0)
	require.NoError(t, err)
	require.Len(t, names(t, d), 2)
	require.NoError(t, w.Abort())
	require.NoError(t, w.Abort())
	require.Equal(t, []string{vectorID.FileName()}, names(t, d))
}

func TestNames(t *testing.T) {
	for _, name := range []string{
		"00000000000000001000-0000000003.checkpoint.part", "00000000000000001000-0000000003.checkpoint.deleted",
		"00000000000000001000-0000000003-1.checkpoint", "1000-3.checkpoint", "00000000000000001000.log", ".checkpoint",
		"000000000000000010-0-0000000003.checkpoint", "0000000000000000+100-0000000003.checkpoint", "99999999999999999999-0000000003.checkpoint",
		"00000000000000001000-9999999999.checkpoint", "0000000000000000100000000000003x.checkpoint",
	} {
		_, ok := ParseFileName(name)
		assert.False(t, ok, name)
	}
	id, ok := ParseFileName("/somewhere/00000000000000001000-0000000003.checkpoint")
	assert.True(t, ok)
	assert.Equal(t, vectorID, id)
	assert.Equal(t, "1000-3", id.String())
	assert.Negative(t, ID{End: 9, Epoch: 1}.Compare(ID{End: 3, Epoch: 2}))
	assert.Negative(t, ID{End: 3, Epoch: 2}.Compare(ID{End: 9, Epoch: 2}))
	_, who, k := parse("00000000000000001000-0000000003-3141592653589793238.checkpoint.part")
	assert.Equal(t, partial, k, "as Kafka calls it")
	assert.Equal(t, "-3141592653589793238", who)
}

func TestReceive(t *testing.T) {
	d := newDir(t)
	good := unhex(t, headerHex+dataHex+footerHex)
	header, data := int64(len(unhex(t, headerHex))), int64(len(unhex(t, dataHex)))
	receive := func(id ID, source int32) *Partial {
		p, err := Receive(d, dir, id, source)
		require.NoError(t, err)
		return p
	}
	p := receive(vectorID, 2)
	require.NoError(t, p.Append(0, good[:50]))
	require.ErrorIs(t, p.Append(0, good), ErrPosition)
	require.ErrorIs(t, p.Append(51, good), ErrPosition)
	require.NoError(t, p.Append(50, good[50:header+data+5]))
	var corrupt *CorruptError
	require.ErrorAs(t, p.Freeze(), &corrupt, "not whole")
	assert.Equal(t, header+data, corrupt.Pos)
	require.NoError(t, p.Append(header+data+5, nil), "and goes on")
	require.NoError(t, p.Close())
	require.ErrorIs(t, p.Append(0, nil), ErrClosed)
	require.ErrorIs(t, p.Freeze(), ErrClosed)

	p = receive(vectorID, 2)
	assert.Equal(t, header+data, p.Size(), "whole batches are kept")
	require.NoError(t, p.Close())
	p = receive(vectorID, 3)
	assert.Zero(t, p.Size(), "of another replica")
	assert.Equal(t, []string{"00000000000000001000-0000000003-from-3.checkpoint.part"}, names(t, d))
	require.NoError(t, p.Append(0, good))
	require.NoError(t, p.Close())
	w, err := Create(d, dir, ID{End: 3, Epoch: 1}, 0)
	require.NoError(t, err)
	p = receive(ID{End: 1000, Epoch: 4}, 3)
	require.NoError(t, p.Append(0, good))
	require.ErrorAs(t, p.Freeze(), &corrupt, "of another epoch")
	require.NoError(t, p.Discard())
	require.NoError(t, p.Discard())
	require.NoError(t, w.Freeze(), "which is none of its business")

	p = receive(vectorID, 3)
	require.NoError(t, p.Append(0, good))
	require.NoError(t, p.Freeze())
	require.NoError(t, p.Discard(), "it is a snapshot now")
	r, err := Open(d, dir, vectorID)
	require.NoError(t, err)
	assert.Equal(t, []string{"hi", "x"}, recordsOf(t, r))
	p = receive(vectorID, 3)
	require.NoError(t, p.Append(0, good))
	require.NoError(t, p.Freeze(), "in place of the one that is there")
}

func TestDirectory(t *testing.T) {
	d := newDir(t)
	_, found, err := Latest(d, dir)
	require.NoError(t, err)
	assert.False(t, found)
	a, b, c := ID{End: 10, Epoch: 1}, ID{End: 30, Epoch: 1}, ID{End: 20, Epoch: 2}
	for _, id := range []ID{b, c, a} {
		write(t, d, dir, id, 1)
	}
	ids, err := List(d, dir)
	require.NoError(t, err)
	require.Equal(t, []ID{a, b, c}, ids)
	latest, found, err := Latest(d, dir)
	require.NoError(t, err)
	assert.True(t, found)
	assert.Equal(t, c, latest)
	assert.Equal(t, []ID{a}, Stale(ids, 20))
	covering, ok, err := Covering(ids, 20)
	require.NoError(t, err)
	assert.True(t, ok)
	assert.Equal(t, c, covering)
	covering, _, err = Covering(ids, 25)
	require.NoError(t, err)
	assert.Equal(t, b, covering)
	_, _, err = Covering(ids, 31)
	require.ErrorContains(t, err, "the log starts at offset 31, and none of the snapshots [10-1 30-1 20-2]")
	_, ok, err = Covering(nil, 0)
	require.NoError(t, err)
	assert.False(t, ok)

	r, err := Open(d, dir, a)
	require.NoError(t, err)
	require.NoError(t, Delete(d, dir, a))
	require.NoError(t, r.Verify(), "a reader goes on")

	for _, left := range []string{
		ID{End: 50, Epoch: 3}.stem() + "-local.checkpoint.part", ID{End: 50, Epoch: 3}.stem() + "-271828.checkpoint.part",
		ID{End: 50, Epoch: 3}.stem() + ".checkpoint.deleted", b.stem() + "-from-2.checkpoint.part",
	} {
		put(t, d, left, []byte("left"))
	}
	for _, kept := range []string{"quorum-state", "x.checkpoint.part", ID{End: 60, Epoch: 3}.stem() + "-from-2.checkpoint.part"} {
		put(t, d, kept, []byte("kept"))
	}
	ids, err = Recover(d, dir)
	require.NoError(t, err)
	assert.Equal(t, []ID{b, c}, ids)
	assert.Equal(t, []string{c.FileName(), b.FileName(), ID{End: 60, Epoch: 3}.stem() + "-from-2.checkpoint.part", "quorum-state", "x.checkpoint.part"}, names(t, d))
}

// TestOS does on a real disk what Kafka leaves: a snapshot that may only be read.
func TestOS(t *testing.T) {
	real := t.TempDir()
	want := write(t, fs.OS{}, real, vectorID, 100, 600<<10)
	name := filepath.Join(real, vectorID.FileName())
	require.NoError(t, os.Chmod(name, 0o444))
	r, err := Open(fs.OS{}, real, vectorID)
	require.NoError(t, err)
	assert.Equal(t, want, recordsOf(t, r))
	p, err := Receive(fs.OS{}, real, ID{End: 1, Epoch: 3}, 1)
	require.NoError(t, err)
	for pos := int64(0); pos < r.Size(); pos += 1000 {
		chunk := make([]byte, min(1000, r.Size()-pos))
		_, err := r.ReadAt(chunk, pos)
		require.NoError(t, err)
		require.NoError(t, p.Append(pos, chunk))
	}
	require.NoError(t, p.Freeze())
	require.NoError(t, Delete(fs.OS{}, real, vectorID))
	require.NoError(t, r.Verify())
	ids, err := Recover(fs.OS{}, real)
	require.NoError(t, err)
	assert.Equal(t, []ID{{End: 1, Epoch: 3}}, ids)
}

func TestRetention(t *testing.T) {
	stored := []Stored{{ID{10, 1}, 100, 1000}, {ID{20, 1}, 100, 2000}, {ID{30, 2}, 100, 3000}}
	segments := []log.SegmentInfo{{Base: 0, Size: 500}, {Base: 15, Size: 500}, {Base: 20, Size: 500}, {Base: 40, Size: 500}}
	for _, c := range []struct {
		name  string
		r     Retention
		n     int // of the snapshots
		now   int64
		keep  ID
		clean bool
	}{
		{"nothing", Retention{-1, -1}, 3, 1 << 40, ID{}, false},
		{"enough room", Retention{2300, -1}, 3, 0, ID{}, false},
		// At 20 the first two segments go with the first snapshot.
		{"one byte too many", Retention{2299, -1}, 3, 0, ID{20, 1}, true},
		{"just enough after the first", Retention{1200, -1}, 3, 0, ID{20, 1}, true},
		{"not enough after the first", Retention{1199, -1}, 3, 0, ID{30, 2}, true},
		{"the last one stays", Retention{0, -1}, 3, 0, ID{30, 2}, true},
		{"only one", Retention{0, 0}, 1, 1 << 40, ID{}, false},
		{"none", Retention{0, 0}, 0, 1 << 40, ID{}, false},
		{"not too old", Retention{-1, 500}, 3, 1500, ID{}, false},
		{"too old", Retention{-1, 500}, 3, 1501, ID{20, 1}, true},
		{"both too old", Retention{-1, 500}, 3, 2501, ID{30, 2}, true},
	} {
		keep, clean := c.r.Keep(stored[:c.n], segments, c.now)
		assert.Equal(t, c.keep, keep, c.name)
		assert.Equal(t, c.clean, clean, c.name)
	}
}

func TestPolicy(t *testing.T) {
	p := Policy{MaxBytes: 100, MaxIntervalMs: 1000}
	assert.False(t, p.Due(0, 5000), "nothing new")
	assert.False(t, p.Due(99, 999))
	assert.True(t, p.Due(100, 0))
	assert.True(t, p.Due(1, 1000))
	assert.False(t, Policy{}.Due(1<<40, 1<<40))
}

func BenchmarkWrite(b *testing.B) { // ns for one record of 100 bytes
	d := b.TempDir()
	w, err := Create(fs.OS{}, d, vectorID, 0)
	require.NoError(b, err)
	records := [][]byte{[]byte(strings.Repeat("m", 100))}
	b.SetBytes(100)
	b.ReportAllocs()
	for b.Loop() {
		if err := w.Append(records); err != nil {
			b.Fatal(err)
		}
	}
	require.NoError(b, w.Abort())
}

func BenchmarkRead(b *testing.B) { // one pass over 20 MB
	d := b.TempDir()
	sizes := make([]int, 200_000)
	for i := range sizes {
		sizes[i] = 100
	}
	write(b, fs.OS{}, d, vectorID, sizes...)
	r, err := Open(fs.OS{}, d, vectorID)
	require.NoError(b, err)
	b.SetBytes(r.Size())
	b.ReportAllocs()
	for b.Loop() {
		if err := r.Records(func([]byte) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}
