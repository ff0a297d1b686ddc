package log

import (
	"fmt"
	"math"
	"path"

	"github.com/quorate/quorate/traces/event"
)

// Appended says what an append did.
type Appended struct {
	// Base is the offset of the first record appended, End the new end of the log.
	Base, End int64
	// Runs are the records appended.
	Runs []event.Run
	// Digest is the chained digest at End.
	Digest uint64
}

// AppendLeaderChange appends the control record that opens an epoch, and more of them
// in the same batch. The timestamp is in milliseconds since 1970. Errors:
// ErrNotFlushed, ErrRecords (an epoch less than the last one), ErrFailed.
func (l *Log) AppendLeaderChange(epoch int32, leader int32, voters, granting []int32, timestamp int64, more ...ControlRecord) (Appended, error) {
	change := LeaderChange{Leader: leader, Voters: voters, Granting: granting}
	l.buf = AppendLeaderChangeBatch(l.buf[:0], l.end, epoch, change, timestamp, more...)
	return l.appendOwn(epoch)
}

// AppendControl appends a batch of control records. Timestamp and errors as of
// AppendLeaderChange.
func (l *Log) AppendControl(epoch int32, timestamp int64, records ...ControlRecord) (Appended, error) {
	l.buf = appendControlBatch(l.buf[:0], l.end, epoch, timestamp, records...)
	return l.appendOwn(epoch)
}

// AppendData appends one batch of records, each with one of the values. The
// timestamp is in milliseconds since 1970. Errors: ErrNotFlushed, ErrRecords (an
// epoch less than the last one, no records, an empty value, a batch larger than
// MaxBatchBytes), ErrFailed.
func (l *Log) AppendData(epoch int32, values [][]byte, timestamp int64) (Appended, error) {
	if len(values) == 0 {
		return Appended{}, fmt.Errorf("%w: no records", ErrRecords)
	}
	for i, v := range values {
		if len(v) == 0 {
			return Appended{}, fmt.Errorf("%w: value %d of %d is empty", ErrRecords, i, len(values))
		}
	}
	l.buf = AppendDataBatch(l.buf[:0], l.end, epoch, values, timestamp)
	return l.appendOwn(epoch)
}

// appendOwn appends the batch in buf.
func (l *Log) appendOwn(epoch int32) (Appended, error) {
	b, reason, _ := parse(l.buf)
	if reason == "" && epoch < l.lastEpoch() {
		reason = fmt.Sprintf("epoch %d after epoch %d", epoch, l.lastEpoch())
	}
	if reason != "" {
		return Appended{}, fmt.Errorf("%w: %s", ErrRecords, reason)
	}
	l.batches = append(l.batches[:0], b)
	return l.append(l.buf)
}

// AppendRaw appends batches as a leader sent them. All good batches before the
// first bad one are appended, and what was appended is returned beside a
// [*BatchError] for that one (as Kafka does since KAFKA-18838). It is good if it
// is complete, its checksum is right, its offset is the end of the log and its
// epoch is not less than the one before. Other errors: ErrNotFlushed, ErrFailed.
func (l *Log) AppendRaw(raw []byte) (Appended, error) {
	l.batches = l.batches[:0]
	it := NewBatchesAt(raw[:min(len(raw), math.MaxInt32)], l.end, l.lastEpoch())
	for it.Next() {
		l.batches = append(l.batches, it.Batch())
	}
	done, err := l.append(raw[:it.Pos()])
	if err != nil {
		return done, err
	}
	return done, it.Err()
}

// append writes l.batches, whose bytes are b.
func (l *Log) append(b []byte) (Appended, error) {
	if err := l.roll(int64(len(b))); err != nil {
		return Appended{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return Appended{}, l.err
	}
	done := Appended{Base: l.end, End: l.end, Digest: l.digest}
	if len(l.batches) == 0 {
		return done, nil
	}
	if l.truncated {
		return done, fmt.Errorf("append at %d: %w", l.end, ErrNotFlushed)
	}
	seg := l.active()
	if _, err := seg.file.WriteAt(b, seg.size); err != nil {
		return done, l.failLocked("write "+seg.name, err)
	}
	for _, batch := range l.batches {
		l.add(seg, batch)
		done.Runs = batch.AppendRuns(done.Runs)
	}
	l.written += int64(len(b))
	done.End, done.Digest = l.end, l.digest
	return done, nil
}

// add notes a batch that is in the file.
func (l *Log) add(seg *segment, b Batch) {
	if len(l.epochs) == 0 || b.Epoch > l.lastEpoch() {
		l.epochs = startBelow(l.epochs, b.Base) // not one that began here and has no records
		l.epochs = append(l.epochs, EpochStart{Epoch: b.Epoch, StartOffset: b.Base})
		l.newEpochs = true
	}
	l.digest = chain(l.digest, b.Bytes)
	if b.End == l.start.offset {
		l.digest = l.start.digest // of what is before, nothing is asked
	}
	seg.add(b, l.digest, l.cfg.IndexIntervalBytes)
	l.end = b.End
}

// roll starts a new segment if the active one has no room for n more bytes, or is too
// old. All
// that is in the old one is flushed first: so no segment but the last can have a
// torn tail.
func (l *Log) roll(n int64) error {
	seg := l.active()
	last, age := l.end-seg.base, int64(0)
	if n := len(l.batches); n > 0 {
		last = l.batches[n-1].End - seg.base
		if first := seg.sparse.firstTime; first >= 0 { // Kafka's rule (LogSegment.shouldRoll)
			age = l.batches[n-1].Timestamp - first
		}
	}
	if seg.size == 0 || seg.size+n <= l.cfg.SegmentBytes && last <= math.MaxInt32 && age <= l.cfg.SegmentMs {
		return nil
	}
	l.flushing.Lock()
	defer l.flushing.Unlock()
	if err := l.Err(); err != nil {
		return err
	}
	if l.truncated {
		return fmt.Errorf("append at %d: %w", l.end, ErrNotFlushed)
	}
	if err := l.flush(); err != nil {
		return err
	}
	if err := l.writeIndex(seg); err != nil {
		return l.fail("write index", err)
	}
	next, err := l.create(l.end, l.digest)
	if err != nil {
		return l.fail("new segment", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.segments = append(l.segments, next)
	l.newName = true
	return nil
}

const segmentSuffix = ".log"

func segmentName(base int64) string { return fmt.Sprintf("%020d", base) + segmentSuffix }

// create makes an empty segment; its name is not durable.
func (l *Log) create(base int64, digest uint64) (*segment, error) {
	name := path.Join(l.dir, segmentName(base))
	f, err := l.fsys.Create(name)
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", name, err)
	}
	return &segment{base: base, start: digest, name: name, file: f}, nil
}
