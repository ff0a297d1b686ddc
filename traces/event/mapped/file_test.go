package mapped

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// opened is a new file, mapped or, as where there is no mmap, written.
func opened(t *testing.T, mapped bool) (*File, string) {
	path := filepath.Join(t.TempDir(), "file")
	m, err := Open(path, os.O_CREATE, 0o644)
	require.NoError(t, err)
	if !mapped {
		require.NoError(t, m.unmap(&m.head))
	}
	return m, path
}

// What was stored is in the file at once, wherever it was stored, and at the end the file
// is as long as was said.
func TestStore(t *testing.T) {
	for _, mapped := range []bool{true, false} {
		m, path := opened(t, mapped)
		end := int64(Head)
		var want []byte
		for i := range 500 {
			b := bytes.Repeat([]byte{byte(i + 1)}, 1+i*7)
			if i == 250 {
				b = make([]byte, 3*window) // more than a window holds
			}
			require.NoError(t, m.Store(b, end, 8, uint64(end)+uint64(len(b))))
			want, end = append(want, b...), end+int64(len(b))
			if i%50 == 0 {
				file, err := os.ReadFile(path)
				require.NoError(t, err)
				require.Equal(t, uint64(end), binary.LittleEndian.Uint64(file[8:]))
				require.True(t, bytes.Equal(want, file[Head:end]))
			}
		}
		// Back to the beginning, in place of other bytes.
		require.NoError(t, m.Replace([]byte("again"), Head, 16, 5))
		copy(want, "again")
		require.NoError(t, m.Close(end))
		file, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Len(t, file, int(end))
		require.Equal(t, uint64(5), binary.LittleEndian.Uint64(file[16:]))
		require.True(t, bytes.Equal(want, file[Head:]))
	}
}

// A file that somebody cuts while it is mapped is an error, and not the end of the process.
func TestFileIsCut(t *testing.T) {
	m, path := opened(t, true)
	if m.head == nil {
		t.Log("this file system cannot be mapped")
	}
	require.NoError(t, m.Store([]byte("a"), Head, 8, 1))
	require.NoError(t, os.Truncate(path, 0))
	err := m.Store(make([]byte, 3*window/4), Head+window/8, 8, 2)
	if m.head != nil {
		require.ErrorContains(t, err, "the file is shorter than it was")
	}
}

func TestOpenErrors(t *testing.T) {
	_, err := Open(filepath.Join(t.TempDir(), "none"), 0, 0)
	require.ErrorIs(t, err, os.ErrNotExist)
	_, path := opened(t, true)
	_, err = Open(path, os.O_CREATE|os.O_EXCL, 0o644)
	require.ErrorIs(t, err, os.ErrExist)
}
