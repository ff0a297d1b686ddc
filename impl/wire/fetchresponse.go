package wire

import (
	"encoding/binary"

	"github.com/quorate/quorate/impl/core"
)

// appendFetchResponse is the only body that is written by hand: it is on the hot
// path, and kmsg would allocate its nested slices for each. A test holds it
// against kmsg. All versions that are served, 13 to 18, look alike.
func (c *Codec) appendFetchResponse(dst []byte, version int16, m *core.Message) []byte {
	be := binary.BigEndian
	dst = be.AppendUint32(dst, 0) // throttle time
	dst = be.AppendUint16(dst, 0) // top-level error
	dst = be.AppendUint32(dst, 0) // session id
	dst = append(dst, 2)          // one topic
	dst = append(dst, topicID[:]...)
	dst = append(dst, 2)          // one partition
	dst = be.AppendUint32(dst, 0) // partition
	dst = be.AppendUint16(dst, uint16(m.Error))
	dst = be.AppendUint64(dst, uint64(m.HighWatermark))
	dst = be.AppendUint64(dst, 1<<64-1) // last stable offset: -1
	dst = be.AppendUint64(dst, 0)       // log start offset
	dst = append(dst, 0)                // aborted transactions: null
	dst = be.AppendUint32(dst, 1<<32-1) // preferred read replica: -1
	dst = binary.AppendUvarint(dst, uint64(len(m.Records))+1)
	dst = append(dst, m.Records...)

	tags := byte(1) // the leader
	diverging, snapshot := m.Diverging.Epoch >= 0, m.SnapshotID != core.NoSnapshot
	if diverging {
		tags++
	}
	if snapshot {
		tags++
	}
	dst = append(dst, tags)
	if diverging {
		dst = append(dst, 0, 13) // tag 0 of 13 bytes
		dst = be.AppendUint32(dst, uint32(m.Diverging.Epoch))
		dst = be.AppendUint64(dst, uint64(m.Diverging.End))
		dst = append(dst, 0)
	}
	dst = append(dst, 1, 9) // current leader: tag 1 of 9 bytes
	dst = be.AppendUint32(dst, uint32(m.Leader))
	dst = be.AppendUint32(dst, uint32(m.Epoch))
	dst = append(dst, 0)
	if snapshot {
		dst = append(dst, 2, 13) // tag 2 of 13 bytes
		dst = be.AppendUint64(dst, uint64(m.SnapshotID.End))
		dst = be.AppendUint32(dst, uint32(m.SnapshotID.Epoch))
		dst = append(dst, 0)
	}
	dst = append(dst, 0) // tagged fields of the topic

	e, ok := c.namedLeader(m)
	if !ok || version < 17 {
		return append(dst, 0)
	}
	// One tagged field, node endpoints: an array of one of id, host, port, null rack.
	host := uint64(len(e.Host))
	size := 1 + 4 + uvarintSize(host+1) + int(host) + 4 + 1 + 1
	dst = append(dst, 1, 0)
	dst = binary.AppendUvarint(dst, uint64(size))
	dst = append(dst, 2)
	dst = be.AppendUint32(dst, uint32(m.Leader))
	dst = binary.AppendUvarint(dst, host+1)
	dst = append(dst, e.Host...)
	dst = be.AppendUint32(dst, uint32(e.Port))
	return append(dst, 0, 0)
}

func uvarintSize(v uint64) int {
	n := 1
	for ; v >= 0x80; v >>= 7 {
		n++
	}
	return n
}
