package concerns

import (
	"errors"
	"fmt"
	"slices"

	"github.com/quorate/quorate/spec/bootstrap"
	"github.com/quorate/quorate/spec/clusterid"
	event "github.com/quorate/quorate/traces/event/concern"
)

// Levels of metadata.version: from transactionLevel on there are transactions (KIP-868,
// 3.6-IV1), from idLevel on there is a cluster id in the log (KIP-1262).
const (
	transactionLevel = 13
	idLevel          = 35
)

// firstContent is the first bootstrap.Content that stands for records that were recorded.
const firstContent = bootstrap.Empty + 1

// state is a node as the specification has it: what spec/bootstrap and spec/clusterid know of
// it but for the log, and what stands for that.
type state struct {
	c bootstrap.Controller
	n clusterid.Node
	// dirs are the log directories, that of the metadata log first; none before the first
	// event that tells of them.
	dirs []directory
	// names are directory ids by the number that the specification has for them, less one.
	// An empty one was drawn, and nobody has seen it.
	names []string
	// zeroKnown: it is known whether there is a zero checkpoint, and with it legacyKnown.
	zeroKnown, legacyKnown bool

	// log are the records that matter behind base: those that the machine has applied, and
	// behind those, from handed on, those that activation has handed over.
	log    []record
	handed int
	// base is what is below the log: in a snapshot, or folded.
	base     bootstrap.Image
	baseIDs  clusterid.Image
	loaded   int64 // up to where the machine has applied the log
	snapshot int64 // where the latest snapshot ends, 0 if there is none
	// older are snapshots that may be the latest one still, as the process may end before a
	// later one is whole.
	older []taken

	// claimed is the epoch in which the machine was told that it leads, 0 if it was not.
	// once are those before in this process.
	claimed int32
	once    []int32
	// rest is how many records of the bootstrap are still to be handed over behind its
	// metadata.version; resting: that was, and the rest as a whole was not.
	rest    int
	resting bool
	writes  event.File
	// transactions: the metadata.version that counts for activation has them.
	transactions bool
	stopped      bool // the process has said that it ends

	hidden int
	idle   bool // the event changed nothing
}

type directory struct {
	now, disk clusterid.Meta
	offline   bool
	known     bool
}

// taken is a snapshot with what it holds.
type taken struct {
	end  int64
	boot bootstrap.Image
	ids  clusterid.Image
}

// record is one that matters, or the set of the other records of a bootstrap.
type record struct {
	kind    bootstrap.Kind
	content bootstrap.Content
	id      clusterid.ID // of a ClusterIdRecord
	isID    bool
	level   int16
}

func (s *state) clone() *state {
	c := *s
	c.dirs, c.names, c.log = slices.Clone(s.dirs), slices.Clone(s.names), slices.Clone(s.log)
	c.older, c.once = slices.Clone(s.older), slices.Clone(s.once)
	return &c
}

// key tells states apart, whatever it took to get there.
func (s *state) key() string {
	c := *s
	c.hidden, c.idle = 0, false
	return fmt.Sprintf("%v", c)
}

// errBounds: a run has more of something than fits into a state of the specification. Whoever
// takes a step ends it so, and the verdict is that nothing is claimed.
var errBounds = errors.New("more than a state of the specification holds")

// maxContents bounds the bootstraps that can be told apart.
const maxContents = 200

// content gives records of a bootstrap a number.
func (v *validator) content(f event.File) bootstrap.Content {
	i := slices.Index(v.contents, f)
	if i < 0 {
		if i = len(v.contents); i == maxContents {
			panic(errBounds)
		}
		v.contents = append(v.contents, f)
	}
	return firstContent + bootstrap.Content(i)
}

// file is what has that number.
func (v *validator) file(c bootstrap.Content) event.File {
	if c < firstContent {
		return event.File{}
	}
	return v.contents[c-firstContent]
}

