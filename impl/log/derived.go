package log

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"path"
	"slices"
	"sort"
	"strconv"

	"github.com/quorate/quorate/impl/fs"
)

const (
	epochFile    = "leader-epoch-checkpoint"
	metadataFile = "partition.metadata"
	pointFile    = PointFile
)

// PointFile is the name of a file in the directory of each log that was opened here,
// and of none that only Kafka has used.
const PointFile = "recovery-point"

// renderEpochs is the content of leader-epoch-checkpoint: version, number of
// entries, entries (LeaderEpochCheckpointFile).
func renderEpochs(epochs []EpochStart) []byte {
	b := fmt.Appendf(nil, "0\n%d\n", len(epochs))
	for _, e := range epochs {
		b = fmt.Appendf(b, "%d %d\n", e.Epoch, e.StartOffset)
	}
	return b
}

// recoveryPoint is the file that says below which offset the log was flushed: 20
// digits, a space, the CRC-32C of the digits in hexadecimal, a newline. It is
// overwritten in place; it lies within one sector, which is written as a whole.
// Kafka ignores the file.
type recoveryPoint struct {
	name    string
	file    fs.File
	offset  int64 // what it says, -1 if there is none
	written int64 // Log.written when it was saved
}

const pointSize = 20 + 1 + 8 + 1

func renderPoint(offset int64) []byte {
	digits := fmt.Appendf(nil, "%020d", offset)
	return fmt.Appendf(digits, " %08x\n", crc32.Checksum(digits, castagnoli))
}

func parsePoint(b []byte) (offset int64, ok bool) {
	if len(b) != pointSize {
		return 0, false
	}
	offset, err := strconv.ParseInt(string(b[:20]), 10, 64)
	return offset, err == nil && string(renderPoint(offset)) == string(b)
}

// save writes the file durably.
func (p *recoveryPoint) save(offset, written int64) error {
	if _, err := p.file.WriteAt(renderPoint(offset), 0); err != nil {
		return err
	}
	if err := p.file.Sync(); err != nil {
		return err
	}
	p.offset, p.written = offset, written
	return nil
}

// parseEpochs is the inverse of renderEpochs; ok is false for anything else.
func parseEpochs(b []byte) (epochs []EpochStart, ok bool) {
	lines := bytes.Split(b, []byte("\n"))
	for _, line := range lines[min(2, len(lines)):] {
		var e EpochStart
		if _, err := fmt.Sscanf(string(line), "%d %d", &e.Epoch, &e.StartOffset); err == nil {
			epochs = append(epochs, e)
		}
	}
	return epochs, bytes.Equal(renderEpochs(epochs), b)
}

// startBelow returns the epochs that start below an offset.
func startBelow(epochs []EpochStart, offset int64) []EpochStart {
	return epochs[:sort.Search(len(epochs), func(i int) bool { return epochs[i].StartOffset >= offset })]
}

// readEpochs reads leader-epoch-checkpoint into saved. One that is missing or
// unreadable is only rewritten: it follows from the batches.
func (l *Log) readEpochs() error {
	b, err := fs.ReadFile(l.fsys, path.Join(l.dir, epochFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	saved, ok := parseEpochs(b)
	if ok {
		l.saved = saved
	}
	l.readable, l.unreadable = ok, !ok
	return nil
}

// known is an offset below which all was flushed: Flush writes the recovery point
// and leader-epoch-checkpoint after the batches, and TruncateTo before. Without a
// recovery point the files are those of Kafka, which writes the checkpoint first.
func (l *Log) known() int64 {
	if l.point.offset < 0 {
		return l.start.offset
	}
	known := max(l.point.offset, l.start.offset)
	if n := len(l.saved); n > 0 {
		last := l.saved[n-1].StartOffset
		// The entry for the start of the log may be of an epoch without records.
		if last > l.start.offset || l.start.offset == 0 {
			known = max(known, last+1)
		}
	}
	return known
}

// checkEpochs compares the epochs of the batches with leader-epoch-checkpoint: it
// has all that start below the recovery point, and none that they have not. The
// checksum of a batch does not cover its epoch.
func (l *Log) checkEpochs() error {
	l.newEpochs = l.unreadable || !slices.Equal(l.epochs, l.saved)
	if !l.readable || l.point.offset < 0 || l.start.reset {
		return nil
	}
	epochs, saved := l.began(l.epochs), l.began(l.collapse(l.saved))
	for i := 0; i < max(len(epochs), len(saved)); i++ {
		switch {
		case i >= len(saved):
			if e := epochs[i]; e.StartOffset < l.point.offset {
				return l.CorruptAt(e.StartOffset, fmt.Sprintf("epoch %d starts, but not in %s", e.Epoch, epochFile))
			}
		case i >= len(epochs):
			e := saved[i]
			return l.CorruptAt(e.StartOffset, fmt.Sprintf("epoch %d does not start, but does in %s", e.Epoch, epochFile))
		case epochs[i] != saved[i]:
			e, s := epochs[i], saved[i]
			return l.CorruptAt(min(e.StartOffset, s.StartOffset),
				fmt.Sprintf("epoch %d starts at offset %d, but in %s it is epoch %d at offset %d; one of the two files is damaged", e.Epoch, e.StartOffset, epochFile, s.Epoch, s.StartOffset))
		}
	}
	return nil
}

// began returns the epochs without that of the record before the log: it may have no
// records in it.
func (l *Log) began(epochs []EpochStart) []EpochStart {
	if l.start.offset > 0 && len(epochs) > 0 && epochs[0] == (EpochStart{Epoch: l.start.epoch, StartOffset: l.start.offset}) {
		return epochs[1:]
	}
	return epochs
}

// CorruptAt is an error that names the file and the position of the batch that
// holds an offset.
func (l *Log) CorruptAt(offset int64, reason string) *CorruptError {
	e := &CorruptError{File: l.dir, Offset: offset, Reason: reason}
	if s := l.segmentOf(offset); s >= 0 {
		seg := l.segments[s]
		e.File, e.Pos = seg.name, seg.size
		if i := seg.find(offset); i >= 0 && offset < l.end {
			e.Pos = int64(seg.index[i].pos)
		}
	}
	return e
}

// writeDerived brings the files that follow from the batches up to date.
func (l *Log) writeDerived() error {
	if l.newEpochs {
		if err := fs.WriteFile(l.fsys, path.Join(l.dir, epochFile), renderEpochs(l.epochs)); err != nil {
			return err
		}
		l.newEpochs = false
	}
	l.saved = slices.Clone(l.epochs)
	if err := fs.WriteFile(l.fsys, l.point.name, renderPoint(l.end)); err != nil {
		return err
	}
	l.point.offset = l.end
	var err error
	l.point.file, err = l.fsys.Open(l.point.name)
	return err
}
