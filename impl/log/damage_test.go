package log

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/quorate/quorate/impl/fs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// exact never lets damage below the flushed end pass for a torn tail.
var exact = Config{SegmentBytes: 2000, RecoveryPointBytes: 1, IndexIntervalBytes: 300}

// flushedLog is a log of several segments and epochs, all flushed.
func flushedLog(t testing.TB, cfg Config) (*fs.Double, model) {
	d := fs.NewDouble()
	m, err := run(t, d, cfg, []step{
		change(t, 1), data(t, 1, 20), data(t, 1, 1100), flush,
		change(t, 2), data(t, 2, 600, 600), flush,
		change(t, 4), data(t, 4, 700), data(t, 4, 30), data(t, 4, 5), flush,
	}, false)
	require.NoError(t, err)
	return d.Crash(fs.KeepAll), m // the indexes are never flushed
}

// damaged opens a damaged log: an error that names file and position and changes
// nothing, or all of the log.
func damaged(t testing.TB, d *fs.Double, m model, what string) {
	before, err := files(d, testDir)
	require.NoError(t, err)
	l, _, err := Open(d, testDir, exact)
	if err == nil {
		m.check(t, l)
		require.NoError(t, l.Close())
		return
	}
	var corrupt *CorruptError
	require.ErrorAs(t, err, &corrupt, what)
	require.Contains(t, corrupt.Error(), corrupt.File, what)
	require.GreaterOrEqual(t, corrupt.Pos, int64(0), what)
	after, err := files(d, testDir)
	require.NoError(t, err)
	require.Equal(t, before, after, what)
}

// TestDecay flips bits of every byte of every file.
func TestDecay(t *testing.T) {
	clean, m := flushedLog(t, exact)
	all, err := files(clean, testDir)
	require.NoError(t, err)
	points := 0
	for name, content := range all {
		for at := range content {
			d := clean.Crash(fs.KeepNone)
			require.NoError(t, d.Flip(testDir+"/"+name, int64(at), byte(1)<<(at%8)))
			damaged(t, d, m, fmt.Sprintf("%s at %d", name, at))
			if strings.HasSuffix(name, "index") {
				after, err := files(d, testDir)
				require.NoError(t, err)
				require.Equal(t, all[name], after[name], "%s at %d", name, at)
			}
			points++
			if strings.HasSuffix(name, ".log") {
				_, _, err := Open(d, testDir, exact)
				require.Error(t, err, "%s at %d", name, at)
			}
		}
	}
	t.Logf("%d bytes flipped", points)
}

// TestLostFiles removes and shortens files.
func TestLostFiles(t *testing.T) {
	clean, m := flushedLog(t, exact)
	names, err := clean.List(testDir)
	require.NoError(t, err)
	for _, name := range names {
		d := clean.Crash(fs.KeepNone)
		require.NoError(t, d.Remove(testDir+"/"+name))
		if name != pointFile { // without it, nothing is known to have been flushed
			damaged(t, d, m, name+" removed")
		}
		d = clean.Crash(fs.KeepNone)
		f, err := d.Open(testDir + "/" + name)
		require.NoError(t, err)
		size, err := f.Size()
		require.NoError(t, err)
		for _, cut := range []int64{1, size / 2, size} {
			require.NoError(t, f.Truncate(max(size-cut, 0)))
			damaged(t, d.Crash(fs.KeepAll), m, fmt.Sprintf("%s shorter by %d", name, cut))
		}
	}
	d := clean.Crash(fs.KeepNone)
	_, err = d.Create(testDir + "/1.log")
	require.NoError(t, err)
	_, _, err = Open(d, testDir, exact)
	assert.ErrorContains(t, err, "not the name of a segment")
}

