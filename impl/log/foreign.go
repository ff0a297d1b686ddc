package log

import (
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/quorate/quorate/impl/fs"
)

const (
	// producerSuffix is that of Kafka's snapshots of producers (%020d.snapshot). It
	// takes one whenever it opens a log that is not empty.
	producerSuffix = ".snapshot"
	// kafkaIndexSize is the size of the index of the segment that Kafka writes, in
	// bytes: it is allocated as a whole, and cut when the segment is left
	// (segment.index.bytes).
	kafkaIndexSize = 10 << 20
)

// readForeign finds out whether Kafka has used the log since Open was called for the
// last time. It leaves recovery-point and log-start as they are, and may have cut the log, begun
// it anew at a snapshot, or deleted segments: then what they say is not believed.
func (l *Log) readForeign(names []string) error {
	last := "" // the last segment
	for _, name := range names {
		if strings.HasSuffix(name, segmentSuffix) {
			last = name
		}
		stem, ok := strings.CutSuffix(name, producerSuffix)
		if _, err := strconv.ParseInt(stem, 10, 64); ok && err == nil && len(stem) == 20 {
			l.producers = append(l.producers, path.Join(l.dir, name))
		}
	}
	l.foreign = len(l.producers) > 0
	if last != "" && !l.foreign { // Kafka emptied the log, and was killed
		f, err := fs.OpenRead(l.fsys, path.Join(l.dir, strings.TrimSuffix(last, segmentSuffix)+indexSuffix))
		switch {
		case err == nil:
			size, err := f.Size()
			f.Close()
			if err != nil {
				return fmt.Errorf("size of the index of %s: %w", last, err)
			}
			l.foreign = size == kafkaIndexSize
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
	}
	if l.foreign {
		l.point.offset = -1
	}
	return nil
}

// doubtStart drops the start of the log if the segments are not those that it was
// written for: after Kafka the log starts with its first segment.
func (l *Log) doubtStart(bases []int64) {
	if l.foreign && (l.start.reset || len(bases) > 0 && bases[0] > l.start.offset) {
		l.start, l.startGone = logStart{}, true
	}
}

// forget removes the files that are not believed. After a crash it is as if only
// Kafka had ever used the log: what tells that it has goes when these are durably gone
// (see removeProducers).
func (l *Log) forget() error {
	if !l.foreign {
		return nil
	}
	for _, name := range []string{pointFile, startFile} {
		if name == startFile && !l.startGone {
			continue
		}
		if err := l.fsys.Remove(path.Join(l.dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// removeProducers removes what tells that Kafka has used the log, when the files that
// count from now on are written.
func (l *Log) removeProducers() error {
	if len(l.producers) == 0 {
		return nil
	}
	for _, name := range l.producers {
		if err := l.fsys.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	l.producers = nil
	return l.fsys.SyncDir(l.dir)
}
