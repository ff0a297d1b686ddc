package log

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/quorate/quorate/impl/fs"
	"github.com/stretchr/testify/require"
)

// value is of the size of a small metadata record.
var value = bytes.Repeat([]byte("m"), 100)

func openOS(b *testing.B) *Log {
	l, _, err := Open(fs.OS{}, b.TempDir()+"/"+testDir, Config{})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, l.Close()) })
	return l
}

func values(n int) [][]byte {
	all := make([][]byte, n)
	for i := range all {
		all[i] = value
	}
	return all
}

func BenchmarkAppendData(b *testing.B) {
	l := openOS(b)
	records := values(100)
	b.ReportAllocs()
	b.SetBytes(int64(len(AppendDataBatch(nil, 0, 1, records, 0))))
	for b.Loop() {
		if _, err := l.AppendData(1, records, 0); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendRaw(b *testing.B) {
	l := openOS(b)
	raw := AppendDataBatch(nil, 0, 1, values(100), 0)
	b.ReportAllocs()
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		// The offset is not covered by the checksum.
		binary.BigEndian.PutUint64(raw, uint64(l.EndOffset()))
		if _, err := l.AppendRaw(raw); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendFlush(b *testing.B) {
	l := openOS(b)
	records := values(100)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := l.AppendData(1, records, 0); err != nil {
			b.Fatal(err)
		}
		if err := l.Flush(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	for _, size := range []int{0, 1 << 20} {
		name := "one batch"
		if size > 0 {
			name = "1 MiB"
		}
		b.Run(name, func(b *testing.B) {
			l := openOS(b)
			records := values(100)
			for range 1000 {
				if _, err := l.AppendData(1, records, 0); err != nil {
					b.Fatal(err)
				}
			}
			var span Span
			from := int64(0)
			b.ReportAllocs()
			n := int64(0)
			for b.Loop() {
				if err := l.Read(&span, from, size, l.EndOffset()); err != nil {
					b.Fatal(err)
				}
				n += int64(len(span.Bytes))
				if from = span.End; from == l.EndOffset() {
					from = 0
				}
			}
			b.SetBytes(n / int64(b.N))
		})
	}
}

func BenchmarkOpen(b *testing.B) {
	l := openOS(b)
	records := values(100)
	for l.active().size < 64<<20 {
		if _, err := l.AppendData(1, records, 0); err != nil {
			b.Fatal(err)
		}
	}
	require.NoError(b, l.Flush())
	b.SetBytes(l.active().size)
	for b.Loop() {
		again, _, err := Open(fs.OS{}, l.dir, Config{})
		if err != nil {
			b.Fatal(err)
		}
		again.Close()
	}
}
