package log

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/quorate/quorate/traces/event"
)

// Layout of a record batch, big-endian (Apache Kafka, DefaultRecordBatch).
const (
	posLength      = 8  // int32: bytes after this field
	posEpoch       = 12 // int32: partition leader epoch; outside the checksum
	posMagic       = 16 // int8: 2
	posCRC         = 17 // uint32: CRC-32C of all bytes after it
	posAttributes  = 21 // int16
	posLastDelta   = 23 // int32: offset of the last record - base offset
	posFirstTime   = 27 // int64, milliseconds
	posMaxTime     = 35 // int64, milliseconds
	posProducer    = 43 // int64 id, int16 epoch, int32 sequence: all -1
	posRecordCount = 57 // int32

	// HeaderSize is the number of bytes of a batch before its records.
	HeaderSize = 61
	// MaxBatchBytes is the largest batch that is accepted, in bytes with its
	// header. Kafka's leader builds batches of at most 8 MiB.
	MaxBatchBytes = 16 << 20

	lengthOverhead   = posEpoch // bytes that the length field does not count
	magic            = 2
	attributeControl = 0x20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Batch is one record batch: a header that was checked, and its bytes.
type Batch struct {
	// Base is the offset of the first record, End the offset after the last.
	Base, End int64
	// Epoch is the epoch of the leader that appended it.
	Epoch int32
	// Control: the records are the protocol's own, such as LeaderChange.
	Control bool
	// Timestamp is the largest of the records, in milliseconds since 1970.
	Timestamp int64
	// Bytes is the whole batch with its header. It is part of the buffer that was
	// parsed.
	Bytes []byte
}

// AppendRuns adds the records of the batch to runs, in the last run where they are alike.
// Control records that KRaft does not write count as LeaderChange.
func (b Batch) AppendRuns(runs []event.Run) []event.Run {
	if !b.Control {
		return event.AppendRun(runs, event.Run{Epoch: b.Epoch, Kind: event.Data, Count: b.End - b.Base})
	}
	n := len(runs)
	err := b.Records(func(r Record) error {
		run := event.Run{Epoch: b.Epoch, Kind: event.LeaderChange, Count: 1}
		switch r.Control() {
		case ControlKRaftVersion:
			run.Kind = event.KRaftVersion
		case ControlKRaftVoters:
			run.Kind = event.KRaftVoters
			voters, err := ParseKRaftVoters(r.Value)
			if err != nil {
				return err
			}
			run.Voters = keys(voters)
		}
		runs = event.AppendRun(runs, run)
		return nil
	})
	if err != nil { // not of ours: its checksum is right
		return event.AppendRun(runs[:n], event.Run{Epoch: b.Epoch, Kind: event.LeaderChange, Count: b.End - b.Base})
	}
	return runs
}

// BatchError says why bytes are not a sequence of batches that may be appended.
type BatchError struct {
	// Pos is the position in bytes, from the start of what was given, of the
	// batch that is bad.
	Pos int
	// Offset is the offset that a batch there should have, -1 if any would do.
	Offset int64
	// Incomplete: the bytes end before the batch does.
	Incomplete bool
	Reason     string
}

// Error implements error.
func (e *BatchError) Error() string {
	if e.Offset < 0 {
		return fmt.Sprintf("record batch at byte %d: %s", e.Pos, e.Reason)
	}
	return fmt.Sprintf("record batch at byte %d (offset %d): %s", e.Pos, e.Offset, e.Reason)
}

// parse reads the batch at the start of b. The reason is empty if it is valid by
// itself: complete, of format 2, with a right checksum and a sensible header.
func parse(b []byte) (batch Batch, reason string, incomplete bool) {
	if len(b) < lengthOverhead {
		return batch, fmt.Sprintf("%d bytes are too few for a header", len(b)), true
	}
	length := int64(int32(binary.BigEndian.Uint32(b[posLength:])))
	if length < HeaderSize-lengthOverhead || length > MaxBatchBytes-lengthOverhead {
		return batch, fmt.Sprintf("length %d is out of range", length), false
	}
	size := int(length) + lengthOverhead
	if len(b) > posMagic && b[posMagic] != magic {
		return batch, fmt.Sprintf("magic %d is not %d", b[posMagic], magic), false
	}
	if size > len(b) {
		return batch, fmt.Sprintf("%d of %d bytes", len(b), size), true
	}
	b = b[:size:size]
	if want, have := binary.BigEndian.Uint32(b[posCRC:]), crc32.Checksum(b[posAttributes:], castagnoli); want != have {
		return batch, fmt.Sprintf("checksum is %08x, of the bytes %08x", want, have), false
	}
	attributes := binary.BigEndian.Uint16(b[posAttributes:])
	if attributes&^attributeControl != 0 {
		return batch, fmt.Sprintf("attributes %#x are not supported", attributes), false
	}
	base := int64(binary.BigEndian.Uint64(b))
	epoch := int32(binary.BigEndian.Uint32(b[posEpoch:]))
	delta := int32(binary.BigEndian.Uint32(b[posLastDelta:]))
	count := int32(binary.BigEndian.Uint32(b[posRecordCount:]))
	if base < 0 || epoch < 0 || delta < 0 || base > math.MaxInt64-int64(delta)-1 {
		return batch, fmt.Sprintf("base offset %d, epoch %d, last offset delta %d", base, epoch, delta), false
	}
	if int64(count) != int64(delta)+1 {
		return batch, fmt.Sprintf("%d records with last offset delta %d", count, delta), false
	}
	return Batch{
		Base:      base,
		End:       base + int64(delta) + 1,
		Epoch:     epoch,
		Control:   attributes&attributeControl != 0,
		Timestamp: int64(binary.BigEndian.Uint64(b[posMaxTime:])),
		Bytes:     b,
	}, "", false
}

// Batches reads successive batches and checks each: complete, magic, checksum,
// header, offsets without gaps, epochs that do not decrease. It never panics,
// whatever the bytes.
//
//	it := log.NewBatches(bytes)
//	for it.Next() {
//		… it.Batch() …
//	}
//	if it.Err() != nil { … }
type Batches struct {
	rest  []byte
	pos   int
	next  int64 // offset that the next batch must have, -1 if any
	epoch int32 // least epoch that the next batch may have
	batch Batch
	err   *BatchError
}

// NewBatches iterates over the batches in b, which may start at any offset.
func NewBatches(b []byte) Batches {
	return NewBatchesAt(b, -1, 0)
}

// NewBatchesAt iterates over the batches in b, the first of which must have the
// given offset (-1: any) and at least the given epoch.
func NewBatchesAt(b []byte, offset int64, epoch int32) Batches {
	return Batches{rest: b, next: offset, epoch: epoch}
}

// Next moves to the next batch. It returns false at the end and at the first bad
// batch.
func (it *Batches) Next() bool {
	if len(it.rest) == 0 || it.err != nil {
		return false
	}
	b, reason, incomplete := parse(it.rest)
	if reason == "" {
		reason = it.chained(b)
	}
	if reason != "" {
		it.err = &BatchError{Pos: it.pos, Offset: it.next, Incomplete: incomplete, Reason: reason}
		return false
	}
	it.batch = b
	it.rest = it.rest[len(b.Bytes):]
	it.pos += len(b.Bytes)
	it.next, it.epoch = b.End, b.Epoch
	return true
}

func (it *Batches) chained(b Batch) string {
	if it.next >= 0 && b.Base != it.next {
		return fmt.Sprintf("base offset is %d", b.Base)
	}
	if b.Epoch < it.epoch {
		return fmt.Sprintf("epoch %d after epoch %d", b.Epoch, it.epoch)
	}
	return ""
}

// Batch returns the batch that Next moved to.
func (it *Batches) Batch() Batch { return it.batch }

// Pos returns the position in bytes after the last good batch.
func (it *Batches) Pos() int { return it.pos }

// Err returns a [*BatchError] for the batch that ended the iteration, nil if all
// were good.
func (it *Batches) Err() error {
	if it.err == nil {
		return nil
	}
	return it.err
}
