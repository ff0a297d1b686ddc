package objects

import (
	"os"
	"syscall"
)

// writeBack has the disk write a part of a file, and waits for that. It is no flush: the
// name, the size and where the parts are may still be lost, and no commit of the file
// system, for which others would wait, is asked for.
func writeBack(f *os.File, at, n int64) error {
	const writeAndWait = 1 | 2 | 4 // SYNC_FILE_RANGE_WAIT_BEFORE, _WRITE and _WAIT_AFTER
	err := syscall.SyncFileRange(int(f.Fd()), at, n, writeAndWait)
	if err == syscall.ENOSYS || err == syscall.EINVAL || err == syscall.ESPIPE {
		return f.Sync() // not all file systems can
	}
	return err
}
