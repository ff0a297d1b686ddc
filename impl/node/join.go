package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/driver"
	"github.com/quorate/quorate/impl/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// What a node does by itself where the voter set is in the log: it finds out who the bootstrap
// servers are, tells the leader where it listens (KIP-853), and becomes a voter if it is
// to (KIP-1186). It sends that on connections of its own, so that no fetch waits for it.

// bootstrap asks a server who it is, until it answers, and lets the core ask it who leads.
// A server of Kafka does not tell; it gets a number of its own.
func (n *Node) bootstrap(addr string, index int) {
	wait := n.net.minBackoff
	for {
		conn, err := n.dial(n.ctx, addr, n.requestTimeout(), "")
		if err == nil {
			conn.Close()
			in := input{}
			in.Kind, in.Peer = core.InputBootstrap, conn.peer.Node
			switch {
			case in.Peer == n.cfg.ID:
				return
			case in.Peer == core.NoReplica:
				in.Peer = core.ReplicaID(-2 - index) // as Kafka numbers them
				fallthrough
			default:
				n.book.told(in.Peer, addr)
			}
			n.give(in)
			return
		}
		select {
		case <-n.ctx.Done():
			return
		case <-time.After(wait):
		}
		wait = min(2*wait, n.net.maxBackoff)
	}
}

// joiner keeps this node's entry in the voter set right. It looks every three fetch timeouts,
// as Kafka does (FollowerState.updateVoterPeriodTimer).
func (n *Node) joiner() {
	period := 3 * time.Duration(n.coreCfg.FetchTimeout) * time.Millisecond
	if period <= 0 {
		period = 6 * time.Second
	}
	tick := time.NewTicker(period)
	defer tick.Stop()
	said := ""
	for {
		select {
		case <-tick.C:
		case <-n.ctx.Done():
			return
		}
		q, leader, err := n.dueChange()
		if err == nil && q == nil {
			said = ""
			continue
		}
		if err == nil {
			err = n.tell(leader, q)
		}
		if err != nil && said != err.Error() && n.ctx.Err() == nil {
			said = err.Error()
			slog.Warn("the voter set is not what it should be", "node", int(n.cfg.ID), "error", err)
		}
	}
}

// dueChange is what is to be asked of the leader, nil if nothing.
func (n *Node) dueChange() (kmsg.Request, core.ReplicaID, error) {
	s := n.State()
	set := s.VoterSet
	if s.Role != core.Follower || !set.Dynamic() || n.ClusterID() == "" {
		return nil, 0, nil
	}
	own, err := n.ownVoter()
	if err != nil {
		return nil, 0, err
	}
	cluster := kmsg.StringPtr(n.ClusterID())
	there, is := set.Find(n.cfg.ID)
	switch self := driver.CoreVoter(own); {
	case is && there == self:
		return nil, 0, nil
	case is && there.Key == self.Key:
		q := kmsg.NewPtrUpdateRaftVoterRequest()
		q.ClusterID, q.CurrentLeaderEpoch = cluster, int32(s.Epoch)
		q.VoterID, q.VoterDirectoryID = own.ID, own.Directory
		q.KRaftVersionFeature.MinSupportedVersion, q.KRaftVersionFeature.MaxSupportedVersion = own.MinVersion, own.MaxVersion
		for _, e := range own.Endpoints {
			q.Listeners = append(q.Listeners, kmsg.UpdateRaftVoterRequestListener{Name: e.Name, Host: e.Host, Port: e.Port})
		}
		return q, s.Leader, nil
	case !n.cfg.AutoJoin || n.cfg.Directory == core.DirectoryID{}:
		return nil, 0, nil
	case is: // the disk that this node had before
		q := kmsg.NewPtrRemoveRaftVoterRequest()
		q.ClusterID, q.VoterID, q.VoterDirectoryID = cluster, int32(there.Key.ID), there.Key.Directory
		return q, s.Leader, nil
	}
	q := kmsg.NewPtrAddRaftVoterRequest()
	q.ClusterID, q.VoterID, q.VoterDirectoryID = cluster, own.ID, own.Directory
	q.TimeoutMillis, q.AckWhenCommitted = int32(n.coreCfg.RequestTimeout), false
	for _, e := range own.Endpoints {
		q.Listeners = append(q.Listeners, kmsg.AddRaftVoterRequestListener{Name: e.Name, Host: e.Host, Port: e.Port})
	}
	return q, s.Leader, nil
}

// tell asks the leader for a change of the voter set.
func (n *Node) tell(leader core.ReplicaID, q kmsg.Request) error {
	addr := n.book.addr(leader)
	if addr == "" {
		return fmt.Errorf("it is not known where replica %d, the leader, listens", leader)
	}
	r, err := n.Ask(n.ctx, addr, q)
	if err != nil {
		return err
	}
	var code int16
	var message *string
	what := ""
	switch r := r.(type) {
	case *kmsg.UpdateRaftVoterResponse:
		code, what = r.ErrorCode, "UpdateRaftVoter"
	case *kmsg.RemoveRaftVoterResponse:
		code, message, what = r.ErrorCode, r.ErrorMessage, "RemoveRaftVoter"
	case *kmsg.AddRaftVoterResponse:
		code, message, what = r.ErrorCode, r.ErrorMessage, "AddRaftVoter"
	}
	if code != 0 {
		why := codeName(core.ErrorCode(code))
		if message != nil {
			why = *message
		}
		return fmt.Errorf("%s: replica %d answers %s", what, leader, why)
	}
	slog.Info("the leader takes a change of the voter set", "node", int(n.cfg.ID), "request", what, "leader", int(leader))
	return nil
}

// ErrNotServed: who is asked does not know the request.
var ErrNotServed = errors.New("is not served")

// AskLeader is Ask for the leader that the node knows.
func (n *Node) AskLeader(ctx context.Context, q kmsg.Request) (kmsg.Response, error) {
	leader := n.Leader()
	addr := n.book.addr(leader)
	if leader == core.NoReplica || addr == "" {
		return nil, &OpError{Code: core.NotLeaderOrFollower, Leader: leader}
	}
	return n.Ask(ctx, addr, q)
}

// Ask sends a request to a node at an address, on a connection of its own, with the newest
// version that both know of what kmsg knows, and returns its answer.
func (n *Node) Ask(ctx context.Context, addr string, q kmsg.Request) (kmsg.Response, error) {
	timeout := 2 * n.requestTimeout() // the leader may take one to answer
	conn, err := n.dial(ctx, addr, timeout, "")
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	version, ok := conn.peer.Offered[wire.API(q.Key())]
	if !ok {
		return nil, fmt.Errorf("%s of %s %w", kmsg.NameForKey(q.Key()), addr, ErrNotServed)
	}
	if version.Min > q.MaxVersion() {
		return nil, fmt.Errorf("%s of %s below version %d %w", kmsg.NameForKey(q.Key()), addr, version.Min, ErrNotServed)
	}
	q.SetVersion(min(version.Max, q.MaxVersion()))
	return conn.ask(n.codec, q, timeout)
}
