package snapshot

import (
	"errors"
	"fmt"
	"path"

	"github.com/quorate/quorate/impl/fs"
)

// ErrClosed: the snapshot was frozen, aborted, discarded or closed.
var ErrClosed = errors.New("snapshot is closed")

// part is a file that becomes a snapshot.
type part struct {
	fsys fs.FS
	dir  string
	id   ID
	name string
	file fs.File
	size int64
	err  error // sticky
	// gone: there is no .part of ours any more.
	gone bool
}

// ID returns the name of the snapshot.
func (p *part) ID() ID { return p.id }

// Size returns how many bytes the file has.
func (p *part) Size() int64 { return p.size }

func (p *part) write(b []byte) error {
	if p.err != nil {
		return p.err
	}
	if _, err := p.file.WriteAt(b, p.size); err != nil {
		p.err = fs.About("write", p.name, err)
		return p.err
	}
	p.size += int64(len(b))
	return nil
}

// freeze flushes the file, gives it its name, and flushes that: in this order, or a
// crash could leave a snapshot that is not whole.
func (p *part) freeze() error {
	to := path.Join(p.dir, p.id.FileName())
	if p.err = p.file.Sync(); p.err != nil {
		p.err = fmt.Errorf("flush %s: %w", p.name, p.err)
		return p.err
	}
	if p.err = p.fsys.Rename(p.name, to); p.err != nil {
		p.err = fmt.Errorf("rename %s: %w", p.name, p.err)
		return p.err
	}
	p.gone = true
	if p.err = p.fsys.SyncDir(p.dir); p.err != nil {
		p.err = fmt.Errorf("flush directory of %s: %w", to, p.err)
		return p.err
	}
	return p.close()
}

func (p *part) close() error {
	if errors.Is(p.err, ErrClosed) {
		return nil
	}
	p.err = fmt.Errorf("%s: %w", p.id, ErrClosed)
	if err := p.file.Close(); err != nil {
		return fmt.Errorf("close %s: %w", p.name, err)
	}
	return nil
}

// discard closes and removes the file, unless it is a snapshot already.
func (p *part) discard() error {
	err := p.close()
	if p.gone {
		return err
	}
	p.gone = true
	return errors.Join(err, remove(p.fsys, p.name))
}

// remove removes a file, which may be gone already.
func remove(fsys fs.FS, name string) error {
	if err := fsys.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove %s: %w", name, err)
	}
	return nil
}
