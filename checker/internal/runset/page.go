package runset

import (
	"encoding/binary"
	"hash/crc32"
	"math/bits"
)

// A page holds increasing keys:
//
//	[0:8]    the first key
//	[8:10]   the number of keys
//	[10]     the width w of a difference, in bits
//	[11]     0
//	[12:16]  CRC-32C of the page with these four bytes zero
//	[16:]    the differences between neighbours, w bits each, low bits first
//
// All numbers are little-endian. The last eight bytes are zero, so that a difference
// can be read with one load.
const (
	pageSize    = 8 << 10
	pageHeader  = 16
	payloadBits = (pageSize - pageHeader - 8) * 8
	maxPerPage  = 1<<16 - 1
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// pageBuilder packs keys into pages.
type pageBuilder struct {
	keys  []uint64
	width int
	page  [pageSize]byte
}

// fits says whether a page has room for key, which is greater than those in it.
func (b *pageBuilder) fits(key uint64) bool {
	n := len(b.keys)
	if n == 0 {
		return true
	}
	width := max(b.width, bits.Len64(key-b.keys[n-1]))
	return n < maxPerPage && n*width <= payloadBits
}

func (b *pageBuilder) add(key uint64) {
	if n := len(b.keys); n > 0 {
		b.width = max(b.width, bits.Len64(key-b.keys[n-1]))
	}
	b.keys = append(b.keys, key)
}

// finish encodes the keys and forgets them. The result is valid until the next call.
func (b *pageBuilder) finish() []byte {
	p := b.page[:]
	clear(p)
	binary.LittleEndian.PutUint64(p, b.keys[0])
	binary.LittleEndian.PutUint16(p[8:], uint16(len(b.keys)))
	p[10] = byte(b.width)
	at := 0
	for i, key := range b.keys[1:] {
		putBits(p[pageHeader:], at, key-b.keys[i])
		at += b.width
	}
	binary.LittleEndian.PutUint32(p[12:], crc32.Checksum(p, castagnoli))
	b.keys, b.width = b.keys[:0], 0
	return p
}

// putBits sets the bits from at on, which are zero, to v.
func putBits(p []byte, at int, v uint64) {
	i, shift := at/8, uint(at%8)
	binary.LittleEndian.PutUint64(p[i:], binary.LittleEndian.Uint64(p[i:])|v<<shift)
	if shift > 0 {
		p[i+8] |= byte(v >> (64 - shift))
	}
}

// decodePage appends the keys of a page. It says what is wrong with a damaged one.
func decodePage(p []byte, keys []uint64) (_ []uint64, damage string) {
	if sum := binary.LittleEndian.Uint32(p[12:]); sum != pageSum(p) {
		return keys, "checksum does not match"
	}
	key := binary.LittleEndian.Uint64(p)
	n := int(binary.LittleEndian.Uint16(p[8:]))
	width := int(p[10])
	if n == 0 || width > 64 || (n-1)*width > payloadBits {
		return keys, "impossible header under a valid checksum"
	}
	keys = append(keys, key)
	payload, at := p[pageHeader:], 0
	if width <= 57 { // seven bits may precede it in its first byte
		mask := uint64(1)<<width - 1
		for range n - 1 {
			key += binary.LittleEndian.Uint64(payload[at>>3:]) >> (at & 7) & mask
			keys = append(keys, key)
			at += width
		}
		return keys, ""
	}
	for range n - 1 {
		i, shift := at>>3, uint(at&7)
		v := binary.LittleEndian.Uint64(payload[i:]) >> shift
		if shift > 0 {
			v |= uint64(payload[i+8]) << (64 - shift)
		}
		if width < 64 {
			v &= 1<<width - 1
		}
		key += v
		keys = append(keys, key)
		at += width
	}
	return keys, ""
}

// pageSum is the checksum of a page whose own field counts as zero.
func pageSum(p []byte) uint32 {
	sum := crc32.Update(0, castagnoli, p[:12])
	sum = crc32.Update(sum, castagnoli, []byte{0, 0, 0, 0})
	return crc32.Update(sum, castagnoli, p[pageHeader:])
}
