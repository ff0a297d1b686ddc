//go:build !race

package checker

import "syscall"

const noReserve = syscall.MAP_NORESERVE

// advise asks for huge pages: random look-ups then miss the TLB less often.
func advise(b []byte) {
	const hugePage = 2 << 20
	if len(b) >= hugePage {
		_ = syscall.Madvise(b, syscall.MADV_HUGEPAGE)
	}
}
