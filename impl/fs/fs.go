package fs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
)

// Errors that every implementation wraps; test with errors.Is.
var (
	// ErrNotExist says that a file or directory is missing.
	ErrNotExist = fs.ErrNotExist
	// ErrExist says that a directory to be made is there already.
	ErrExist = fs.ErrExist
	// ErrPermission says that the process may not do that.
	ErrPermission = fs.ErrPermission
)

// FS is a file system. Paths use forward slashes. Nothing but [File.Sync] and
// SyncDir makes anything durable, and neither does the other's work: a file that
// was flushed is lost with its name if the directory was not.
type FS interface {
	// Create opens a file for reading and writing, emptied if it exists.
	Create(name string) (File, error)
	// Open opens an existing file for reading and writing.
	Open(name string) (File, error)
	// Rename gives a file another name in the same directory, in place of the
	// file that had it. After a crash the name leads to the one or to the other.
	Rename(from, to string) error
	// Remove removes a file.
	Remove(name string) error
	// List returns the names in a directory, sorted.
	List(dir string) ([]string, error)
	// Mkdir makes a directory; its parent must exist.
	Mkdir(dir string) error
	// SyncDir makes the names in a directory durable.
	SyncDir(dir string) error
}

// File is an open file. It has no position: every access names its offset in
// bytes.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	// Size returns the length in bytes.
	Size() (int64, error)
	// Truncate changes the length; what is added reads as zeros.
	Truncate(size int64) error
	// Sync makes content and length durable, not the name. After it has failed
	// nothing is known of what was written since the last success, and another
	// Sync that succeeds does not change that: stop using the file.
	Sync() error
}

// OpenRead opens an existing file for reading: also one that may not be written,
// as Kafka leaves its snapshots, if the file system has a method of this name.
func OpenRead(fsys FS, name string) (File, error) {
	if r, ok := fsys.(interface {
		OpenRead(name string) (File, error)
	}); ok {
		return r.OpenRead(name)
	}
	return fsys.Open(name)
}

// ReadFile returns the content of a file.
func ReadFile(fsys FS, name string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, fmt.Errorf("size of %s: %w", name, err)
	}
	b := make([]byte, size)
	if n, err := f.ReadAt(b, 0); err != nil && !(errors.Is(err, io.EOF) && n == len(b)) {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return b, nil
}

// WriteFile durably puts a file in place of the one that had the name: a crash
// at any moment leaves the old content or the new. It writes name.tmp, flushes
// it, renames it and flushes the directory, as Kafka does
// (Utils.atomicMoveWithFallback, CheckpointFile.write).
func WriteFile(fsys FS, name string, content []byte) error {
	tmp := name + ".tmp"
	if err := writeNew(fsys, tmp, content); err != nil {
		return err
	}
	if err := fsys.Rename(tmp, name); err != nil {
		return fmt.Errorf("rename %s: %w", tmp, err)
	}
	if err := fsys.SyncDir(path.Dir(name)); err != nil {
		return fmt.Errorf("flush directory of %s: %w", name, err)
	}
	return nil
}

// About says what was done with which file when an error came about, unless the error does:
// those of an operating system have both.
func About(op, name string, err error) error {
	var says *fs.PathError
	if errors.As(err, &says) && says.Path == name {
		return err
	}
	return fmt.Errorf("%s %s: %w", op, name, err)
}

func writeNew(fsys FS, name string, content []byte) error {
	f, err := fsys.Create(name)
	if err != nil {
		return About("create", name, err)
	}
	defer f.Close()
	if _, err := f.WriteAt(content, 0); err != nil {
		return About("write", name, err)
	}
	if err := f.Sync(); err != nil {
		return About("flush", name, err)
	}
	return nil
}

// MkdirAll makes a directory and those above it that are missing, and makes their names
// durable, each before there is anything in it: one that was there before may have been
// made by a process that was killed right then.
func MkdirAll(fsys FS, dir string) error {
	var missing []string
	at := path.Clean(dir)
	for {
		_, err := fsys.List(at)
		if err == nil {
			break
		}
		if !errors.Is(err, ErrNotExist) || path.Dir(at) == at {
			return fmt.Errorf("list %s: %w", at, err)
		}
		missing = append(missing, at)
		at = path.Dir(at)
	}
	// Who may not even read what is above has not made what is in it.
	if err := fsys.SyncDir(path.Dir(at)); err != nil && !errors.Is(err, ErrPermission) {
		return fmt.Errorf("flush directory %s: %w", path.Dir(at), err)
	}
	for _, made := range slices.Backward(missing) {
		if err := fsys.Mkdir(made); err != nil && !errors.Is(err, ErrExist) { // another process may have
			return fmt.Errorf("make %s: %w", made, err)
		}
		if err := fsys.SyncDir(path.Dir(made)); err != nil {
			return fmt.Errorf("flush directory %s: %w", path.Dir(made), err)
		}
	}
	return nil
}
