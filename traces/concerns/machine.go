package concerns

import (
	"fmt"
	"slices"

	"github.com/quorate/quorate/spec/bootstrap"
	"github.com/quorate/quorate/spec/clusterid"
	event "github.com/quorate/quorate/traces/event/concern"
)

// The state machine: what it begins with, what it applies, and its snapshots.

// begin is the start of the state machine.
func (v *validator) begin(_ *node, s *state, e *event.Event) *refusal {
	found := s.snapshot
	if e.Snap != nil {
		if s.n.Stage == clusterid.Down && found == 0 { // nothing was recorded of the process before
			s.snapshot, found = e.Snap.End, e.Snap.End
		}
		if e.Snap.End > found { // installed since, or in the process before
			s.snapshot, s.loaded, found = e.Snap.End, e.Snap.End, e.Snap.End
			s.base, s.baseIDs = bootstrap.Image{}, clusterid.Image{}
		}
		if r := differ(e.Action, "snapshot", found, e.Snap.End); r != nil {
			return r
		}
		if s.base == (bootstrap.Image{}) {
			var id clusterid.ID
			if e.Image != nil {
				var r *refusal
				if id, r = v.cluster(e.Image.Cluster); r != nil {
					return r
				}
			}
			if s.base, s.baseIDs = v.snapshotAt(e.Snap.End, id); s.base == (bootstrap.Image{}) && e.Image != nil {
				s.base.Version = v.ofLevel(e.Image.Level)
				s.base.Rest = s.base.Version
			}
		}
	} else if found > 0 {
		return differ(e.Action, "snapshot", found, 0)
	}
	if r := v.files(s, e); r != nil {
		return r
	}
	if len(s.dirs) == 0 || s.c.Meta == 0 {
		s.c.Meta = 1 // the node would not run; what it found is the business of the other concern
	}
	w := s.controller()
	loaded := w.Loaded
	old := uint8(0)
	if e.Old {
		old = 1
	}
	if !v.boot.Start(&w.Controller, old) {
		return v.not(e)
	}
	w.Loaded = loaded
	s.take(w.Controller)
	s.claimed, s.once = 0, nil
	if r := v.image(s, w, e); r != nil {
		return r
	}
	return v.rightID(s, e)
}

// files holds the bootstrap files against those that the specification knows.
func (v *validator) files(s *state, e *event.Event) *refusal {
	switch {
	case e.Old && e.Image != nil: // the state machine has it in a snapshot's place
		s.c.Zero = v.zero(&event.File{Records: 1, Level: e.Image.Level})
	case e.Zero != nil && s.c.Zero == bootstrap.NoZero && s.zeroKnown:
		return differ(e.Action, "zero checkpoint", "none", "loaded")
	case e.Zero != nil && s.zeroKnown && s.c.Zero != bootstrap.Torn:
		if r := differ(e.Action, "zero checkpoint", v.fileText(v.file(s.c.Zero.Content())), v.fileText(*e.Zero)); r != nil {
			return r
		}
	case e.Zero != nil:
		s.c.Zero, s.zeroKnown, s.c.HadZero = v.zero(e.Zero), true, 1
	case e.Zero == nil && s.snapshot == 0 && s.c.Zero != bootstrap.NoZero:
		return differ(e.Action, "zero checkpoint", "loaded", "none")
	case e.Zero == nil && s.snapshot == 0:
		s.zeroKnown = true
	}
	legacy := bootstrap.NoContent
	if e.Legacy != nil {
		switch {
		case e.Legacy.Unusable:
			legacy = bootstrap.Ancient
		case e.Legacy.Records > 0:
			legacy = v.content(*e.Legacy)
		}
	}
	s.c.Legacy = legacy
	s.legacyKnown = e.Legacy == nil || legacy != bootstrap.NoContent
	return nil
}

func (v *validator) fileText(f event.File) string {
	if f == (event.File{}) {
		return "no metadata records"
	}
	return fmt.Sprintf("%d records, metadata.version %d, cluster %s, digest %s", f.Records, f.Level, show(f.Cluster), f.Digest)
}

// replay is records that matter, and those before them that do not.
func (v *validator) replay(n *node, s *state, e *event.Event) *refusal {
	if e.Base < s.loaded || e.End <= e.Base {
		return differ(e.Action, "base", fmt.Sprintf("at least %d", s.loaded), e.Base)
	}
	if r := v.tie(n, e, e.End); r != nil {
		return r
	}
	if n.replica.tied(e.Inc, e.After) && !n.replica.holds(e.Base, e.End, e.Epoch) {
		return because("the log of the replica has no records of epoch %d from offset %d to %d", e.Epoch, e.Base, e.End)
	}
	w := s.controller()
	if e.Base > s.loaded && s.loaded > 0 {
		w.others(earlier)
	}
	leads := s.claimed > 0 && e.Epoch == s.claimed
	for _, one := range v.batch(s, e) {
		if one.r != nil {
			return one.r
		}
		if leads {
			if s.handed == len(s.log) || !one.same(s.log[s.handed]) {
				return because("a record of its own epoch is applied that this leader has not handed over: %s", one.text)
			}
			one.record = s.log[s.handed]
		} else {
			s.log = slices.Insert(s.log, s.handed, one.record)
		}
		s.handed++
		if one.kind != bootstrap.NoRecord {
			w.put(one.kind, earlier, one.content)
		}
	}
	to := w.at
	if to == w.Loaded { // nothing that spec/bootstrap knows of
		w.others(earlier)
		to++
	}
	if broken := bootstrap.EffectOf(&w.Log, w.at).Broken; broken {
		return violated("TransactionClosed")
	}
	if !v.boot.Replay(&w.Controller, to) {
		return v.not(e)
	}
	s.loaded = e.End
	if r := v.image(s, w, e); r != nil {
		return r
	}
	s.take(w.Controller)
	v.fold(s)
	return v.rightID(s, e)
}

