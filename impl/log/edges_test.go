package log

import (
	"bytes"
	"testing"

	"github.com/quorate/quorate/impl/fs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestNaturalZeros: zeros that every batch has at the edge of a sector do not
// make a flipped bit a lost write. The second batch starts 5 bytes before the end
// of a sector (an offset starts with zeros), or ends 1 byte after it (a record
// ends with the count of its headers, 0).
func TestNaturalZeros(t *testing.T) {
	overhead := len(AppendDataBatch(nil, 0, 1, [][]byte{make([]byte, 400)}, 0)) - 400
	for what, sizes := range map[string][2]int{
		"start": {2*fs.SectorSize - 5 - overhead, 400},
		"end":   {fs.SectorSize - overhead, fs.SectorSize + 1 - overhead},
	} {
		d := fs.NewDouble()
		m, err := run(t, d, Config{}, []step{data(t, 1, sizes[0]), data(t, 1, sizes[1]), data(t, 1, 50), flush}, false)
		require.NoError(t, err)
		first := int64(len(m.batches[0].Bytes))
		require.NoError(t, d.Flip(testDir+"/"+segmentName(0), first+150, 1))
		_, _, err = Open(d, testDir, Config{})
		var corrupt *CorruptError
		require.ErrorAs(t, err, &corrupt, what)
		assert.Equal(t, first, corrupt.Pos, what)
	}
}

// TestNamed: the error names the damaged file and batch, not where it shows.
func TestNamed(t *testing.T) {
	for _, cfg := range []Config{exact, {SegmentBytes: exact.SegmentBytes}, {}} {
		testNamed(t, cfg)
	}

	d, _ := flushedLog(t, exact)
	_, err := d.Create(testDir + "/" + segmentName(99))
	require.NoError(t, err)
	_, _, err = Open(d, testDir, exact)
	assert.ErrorContains(t, err, segmentName(99), "an empty segment after a gap")
}

func testNamed(t *testing.T, cfg Config) {
	clean, m := flushedLog(t, cfg)
	pos, base := int64(0), int64(0) // of the batch in its segment
	for _, b := range m.batches {
		seg := segmentName(base)
		if _, err := clean.Open(testDir + "/" + segmentName(b.Base)); err == nil {
			pos, base, seg = 0, b.Base, segmentName(b.Base)
		}
		d := clean.Crash(fs.KeepNone)
		require.NoError(t, d.Flip(testDir+"/"+seg, pos+HeaderSize, 1))
		_, _, err := Open(d, testDir, cfg)
		if b.End == m.end() && cfg == (Config{}) {
			require.NoError(t, err, "the last batch, with no recovery point: torn")
			continue
		}
		var corrupt *CorruptError
		require.ErrorAs(t, err, &corrupt)
		assert.Equal(t, testDir+"/"+seg, corrupt.File)
		assert.Equal(t, pos, corrupt.Pos)
		assert.Equal(t, b.Base, corrupt.Offset)
		pos += int64(len(b.Bytes))
	}
}

// TestBatchInValue: a value that is a batch itself does not make a torn tail
// corrupt, unless it fits.
func TestBatchInValue(t *testing.T) {
	inner := AppendDataBatch(nil, 1000, 5, [][]byte{[]byte("inner")}, 0)
	d, l := open(t, Config{})
	_, err := l.AppendData(5, [][]byte{[]byte("first")}, 0)
	require.NoError(t, err)
	first := l.active().size
	_, err = l.AppendData(5, [][]byte{bytes.Clone(inner), []byte("torn")}, 0)
	require.NoError(t, err)
	size := l.active().size
	require.NoError(t, l.Flush())
	require.NoError(t, d.Flip(testDir+"/"+segmentName(0), size-2, 1))
	again, found, err := Open(d, testDir, Config{})
	require.NoError(t, err)
	assert.Equal(t, size-first, found.CutBytes)
	assert.EqualValues(t, 1, again.EndOffset())
}

// TestTruncateWhileFlushing: an append beside a flush waits for no truncation; it
// is refused until that is durable.
func TestTruncateWhileFlushing(t *testing.T) {
	d, l := open(t, Config{})
	for range 2 {
		_, err := l.AppendData(1, [][]byte{{1}}, 0)
		require.NoError(t, err)
	}
	require.NoError(t, l.Flush())
	_, err := l.TruncateTo(1)
	require.NoError(t, err)
	refused := 0
	d.Fail(func(op fs.Op) fs.Fault { // the refusal does not reach the disk
		if op.Kind == fs.OpSync {
			_, err := l.AppendData(1, [][]byte{{1}}, 0)
			assert.ErrorIs(t, err, ErrNotFlushed)
			refused++
		}
		return fs.None
	})
	require.NoError(t, l.Flush())
	assert.Equal(t, 1, refused)
	d.Fail(nil)
	_, err = l.AppendData(1, [][]byte{{1}}, 0)
	require.NoError(t, err)
}

// TestTruncatedEpochs: epochs that went away leave the checkpoint too.
func TestTruncatedEpochs(t *testing.T) {
	d := fs.NewDouble()
	_, err := run(t, d, Config{}, []step{data(t, 1, 1), flush, data(t, 2, 1), data(t, 3, 1), flush, truncate(t, 2), flush}, true)
	require.NoError(t, err)
	b, err := fs.ReadFile(d.Crash(fs.KeepNone), testDir+"/"+epochFile)
	require.NoError(t, err)
	assert.Equal(t, "0\n1\n1 0\n", string(b))
}
