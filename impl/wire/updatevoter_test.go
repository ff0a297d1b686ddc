package wire

import (
	"testing"

	"github.com/quorate/quorate/impl/core"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// What a Kafka controller sends to each leader is answered as by a leader of Kafka, check
// by check.
func TestUpdateRaftVoter(t *testing.T) {
	leads := core.State{Role: core.Leader, Leader: 1, Epoch: 7, HighWatermark: 9}
	for _, c := range []struct {
		name   string
		change func(q *kmsg.UpdateRaftVoterRequest, s *core.State)
		code   int16
	}{
		{"good", func(*kmsg.UpdateRaftVoterRequest, *core.State) {}, 0},
		{"no cluster id", func(q *kmsg.UpdateRaftVoterRequest, s *core.State) { q.ClusterID = nil }, 0},
		{"cluster id", func(q *kmsg.UpdateRaftVoterRequest, s *core.State) {
			q.ClusterID, q.CurrentLeaderEpoch = kmsg.StringPtr("other"), 0
		}, 104},
		{"earlier epoch", func(q *kmsg.UpdateRaftVoterRequest, s *core.State) { q.CurrentLeaderEpoch, s.Role = 6, core.Follower }, 74},
		{"later epoch", func(q *kmsg.UpdateRaftVoterRequest, s *core.State) { q.CurrentLeaderEpoch, s.Role = 8, core.Follower }, 75},
		{"follower", func(q *kmsg.UpdateRaftVoterRequest, s *core.State) {
			s.Role, s.Leader, q.VoterID = core.Follower, 2, -1
		}, 6},
		{"resigned", func(q *kmsg.UpdateRaftVoterRequest, s *core.State) { s.Role = core.Resigned }, 6},
		{"id", func(q *kmsg.UpdateRaftVoterRequest, s *core.State) { q.VoterID, s.HighWatermark = -1, -1 }, 42},
		{"directory", func(q *kmsg.UpdateRaftVoterRequest, s *core.State) { q.VoterDirectoryID = [16]byte{} }, 42},
		{"listener", func(q *kmsg.UpdateRaftVoterRequest, s *core.State) { q.Listeners[0].Name = "Y" }, 42},
		{"negative version", func(q *kmsg.UpdateRaftVoterRequest, s *core.State) { q.KRaftVersionFeature.MinSupportedVersion = -1 }, 42},
		{"empty range", func(q *kmsg.UpdateRaftVoterRequest, s *core.State) { q.KRaftVersionFeature.MaxSupportedVersion = -1 }, 42},
		{"nothing committed", func(q *kmsg.UpdateRaftVoterRequest, s *core.State) {
			s.HighWatermark, q.KRaftVersionFeature.MinSupportedVersion = core.UnknownOffset, 1
		}, 7},
		{"version", func(q *kmsg.UpdateRaftVoterRequest, s *core.State) {
			q.KRaftVersionFeature.MinSupportedVersion, q.VoterID = 1, 5
		}, 42},
		{"no voter", func(q *kmsg.UpdateRaftVoterRequest, s *core.State) { q.VoterID = 5 }, 127},
	} {
		q, s := kmsg.NewPtrUpdateRaftVoterRequest(), leads
		q.ClusterID, q.CurrentLeaderEpoch, q.VoterID, q.VoterDirectoryID = kmsg.StringPtr("c"), 7, 2, [16]byte{1}
		q.Listeners = []kmsg.UpdateRaftVoterRequestListener{{Name: "X", Host: "h2", Port: 92}}
		q.KRaftVersionFeature.MaxSupportedVersion = 1
		c.change(q, &s)
		frame := describing.AppendUpdateRaftVoter(nil, asked(t, q), s)
		r := kmsg.NewPtrUpdateRaftVoterResponse()
		require.NoError(t, r.ReadFrom(frame[9:]), c.name)
		require.Equal(t, c.code, r.ErrorCode, c.name)
		want := kmsg.UpdateRaftVoterResponseCurrentLeader{LeaderID: int32(s.Leader), LeaderEpoch: 7, Host: "h1", Port: 91}
		switch {
		case c.code == 104:
			want = kmsg.NewUpdateRaftVoterResponseCurrentLeader()
		case s.Leader == 2:
			want.Host, want.Port = "h2", 92
		}
		require.Equal(t, want, r.CurrentLeader, c.name)
	}
}
