package concerns

import (
	"slices"

	"github.com/quorate/quorate/spec/bootstrap"
	"github.com/quorate/quorate/spec/clusterid"
	event "github.com/quorate/quorate/traces/event/concern"
)

// Directories: format, starts, and what is written when an id is adopted.

// maxDirs bounds the number of log directories.
const maxDirs = 16

// dir is a log directory, of which nothing need be known yet.
func (s *state) dir(d int) (*directory, *refusal) {
	if d >= maxDirs {
		return nil, because("log directory %d: at most %d are looked at", d, maxDirs)
	}
	for len(s.dirs) <= d {
		s.dirs = append(s.dirs, directory{})
	}
	return &s.dirs[d], nil
}

// meta is a file as the specification has it. What has no number yet gets one.
func (v *validator) meta(s *state, m event.Meta) (out clusterid.Meta, r *refusal) {
	switch m.Form {
	case event.Missing:
		return clusterid.Meta{}, nil
	case event.Unreadable:
		return clusterid.Meta{Form: clusterid.Broken}, nil
	case event.V0: // with an id it says what version 1 says
		if out.Form = clusterid.V1; m.Cluster == "" {
			out.Form = clusterid.VersionZero
		}
	case event.V1:
		if out.Form = clusterid.V1; m.Cluster == "" {
			out.Form = clusterid.WithoutID
		}
	default:
		out.Form = clusterid.V2
	}
	out.ID, r = v.cluster(m.Cluster)
	out.Dir = s.number(m.Directory)
	return out, r
}

// number is that of a directory id, 0 of none. One that nobody has seen before is, if the
// specification has drawn one that nobody has seen, that one.
func (s *state) number(id string) uint8 {
	if id == "" {
		return 0
	}
	i := slices.Index(s.names, id)
	if i < 0 {
		if i = slices.Index(s.names, ""); i >= 0 {
			s.names[i] = id
		} else {
			i, s.names = len(s.names), append(s.names, id)
			s.n.Draws = uint8(len(s.names))
		}
	}
	return uint8(i + 1)
}

// drawn notes that the specification has drawn the next directory id.
func (s *state) drawn() {
	for len(s.names) < int(s.n.Draws) {
		s.names = append(s.names, "")
	}
}

// metaText is the file in words.
func (v *validator) metaText(s *state, m clusterid.Meta) string {
	form := [...]string{"missing", "unreadable", "V0 without id", "V1 without id", "V1", "V2"}[m.Form]
	if m.Form != clusterid.V1 && m.Form != clusterid.V2 {
		return form
	}
	name := ""
	if m.Dir > 0 {
		name = s.names[m.Dir-1]
	}
	if name == "" && m.Dir > 0 {
		name = "a new one"
	}
	return form + " cluster " + show(v.clusterName(m.ID)) + " directory " + show(name)
}

// formatted keeps the controller's side of the metadata directory up to date.
func (s *state) formatted() {
	if s.c.FormatStep > 0 {
		return // a run of format says so itself
	}
	usable := func(m clusterid.Meta) uint8 {
		if m.Form == clusterid.V1 || m.Form == clusterid.V2 {
			return max(s.c.FormatRun, 1)
		}
		return 0
	}
	s.c.Meta, s.c.MetaOld, s.c.MetaPending, s.c.MetaUnsynced = usable(s.dirs[0].now), 0, 0, 0
}

func (v *validator) beginFormat(_ *node, s *state, e *event.Event) *refusal {
	d, r := s.dir(0)
	if r != nil {
		return r
	}
	d.known, s.zeroKnown = true, true
	if !v.boot.BeginFormat(&s.c, 0xff) {
		return v.not(e)
	}
	return nil
}

// formatStep is a step on disk of format, in its order.
func (v *validator) formatStep(_ *node, s *state, e *event.Event) *refusal {
	if s.c.FormatStep == 0 {
		return because("no run of format is under way")
	}
	if next := v.rules.Bootstrap.FormatSteps[s.c.FormatStep-1].String(); next != e.Action {
		return because("the next step of format is %s", next)
	}
	if _, ok := v.boot.FormatStep(&s.c); !ok {
		return v.not(e)
	}
	switch d := &s.dirs[0]; e.Action {
	case bootstrap.RenameZero.String():
		if e.Zero == nil {
			return because("the event does not say what is in the zero checkpoint")
		}
		s.c.Zero = v.zero(e.Zero)
	case bootstrap.RenameMeta.String():
		if e.Meta == nil {
			return because("the event does not say what is in meta.properties")
		}
		meta, r := v.meta(s, *e.Meta)
		if r != nil {
			return r
		}
		if r := differ(e.Action, "meta.unflushed", false, e.Meta.Unflushed); r != nil {
			return r
		}
		d.now = meta
	case bootstrap.FlushMetaDirectory.String():
		d.disk = d.now
	}
	return nil
}

