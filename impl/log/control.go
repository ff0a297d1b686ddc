package log

import (
	"encoding/binary"
	"fmt"
)

// ControlType is the type of a control record (ControlRecordType).
type ControlType int16

// The types that KRaft knows. Kafka's reader dies of any other.
const (
	ControlLeaderChange   ControlType = 2
	ControlSnapshotHeader ControlType = 3
	ControlSnapshotFooter ControlType = 4
	ControlKRaftVersion   ControlType = 5
	ControlKRaftVoters    ControlType = 6
)

var controlNames = map[ControlType]string{
	ControlLeaderChange:   "LeaderChange",
	ControlSnapshotHeader: "SnapshotHeader",
	ControlSnapshotFooter: "SnapshotFooter",
	ControlKRaftVersion:   "KRaftVersion",
	ControlKRaftVoters:    "KRaftVoters",
}

// String returns Kafka's name of the type.
func (t ControlType) String() string {
	if name, ok := controlNames[t]; ok {
		return name
	}
	return fmt.Sprintf("control record of type %d", int16(t))
}

// key is the key of a control record: int16 version 0, int16 type.
func (t ControlType) key() []byte {
	return binary.BigEndian.AppendUint16(make([]byte, 2, 4), uint16(t))
}

// Control returns the type of a record of a control batch, -1 if its key has none.
func (r Record) Control() ControlType {
	if len(r.Key) < 4 {
		return -1
	}
	return ControlType(binary.BigEndian.Uint16(r.Key[2:]))
}

// snapshotVersion is the version of SnapshotHeaderRecord and SnapshotFooterRecord.
const snapshotVersion = 0

// AppendSnapshotHeaderBatch appends the control batch that a snapshot starts with.
// lastTimestamp is that of the last record that the snapshot covers; both
// timestamps are in milliseconds since 1970. more are what follows in the same batch:
// KRaftVersion and KRaftVoters, from kraft.version 1 on.
func AppendSnapshotHeaderBatch(dst []byte, base int64, epoch int32, lastTimestamp, timestamp int64, more ...ControlRecord) []byte {
	value := binary.BigEndian.AppendUint16(nil, snapshotVersion)
	value = binary.BigEndian.AppendUint64(value, uint64(lastTimestamp))
	header := ControlRecord{ControlSnapshotHeader, append(value, 0)}
	return appendControlBatch(dst, base, epoch, timestamp, append([]ControlRecord{header}, more...)...)
}

// AppendSnapshotFooterBatch appends the control batch that a snapshot ends with.
func AppendSnapshotFooterBatch(dst []byte, base int64, epoch int32, timestamp int64) []byte {
	value := binary.BigEndian.AppendUint16(nil, snapshotVersion)
	return appendControlBatch(dst, base, epoch, timestamp, ControlRecord{ControlSnapshotFooter, append(value, 0)})
}

// appendControlBatch appends a control batch.
func appendControlBatch(dst []byte, base int64, epoch int32, timestamp int64, records ...ControlRecord) []byte {
	start := len(dst)
	dst = appendHeader(dst, base, epoch, attributeControl, len(records), timestamp)
	for i, r := range records {
		dst = appendRecord(dst, i, r.Kind.key(), r.Value)
	}
	return seal(dst, start)
}

// ParseSnapshotHeader decodes the value of a SnapshotHeader record: the timestamp of
// the last record that the snapshot covers, in milliseconds since 1970. ok is false
// if it is none.
func ParseSnapshotHeader(value []byte) (lastTimestamp int64, ok bool) {
	if len(value) < 10 || binary.BigEndian.Uint16(value) != snapshotVersion || !onlyTags(value[10:]) {
		return 0, false
	}
	return int64(binary.BigEndian.Uint64(value[2:])), true
}

// ParseSnapshotFooter says whether it is the value of a SnapshotFooter record.
func ParseSnapshotFooter(value []byte) bool {
	return len(value) >= 2 && binary.BigEndian.Uint16(value) == snapshotVersion && onlyTags(value[2:])
}

// onlyTags says whether b is a section of tagged fields and nothing else. Which fields
// does not matter: a newer Kafka may add some.
func onlyTags(b []byte) bool {
	count, used := binary.Uvarint(b)
	if used <= 0 {
		return false
	}
	b = b[used:]
	for ; count > 0; count-- {
		_, used := binary.Uvarint(b) // tag
		if used <= 0 {
			return false
		}
		b = b[used:]
		size, used := binary.Uvarint(b)
		if used <= 0 || size > uint64(len(b)-used) {
			return false
		}
		b = b[used+int(size):]
	}
	return len(b) == 0
}
