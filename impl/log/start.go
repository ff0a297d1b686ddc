package log

import (
	"errors"
	"fmt"
	"hash/crc32"
	"path"
	"slices"
	"sort"

	"github.com/quorate/quorate/impl/fs"
)

// startFile is the file that says where the log starts: "start" or "reset", the
// offset, the epoch of the record before it, the digest there, and the CRC-32C of
// the text up to there. Kafka ignores it: there the log starts with its first
// segment after a restart. It is missing as long as the log starts at 0.
const startFile = "log-start"

// logStart is the content of the file.
type logStart struct {
	offset int64
	// epoch is that of the record before offset, 0 at offset 0.
	epoch int32
	// digest is the chained digest at offset.
	digest uint64
	// reset: what is in the segments is not of this log. The log is empty, and
	// begins anew at offset.
	reset bool
}

func (s logStart) render() []byte {
	word := "start"
	if s.reset {
		word = "reset"
	}
	b := fmt.Appendf(nil, "%s %d %d %016x", word, s.offset, s.epoch, s.digest)
	return fmt.Appendf(b, " %08x\n", crc32.Checksum(b, castagnoli))
}

func parseStart(b []byte) (s logStart, ok bool) {
	var word string
	if _, err := fmt.Sscanf(string(b), "%s %d %d %x", &word, &s.offset, &s.epoch, &s.digest); err != nil {
		return logStart{}, false
	}
	s.reset = word == "reset"
	return s, s.offset > 0 && s.epoch >= 0 && string(s.render()) == string(b)
}

// StartDigest is a digest for a log that starts at an offset, where the digest of what
// was before is not known. The epoch is that of the record before it.
func StartDigest(offset int64, epoch int32) uint64 {
	return chain(0, logStart{offset: offset, epoch: epoch}.render())
}

// readStart reads the file into l.start.
func (l *Log) readStart() error {
	name := path.Join(l.dir, startFile)
	b, err := fs.ReadFile(l.fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var ok bool
	if l.start, ok = parseStart(b); !ok {
		return &CorruptError{File: name, Offset: -1, Reason: fmt.Sprintf("%q is not where a log starts, with a checksum", b)}
	}
	return nil
}

func (l *Log) writeStart(s logStart) error {
	return fs.WriteFile(l.fsys, path.Join(l.dir, startFile), s.render())
}

// StartOffset returns the offset of the first record: 0, or what AdvanceStart or
// ResetTo made it, also before a restart.
func (l *Log) StartOffset() int64 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.start.offset
}

// StartEpoch returns the epoch of the record before StartOffset, 0 if that is 0.
func (l *Log) StartEpoch() int32 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.start.epoch
}

// IsBoundary says whether an offset is where a batch starts, or the end of the log.
// The end of a snapshot must be, or a follower that installs it would ask for a part
// of a batch (KAFKA-14619).
func (l *Log) IsBoundary(offset int64) bool {
	_, ok := l.DigestAt(offset)
	return ok
}

// EpochOf returns the epoch of the record at an offset, or of the last one before the
// log; false if neither is in the log.
func (l *Log) EpochOf(offset int64) (int32, bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.epochOf(offset)
}

func (l *Log) epochOf(offset int64) (int32, bool) {
	if offset == l.start.offset-1 && offset >= 0 {
		return l.start.epoch, true
	}
	if offset < l.start.offset || offset >= l.end {
		return 0, false
	}
	return l.epochsFrom(offset)[0].Epoch, true
}

// AdvanceStart moves the start of the log up to an offset; epoch is that of the record
// before it. That all before it is in a durable snapshot is the caller's duty. It is
// durable when AdvanceStart returns, and nothing is deleted yet (see DeleteOld). At or
// below the start it does nothing. Errors: ErrOffset (the end of no batch, or of a
// batch of another epoch), ErrFailed.
func (l *Log) AdvanceStart(offset int64, epoch int32) error {
	l.flushing.Lock()
	defer l.flushing.Unlock()
	next, err := l.nextStart(offset, epoch)
	if err != nil || next == l.start {
		return err
	}
	// The record before the start is durable, or a crash would leave a log that ends
	// before it starts.
	if err := l.flush(); err != nil {
		return err
	}
	if err := l.writeStart(next); err != nil {
		return l.fail("write "+startFile, err)
	}
	l.mu.Lock()
	l.start = next
	l.epochs = l.collapse(l.epochs)
	saved := l.collapse(l.saved)
	l.newEpochs = !slices.Equal(l.epochs, saved)
	l.mu.Unlock()
	if err := fs.WriteFile(l.fsys, path.Join(l.dir, epochFile), renderEpochs(saved)); err != nil {
		return l.fail("write checkpoint", err)
	}
	l.saved = saved
	return nil
}

// nextStart is the start of the log at an offset, or the one that it has.
func (l *Log) nextStart(offset int64, epoch int32) (logStart, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.err != nil || offset <= l.start.offset {
		return l.start, l.err
	}
	digest, ok := l.digestAt(offset)
	if !ok {
		return l.start, fmt.Errorf("start at %d, of a log from %d to %d: %w", offset, l.start.offset, l.end, ErrOffset)
	}
	if have, _ := l.epochOf(offset - 1); have != epoch {
		return l.start, fmt.Errorf("start at %d after a record of epoch %d, which is of epoch %d: %w", offset, epoch, have, ErrOffset)
	}
	if l.start.offset > 0 && l.start.digest == StartDigest(l.start.offset, l.start.epoch) {
		// What was before this start is not known, and so not what was before the next:
		// after a restart that must show.
		digest = StartDigest(offset, epoch)
	}
	return logStart{offset: offset, epoch: epoch, digest: digest}, nil
}