// zero is the zero checkpoint as the specification has it.
func (v *validator) zero(f *event.File) bootstrap.ZeroFile {
	switch {
	case f.Unusable:
		return bootstrap.Torn
	case f.Records == 0:
		return bootstrap.ControlOnly
	}
	return bootstrap.ZeroWith(v.content(*f))
}

// format is a directory that format has given its file: one of data, or of a node that is no
// controller.
func (v *validator) format(_ *node, s *state, e *event.Event) *refusal {
	d, r := s.dir(e.Dir)
	if r != nil {
		return r
	}
	if e.Meta == nil {
		return because("the event does not say what is in meta.properties")
	}
	meta, r := v.meta(s, *e.Meta)
	if r != nil {
		return r
	}
	n := s.n
	if !v.ids.Format(&n, meta.ID) {
		return v.not(e)
	}
	if r := differ(e.Action, "meta.clusterId", v.clusterName(n.Meta[0].ID), v.clusterName(meta.ID), "meta.unflushed", false, e.Meta.Unflushed); r != nil {
		return r
	}
	d.now, d.known = meta, true
	if e.Dir == 0 {
		s.formatted()
	}
	return nil
}

func (v *validator) writeMeta(_ *node, s *state, e *event.Event) *refusal {
	d, r := s.dir(e.Dir)
	if r != nil {
		return r
	}
	if e.Meta == nil {
		return because("the event does not say what is in meta.properties")
	}
	if d.now.ID != clusterid.NoID && d.now.Dir == 0 && d.now.Form != clusterid.Missing {
		// A file without a directory id is completed, which says nothing of cluster ids.
		meta, r := v.meta(s, *e.Meta)
		if r != nil {
			return r
		}
		d.now, s.idle = meta, true
		return nil
	}
	missing := d.now.Form == clusterid.Missing
	if missing && slices.Contains(s.names, e.Meta.Directory) && e.Meta.Directory != "" {
		return differ(e.Action, "meta.directory", "a new one", e.Meta.Directory)
	}
	if !s.nodes(e.Dir, func(n *clusterid.Node) bool { return v.ids.WriteMeta(n, min(e.Dir, 1)) }) {
		return v.not(e)
	}
	s.drawn()
	was := v.metaText(s, d.now)
	meta, r := v.meta(s, *e.Meta)
	if r != nil {
		return r
	}
	if meta == d.now {
		was = v.metaText(s, d.now)
	}
	s.formatted()
	return differ(e.Action, "meta", was, v.metaText(s, meta), "meta.unflushed", false, e.Meta.Unflushed)
}

func (v *validator) flushMeta(_ *node, s *state, e *event.Event) *refusal {
	d, r := s.dir(e.Dir)
	if r != nil {
		return r
	}
	if s.n.Stage == clusterid.Down || s.n.Stage == clusterid.Exited || d.now == d.disk { // format, or nothing to flush
		s.idle = d.now == d.disk
		d.disk = d.now
		return nil
	}
	if !s.nodes(e.Dir, func(n *clusterid.Node) bool { return v.ids.FlushMeta(n, min(e.Dir, 1)) }) {
		return v.not(e)
	}
	s.formatted()
	return nil
}

// failMeta: to the specification a flush that fails is a file that could not be written. What
// a start finds may be the one or the other.
func (v *validator) failMeta(_ *node, s *state, e *event.Event) *refusal {
	d, r := s.dir(e.Dir)
	if r != nil {
		return r
	}
	was := d.now
	d.now = d.disk
	if !s.nodes(e.Dir, func(n *clusterid.Node) bool { return v.ids.FailMeta(n, min(e.Dir, 1)) }) {
		return v.not(e)
	}
	if d = &s.dirs[e.Dir]; was != d.disk {
		d.now = was
	}
	return nil
}

