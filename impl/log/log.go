package log

import (
	"errors"
	"fmt"
	"sort"
	"sync"

	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/traces/event"
)

// MetadataTopicID is the topic id of __cluster_metadata
// (Uuid.METADATA_TOPIC_ID).
var MetadataTopicID = [16]byte{15: 1}

// Config is how a log is kept. The zero value is Kafka's defaults.
type Config struct {
	// SegmentBytes: a segment that would grow beyond it is left for a new one. 0
	// is 1 GiB (metadata.log.segment.bytes); the most is 2 GiB - 1.
	SegmentBytes int64
	// RecoveryPointBytes: after so many bytes were flushed, the offset below which
	// all is flushed is written durably itself, which costs a second flush. Damage
	// below it is never taken for a torn tail. 0 is 1 MiB; 1 is at each Flush:
	// then no damage to anything that was flushed is.
	RecoveryPointBytes int64
	// SegmentMs: a segment is also left for a new one if its first batch and the next
	// one are more than so many milliseconds apart, by their timestamps. 0 is 7 days
	// (metadata.log.segment.ms).
	SegmentMs int64
	// IndexIntervalBytes: the index files have an entry for about so many bytes. 0 is
	// 4096 (index.interval.bytes).
	IndexIntervalBytes int64
	// TopicID is in partition.metadata. All zeros is [MetadataTopicID].
	TopicID [16]byte
}

func (c Config) withDefaults() Config {
	if c.SegmentBytes <= 0 {
		c.SegmentBytes = 1 << 30
	}
	c.SegmentBytes = min(c.SegmentBytes, 1<<31-1)
	if c.RecoveryPointBytes <= 0 {
		c.RecoveryPointBytes = 1 << 20
	}
	if c.SegmentMs <= 0 {
		c.SegmentMs = 7 * 24 * 60 * 60 * 1000
	}
	if c.IndexIntervalBytes <= 0 {
		c.IndexIntervalBytes = 4096
	}
	if c.TopicID == [16]byte{} {
		c.TopicID = MetadataTopicID
	}
	return c
}

// Errors that methods return wrapped; test with errors.Is.
var (
	// ErrFailed: a write, a flush or a check of what was read failed, in this call
	// or before. The log cannot be used any more, and must not be retried.
	ErrFailed = errors.New("log has failed")
	// ErrClosed: Close was called.
	ErrClosed = errors.New("log is closed")
	// ErrOffset: the offset is not in the log. The log is as before.
	ErrOffset = errors.New("offset out of range")
	// ErrNotFlushed: an append after a truncation that was not flushed. A crash
	// could bring the old batches back behind the new. The log is as before.
	ErrNotFlushed = errors.New("truncation is not flushed")
	// ErrRecords: the records may not be appended. The log is as before.
	ErrRecords = errors.New("records refused")
)

// CorruptError says which file is damaged, and where. It is never repaired.
type CorruptError struct {
	File string
	// Pos is the position in the file, in bytes.
	Pos int64
	// Offset is the log offset that should be there, -1 if it is not about one.
	Offset int64
	Reason string
}

// Error implements error.
func (e *CorruptError) Error() string {
	if e.Offset < 0 {
		return fmt.Sprintf("%s is corrupt at byte %d: %s", e.File, e.Pos, e.Reason)
	}
	return fmt.Sprintf("%s is corrupt at byte %d (offset %d): %s", e.File, e.Pos, e.Offset, e.Reason)
}

// EpochStart is the offset of the first record of an epoch.
type EpochStart struct {
	Epoch       int32
	StartOffset int64
}

