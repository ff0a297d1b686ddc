//go:build linux || darwin

package checker

import (
	"os"
	"syscall"
)

const locks = true

// tryLock locks a file until it is closed or the process ends, unless it is locked.
func tryLock(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}
