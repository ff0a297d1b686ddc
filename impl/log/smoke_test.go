package log

import (
	"testing"

	"github.com/quorate/quorate/impl/fs"
	"github.com/stretchr/testify/require"
)

func TestSmoke(t *testing.T) {
	d := fs.NewDouble()
	l, _, err := Open(d, "l-0", Config{SegmentBytes: 200})
	require.NoError(t, err)
	_, err = l.AppendLeaderChange(1, 1, []int32{1, 2, 3}, []int32{1, 2}, 5)
	require.NoError(t, err)
	for i := 0; i < 10; i++ {
		_, err = l.AppendData(1, [][]byte{[]byte("hello"), []byte("world")}, 6)
		require.NoError(t, err)
	}
	require.NoError(t, l.Flush())
	require.EqualValues(t, 21, l.EndOffset())
	var s Span
	for off := int64(0); off < 21; off = s.End {
		require.NoError(t, l.Read(&s, off, 1000, 100))
		t.Log(s.Base, s.End, s.Runs, len(s.Bytes))
	}
	l2, rec, err := Open(d, "l-0", Config{SegmentBytes: 200})
	require.NoError(t, err)
	t.Log(rec)
	require.Equal(t, l.Digest(), l2.Digest())
	end, err := l2.TruncateTo(4)
	require.NoError(t, err)
	require.EqualValues(t, 3, end)
	require.NoError(t, l2.Flush())
	l3, rec, err := Open(d, "l-0", Config{SegmentBytes: 200})
	require.NoError(t, err)
	require.Equal(t, l3.Digest(), l2.Digest())
	t.Log(rec, d.Ops())
	names, _ := d.List("l-0")
	t.Log(names)
}
