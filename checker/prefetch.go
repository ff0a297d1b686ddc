//go:build amd64 || arm64

package checker

import "unsafe"

const canPrefetch = true

// prefetch asks for the cache line of p, and does not wait for it. Any address
// will do.
//
//go:noescape
func prefetch(p unsafe.Pointer)
