package kafkalog

import "github.com/quorate/quorate/traces/event"

// content is what a request says, and between whom. Requests with one content can be
// told apart by nothing but their order.
type content struct {
	from, to         int32
	kind             string
	preVote          bool
	epoch, lastEpoch int32
	offset           int64
}

func contentOf(from, to int32, m *event.Message) content {
	return content{from, to, m.Kind, m.PreVote, m.Epoch, m.LastEpoch, m.Offset}
}

// match finds for each request received which one it was that was sent, and names it and
// its answer so in the events of both. Of those that say the same it takes the one with
// the same correlation id, if there is one (a simulation has one count for all nodes),
// and otherwise those that were answered before those that were not, in order: whoever
// was answered has been heard.
func match(nodes map[int32]*node) {
	sent := map[content][]*sending{}
	for _, n := range nodes {
		for _, s := range n.sent {
			c := contentOf(n.id, s.env.peer, &s.env.msg)
			sent[c] = append(sent[c], s)
		}
	}
	got := map[content][]*request{}
	var order []content // of first receipt, so that nothing depends on the order of a map
	for _, id := range sorted(nodes) {
		for _, r := range nodes[id].received {
			c := contentOf(r.env.peer, id, &r.env.msg)
			if got[c] == nil {
				order = append(order, c)
			}
			got[c] = append(got[c], r)
		}
	}
	strange := int32(0)
	for _, c := range order {
		pair(got[c], sent[c])
		for _, s := range sent[c] {
			if s.received != nil {
				name(s.received, s.event.Send[0].Conn, s.env.corr)
				s.received = nil
			}
		}
		for _, r := range got[c] {
			if r.events[0].Recv.Conn == (event.Conn{}) { // nobody's log has it
				strange++
				name(r, event.Conn{From: c.from, To: c.to, Inc: 1, N: 2}, strange)
			}
		}
	}
}

func pair(received []*request, sent []*sending) {
	free := received[:0:0]
	for _, r := range received {
		found := false
		for _, s := range sent {
			if found = s.received == nil && s.env.corr == r.env.corr; found {
				s.received = r
				break
			}
		}
		if !found {
			free = append(free, r)
		}
	}
	// How many that were not answered are needed too.
	spare := len(free)
	for _, s := range sent {
		if s.received == nil && s.answered {
			spare--
		}
	}
	for _, s := range sent {
		if len(free) == 0 {
			return
		}
		if s.received != nil || !s.answered && spare <= 0 {
			continue
		}
		if !s.answered {
			spare--
		}
		s.received, free = free[0], free[1:]
	}
}

// name gives a request, and its answer, an identity in all events that handle it.
func name(r *request, conn event.Conn, corr int32) {
	for _, e := range r.events {
		e.Recv.Conn, e.Recv.Correlation = conn, corr
	}
	for _, e := range r.answers {
		e.Send[0].Conn, e.Send[0].Correlation = conn, corr
	}
}
