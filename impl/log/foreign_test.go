package log

import (
	"testing"

	"github.com/quorate/quorate/impl/fs"
	"github.com/stretchr/testify/require"
)

// usedByKafka leaves what tells that Kafka has used the log, and what was a log of
// three records in epochs 3, 3 and 5 as Kafka leaves it.
func usedByKafka(t *testing.T, d *fs.Double, base int64, batches [][]byte, files map[string]string) {
	old := testDir + "/" + segmentName(0)
	if base > 0 {
		require.NoError(t, d.Remove(old))
	}
	f, err := d.Create(testDir + "/" + segmentName(base))
	require.NoError(t, err)
	at := int64(0)
	for _, b := range batches {
		_, err = f.WriteAt(b, at)
		require.NoError(t, err)
		at += int64(len(b))
	}
	require.NoError(t, f.Sync())
	for name, content := range files {
		require.NoError(t, fs.WriteFile(d, testDir+"/"+name, []byte(content)))
	}
	require.NoError(t, d.SyncDir(testDir))
}

// ours is a log that was closed, with a recovery point at its end.
func ours(t *testing.T) (d *fs.Double, batches [][]byte) {
	d = fs.NewDouble()
	l, _, err := Open(d, testDir, exact)
	require.NoError(t, err)
	for i, epoch := range []int32{3, 3, 5} {
		b := AppendDataBatch(nil, int64(i), epoch, [][]byte{{byte(i)}}, 1)
		_, err := l.AppendRaw(b)
		require.NoError(t, err)
		batches = append(batches, b)
	}
	require.NoError(t, l.Flush())
	require.NoError(t, l.Close())
	return d, batches
}

// Kafka leaves our files as they are, whatever it does to the log.
func TestUsedByKafka(t *testing.T) {
	index := string(make([]byte, kafkaIndexSize))
	other := AppendDataBatch(nil, 2, 4, [][]byte{{9}}, 1)
	for _, c := range []struct {
		name       string
		base       int64
		batches    func(ours [][]byte) [][]byte
		files      map[string]string
		start, end int64
		epoch      int32
	}{
		{"cut", 0, func(o [][]byte) [][]byte { return o[:1] },
			map[string]string{"00000000000000000001.snapshot": "", epochFile: "0\n1\n3 0\n"}, 0, 1, 3},
		{"cut, and went on in an earlier epoch", 0, func(o [][]byte) [][]byte { return [][]byte{o[0], o[1], other} },
			map[string]string{"00000000000000000003.snapshot": "", epochFile: "0\n2\n3 0\n4 2\n"}, 0, 3, 4},
		{"killed right after", 0, func(o [][]byte) [][]byte { return o[:2] },
			map[string]string{segmentStem(0) + ".index": index, epochFile: "0\n1\n3 0\n"}, 0, 2, 3},
		{"began anew at a snapshot", 7, func([][]byte) [][]byte { return nil },
			map[string]string{segmentStem(7) + ".index": index, epochFile: "0\n0\n", "00000000000000000007-0000000006.checkpoint": ""}, 7, 7, 6},
		{"deleted segments, and our start is below", 7, func([][]byte) [][]byte { return [][]byte{AppendDataBatch(nil, 7, 8, [][]byte{{1}}, 1)} },
			map[string]string{"00000000000000000008.snapshot": "", epochFile: "0\n1\n8 7\n", startFile: string(logStart{offset: 2, epoch: 3, digest: 1}.render())}, 7, 8, 8},
		{"our start is still there", 0, func(o [][]byte) [][]byte { return o },
			map[string]string{"00000000000000000003.snapshot": "", startFile: string(logStart{offset: 2, epoch: 3, digest: 1}.render())}, 2, 3, 5},
		{"our install did not end", 0, func(o [][]byte) [][]byte { return o },
			map[string]string{"00000000000000000003.snapshot": "", startFile: string(logStart{offset: 2, epoch: 3, digest: 1, reset: true}.render())}, 0, 3, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, batches := ours(t)
			usedByKafka(t, d, c.base, c.batches(batches), c.files)
			for range 2 { // and from then on it is ours
				l, _, err := Open(d, testDir, exact)
				require.NoError(t, err)
				require.Equal(t, []any{c.start, c.end, c.epoch}, []any{l.StartOffset(), l.EndOffset(), l.LastEpoch()})
				require.NoError(t, l.Abandon())
				d = d.Crash(fs.KeepNone)
			}
			names, err := d.List(testDir)
			require.NoError(t, err)
			for _, name := range names {
				require.NotContains(t, name, producerSuffix)
			}
			if c.end > c.start {
				require.NoError(t, fs.WriteFile(d, testDir+"/"+segmentName(c.base), nil))
				_, _, err = Open(d, testDir, exact)
				require.Error(t, err, "what was lost since is missed")
			}
		})
	}
	// Without Kafka's traces it is damage.
	d, batches := ours(t)
	usedByKafka(t, d, 0, batches[:1], map[string]string{epochFile: "0\n1\n3 0\n"})
	_, _, err := Open(d, testDir, exact)
	require.ErrorContains(t, err, "flushed up to offset 3")
	// And what is damage also to Kafka stays so: nothing is changed.
	d, batches = ours(t)
	batches[1][len(batches[1])-1] ^= 1
	usedByKafka(t, d, 0, batches, map[string]string{"00000000000000000003.snapshot": ""})
	_, _, err = Open(d, testDir, exact)
	require.ErrorContains(t, err, "a valid batch follows")
	_, err = fs.ReadFile(d, testDir+"/"+pointFile)
	require.NoError(t, err)
}

func segmentStem(base int64) string { return segmentName(base)[:20] }
