package fs

import (
	"os"
	"path/filepath"
)

// OS is the file system of the operating system. Paths are as it takes them.
type OS struct{}

var _ FS = OS{}

type osFile struct{ *os.File }

func (f osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Create implements [FS].
func (OS) Create(name string) (File, error) {
	return openOS(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
}

// Open implements [FS].
func (OS) Open(name string) (File, error) {
	return openOS(name, os.O_RDWR)
}

// OpenRead implements the optional method of [OpenRead].
func (OS) OpenRead(name string) (File, error) {
	return openOS(name, os.O_RDONLY)
}

func openOS(name string, flag int) (File, error) {
	f, err := os.OpenFile(name, flag, 0o644)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

// Rename implements [FS].
func (OS) Rename(from, to string) error { return os.Rename(from, to) }

// Remove implements [FS].
func (OS) Remove(name string) error { return os.Remove(name) }

// List implements [FS].
func (OS) List(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir) // sorted
	if err != nil {
		return nil, err
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, nil
}

// Mkdir implements [FS].
func (OS) Mkdir(dir string) error { return os.Mkdir(dir, 0o755) }

// SyncDir implements [FS].
func (OS) SyncDir(dir string) error {
	d, err := os.Open(filepath.Clean(dir))
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
