package log

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/quorate/quorate/impl/fs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// kafkaIndexes are the index files of a segment by the published layout and Kafka's
// rule (LogSegment.recover), from the bytes of the segment.
func kafkaIndexes(segment []byte, base int64, interval int) (index, timeIndex []byte) {
	maxTime, maxAt, lastTime, lastPos := int64(-1), int64(0), int64(-1), 0
	times := func() {
		if maxTime > lastTime {
			timeIndex = binary.BigEndian.AppendUint64(timeIndex, uint64(maxTime))
			timeIndex = binary.BigEndian.AppendUint32(timeIndex, uint32(maxAt-base))
			lastTime = maxTime
		}
	}
	for pos := 0; pos < len(segment); {
		b := segment[pos:]
		last := int64(binary.BigEndian.Uint64(b)) + int64(binary.BigEndian.Uint32(b[23:]))
		if time := int64(binary.BigEndian.Uint64(b[35:])); time > maxTime {
			maxTime, maxAt = time, last
		}
		if pos-lastPos > interval {
			index = binary.BigEndian.AppendUint32(index, uint32(last-base))
			index = binary.BigEndian.AppendUint32(index, uint32(pos))
			times()
			lastPos = pos
		}
		pos += 12 + int(binary.BigEndian.Uint32(b[8:]))
	}
	times()
	return index, timeIndex
}

// checkIndexes compares all index files with those of Kafka.
func checkIndexes(t testing.TB, d fs.FS, interval int, withActive bool) (entries int) {
	all, err := files(d, testDir)
	require.NoError(t, err)
	var bases []int64
	for name := range all {
		var base int64
		if len(name) == 24 && name[20:] == segmentSuffix {
			for _, c := range name[:20] {
				base = base*10 + int64(c-'0')
			}
			bases = append(bases, base)
		}
	}
	last := int64(0)
	for _, base := range bases {
		last = max(last, base)
	}
	for _, base := range bases {
		stem := segmentName(base)[:20]
		_, there := all[stem+".index"]
		require.Equal(t, base != last || withActive, there, stem)
		if !there {
			continue
		}
		index, times := kafkaIndexes([]byte(all[stem+".log"]), base, interval)
		require.Equal(t, string(index), all[stem+".index"], stem)
		require.Equal(t, string(times), all[stem+".timeindex"], stem)
		entries += len(index)/8 + len(times)/12
	}
	return entries
}

func TestIndexVectors(t *testing.T) {
	d, l := open(t, Config{SegmentBytes: 14_000})
	for _, time := range []int64{50, 70, 60, 70, 80, 10, 90, 20} {
		_, err := l.AppendData(1, [][]byte{make([]byte, 1000), make([]byte, 967)}, time)
		require.NoError(t, err)
	}
	require.NoError(t, l.Close())
	all, err := files(d, testDir)
	require.NoError(t, err)
	// Each batch has 61 + 1009 + 976 = 2046 bytes: a record is its length (2 bytes),
	// attributes, two deltas and null key (4), length of the value (2), value, headers.
	require.Len(t, all[segmentName(0)], 6*2046)
	assert.Equal(t, unhex(t, `
		00000007 000017fa  # last offset of the fourth batch, at 3 * 2046: the third is at 4092, which is not beyond 4096`),
		[]byte(all["00000000000000000000.index"]))
	assert.Equal(t, unhex(t, `
		0000000000000046 00000003  # 70, first at offset 3
		0000000000000050 00000009  # 80, when the segment was left`),
		[]byte(all["00000000000000000000.timeindex"]))
	assert.Empty(t, all["00000000000000000012.index"])
	assert.Equal(t, unhex(t, `000000000000005a 00000001`), []byte(all["00000000000000000012.timeindex"]))
}

// TestIndexes: after every script the index files are what Kafka would have rebuilt.
func TestIndexes(t *testing.T) {
	entries := 0
	for seed := range uint64(20) {
		d := fs.NewDouble()
		cfg := Config{SegmentBytes: 3000, IndexIntervalBytes: 700}
		_, err := run(t, d, cfg, randomScript(t, seed, 60), false)
		require.NoError(t, err)
		entries += checkIndexes(t, d, 700, false)
		damage(t, d, int(seed))
		l, _, err := Open(d, testDir, cfg)
		require.NoError(t, err)
		_, _, err = l.DeleteOld() // whose indexes are not made anew
		require.NoError(t, err)
		checkIndexes(t, d, 700, false)
		for i := range 5 { // timestamps up and down, then back to the middle of them
			_, err := l.AppendData(max(l.LastEpoch(), 1), [][]byte{make([]byte, 300)}, int64(100+i*(i%2)*int(seed)))
			require.NoError(t, err)
		}
		_, err = l.TruncateTo(max(l.StartOffset(), l.EndOffset()-int64(seed%5)))
		require.NoError(t, err)
		require.NoError(t, l.Close())
		entries += checkIndexes(t, d, 700, true)
	}
	assert.Greater(t, entries, 100)
}

