package metadata

import (
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/log"
	"github.com/quorate/quorate/impl/snapshot"
)

// LogDir is the directory of the metadata log, below metadata.log.dir.
const LogDir = "__cluster_metadata-0"

// LegacyFile is the file below metadata.log.dir in which Kafka up to 4.3 has the records
// that a cluster begins with. It is read and never written.
const LegacyFile = "bootstrap.checkpoint"

// ZeroID names the zero checkpoint: the snapshot of what is before a log begins.
var ZeroID = snapshot.ID{End: 0, Epoch: 0}

// Bootstrap is the content of a zero checkpoint or of a legacy file: what format has written,
// and nobody has committed.
type Bootstrap struct {
	// File is where it is from.
	File string
	// KRaftVersion and Voters are the half for the replica: the level of kraft.version, and
	// the voter set that a dynamic quorum begins with; none in a static one.
	KRaftVersion int16
	Voters       []log.Voter
	// Records are the half for the controller, with their frames, in order. A zero
	// checkpoint of Kafka up to 4.3 has none.
	Records [][]byte
	// Version is the level of metadata.version in Records, whether there is such a version
	// or not. 0: Records are empty.
	Version Version
	// ClusterID is that of the ClusterIdRecord in Records; empty if there is none.
	ClusterID string
}

// ReadZero reads the zero checkpoint below metadata.log.dir. ok is false if there is none,
// or if the log has a newer snapshot: then the zero checkpoint counts no more.
func ReadZero(fsys fs.FS, metadataLogDir string) (b Bootstrap, ok bool, err error) {
	dir := path.Join(metadataLogDir, LogDir)
	id, ok, err := snapshot.Latest(fsys, dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return b, false, nil
	case err != nil || !ok || id != ZeroID:
		return b, false, err
	}
	b, err = read(fsys, path.Join(dir, ZeroID.FileName()))
	return b, err == nil, err
}

// ReadLegacy reads bootstrap.checkpoint below metadata.log.dir. ok is false if there is
// none.
func ReadLegacy(fsys fs.FS, metadataLogDir string) (b Bootstrap, ok bool, err error) {
	b, err = read(fsys, path.Join(metadataLogDir, LegacyFile))
	if errors.Is(err, fs.ErrNotExist) {
		return b, false, nil
	}
	return b, err == nil, err
}

// read reads a file. Records that are there must set metadata.version
// (BootstrapMetadata.fromRecords). Errors name the file.
func read(fsys fs.FS, name string) (Bootstrap, error) {
	b := Bootstrap{File: name}
	r, err := snapshot.OpenFile(fsys, name, ZeroID)
	if err != nil {
		return b, fmt.Errorf("%s: %w", name, err)
	}
	defer r.Close()
	b.KRaftVersion, b.Voters = r.KRaftVersion(), r.Voters()
	err = r.Records(func(value []byte) error {
		record, err := Decode(value)
		if err != nil {
			return fmt.Errorf("record %d: %w", len(b.Records), err)
		}
		switch {
		case record.Feature == VersionFeature:
			b.Version = Version(record.Level)
		case record.ClusterID != "" && b.ClusterID != "" && record.ClusterID != b.ClusterID:
			return fmt.Errorf("record %d: cluster id %q, and before it %q", len(b.Records), record.ClusterID, b.ClusterID)
		case record.ClusterID != "":
			b.ClusterID = record.ClusterID
		}
		b.Records = append(b.Records, slices.Clone(value))
		return nil
	})
	if err == nil && len(b.Records) > 0 && b.Version == 0 {
		err = fmt.Errorf("none of its %d records sets %s", len(b.Records), VersionFeature)
	}
	if err != nil {
		return b, fmt.Errorf("%s: %w", name, err)
	}
	return b, nil
}

// IsVoter says whether a node is in the voter set that a dynamic quorum begins with.
func (b Bootstrap) IsVoter(node int32) bool {
	return slices.ContainsFunc(b.Voters, func(v log.Voter) bool { return v.ID == node })
}
