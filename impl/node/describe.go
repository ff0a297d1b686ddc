package node

import (
	"context"
	"time"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/wire"
)

// answerAside answers a request that is not for the core. Without an answer the
// connection is to be closed.
func (n *Node) answerAside(ctx context.Context, dst []byte, req *wire.Request) []byte {
	switch {
	case req.Refused != core.None:
		return n.codec.AppendRefusal(dst, req, req.Refused)
	case req.Invalid:
		s, ok := n.stateNow()
		if !ok {
			return dst
		}
		m := req.Answer(s.Epoch, s.Leader)
		return n.codec.AppendResponse(dst, req.Header, &m)
	}
	switch req.API {
	case wire.DescribeQuorum:
		return n.codec.AppendDescribeQuorum(dst, req, n.describe())
	case wire.DescribeCluster:
		return n.codec.AppendDescribeCluster(dst, req, n.State().Leader)
	case wire.AddRaftVoter, wire.RemoveRaftVoter, wire.UpdateRaftVoter:
		return n.changeVoters(ctx, dst, req)
	}
	if req.Body != nil {
		return n.answerBody(ctx, dst, req)
	}
	return n.codec.AppendApiVersions(dst, req.Header, core.None)
}

// stateNow is the state of the replica: no earlier epoch or leader than any response has
// told of, which State may have. false: the node stops.
func (n *Node) stateNow() (s core.State, ok bool) {
	done := make(chan core.State, 1)
	select {
	case n.asks <- func() { done <- n.replica.State() }:
		return <-done, true
	case <-n.ctx.Done():
		return core.State{}, false
	}
}

// describe is what the replica, as a leader, knows of the quorum.
func (n *Node) describe() *wire.Quorum {
	done := make(chan *wire.Quorum, 1)
	select {
	case n.asks <- func() { done <- n.describeNow() }:
		return <-done
	case <-n.ctx.Done():
		s := n.State()
		return &wire.Quorum{Error: core.NotLeaderOrFollower, Leader: core.NoReplica, Epoch: s.Epoch, HighWatermark: core.UnknownOffset}
	}
}

// describeNow is for the loop.
func (n *Node) describeNow() *wire.Quorum {
	s := n.replica.State()
	q := &wire.Quorum{Leader: s.Leader, Epoch: s.Epoch, HighWatermark: s.HighWatermark}
	voters, observers, ok := n.replica.Describe(n.now())
	if !ok {
		q.Error, q.HighWatermark = core.NotLeaderOrFollower, core.UnknownOffset
		return q
	}
	q.Voters, q.Observers = n.replicas(voters), n.replicas(observers)
	return q
}

func (n *Node) replicas(all []core.Progress) (out []wire.QuorumReplica) {
	for _, p := range all {
		out = append(out, wire.QuorumReplica{Key: p.Key, LogEnd: p.End, LastFetch: n.wall(p.LastFetch), LastCaughtUp: n.wall(p.LastCaughtUp)})
	}
	return out
}

// wall is a time of the core in milliseconds since 1970, -1 if it is none.
func (n *Node) wall(t core.Ticks) int64 {
	if t == core.Never {
		return -1
	}
	return n.start.Add(time.Duration(t) * time.Millisecond).UnixMilli()
}