// damage spoils, shortens or removes index files.
func damage(t testing.TB, d *fs.Double, seed int) {
	all, err := files(d, testDir)
	require.NoError(t, err)
	for name, content := range all {
		if !bytes.HasSuffix([]byte(name), []byte("index")) {
			continue
		}
		f, err := d.Open(testDir + "/" + name)
		require.NoError(t, err)
		switch seed % 3 {
		case 0:
			require.NoError(t, d.Remove(testDir+"/"+name))
		case 1:
			require.NoError(t, f.Truncate(int64(len(content)/2)))
		case 2:
			_, err := f.WriteAt([]byte("nonsense"), int64(len(content)/2))
			require.NoError(t, err)
		}
	}
	f, err := d.Create(testDir + "/" + segmentName(1 << 40)[:20] + ".index") // of no segment
	require.NoError(t, err)
	_, err = f.WriteAt(make([]byte, 8), 0)
	require.NoError(t, err)
}

// TestRollByTime is Kafka's rule: from the first batch of the segment to the next one.
func TestRollByTime(t *testing.T) {
	_, l := open(t, Config{SegmentMs: 1000})
	at := func(time int64, segments int) {
		t.Helper()
		_, err := l.AppendData(1, [][]byte{{1}}, time)
		require.NoError(t, err)
		assert.Len(t, l.Segments(), segments, "after %d", time)
	}
	at(5000, 1)
	at(6000, 1)
	at(4000, 1)
	at(6001, 2)
	at(7001, 2)
	at(7002, 3)
	_, err := l.TruncateTo(0)
	require.NoError(t, err)
	require.NoError(t, l.Flush())
	at(9000, 1)
	at(10001, 2)
}

// BenchmarkLookup finds batches of 170 bytes in a segment of 64 MiB: by the index in
// memory, which has every batch, and by the entries of the .index file, from which one
// reads on in the segment.
func BenchmarkLookup(b *testing.B) {
	l := openOS(b)
	for l.active().size < 64<<20 {
		if _, err := l.AppendData(1, [][]byte{value}, 0); err != nil {
			b.Fatal(err)
		}
	}
	seg := l.active()
	offset := func(i int) int64 { return int64(i) * 7919 % l.end }
	b.Run("memory", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			if n := seg.find(offset(i)); int64(seg.index[n].rel) != offset(i) {
				b.Fatal(n)
			}
		}
		b.ReportMetric(float64(len(seg.index)*16)/float64(seg.size)*100, "%memory")
	})
	b.Run("index file", func(b *testing.B) {
		buf := make([]byte, 8192)
		for i := 0; b.Loop(); i++ {
			if pos, err := sparseFind(seg, offset(i), buf); err != nil || pos != int64(seg.index[offset(i)].pos) {
				b.Fatal(pos, err)
			}
		}
		b.ReportMetric(float64(len(seg.sparse.offsets)*8)/float64(seg.size)*100, "%memory")
	})
	b.Run("scan", func(b *testing.B) {
		buf := make([]byte, 1<<20)
		x := seg.sparse
		seg.sparse.offsets = nil
		for i := 0; b.Loop(); i++ {
			if _, err := sparseFind(seg, offset(i), buf); err != nil {
				b.Fatal(err)
			}
		}
		seg.sparse = x
	})
}

// sparseFind returns the position of the batch that holds an offset, as Kafka finds it.
func sparseFind(seg *segment, offset int64, buf []byte) (int64, error) {
	pos := int64(0)
	lo, hi := 0, len(seg.sparse.offsets)
	for lo < hi {
		if mid := (lo + hi) / 2; int64(seg.sparse.offsets[mid].rel) <= offset-seg.base {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo > 0 {
		pos = int64(seg.sparse.offsets[lo-1].pos)
	}
	for {
		n, err := seg.file.ReadAt(buf, pos)
		if n < HeaderSize {
			return 0, err
		}
		for b := buf[:n]; len(b) >= HeaderSize; {
			if last := int64(binary.BigEndian.Uint64(b)) + int64(binary.BigEndian.Uint32(b[posLastDelta:])); last >= offset {
				return pos, nil
			}
			size := int(binary.BigEndian.Uint32(b[posLength:])) + lengthOverhead
			pos += int64(size)
			b = b[min(size, len(b)):]
		}
	}
}
