package log

import (
	"fmt"
	"hash/crc32"
	"testing"

	"github.com/quorate/quorate/impl/fs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestStart: what the files say when the start has moved is durable, and is that of
// Kafka where Kafka has the file (LeaderEpochFileCache.truncateFromStart).
func TestStart(t *testing.T) {
	d, l := open(t, Config{SegmentBytes: 500})
	for i, epoch := range []int32{1, 1, 2, 2, 4, 4} {
		_, err := l.AppendData(epoch, [][]byte{make([]byte, 150), {byte(i)}}, 0)
		require.NoError(t, err)
	}
	epochs := func() string {
		b, err := fs.ReadFile(d.Crash(fs.KeepNone), testDir+"/"+epochFile)
		require.NoError(t, err)
		return string(b)
	}
	require.NoError(t, l.AdvanceStart(2, 1))
	assert.Equal(t, "0\n3\n1 2\n2 4\n4 8\n", epochs(), "the entry that covers the start is kept")
	require.NoError(t, l.AdvanceStart(4, 1))
	assert.Equal(t, "0\n2\n2 4\n4 8\n", epochs())
	require.NoError(t, l.AdvanceStart(10, 4))
	assert.Equal(t, "0\n1\n4 10\n", epochs())
	require.NoError(t, l.AdvanceStart(10, 4), "nothing to do")
	require.NoError(t, l.AdvanceStart(3, 9), "nothing to do")
	for _, c := range []struct {
		offset int64
		epoch  int32
		what   string
	}{
		{11, 4, "start at 11, of a log from 10 to 12"}, {13, 4, "start at 13"},
		{12, 2, "start at 12 after a record of epoch 2, which is of epoch 4"},
	} {
		err := l.AdvanceStart(c.offset, c.epoch)
		require.ErrorIs(t, err, ErrOffset)
		require.ErrorContains(t, err, c.what)
	}
	require.ErrorIs(t, l.ResetTo(0, 1, 0), ErrOffset)
	require.ErrorIs(t, l.ResetTo(1, -1, 0), ErrOffset)
	require.NoError(t, l.Err())
	assert.EqualValues(t, 10, l.StartOffset())
	assert.Equal(t, []SegmentInfo{{0, 456}, {4, 456}, {8, 456}}, l.Segments())
	n, size, err := l.DeleteOld()
	require.NoError(t, err)
	assert.Equal(t, 2, n)
	assert.EqualValues(t, 2*456, size)
	names, err := d.List(testDir)
	require.NoError(t, err)
	assert.Equal(t, []string{segmentName(8), epochFile, startFile, metadataFile, pointFile}, names, "with their indexes")

	require.NoError(t, l.ResetTo(100, 7, 0xabc))
	assert.EqualValues(t, 7, l.LastEpoch())
	text := "start 100 7 0000000000000abc"
	b, err := fs.ReadFile(d.Crash(fs.KeepNone), testDir+"/"+startFile)
	require.NoError(t, err)
	assert.Equal(t, fmt.Sprintf("%s %08x\n", text, crc32.Checksum([]byte(text), crc32.MakeTable(crc32.Castagnoli))), string(b))
	names, err = d.Crash(fs.KeepNone).List(testDir)
	require.NoError(t, err)
	assert.Equal(t, []string{segmentName(100), epochFile, startFile, metadataFile, pointFile}, names)
	require.NoError(t, l.Close())

	// A log that does not fit where it says that it starts.
	for _, c := range []struct{ content, reason string }{
		{"nonsense", "not where a log starts"},
		{string(logStart{offset: 99, epoch: 7}.render()), "segment starts at offset 100"},
		{string(logStart{offset: 101, epoch: 7}.render()), "flushed up to offset 101"},
	} {
		d := d.Crash(fs.KeepAll)
		require.NoError(t, fs.WriteFile(d, testDir+"/"+startFile, []byte(c.content)))
		_, _, err = Open(d, testDir, Config{})
		var corrupt *CorruptError
		require.ErrorAs(t, err, &corrupt)
		require.ErrorContains(t, err, c.reason)
	}
	require.NoError(t, d.Remove(testDir+"/"+startFile))
	_, _, err = Open(d, testDir, Config{})
	require.ErrorContains(t, err, "segment starts at offset 100", "what is before is gone")
}

// TestStartWithinBatch: a start that splits a batch, or that is after a record of
// another epoch.
func TestStartWithinBatch(t *testing.T) {
	clean, _ := flushedLog(t, exact)
	for start, reason := range map[logStart]string{
		{offset: 5, epoch: 2}: "the log starts at offset 5, within a batch up to 6",
		{offset: 6, epoch: 1}: "batch of epoch 2, but the log starts after a record of epoch 1",
	} {
		d := clean.Crash(fs.KeepAll)
		require.NoError(t, fs.WriteFile(d, testDir+"/"+startFile, start.render()))
		_, _, err := Open(d, testDir, exact)
		require.ErrorContains(t, err, reason)
	}
}

// TestAdopt opens logs that do not start at 0 and that only Kafka has used.
func TestAdopt(t *testing.T) {
	kafka := func(batches ...[]byte) *fs.Double {
		d := fs.NewDouble()
		require.NoError(t, d.Mkdir(testDir))
		f, err := d.Create(testDir + "/" + segmentName(7))
		require.NoError(t, err)
		at := int64(0)
		for _, b := range batches {
			_, err := f.WriteAt(b, at)
			require.NoError(t, err)
			at += int64(len(b))
		}
		return d.Crash(fs.KeepAll)
	}
	checkpoint := func(d *fs.Double, name string) {
		require.NoError(t, fs.WriteFile(d, testDir+"/"+name, nil))
	}
	batch := unhex(t, leaderChangeHex)
	// Installed and nothing appended since.
	d := kafka()
	checkpoint(d, "00000000000000000007-0000000003.checkpoint")
	l, _, err := Open(d, testDir, Config{})
	require.NoError(t, err)
	assert.EqualValues(t, 7, l.StartOffset())
	assert.EqualValues(t, 7, l.EndOffset())
	assert.EqualValues(t, 3, l.LastEpoch())
	_, err = l.AppendRaw(batch)
	require.NoError(t, err)
	require.NoError(t, l.Close())
	l, _, err = Open(d.Crash(fs.KeepNone), testDir, Config{})
	require.NoError(t, err, "that it starts at 7 is durable")
	assert.EqualValues(t, 3, l.StartEpoch())
	assert.EqualValues(t, 5, l.LastEpoch())

	// Cleaned: the snapshot ends behind the first segment's base.
	d = kafka(batch, unhex(t, dataHex))
	checkpoint(d, "00000000000000000008-0000000005.checkpoint")
	l, _, err = Open(d, testDir, Config{})
	require.NoError(t, err)
	assert.EqualValues(t, 7, l.StartOffset())
	assert.EqualValues(t, 10, l.EndOffset())
	require.NoError(t, l.AdvanceStart(8, 5))
	require.NoError(t, l.Close())

	_, _, err = Open(kafka(), testDir, Config{})
	require.ErrorContains(t, err, segmentName(7)+" is corrupt at byte 0 (offset 7): the log starts here")
	d = kafka(batch)
	require.NoError(t, fs.WriteFile(d, testDir+"/"+epochFile, []byte("0\n1\n5 0\n")))
	_, _, err = Open(d, testDir, Config{})
	require.ErrorContains(t, err, "segment starts at offset 7", "Kafka knows of earlier records")
}

func FuzzStart(f *testing.F) {
	f.Add([]byte("start 100 7 0000000000000abc 00000000\n"))
	f.Add(logStart{offset: 100, epoch: 7, digest: 1}.render())
	f.Add(logStart{offset: 1, reset: true}.render())
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, ok := parseStart(b); ok {
			require.Equal(t, string(b), string(s.render()))
			require.Positive(t, s.offset)
		}
	})
}