// part is a record of a batch as the specification has it.
type part struct {
	record
	text string
	r    *refusal
}

func (p part) same(r record) bool {
	return p.kind == r.kind && p.level == r.level && p.id == r.id && p.isID == r.isID
}

// batch are the records of an event that matter. In a bootstrap without a transaction the
// first is all of it.
func (v *validator) batch(s *state, e *event.Event) (list []part) {
	boot, ids := s.base, s.baseIDs
	for _, r := range s.log[:s.handed] {
		boot, ids = r.apply(boot, ids)
	}
	for _, one := range e.Records {
		p := part{text: text(one)}
		switch one.Kind {
		case event.Data:
			continue
		case event.MetaVersion:
			p.kind, p.level, p.content = bootstrap.Version, one.Level, v.ofLevel(one.Level)
			if boot.Tx == 0 && boot.Version == bootstrap.NoContent {
				p.kind = bootstrap.Whole
			}
		case event.ClusterIDRec:
			p.isID = true
			p.id, p.r = v.cluster(one.Cluster)
		default:
			p.kind = kindOf(one.Kind)
		}
		boot, ids = p.record.apply(boot, ids)
		list = append(list, p)
	}
	return list
}

// tie holds up to where a machine has applied against what the replica knew to be committed.
func (v *validator) tie(n *node, e *event.Event, end int64) *refusal {
	if !n.replica.tied(e.Inc, e.After) || end <= n.replica.committed {
		return nil
	}
	r := violated("NoUncommittedReplay")
	r.why = fmt.Sprintf("the machine has applied the log up to %d, and its replica knew it to be committed up to %d", end, n.replica.committed)
	return r
}

// takeSnapshot: there may be records before its end that nobody has told of.
func (v *validator) takeSnapshot(n *node, s *state, e *event.Event) *refusal {
	if r := v.tie(n, e, e.End); r != nil {
		return r
	}
	w := s.controller()
	later := max(s.loaded, e.End)
	if n.replica.tied(e.Inc, e.After) {
		later = n.replica.committed // records of Raft are not the machine's to count
	}
	if later > s.snapshot && w.Loaded == w.Snap || e.End > s.loaded {
		w.others(earlier)
		w.Loaded = w.at
	}
	if !v.boot.TakeSnapshot(&w.Controller) {
		return v.not(e)
	}
	if r := v.image(s, w, e); r != nil {
		r.properties = []string{"SnapshotStable"}
		return r
	}
	s.older = append(s.older, taken{s.snapshot, s.base, s.baseIDs})
	boot, ids := s.base, s.baseIDs
	for _, r := range s.log[:s.handed] {
		boot, ids = r.apply(boot, ids)
	}
	s.base, s.baseIDs = boot, ids
	s.log, s.handed = slices.Clone(s.log[s.handed:]), 0
	s.loaded = max(s.loaded, e.End)
	s.snapshot = e.End
	s.take(w.Controller)
	return nil
}

// installSnapshot puts the state of a snapshot of another node in the place of what there was.
func (v *validator) installSnapshot(_ *node, s *state, e *event.Event) *refusal {
	if e.Snap == nil || e.Image == nil {
		return because("the event does not say which snapshot, and what it has")
	}
	if e.Snap.End <= s.loaded {
		return differ(e.Action, "snapshot.end", fmt.Sprintf("above %d", s.loaded), e.Snap.End)
	}
	id, r := v.cluster(e.Image.Cluster)
	if r != nil {
		return r
	}
	s.forget()
	s.snapshot, s.loaded = e.Snap.End, e.Snap.End
	if s.base, s.baseIDs = v.snapshotAt(e.Snap.End, id); s.base == (bootstrap.Image{}) {
		s.base.Version = v.ofLevel(e.Image.Level)
		s.base.Rest = s.base.Version
	}
	w := s.controller()
	w.Image = bootstrap.Image{Version: s.base.Version, Rest: s.base.Rest}
	s.take(w.Controller)
	if r := v.image(s, w, e); r != nil {
		r.properties = []string{"SnapshotStable", "SnapshotCarriesID"}
		return r
	}
	return v.rightID(s, e)
}

// deleteZero: the snapshot that has replaced it is the one at which the log starts.
func (v *validator) deleteZero(n *node, s *state, e *event.Event) *refusal {
	w := s.controller()
	if n.replica.tied(e.Inc, e.After) && n.replica.logStart == 0 {
		w.LogStart = 0
	}
	if !v.boot.DeleteZero(&w.Controller) {
		return v.not(e)
	}
	s.take(w.Controller)
	return nil
}

func (v *validator) deleteLegacy(_ *node, s *state, e *event.Event) *refusal {
	w := s.controller()
	if !v.boot.DeleteLegacy(&w.Controller) {
		return v.not(e)
	}
	s.take(w.Controller)
	return nil
}
