package bench

import (
	"fmt"
	"io"
	"math/rand/v2"
	"path"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/impl/fs"
)

// memory is a file system that only keeps bytes, to see what a replica costs without
// a disk. fs.Double would measure itself: it knows what was flushed, and copies a
// file that grows. It is for one goroutine, as a cluster is.
type memory struct {
	files map[string]*memoryFile
	spare []*block // of files that were removed: memory that is new costs page faults
}

var _ fs.FS = (*memory)(nil)

func newMemory() *memory { return &memory{files: map[string]*memoryFile{}} }

// block is a part of a file, so that nothing moves when it grows.
type block [blockBytes]byte

const blockBytes = 1 << 16

type memoryFile struct {
	m      *memory
	size   int64
	blocks []*block
}

// Create implements [fs.FS].
func (m *memory) Create(name string) (fs.File, error) {
	f := m.files[path.Clean(name)]
	if f == nil {
		f = &memoryFile{m: m}
		m.files[path.Clean(name)] = f
	}
	return f, f.Truncate(0)
}

// Open implements [fs.FS].
func (m *memory) Open(name string) (fs.File, error) {
	if f := m.files[path.Clean(name)]; f != nil {
		return f, nil
	}
	return nil, fmt.Errorf("open %s: %w", name, fs.ErrNotExist)
}

// Rename implements [fs.FS].
func (m *memory) Rename(from, to string) error {
	f := m.files[path.Clean(from)]
	if f == nil {
		return fmt.Errorf("rename %s: %w", from, fs.ErrNotExist)
	}
	delete(m.files, path.Clean(from))
	m.files[path.Clean(to)] = f
	return nil
}

// Remove implements [fs.FS].
func (m *memory) Remove(name string) error {
	f := m.files[path.Clean(name)]
	if f == nil {
		return fmt.Errorf("remove %s: %w", name, fs.ErrNotExist)
	}
	m.spare = append(m.spare, f.blocks...)
	delete(m.files, path.Clean(name))
	return nil
}

// List implements [fs.FS].
func (m *memory) List(dir string) ([]string, error) {
	var names []string
	for name := range m.files {
		if path.Dir(name) == path.Clean(dir) {
			names = append(names, path.Base(name))
		}
	}
	slices.Sort(names)
	return names, nil
}

// Mkdir implements [fs.FS]. Directories are only parts of names.
func (m *memory) Mkdir(string) error { return nil }

// SyncDir implements [fs.FS].
func (m *memory) SyncDir(string) error { return nil }

// each calls do with the parts of blocks that [off, off+len(p)) covers, and the
// parts of p that belong there.
func (f *memoryFile) each(p []byte, off int64, do func(part, p []byte)) {
	for len(p) > 0 {
		part := f.blocks[off/blockBytes][off%blockBytes:]
		n := min(len(part), len(p))
		do(part[:n], p[:n])
		p, off = p[n:], off+int64(n)
	}
}

// ReadAt implements [io.ReaderAt].
func (f *memoryFile) ReadAt(p []byte, off int64) (int, error) {
	var err error
	if have := max(f.size-off, 0); int64(len(p)) > have {
		p, err = p[:have], io.EOF
	}
	f.each(p, off, func(part, p []byte) { copy(p, part) })
	return len(p), err
}

// WriteAt implements [io.WriterAt].
func (f *memoryFile) WriteAt(p []byte, off int64) (int, error) {
	f.grow(off + int64(len(p)))
	f.each(p, off, func(part, p []byte) { copy(part, p) })
	return len(p), nil
}

func (f *memoryFile) grow(size int64) {
	for int64(len(f.blocks))*blockBytes < size {
		if n := len(f.m.spare); n > 0 {
			b := f.m.spare[n-1]
			f.m.spare = f.m.spare[:n-1]
			clear(b[:])
			f.blocks = append(f.blocks, b)
			continue
		}
		f.blocks = append(f.blocks, new(block))
	}
	f.size = max(f.size, size)
}

// Truncate implements [fs.File].
func (f *memoryFile) Truncate(size int64) error {
	if size >= f.size {
		f.grow(size)
		return nil
	}
	f.size = size
	f.blocks = f.blocks[:(size+blockBytes-1)/blockBytes]
	if at := size % blockBytes; at > 0 {
		clear(f.blocks[len(f.blocks)-1][at:])
	}
	return nil
}

// Size implements [fs.File].
func (f *memoryFile) Size() (int64, error) {
	return f.size, nil
}

// Sync implements [fs.File].
func (f *memoryFile) Sync() error { return nil }

// Close implements [io.Closer].
func (f *memoryFile) Close() error { return nil }

// TestMemory holds files against slices of bytes.
func TestMemory(t *testing.T) {
	m := newMemory()
	f, err := m.Create("/a")
	require.NoError(t, err)
	var want []byte
	r := rand.New(rand.NewPCG(1, 2))
	p := make([]byte, 3*blockBytes)
	for range 300 {
		off := r.Int64N(4 * blockBytes)
		part := p[:r.IntN(len(p))]
		switch r.IntN(4) {
		case 0:
			require.NoError(t, f.Truncate(off))
			want = append(want, make([]byte, max(int(off)-len(want), 0))...)[:off]
		case 1:
			for i := range part {
				part[i] = byte(r.Uint32())
			}
			_, err := f.WriteAt(part, off)
			require.NoError(t, err)
			end := int(off) + len(part)
			want = append(want, make([]byte, max(end-len(want), 0))...)
			copy(want[off:], part)
		default:
			n, err := f.ReadAt(part, off)
			expect := want[min(int(off), len(want)):min(int(off)+len(part), len(want))]
			require.Equal(t, len(expect) < len(part), err == io.EOF)
			require.True(t, slices.Equal(expect, part[:n]))
		}
		size, err := f.Size()
		require.NoError(t, err)
		require.EqualValues(t, len(want), size)
	}
	require.NoError(t, fs.WriteFile(m, "/d/b", []byte("b")))
	names, err := m.List("/d")
	require.NoError(t, err)
	require.Equal(t, []string{"b"}, names)
	require.NoError(t, m.Remove("/d/b"))
	_, err = m.Open("/d/b")
	require.ErrorIs(t, err, fs.ErrNotExist)
}
