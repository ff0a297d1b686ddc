//go:build unix

package main

import "syscall"

// settle has the kernel write what a setup left behind, so that it does not do so in the
// midst of what is measured: it begins after half a minute, and whoever flushes then waits.
func settle() { syscall.Sync() }
