package snapshot

import (
	"fmt"
	"path"

	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/log"
)

// Reader reads a snapshot. Its methods may be called from several goroutines. It goes
// on while the snapshot is deleted.
type Reader struct {
	id            ID
	name          string
	file          fs.File
	size          int64
	lastTimestamp int64
	kraftVersion  int16
	voters        []log.Voter
}

// Open opens a snapshot and checks its first batch. Errors: fs.ErrNotExist,
// [*CorruptError], those of the file system.
func Open(fsys fs.FS, dir string, id ID) (*Reader, error) {
	return OpenFile(fsys, path.Join(dir, id.FileName()), id)
}

// OpenFile is Open for a snapshot in a file of another name, such as Kafka's
// bootstrap.checkpoint.
func OpenFile(fsys fs.FS, name string, id ID) (*Reader, error) {
	if err := id.check(); err != nil {
		return nil, err
	}
	r := &Reader{id: id, name: name}
	var err error
	if r.file, err = fs.OpenRead(fsys, r.name); err != nil {
		return nil, fmt.Errorf("open snapshot %s: %w", id, err)
	}
	if r.size, err = r.file.Size(); err == nil {
		it := r.Batches()
		if it.scan.next() {
			r.lastTimestamp, r.kraftVersion, r.voters = it.scan.lastTimestamp, it.scan.kraftVersion, it.scan.voters
		}
		err = it.Err()
	}
	if err != nil {
		r.file.Close()
		return nil, fmt.Errorf("open snapshot %s: %w", id, err)
	}
	return r, nil
}

// ID returns the name of the snapshot.
func (r *Reader) ID() ID { return r.id }

// Size returns how many bytes the file has.
func (r *Reader) Size() int64 { return r.size }

// LastTimestamp returns the timestamp of the last record that the snapshot covers, in
// milliseconds since 1970.
func (r *Reader) LastTimestamp() int64 { return r.lastTimestamp }

// KRaftVersion is the kraft.version that was in force, 0 if the header does not say.
func (r *Reader) KRaftVersion() int16 { return r.kraftVersion }

// Voters are the voters that were in force; none if the header does not say.
func (r *Reader) Voters() []log.Voter { return r.voters }

// ReadAt reads bytes of the file as they are, for another replica, which checks them
// (FetchSnapshot). It implements [io.ReaderAt].
func (r *Reader) ReadAt(p []byte, pos int64) (int, error) { return r.file.ReadAt(p, pos) }

// Close closes the file.
func (r *Reader) Close() error { return r.file.Close() }

// Batches begins to read the data batches.
func (r *Reader) Batches() *Batches {
	return &Batches{scan: newScanner(r.file, r.name, r.id, r.size)}
}

// Verify reads and checks the whole file. Errors: [*CorruptError], those of the file
// system.
func (r *Reader) Verify() error {
	it := r.Batches()
	for it.Next() {
	}
	return it.Err()
}

// Records calls yield with each data record in order, until it returns an error,
// which Records returns. The value is good during the call only. All that Verify
// checks is checked, but what is damaged may show after records were given: nothing
// counts before Records has returned nil.
func (r *Reader) Records(yield func(value []byte) error) error {
	it := r.Batches()
	it.scan.unparsed = true // they are parsed here, once
	for it.Next() {
		var stopped error
		err := it.Batch().Records(func(r log.Record) error {
			stopped = yield(r.Value)
			return stopped
		})
		if err != nil && stopped == nil {
			it.scan.pos -= int64(len(it.Batch().Bytes))
			it.scan.corrupt(err.Error())
			return it.Err()
		}
		if err != nil {
			return err
		}
	}
	return it.Err()
}

// Batches reads the data batches of a snapshot in order and checks every batch: its
// checksum, its records, that offsets have no gap, that the epoch is that of the
// snapshot, that the header is first and the footer last.
//
//	it := r.Batches()
//	for it.Next() {
//		… it.Batch() …
//	}
//	if err := it.Err(); err != nil { … }
type Batches struct{ scan *scanner }

// Next moves to the next data batch. It returns false at the end and at the first bad
// batch.
func (it *Batches) Next() bool {
	for it.scan.next() {
		if !it.scan.batch.Control {
			return true
		}
	}
	return false
}

// Batch returns the batch that Next moved to. Its bytes are good until Next.
func (it *Batches) Batch() log.Batch { return it.scan.batch }

// Err returns what ended the iteration too early: a [*CorruptError] or an error of the
// file system. Batches are good as a snapshot only if it is nil at the end.
func (it *Batches) Err() error { return it.scan.err }