// TestCorruptOrTorn is K-D02: the same damage, with and without what shows that
// it is not the trace of a crash.
func TestCorruptOrTorn(t *testing.T) {
	cfg := Config{} // nothing but the first offset is known to have been flushed
	clean := fs.NewDouble()
	m, err := run(t, clean, cfg, []step{
		data(t, 1, 300), data(t, 1, 2000), data(t, 1, 300), flush,
	}, false)
	require.NoError(t, err)
	name := testDir + "/" + segmentName(0)
	start, end := int64(len(m.batches[0].Bytes)), int64(len(m.batches[0].Bytes)+len(m.batches[1].Bytes))
	write := func(b []byte, at int64) *fs.Double {
		d := clean.Crash(fs.KeepNone)
		f, err := d.Open(name)
		require.NoError(t, err)
		_, err = f.WriteAt(b, at)
		require.NoError(t, err)
		return d
	}
	l, found, err := Open(write([]byte("?"), end+100), testDir, cfg)
	require.NoError(t, err, "the last batch is bad: torn")
	assert.Equal(t, m.batches[1].End, l.EndOffset())
	assert.Equal(t, Recovered{End: 2, CutBytes: int64(len(m.batches[2].Bytes)), File: name, Pos: end, Reason: found.Reason}, found)

	l, _, err = Open(write(make([]byte, 512), 1024), testDir, cfg)
	require.NoError(t, err, "a sector never reached the disk: torn")
	assert.Equal(t, m.batches[0].End, l.EndOffset())

	for what, d := range map[string]*fs.Double{
		"a byte":                   write([]byte("?"), start+200),
		"zeros that are no sector": write(make([]byte, 512), 1100),
		"its length":               write([]byte{0x01}, start+posLength),
	} {
		_, _, err := Open(d, testDir, cfg)
		var corrupt *CorruptError
		require.ErrorAs(t, err, &corrupt, what)
		assert.Equal(t, name, corrupt.File)
		assert.Equal(t, start, corrupt.Pos)
		assert.EqualValues(t, 1, corrupt.Offset)
		assert.ErrorContains(t, err, fmt.Sprintf("a valid batch follows at byte %d", end), what)
	}
}

func TestReadDamage(t *testing.T) {
	for _, fault := range []fs.Fault{fs.BitFlip, fs.Error} {
		d, m := flushedLog(t, exact)
		l, _, err := Open(d, testDir, exact)
		require.NoError(t, err)
		m.check(t, l)
		d.FailRead(func(int, string) fs.Fault { return fault })
		var span Span
		err = l.Read(&span, 0, 1000, 100)
		require.ErrorIs(t, err, ErrFailed)
		assert.ErrorContains(t, err, segmentName(0))
		assert.Empty(t, span.Bytes)
		d.FailRead(nil)
		assert.Equal(t, err, l.Read(&span, 0, 1000, 100))
		assert.Equal(t, err, l.Flush())
	}
	// While opening: what is in memory is bad, the disk is not. Nothing is lost.
	clean, m := flushedLog(t, exact)
	d := clean.Crash(fs.KeepNone)
	_, _, err := Open(d, testDir, exact)
	require.NoError(t, err)
	for k := 1; k <= d.Reads(); k++ {
		d := clean.Crash(fs.KeepNone)
		d.FailRead(func(n int, _ string) fs.Fault {
			if n == k {
				return fs.BitFlip
			}
			return fs.None
		})
		damaged(t, d, m, fmt.Sprintf("read %d", k))
	}
}

func FuzzOpen(f *testing.F) {
	clean, m := flushedLog(f, exact)
	segments, err := files(clean, testDir)
	require.NoError(f, err)
	first := []byte(segments[segmentName(0)])
	f.Add(first, uint16(70), []byte{1, 2, 3}, false)
	f.Add([]byte{}, uint16(500), []byte{0}, true)
	f.Add(append(bytes.Clone(first), first...), uint16(0), []byte{}, false)
	f.Fuzz(func(t *testing.T, content []byte, at uint16, patch []byte, cut bool) {
		// Damage to a log that was flushed: an error, or all is there.
		d := clean.Crash(fs.KeepNone)
		names, err := d.List(testDir)
		require.NoError(t, err)
		overwrite(t, d, testDir+"/"+names[int(at)%len(names)], int64(at/3)%2000, patch, cut)
		damaged(t, d, m, "")

		// Any content: an error and nothing changed, or a log that stays.
		d = fs.NewDouble()
		require.NoError(t, d.Mkdir(testDir))
		name := testDir + "/" + segmentName(0)
		_, err = d.Create(name)
		require.NoError(t, err)
		overwrite(t, d, name, 0, content, false)
		l, found, err := Open(d, testDir, exact)
		if err != nil {
			var corrupt *CorruptError
			require.ErrorAs(t, err, &corrupt)
			after, err := fs.ReadFile(d, name)
			require.NoError(t, err)
			require.True(t, bytes.Equal(content, after))
			return
		}
		l2, again, err := Open(d.Crash(fs.KeepNone), testDir, exact)
		require.NoError(t, err)
		require.Zero(t, again.CutBytes)
		require.Equal(t, found.End, again.End)
		require.Equal(t, l.Digest(), l2.Digest())
		after, err := fs.ReadFile(d, name)
		require.NoError(t, err)
		require.True(t, bytes.HasPrefix(content, after))
		require.Equal(t, found.CutBytes, int64(len(content)-len(after)))
	})
}

