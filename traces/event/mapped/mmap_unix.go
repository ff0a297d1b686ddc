//go:build unix && !solaris && !aix

package mapped

import (
	"os"
	"syscall"
)

func mapFile(f *os.File, pos int64, n int) ([]byte, error) {
	return syscall.Mmap(int(f.Fd()), pos, n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
}

func unmapFile(b []byte) error { return syscall.Munmap(b) }
