//go:build !linux

package main

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Signals that stop a process for a time, by their numbers where they have any.
const (
	stopSignal     = syscall.Signal(0x11)
	continueSignal = syscall.Signal(0x13)
)

// disk is what could be filled, on Linux.
type disk struct{}

func newDisk(string) (*disk, error) { return nil, fmt.Errorf("%w: only on Linux", errNoFault) }

func (d *disk) fill() error  { return errors.ErrUnsupported }
func (d *disk) free() error  { return os.ErrInvalid }
func (d *disk) close() error { return nil }
