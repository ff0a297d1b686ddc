package metadata

import (
	"errors"
	"path"
	"strings"

	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/snapshot"
)

// Local is what a metadata log directory tells before a replica is started on it.
type Local struct {
	// HasZero: there is a zero checkpoint, whether it still counts or not.
	HasZero bool
	// ZeroClusterID and SnapshotClusterID are the cluster ids of the zero checkpoint, if it
	// still counts, and of the latest snapshot, whose records were committed. Of what is in
	// the log itself a node cannot say at its start what of it was.
	ZeroClusterID, SnapshotClusterID string
	// HasLog: there is a log, a snapshot of one, or the state of a replica.
	HasLog bool
}

// ReadLocal reads the metadata log directory below metadata.log.dir. Beside an error, which
// is about a checkpoint that cannot be read, all else is right.
func ReadLocal(fsys fs.FS, metadataLogDir string) (l Local, err error) {
	dir := path.Join(metadataLogDir, LogDir)
	names, err := fsys.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err != nil {
		return l, err
	}
	newest, found := ZeroID, false
	for _, name := range names {
		id, ok := snapshot.ParseFileName(name)
		switch {
		case ok && id == ZeroID:
			l.HasZero = true
		case ok:
			l.HasLog = true
			if !found || newest.Compare(id) < 0 {
				newest, found = id, true
			}
		case strings.HasSuffix(name, ".log"), name == "quorum-state":
			l.HasLog = true
		}
	}
	switch {
	case found:
		l.SnapshotClusterID, err = clusterIDOf(fsys, dir, newest)
	case l.HasZero:
		var b Bootstrap
		b, _, err = ReadZero(fsys, metadataLogDir)
		l.ZeroClusterID = b.ClusterID
	}
	return l, err
}

// clusterIDOf is the cluster id in a snapshot, empty if there is none. A snapshot may be of
// something else than metadata records, which have none.
func clusterIDOf(fsys fs.FS, dir string, of snapshot.ID) (id string, err error) {
	r, err := snapshot.Open(fsys, dir, of)
	if err != nil {
		return "", err
	}
	defer r.Close()
	err = r.Records(func(value []byte) error {
		if record, err := Decode(value); err == nil && record.ClusterID != "" {
			id = record.ClusterID
		}
		return nil
	})
	return id, err
}
