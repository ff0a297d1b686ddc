package log

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/quorate/quorate/impl/fs"
)

// Recovered says what Open found.
type Recovered struct {
	// End is the end offset of the log.
	End int64
	// CutBytes is how many bytes were cut off the end of File at position Pos, and
	// why. 0: none.
	CutBytes int64
	File     string
	Pos      int64
	Reason   string
}

// Open opens the log in a directory, made if it is missing (its parent must
// exist), and makes durable all that it keeps. It reads every segment and checks
// every batch: checksum, offsets without gaps, epochs that do not decrease.
//
// The first bad batch ends the log and what follows is cut off, if it can be the
// trace of a crash; else the error is a [*CorruptError], and nothing is changed.
// It is corruption
//
//   - in any segment but the last, since a segment is flushed before the next one
//     is started;
//   - below the recovery point, and up to the start of the last epoch of
//     leader-epoch-checkpoint, since all of that was flushed (this is also how
//     missing segments show);
//   - where epochs are not those of leader-epoch-checkpoint, or go down: the
//     checksum of a batch does not cover its epoch;
//   - where a valid batch with a fitting offset follows, unless whole sectors of
//     zeros before it show writes that never reached the disk: a crash may lose
//     the first of two writes and keep the second.
//
// What stays undecided is damage above these, in the last batch, or with zeroed
// sectors. Config.RecoveryPointBytes says how much that can be; after Close it is
// nothing.
//
// The tail above the recovery point is written again before it is flushed:
// after a failed flush of the process before, the system may hold pages that it
// takes for written, and that no flush would write.
func Open(fsys fs.FS, dir string, cfg Config) (*Log, Recovered, error) {
	return OpenChecked(fsys, dir, cfg, func(*Log) error { return nil })
}

// OpenChecked is Open with one more check, of what was found and before anything is
// changed. If it fails, Open does. The check may look at the log, but not use it.
func OpenChecked(fsys fs.FS, dir string, cfg Config, check func(*Log) error) (*Log, Recovered, error) {
	l := &Log{fsys: fsys, dir: dir, cfg: cfg.withDefaults()}
	found, err := l.open(check)
	if err != nil {
		l.closeFiles()
		return nil, Recovered{}, fmt.Errorf("open log %s: %w", dir, err)
	}
	return l, found, nil
}

func (l *Log) open(check func(*Log) error) (Recovered, error) {
	names, err := l.makeDir()
	if err != nil {
		return Recovered{}, err
	}
	if err := l.readStart(); err != nil {
		return Recovered{}, err
	}
	if err := l.readPoint(); err != nil {
		return Recovered{}, err
	}
	if err := l.readEpochs(); err != nil {
		return Recovered{}, err
	}
	if err := l.readForeign(names); err != nil {
		return Recovered{}, err
	}
	found, err := l.scan(names)
	if err != nil {
		return Recovered{}, err
	}
	if err := l.checkEpochs(); err != nil {
		return Recovered{}, err
	}
	if err := check(l); err != nil {
		return Recovered{}, err
	}
	if err := l.openMetadata(); err != nil {
		return Recovered{}, err
	}
	if err := l.forget(); err != nil {
		return Recovered{}, err
	}
	if l.start.reset {
		return found, l.resumeReset(names)
	}
	if err := l.repair(found); err != nil {
		return Recovered{}, err
	}
	if l.adopted {
		if err := l.writeStart(l.start); err != nil {
			return Recovered{}, err
		}
	}
	if err := l.writeIndexes(names); err != nil {
		return Recovered{}, err
	}
	if err := l.writeDerived(); err != nil {
		return Recovered{}, err
	}
	return found, l.removeProducers()
}

// writeIndexes makes the index files what follows from the batches.
func (l *Log) writeIndexes(names []string) error {
	if err := l.leftovers(names); err != nil {
		return err
	}
	for _, seg := range l.segments[:len(l.segments)-1] {
		if err := l.writeIndex(seg); err != nil {
			return err
		}
	}
	seg := l.active() // it is written when the segment is left
	seg.sparse.onDisk = true
	return l.removeIndex(seg)
}

