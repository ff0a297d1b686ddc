package log

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

const leaderChangeVersion = 0

// Record is one record of a batch, without what KRaft does not use.
type Record struct {
	Offset int64
	// Key is nil if there is none; only control records have one.
	Key, Value []byte
}

// LeaderChange is the first record of an epoch (LeaderChangeMessage, version 0).
type LeaderChange struct {
	Leader int32
	// Voters are all ids of the voter set, Granting those that voted for Leader.
	Voters, Granting []int32
}

// AppendDataBatch appends a batch of data records to dst: null key, the given
// values. There must be at least one.
func AppendDataBatch(dst []byte, base int64, epoch int32, values [][]byte, timestamp int64) []byte {
	start := len(dst)
	dst = appendHeader(dst, base, epoch, 0, len(values), timestamp)
	for i, v := range values {
		dst = appendRecord(dst, i, nil, v)
	}
	return seal(dst, start)
}

// AppendLeaderChangeBatch appends a control batch of one LeaderChange record, and more
// control records behind it, to dst.
func AppendLeaderChangeBatch(dst []byte, base int64, epoch int32, change LeaderChange, timestamp int64, more ...ControlRecord) []byte {
	first := ControlRecord{ControlLeaderChange, appendLeaderChange(nil, change)}
	return appendControlBatch(dst, base, epoch, timestamp, append([]ControlRecord{first}, more...)...)
}

func appendHeader(dst []byte, base int64, epoch int32, attributes uint16, count int, timestamp int64) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(base))
	dst = binary.BigEndian.AppendUint32(dst, 0) // length, by seal
	dst = binary.BigEndian.AppendUint32(dst, uint32(epoch))
	dst = append(dst, magic)
	dst = binary.BigEndian.AppendUint32(dst, 0) // checksum, by seal
	dst = binary.BigEndian.AppendUint16(dst, attributes)
	dst = binary.BigEndian.AppendUint32(dst, uint32(count-1))
	dst = binary.BigEndian.AppendUint64(dst, uint64(timestamp))
	dst = binary.BigEndian.AppendUint64(dst, uint64(timestamp))
	for range HeaderSize - 4 - posProducer {
		dst = append(dst, 0xff)
	}
	return binary.BigEndian.AppendUint32(dst, uint32(count))
}

// seal fills in what depends on the records of the batch that starts at start.
func seal(dst []byte, start int) []byte {
	b := dst[start:]
	binary.BigEndian.PutUint32(b[posLength:], uint32(len(b)-lengthOverhead))
	binary.BigEndian.PutUint32(b[posCRC:], crc32.Checksum(b[posAttributes:], castagnoli))
	return dst
}

func appendRecord(dst []byte, delta int, key, value []byte) []byte {
	size := 1 + 1 + varintSize(int64(delta)) + varintSize(int64(len(value))) + len(value) + 1
	if key == nil {
		size++
	} else {
		size += varintSize(int64(len(key))) + len(key)
	}
	dst = binary.AppendVarint(dst, int64(size))
	dst = append(dst, 0, 0) // attributes; timestamp delta
	dst = binary.AppendVarint(dst, int64(delta))
	if key == nil {
		dst = binary.AppendVarint(dst, -1)
	} else {
		dst = binary.AppendVarint(dst, int64(len(key)))
		dst = append(dst, key...)
	}
	dst = binary.AppendVarint(dst, int64(len(value)))
	dst = append(dst, value...)
	return append(dst, 0) // headers
}

// varintSize is the length in bytes of a zig-zag varint (binary.AppendVarint
// writes Kafka's).
func varintSize(v int64) int {
	n := 1
	for u := uint64(v)<<1 ^ uint64(v>>63); u >= 0x80; u >>= 7 {
		n++
	}
	return n
}

func appendLeaderChange(dst []byte, c LeaderChange) []byte {
	dst = binary.BigEndian.AppendUint16(dst, leaderChangeVersion)
	dst = binary.BigEndian.AppendUint32(dst, uint32(c.Leader))
	for _, ids := range [2][]int32{c.Voters, c.Granting} {
		dst = binary.AppendUvarint(dst, uint64(len(ids))+1) // compact array
		for _, id := range ids {
			dst = binary.BigEndian.AppendUint32(dst, uint32(id))
			dst = append(dst, 0) // tagged fields
		}
	}
	return append(dst, 0) // tagged fields
}