// setMemory: the node's memory is in two places, the requests of its replica and its state
// machine, which follow each other.
func (v *validator) setMemory(_ *node, s *state, e *event.Event) *refusal {
	if e.ID == nil {
		return because("the event does not say which id")
	}
	id, r := v.cluster(*e.ID)
	if r != nil {
		return r
	}
	if s.n.Stage == clusterid.Known && id == s.n.Mem {
		s.idle = true
		return nil
	}
	if len(s.dirs) == 0 {
		return because("nothing is known of the log directories")
	}
	if !s.nodes(0, func(n *clusterid.Node) bool { return v.ids.SetMemory(n) }) {
		return v.not(e)
	}
	return differ(e.Action, "clusterId", v.clusterName(s.n.Mem), *e.ID)
}

func (v *validator) adopt(_ *node, s *state, e *event.Event) *refusal {
	if e.ID == nil {
		return because("the event does not say which id")
	}
	if len(s.dirs) == 0 {
		return because("nothing is known of the log directories")
	}
	if !s.nodes(0, func(n *clusterid.Node) bool { return v.ids.Adopt(n, &n.Log, n.HighWatermark, clusterid.NoID) }) {
		return v.not(e)
	}
	return differ(e.Action, "clusterId", v.clusterName(s.n.Target), *e.ID)
}

// fetch is the first fetch from another leader, for which a node that does not know its
// cluster drops its log. The others are the replica's.
func (v *validator) fetch(_ *node, s *state, e *event.Event) *refusal {
	if !e.Drops {
		return because("an event of a fetch that drops nothing")
	}
	s.n.Endpoints = 3
	ok := s.nodes(0, func(n *clusterid.Node) bool {
		if n.Stage != clusterid.Unknown {
			return false
		}
		v.ids.Fetch(n, &clusterid.Cluster{}, 1, clusterid.NoID)
		return true
	})
	if !ok {
		return because("Fetch drops no log: the node knows its cluster")
	}
	s.n.Endpoints = 1
	s.forget()
	s.c.Up, s.c.Phase, s.c.Image, s.claimed = 0, bootstrap.Standby, bootstrap.Image{}, 0 // another state machine
	s.c.Zero, s.c.ZeroPending = bootstrap.NoZero, 0
	return nil
}

// register: the active controller knows the id that its log has, or, below the metadata.version
// that has ids, that of its own directories.
func (v *validator) register(_ *node, s *state, e *event.Event) *refusal {
	if e.ID == nil {
		return because("the event does not say with which id")
	}
	id, r := v.cluster(*e.ID)
	if r != nil {
		return r
	}
	own := s.ownID(id)
	if len(s.dirs) == 0 || !s.nodes(0, func(n *clusterid.Node) bool { return v.ids.Register(n, own) }) {
		return v.not(e)
	}
	return differ(e.Action, "clusterId", v.clusterName(s.n.Mem), *e.ID)
}

// ownID is the cluster id that the leader has: that of the log, or, if there is none in it, one
// of which nothing is known but this.
func (s *state) ownID(otherwise clusterid.ID) clusterid.ID {
	ids := s.baseIDs
	for _, one := range s.log[:s.handed] {
		_, ids = one.apply(bootstrap.Image{}, ids)
	}
	if id := ids.Stable().ID; id != clusterid.NoID {
		return id
	}
	return otherwise
}

// join: the node finds itself among the voters, as it has asked for or an operator has.
func (v *validator) join(_ *node, s *state, e *event.Event) *refusal {
	own := s.ownID(s.n.Mem)
	ok := len(s.dirs) > 0 && s.nodes(0, func(n *clusterid.Node) bool {
		if n.Log[0] == 0 { // it has read the voters, which are no records of the machine
			n.Log[0] = clusterid.NewRecord(clusterid.LeaderChange, 1, 0, clusterid.NoID)
		}
		if e.Action == "AutoJoin" {
			return v.ids.AutoJoin(n, own)
		}
		return v.ids.AddVoter(n)
	})
	if !ok {
		return v.not(e)
	}
	return nil
}

func (v *validator) timeout(_ *node, s *state, e *event.Event) *refusal {
	if !s.nodes(0, func(n *clusterid.Node) bool { return v.ids.Timeout(n) }) {
		return v.not(e)
	}
	s.stopped = true
	return nil
}
