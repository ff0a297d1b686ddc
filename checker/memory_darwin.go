//go:build !race

package checker

import "syscall"

const noReserve = syscall.MAP_NORESERVE

func advise([]byte) {}
