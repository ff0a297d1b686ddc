package metaprops

import (
	"fmt"
	"slices"

	"github.com/quorate/quorate/impl/fs"
)

// Persist writes the files of directories, in the order given: those of data, and last, if
// it is among them, that of the metadata log, whose path is given. A data directory that
// cannot be written goes offline, as one whose disk fails later would; without that of the
// metadata log there is no going on. When it returns nil, all that are online are durable,
// and what they say may be used: not before (KIP-1262).
func Persist(fsys fs.FS, write []Dir, metadata string, offline func(Dir, error)) error {
	for _, d := range write {
		err := Write(fsys, d.Path, d.Properties)
		switch {
		case err == nil:
		case d.Path == metadata:
			return fmt.Errorf("metadata directory %s: %w", d.Path, err)
		default:
			offline(d, err)
		}
	}
	return nil
}

// Settle is for a start, before it uses what it has read: a process before may have been
// killed between renaming a file and flushing its directory, so that a loss of power still
// takes back what this one is going to tell others. Offline is as in [Persist].
func Settle(fsys fs.FS, dirs []Dir, metadata string, offline func(Dir, error)) error {
	for _, d := range dirs {
		if !d.Formatted {
			continue
		}
		err := fsys.SyncDir(d.Path)
		switch {
		case err == nil:
		case d.Path == metadata:
			return fmt.Errorf("flush metadata directory %s: %w", d.Path, err)
		default:
			offline(d, err)
		}
	}
	return nil
}

// Adopting are directories, given as they are, that of the metadata log first, as they have
// to be written when the node has learned its cluster id: with all else as it was, in the
// order that [Persist] asks for. Those that have the id stay.
func Adopting(dirs []Dir, id string) (write []Dir) {
	for _, d := range slices.Backward(dirs) {
		if d.ClusterID == "" {
			d.ClusterID = id
			write = append(write, d)
		}
	}
	return write
}
