package wire

import "github.com/quorate/quorate/impl/core"

// invalid finds values that no replica can mean. Neither the core nor a trace has to deal
// with them.
func invalid(m *core.Message) bool {
	return m.Epoch < 0 || m.Epoch > core.MaxEpoch || m.Offset < 0 || m.LastEpoch < 0 || m.MaxWait < 0 ||
		m.From.ID < 0 && !fetches(m)
}

// fetches: who fetches need not have an id.
func fetches(m *core.Message) bool { return m.Kind == core.Fetch || m.Kind == core.FetchSnapshot }

// Answer is the response to an Invalid request by a replica in an epoch that knows a
// leader, or none. The checks and their order are those of KafkaRaftClient, but for an
// epoch of 2^31 - 1, which is none here.
func (req *Request) Answer(epoch core.Epoch, leader core.ReplicaID) core.Message {
	m := &req.Message
	answer := core.Message{Kind: m.Kind, Response: true, Epoch: epoch, Leader: leader, PreVote: m.PreVote}
	if m.Kind == core.Fetch {
		answer.HighWatermark, answer.Diverging = core.UnknownOffset, core.NoEpochEnd
	}
	illegal := m.Offset < 0 || m.LastEpoch < 0 || m.MaxWait < 0
	switch m.Kind {
	case core.Vote:
		illegal = illegal || m.LastEpoch > m.Epoch || m.LastEpoch == m.Epoch && !m.PreVote
	case core.Fetch:
		illegal = illegal || m.LastEpoch > m.Epoch
	}
	switch {
	case illegal:
		answer.Error = core.InvalidRequest
	case m.Epoch < epoch:
		answer.Error = core.FencedLeaderEpoch
	case fetches(m): // in an epoch above all
		answer.Error = core.UnknownLeaderEpoch
	default:
		answer.Error = core.InvalidRequest
	}
	return answer
}
