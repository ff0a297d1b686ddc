package runset

import "math/bits"

// filter is a Bloom filter whose bits for one key lie in one cache line. The line is
// given by the high bits of the key, so that sorted keys are added from front to back.
type filter struct{ words []uint64 }

const (
	lineWords = 8
	// probes is how many bits a key sets. Five is close to the best from 4 to 12 bits
	// of filter a key, and the set does not know how large it will become.
	probes = 5
)

func (f filter) line(key uint64) []uint64 {
	hi, _ := bits.Mul64(key, uint64(len(f.words)/lineWords))
	return f.words[hi*lineWords : hi*lineWords+lineWords : hi*lineWords+lineWords]
}

// spots gives nine bits for each probe. The high bits of the key, which are the same for
// all keys of a line, are spread over the others.
func spots(key uint64) uint64 {
	hi, lo := bits.Mul64(key^0x9e3779b97f4a7c15, 0xd6e8feb86659fd93)
	return hi ^ lo
}

func (f filter) add(key uint64) {
	line, s := f.line(key), spots(key)
	for range probes {
		line[s>>6&7] |= 1 << (s & 63)
		s >>= 9
	}
}

func (f filter) has(key uint64) bool {
	line, s := f.line(key), spots(key)
	for range probes {
		if line[s>>6&7]>>(s&63)&1 == 0 {
			return false
		}
		s >>= 9
	}
	return true
}
