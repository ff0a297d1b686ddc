package snapshot

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/quorate/quorate/impl/fs"
)

// List returns the snapshots in a directory, oldest first.
func List(fsys fs.FS, dir string) ([]ID, error) {
	names, err := fsys.List(dir)
	if err != nil {
		return nil, fmt.Errorf("list snapshots: %w", err)
	}
	var ids []ID
	for _, name := range names {
		if id, ok := ParseFileName(name); ok {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, ID.Compare)
	return ids, nil
}

// Latest returns the newest snapshot in a directory; false if there is none.
func Latest(fsys fs.FS, dir string) (ID, bool, error) {
	ids, err := List(fsys, dir)
	if err != nil || len(ids) == 0 {
		return ID{}, false, err
	}
	return ids[len(ids)-1], true, nil
}

// Delete removes a snapshot: it loses its name first, as in Kafka. It is not durable,
// and need not be: a crash may bring the snapshot back, whole. Error: fs.ErrNotExist,
// those of the file system.
func Delete(fsys fs.FS, dir string, id ID) error {
	name := path.Join(dir, id.FileName())
	gone := path.Join(dir, id.stem()+deletedSuffix)
	if err := fsys.Rename(name, gone); err != nil {
		return fmt.Errorf("delete snapshot %s: %w", id, err)
	}
	return remove(fsys, gone)
}

// Recover is for the start of a process. It removes what the last one left behind:
// snapshots that were being written or removed, and those being received that are not
// newer than what is there. It makes the names of the others durable, since the
// process may have died between renaming and flushing. It returns the snapshots,
// oldest first. The directory must exist.
func Recover(fsys fs.FS, dir string) ([]ID, error) {
	ids, err := List(fsys, dir)
	if err != nil {
		return nil, err
	}
	if err := fsys.SyncDir(dir); err != nil {
		return nil, fmt.Errorf("flush %s: %w", dir, err)
	}
	names, err := fsys.List(dir)
	if err != nil {
		return nil, fmt.Errorf("list snapshots: %w", err)
	}
	for _, name := range names {
		id, who, k := parse(name)
		left := k == deleted || k == partial && !strings.HasPrefix(who, "-from-") ||
			k == partial && len(ids) > 0 && id.Compare(ids[len(ids)-1]) <= 0
		if left {
			if err := remove(fsys, path.Join(dir, name)); err != nil {
				return nil, err
			}
		}
	}
	return ids, nil
}

// Covering returns the newest of the snapshots, given oldest first, that a log with a
// start offset is read after; false if there is none and the log starts at 0. It is an
// error if records are gone that no snapshot covers.
func Covering(ids []ID, start int64) (ID, bool, error) {
	for _, id := range slices.Backward(ids) {
		if id.End >= start {
			return id, true, nil
		}
	}
	if start > 0 {
		return ID{}, false, fmt.Errorf("the log starts at offset %d, and none of the snapshots %v covers what was before", start, ids)
	}
	return ID{}, false, nil
}

// Stale returns the snapshots that end before the start of the log: nothing is read
// after them. They may be deleted.
func Stale(ids []ID, start int64) []ID {
	var stale []ID
	for _, id := range ids {
		if id.End < start {
			stale = append(stale, id)
		}
	}
	return stale
}
