package log

import "encoding/binary"

// Builder makes a batch of data records that come one by one. The zero value has to
// be Reset; reused, it costs no allocation.
type Builder struct {
	buf   []byte
	count int
}

// Reset begins a batch. The timestamp is in milliseconds since 1970.
func (b *Builder) Reset(base int64, epoch int32, timestamp int64) {
	b.buf = appendHeader(b.buf[:0], base, epoch, 0, 0, timestamp)
	b.count = 0
}

// Add appends a record with the given value, which must not be empty.
func (b *Builder) Add(value []byte) {
	b.buf = appendRecord(b.buf, b.count, nil, value)
	b.count++
}

// Size returns how many bytes the batch has.
func (b *Builder) Size() int { return len(b.buf) }

// Count returns how many records the batch has.
func (b *Builder) Count() int { return b.count }

// Batch completes the batch, which needs a record, and returns its bytes: they are
// good until Reset.
func (b *Builder) Batch() []byte {
	binary.BigEndian.PutUint32(b.buf[posLastDelta:], uint32(b.count-1))
	binary.BigEndian.PutUint32(b.buf[posRecordCount:], uint32(b.count))
	return seal(b.buf, 0)
}
