//go:build unix

package node

import (
	"errors"
	"os"
	"syscall"
)

var errLocked = errors.New("another process uses it")

// LockDir takes the .lock of a log directory, which goes with the process. It is two
// locks: that of flock, which a second one in this process does not get either, and
// that of fcntl, which Kafka takes (FileLock). Systems keep them apart.
func LockDir(dir string) (unlock func(), err error) {
	f, err := os.OpenFile(dir+"/.lock", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errLocked
		}
		return nil, err
	}
	whole := syscall.Flock_t{Type: syscall.F_WRLCK} // length 0: to the end, however far
	if err := syscall.FcntlFlock(f.Fd(), setLock, &whole); err != nil {
		f.Close()
		if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) {
			return nil, errLocked
		}
		return nil, err
	}
	return func() { f.Close() }, nil
}