// makeDir makes the directory if it is missing and lists it.
func (l *Log) makeDir() ([]string, error) {
	names, err := l.fsys.List(l.dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = l.fsys.Mkdir(l.dir)
	}
	if err != nil {
		return nil, err
	}
	// Also if it was there: it may have been made just before a process died.
	if err := l.fsys.SyncDir(path.Dir(l.dir)); err != nil {
		return nil, fmt.Errorf("flush parent: %w", err)
	}
	return names, nil
}

// openMetadata compares or writes partition.metadata (PartitionMetadataFile).
func (l *Log) openMetadata() error {
	name := path.Join(l.dir, metadataFile)
	want := "version: 0\ntopic_id: " + base64.RawURLEncoding.EncodeToString(l.cfg.TopicID[:])
	have, err := fs.ReadFile(l.fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return fs.WriteFile(l.fsys, name, []byte(want))
	}
	if err != nil {
		return err
	}
	if strings.TrimRight(string(have), "\r\n") != want {
		return &CorruptError{File: name, Offset: -1, Reason: fmt.Sprintf("%q is not %q", have, want)}
	}
	return nil
}

func (l *Log) readPoint() error {
	l.point.name = path.Join(l.dir, pointFile)
	b, err := fs.ReadFile(l.fsys, l.point.name)
	if errors.Is(err, fs.ErrNotExist) {
		l.point.offset = -1 // a new log, or one that Kafka wrote
		return nil
	}
	if err != nil {
		return err
	}
	offset, ok := parsePoint(b)
	if !ok {
		return &CorruptError{File: l.point.name, Offset: -1, Reason: fmt.Sprintf("%q is not an offset with its checksum", b)}
	}
	l.point.offset = offset
	return nil
}

// scan reads all segments from the start of the log on, changing nothing on disk.
func (l *Log) scan(names []string) (Recovered, error) {
	bases, err := l.bases(names)
	if err != nil {
		return Recovered{}, err
	}
	l.doubtStart(bases)
	if l.start.reset { // nothing of the segments counts
		for _, base := range bases {
			l.old = append(l.old, &segment{base: base, name: path.Join(l.dir, segmentName(base))})
		}
		l.emptyAt(l.start)
		return Recovered{End: l.end}, nil
	}
	// Kafka takes the epochs below the start out of leader-epoch-checkpoint.
	kafka := l.point.offset < 0 && l.start.offset == 0
	if kafka && len(bases) > 0 && bases[0] > 0 && !(len(l.saved) > 0 && l.saved[0].StartOffset < bases[0]) {
		if err := l.adopt(bases[0], names); err != nil {
			return Recovered{}, err
		}
	}
	if bases, err = l.setAside(bases); err != nil {
		return Recovered{}, err
	}
	if len(bases) == 0 && (l.point.offset >= 0 || len(l.saved) > 0 || l.unreadable || l.start.offset > 0) {
		// The first segment is made durably before any of these files, and not removed
		// before the next one is.
		return Recovered{}, &CorruptError{File: path.Join(l.dir, segmentName(l.start.offset)), Offset: l.start.offset,
			Reason: fmt.Sprintf("missing, but there is %s, %s or %s", pointFile, epochFile, startFile)}
	}
	found, err := l.scanFrom(bases)
	if err != nil {
		return found, err
	}
	l.epochs = l.collapse(l.epochs)
	if l.end < l.known() {
		return found, l.CorruptAt(l.end, fmt.Sprintf("log ends, but was flushed up to offset %d", l.known()))
	}
	found.End = l.end
	return found, nil
}

// bases are the offsets in the names of segments, in order.
func (l *Log) bases(names []string) (bases []int64, err error) {
	for _, name := range names { // sorted, and so are the bases
		stem, ok := strings.CutSuffix(name, segmentSuffix)
		if !ok {
			continue
		}
		base, err := strconv.ParseInt(stem, 10, 64)
		if err != nil || name != segmentName(base) {
			return nil, &CorruptError{File: path.Join(l.dir, name), Offset: -1, Reason: "not the name of a segment"}
		}
		bases = append(bases, base)
	}
	return bases, nil
}

