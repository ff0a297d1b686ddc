//go:build (linux || darwin) && !race

package checker

import (
	"fmt"
	"syscall"
	"unsafe"
)

// allocWords gives n zero words outside the heap, so that the collector does
// not see gigabytes that hold no pointer, and so that they can be returned at
// once. A table that does not fit in memory is the end of the run.
func allocWords(n int) []uint64 {
	b, err := syscall.Mmap(-1, 0, n*8, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		panic(fmt.Errorf("checker: map %d bytes: %w", n*8, err))
	}
	advise(b)
	return unsafe.Slice((*uint64)(unsafe.Pointer(&b[0])), n)
}

func freeWords(w []uint64) {
	if len(w) > 0 {
		_ = syscall.Munmap(unsafe.Slice((*byte)(unsafe.Pointer(&w[0])), len(w)*8))
	}
}
