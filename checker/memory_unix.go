//go:build (linux || darwin) && !race

package checker

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"
)

// allocWords gives n zero words outside the heap, so that the collector does
// not see gigabytes that hold no pointer, and so that they can be returned at
// once. Memory that is not to be had is the end of the run.
func allocWords(n int) []uint64 {
	b, err := syscall.Mmap(-1, 0, n*8, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		panic(&engineError{fmt.Errorf("map %d bytes of memory: %w", n*8, err)})
	}
	advise(b)
	return unsafe.Slice((*uint64)(unsafe.Pointer(&b[0])), n)
}

func freeWords(w []uint64) {
	if len(w) > 0 {
		_ = syscall.Munmap(unsafe.Slice((*byte)(unsafe.Pointer(&w[0])), len(w)*8))
	}
}

// region is an array of words that can grow without moving: it reserves a range
// of addresses that no machine can fill, and asks for memory as it grows. If the
// range is not to be had, or is full, it grows by moving.
type region struct {
	reserved []byte
	usable   int // bytes of it
}

const reserveBytes = 1 << 40

// extend makes the region n words long. What it held stays, what is new is 0.
func (r *region) extend(n int) ([]uint64, error) {
	page := os.Getpagesize()
	need := (n*8 + page - 1) / page * page
	if need > len(r.reserved) {
		if err := r.reserve(need); err != nil {
			return nil, err
		}
	}
	if need > r.usable {
		more := r.reserved[r.usable:need]
		if err := syscall.Mprotect(more, syscall.PROT_READ|syscall.PROT_WRITE); err != nil {
			return nil, fmt.Errorf("get %d bytes of memory: %w", len(more), err)
		}
		r.usable = need
		advise(r.reserved[:need])
	}
	return unsafe.Slice((*uint64)(unsafe.Pointer(&r.reserved[0])), n), nil
}

// reserve finds a range for at least need bytes, and moves what there is to it.
func (r *region) reserve(need int) error {
	for size := max(reserveBytes, need); ; size = max(size/4, need) {
		b, err := syscall.Mmap(-1, 0, size, syscall.PROT_NONE, syscall.MAP_ANON|syscall.MAP_PRIVATE|noReserve)
		if err != nil && size > need {
			continue
		}
		if err != nil {
			return fmt.Errorf("reserve %d bytes of memory: %w", size, err)
		}
		old := *r
		*r = region{reserved: b}
		if old.usable > 0 {
			if _, err := r.extend(old.usable / 8); err != nil {
				return err
			}
			copy(r.reserved, old.reserved[:old.usable])
		}
		old.free()
		return nil
	}
}

func (r *region) free() {
	if r.reserved != nil {
		_ = syscall.Munmap(r.reserved)
	}
	*r = region{}
}
