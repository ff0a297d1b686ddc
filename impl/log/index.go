package log

import (
	"encoding/binary"
	"errors"
	"fmt"
	"path"
	"sort"
	"strings"

	"github.com/quorate/quorate/impl/fs"
)

// sparse is what Kafka's index files of a segment hold. An entry is added before a
// batch if more than Config.IndexIntervalBytes follow the last one
// (LogSegment.append, LogSegment.recover).
type sparse struct {
	offsets []offsetEntry
	times   []timeEntry
	lastPos int64 // position of the batch of the last entry, 0 if there is none

	// The largest timestamp so far, -1 if there is no batch, and the last offset of
	// the first batch that has it.
	maxTime int64
	maxAt   uint32

	firstTime int64 // timestamp of the first batch
	batches   bool  // there is one
	onDisk    bool  // the files exist
}

// offsetEntry is 8 bytes of the .index file: the last offset of a batch, less the base
// of the segment, and its position in bytes.
type offsetEntry struct{ rel, pos uint32 }

// timeEntry is 12 bytes of the .timeindex file: the largest timestamp up to a batch, in
// milliseconds since 1970, and the last offset of the first batch that has it, less the
// base of the segment.
type timeEntry struct {
	time int64
	rel  uint32
}

const (
	indexSuffix     = ".index"
	timeIndexSuffix = ".timeindex"
	offsetEntrySize = 4 + 4
	timeEntrySize   = 8 + 4
)

// add notes a batch at a position.
func (x *sparse) add(timestamp int64, last uint32, pos, interval int64) {
	if pos == 0 {
		x.maxTime, x.firstTime, x.batches = -1, timestamp, true
	}
	if timestamp > x.maxTime {
		x.maxTime, x.maxAt = timestamp, last
	}
	if pos-x.lastPos > interval {
		x.offsets = append(x.offsets, offsetEntry{rel: last, pos: uint32(pos)})
		x.times = x.withTime()
		x.lastPos = pos
	}
}

// withTime returns the entries of the time index with one for the largest timestamp so
// far, which a segment that is left has at its end.
func (x *sparse) withTime() []timeEntry {
	last := int64(-1)
	if n := len(x.times); n > 0 {
		last = x.times[n-1].time
	}
	if x.maxTime > last && x.batches {
		return append(x.times, timeEntry{time: x.maxTime, rel: x.maxAt})
	}
	return x.times
}

// cut takes back what is after a position, and returns from where batches have to be
// looked at again for the largest timestamp.
func (x *sparse) cut(size int64) (from int64) {
	n := sort.Search(len(x.offsets), func(i int) bool { return int64(x.offsets[i].pos) >= size })
	x.offsets = x.offsets[:n]
	x.lastPos, x.maxTime = 0, -1
	kept := 0
	if n > 0 {
		last := x.offsets[n-1]
		x.lastPos = int64(last.pos)
		kept = sort.Search(len(x.times), func(i int) bool { return x.times[i].rel > last.rel })
	}
	x.times = x.times[:kept]
	if kept > 0 {
		x.maxTime, x.maxAt = x.times[kept-1].time, x.times[kept-1].rel
	}
	return x.lastPos
}

func renderOffsets(entries []offsetEntry) []byte {
	b := make([]byte, 0, len(entries)*offsetEntrySize)
	for _, e := range entries {
		b = binary.BigEndian.AppendUint32(b, e.rel)
		b = binary.BigEndian.AppendUint32(b, e.pos)
	}
	return b
}

func renderTimes(entries []timeEntry) []byte {
	b := make([]byte, 0, len(entries)*timeEntrySize)
	for _, e := range entries {
		b = binary.BigEndian.AppendUint64(b, uint64(e.time))
		b = binary.BigEndian.AppendUint32(b, e.rel)
	}
	return b
}

// files are the names that a segment may have.
func (s *segment) files() []string {
	return []string{s.name, s.indexName(indexSuffix), s.indexName(timeIndexSuffix)}
}

func (s *segment) indexName(suffix string) string {
	return strings.TrimSuffix(s.name, segmentSuffix) + suffix
}

// writeIndex writes the index files of a segment, unless they are as they should be.
// They follow from the batches and are not flushed: Open, as Kafka does, makes them
// anew if they are not right.
func (l *Log) writeIndex(seg *segment) error {
	for _, f := range []struct {
		name    string
		content []byte
	}{
		{seg.indexName(indexSuffix), renderOffsets(seg.sparse.offsets)},
		{seg.indexName(timeIndexSuffix), renderTimes(seg.sparse.withTime())},
	} {
		if err := l.writeIfOther(f.name, f.content); err != nil {
			return err
		}
	}
	seg.sparse.onDisk = true
	return nil
}

func (l *Log) writeIfOther(name string, content []byte) error {
	have, err := fs.ReadFile(l.fsys, name)
	if err == nil && string(have) == string(content) {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := l.fsys.Create(name)
	if err != nil {
		return fmt.Errorf("create %s: %w", name, err)
	}
	_, err = f.WriteAt(content, 0)
	return errors.Join(err, f.Close())
}

// removeIndex removes the index files of a segment of which a part goes away.
func (l *Log) removeIndex(seg *segment) error {
	if !seg.sparse.onDisk {
		return nil
	}
	seg.sparse.onDisk = false
	for _, name := range seg.files()[1:] {
		if err := l.fsys.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// cutIndex takes back what the indexes of a segment have of batches that it has no
// more.
func (s *segment) cutIndex() error {
	if s.size == 0 {
		s.sparse = sparse{onDisk: s.sparse.onDisk}
		return nil
	}
	var head [HeaderSize]byte
	x := &s.sparse
	first := s.at(x.cut(s.size))
	for i := first; i < len(s.index); i++ {
		if err := readFull(s.file, head[:], int64(s.index[i].pos)); err != nil {
			return err
		}
		if time := int64(binary.BigEndian.Uint64(head[posMaxTime:])); time > x.maxTime {
			x.maxTime, x.maxAt = time, s.index[i].rel+binary.BigEndian.Uint32(head[posLastDelta:])
		}
	}
	return nil
}

// at returns the index of the batch that starts at a position.
func (s *segment) at(pos int64) int {
	return sort.Search(len(s.index), func(i int) bool { return int64(s.index[i].pos) >= pos })
}

// leftovers removes files that no segment has: of segments that a process before was
// removing, and indexes without their segment.
func (l *Log) leftovers(names []string) error {
	for _, name := range names {
		left := strings.HasSuffix(name, segmentSuffix+deletedSuffix) || strings.HasSuffix(name, indexSuffix+deletedSuffix) ||
			strings.HasSuffix(name, timeIndexSuffix+deletedSuffix)
		for _, suffix := range []string{indexSuffix, timeIndexSuffix} {
			if stem, ok := strings.CutSuffix(name, suffix); ok && !l.hasSegment(stem+segmentSuffix) {
				left = true
			}
		}
		if !left {
			continue
		}
		if err := l.fsys.Remove(path.Join(l.dir, name)); err != nil {
			return err
		}
	}
	return nil
}

func (l *Log) hasSegment(name string) bool {
	for _, list := range [][]*segment{l.old, l.segments} {
		for _, seg := range list {
			if path.Base(seg.name) == name {
				return true
			}
		}
	}
	return false
}
