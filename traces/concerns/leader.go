package concerns

import (
	"slices"

	"github.com/quorate/quorate/spec"
	"github.com/quorate/quorate/spec/bootstrap"
	"github.com/quorate/quorate/spec/clusterid"
	"github.com/quorate/quorate/spec/composed"
	event "github.com/quorate/quorate/traces/event/concern"
)

// What a leader decides to write, and writes.

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
