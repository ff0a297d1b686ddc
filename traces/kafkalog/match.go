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
// its answer so in the events of both. In a simulation both sides have one correlation id;
// otherwise the sender's network layer counts for itself, and of requests that say the same
// those are taken that keep the order, so that each that was answered was received and was
// answered so; of several such the last that was sent before. That is all that dates of
// entries are good for: they say which is which, and nothing of an order.
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
	strange, shared := int32(0), sharedIDs(order, got, sent)
	for _, c := range order {
		if shared {
			pairByID(got[c], sent[c])
		} else {
			align(got[c], sent[c])
		}
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

// sharedIDs says whether requests have the same correlation id at both ends: whether
// there is a sending of its own id for each that was received from a node that has a log.
func sharedIDs(order []content, got map[content][]*request, sent map[content][]*sending) bool {
	for _, c := range order {
		ids := map[int32]bool{}
		for _, s := range sent[c] {
			ids[s.env.corr] = true
		}
		for _, r := range got[c] {
			if len(ids) > 0 && !ids[r.env.corr] {
				return false
			}
		}
	}
	return true
}

func pairByID(received []*request, sent []*sending) {
	for _, r := range received {
		for _, s := range sent {
			if s.received == nil && s.env.corr == r.env.corr {
				s.received = r
				break
			}
		}
	}
}

// What a pairing costs that says something unlikely or impossible.
const (
	costLater   = 10   // by the dates it was sent after it was received
	costFailed  = 1    // the sender was told that nobody heard it, and somebody did
	costForgot  = 1000 // nobody sent what was received, or an answer came from nowhere
	costAnother = 1000 // the answer that was received is not the one that was sent
)

// align pairs requests that were received with requests that were sent, in the order of
// both, at the least cost.
func align(received []*request, sent []*sending) {
	n, m := len(sent), len(received)
	cost := make([][]int, n+1) // of the first i that were sent and j that were received
	skip := func(s *sending) int {
		if s.answered {
			return costForgot
		}
		return 0
	}
	both := func(s *sending, r *request) int {
		switch {
		case len(s.when) == len(r.when) && s.when > r.when:
			return costLater
		case s.failed:
			return costFailed
		case s.answered && !r.answeredBy(s.answer):
			return costAnother
		}
		return 0
	}
	for i := range cost {
		cost[i] = make([]int, m+1)
		for j := range cost[i] {
			switch {
			case i == 0:
				cost[i][j] = j * costForgot
			case j == 0:
				cost[i][j] = cost[i-1][0] + skip(sent[i-1])
			default:
				cost[i][j] = min(cost[i-1][j]+skip(sent[i-1]), cost[i][j-1]+costForgot, cost[i-1][j-1]+both(sent[i-1], received[j-1]))
			}
		}
	}
	for i, j := n, m; i > 0 && j > 0; {
		s, r := sent[i-1], received[j-1]
		switch cost[i][j] {
		case cost[i-1][j-1] + both(s, r):
			s.received = r
			i, j = i-1, j-1
		case cost[i-1][j] + skip(s):
			i--
		default:
			j--
		}
	}
}

// answeredBy says whether a request was answered so.
func (r *request) answeredBy(m event.Message) bool {
	if len(r.answers) == 0 {
		return false
	}
	was := r.answers[0].Send[0]
	return was.Error == m.Error && was.Epoch == m.Epoch && was.Leader == m.Leader && was.Granted == m.Granted &&
		was.HighWatermark == m.HighWatermark && was.Bytes == m.Bytes
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
