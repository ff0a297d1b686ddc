package state

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/quorate/quorate/impl/registry/pace"
	"modernc.org/sqlite"
	"modernc.org/sqlite/vfs"
)

// stepPages is how many pages are copied at a time, some tenths of a millisecond's work.
const stepPages = 32

// ErrNoRoom: a copy would fill the disk, and the database, which is on the same one, could not
// be written any more.
var ErrNoRoom = errors.New("no room for a copy of the database")

// spare is what a copy leaves free.
const spare = 8 << 20

// room says whether a copy, and half of it again for what is made of it, leave the disk of the
// database with something to spare.
func (d *DB) room() error {
	var size int64
	for _, suffix := range []string{"", "-wal"} {
		if info, err := os.Stat(d.path + suffix); err == nil {
			size += info.Size()
		}
	}
	free, err := d.free(filepath.Dir(d.path))
	if err != nil {
		return fmt.Errorf("free space of %s: %w", filepath.Dir(d.path), err)
	}
	if need := size + size/2 + spare; free < need {
		return fmt.Errorf("%w: %s has %d MB free, and %d are needed", ErrNoRoom, filepath.Dir(d.path), free>>20, need>>20)
	}
	return nil
}

// CopyTo writes a copy of the database, as it is at one moment, to a file, which must not
// exist, beside whoever reads and writes, and at a pace. It is not flushed. Errors: ErrNoRoom.
func (d *DB) CopyTo(ctx context.Context, path string, p *pace.Pacer) error {
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("copy to %s: %w", path, errors.Join(os.ErrExist, err))
	}
	if err := d.room(); err != nil {
		return err
	}
	// A connection of its own: the copy's long read must not hold one of the readers'.
	db, err := sql.Open("sqlite", dsn(d.path, "_pragma=query_only(1)"))
	if err != nil {
		return err
	}
	defer db.Close()
	c, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	// While a transaction reads, all pages are those of one moment, however many steps
	// the copy takes; without one, each write would have it begin anew.
	if _, err := c.ExecContext(ctx, `BEGIN`); err != nil {
		return err
	}
	defer c.ExecContext(context.WithoutCancel(ctx), `ROLLBACK`)
	var off int64
	if err := c.QueryRowContext(ctx, `SELECT off FROM position`).Scan(&off); err != nil {
		return err
	}
	if err := copyPages(ctx, c, path, p); err != nil {
		return err
	}
	// The copy has no log of its own, and can be read where nothing can be written.
	out, err := sql.Open("sqlite", dsn(path, "_pragma=synchronous(off)"))
	if err != nil {
		return err
	}
	_, err = out.ExecContext(ctx, `PRAGMA journal_mode = delete`)
	return errors.Join(err, out.Close())
}

func copyPages(ctx context.Context, c *sql.Conn, path string, p *pace.Pacer) error {
	return c.Raw(func(driver any) error {
		source, ok := driver.(interface {
			NewBackup(to string) (*sqlite.Backup, error)
		})
		if !ok {
			return fmt.Errorf("a %T copies no pages", driver)
		}
		b, err := source.NewBackup(dsn(path, "_pragma=journal_mode(off)", "_pragma=synchronous(off)"))
		if err != nil {
			return err
		}
		for more := true; more && err == nil; {
			if more, err = b.Step(stepPages); err == nil {
				err = p.Step(ctx)
			}
		}
		return errors.Join(err, b.Finish())
	})
}

// openCopy opens a copy for reading. With a pacer every page is read at its pace.
func openCopy(path string, p *pace.Pacer) (db *sql.DB, done func() error, err error) {
	if p == nil {
		db, err = sql.Open("sqlite", dsn(path, "mode=ro", "immutable=1"))
		if err != nil {
			return nil, nil, err
		}
		return db, db.Close, nil
	}
	name, files, err := vfs.New(pacedDir{filepath.Dir(path), p})
	if err != nil {
		return nil, nil, err
	}
	db, err = sql.Open("sqlite", dsn(filepath.Base(path), "mode=ro", "immutable=1", "vfs="+name))
	if err != nil {
		return nil, nil, errors.Join(err, files.Close())
	}
	return db, func() error { return errors.Join(db.Close(), files.Close()) }, nil
}

// pacedDir are the files of a directory, read at a pace.
type pacedDir struct {
	dir string
	p   *pace.Pacer
}

func (d pacedDir) Open(name string) (fs.File, error) {
	f, err := os.Open(filepath.Join(d.dir, strings.TrimPrefix(name, "/")))
	if err != nil {
		return nil, err
	}
	return pacedFile{f, d.p}, nil
}

type pacedFile struct {
	*os.File
	p *pace.Pacer
}

func (f pacedFile) Read(b []byte) (int, error) {
	_ = f.p.Step(context.Background()) // the end of a context is noticed by who asks
	return f.File.Read(b)
}
