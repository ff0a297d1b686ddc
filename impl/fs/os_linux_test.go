package fs

import (
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestOSErrors: the system's errors name operation and file, on a full disk and in a
// directory that may not be written.
func TestOSErrors(t *testing.T) {
	f, err := OS{}.Open("/dev/full")
	require.NoError(t, err)
	defer f.Close()
	_, err = f.WriteAt([]byte("x"), 0)
	require.ErrorIs(t, err, syscall.ENOSPC)
	assert.ErrorContains(t, err, "write /dev/full")

	dir := t.TempDir()
	require.NoError(t, WriteFile(OS{}, dir+"/a", []byte("old")))
	require.NoError(t, os.Chmod(dir, 0o555))
	if os.Geteuid() == 0 {
		require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755))
		require.NoError(t, os.Chown(dir+"/a", nobody, nobody))
		asNobody(t)
	}
	err = WriteFile(OS{}, dir+"/a", []byte("new"))
	require.ErrorIs(t, err, os.ErrPermission)
	assert.ErrorContains(t, err, "open "+dir+"/a.tmp")
	b, err := ReadFile(OS{}, dir+"/a")
	require.NoError(t, err)
	assert.Equal(t, "old", string(b))
}

const nobody = 65534

// asNobody gives this goroutine's thread, until the end of the test, the rights of a
// user to whom modes apply. They are the thread's own, which others must not share.
func asNobody(t *testing.T) {
	runtime.LockOSThread()
	set := func(uid uintptr) { syscall.RawSyscall(syscall.SYS_SETFSUID, uid, 0, 0) }
	set(nobody)
	t.Cleanup(func() {
		set(0)
		runtime.UnlockOSThread()
	})
}
