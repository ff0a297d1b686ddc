package wire

import (
	"math"
	"testing"

	"github.com/quorate/quorate/impl/core"
	"github.com/stretchr/testify/require"
)

// Each field of each request out of range, as a replica answers it that is in epoch 5: the
// partition's error, by the order of Kafka's checks. The core sees none of them.
func TestInvalidRequests(t *testing.T) {
	const own = 5
	vote := core.Message{Kind: core.Vote, From: core.ReplicaKey{ID: 2}, To: core.NoKey, Epoch: 7, LastEpoch: 6, Offset: 9}
	begin := core.Message{Kind: core.BeginQuorumEpoch, From: core.ReplicaKey{ID: 2}, To: core.NoKey, Epoch: 7}
	end := core.Message{Kind: core.EndQuorumEpoch, From: core.ReplicaKey{ID: 2}, To: core.NoKey, Epoch: 7}
	fetch := core.Message{Kind: core.Fetch, From: core.ReplicaKey{ID: 2}, To: core.NoKey, Epoch: 5, LastEpoch: 5, Offset: 9, HighWatermark: 3}
	chunk := core.Message{Kind: core.FetchSnapshot, From: core.ReplicaKey{ID: 2}, To: core.NoKey, Epoch: 5, SnapshotID: core.SnapshotID{End: 9, Epoch: 4}}
	preVote := vote
	preVote.PreVote = true
	for _, test := range []struct {
		name string
		m    core.Message
		bad  func(*core.Message)
		want core.ErrorCode
	}{
		{"offset", vote, func(m *core.Message) { m.Offset = -1 }, core.InvalidRequest},
		{"last epoch", vote, func(m *core.Message) { m.LastEpoch = -1 }, core.InvalidRequest},
		{"epoch", vote, func(m *core.Message) { m.Epoch = -1 }, core.InvalidRequest}, // not fenced: below the last epoch
		{"epoch", preVote, func(m *core.Message) { m.Epoch = -1 }, core.InvalidRequest},
		{"epoch and last epoch", preVote, func(m *core.Message) { m.Epoch, m.LastEpoch = -3, -3 }, core.InvalidRequest},
		{"no epoch is above", vote, func(m *core.Message) { m.Epoch = math.MaxInt32 }, core.InvalidRequest},
		{"candidate", vote, func(m *core.Message) { m.From.ID = -2 }, core.InvalidRequest},
		{"candidate of an old epoch", vote, func(m *core.Message) { m.From.ID, m.Epoch, m.LastEpoch = -2, 4, 3 }, core.FencedLeaderEpoch},
		{"old epoch, but the offset comes first", vote, func(m *core.Message) { m.Offset, m.Epoch, m.LastEpoch = -2, 4, 3 }, core.InvalidRequest},
		{"old epoch, but the last epoch comes first", vote, func(m *core.Message) { m.From.ID, m.Epoch, m.LastEpoch = -2, 4, 4 }, core.InvalidRequest},
		{"a pre-vote may have it", preVote, func(m *core.Message) { m.From.ID, m.Epoch, m.LastEpoch = -2, 4, 4 }, core.FencedLeaderEpoch},

		{"epoch", begin, func(m *core.Message) { m.Epoch = -1 }, core.FencedLeaderEpoch},
		{"leader", begin, func(m *core.Message) { m.From.ID = -1 }, core.InvalidRequest},
		{"leader and epoch", begin, func(m *core.Message) { m.From.ID, m.Epoch = -1, 4 }, core.FencedLeaderEpoch},
		{"no epoch is above", begin, func(m *core.Message) { m.Epoch = math.MaxInt32 }, core.InvalidRequest},
		{"epoch", end, func(m *core.Message) { m.Epoch = math.MinInt32 }, core.FencedLeaderEpoch},
		{"leader", end, func(m *core.Message) { m.From.ID = -1 }, core.InvalidRequest},
		{"leader and epoch", end, func(m *core.Message) { m.From.ID, m.Epoch = -1, 4 }, core.FencedLeaderEpoch},

		{"offset", fetch, func(m *core.Message) { m.Offset = -1 }, core.InvalidRequest},
		{"last epoch", fetch, func(m *core.Message) { m.LastEpoch = -1 }, core.InvalidRequest},
		{"wait", fetch, func(m *core.Message) { m.MaxWait = -1 }, core.InvalidRequest},
		{"epoch", fetch, func(m *core.Message) { m.Epoch = -1 }, core.InvalidRequest},
		{"no epoch is above", fetch, func(m *core.Message) { m.Epoch = math.MaxInt32 }, core.UnknownLeaderEpoch},
		{"offset, in an old epoch", fetch, func(m *core.Message) { m.Offset, m.Epoch, m.LastEpoch = -1, 4, 3 }, core.InvalidRequest},

		{"epoch", chunk, func(m *core.Message) { m.Epoch = -1 }, core.FencedLeaderEpoch},
		{"no epoch is above", chunk, func(m *core.Message) { m.Epoch = math.MaxInt32 }, core.UnknownLeaderEpoch},
	} {
		c := testCodec()
		m := test.m
		test.bad(&m)
		h := Header{API: apiOf(m.Kind), Version: c.Supported(apiOf(m.Kind)).Max, Correlation: 3}
		frame, _ := c.AppendRequest(nil, h, &m)
		var req Request
		require.NoError(t, c.ReadRequest(frame[4:], &req))
		require.True(t, req.Invalid, "%v: %s", m.Kind, test.name)
		require.Equal(t, core.None, req.Refused)
		answer := req.Answer(own, 1)
		require.Equal(t, test.want, answer.Error, "%v: %s", m.Kind, test.name)

		// It is read as any other answer: with the epoch and the leader.
		var have core.Message
		code, err := c.ReadResponse(c.AppendResponse(nil, req.Header, &answer)[4:], ExpectFor(req.Header, &m), &have)
		require.NoError(t, err)
		require.Equal(t, core.None, code)
		require.Equal(t, core.Epoch(own), have.Epoch)
		require.Equal(t, core.ReplicaID(1), have.Leader)
		require.Equal(t, test.want, have.Error)
	}

	// At the edge of the range, and what need not be in one.
	for _, m := range []core.Message{
		{Kind: core.Vote, Epoch: core.MaxEpoch, LastEpoch: core.MaxEpoch - 1, Offset: math.MaxInt64},
		{Kind: core.Vote, Epoch: 1},
		{Kind: core.BeginQuorumEpoch, Epoch: core.MaxEpoch, From: core.ReplicaKey{ID: math.MaxInt32}},
		{Kind: core.Fetch, From: core.NoKey, Epoch: core.MaxEpoch, MaxWait: math.MaxInt32},
		{Kind: core.Fetch, HighWatermark: -77},
		{Kind: core.FetchSnapshot, From: core.NoKey, SnapshotID: core.SnapshotID{End: -1, Epoch: -1}, Position: -1, MaxBytes: -1},
	} {
		c := testCodec()
		frame, _ := c.AppendRequest(nil, Header{Version: c.Supported(apiOf(m.Kind)).Max}, &m)
		var req Request
		require.NoError(t, c.ReadRequest(frame[4:], &req))
		require.False(t, req.Invalid, "%+v", m)
		require.GreaterOrEqual(t, req.Message.HighWatermark, core.UnknownOffset)
		require.GreaterOrEqual(t, req.Message.MaxBytes, int32(0))
	}
}
