package concerns

import (
	"fmt"
	"slices"

	"github.com/quorate/quorate/spec"
	"github.com/quorate/quorate/spec/bootstrap"
	"github.com/quorate/quorate/spec/clusterid"
	"github.com/quorate/quorate/spec/composed"
	event "github.com/quorate/quorate/traces/event/concern"
)

// The state machine: what it begins with, what it applies, and what a leader writes.

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

func (v *validator) claim(n *node, s *state, e *event.Event) *refusal {
	hw := s.loaded // without the trace of the replica nobody says where it was
	if n.replica.tied(e.Inc, e.After) {
		begins, ok := n.replica.led[e.Epoch]
		if !ok {
			r := because("Claim is not enabled: guard %s is false: the replica had not led epoch %d with its LeaderChange committed", bootstrap.GuardName(bootstrap.EpochCommitted), e.Epoch)
			r.guard = bootstrap.GuardName(bootstrap.EpochCommitted)
			return r
		}
		hw = max(hw, begins+1)
	}
	s.claimed = e.Epoch
	w := s.controller()
	w.put(bootstrap.LeaderChange, current, bootstrap.NoContent)
	if !v.boot.Claim(&w.Controller, w.at) {
		return v.not(e)
	}
	s.loaded = hw
	s.log = s.log[:s.handed]
	s.take(w.Controller)
	return v.image(s, w, e)
}

// activate compares what a leader has decided to write.
func (v *validator) activate(_ *node, s *state, e *event.Event) *refusal {
	if e.Epoch != s.claimed {
		return because("the machine was not told that it leads epoch %d", e.Epoch)
	}
	w := s.controller()
	source := v.file(w.Source)
	if w.Source == bootstrap.Default && e.Source != nil {
		source = e.Source.File
	}
	level := v.file(w.Image.Stable().Version).Level
	if level == 0 {
		level = source.Level
	}
	s.transactions = level >= transactionLevel
	v.boot.Transactions = s.transactions
	if !v.boot.Activate(&w.Controller) {
		return v.not(e)
	}
	known := v.clusterName(s.n.Mem)
	if w.Writes == 1 && v.rules.NeedsID && source.Level >= idLevel && source.Cluster == "" && known != "" {
		v.boot.Fail(&w.Controller)
	}
	if e.Fatal != "" { // for reasons of its own, too: it writes nothing
		v.boot.Fail(&w.Controller)
		s.take(w.Controller)
		s.stopped = true
		return nil
	}
	writes, aborts := w.Writes == 1, w.Aborts == 1
	total := int(w.Aborts)
	var file event.File
	if e.Writes != nil {
		file = *e.Writes
	}
	if writes {
		if total += file.Records; v.boot.Transactions {
			total += 2
		}
	}
	r := differ(e.Action, "fatal", w.Phase == bootstrap.Fatal, false, "writes", writes, e.Writes != nil, "aborts", aborts, e.Aborts, "total", total, e.Total)
	if r == nil && writes {
		r = v.written(s, w, e, source)
	}
	if r != nil {
		return r
	}
	s.rest, s.resting, s.writes = 0, false, file
	if writes {
		s.rest = file.Records - 1 // metadata.version
	}
	s.take(w.Controller)
	return v.image(s, w, e)
}

// written holds what is written against its source. To that a leader adds what follows from
// it: a configuration of eligible leader replicas, and the id that it has drawn.
func (v *validator) written(s *state, w *view, e *event.Event, source event.File) *refusal {
	if e.Source == nil {
		return because("the event does not say where the bootstrap is from")
	}
	from := event.FromDefault
	switch w.Source {
	case w.Zero.Content():
		from = event.FromZero
	case w.Legacy:
		from = event.FromLegacy
	}
	if w.Source == bootstrap.Default && e.Source.From == event.FromDefault {
		source = e.Source.File // the specification does not say what software makes up
		w.Source = v.content(source)
	}
	cluster, drawn := source.Cluster, 0
	if cluster == "" && e.Writes.Cluster != "" && s.n.Mem == clusterid.NoID {
		cluster, drawn = e.Writes.Cluster, 1
	}
	if r := differ(e.Action, "source", from, e.Source.From, "source.file", v.fileText(source), v.fileText(e.Source.File),
		"writes.level", source.Level, e.Writes.Level, "writes.clusterId", cluster, e.Writes.Cluster); r != nil {
		return r
	}
	switch more := e.Writes.Records - source.Records - drawn; {
	case more < 0 || more > 1:
		return differ(e.Action, "writes.records", source.Records+drawn, e.Writes.Records)
	case more == 0 && drawn == 0:
		return differ(e.Action, "writes.digest", source.Digest, e.Writes.Digest)
	}
	return nil
}

