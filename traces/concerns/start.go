package concerns

import (
	"slices"

	"github.com/quorate/quorate/spec/bootstrap"
	"github.com/quorate/quorate/spec/clusterid"
	event "github.com/quorate/quorate/traces/event/concern"
)

// Starts: what is found, and what is decided.

// roles by their names in events.
var roles = map[string]clusterid.Role{
	event.Broker: clusterid.Broker, event.Observer: clusterid.Observer, event.StaticVoter: clusterid.StaticVoter, event.DynamicVoter: clusterid.DynamicVoter,
}

// start holds what a process finds against what a crash can have left, and what it decides
// against the table of starts.
func (v *validator) start(_ *node, s *state, e *event.Event) *refusal {
	f := e.Found
	if f == nil {
		return because("the event does not say what was found")
	}
	if r := v.find(s, f); r != nil {
		return r
	}
	var r *refusal
	snapID, r1 := v.cluster(f.SnapID)
	zeroID, r2 := v.cluster(f.ZeroID)
	if r = first(r1, r2); r != nil {
		return r
	}
	s.n.Role = roles[f.Role]
	s.n.Zero, s.n.ZeroID = 0, zeroID
	if f.Zero && f.Role != event.Broker {
		s.n.Zero = 1
	}
	rules := *v.rules.ClusterID
	rules.StaticMayDiscover = rules.StaticMayDiscover || f.R2
	ids := v.ids
	ids.Rules = &rules
	ok := s.nodes(0, func(n *clusterid.Node) bool {
		n.SnapID = snapID // of the log itself nobody knows what is committed
		return ids.Start(n, 1)
	})
	if !ok {
		return v.not(e)
	}
	exits := s.n.Stage == clusterid.Exited
	if e.Fatal != "" {
		// For a reason that the specification does not have, too: to it that is a crash.
		s.n.Stage, s.stopped = clusterid.Exited, true
		return nil
	}
	id := ""
	if e.ID != nil {
		id = *e.ID
	}
	target := s.n.Target
	drops := f.Log && target == clusterid.NoID && v.rules.ClusterID.Discards && !rules.StaticMayDiscover
	if r := differ(e.Action, "fatal", exits, false, "clusterId", v.clusterName(target), id, "drops", drops, e.Drops); r != nil {
		return r
	}
	if e.Drops {
		s.forget()
		s.c.Zero, s.c.ZeroPending = bootstrap.NoZero, 0 // it is below the directory of the log
	}
	s.formatted()
	return nil
}

func first(list ...*refusal) *refusal {
	for _, r := range list {
		if r != nil {
			return r
		}
	}
	return nil
}

// find compares what a process finds with what the specification has on disk, as far as that
// is known.
func (v *validator) find(s *state, f *event.Found) *refusal {
	if len(f.Dirs) == 0 {
		return because("no log directory was found")
	}
	if _, r := s.dir(len(f.Dirs) - 1); r != nil {
		return r
	}
	if len(s.dirs) > len(f.Dirs) {
		return because("%d log directories were found, and there were %d", len(f.Dirs), len(s.dirs))
	}
	var fields []any
	for i := range f.Dirs {
		d := &s.dirs[i]
		if d.known {
			was, names := d.now, slices.Clone(s.names)
			found, r := v.meta(s, f.Dirs[i])
			if r != nil {
				return r
			}
			name := "meta.properties"
			if i > 0 {
				name = "meta.properties of a data directory"
			}
			if found != was { // in the words of before, or the one would get the name of the other
				now := s.names
				s.names = names
				a := v.metaText(s, was)
				s.names = now
				fields = append(fields, name, a, v.metaText(s, found))
			}
			continue
		}
		meta, r := v.meta(s, f.Dirs[i])
		if r != nil {
			return r
		}
		if i == 0 && s.c.FormatRun > 0 { // it was being formatted
			fields = append(fields, "meta.properties is there", s.c.Meta != 0, meta.Form != clusterid.Missing)
		}
		*d = directory{now: meta, disk: meta, known: true}
	}
	switch {
	case s.zeroKnown:
		fields = append(fields, "zero checkpoint", s.c.Zero != bootstrap.NoZero, f.Zero)
	case f.Zero:
		s.c.Zero, s.c.HadZero = bootstrap.ControlOnly, 1 // until it is loaded
	default:
		s.c.Zero = bootstrap.NoZero
	}
	if s.legacyKnown {
		fields = append(fields, "bootstrap.checkpoint", s.c.Legacy != bootstrap.NoContent, f.Legacy)
	}
	if r := differ("Start", fields...); r != nil {
		r.why = "a crash does not leave what was found"
		return r
	}
	if r := v.findSnapshot(s, f); r != nil {
		return r
	}
	if !f.Legacy {
		s.c.Legacy, s.legacyKnown = bootstrap.NoContent, true
	}
	return nil
}

// findSnapshot: a start finds the latest snapshot that was taken, or one that was not whole
// before is not there; or one that was installed, as its replica has recorded.
func (v *validator) findSnapshot(s *state, f *event.Found) *refusal {
	id, r := v.cluster(f.SnapID)
	if r != nil {
		return r
	}
	all := append(slices.Clone(s.older), taken{s.snapshot, s.base, s.baseIDs})
	s.log, s.handed, s.older, s.loaded = nil, 0, nil, 0
	s.base, s.baseIDs, s.snapshot = bootstrap.Image{}, clusterid.Image{}, f.Snapshot
	if f.Snapshot == 0 {
		if !slices.ContainsFunc(all, func(t taken) bool { return t.end == 0 }) && s.zeroKnown {
			return differ("Start", "snapshot", all[len(all)-1].end, f.Snapshot)
		}
		return nil
	}
	s.loaded = f.Snapshot
	at := slices.IndexFunc(all, func(t taken) bool { return t.end == f.Snapshot })
	switch {
	case at >= 0:
		s.base, s.baseIDs = all[at].boot, all[at].ids
	case s.zeroKnown && all[0].end > f.Snapshot:
		return differ("Start", "snapshot", all[0].end, f.Snapshot)
	default:
		s.base, s.baseIDs = v.snapshotAt(f.Snapshot, id)
		if last := all[len(all)-1]; s.base == (bootstrap.Image{}) && last.end > 0 && last.end < f.Snapshot {
			s.base, s.baseIDs = last.boot, last.ids // nothing that matters was told of since
		}
	}
	if r := differ("Start", "snapshot.clusterId", v.clusterName(s.baseIDs.ID), f.SnapID); r != nil {
		r.properties = []string{"SnapshotCarriesID"}
		return r
	}
	return nil
}

// snapshotAt is what a snapshot holds: what all nodes have said of the records below its end,
// or, if they have not told all, what it is said to hold.
func (v *validator) snapshotAt(end int64, id clusterid.ID) (bootstrap.Image, clusterid.Image) {
	ids := clusterid.Image{ID: id}
	if id != clusterid.NoID {
		ids.Version = 2
	}
	m, ok := v.records.image(end)
	if !ok {
		return bootstrap.Image{}, ids
	}
	content := v.ofLevel(m.Level)
	switch {
	case m.Level >= idLevel:
		ids.Version = 2
	case m.Level > 0:
		ids.Version = 1
	}
	if known, r := v.cluster(m.Cluster); r == nil {
		ids.ID = known
	}
	return bootstrap.Image{Version: content, Rest: content}, ids
}