// collapse returns epochs of a log that starts where this one does: what began before
// begins there (LeaderEpochFileCache.truncateFromStart). There is always an entry for
// the start, be it of an epoch without records.
func (l *Log) collapse(epochs []EpochStart) []EpochStart {
	if l.start.offset == 0 {
		return epochs
	}
	n := sort.Search(len(epochs), func(i int) bool { return epochs[i].StartOffset > l.start.offset })
	first := EpochStart{Epoch: l.start.epoch, StartOffset: l.start.offset}
	if n > 0 {
		first.Epoch = epochs[n-1].Epoch
	}
	return append([]EpochStart{first}, epochs[n:]...)
}

// below returns the epochs of a log that ends at an offset.
func (l *Log) below(epochs []EpochStart, end int64) []EpochStart {
	return l.collapse(startBelow(epochs, end))
}

// DeleteOld removes the segments that are wholly below the start of the log: they get
// other names first, as in Kafka. It returns how many, and their bytes. A crash may
// bring some back; then the next DeleteOld removes them. Error: ErrFailed.
func (l *Log) DeleteOld() (n int, bytes int64, err error) {
	l.flushing.Lock()
	defer l.flushing.Unlock()
	l.mu.Lock()
	if l.err != nil {
		l.mu.Unlock()
		return 0, 0, l.err
	}
	kept := 0
	for kept+1 < len(l.segments) && l.segments[kept+1].base <= l.start.offset {
		kept++
	}
	old := append(l.old, l.segments[:kept]...)
	l.old, l.segments = nil, l.segments[kept:]
	l.mu.Unlock()
	for _, seg := range old {
		n, bytes = n+1, bytes+seg.size
		if err := l.remove(seg); err != nil {
			return n, bytes, l.fail("remove "+seg.name, err)
		}
	}
	return n, bytes, nil
}

// deletedSuffix is of a file that is being removed.
const deletedSuffix = ".deleted"

// remove removes the files of a segment.
func (l *Log) remove(seg *segment) error {
	if seg.file != nil {
		seg.file.Close()
		seg.file = nil
	}
	for _, name := range seg.files() {
		err := l.fsys.Rename(name, name+deletedSuffix)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if err := l.fsys.Remove(name + deletedSuffix); err != nil {
			return err
		}
	}
	return nil
}

// ResetTo empties the log, to begin anew at the end of a snapshot that was installed:
// end is its end, epoch that of the record before. The digest is that of a log which
// has these records, or StartDigest if nobody knows. A crash leaves the old log or the
// new one. Errors: ErrOffset (end is not above 0, epoch is negative), ErrFailed.
func (l *Log) ResetTo(end int64, epoch int32, digest uint64) error {
	l.flushing.Lock()
	defer l.flushing.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return l.err
	}
	if end <= 0 || epoch < 0 {
		return fmt.Errorf("reset to %d, after a record of epoch %d: %w", end, epoch, ErrOffset)
	}
	begin := logStart{offset: end, epoch: epoch, digest: digest, reset: true}
	if err := l.writeStart(begin); err != nil {
		return l.failLocked("write "+startFile, err)
	}
	doomed := append(l.old, l.segments...)
	l.emptyAt(begin)
	l.old = doomed
	if err := l.finishReset(); err != nil {
		if len(l.segments) == 0 {
			l.segments = doomed // nobody will use them
		}
		return l.failLocked("reset", err)
	}
	return nil
}

// resumeReset goes on with a reset that a process before has begun. It may have died
// between renaming log-start and flushing that, and nothing goes before it is durable.
func (l *Log) resumeReset(names []string) error {
	if err := l.fsys.SyncDir(l.dir); err != nil {
		return fmt.Errorf("flush directory: %w", err)
	}
	if err := l.leftovers(names); err != nil {
		return err
	}
	return l.finishReset()
}

// emptyAt is the log in memory that is empty at a start.
func (l *Log) emptyAt(start logStart) {
	l.start, l.end, l.digest, l.flushed = start, start.offset, start.digest, start.offset
	l.segments, l.epochs = nil, l.collapse(nil)
	l.truncated, l.newName, l.newEpochs = false, false, true
}

// finishReset removes the segments of the log before, which are l.old, and makes those
// of the new one. The file that says so goes last: until then a crash leads here again.
// Nothing is appended before.
func (l *Log) finishReset() error {
	for _, seg := range l.old {
		if err := l.remove(seg); err != nil {
			return err
		}
	}
	l.old = nil
	seg, err := l.create(l.end, l.digest)
	if err != nil {
		return err
	}
	l.segments = []*segment{seg}
	if l.point.file != nil {
		l.point.file.Close()
		l.point.file = nil
	}
	// This flushes the directory too: that the old segments are gone, and that the new
	// one is there.
	if err := l.writeDerived(); err != nil {
		return err
	}
	l.start.reset = false
	return l.writeStart(l.start)
}