// ofLevel is the content of a metadata.version of which nothing more is known.
func (v *validator) ofLevel(level int16) bootstrap.Content {
	if level == 0 {
		return bootstrap.NoContent
	}
	return v.content(event.File{Level: level})
}

// cluster gives a cluster id a number.
func (v *validator) cluster(id string) (clusterid.ID, *refusal) {
	if id == "" {
		return clusterid.NoID, nil
	}
	i := slices.Index(v.clusters, id)
	if i < 0 {
		if i = len(v.clusters); i == int(clusterid.Drawn4) {
			return 0, because("cluster id %q is one more than the %d that the specification can tell apart", id, i)
		}
		v.clusters = append(v.clusters, id)
	}
	return clusterid.ID(i + 1), nil
}

func (v *validator) clusterName(id clusterid.ID) string {
	if id == clusterid.NoID {
		return ""
	}
	return v.clusters[id-1]
}

// most is how many records a view of the log may have, before what is applied is folded.
const most = 12

// fold puts what the applied records amount to in their place, outside of a transaction.
func (v *validator) fold(s *state) {
	if s.handed < most {
		return
	}
	boot, ids := s.base, s.baseIDs
	for _, r := range s.log[:s.handed] {
		boot, ids = r.apply(boot, ids)
	}
	if boot.Tx == 0 {
		s.base, s.baseIDs = boot, ids
		s.log, s.handed = slices.Clone(s.log[s.handed:]), 0
	}
}

// apply replays a record as both specifications do.
func (r record) apply(boot bootstrap.Image, ids clusterid.Image) (bootstrap.Image, clusterid.Image) {
	if r.kind != bootstrap.NoRecord {
		boot = boot.Apply(bootstrap.NewRecord(r.kind, 1, r.content))
	}
	if one := r.ofIDs(ids); one != 0 {
		ids = ids.Apply(one)
	}
	return boot, ids
}

// ofIDs is the record as spec/clusterid has it, behind what amounts to an image; 0: it knows
// none such.
func (r record) ofIDs(m clusterid.Image) clusterid.Record {
	kind := clusterid.NoRecord
	switch {
	case r.isID:
		kind = clusterid.ClusterID
	case r.kind == bootstrap.Begin:
		kind = clusterid.Begin
	case r.kind == bootstrap.End:
		kind = clusterid.End
	case r.kind == bootstrap.Abort:
		kind = clusterid.Abort
	case r.level >= idLevel:
		kind = clusterid.NewVersion
	case r.level > 0 && m.ID != clusterid.NoID:
		kind = clusterid.Downgrade
	case r.level > 0:
		kind = clusterid.Version
	default:
		return 0
	}
	return clusterid.NewRecord(kind, 1, 0, r.id)
}

// view is a controller with a log that has the records that matter, one in the place of
// others, and in the place of what is below them a snapshot or what has its effect.
type view struct {
	bootstrap.Controller
	at uint8 // the end of the log so far
}

func (w *view) put(k bootstrap.Kind, epoch uint8, c bootstrap.Content) {
	if w.at >= bootstrap.MaxLog-reserved {
		panic(errBounds)
	}
	w.Log[w.at] = bootstrap.NewRecord(k, epoch, c)
	w.at++
}

// reserved is room in a log for what one action appends.
const reserved = 5

// others puts one record in the place of those that do not matter.
func (w *view) others(epoch uint8) { w.put(bootstrap.Ordinary, epoch, bootstrap.NoContent) }

// Epochs of a view: that in which the node leads, and any other.
const (
	earlier uint8 = 1
	current uint8 = 2
)

