//go:build unix && !linux

package node

import "syscall"

const setLock = syscall.F_SETLK
