package log

import (
	"fmt"
	"path"
	"slices"

	"github.com/quorate/quorate/impl/fs"
)

// TruncateTo removes all batches but those whose last offset is less than the
// given one, and returns the new end of the log: the given offset, or the base of
// the batch that holds it. It is not durable before Flush, and no append is
// allowed before; a crash may leave any end between the old one and the new.
// Errors: ErrOffset (below the start), ErrFailed.
//
// Where it removes whole segments it does so durably, the last one first, so
// that no crash leaves a gap; and the recovery point goes down durably before
// anything else happens, and then leader-epoch-checkpoint: neither ever speaks of
// what a crash may take away.
func (l *Log) TruncateTo(offset int64) (int64, error) {
	l.flushing.Lock()
	defer l.flushing.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return l.end, l.err
	}
	if offset < l.start.offset {
		return l.end, fmt.Errorf("truncate to %d a log that starts at %d: %w", offset, l.start.offset, ErrOffset)
	}
	if offset >= l.end {
		return l.end, nil
	}
	s := l.segmentOf(offset)
	seg := l.segments[s]
	i := seg.find(offset)
	end := seg.base + int64(seg.index[i].rel)
	if l.point.offset > end {
		if err := l.point.save(end, l.written); err != nil {
			return l.end, l.failLocked("write "+l.point.name, err)
		}
	}
	if kept := l.below(l.saved, end); !slices.Equal(kept, l.saved) {
		if err := fs.WriteFile(l.fsys, path.Join(l.dir, epochFile), renderEpochs(kept)); err != nil {
			return l.end, l.failLocked("write checkpoint", err)
		}
		l.saved = kept
	}
	if err := l.removeSegments(s + 1); err != nil {
		return l.end, err
	}
	if err := l.removeIndex(seg); err != nil {
		return l.end, l.failLocked("remove index of "+seg.name, err)
	}
	size := int64(seg.index[i].pos)
	if err := seg.file.Truncate(size); err != nil {
		return l.end, l.failLocked("truncate "+seg.name, err)
	}
	l.digest = seg.digestBefore(i)
	seg.index = seg.index[:i]
	seg.size = size
	if err := seg.cutIndex(); err != nil {
		return l.end, l.failLocked("read "+seg.name, err)
	}
	l.end = end
	l.flushed = min(l.flushed, end)
	l.truncated = true
	l.epochs = l.below(l.epochs, end)
	l.newEpochs = !slices.Equal(l.epochs, l.saved)
	return end, nil
}

// removeSegments removes all segments but the first n.
func (l *Log) removeSegments(n int) error {
	for len(l.segments) > n {
		seg := l.active()
		if err := l.removeIndex(seg); err != nil {
			return l.failLocked("remove index of "+seg.name, err)
		}
		seg.file.Close()
		if err := l.fsys.Remove(seg.name); err != nil {
			return l.failLocked("remove "+seg.name, err)
		}
		if err := l.fsys.SyncDir(l.dir); err != nil {
			return l.failLocked("flush "+l.dir, err)
		}
		l.segments = l.segments[:len(l.segments)-1]
		l.newName = false
	}
	return nil
}
