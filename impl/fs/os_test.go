package fs

import (
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestOSErrors: the system's errors name operation and file, on a full disk and in a
// directory that may not be written.
func TestOSErrors(t *testing.T) {
	if f, err := (OS{}).Open("/dev/full"); err == nil {
		defer f.Close()
		_, err := f.WriteAt([]byte("x"), 0)
		require.ErrorIs(t, err, syscall.ENOSPC)
		assert.ErrorContains(t, err, "write /dev/full")
	}
	dir := t.TempDir()
	require.NoError(t, WriteFile(OS{}, dir+"/a", []byte("old")))
	require.NoError(t, os.Chmod(dir, 0o500))
	err := WriteFile(OS{}, dir+"/a", []byte("new"))
	if err == nil {
		t.Skip("this user may write whatever the mode is")
	}
	require.ErrorIs(t, err, os.ErrPermission)
	assert.ErrorContains(t, err, "open "+dir+"/a.tmp")
	b, err := ReadFile(OS{}, dir+"/a")
	require.NoError(t, err)
	assert.Equal(t, "old", string(b))
}
