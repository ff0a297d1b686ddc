package metaprops

import (
	"errors"
	"fmt"
	"path"
	"slices"
)

// Start is what, beside the log directories, decides how a node starts.
type Start struct {
	// Node is node.id.
	Node int32
	// Bootstrap: the node takes part in the election of the first leader, so that its
	// directories must be formatted ([IsBootstrap]).
	Bootstrap bool
	// Zero is the cluster id in the zero checkpoint, Snapshot that in the latest snapshot
	// of what was committed. Empty: there is none.
	Zero, Snapshot string
	// HasLog: the metadata directory has a log, or a snapshot of one.
	HasLog bool
	// KeepLog: a node that does not know its cluster goes on with the log that it has. It
	// is for voters that are not formatted (the second revision of KIP-1262).
	KeepLog bool
}

// IsBootstrap says whether a node is a bootstrap controller of KIP-1262: a voter of a static
// quorum, unless those may start unformatted (the second revision), or a controller with a
// zero checkpoint. That is more than there are: format gives a zero checkpoint to a
// controller that is no voter, too.
func IsBootstrap(controller, staticVoter, hasZero, unformattedVoters bool) bool {
	if staticVoter {
		return !unformattedVoters
	}
	return controller && hasZero
}

// Decision is how a node starts.
type Decision struct {
	// ClusterID is that of the node; empty: it is to be learned from the quorum.
	ClusterID string
	// Directory is the id of the metadata directory.
	Directory DirectoryID
	// Write are the directories whose file is to be written before anything else, in this
	// order, that of the metadata log last: who has that has tried all others.
	Write []Dir
	// Offline are data directories that cannot be read, each with its Err.
	Offline []Dir
	// Online are the others, as they are once Write is done; that of the metadata log first.
	Online Set
	// DropLog: the log may be that of another cluster, and nothing tells. It is to be
	// removed before anything is fetched, which an observer may always do.
	DropLog bool
	// Row is that of the table in docs/kip-1262.md.
	Row string
}

// ErrNotFormatted is wrapped by errors of directories that format has to prepare.
var ErrNotFormatted = errors.New("not formatted")

// Decide is the table of starts of docs/kip-1262.md. The set is what [Load] has read, the
// directory of the metadata log first. newID draws directory ids. Errors name files, and
// what is in them stays as it is.
func (s Set) Decide(o Start, newID func() DirectoryID) (Decision, error) {
	if len(s.Dirs) == 0 {
		return Decision{}, errors.New("there is no log directory")
	}
	for i, dir := range s.Dirs { // rows 10, 14, 15, 16, 17
		if dir.Err != nil && (i == 0 || errors.Is(dir.Err, errReserved)) {
			return Decision{}, dir.Err
		}
	}
	if err := s.readable().Check(o.Node, ""); err != nil { // rows 8, 13, 14
		return Decision{}, err
	}
	var d Decision
	var missing, bare []string
	for _, dir := range s.Dirs {
		switch {
		case dir.Err != nil: // rows 9, 15
			d.Offline = append(d.Offline, dir)
		case !dir.Formatted:
			missing = append(missing, dir.Path)
		case dir.Version == 0 && dir.ClusterID == "": // row 12
			return Decision{}, fmt.Errorf("%s has version 0 and no cluster.id: it cannot be told whose it is", path.Join(dir.Path, FileName))
		case dir.ClusterID == "":
			bare = append(bare, dir.Path)
		}
	}
	d.ClusterID = s.readable().ClusterID()
	if err := o.refuse(s, d.ClusterID, missing, bare); err != nil {
		return Decision{}, err
	}
	d.Row = row(d.ClusterID, len(missing), len(bare), len(s.Dirs)-len(d.Offline))
	if d.ClusterID == "" && o.Snapshot != "" {
		d.ClusterID, d.Row = o.Snapshot, "18, 21"
	}
	if d.DropLog = d.ClusterID == "" && o.HasLog && !o.KeepLog; d.DropLog {
		d.Row = "18"
	}
	for i, dir := range slices.Backward(s.Dirs) {
		if dir.Err != nil {
			continue
		}
		if anew, ok := completed(dir, o.Node, d.ClusterID, newID); ok {
			dir.Properties, dir.Formatted = anew, true
			d.Write = append(d.Write, dir)
		}
		d.Online.Dirs = append(d.Online.Dirs, dir)
		if i == 0 {
			d.Directory = dir.Directory
		}
	}
	slices.Reverse(d.Online.Dirs)
	return d, nil
}

// readable is the set without directories that cannot be read.
func (s Set) readable() Set {
	return Set{slices.DeleteFunc(slices.Clone(s.Dirs), func(d Dir) bool { return d.Err != nil })}
}

// refuse is what stops a start that no single file stops.
func (o Start) refuse(s Set, id string, missing, bare []string) error {
	switch {
	case o.Bootstrap && len(missing) > 0: // rows 1, 6, 7, 18
		return fmt.Errorf("%s is %w, as a controller that takes part in the first election must be "+
			"(a voter that has lost its disk must not come back empty)", missing[0], ErrNotFormatted)
	case o.Bootstrap && id == "": // rows 4, 7, 21
		return fmt.Errorf("%s has no cluster.id, and a controller that takes part in the first election must know it: format -cluster-id writes it",
			path.Join(bare[0], FileName))
	case id == "":
		return nil
	case o.Snapshot != "" && o.Snapshot != id: // row 20
		return fmt.Errorf("%s is of cluster %q, and the snapshot of the log beside it of cluster %q", s.idFile(id), id, o.Snapshot)
	case o.Zero != "" && o.Zero != id:
		return fmt.Errorf("%s is of cluster %q, and the zero checkpoint of cluster %q", s.idFile(id), id, o.Zero)
	}
	return nil
}

// idFile is a file that has the cluster id.
func (s Set) idFile(id string) string {
	for _, d := range s.Dirs {
		if d.Err == nil && d.ClusterID == id {
			return path.Join(d.Path, FileName)
		}
	}
	return FileName
}

// row names the row of the table by how many directories are missing, or have no id.
func row(id string, missing, bare, all int) string {
	switch {
	case missing == all:
		return "1"
	case id == "" && missing == 0:
		return "4"
	case id == "":
		return "7"
	case missing > 0:
		return "6"
	case bare > 0:
		return "5"
	}
	return "2, 3, 11"
}

// completed is what a file has to become, false if it may stay. One that is missing is
// written in version 2; one that is there keeps its version and its ids.
func completed(d Dir, node int32, id string, newID func() DirectoryID) (Properties, bool) {
	p := d.Properties
	switch {
	case !d.Formatted:
		return Properties{Version: 2, ClusterID: id, NodeID: node, Directory: newID()}, true
	case p.Version == 0 || p.ClusterID != "" && p.Directory != DirectoryID{}:
		return p, false
	case p.ClusterID == id && p.Directory != DirectoryID{}:
		return p, false
	}
	p.ClusterID = id
	if p.Directory == (DirectoryID{}) {
		p.Directory = newID()
	}
	return p, true
}
