package snapshot

import (
	"errors"
	"fmt"
	"path"

	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/log"
)

// batchBytes is how large a batch of a snapshot becomes, in bytes, unless one record
// is larger.
const batchBytes = 512 << 10

// ErrRecord: a record may not be in a snapshot. Nothing of the call was taken.
var ErrRecord = errors.New("record refused")

// Writer writes a snapshot. It is for one goroutine. After an error other than
// ErrRecord every call returns that error, and only Abort is left.
type Writer struct {
	part
	timestamp int64
	next      int64 // offset in the snapshot of the next record
	batch     log.Builder
}

// Create begins a snapshot in a directory. lastTimestamp is that of the last record
// that it covers, in milliseconds since 1970; the batches have it too, so that
// replicas that write the same records write the same bytes. voters are control records
// that follow the header (KRaftVersion, KRaftVoters). Errors: fs.ErrExist if
// there is such a snapshot already, those of the file system.
func Create(fsys fs.FS, dir string, id ID, lastTimestamp int64, voters ...log.ControlRecord) (*Writer, error) {
	names, err := fsys.List(dir)
	if err != nil {
		return nil, fmt.Errorf("create snapshot %s: %w", id, err)
	}
	for _, name := range names {
		if name == id.FileName() {
			return nil, fmt.Errorf("create snapshot %s: %w", id, fs.ErrExist)
		}
	}
	return Replace(fsys, dir, id, lastTimestamp, voters...)
}

// Replace is Create for a snapshot that may be there already: Freeze puts the new one in
// its place. It is for format, which is repeated after a crash; no process may have the old
// one open.
func Replace(fsys fs.FS, dir string, id ID, lastTimestamp int64, voters ...log.ControlRecord) (*Writer, error) {
	if err := id.check(); err != nil {
		return nil, err
	}
	w := &Writer{part: part{fsys: fsys, dir: dir, id: id, name: path.Join(dir, id.partName(localPart))}, timestamp: lastTimestamp}
	var err error
	if w.file, err = fsys.Create(w.name); err != nil {
		return nil, fmt.Errorf("create %s: %w", w.name, err)
	}
	if err := w.write(log.AppendSnapshotHeaderBatch(nil, 0, id.Epoch, lastTimestamp, lastTimestamp, voters...)); err != nil {
		return nil, errors.Join(err, w.Abort())
	}
	w.next = 1 + int64(len(voters))
	w.batch.Reset(w.next, id.Epoch, lastTimestamp)
	return w, nil
}

// Append adds records, each of at least one byte. They are copied. Errors: ErrRecord
// (an empty one, or one that is larger than a batch may be), those of the file system.
func (w *Writer) Append(records [][]byte) error {
	if w.err != nil {
		return w.err
	}
	for i, r := range records {
		if len(r) == 0 || len(r)+overhead > log.MaxBatchBytes {
			return fmt.Errorf("snapshot %s: record %d of %d has %d bytes: %w", w.id, i, len(records), len(r), ErrRecord)
		}
	}
	for _, r := range records {
		if w.batch.Count() > 0 && w.batch.Size()+len(r)+recordOverhead > batchBytes {
			if err := w.flushBatch(); err != nil {
				return err
			}
		}
		w.batch.Add(r)
	}
	return nil
}

// Most bytes that a record has besides its value, and a batch of one record.
const (
	recordOverhead = 20
	overhead       = log.HeaderSize + recordOverhead
)

// flushBatch writes the batch and begins the next one.
func (w *Writer) flushBatch() error {
	n := w.batch.Count()
	if n > 0 {
		if err := w.write(w.batch.Batch()); err != nil {
			return err
		}
	}
	w.next += int64(n)
	w.batch.Reset(w.next, w.id.Epoch, w.timestamp)
	return nil
}

// Freeze completes the snapshot and makes it durable under its name.
func (w *Writer) Freeze() error {
	if w.err != nil {
		return w.err
	}
	if err := w.flushBatch(); err != nil {
		return err
	}
	if err := w.write(log.AppendSnapshotFooterBatch(nil, w.next, w.id.Epoch, w.timestamp)); err != nil {
		return err
	}
	return w.freeze()
}

// Abort ends the writing and removes the file. After Freeze it does nothing.
func (w *Writer) Abort() error { return w.discard() }