// adopt makes the start of a log that only Kafka has used that of its first segment.
// The epoch of the record before it is in the name of a snapshot that ends there; if
// there is none, then no snapshot was installed, and an epoch of the log will do.
func (l *Log) adopt(base int64, names []string) error {
	epoch := int32(-1)
	for _, name := range names {
		prefix := fmt.Sprintf("%020d-", base)
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			if e, err := strconv.ParseInt(strings.TrimSuffix(rest, ".checkpoint"), 10, 32); err == nil {
				epoch = max(epoch, int32(e))
			}
		}
	}
	if epoch < 0 {
		f, err := l.fsys.Open(path.Join(l.dir, segmentName(base)))
		if err != nil {
			return err
		}
		defer f.Close()
		var head [HeaderSize]byte
		if err := readFull(f, head[:], 0); err != nil {
			return &CorruptError{File: path.Join(l.dir, segmentName(base)), Offset: base, Reason: "the log starts here, and has neither a batch nor a snapshot that ends here"}
		}
		epoch = max(0, int32(binary.BigEndian.Uint32(head[posEpoch:])))
	}
	l.start = logStart{offset: base, epoch: epoch, digest: StartDigest(base, epoch)}
	l.adopted = true
	return nil
}

// setAside takes the segments that are wholly below the start of the log out of the
// list. They are not read: a crash may have brought some of them back.
func (l *Log) setAside(bases []int64) ([]int64, error) {
	for len(bases) > 1 && bases[1] <= l.start.offset {
		seg := &segment{base: bases[0], name: path.Join(l.dir, segmentName(bases[0]))}
		f, err := l.fsys.Open(seg.name)
		if err != nil {
			return nil, err
		}
		seg.size, err = f.Size()
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("size of %s: %w", seg.name, err)
		}
		l.old, bases = append(l.old, seg), bases[1:]
	}
	if len(bases) > 0 && bases[0] > l.start.offset {
		return nil, &CorruptError{File: path.Join(l.dir, segmentName(bases[0])), Offset: l.start.offset,
			Reason: fmt.Sprintf("segment starts at offset %d", bases[0])}
	}
	return bases, nil
}

// scanFrom reads the segments of the log.
func (l *Log) scanFrom(bases []int64) (found Recovered, err error) {
	l.end, l.digest = l.start.offset, l.start.digest
	if len(bases) > 0 {
		l.end = bases[0]
	}
	if l.end == l.start.offset {
		l.epochs = l.collapse(nil)
	}
	for i, base := range bases {
		name := path.Join(l.dir, segmentName(base))
		if base != l.end {
			return found, &CorruptError{File: name, Offset: l.end, Reason: fmt.Sprintf("segment starts at offset %d", base)}
		}
		seg := &segment{base: base, start: l.digest, name: name}
		if seg.file, err = l.fsys.Open(name); err != nil {
			return found, err
		}
		l.segments = append(l.segments, seg)
		if found, err = l.scanSegment(seg, i == len(bases)-1); err != nil {
			return found, err
		}
	}
	return found, nil
}

// repair makes what scan found durable, without the torn tail.
func (l *Log) repair(found Recovered) error {
	if len(l.segments) == 0 {
		seg, err := l.create(l.end, l.digest)
		if err != nil {
			return err
		}
		l.segments = append(l.segments, seg)
	}
	seg := l.active()
	if found.CutBytes > 0 {
		if err := seg.file.Truncate(seg.size); err != nil {
			return fmt.Errorf("cut %s: %w", seg.name, err)
		}
	}
	if err := l.rewriteTail(seg); err != nil {
		return fmt.Errorf("rewrite %s: %w", seg.name, err)
	}
	for _, seg := range l.segments {
		if err := seg.file.Sync(); err != nil {
			return fmt.Errorf("flush %s: %w", seg.name, err)
		}
	}
	if err := l.fsys.SyncDir(l.dir); err != nil {
		return fmt.Errorf("flush directory: %w", err)
	}
	l.flushed = l.end
	return nil
}

// rewriteTail writes the bytes above the recovery point over themselves.
func (l *Log) rewriteTail(seg *segment) error {
	pos := int64(0)
	if i := seg.find(max(l.point.offset, 0)); i >= 0 {
		pos = int64(seg.index[i].pos)
	}
	buf := make([]byte, min(scanBytes, seg.size-pos))
	for pos < seg.size && l.point.offset < l.end {
		chunk := buf[:min(int64(len(buf)), seg.size-pos)]
		if n, err := seg.file.ReadAt(chunk, pos); n < len(chunk) {
			return err
		}
		if _, err := seg.file.WriteAt(chunk, pos); err != nil {
			return err
		}
		pos += int64(len(chunk))
	}
	return nil
}