// mayAppend: who was told that it leads an epoch may write in that.
func (v *validator) mayAppend(s *state, e *event.Event) (late bool, r *refusal) {
	if slices.Contains(s.once, e.Epoch) && e.Epoch != s.claimed {
		return true, nil // too late: its replica refuses an append in that epoch
	}
	p := composed.Process{Replica: spec.Replica{Election: spec.Election{Epoch: spec.Epoch(current)}}, Claimed: current}
	if e.Epoch != s.claimed {
		p.Claimed = earlier
	}
	if !v.rules.MayAppend(&p) {
		return false, because("the machine was not told that it leads epoch %d", e.Epoch)
	}
	return false, nil
}

// appendChunk is a batch that activation hands over: some records of the bootstrap, of which
// the specification has the metadata.version and the others, each at once.
func (v *validator) appendChunk(_ *node, s *state, e *event.Event) *refusal {
	if late, r := v.mayAppend(s, e); r != nil || late {
		s.idle = late
		return r
	}
	before := s.c.Phase
	v.boot.Transactions = s.transactions
	w := s.controller()
	w.handedOver(s)
	take := func(want bootstrap.Kind, r record) *refusal {
		if !v.boot.AppendChunk(&w.Controller) {
			return v.not(e)
		}
		made := w.Log[w.at]
		w.at++
		r.kind, r.content = made.Kind(), made.Content()
		s.log = append(s.log, r)
		return differ(e.Action, "record", kindText(made.Kind()), kindText(want))
	}
	for _, one := range e.Records {
		var r *refusal
		switch one.Kind {
		case event.MetaVersion:
			want := bootstrap.Version
			if !v.boot.Transactions {
				want = bootstrap.Whole
			}
			if r = take(want, record{level: one.Level}); r == nil {
				r = differ(e.Action, "level", s.writes.Level, one.Level)
			}
		case event.ClusterIDRec, event.Data:
			if one.Kind == event.ClusterIDRec {
				id, refused := v.cluster(one.Cluster)
				if r = first(refused, differ(e.Action, "clusterId", s.writes.Cluster, one.Cluster)); r == nil {
					s.log = append(s.log, record{id: id, isID: true})
				}
			}
			if s.rest -= max(one.Count, 1); s.rest < 0 && r == nil {
				r = because("more records are handed over than the bootstrap has")
			}
		default:
			r = take(kindOf(one.Kind), record{})
		}
		if r != nil {
			return r
		}
		// The specification has one record in the place of the rest, which may be none.
		if one.Kind == event.MetaVersion {
			s.resting = v.boot.Transactions
		}
		if s.resting && s.rest == 0 {
			s.resting = false
			if r := take(bootstrap.Rest, record{}); r != nil {
				return r
			}
			s.log = s.log[:len(s.log)-1] // nobody applies it by itself
		}
	}
	s.take(w.Controller)
	return differ(e.Action, "active", e.Active && before == bootstrap.Active, e.Active)
}

func kindText(k bootstrap.Kind) string {
	return map[bootstrap.Kind]string{
		bootstrap.Begin: "BeginTransaction", bootstrap.End: "EndTransaction", bootstrap.Abort: "AbortTransaction",
		bootstrap.Version: "metadata.version in a transaction", bootstrap.Rest: "the rest of the bootstrap", bootstrap.Whole: "the bootstrap in one batch",
	}[k]
}

func (v *validator) appendOrdinary(_ *node, s *state, e *event.Event) *refusal {
	if late, r := v.mayAppend(s, e); r != nil || late {
		s.idle = late
		return r
	}
	w := s.controller()
	if !v.boot.AppendOrdinary(&w.Controller) {
		return v.not(e)
	}
	return nil
}

// upgradeFeatures is a write of a client as well: another metadata.version, the node's cluster
// id behind it if that has one.
func (v *validator) upgradeFeatures(n *node, s *state, e *event.Event) *refusal {
	if r := v.appendOrdinary(n, s, e); r != nil || s.idle {
		return r
	}
	level, id := int16(0), ""
	for i, one := range e.Records {
		switch {
		case i == 0 && one.Kind == event.MetaVersion:
			level = one.Level
		case i == 1 && one.Kind == event.ClusterIDRec:
			id = one.Cluster
		default:
			return because("UpgradeFeatures writes no %s", text(one))
		}
	}
	want := ""
	if level >= idLevel {
		want = v.clusterName(s.n.Mem)
	}
	if r := differ(e.Action, "clusterId", want, id); r != nil {
		return r
	}
	for _, p := range v.batch(s, e) {
		s.log = append(s.log, p.record)
	}
	return nil
}

func (v *validator) stepDown(_ *node, s *state, e *event.Event) *refusal {
	if r := differ(e.Action, "epoch", s.claimed, e.Epoch); r != nil {
		return r
	}
	w := s.controller()
	v.boot.StepDown(&w.Controller)
	s.once, s.claimed = append(s.once, s.claimed), 0
	s.log = s.log[:s.handed]
	s.take(w.Controller)
	return v.image(s, w, e)
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
