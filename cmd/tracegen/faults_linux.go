package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

const (
	stopSignal     = syscall.SIGSTOP
	continueSignal = syscall.SIGCONT
)

// disk is a file system of its own for one node, in memory, small enough to be filled.
type disk struct{ dir string }

// diskBytes is its size: what a run of some minutes needs, with snapshots, many times over.
const diskBytes = 64 << 20

// newDisk mounts a disk on a directory, which it makes. That takes the rights of an
// administrator.
func newDisk(dir string) (*disk, error) {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	if err := syscall.Mount("tracegen", dir, "tmpfs", 0, fmt.Sprintf("size=%d", diskBytes)); err != nil {
		return nil, fmt.Errorf("%w: mount a tmpfs: %w", errNoFault, err)
	}
	return &disk{dir: dir}, nil
}

func (d *disk) ballast() string { return filepath.Join(d.dir, "ballast") }

// fill leaves no space.
func (d *disk) fill() error {
	f, err := os.Create(d.ballast())
	if err != nil {
		return err
	}
	defer f.Close()
	for b := make([]byte, 1<<20); len(b) > 0; {
		if _, err := f.Write(b); err != nil {
			if !errors.Is(err, syscall.ENOSPC) {
				return err
			}
			b = b[:len(b)/2] // to the last byte: a page at a time in the end
		}
	}
	return nil
}

func (d *disk) free() error {
	err := os.Remove(d.ballast())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// close takes the disk away, with all that is on it.
func (d *disk) close() error { return syscall.Unmount(d.dir, 0) }