// Log is an open log. One goroutine, the writer, calls the Append methods and
// TruncateTo. Flush may run beside it in another, so that the next batch is
// written while the last one is flushed; all other methods may be called from
// anywhere.
type Log struct {
	fsys fs.FS
	dir  string
	cfg  Config

	// flushing is held by whatever flushes or removes: Flush, a roll, TruncateTo,
	// Close. It is taken before mu.
	flushing sync.Mutex
	point    recoveryPoint // by flushing
	// saved is what leader-epoch-checkpoint says, by flushing: the first of epochs,
	// each with a record that is durable.
	saved []EpochStart

	mu        sync.RWMutex
	segments  []*segment // by mu; never empty; only the last one grows
	old       []*segment // wholly below start, and not open
	start     logStart
	adopted   bool // start is that of a log that only Kafka has used
	foreign   bool // Kafka has used the log since it was last opened
	startGone bool // what log-start says is not so any more
	producers []string
	end       int64
	digest    uint64
	epochs    []EpochStart
	flushed   int64
	written   int64 // bytes appended since Open
	truncated bool  // since the last flush
	newName   bool  // a segment was created since the last flush
	newEpochs bool  // leader-epoch-checkpoint is out of date
	err       error // sticky

	voterSets []VoterSet // of the records that Open found

	readable, unreadable bool // leader-epoch-checkpoint, when it was opened; neither: it was missing

	// Of the writer.
	buf     []byte
	batches []Batch
}

// segment is one file of batches, with an index of them in memory.
type segment struct {
	base  int64  // offset of its first record
	start uint64 // digest at base
	name  string
	file  fs.File
	size  int64
	index []entry

	sparse sparse // what Kafka's index files hold
}

// entry is a batch in a segment. The batch ends where the next one starts.
type entry struct {
	rel    uint32 // base offset of the batch - base of the segment
	pos    uint32
	digest uint64 // at the end of the batch
}

// find returns the index of the batch that holds an offset of the segment.
func (s *segment) find(offset int64) int {
	rel := offset - s.base
	return sort.Search(len(s.index), func(i int) bool { return int64(s.index[i].rel) > rel }) - 1
}

// endPos returns where batch i ends in the file.
func (s *segment) endPos(i int) int64 {
	if i+1 < len(s.index) {
		return int64(s.index[i+1].pos)
	}
	return s.size
}

// digestBefore returns the digest at the start of batch i.
func (s *segment) digestBefore(i int) uint64 {
	if i == 0 {
		return s.start
	}
	return s.index[i-1].digest
}

func (s *segment) add(b Batch, digest uint64, interval int64) {
	s.sparse.add(b.Timestamp, uint32(b.End-1-s.base), s.size, interval)
	s.index = append(s.index, entry{rel: uint32(b.Base - s.base), pos: uint32(s.size), digest: digest})
	s.size += int64(len(b.Bytes))
}

// segmentOf returns the index of the segment that holds an offset.
func (l *Log) segmentOf(offset int64) int {
	return sort.Search(len(l.segments), func(i int) bool { return l.segments[i].base > offset }) - 1
}

// batchEnd returns the offset after batch i of segment s.
func (l *Log) batchEnd(s, i int) int64 {
	seg := l.segments[s]
	switch {
	case i+1 < len(seg.index):
		return seg.base + int64(seg.index[i+1].rel)
	case s+1 < len(l.segments):
		return l.segments[s+1].base
	}
	return l.end
}

func (l *Log) active() *segment { return l.segments[len(l.segments)-1] }

// EndOffset returns the offset that the next record will get.
func (l *Log) EndOffset() int64 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.end
}

// FlushedEnd returns the offset below which the log is durable. It may rise in an
// append that starts a new segment, since that flushes the old one.
func (l *Log) FlushedEnd() int64 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.flushed
}

// Digest returns the chained digest at the end of the log (see
// [event.LogChange]).
func (l *Log) Digest() uint64 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.digest
}

// Bounds returns at once what [Log.StartOffset], [Log.EndOffset], [Log.FlushedEnd] and
// [Log.Digest] do.
func (l *Log) Bounds() (start, end, flushed int64, digest uint64) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.start.offset, l.end, l.flushed, l.digest
}

// DigestAt returns the chained digest at an offset, which must be the base of a
// batch or the end of the log; false if it is not.
func (l *Log) DigestAt(offset int64) (uint64, bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.digestAt(offset)
}

