package format

import (
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/log"
	"github.com/quorate/quorate/impl/metadata"
	"github.com/quorate/quorate/impl/metaprops"
	"github.com/quorate/quorate/impl/snapshot"
)

// Formatted is a directory that was formatted.
type Formatted struct {
	metaprops.Dir
	// Kind is what it is, in words.
	Kind string
}

// Check holds the options to what the directories have, and changes nothing. todo is how
// many are to be formatted: those without meta.properties, and those of version 2 that have
// no cluster id yet.
func (p *Plan) Check(fsys fs.FS) (todo int, err error) {
	dirs, err := p.todo(fsys)
	return len(dirs), err
}

// todo are the directories that are to be written, with what they are to have; that of the
// metadata log last.
func (p *Plan) todo(fsys fs.FS) ([]metaprops.Dir, error) {
	set, err := metaprops.Load(fsys, p.o.Dirs)
	if err != nil {
		return nil, err
	}
	for _, d := range set.Dirs {
		if d.Formatted && !p.o.IgnoreFormatted {
			return nil, fmt.Errorf("%s is already formatted, for node %d of cluster %q; -ignore-formatted leaves it as it is and formats the others",
				d.Path, d.NodeID, d.ClusterID)
		}
	}
	if err := set.Check(p.o.Node, p.o.ClusterID); err != nil {
		return nil, err
	}
	if id := set.ClusterID(); p.o.ClusterID == "" && id != "" {
		return nil, fmt.Errorf("the directories are of cluster %q: -cluster-id is to say so", id)
	}
	var todo []metaprops.Dir
	for i, d := range slices.Backward(set.Dirs) {
		switch {
		case !d.Formatted:
			d.Properties = metaprops.Properties{Version: p.metaVersion(), ClusterID: p.o.ClusterID, NodeID: p.o.Node, Directory: p.directory(i)}
		case d.Version == 2 && d.ClusterID != p.o.ClusterID:
			d.ClusterID = p.o.ClusterID
		default:
			continue
		}
		set.Dirs[i] = d
		todo = append(todo, d)
	}
	// Once more, since the metadata directory of a voter does not draw its id.
	return todo, set.Check(p.o.Node, p.o.ClusterID)
}

// metaVersion is that of meta.properties: 1, which older software reads too, unless the
// cluster id is missing.
func (p *Plan) metaVersion() int {
	if p.o.ClusterID == "" {
		return 2
	}
	return 1
}

// directory is the id of a directory: that of a voter is in the voter set.
func (p *Plan) directory(i int) metaprops.DirectoryID {
	if v := p.voter(); i == 0 && v >= 0 {
		return metaprops.DirectoryID(p.voters[v].Directory)
	}
	return p.o.NewID()
}

func (p *Plan) voter() int {
	return slices.IndexFunc(p.voters, func(v log.Voter) bool { return v.ID == p.o.Node })
}

// Run formats what Check says is to be formatted, and calls done for each directory when
// it is durable. Those that were formatted are so durably, too.
func (p *Plan) Run(fsys fs.FS, done func(Formatted)) error {
	todo, err := p.todo(fsys)
	if err != nil {
		return err
	}
	// A directory that is formatted already may have been so by a process that was killed
	// before it had flushed that.
	for _, dir := range p.o.Dirs {
		if slices.ContainsFunc(todo, func(d metaprops.Dir) bool { return d.Path == dir }) {
			continue
		}
		if err := fsys.SyncDir(dir); err != nil {
			return fmt.Errorf("flush directory %s: %w", dir, err)
		}
	}
	for _, d := range todo {
		metadataDir := d.Path == p.o.Dirs[0]
		if err := fs.MkdirAll(fsys, d.Path); err != nil {
			return err
		}
		if metadataDir && p.o.Controller && !d.Formatted {
			if err := p.writeZero(fsys, d.Path); err != nil {
				return err
			}
		}
		if err := metaprops.Write(fsys, d.Path, d.Properties); err != nil {
			return err
		}
		d.Formatted = true
		done(Formatted{d, p.kind(metadataDir)})
	}
	return nil
}

// kind is what kafka-storage calls a directory.
func (p *Plan) kind(metadataDir bool) string {
	switch {
	case !metadataDir:
		return "data"
	case p.voter() >= 0:
		return "dynamic metadata voter"
	case p.voters != nil:
		return "dynamic metadata"
	}
	return "metadata"
}

// writeZero writes the zero checkpoint, in place of one that is there.
func (p *Plan) writeZero(fsys fs.FS, dir string) error {
	dir = path.Join(dir, metadata.LogDir)
	if err := fs.MkdirAll(fsys, dir); err != nil {
		return err
	}
	var controls []log.ControlRecord
	if p.kraft > 0 {
		controls = append(controls, log.KRaftVersionControl(p.kraft))
	}
	if p.voters != nil {
		controls = append(controls, log.KRaftVotersControl(p.voters))
	}
	w, err := snapshot.Replace(fsys, dir, metadata.ZeroID, p.o.Timestamp, controls...)
	if err != nil {
		return err
	}
	if err := w.Append(p.records); err != nil {
		return errors.Join(err, w.Abort())
	}
	if err := w.Freeze(); err != nil {
		return errors.Join(err, w.Abort())
	}
	return nil
}
