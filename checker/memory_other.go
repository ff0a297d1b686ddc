//go:build race || (!linux && !darwin)

package checker

// allocWords gives n zero words. The race detector sees only the heap, so under
// it they come from there.
func allocWords(n int) []uint64 { return make([]uint64, n) }

func freeWords([]uint64) {}

// region is an array of words that grows by moving.
type region struct{ words []uint64 }

// extend makes the region n words long. What it held stays, what is new is 0.
func (r *region) extend(n int) ([]uint64, error) {
	if n > cap(r.words) {
		words := make([]uint64, n)
		copy(words, r.words)
		r.words = words
	}
	r.words = r.words[:max(n, len(r.words))]
	return r.words[:n], nil
}

func (r *region) free() { r.words = nil }
