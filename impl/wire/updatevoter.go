package wire

import (
	"slices"

	"github.com/quorate/quorate/impl/core"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Requests that change the voter set (KIP-853). UpdateRaftVoter tells the leader where a voter
// can be reached, and what it supports. A voter of Kafka sends it to each leader, also
// where the voter set is static (kraft.version 0): there the leader keeps it in memory,
// for when the voter set becomes dynamic. Here it never does so by itself, and nothing is
// kept.
const (
	AddRaftVoter    API = 80
	RemoveRaftVoter API = 81
	UpdateRaftVoter API = 82
)

// Inconsistent says whether a cluster id, which may be missing, is of another cluster.
func (c *Codec) Inconsistent(id *string) bool { return c.inconsistent(id) }

// ListenerName is that of the listener of the quorum.
func (c *Codec) ListenerName() string { return c.listener() }

// AppendUpdateRaftVoter appends the frame of an UpdateRaftVoter response, as a leader
// with a static voter set gives it (KafkaRaftClient.handleUpdateVoterRequest). State is
// that of the replica, which leads or not.
func (c *Codec) AppendUpdateRaftVoter(dst []byte, req *Request, s core.State) []byte {
	return c.AppendUpdatedVoter(dst, req, s, c.updateVoter(req.Body.(*kmsg.UpdateRaftVoterRequest), s))
}

// AppendUpdatedVoter appends the frame of an UpdateRaftVoter response, with an error or none.
func (c *Codec) AppendUpdatedVoter(dst []byte, req *Request, s core.State, code core.ErrorCode) []byte {
	r := kmsg.NewPtrUpdateRaftVoterResponse()
	r.ErrorCode = int16(code)
	if r.ErrorCode != int16(InconsistentClusterID) {
		r.CurrentLeader.LeaderID, r.CurrentLeader.LeaderEpoch = int32(s.Leader), int32(s.Epoch)
		e := c.where()[s.Leader]
		r.CurrentLeader.Host, r.CurrentLeader.Port = e.Host, int32(e.Port)
	}
	return c.AppendBody(dst, req.Header, r)
}

// updateVoter makes the checks of Kafka, in its order.
func (c *Codec) updateVoter(q *kmsg.UpdateRaftVoterRequest, s core.State) core.ErrorCode {
	_, voter := c.where()[core.ReplicaID(q.VoterID)]
	supported := q.KRaftVersionFeature
	switch {
	case c.inconsistent(q.ClusterID):
		return InconsistentClusterID
	case core.Epoch(q.CurrentLeaderEpoch) < s.Epoch:
		return core.FencedLeaderEpoch
	case core.Epoch(q.CurrentLeaderEpoch) > s.Epoch:
		return core.UnknownLeaderEpoch
	case s.Role != core.Leader:
		return core.NotLeaderOrFollower
	case q.VoterID < 0 || q.VoterDirectoryID == [16]byte{}:
		return core.InvalidRequest
	case !slices.ContainsFunc(q.Listeners, func(l kmsg.UpdateRaftVoterRequestListener) bool { return l.Name == c.listener() }):
		return core.InvalidRequest
	case supported.MinSupportedVersion < 0 || supported.MaxSupportedVersion < supported.MinSupportedVersion:
		return core.InvalidRequest
	case s.HighWatermark == core.UnknownOffset:
		return core.RequestTimedOut
	case supported.MinSupportedVersion > c.KRaftVersion():
		return core.InvalidRequest
	case !voter:
		return core.VoterNotFound
	}
	return core.None
}
