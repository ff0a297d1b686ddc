package snapshot

import (
	"errors"
	"fmt"
	"path"

	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/log"
)

// ErrPosition: a chunk does not start where the file ends. Nothing has changed.
var ErrPosition = errors.New("not the next position")

// Partial is a snapshot that is received in chunks (FetchSnapshot). It is for one
// goroutine. After an error of the file system every call returns that error, and
// only Discard and Close are left.
type Partial struct {
	part
	verified int64 // the size at which all of it was good
	voters   []log.Voter
}

// Voters are the voters that the header has, once Verify has found it good; nil if none.
func (p *Partial) Voters() []log.Voter { return p.voters }

// Receive begins to receive a snapshot from a replica, or goes on where a process
// before has ended: what it received from the same replica is kept, as far as it is
// whole batches that are good. Two replicas may have the same snapshot in different
// bytes, so what came from another is removed, and so is what is of another snapshot.
// There is one Partial in a directory at a time.
func Receive(fsys fs.FS, dir string, id ID, source int32) (*Partial, error) {
	if err := id.check(); err != nil {
		return nil, err
	}
	names, err := fsys.List(dir)
	if err != nil {
		return nil, fmt.Errorf("receive snapshot %s: %w", id, err)
	}
	p := &Partial{part: part{fsys: fsys, dir: dir, id: id, name: path.Join(dir, id.partName(fromPart(source)))}}
	found := false
	for _, name := range names {
		_, who, k := parse(name)
		switch {
		case k != partial || who == localPart:
		case path.Join(dir, name) == p.name:
			found = true
		default:
			if err := remove(fsys, path.Join(dir, name)); err != nil {
				return nil, err
			}
		}
	}
	if !found {
		if p.file, err = fsys.Create(p.name); err != nil {
			return nil, fmt.Errorf("create %s: %w", p.name, err)
		}
		return p, nil
	}
	if p.file, err = fsys.Open(p.name); err != nil {
		return nil, fmt.Errorf("open %s: %w", p.name, err)
	}
	if err := p.resume(); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// resume keeps the good batches that the file starts with. A crash may have left
// anything of what was never flushed. What is kept is written again: after a failed
// flush of the process before, the system may hold pages that it takes for written,
// and that no flush would write.
func (p *Partial) resume() error {
	size, err := p.file.Size()
	if err != nil {
		return fmt.Errorf("size of %s: %w", p.name, err)
	}
	s := newScanner(p.file, p.name, p.id, size)
	for s.next() {
		if err := p.write(s.batch.Bytes); err != nil {
			return err
		}
	}
	var corrupt *CorruptError
	if s.err != nil && !errors.As(s.err, &corrupt) {
		return s.err
	}
	if p.size < size {
		if err := p.file.Truncate(p.size); err != nil {
			return fmt.Errorf("cut %s: %w", p.name, err)
		}
	}
	return nil
}

// Append adds a chunk, which need not be whole batches, at a position: the size of
// what was received. Errors: ErrPosition, those of the file system.
func (p *Partial) Append(position int64, chunk []byte) error {
	if p.err != nil {
		return p.err
	}
	if position != p.size {
		return fmt.Errorf("snapshot %s: chunk at %d of %d: %w", p.id, position, p.size, ErrPosition)
	}
	return p.write(chunk)
}

// Verify does the work of Freeze that takes long, and leaves the name to it: it checks
// the file and flushes it. Errors as of Freeze.
func (p *Partial) Verify() error {
	if err := p.check(); err != nil {
		return err
	}
	if p.err = p.file.Sync(); p.err != nil {
		p.err = fmt.Errorf("flush %s: %w", p.name, p.err)
	}
	return p.err
}

// check reads the file, unless that was done and nothing has come since.
func (p *Partial) check() error {
	if p.err != nil || p.verified == p.size && p.size > 0 {
		return p.err
	}
	s := newScanner(p.file, p.name, p.id, p.size)
	for s.next() {
	}
	if s.err == nil {
		p.verified, p.voters = p.size, s.voters
	}
	return s.err
}

// Freeze checks that what was received is a whole snapshot, and makes it durable
// under its name, in place of one that has it. Errors: [*CorruptError], after which
// only Discard makes sense; those of the file system.
func (p *Partial) Freeze() error {
	if err := p.check(); err != nil {
		return err
	}
	return p.freeze()
}

// Discard removes what was received. After Freeze it does nothing.
func (p *Partial) Discard() error { return p.discard() }

// Close keeps what was received for the next Receive.
func (p *Partial) Close() error {
	err := p.close()
	p.gone = true
	return err
}
