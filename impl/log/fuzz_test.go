package log

import (
	"testing"

	"github.com/quorate/quorate/impl/fs"
	"github.com/stretchr/testify/require"
)

// FuzzEpochs: leader-epoch-checkpoint. What is accepted is what we would write.
func FuzzEpochs(f *testing.F) {
	f.Add([]byte("0\n0\n"))
	f.Add([]byte("0\n3\n3 0\n4 6\n5 7\n"))
	f.Add([]byte("0\n1\n-1 -1\n"))
	f.Add([]byte("1\n1\n1 0\n"))
	f.Add([]byte("0\n2\n1 0\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if epochs, ok := parseEpochs(b); ok {
			require.Equal(t, string(b), string(renderEpochs(epochs)))
		}
		openWith(t, epochFile, b)
	})
}

// FuzzPoint: recovery-point.
func FuzzPoint(f *testing.F) {
	f.Add(renderPoint(0))
	f.Add(renderPoint(3))
	f.Add([]byte("00000000000000000003 00000000\n"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		if offset, ok := parsePoint(b); ok {
			require.Equal(t, string(b), string(renderPoint(offset)))
		}
		openWith(t, pointFile, b)
	})
}

// FuzzIndex: .index and .timeindex are never believed.
func FuzzIndex(f *testing.F) {
	f.Add([]byte{}, false)
	f.Add([]byte{0, 0, 0, 7, 0, 0, 0x17, 0xfa}, false)
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 1}, true)
	f.Fuzz(func(t *testing.T, b []byte, time bool) {
		name := segmentName(0)[:20] + indexSuffix
		if time {
			name = segmentName(0)[:20] + timeIndexSuffix
		}
		d, l := openWith(t, name, b)
		require.NotNil(t, l)
		require.NoError(t, l.Close())
		checkIndexes(t, d, 300, true)
	})
}

// openWith opens a log in which a file has the content given. It opens, or says what is
// wrong with that file or another; then it has changed nothing.
func openWith(t testing.TB, name string, content []byte) (*fs.Double, *Log) {
	cfg := Config{SegmentBytes: 800, IndexIntervalBytes: 300}
	d := fs.NewDouble()
	_, err := run(t, d, cfg, []step{change(t, 1), data(t, 1, 300), data(t, 1, 200), change(t, 2), flush, data(t, 2, 500), flush}, false)
	require.NoError(t, err)
	require.NoError(t, fs.WriteFile(d, testDir+"/"+name, content))
	before, err := files(d, testDir)
	require.NoError(t, err)
	l, _, err := Open(d, testDir, cfg)
	if err == nil {
		require.EqualValues(t, 5, l.EndOffset())
		return d, l
	}
	var corrupt *CorruptError
	require.ErrorAs(t, err, &corrupt)
	after, err := files(d, testDir)
	require.NoError(t, err)
	require.Equal(t, before, after)
	return d, nil
}