// controller is the view of a node, of which Loaded is up to date.
func (s *state) controller() *view {
	w := &view{Controller: s.c}
	w.Epoch = current
	if s.claimed > 0 {
		w.Leading = 1
	}
	switch {
	case s.snapshot > 0:
		w.others(earlier)
		w.Snap, w.SnapVersion, w.SnapRest = w.at, s.base.Version, s.base.Rest
		w.LogStart = w.at
	case s.base.Version != bootstrap.NoContent:
		w.put(bootstrap.Version, earlier, s.base.Version)
		w.put(bootstrap.Rest, earlier, s.base.Rest)
	}
	for _, r := range s.log[:s.handed] {
		if r.kind != bootstrap.NoRecord {
			w.put(r.kind, earlier, r.content)
		}
	}
	if s.loaded > 0 && w.at == 0 {
		w.others(earlier)
	}
	w.Loaded = w.at
	return w
}

// handedOver puts what was handed over behind it.
func (w *view) handedOver(s *state) {
	for _, r := range s.log[s.handed:] {
		if r.kind != bootstrap.NoRecord {
			w.put(r.kind, current, r.content)
		}
	}
}

// take keeps of a view what is not of the log.
func (s *state) take(c bootstrap.Controller) {
	c.Log, c.LogStart, c.Epoch, c.Leading, c.Loaded = bootstrap.Log{}, 0, 0, 0, 0
	c.Snap, c.SnapVersion, c.SnapRest = 0, bootstrap.NoContent, bootstrap.NoContent
	s.c = c
}

// nodes are the views of a node in which the specification sees the directory of the metadata
// log and one of data: one view for each of those. A node that has none is to it as one whose
// data directory cannot be read.
func (s *state) nodes(only int, step func(n *clusterid.Node) bool) bool {
	was, dirs := s.n, slices.Clone(s.dirs)
	for d := 1; d < max(len(dirs), 2); d++ {
		if only > 0 && d != only {
			continue
		}
		n := was
		n.Meta[0], n.Disk[0], n.Offline = dirs[0].now, dirs[0].disk, 0
		n.Meta[1] = clusterid.Meta{Form: clusterid.Broken}
		n.Disk[1] = n.Meta[1]
		if d < len(dirs) {
			n.Meta[1], n.Disk[1] = dirs[d].now, dirs[d].disk
			if dirs[d].offline {
				n.Offline = 2
			}
		}
		s.seen(&n)
		if !step(&n) {
			return false
		}
		s.keep(n, d)
	}
	return true
}

// seen gives a node the log that its machine has applied, all of which is committed.
func (s *state) seen(n *clusterid.Node) {
	n.Log, n.SnapVersion, n.SnapID, n.LogStart = clusterid.Log{}, s.baseIDs.Version, s.baseIDs.ID, 0
	at, image := uint8(0), s.baseIDs
	for _, r := range s.log[:s.handed] {
		if one := r.ofIDs(image); one != 0 {
			if at == clusterid.MaxLog {
				panic(errBounds)
			}
			n.Log[at] = one
			image = image.Apply(one)
			at++
		}
	}
	n.HighWatermark, n.Leader = at, 1
}

// keep keeps of a view what is not of the log.
func (s *state) keep(n clusterid.Node, d int) {
	s.dirs[0].now, s.dirs[0].disk = n.Meta[0], n.Disk[0]
	if d < len(s.dirs) {
		s.dirs[d].now, s.dirs[d].disk = n.Meta[1], n.Disk[1]
		s.dirs[d].offline = n.Offline&2 != 0
	}
	n.Log, n.SnapVersion, n.SnapID, n.LogStart, n.HighWatermark, n.Leader = clusterid.Log{}, 0, clusterid.NoID, 0, 0, 0
	n.Meta, n.Disk, n.Offline = [clusterid.MaxDirs]clusterid.Meta{}, [clusterid.MaxDirs]clusterid.Meta{}, 0
	s.n = n
}

// forget empties the log.
func (s *state) forget() {
	s.log, s.handed, s.base, s.baseIDs = nil, 0, bootstrap.Image{}, clusterid.Image{}
	s.loaded, s.snapshot, s.older = 0, 0, nil
}