// A log that began with a snapshot of another replica has digests that mean nothing, also
// after its start has moved and the process has ended: each start says so.
func TestStartOfUnknown(t *testing.T) {
	d, l := open(t, Config{})
	require.NoError(t, l.ResetTo(10, 1, StartDigest(10, 1)))
	for range 5 {
		_, err := l.AppendData(2, [][]byte{{1}, {2}}, 0)
		require.NoError(t, err)
	}
	require.NoError(t, l.Flush())
	require.NoError(t, l.AdvanceStart(14, 2))
	for _, start := range []int64{14, 18} {
		again, _, err := Open(d.Crash(fs.KeepNone), testDir, Config{})
		require.NoError(t, err)
		digest, ok := again.DigestAt(start)
		require.True(t, ok)
		require.Equal(t, StartDigest(start, 2), digest)
		require.NoError(t, l.AdvanceStart(18, 2)) // from the one before
	}
	known, m := open(t, Config{})
	_, err := m.AppendData(2, [][]byte{{1}}, 0)
	require.NoError(t, err)
	require.NoError(t, m.Flush())
	want, _ := m.DigestAt(1)
	require.NoError(t, m.AdvanceStart(1, 2))
	again, _, err := Open(known.Crash(fs.KeepNone), testDir, Config{})
	require.NoError(t, err)
	digest, _ := again.DigestAt(1)
	require.Equal(t, want, digest)
	require.NotEqual(t, StartDigest(1, 2), digest)
}
