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
	pointFile    = "recovery-point"
)

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
	offset  int64 // what it says
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

// checkEpochs compares the epochs of the batches below the recovery point with
// leader-epoch-checkpoint, which Flush writes before the recovery point. A
// checkpoint that is missing or unreadable is only rewritten.
func (l *Log) checkEpochs() error {
	name := path.Join(l.dir, epochFile)
	b, err := fs.ReadFile(l.fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	saved, ok := parseEpochs(b)
	if !ok {
		l.newEpochs = true
		return nil
	}
	have, want := startBelow(l.epochs, l.point.offset), startBelow(saved, l.point.offset)
	if !slices.Equal(have, want) {
		return &CorruptError{File: name, Offset: -1, Reason: fmt.Sprintf("epochs %v, but those of the batches are %v", want, have)}
	}
	l.newEpochs = !slices.Equal(l.epochs, saved)
	return nil
}

// writeDerived brings the files that follow from the batches up to date.
func (l *Log) writeDerived() error {
	if l.newEpochs {
		if err := fs.WriteFile(l.fsys, path.Join(l.dir, epochFile), renderEpochs(l.epochs)); err != nil {
			return err
		}
		l.newEpochs = false
	}
	if err := fs.WriteFile(l.fsys, l.point.name, renderPoint(l.end)); err != nil {
		return err
	}
	l.point.offset = l.end
	var err error
	l.point.file, err = l.fsys.Open(l.point.name)
	return err
}