// Records calls yield with each record of the batch, until it returns an error,
// which Records returns. Key and Value are parts of the batch. Besides malformed
// bytes it refuses what Kafka's reader refuses (RecordsIterator): a timestamp
// delta, headers, a data record with a key or without a value, a control record
// without either.
func (b Batch) Records(yield func(Record) error) error {
	rest := b.Bytes[HeaderSize:]
	for offset := b.Base; offset < b.End; offset++ {
		size, n := binary.Varint(rest)
		if n <= 0 || size < 0 || size > int64(len(rest)-n) {
			return fmt.Errorf("record %d: bad length", offset)
		}
		r, reason := parseRecord(rest[n:n+int(size)], offset-b.Base)
		if reason == "" {
			reason = b.allowed(r)
		}
		if reason != "" {
			return fmt.Errorf("record %d: %s", offset, reason)
		}
		rest = rest[n+int(size):]
		r.Offset = offset
		if err := yield(r); err != nil {
			return err
		}
	}
	if len(rest) > 0 {
		return fmt.Errorf("%d bytes after record %d", len(rest), b.End-1)
	}
	return nil
}

func (b Batch) allowed(r Record) string {
	switch {
	case b.Control && (len(r.Key) < 4 || r.Value == nil):
		return "control record without key or value"
	case !b.Control && r.Key != nil:
		return "data record with a key"
	case !b.Control && len(r.Value) == 0:
		return "data record without a value"
	}
	return ""
}

func parseRecord(b []byte, delta int64) (r Record, reason string) {
	if len(b) < 2 {
		return r, "too short"
	}
	if b[0] != 0 || b[1] != 0 {
		return r, "attributes or timestamp delta are not 0"
	}
	b = b[2:]
	have, n := binary.Varint(b)
	if n <= 0 || have != delta {
		return r, "bad offset delta"
	}
	var ok bool
	if r.Key, b, ok = parseBytes(b[n:]); !ok {
		return r, "bad key"
	}
	if r.Value, b, ok = parseBytes(b); !ok {
		return r, "bad value"
	}
	if len(b) != 1 || b[0] != 0 {
		return r, "headers or bytes after the value"
	}
	return r, ""
}

func parseBytes(b []byte) (v, rest []byte, ok bool) {
	size, n := binary.Varint(b)
	if n <= 0 || size < -1 || size > int64(len(b)-n) {
		return nil, nil, false
	}
	b = b[n:]
	if size < 0 {
		return nil, b, true
	}
	return b[:size:size], b[size:], true
}

// LeaderChange decodes the LeaderChange record that a control batch starts with.
func (b Batch) LeaderChange() (LeaderChange, error) {
	if !b.Control {
		return LeaderChange{}, fmt.Errorf("batch at offset %d is not a control batch", b.Base)
	}
	var change LeaderChange
	err := b.Records(func(r Record) error {
		if r.Offset != b.Base {
			return nil
		}
		if kind := r.Control(); kind != ControlLeaderChange {
			return fmt.Errorf("control record of type %d", kind)
		}
		var ok bool
		if change, ok = parseLeaderChange(r.Value); !ok {
			return fmt.Errorf("record %d: malformed LeaderChange", r.Offset)
		}
		return nil
	})
	return change, err
}

func parseLeaderChange(b []byte) (c LeaderChange, ok bool) {
	if len(b) < 6 || binary.BigEndian.Uint16(b) != leaderChangeVersion {
		return c, false
	}
	c.Leader = int32(binary.BigEndian.Uint32(b[2:]))
	b = b[6:]
	for _, ids := range [2]*[]int32{&c.Voters, &c.Granting} {
		n, used := binary.Uvarint(b)
		if used <= 0 || n == 0 || n-1 > uint64(len(b)-used)/5 {
			return c, false
		}
		b = b[used:]
		for range n - 1 {
			if len(b) < 5 || b[4] != 0 {
				return c, false
			}
			*ids = append(*ids, int32(binary.BigEndian.Uint32(b)))
			b = b[5:]
		}
	}
	return c, len(b) == 1 && b[0] == 0
}
