//go:build unix

package node

import (
	"errors"
	"os"
	"syscall"
)

// lockDir takes the lock, which goes with the process.
func lockDir(name string) (unlock func(), err error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.New("another process uses it")
		}
		return nil, err
	}
	return func() { f.Close() }, nil
}