func overwrite(t testing.TB, d *fs.Double, name string, at int64, patch []byte, cut bool) {
	f, err := d.Open(name)
	require.NoError(t, err)
	_, err = f.WriteAt(patch, at)
	require.NoError(t, err)
	if cut {
		require.NoError(t, f.Truncate(at+int64(len(patch))))
	}
}

// TestDecayWhileOpen flips bits of every byte of the segments of an open log: what
// is read is what was written, or an error that names the file. The epoch of a batch
// is outside its checksum, so no follower could tell.
func TestDecayWhileOpen(t *testing.T) {
	clean, _ := flushedLog(t, exact)
	all, err := files(clean, testDir)
	require.NoError(t, err)
	read := func(l *Log) ([]byte, error) {
		var span Span
		var whole []byte
		for at := int64(0); at < l.EndOffset(); at = span.End {
			if err := l.Read(&span, at, 1<<20, l.EndOffset()); err != nil {
				return whole, err
			}
			whole = append(whole, span.Bytes...)
		}
		return whole, nil
	}
	for name, content := range all {
		if !strings.HasSuffix(name, ".log") {
			continue
		}
		for at := range content {
			d := clean.Crash(fs.KeepNone)
			l, _, err := Open(d, testDir, exact)
			require.NoError(t, err)
			want, err := read(l)
			require.NoError(t, err)
			require.NoError(t, d.Flip(testDir+"/"+name, int64(at), byte(1)<<(at%8)))
			got, err := read(l)
			if err == nil {
				require.Equal(t, want, got, "%s at %d", name, at)
				continue
			}
			require.ErrorContains(t, err, name, "%s at %d", name, at)
		}
	}
}

// unbroken is a log of 20 flushed batches whose process has ended, by Close or as
// it would by a crash. Nothing of it is below a recovery point that Flush wrote.
func unbroken(t *testing.T, end func(*Log) error) (*fs.Double, model) {
	d := fs.NewDouble()
	l, _, err := Open(d, testDir, Config{})
	require.NoError(t, err)
	var m model
	require.NoError(t, change(t, 3)(l, &m))
	require.NoError(t, flush(l, &m))
	for range 20 {
		require.NoError(t, data(t, 3, 100)(l, &m))
	}
	require.NoError(t, end(l))
	return d, m
}

// TestClose: what was closed is flushed, and no damage to it is a torn tail.
func TestClose(t *testing.T) {
	clean, m := unbroken(t, (*Log).Close)
	all, err := files(clean.Crash(fs.KeepNone), testDir)
	require.NoError(t, err)
	assert.Equal(t, string(renderPoint(m.end())), all[pointFile])
	name := testDir + "/" + segmentName(0)
	size := len(all[segmentName(0)])
	for what, damage := range map[string]func(*fs.Double, fs.File) error{
		"removed":  func(d *fs.Double, _ fs.File) error { return d.Remove(name) },
		"emptied":  func(_ *fs.Double, f fs.File) error { return f.Truncate(0) },
		"cut":      func(_ *fs.Double, f fs.File) error { return f.Truncate(int64(size) - 1) },
		"a sector": func(_ *fs.Double, f fs.File) error { _, err := f.WriteAt(make([]byte, 512), 1024); return err },
		"a bit":    func(d *fs.Double, _ fs.File) error { return d.Flip(name, int64(size)-5, 1) },
	} {
		d := clean.Crash(fs.KeepNone)
		f, err := d.Open(name)
		require.NoError(t, err)
		require.NoError(t, damage(d, f))
		damaged(t, d, m, what)
		_, _, err = Open(d, testDir, Config{})
		require.ErrorContains(t, err, name, what)
	}
	clean = clean.Crash(fs.KeepNone)
	l, found, err := Open(clean, testDir, Config{})
	require.NoError(t, err)
	m.check(t, l)
	assert.Zero(t, found.CutBytes)

	// An error of the flush is not lost with the log.
	require.NoError(t, data(t, 3, 100)(l, &m))
	clean.FailAt(clean.Ops()+1, fs.Error)
	require.ErrorIs(t, l.Close(), ErrFailed)
	require.NoError(t, l.Close())
}

