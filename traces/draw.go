package traces

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/traces/event"
)

// mostDrawn is how many events of the causal past a picture has.
const mostDrawn = 24

// lastly is an event of the causal past, with all that a picture shows.
type lastly struct {
	past
	line string // file:line
}

// history are the latest events that the next event of node n depends on, and what else
// their nodes did since, in an order in which they may have happened.
func (v *validator) history(n int) []lastly {
	var list []lastly
	for _, e := range v.causes(n, mostDrawn) {
		i := v.who.index(e.Node)
		d := &v.nodes[i]
		for k := max(0, d.taken-ringSize); k < d.taken; k++ {
			if p := d.ring[k%ringSize]; p.inc == e.Inc && p.seq == e.Seq {
				list = append(list, lastly{p, fmt.Sprintf("%s:%d", short(e.File), e.Line)})
			}
		}
	}
	slices.SortFunc(list, func(a, b lastly) int { return cmp.Compare(a.order, b.order) })
	return list
}

// Behaviour is the causal past of a rejection and the event itself, to be drawn: a lifeline
// for each node, and as state what the events observed.
func (r *Rejection) Behaviour(title string) checker.Behaviour {
	b := checker.Behaviour{
		Title: fmt.Sprintf("%s: %s:%d is no step of the specification", title, short(r.File), r.Line), Bad: true,
		Verdict: []string{r.Why}, Legend: "state is what the events show; only what the last event depends on is drawn",
	}
	for _, d := range r.Differences {
		b.Verdict = append(b.Verdict, d.text())
	}
	lines := map[int32]int{}
	for _, id := range r.nodes {
		lines[id] = len(b.Processes)
		b.Processes = append(b.Processes, fmt.Sprint("node ", id))
	}
	seen := map[int32]event.State{}
	state := func() []checker.Field {
		var fields []checker.Field
		for _, id := range r.nodes {
			s := seen[id]
			add := func(has event.StateFields, name string, value any) {
				if s.Has&has != 0 {
					fields = append(fields, checker.Field{Path: fmt.Sprintf("node %d.%s", id, name), Value: fmt.Sprint(value)})
				}
			}
			add(event.HasRole, "role", s.Role)
			add(event.HasEpoch, "epoch", s.Epoch)
			add(event.HasLeader, "leader", s.Leader)
			add(event.HasVoted, "voted", s.Voted)
			add(event.HasLogEnd, "logEnd", s.LogEnd)
			add(event.HasFlushed, "flushed", s.Flushed)
			add(event.HasHighWatermark, "hw", s.HighWatermark)
		}
		return fields
	}
	b.Trace = append(b.Trace, checker.TraceStep{Process: -1, Fields: state()})
	for _, p := range r.drawn {
		step := checker.TraceStep{Process: lines[p.node], Actor: fmt.Sprint("node ", p.node), Step: cmp.Or(p.action, "(not logged)") + " " + p.line}
		if p.recv {
			step.Message = p.got
		}
		if p.send != "" {
			step.Sends = []checker.Sent{{Message: p.sent, To: lines[p.to]}}
		}
		seen[p.node] = merged(seen[p.node], p.state)
		step.Fields = state()
		b.Trace = append(b.Trace, step)
	}
	return b
}

// merged is what is known after an event of what was observed before it and by it.
func merged(old, now event.State) event.State {
	for _, f := range []struct {
		has  event.StateFields
		copy func()
	}{
		{event.HasRole, func() { old.Role = now.Role }}, {event.HasEpoch, func() { old.Epoch = now.Epoch }},
		{event.HasLeader, func() { old.Leader = now.Leader }}, {event.HasVoted, func() { old.Voted = now.Voted }},
		{event.HasLogEnd, func() { old.LogEnd = now.LogEnd }}, {event.HasFlushed, func() { old.Flushed = now.Flushed }},
		{event.HasHighWatermark, func() { old.HighWatermark = now.HighWatermark }},
	} {
		if now.Has&f.has != 0 {
			f.copy()
			old.Has |= f.has
		}
	}
	return old
}

// arrow names a message in a picture, the same where it is sent and where it is handled.
func (id messageID) arrow(kind string) string {
	if id.response {
		return fmt.Sprintf("%s answer %d->%d, correlation %d", kind, id.sender(), id.receiver(), id.corr)
	}
	return fmt.Sprintf("%s %d->%d, correlation %d", kind, id.sender(), id.receiver(), id.corr)
}

// draw keeps what a picture of a rejection needs.
func (v *validator) draw(n int, r *Rejection) {
	r.nodes = v.who.ids
	r.drawn = v.history(n)
	d := &v.nodes[n]
	last := lastly{v.pastOf(n, &d.event), fmt.Sprintf("%s:%d", short(r.File), r.Line)}
	if v.receives(&d.event) {
		last.recv, last.gotID, last.gotKind = true, idOf(d.event.Recv), d.event.Recv.Kind
	}
	r.drawn = append(r.drawn, last)
	for i := range r.drawn {
		p := &r.drawn[i]
		p.got, p.sent = p.gotID.arrow(p.gotKind), p.sentID.arrow(p.send)
	}
}
