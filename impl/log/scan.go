package log

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/quorate/quorate/impl/fs"
)

// scanBytes is how much of a segment is read at once, in bytes.
const scanBytes = 1 << 20

// scanSegment adds the batches of a segment to the log, up to the first bad one,
// and says what of the file is to be cut off.
func (l *Log) scanSegment(seg *segment, last bool) (Recovered, error) {
	size, err := seg.file.Size()
	if err != nil {
		return Recovered{}, fmt.Errorf("size of %s: %w", seg.name, err)
	}
	bad, err := l.scanBatches(seg, size)
	if bad == nil || err != nil {
		return Recovered{}, err
	}
	corrupt := &CorruptError{File: seg.name, Pos: seg.size, Offset: l.end, Reason: bad.Reason}
	switch {
	case !last:
		corrupt.Reason += "; another segment follows"
		return Recovered{}, corrupt
	case l.end < l.known():
		corrupt.Reason += fmt.Sprintf("; the log was flushed up to offset %d", l.known())
		return Recovered{}, corrupt
	}
	rest := make([]byte, size-seg.size)
	if err := readFull(seg.file, rest, seg.size); err != nil {
		return Recovered{}, fmt.Errorf("read %s: %w", seg.name, err)
	}
	if b, reason, _ := parse(rest); reason == "" && b.Base == l.end {
		// No write that was lost leaves a batch that is right but for its epoch, which
		// the checksum does not cover.
		corrupt.Reason += "; its checksum is right"
		return Recovered{}, corrupt
	}
	if later := findBatch(rest, l.end, l.lastEpoch()); later > 0 && !lostSector(rest, later, seg.size, l.end) {
		corrupt.Reason += fmt.Sprintf("; a valid batch follows at byte %d", seg.size+int64(later))
		return Recovered{}, corrupt
	}
	return Recovered{CutBytes: size - seg.size, File: seg.name, Pos: seg.size, Reason: bad.Reason}, nil
}

// scanBatches adds batches to the log until the end of the file or a bad one.
func (l *Log) scanBatches(seg *segment, size int64) (*BatchError, error) {
	buf := make([]byte, min(scanBytes, size))
	for seg.size < size {
		chunk := buf[:min(int64(len(buf)), size-seg.size)]
		if err := readFull(seg.file, chunk, seg.size); err != nil {
			return nil, fmt.Errorf("read %s: %w", seg.name, err)
		}
		more := seg.size+int64(len(chunk)) < size
		it := NewBatchesAt(chunk, l.end, l.lastEpoch())
		for it.Next() {
			if reason := l.checkStart(it.Batch()); reason != "" {
				return &BatchError{Offset: l.end, Reason: reason}, nil
			}
			l.add(seg, it.Batch())
			if err := l.noteVoters(it.Batch()); err != nil {
				return nil, err
			}
		}
		switch {
		case it.err == nil || more && it.err.Incomplete && it.pos > 0:
		case more && it.err.Incomplete: // a batch larger than the buffer
			buf = make([]byte, min(2*int64(len(buf)), size))
		default:
			return it.err, nil
		}
	}
	return nil, nil
}

// checkStart checks that the log starts between two batches, after one of the epoch
// that it says.
func (l *Log) checkStart(b Batch) string {
	switch start := l.start; {
	case b.Base < start.offset && b.End > start.offset:
		return fmt.Sprintf("the log starts at offset %d, within a batch up to %d", start.offset, b.End)
	case b.End == start.offset && b.Epoch != start.epoch:
		return fmt.Sprintf("batch of epoch %d, but the log starts after a record of epoch %d", b.Epoch, start.epoch)
	}
	return ""
}

func readFull(f fs.File, b []byte, pos int64) error {
	n, err := f.ReadAt(b, pos)
	if n < len(b) {
		return fmt.Errorf("%d of %d bytes at %d: %w", n, len(b), pos, err)
	}
	return nil
}

// findBatch returns the position in b, after the first byte, of a valid batch
// that can follow in a log with the given end, 0 if there is none. The batches
// between have at least 7 bytes for each record.
func findBatch(b []byte, end int64, epoch int32) int {
	for at := posMagic + 1; at < len(b); at++ {
		next := bytes.IndexByte(b[at:], magic)
		if next < 0 {
			return 0
		}
		at += next
		pos := at - posMagic
		base := int64(binary.BigEndian.Uint64(b[pos:]))
		if base < end || base-end > int64(pos)/7 {
			continue
		}
		batch, reason, _ := parse(b[pos:])
		if reason == "" && batch.Epoch >= epoch {
			return pos
		}
	}
	return 0
}

// lostSector says whether a sector was never written that holds some of the n
// bytes between a log that ends at file position pos with the given end offset,
// and a valid batch: all zeros, where the log has something else. b is what is in
// the file from pos on. A disk holds each sector as it was at one moment, and
// what was not written since the file grew reads as zeros.
func lostSector(b []byte, n int, pos, end int64) bool {
	for at := 0; at < n; {
		next := at + fs.SectorSize - int((pos+int64(at))%fs.SectorSize)
		// Where it holds the start of the valid batch too, these are the zeros that
		// an offset starts with.
		lost := allZero(b[at:min(next, len(b))])
		if lost && (at > 0 || headNotZero(next, end)) {
			return true
		}
		at = next
	}
	return false
}

// headNotZero says whether the first n bytes of a batch with the given base
// offset have one that is not zero. The length field does.
func headNotZero(n int, base int64) bool {
	var head [posLength]byte
	binary.BigEndian.PutUint64(head[:], uint64(base))
	return n >= posEpoch || !allZero(head[:min(n, len(head))])
}

func allZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
