package log

import (
	"fmt"
	"hash/crc32"
	"path"
	"slices"
	"strconv"

	"github.com/quorate/quorate/impl/fs"
)

// Flush makes durable what was appended and truncated before it was called, with
// the names of new segments and leader-epoch-checkpoint. It costs one flush of a
// file, and more only after a new segment, a new epoch, a truncation, or
// RecoveryPointBytes. It does nothing if nothing changed. Error: ErrFailed.
func (l *Log) Flush() error {
	l.flushing.Lock()
	defer l.flushing.Unlock()
	return l.flush()
}

// flush needs l.flushing.
func (l *Log) flush() error {
	l.mu.Lock()
	seg, end, written, err := l.active(), l.end, l.written, l.err
	truncated, newName := l.truncated, l.newName
	var epochs []EpochStart
	newEpochs := l.newEpochs
	if newEpochs {
		epochs = slices.Clone(l.epochs)
	}
	// If this fails the log does, so nothing is lost with these.
	l.newName, l.newEpochs = false, false
	changed := truncated || newName || newEpochs || end != l.flushed
	l.mu.Unlock()

	if err != nil || !changed {
		return err
	}
	if err := seg.file.Sync(); err != nil {
		return l.fail("flush "+seg.name, err)
	}
	if newName {
		if err := l.fsys.SyncDir(l.dir); err != nil {
			return l.fail("flush "+l.dir, err)
		}
	}
	if newEpochs {
		if err := fs.WriteFile(l.fsys, path.Join(l.dir, epochFile), renderEpochs(epochs)); err != nil {
			return l.fail("write checkpoint", err)
		}
	}
	if written-l.point.written >= l.cfg.RecoveryPointBytes {
		if err := l.point.save(end, written); err != nil {
			return l.fail("write "+l.point.name, err)
		}
	}

	l.mu.Lock()
	defer l.mu.Unlock()
	l.flushed = end
	if truncated {
		l.truncated = false
	}
	return nil
}

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
