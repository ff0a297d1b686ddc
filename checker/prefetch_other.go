//go:build !amd64 && !arm64

package checker

import "unsafe"

const canPrefetch = false

// prefetch does nothing where it has not been written.
func prefetch(unsafe.Pointer) {}