func (l *Log) digestAt(offset int64) (uint64, bool) {
	if offset == l.end {
		return l.digest, true
	}
	if offset < l.start.offset || offset > l.end {
		return 0, false
	}
	seg := l.segments[l.segmentOf(offset)]
	i := seg.find(offset)
	if seg.base+int64(seg.index[i].rel) != offset {
		return 0, false
	}
	return seg.digestBefore(i), true
}

// LastEpoch returns the epoch of the last record; if there is none StartEpoch.
func (l *Log) LastEpoch() int32 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.lastEpoch()
}

func (l *Log) lastEpoch() int32 {
	if len(l.epochs) == 0 {
		return 0
	}
	return l.epochs[len(l.epochs)-1].Epoch
}

// Epochs returns where each epoch starts, in order.
func (l *Log) Epochs() []EpochStart {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return append([]EpochStart(nil), l.epochs...)
}

// EndOffsetForEpoch returns the largest epoch in the log that is not larger than
// the given one, and where it ends. An epoch beyond the last gets the last epoch
// and the end of the log; one before the first gets itself and the start
// (LeaderEpochFileCache.endOffsetFor, KafkaRaftLog.endOffsetForEpoch).
func (l *Log) EndOffsetForEpoch(epoch int32) event.EpochEnd {
	l.mu.RLock()
	defer l.mu.RUnlock()
	next := sort.Search(len(l.epochs), func(i int) bool { return l.epochs[i].Epoch > epoch })
	switch {
	case next == len(l.epochs):
		return event.EpochEnd{Epoch: l.lastEpoch(), EndOffset: l.end}
	case next == 0:
		return event.EpochEnd{Epoch: epoch, EndOffset: l.epochs[0].StartOffset}
	}
	return event.EpochEnd{Epoch: l.epochs[next-1].Epoch, EndOffset: l.epochs[next].StartOffset}
}

// Err returns the error that every call returns since the log has failed or was
// closed, nil if it works.
func (l *Log) Err() error {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.err
}

// fail makes the log unusable. Without mu.
func (l *Log) fail(what string, err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failLocked(what, err)
}

func (l *Log) failLocked(what string, err error) error {
	if l.err == nil {
		l.err = fmt.Errorf("%w: %s: %w", ErrFailed, what, err)
	}
	return l.err
}

// Close flushes the log, unless it has failed, with the recovery point at its end:
// no damage done while it is closed passes for the trace of a crash. Then it closes
// the files. An error is of either.
func (l *Log) Close() error {
	l.flushing.Lock()
	err := l.flush()
	if err == nil && l.point.offset != l.end { // the writer is who closes
		if err = l.point.save(l.end, l.written); err != nil {
			err = l.fail("write "+l.point.name, err)
		}
	}
	if err == nil {
		if err = l.writeIndex(l.active()); err != nil {
			err = l.fail("write index", err)
		}
	}
	l.flushing.Unlock()
	if errors.Is(err, ErrClosed) {
		return nil
	}
	return errors.Join(err, l.Abandon())
}

// Abandon closes the files and flushes nothing, as the end of the process would.
func (l *Log) Abandon() error {
	l.flushing.Lock()
	defer l.flushing.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if errors.Is(l.err, ErrClosed) {
		return nil
	}
	l.err = ErrClosed
	return l.closeFiles()
}

func (l *Log) closeFiles() error {
	var errs []error
	for _, s := range l.segments {
		if s.file != nil {
			errs = append(errs, s.file.Close())
		}
	}
	if l.point.file != nil {
		errs = append(errs, l.point.file.Close())
	}
	return errors.Join(errs...)
}

// SegmentInfo is a segment as retention sees it.
type SegmentInfo struct {
	// Base is the offset of its first record.
	Base int64
	// Size in bytes.
	Size int64
}

// Segments returns the segments, oldest first.
func (l *Log) Segments() []SegmentInfo {
	l.mu.RLock()
	defer l.mu.RUnlock()
	all := make([]SegmentInfo, 0, len(l.old)+len(l.segments))
	for _, s := range append(l.old[:len(l.old):len(l.old)], l.segments...) {
		all = append(all, SegmentInfo{Base: s.base, Size: s.size})
	}
	return all
}
