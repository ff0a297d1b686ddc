package log

import (
	"path"
	"slices"

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
		l.saved = epochs
	}
	// Also when a segment is new: else the log would do without the file.
	if newName || written-l.point.written >= l.cfg.RecoveryPointBytes {
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
