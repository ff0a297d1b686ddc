package log

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkPreallocate appends and flushes, in a file that grows and in one whose 64
// MiB were allocated before: with the length that it has (as Kafka's segments must
// have, which it reads to the end), or with all of them.
func BenchmarkPreallocate(b *testing.B) {
	const keepSize, space = 1, 64 << 20
	for _, size := range []int{200, 64 << 10} {
		for _, c := range []struct {
			name    string
			prepare func(f *os.File) error
		}{
			{"grows", func(*os.File) error { return nil }},
			{"allocated", func(f *os.File) error { return syscall.Fallocate(int(f.Fd()), keepSize, 0, space) }},
			{"allocated with its length", func(f *os.File) error { return syscall.Fallocate(int(f.Fd()), 0, 0, space) }},
		} {
			name := "200 B"
			if size > 200 {
				name = "64 KiB"
			}
			b.Run(name+"/"+c.name, func(b *testing.B) {
				f, err := os.Create(filepath.Join(b.TempDir(), "f"))
				require.NoError(b, err)
				defer f.Close()
				require.NoError(b, c.prepare(f))
				require.NoError(b, f.Sync())
				buf := make([]byte, size)
				pos := int64(0)
				for b.Loop() {
					if pos+int64(size) > space {
						pos = 0
					}
					if _, err := f.WriteAt(buf, pos); err != nil {
						b.Fatal(err)
					}
					pos += int64(size)
					if err := f.Sync(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
