package traces

import (
	"github.com/quorate/quorate/spec"
	"github.com/quorate/quorate/traces/event"
)

// assumed puts what an event receives among the messages that were sent, if its sender may
// have sent it before it began to record, or after it ended; false if it cannot have.
func (v *validator) assumed(n int, m *event.Message) bool {
	c, id := &v.cut, idOf(m)
	s := v.who.index(id.sender())
	if !c.partial || !c.unsent[id] && !c.twice || s < 0 || v.who.index(id.receiver()) != n {
		return false
	}
	d := &v.nodes[s]
	ended := d.source != nil && d.ended && c.ends[s] != nil
	begun := c.begins[s]
	switch {
	case d.source == nil: // it never records
	case !id.response:
		before := begun != nil && (id.conn.Inc < begun.Inc || id.conn.Inc == begun.Inc && id.corr <= begun.Attach.Correlation)
		after := ended && (id.conn.Inc > c.ends[s].Inc || id.conn.Inc == c.ends[s].Inc && id.corr > c.ends[s].Detach.Correlation)
		if !before && !after {
			return false
		}
	case ended:
	case begun == nil:
		return false
	default:
		for _, w := range v.worlds {
			if q := w.bag[id.other()]; q != nil && q.past.has(s) {
				return false // who asked knew of what the other recorded by then
			}
		}
	}
	for _, w := range v.worlds {
		l := v.letterOf(w, n, s, m)
		if l == nil {
			return false
		}
		l.next = w.bag[id]
		w.bag[id] = l
	}
	delete(c.unsent, id)
	c.assumedBy[m.Kind+" "+direction(m.Response)]++
	if m.Kind == event.Fetch && len(m.Records) > 0 && spec.Offset(m.Offset) < c.gapEnd {
		c.blurred = true
	}
	return true
}

// letterOf is a message as it was received, nil if the specification has none like it.
func (v *validator) letterOf(w *world, n, s int, e *event.Message) *letter {
	m := spec.Msg{
		Src: spec.ID(s + 1), Dst: spec.ID(n + 1), Response: e.Response, Epoch: spec.Epoch(e.Epoch), PreVote: e.PreVote, Granted: e.Granted,
		Snapshot: snapshotOf(e.Snapshot), Position: e.Position, Bytes: e.Bytes, Size: e.Size,
	}
	l := &letter{read: e.Read, assumed: true, by: origin{node: v.who.ids[s], index: -1}, inc: v.nodes[n].inc}
	for kind := spec.Vote; kind <= spec.FetchSnapshot; kind++ {
		if kind.String() == e.Kind {
			m.Kind = kind
		}
	}
	if m.Response {
		ok := false
		for code, number := range errorCodes {
			if number == e.Error {
				m.Error, ok = spec.Error(code), true
			}
		}
		if m.Leader, _ = v.who.spec(e.Leader); !ok || v.who.node(m.Leader) != e.Leader {
			return nil
		}
	}
	m.Read = v.round(w, l, e)
	switch {
	case !m.Response:
		m.Offset, m.LastEpoch = spec.Offset(e.Offset), spec.Epoch(e.LastEpoch)
	case m.Kind == spec.Fetch:
		v.fetchResponse(w, n, &m, e)
	case m.Kind == spec.FetchSnapshot && m.Error == spec.NoErrorCode && m.Position+m.Bytes == m.Size:
		m.Records = v.contents(w, m.Snapshot)
	}
	l.msg = m
	return l
}

// round is the read of the specification that a message is to confirm, by the number that
// its leader has for it: the one in progress, or one that is no more.
func (v *validator) round(w *world, l *letter, e *event.Message) uint32 {
	if e.Kind != event.BeginQuorumEpoch {
		return 0
	}
	leader := v.who.index(e.Conn.From)
	r := &w.replicas[leader]
	if e.Response && e.Read != 0 && r.Reading && e.Read == w.reading[leader] {
		return r.ReadRound
	}
	if !e.Response {
		l.unread = true // it is not on the wire, so who receives it need not know
	}
	return 0
}

// fetchResponse adds what a Fetch response of the specification says of what it answers:
// who was not asked takes no notice, so it is what the replica has.
func (v *validator) fetchResponse(w *world, n int, m *spec.Msg, e *event.Message) {
	r := &w.replicas[n]
	m.Offset, m.LastEpoch = r.Log.End(), r.Log.LastEpoch()
	if q := w.bag[idOf(e).other()]; q != nil {
		m.Offset, m.LastEpoch = q.msg.Offset, q.msg.LastEpoch
	} else if len(e.Records) > 0 {
		m.Offset = spec.Offset(e.Offset)
	}
	m.HighWatermark = spec.Offset(e.HighWatermark)
	if e.Diverging != nil {
		m.Diverging, m.DivergingEpoch, m.DivergingEnd = true, spec.Epoch(e.Diverging.Epoch), spec.Offset(e.Diverging.EndOffset)
	}
	if len(e.Records) > 0 {
		m.Records = spec.NewLargeLog()
		for _, run := range e.Records {
			m.Records.Append(v.runOf(run))
		}
	}
}

// contents is what a snapshot holds: what a log has that has its last record.
func (v *validator) contents(w *world, s spec.Snapshot) spec.Log {
	for n := range v.who.ids {
		r := &w.replicas[n]
		if s.End > 0 && r.Log.End() >= s.End && r.EpochBefore(s.End) == s.Epoch {
			return r.Log.Slice(0, s.End)
		}
	}
	l := spec.NewLargeLog()
	l.Append(spec.Run{Count: max(0, int64(s.End)), Epoch: s.Epoch, Kind: spec.Data})
	v.cut.gapEnd = max(v.cut.gapEnd, s.End)
	return l
}

// heard notes that node n knows what the sender of what it received knew.
func (v *validator) heard(n int) {
	if c := &v.cut; c.partial && c.past[n]|v.news != c.past[n] {
		c.past[n] |= v.news
		v.judge()
	}
}

// known is a letter, with the number of a read that only its leader knows.
func (v *validator) known(w *world, l *letter, e *event.Message) *letter {
	if !l.unread || !e.Response {
		return l
	}
	k := *l
	k.unread, k.read = false, e.Read
	k.msg.Read = v.round(w, &k, e)
	return &k
}

// detached ends what can be judged of several replicas.
func (v *validator) detached(n int) error {
	c := &v.cut
	e := v.nodes[n].event
	c.ends[n], c.over, c.judged = &e, true, false
	if c.partial {
		return nil
	}
	c.partial, c.assumedBy = true, map[string]int{}
	var err error
	c.unsent, err = neverSent(v.inputs, nil)
	return err
}

// judging says whether properties of several replicas are judged.
func (c *recordings) judging() bool { return !c.partial || c.judged }

// judge begins to judge properties of several replicas, once what they are together is a
// state that there can have been.
func (v *validator) judge() {
	c := &v.cut
	if !c.partial || c.judged || c.over || !c.whole {
		return
	}
	for n := range v.who.ids {
		if c.past[n]&c.all != c.all {
			return
		}
	}
	c.judged, c.first = true, v.stats.Events
	for _, w := range v.worlds {
		w.ghost.Resume(w.ptrs[:len(v.who.ids)])
	}
}
