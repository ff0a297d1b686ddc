package log

import (
	"fmt"
	"slices"
	"sort"

	"github.com/quorate/quorate/traces/event"
)

// Span is what was read. Reused from read to read, it costs no allocation.
type Span struct {
	// Bytes are whole batches, as they are in the file.
	Bytes []byte
	// Base is the offset of the first record of Bytes, End the offset after the
	// last; both are where the read started if there is nothing.
	Base, End int64
	// Runs are the records of Bytes.
	Runs []event.Run
}

// Read reads whole batches into span, whose former content it overwrites: from
// the batch that holds the offset from, up to maxBytes bytes but at least one
// batch, and no batch with records at or above upTo. It may return less than
// there is (it stops at the end of a segment), and nothing if from is upTo or
// the end of the log. What is read is checked; a bad checksum makes the log fail.
// Errors: ErrOffset (from is not in the log), ErrFailed.
func (l *Log) Read(span *Span, from int64, maxBytes int, upTo int64) error {
	corrupt, err := l.read(span, from, maxBytes, upTo)
	if corrupt != nil {
		span.Bytes, span.Runs = span.Bytes[:0], span.Runs[:0] // never served
		return l.fail("read", corrupt)
	}
	return err
}

func (l *Log) read(span *Span, from int64, maxBytes int, upTo int64) (corrupt, err error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	span.Bytes, span.Runs = span.Bytes[:0], span.Runs[:0]
	span.Base, span.End = from, from
	if l.err != nil {
		return nil, l.err
	}
	if from < l.start.offset || from > l.end {
		return nil, fmt.Errorf("read at %d, of a log from %d to %d: %w", from, l.start.offset, l.end, ErrOffset)
	}
	if from == l.end {
		return nil, nil
	}
	s := l.segmentOf(from)
	seg := l.segments[s]
	first := seg.find(from)
	last := l.lastToRead(s, first, maxBytes, upTo)
	if last < first {
		return nil, nil
	}
	span.Base = seg.base + int64(seg.index[first].rel)
	span.End = l.batchEnd(s, last)
	pos := int64(seg.index[first].pos)
	n := int(seg.endPos(last) - pos)
	span.Bytes = slices.Grow(span.Bytes, n)[:n]
	if got, err := seg.file.ReadAt(span.Bytes, pos); got < n {
		return fmt.Errorf("read %s at %d: %w", seg.name, pos, err), nil
	}
	it := NewBatchesAt(span.Bytes, span.Base, 0)
	epochs := l.epochsFrom(span.Base)
	for it.Next() {
		b := it.Batch()
		for len(epochs) > 1 && epochs[1].StartOffset <= b.Base {
			epochs = epochs[1:]
		}
		// The epoch of a batch is outside its checksum: a follower could not tell that
		// it is not what was written.
		if len(epochs) == 0 || b.Epoch != epochs[0].Epoch {
			reason := fmt.Sprintf("the batch is of epoch %d, and was not when it was written", b.Epoch)
			return &CorruptError{File: seg.name, Pos: pos + int64(it.pos-len(b.Bytes)), Offset: b.Base, Reason: reason}, nil
		}
		span.Runs = b.AppendRuns(span.Runs)
	}
	if it.err != nil || it.next != span.End {
		reason := "batches do not end as they did when they were written"
		if it.err != nil {
			reason = it.err.Reason
		}
		return &CorruptError{File: seg.name, Pos: pos + int64(it.pos), Offset: it.next, Reason: reason}, nil
	}
	return nil, nil
}

// epochsFrom is the part of the epoch cache from the epoch of an offset on.
func (l *Log) epochsFrom(offset int64) []EpochStart {
	next := sort.Search(len(l.epochs), func(i int) bool { return l.epochs[i].StartOffset > offset })
	return l.epochs[max(0, next-1):]
}

// lastToRead returns the last batch of the segment to read after batch first,
// which is less than first if there is nothing.
func (l *Log) lastToRead(s, first, maxBytes int, upTo int64) int {
	seg := l.segments[s]
	maxPos := int64(seg.index[first].pos) + int64(max(maxBytes, 0))
	last := first - 1
	for i := first; i < len(seg.index); i++ {
		if l.batchEnd(s, i) > upTo || i > first && seg.endPos(i) > maxPos {
			break
		}
		last = i
	}
	return last
}
