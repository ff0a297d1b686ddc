package objects

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Dir is a directory, which may be shared by processes and machines. Whoever finds an
// object in it finds all of it: it is written beside, under a name that no key has,
// flushed, linked to its name, and the directory flushed.
type Dir struct{ root string }

// partial is where what is being written is, below the root.
const partial = ".partial"

// NewDir makes the directory if it is missing.
func NewDir(root string) (*Dir, error) {
	if err := os.MkdirAll(filepath.Join(root, partial), 0o755); err != nil {
		return nil, err
	}
	return &Dir{root: root}, nil
}

// path of a key, which must not lead out of the root.
func (d *Dir) path(key string) (string, error) {
	bad := func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-._/", r))
	}
	if !fs.ValidPath(key) || key == "." || strings.HasPrefix(key, ".") || strings.ContainsFunc(key, bad) {
		return "", fmt.Errorf("%q is no key of an object", key)
	}
	return filepath.Join(d.root, filepath.FromSlash(key)), nil
}

// Put implements [Store].
func (d *Dir) Put(ctx context.Context, key string, r io.Reader) error {
	name, err := d.path(key)
	if err != nil {
		return err
	}
	tmp := filepath.Join(d.root, partial, rand.Text())
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer os.Remove(tmp)
	err = copyFlushed(f, Until(ctx, r))
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", key, err)
	}
	if err := d.mkdir(filepath.Dir(name)); err != nil {
		return err
	}
	// A link fails if the name is taken, also by another process; a rename would not.
	if err := os.Link(tmp, name); errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s: %w", key, ErrExist)
	} else if err != nil {
		return err
	}
	return syncDir(filepath.Dir(name))
}

// flushed is how much is written before the disk has to have it. What waits to be written
// when somebody flushes another file of the same disk, a journal say, keeps him waiting.
const flushed = 1 << 20

func copyFlushed(f *os.File, r io.Reader) error {
	for at := int64(0); ; {
		n, err := io.CopyN(f, r, flushed)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if n < flushed {
			return f.Sync()
		}
		if err := writeBack(f, at, n); err != nil {
			return err
		}
		at += n
	}
}

// mkdir makes the directories of a key, each durably.
func (d *Dir) mkdir(dir string) error {
	if _, err := os.Stat(dir); err == nil || dir == d.root {
		return err
	}
	parent := filepath.Dir(dir)
	if err := d.mkdir(parent); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDir(parent)
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// Get implements [Store].
func (d *Dir) Get(_ context.Context, key string) (io.ReadCloser, error) {
	name, err := d.path(key)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", key, ErrNotExist)
	}
	return f, err
}

// List implements [Store].
func (d *Dir) List(ctx context.Context, prefix string) (all []Object, err error) {
	err = filepath.WalkDir(d.root, func(name string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // deleted meanwhile
		}
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		key, err := filepath.Rel(d.root, name)
		if err != nil {
			return err
		}
		key = filepath.ToSlash(key)
		if e.IsDir() {
			if key == partial {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasPrefix(key, prefix) {
			return nil
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		all = append(all, Object{Key: key, Size: info.Size(), Time: info.ModTime()})
		return nil
	})
	slices.SortFunc(all, func(a, b Object) int { return strings.Compare(a.Key, b.Key) })
	return all, err
}

// Sweep removes what was begun so long ago, and never became an object.
func (d *Dir) Sweep(_ context.Context, age time.Duration) error {
	entries, err := os.ReadDir(filepath.Join(d.root, partial))
	for _, e := range entries {
		if info, e2 := e.Info(); e2 == nil && time.Since(info.ModTime()) >= age {
			err = errors.Join(err, os.Remove(filepath.Join(d.root, partial, e.Name())))
		}
	}
	return err
}

// Delete implements [Store].
func (d *Dir) Delete(_ context.Context, key string) error {
	name, err := d.path(key)
	if err != nil {
		return err
	}
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return syncDir(filepath.Dir(name))
}
