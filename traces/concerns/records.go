package concerns

import (
	"fmt"
	"maps"
	"slices"

	"github.com/quorate/quorate/spec/bootstrap"
	event "github.com/quorate/quorate/traces/event/concern"
)

// What all nodes together say of the records that are committed.

// told is a record that a node has applied, and where it says so.
type told struct {
	event.Record
	epoch int32
	node  *node
	line  int
}

// records are those that matter, by offset. Of what is told of an offset that counts which
// most nodes tell; judge compares the others.
type records struct {
	at map[int64]told
	// mentioned are the offsets of which anybody has told.
	mentioned map[int64]bool
	// handed are those that leaders have handed over, by epoch, in order.
	handed map[int32][]told
	// claimed are the epochs of which a leader has recorded that it led.
	claimed map[int32]bool
	// applied are what nodes say to have applied: all of an interval.
	applied []interval
}

type interval struct {
	from, to int64
	node     *node
	line     int
}

// collect takes what a node says. Of a log that the node has dropped, as it could not know
// whose it was, it says nothing of this cluster.
func (r *records) collect(n *node) {
	if r.handed == nil {
		r.at, r.handed, r.claimed, r.mentioned = map[int64]told{}, map[int32][]told{}, map[int32]bool{}, map[int64]bool{}
	}
	dropped := 0
	for i, e := range n.lines {
		if e.Drops {
			dropped = i
		}
	}
	applied := int64(0)
	for i := dropped; i < len(n.lines); i++ {
		e := &n.lines[i].Event
		if e.Concern != event.Bootstrap || e.Fatal != "" {
			continue
		}
		switch e.Action {
		case "Start", "InstallSnapshot":
			applied = e.End
		case "Claim":
			r.claimed[e.Epoch] = true
		case "AppendChunk", "UpgradeFeatures":
			for _, one := range e.Records {
				if one.Kind != event.Data {
					r.handed[e.Epoch] = append(r.handed[e.Epoch], told{one, e.Epoch, n, i})
				}
			}
		case "Replay":
			for at := range offsets(e) {
				r.mentioned[at] = true
			}
			r.applied = append(r.applied, interval{applied, e.End, n, i})
			applied = e.End
		case "TakeSnapshot":
			if e.End > applied {
				r.applied = append(r.applied, interval{applied, e.End, n, i})
				applied = e.End
			}
		}
	}
}

// opinion is what a node says of the record at an offset: nothing, if it has applied it and
// made no mention of it.
type opinion struct {
	told
	interval
	none bool
}

func (o opinion) same(other opinion) bool {
	return o.none == other.none && (o.none || o.Record == other.Record && o.epoch == other.epoch)
}

func (o opinion) text() string {
	if o.none {
		return "none that matters"
	}
	return fmt.Sprintf("%s of epoch %d", text(o.Record), o.epoch)
}

// opinions are those of an offset, and what most nodes say.
func (r *records) opinions(at int64) (all []opinion, most opinion) {
	for _, i := range r.applied {
		if at < i.from || at >= i.to {
			continue
		}
		o := opinion{interval: i, none: true}
		e := &i.node.lines[i.line].Event
		for offset, one := range offsets(e) {
			if offset == at {
				o.told, o.none = told{one, e.Epoch, i.node, i.line}, false
			}
		}
		all = append(all, o)
	}
	best := 0
	for _, o := range all {
		votes := 0
		for _, other := range all {
			if o.same(other) {
				votes++
			}
		}
		if votes > best {
			most, best = o, votes
		}
	}
	return all, most
}

// settle decides by what most say.
func (r *records) settle() {
	for at := range r.mentioned {
		if _, most := r.opinions(at); !most.none {
			r.at[at] = most.told
		}
	}
}

// offsets are the records of a Replay that matter.
func offsets(e *event.Event) func(yield func(int64, event.Record) bool) {
	return func(yield func(int64, event.Record) bool) {
		at := e.Base
		for _, r := range e.Records {
			if r.Kind == event.Data {
				at += int64(r.Count)
				continue
			}
			if !yield(at, r) {
				return
			}
			at++
		}
	}
}

// covered says whether it is known what all records below an offset are.
func (r *records) covered(end int64) bool {
	at := int64(0)
	for moved := true; moved; {
		moved = false
		for _, i := range r.applied {
			if i.from <= at && i.to > at {
				at, moved = i.to, true
			}
		}
	}
	return at >= end
}

// image is what the records below an offset amount to; false if not all are known.
func (r *records) image(end int64) (m event.Image, ok bool) {
	if !r.covered(end) {
		return m, false
	}
	return r.fold(end), true
}

