package log

import (
	"bytes"
	"sync"
	"testing"

	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/traces/event"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func open(t testing.TB, cfg Config) (*fs.Double, *Log) {
	d := fs.NewDouble()
	l, _, err := Open(d, testDir, cfg)
	require.NoError(t, err)
	return d, l
}

// TestFiles: the files of a small log are Kafka's.
func TestFiles(t *testing.T) {
	d, l := open(t, Config{})
	for i, b := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		_, err := l.AppendData(int32(3+i/6), [][]byte{[]byte(b)}, 1700000000000)
		require.NoError(t, err)
	}
	require.NoError(t, l.Flush())
	_, err := l.AppendLeaderChange(5, 1, []int32{1, 2, 3}, []int32{1, 2}, 1700000000000)
	require.NoError(t, err)
	require.NoError(t, l.Flush())
	_, err = l.AppendData(5, [][]byte{[]byte("hi"), bytes.Repeat([]byte("x"), 100)}, 1700000000001)
	require.NoError(t, err)
	require.NoError(t, l.Close())
	all, err := files(d, testDir)
	require.NoError(t, err)
	assert.Equal(t, "0\n3\n3 0\n4 6\n5 7\n", all["leader-epoch-checkpoint"])
	assert.Equal(t, "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ", all["partition.metadata"])
	want := string(unhex(t, leaderChangeHex)) + string(unhex(t, dataHex))
	content := all["00000000000000000000.log"]
	assert.Equal(t, want, content[len(content)-len(want):])
	assert.Len(t, all, 6)

	other := Config{TopicID: [16]byte{1}}
	_, _, err = Open(d, testDir, other)
	assert.ErrorContains(t, err, "topic_id")
}

func TestEmpty(t *testing.T) {
	_, l := open(t, Config{})
	assert.EqualValues(t, 0, l.EndOffset())
	assert.EqualValues(t, 0, l.StartOffset())
	assert.EqualValues(t, 0, l.LastEpoch())
	assert.Equal(t, event.EpochEnd{}, l.EndOffsetForEpoch(0))
	assert.Equal(t, event.EpochEnd{}, l.EndOffsetForEpoch(5))
	digest, ok := l.DigestAt(0)
	assert.True(t, ok)
	assert.Zero(t, digest)
	var span Span
	require.NoError(t, l.Read(&span, 0, 100, 100))
	assert.Empty(t, span.Bytes)
	end, err := l.TruncateTo(0)
	require.NoError(t, err)
	assert.Zero(t, end)
	done, err := l.AppendRaw(nil)
	require.NoError(t, err)
	assert.Equal(t, Appended{}, done)
}

func TestRefused(t *testing.T) {
	_, l := open(t, Config{})
	_, err := l.AppendData(5, [][]byte{{1}}, 0)
	require.NoError(t, err)
	for _, try := range []func() error{
		func() error { _, err := l.AppendData(4, [][]byte{{1}}, 0); return err },
		func() error { _, err := l.AppendData(5, nil, 0); return err },
		func() error { _, err := l.AppendData(5, [][]byte{{1}, {}}, 0); return err },
		func() error { _, err := l.AppendData(5, [][]byte{make([]byte, MaxBatchBytes)}, 0); return err },
		func() error { _, err := l.AppendLeaderChange(-1, 1, nil, nil, 0); return err },
	} {
		require.ErrorIs(t, try(), ErrRecords)
	}
	var span Span
	for _, from := range []int64{-1, 2} {
		require.ErrorIs(t, l.Read(&span, from, 1, 9), ErrOffset)
	}
	_, err = l.TruncateTo(-1)
	require.ErrorIs(t, err, ErrOffset)
	_, ok := l.DigestAt(2)
	assert.False(t, ok)
	require.NoError(t, l.Err())
	assert.EqualValues(t, 1, l.EndOffset())
}

// TestAppendRawPrefix is KAFKA-18838: the good batches before a bad one count.
func TestAppendRawPrefix(t *testing.T) {
	_, leader := open(t, Config{})
	for range 3 {
		_, err := leader.AppendData(1, [][]byte{[]byte("record")}, 0)
		require.NoError(t, err)
	}
	var span Span
	require.NoError(t, leader.Read(&span, 0, 1<<20, 3))
	size := len(span.Bytes) / 3
	for n := range span.Bytes {
		_, follower := open(t, Config{})
		var bad *BatchError
		done, err := follower.AppendRaw(span.Bytes[:n])
		if n%size == 0 {
			require.NoError(t, err)
		} else {
			require.ErrorAs(t, err, &bad)
			require.True(t, bad.Incomplete)
		}
		require.EqualValues(t, n/size, done.End)
		require.EqualValues(t, n/size, follower.EndOffset())
		if at := n % size; at > posEpoch && at < posMagic {
			continue // another epoch, and a good one: the checksum does not cover it
		}
		damaged := bytes.Clone(span.Bytes)
		damaged[n] ^= 0x80
		done, err = follower.AppendRaw(damaged[n/size*size:])
		require.ErrorAs(t, err, &bad, "byte %d", n)
		require.Zero(t, bad.Pos)
		require.Equal(t, done.Base, done.End)
		_, err = follower.AppendRaw(span.Bytes[n/size*size:])
		require.NoError(t, err)
		require.Equal(t, leader.Digest(), follower.Digest())
	}
}

// TestFlushBesideAppend: the writer goes on while it is flushed and read.
func TestFlushBesideAppend(t *testing.T) {
	_, l := open(t, Config{SegmentBytes: 5000, RecoveryPointBytes: 1000})
	stop := make(chan struct{})
	var beside sync.WaitGroup
	beside.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				assert.NoError(t, l.Flush())
			}
		}
	})
	beside.Go(func() {
		var span Span
		next := int64(0)
		for next < 500 {
			if !assert.NoError(t, l.Read(&span, next, 3000, l.FlushedEnd())) {
				return
			}
			next = span.End
		}
	})
	for range 500 {
		_, err := l.AppendData(1, [][]byte{[]byte("some record")}, 0)
		require.NoError(t, err)
	}
	require.NoError(t, l.Flush())
	close(stop)
	beside.Wait()
	require.EqualValues(t, 500, l.FlushedEnd())
}

// TestFlushCounts: what a flush costs.
func TestFlushCounts(t *testing.T) {
	d, l := open(t, Config{})
	var kinds []string
	d.Fail(func(op fs.Op) fs.Fault { kinds = append(kinds, op.Kind.String()); return fs.None })
	flushed := func() []string {
		kinds = nil
		require.NoError(t, l.Flush())
		return kinds
	}
	assert.Empty(t, flushed())
	_, err := l.AppendData(1, [][]byte{{1}}, 0)
	require.NoError(t, err)
	assert.Equal(t, []string{"sync", "create", "write", "sync", "rename", "syncdir"}, flushed(), "a new epoch")
	assert.Empty(t, flushed())
	_, err = l.AppendData(1, [][]byte{{1}}, 0)
	require.NoError(t, err)
	assert.Equal(t, []string{"sync"}, flushed())
	_, err = l.AppendData(1, [][]byte{make([]byte, 1<<20)}, 0)
	require.NoError(t, err)
	assert.Equal(t, []string{"sync", "write", "sync"}, flushed(), "the recovery point")
	_, err = l.TruncateTo(1)
	require.NoError(t, err)
	assert.Equal(t, []string{"sync"}, flushed())
}
