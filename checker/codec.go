package checker

import (
	"fmt"
	"math/bits"
	"reflect"
	"unsafe"
)

// codec packs states into bytes: what differs from another state, which is none
// (all zero) or the one packed before. States that are found one after the other
// have most of their bytes in common.
//
// For each eight words of a state there is a byte that says which of them differ.
// Then each of those has a byte that says which of its bytes differ, and the
// exclusive or of these. No packing of a state is the beginning of another, so
// packings can be compared, and read, without their lengths.
type codec[S any] struct{}

// most is the length of the longest packing.
func (codec[S]) most() int {
	var s S
	words := (int(unsafe.Sizeof(s)) + 7) / 8
	return words*9 + (words+7)/8
}

// pack appends the packing of s to dst, which has room for it, and makes it the
// state before.
func (c codec[S]) pack(dst []byte, before, s *S) []byte {
	if unsafe.Sizeof(*s)%8 == 0 {
		return packWords(dst, wordsOf(before), wordsOf(s))
	}
	return c.packOdd(dst, before, s)
}

// packOdd is for states of other sizes than whole words, which are few and slow
// anyhow: those of Flat.
func (c codec[S]) packOdd(dst []byte, before, s *S) []byte {
	n := (int(unsafe.Sizeof(*s)) + 7) / 8
	both := make([]uint64, 2*n)
	copy(bytesOfWords(both[:n]), bytesOf(before))
	copy(bytesOfWords(both[n:]), bytesOf(s))
	dst = packWords(dst, both[:n], both[n:])
	*before = *s
	return dst
}

// unpack changes s, the state before, to the one packed in src, and returns the
// rest of src. It returns nil if src is not a packing.
func (c codec[S]) unpack(src []byte, s *S) []byte {
	if unsafe.Sizeof(*s)%8 == 0 {
		return unpackWords(src, wordsOf(s))
	}
	words := make([]uint64, (int(unsafe.Sizeof(*s))+7)/8)
	copy(bytesOfWords(words), bytesOf(s))
	rest := unpackWords(src, words)
	copy(bytesOf(s), bytesOfWords(words))
	return rest
}

func packWords(dst []byte, before, words []uint64) []byte {
	n := len(dst)
	b := dst[:cap(dst)]
	for len(words) > 0 {
		group := words[:min(8, len(words))]
		old := before[:len(group)]
		head, mask := n, byte(0)
		n++
		for i, w := range group {
			x := w ^ old[i]
			if x == 0 {
				continue
			}
			old[i] = w
			mask |= 1 << i
			used := usedBytes(x)
			b[n] = used
			n++
			for ; used != 0; used &= used - 1 {
				b[n] = byte(x >> (8 * bits.TrailingZeros8(used)))
				n++
			}
		}
		b[head] = mask
		words, before = words[len(group):], before[len(group):]
	}
	return b[:n]
}

func unpackWords(src []byte, words []uint64) []byte {
	for len(words) > 0 {
		if len(src) == 0 {
			return nil
		}
		group := words[:min(8, len(words))]
		mask := src[0]
		src = src[1:]
		if mask>>len(group) != 0 {
			return nil
		}
		for ; mask != 0; mask &= mask - 1 {
			if len(src) == 0 {
				return nil
			}
			used := src[0]
			n := bits.OnesCount8(used)
			if len(src) <= n {
				return nil
			}
			x := uint64(0)
			for i := 1; used != 0; used &= used - 1 {
				x |= uint64(src[i]) << (8 * bits.TrailingZeros8(used))
				i++
			}
			group[bits.TrailingZeros8(mask)] ^= x
			src = src[n+1:]
		}
		words = words[len(group):]
	}
	return src
}

// usedBytes has a bit for each byte of x that is not 0.
func usedBytes(x uint64) byte {
	const low7 = 0x7f7f7f7f7f7f7f7f
	high := ((x&low7 + low7) | x) &^ low7 // the high bit of each byte that is not 0
	return byte(high >> 7 * 0x0102040810204080 >> 56)
}

// checkPackable refuses state types that bytes alone cannot bring back.
func checkPackable[S any]() error {
	t := reflect.TypeFor[S]()
	if err := packableType(t); err != nil {
		return fmt.Errorf("state type %s: %w", t, err)
	}
	if most := (codec[S]{}).most(); most > maxPacked {
		return fmt.Errorf("state type %s: a state of %d bytes may need %d bytes packed, the limit is %d", t, t.Size(), most, maxPacked)
	}
	return nil
}

// packableType allows pointers, since those of components are nil whenever the
// engine sees them.
func packableType(t reflect.Type) error {
	switch t.Kind() {
	case reflect.Array:
		return packableType(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if err := packableType(t.Field(i).Type); err != nil {
				return fmt.Errorf("field %s: %w", t.Field(i).Name, err)
			}
		}
		return nil
	case reflect.String, reflect.Slice, reflect.Map, reflect.Chan, reflect.Func, reflect.Interface:
		return fmt.Errorf("type %s: its bytes are not its value", t)
	default:
		return nil
	}
}

// bytesOfWords is the memory of w.
func bytesOfWords(w []uint64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(w))), len(w)*8)
}

// wordsOfBytes is the memory of b, which bytesOfWords gave.
func wordsOfBytes(b []byte) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/8)
}