func (r *records) fold(end int64) (m event.Image) {
	var stable event.Image
	for _, at := range slices.Sorted(maps.Keys(r.at)) {
		if at >= end {
			break
		}
		switch one := r.at[at]; one.Kind {
		case event.Begin:
			stable, m.Open = m, true
		case event.EndOfTx:
			m.Open = false
		case event.Abort:
			m = stable
		case event.MetaVersion:
			if m.Level = one.Level; m.Level < idLevel {
				m.Cluster = ""
			}
		case event.ClusterIDRec:
			m.Cluster = one.Cluster
		}
	}
	if m.Open {
		stable.Open = true
		return stable
	}
	return m
}

// judge holds all that nodes say of committed records together: they say the same, who led
// has handed them over in this order, and what takes effect is one whole bootstrap.
func (v *validator) judge() {
	for _, at := range slices.Sorted(maps.Keys(v.records.mentioned)) {
		all, most := v.records.opinions(at)
		for _, o := range all {
			if o.same(most) {
				continue
			}
			r := violated("LogContent")
			r.why = fmt.Sprintf("two nodes have applied different records at offset %d: node %d has %s, and node %d %s (%s:%d)",
				at, o.interval.node.id, o.text(), most.interval.node.id, most.text(), most.interval.node.name, most.interval.node.lines[most.interval.line].number)
			v.res.Rejection = v.reject(o.interval.node, o.interval.line, r)
			return
		}
	}
	if v.judgeHanded(); v.res.Rejection == nil {
		v.judgeEffect()
	}
}

// judgeHanded: what is committed of an epoch its leader has handed over, in this order. Not all
// that was handed over was appended.
func (v *validator) judgeHanded() {
	next := map[int32]int{}
	for _, at := range slices.Sorted(maps.Keys(v.records.at)) {
		one := v.records.at[at]
		if !v.records.claimed[one.epoch] {
			continue // nobody has recorded how it led
		}
		handed, n := v.records.handed[one.epoch], next[one.epoch]
		for n < len(handed) && handed[n].Record != one.Record {
			n++
		}
		if next[one.epoch] = n + 1; n < len(handed) {
			continue
		}
		r := violated("LogContent")
		r.why = fmt.Sprintf("the leader of epoch %d has handed over no such record there: %s (offset %d)", one.epoch, text(one.Record), at)
		v.res.Rejection = v.reject(one.node, one.line, r)
		return
	}
}

// judgeEffect holds the properties of spec/bootstrap of what is committed.
func (v *validator) judgeEffect() {
	if len(v.records.at) == 0 || !v.records.covered(slices.Max(slices.Collect(maps.Keys(v.records.at)))+1) {
		return // not all of it is known
	}
	var log bootstrap.Log
	n := 0
	level := int16(0)
	for _, at := range slices.Sorted(maps.Keys(v.records.at)) {
		one := v.records.at[at]
		kind := kindOf(one.Kind)
		if kind == bootstrap.NoRecord || kind == bootstrap.Version && level > 0 && n > 0 && log[n-1].Kind() != bootstrap.Begin {
			continue // an id, or an upgrade
		}
		if kind == bootstrap.Version {
			level = one.Level
			if n == 0 || log[n-1].Kind() != bootstrap.Begin {
				kind = bootstrap.Whole
			}
		}
		if n == bootstrap.MaxLog-1 {
			return // longer than the specification's logs; each node was held to it step by step
		}
		if n == 0 { // as any log begins; a record before the voters is another matter
			log[0] = bootstrap.NewRecord(bootstrap.LeaderChangeVoters, 1, bootstrap.NoContent)
			n++
		}
		log[n] = bootstrap.NewRecord(kind, 1, bootstrap.Default)
		n++
		took := bootstrap.EffectOf(&log, uint8(n))
		var bad []string
		if took.Bootstraps > 1 {
			bad = append(bad, "OneBootstrap")
		}
		if took.Broken {
			bad = append(bad, "TransactionClosed")
		}
		if bad != nil {
			v.res.Rejection = v.reject(one.node, one.line, violated(bad...))
			return
		}
	}
}

func kindOf(kind string) bootstrap.Kind {
	switch kind {
	case event.Begin:
		return bootstrap.Begin
	case event.EndOfTx:
		return bootstrap.End
	case event.Abort:
		return bootstrap.Abort
	case event.MetaVersion:
		return bootstrap.Version
	}
	return bootstrap.NoRecord
}

func text(r event.Record) string {
	switch r.Kind {
	case event.MetaVersion:
		return fmt.Sprintf("metadata.version %d", r.Level)
	case event.ClusterIDRec:
		return fmt.Sprintf("cluster id %q", r.Cluster)
	case event.Data:
		return fmt.Sprintf("%d other", r.Count)
	}
	return r.Kind
}
