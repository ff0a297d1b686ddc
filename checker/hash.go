package checker

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

// The constants and the multiply-and-fold step are those of wyhash, which is
// fast on short inputs and passes the usual tests of hash functions.
const (
	hashK0 = 0xa0761d6478bd642f
	hashK1 = 0xe7037ed1a0b428db
	hashK2 = 0x8ebc6af09c88c6e3
	hashK3 = 0x589965cc75374cc3
)

func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// hashWords hashes a state of whole words.
func hashWords(w []uint64) uint64 {
	h := uint64(hashK0)
	n := uint64(len(w))
	for len(w) >= 2 {
		h = mix(w[0]^hashK1^h, w[1]^hashK2)
		w = w[2:]
	}
	if len(w) == 1 {
		h = mix(w[0]^hashK1^h, hashK2)
	}
	return mix(h^hashK3, n^hashK1)
}

// hashBytes hashes the content of one component, whatever its size. The seed is
// mixed before it meets the content: small seeds would cancel against small
// numbers in it.
func hashBytes(b []byte, seed uint64) uint64 {
	h := mix(seed^hashK0, hashK3)
	n := uint64(len(b))
	if len(b) >= 64 { // two chains at once
		g := mix(h^hashK2, hashK1)
		for len(b) >= 32 {
			h = mix(binary.LittleEndian.Uint64(b)^hashK1^h, binary.LittleEndian.Uint64(b[8:])^hashK2)
			g = mix(binary.LittleEndian.Uint64(b[16:])^hashK3^g, binary.LittleEndian.Uint64(b[24:])^hashK2)
			b = b[32:]
		}
		h = mix(h^hashK1, g^hashK3)
	}
	for len(b) >= 16 {
		h = mix(binary.LittleEndian.Uint64(b)^hashK1^h, binary.LittleEndian.Uint64(b[8:])^hashK2)
		b = b[16:]
	}
	var tail [16]byte
	copy(tail[:], b)
	h = mix(binary.LittleEndian.Uint64(tail[:])^hashK1^h, binary.LittleEndian.Uint64(tail[8:])^hashK2)
	return mix(mix(h^hashK3, n^hashK1), hashK2)
}

// bytesOf is the memory of *x.
func bytesOf[T any](x *T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(x)), unsafe.Sizeof(*x))
}

// wordsOf is the memory of *x, whose size must be a multiple of 8.
func wordsOf[T any](x *T) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(x)), unsafe.Sizeof(*x)/8)
}