// TestKnownWithoutPoint: a process that was killed leaves no recovery point, but no
// crash takes away the start of an epoch that is in leader-epoch-checkpoint, or the
// first segment.
func TestKnownWithoutPoint(t *testing.T) {
	clean, m := unbroken(t, func(l *Log) error { return errors.Join(l.Flush(), l.Abandon()) })
	all, err := files(clean, testDir)
	require.NoError(t, err)
	require.Equal(t, string(renderPoint(0)), all[pointFile])
	name := testDir + "/" + segmentName(0)
	for _, cut := range []int64{0, 1, int64(len(m.batches[0].Bytes)) - 1} {
		d := clean.Crash(fs.KeepNone)
		f, err := d.Open(name)
		require.NoError(t, err)
		require.NoError(t, f.Truncate(cut))
		damaged(t, d, m, "cut")
		_, _, err = Open(d, testDir, Config{})
		require.ErrorContains(t, err, "flushed up to offset 1")
	}
	for _, also := range []string{"", pointFile, epochFile} {
		d := clean.Crash(fs.KeepNone)
		require.NoError(t, d.Remove(name))
		if also != "" {
			require.NoError(t, d.Remove(testDir+"/"+also))
		}
		damaged(t, d, m, "no segment")
		_, _, err = Open(d, testDir, Config{})
		require.ErrorContains(t, err, name+" is corrupt at byte 0 (offset 0): missing", also)
	}
}

// TestEpochDecay flips the epoch of each batch above the recovery point: file and
// position are named and nothing is changed, but for a later epoch in the last batch.
func TestEpochDecay(t *testing.T) {
	clean, m := unbroken(t, func(l *Log) error { return errors.Join(l.Flush(), l.Abandon()) })
	pos := int64(0)
	for i, b := range m.batches {
		for bit := range 8 {
			d := clean.Crash(fs.KeepNone)
			name := testDir + "/" + segmentName(0)
			require.NoError(t, d.Flip(name, pos+posEpoch+3, 1<<bit))
			what := fmt.Sprintf("batch %d, bit %d", i, bit)
			if i == len(m.batches)-1 && 3^1<<bit > 3 {
				continue // as if a next leader had begun
			}
			before, err := files(d, testDir)
			require.NoError(t, err)
			_, _, err = Open(d, testDir, Config{})
			var corrupt *CorruptError
			require.ErrorAs(t, err, &corrupt, what)
			require.Equal(t, name, corrupt.File, what)
			require.Contains(t, []int64{b.Base, b.End}, corrupt.Offset, what) // it, or the one that it does not fit
			after, err := files(d, testDir)
			require.NoError(t, err)
			require.Equal(t, before, after, what)
		}
		pos += int64(len(b.Bytes))
	}
}

// TestNewSegmentLost: the name of a segment that was flushed is known, or the log
// would do without it.
func TestNewSegmentLost(t *testing.T) {
	d := fs.NewDouble()
	_, err := run(t, d, Config{SegmentBytes: 1000}, []step{data(t, 1, 900), flush, data(t, 1, 900), flush}, false)
	require.NoError(t, err)
	require.NoError(t, d.Remove(testDir+"/"+segmentName(1)))
	_, _, err = Open(d, testDir, Config{SegmentBytes: 1000})
	require.ErrorContains(t, err, "flushed up to offset 2")
}

// TestKafkaCheckpoint: Kafka writes leader-epoch-checkpoint before the batches that it
// speaks of, and there is no recovery point: the file is only rewritten.
func TestKafkaCheckpoint(t *testing.T) {
	d := fs.NewDouble()
	m, err := run(t, d, Config{}, []step{data(t, 3, 10), flush}, false)
	require.NoError(t, err)
	require.NoError(t, d.Remove(testDir+"/"+pointFile))
	require.NoError(t, fs.WriteFile(d, testDir+"/"+epochFile, []byte("0\n2\n3 0\n5 1\n")))
	l, _, err := Open(d, testDir, Config{})
	require.NoError(t, err)
	m.check(t, l)
	require.NoError(t, l.Abandon())
	b, err := fs.ReadFile(d, testDir+"/"+epochFile)
	require.NoError(t, err)
	assert.Equal(t, "0\n1\n3 0\n", string(b))
}
