//go:build race || (!linux && !darwin)

package checker

// allocWords gives n zero words. The race detector sees only the heap, so under
// it they come from there.
func allocWords(n int) []uint64 { return make([]uint64, n) }

func freeWords([]uint64) {}
