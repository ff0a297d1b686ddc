package node

import (
	"context"
	"encoding/base64"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/driver"
	"github.com/quorate/quorate/impl/log"
	"github.com/quorate/quorate/impl/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Voter sets that are in the log (KIP-853): AddRaftVoter, RemoveRaftVoter, UpdateRaftVoter, as
// a leader answers them. The core makes the checks; what is asked of a voter before it
// becomes one, and where voters listen, is here.

// AddVoter makes a replica a voter, when it has caught up, and returns when that is committed.
// Only a leader can, one change at a time. Errors are [*OpError]: DUPLICATE_VOTER,
// INVALID_REQUEST (it does not know kraft.version 1, or does not listen where the others look
// for it), REQUEST_TIMED_OUT (another change is under way, the replica is not reached or has
// not caught up; it may be tried again), UNSUPPORTED_VERSION (the voter set is static).
func (n *Node) AddVoter(ctx context.Context, v log.Voter) error {
	return n.change(ctx, &core.Input{Kind: core.InputAddVoter, Voter: n.coreVoter(v)})
}

// RemoveVoter makes a voter an observer, and returns when that is committed. A leader may
// remove itself. Errors are as of AddVoter, and VOTER_NOT_FOUND.
func (n *Node) RemoveVoter(ctx context.Context, key core.ReplicaKey) error {
	return n.change(ctx, &core.Input{Kind: core.InputRemoveVoter, Voter: core.Voter{Key: key}})
}

// Voters are the voters of the set in force, committed or not; dynamic is false if the set is
// that of the configuration.
func (n *Node) Voters() (voters []log.Voter, dynamic bool) {
	set := n.State().VoterSet
	return driver.Voters(set.Voters), set.Dynamic()
}

// coreVoter is a voter as the core takes it: without text if it does not listen for the quorum.
func (n *Node) coreVoter(v log.Voter) core.Voter {
	c := driver.CoreVoter(v)
	if _, ok := n.endpointOf(v); !ok {
		c.Info = ""
	}
	return c
}

func (n *Node) change(ctx context.Context, in *core.Input) error {
	err := n.do(ctx, &clientOp{change: in, done: make(chan clientResult, 1)}).err
	if op, ok := err.(*OpError); ok && op.Code != core.None {
		n.sayRefused(in, op)
	}
	return err
}

var changeNames = map[core.InputKind]string{
	core.InputAddVoter: "AddRaftVoter", core.InputRemoveVoter: "RemoveRaftVoter", core.InputUpdateVoter: "UpdateRaftVoter",
}

// sayRefused logs why a change was refused, if none was just before.
func (n *Node) sayRefused(in *core.Input, err *OpError) {
	now, last := time.Now().UnixNano(), n.saidChange.Load()
	if now-last < int64(complainEvery) || !n.saidChange.CompareAndSwap(last, now) {
		return
	}
	slog.Info("refuses a change of the voter set", "node", int(n.cfg.ID), "request", changeNames[in.Kind],
		"voter", voterText(in.Voter.Key), "error", err)
}

// voterText is a voter in a log line: id, and directory id as Kafka prints it.
func voterText(k core.ReplicaKey) string {
	return fmt.Sprintf("%d:%s", k.ID, base64.RawURLEncoding.EncodeToString(k.Directory[:]))
}

// changeVoters answers a request that changes the voter set.
func (n *Node) changeVoters(ctx context.Context, dst []byte, req *wire.Request) []byte {
	switch q := req.Body.(type) {
	case *kmsg.AddRaftVoterRequest:
		r := kmsg.NewPtrAddRaftVoterResponse()
		if n.codec.Inconsistent(q.ClusterID) {
			r.ErrorCode = int16(wire.InconsistentClusterID)
			return n.codec.AppendBody(dst, req.Header, r)
		}
		v := log.Voter{ID: q.VoterID, Directory: q.VoterDirectoryID}
		for _, l := range q.Listeners {
			v.Endpoints = append(v.Endpoints, endpoint(l.Name, l.Host, l.Port))
		}
		in := &core.Input{Kind: core.InputAddVoter, Voter: n.coreVoter(v), Early: !q.AckWhenCommitted}
		r.ErrorCode, r.ErrorMessage = errorOf(n.change(ctx, in))
		return n.codec.AppendBody(dst, req.Header, r)
	case *kmsg.RemoveRaftVoterRequest:
		r := kmsg.NewPtrRemoveRaftVoterResponse()
		if n.codec.Inconsistent(q.ClusterID) {
			r.ErrorCode = int16(wire.InconsistentClusterID)
			return n.codec.AppendBody(dst, req.Header, r)
		}
		key := core.ReplicaKey{ID: core.ReplicaID(q.VoterID), Directory: q.VoterDirectoryID}
		r.ErrorCode, r.ErrorMessage = errorOf(n.RemoveVoter(ctx, key))
		return n.codec.AppendBody(dst, req.Header, r)
	case *kmsg.UpdateRaftVoterRequest:
		return n.updateVoter(ctx, dst, req, q)
	}
	return dst
}

func (n *Node) updateVoter(ctx context.Context, dst []byte, req *wire.Request, q *kmsg.UpdateRaftVoterRequest) []byte {
	s, ok := n.stateNow()
	switch {
	case !ok:
		return dst
	case n.codec.KRaftVersion() == 0:
		return n.codec.AppendUpdateRaftVoter(dst, req, s)
	case n.codec.Inconsistent(q.ClusterID):
		return n.codec.AppendUpdatedVoter(dst, req, s, wire.InconsistentClusterID)
	}
	v := log.Voter{ID: q.VoterID, Directory: q.VoterDirectoryID}
	v.MinVersion, v.MaxVersion = q.KRaftVersionFeature.MinSupportedVersion, q.KRaftVersionFeature.MaxSupportedVersion
	for _, l := range q.Listeners {
		v.Endpoints = append(v.Endpoints, endpoint(l.Name, l.Host, l.Port))
	}
	in := &core.Input{Kind: core.InputUpdateVoter, Voter: n.coreVoter(v), Epoch: core.Epoch(q.CurrentLeaderEpoch)}
	switch level := n.codec.KRaftVersion(); {
	case v.MinVersion < 0 || v.MaxVersion < v.MinVersion:
		in.Voter.Info, in.Reason = "", "its range of kraft.version is none"
	case level < v.MinVersion || level > v.MaxVersion:
		in.Error, in.Reason = core.InvalidRequest, fmt.Sprintf("it cannot do kraft.version %d", level)
	}
	code, _ := errorOf(n.change(ctx, in))
	if s, ok = n.stateNow(); !ok {
		return dst
	}
	return n.codec.AppendUpdatedVoter(dst, req, s, core.ErrorCode(code))
}

func endpoint(name, host string, port uint16) log.VoterEndpoint {
	return log.VoterEndpoint{Name: strings.ToUpper(name), Host: host, Port: port}
}

// errorOf is how a change ended, for a response.
func errorOf(err error) (code int16, message *string) {
	switch op, ok := err.(*OpError); {
	case err == nil:
		return 0, nil
	case ok && op.Code != core.None:
		return int16(op.Code), kmsg.StringPtr(op.Error())
	}
	return int16(core.BrokerNotAvailable), kmsg.StringPtr(err.Error()) // it stops
}

// CheckVoter implements [driver.Hooks]: a replica is asked whether it is there, and which
// levels of kraft.version it can do, before it becomes a voter.
func (n *Node) CheckVoter(client core.ClientID, v core.Voter) error {
	n.wg.Go(func() {
		in := input{}
		in.Kind, in.Client = core.InputVoterChecked, client
		in.Voter, in.Error, in.Reason = n.askVoter(v)
		n.give(in)
	})
	return nil
}

func (n *Node) askVoter(c core.Voter) (v core.Voter, refused core.ErrorCode, why string) {
	said := driver.Voter(c)
	e, _ := n.endpointOf(said)
	addr := hostPort(e.Host, e.Port)
	conn, err := n.dial(n.ctx, addr, n.requestTimeout(), "")
	if err != nil {
		return c, core.RequestTimedOut, fmt.Sprintf("the leader does not reach it at %s: %v", addr, err)
	}
	conn.Close()
	level := n.codec.KRaftVersion()
	switch can := conn.peer.KRaftVersion; {
	case conn.peer.Node != core.NoReplica && conn.peer.Node != c.Key.ID:
		return c, core.RequestTimedOut, fmt.Sprintf("node %d answers at %s", conn.peer.Node, addr)
	case !can.OK || level < can.Min || level > can.Max:
		return c, core.InvalidRequest, fmt.Sprintf("it cannot do kraft.version %d", level)
	default:
		said.MinVersion, said.MaxVersion = can.Min, can.Max
	}
	return driver.CoreVoter(said), core.None, ""
}

func (n *Node) requestTimeout() time.Duration {
	return time.Duration(n.coreCfg.RequestTimeout) * time.Millisecond
}

// ownVoter is this node as a voter set should have it.
func (n *Node) ownVoter() (log.Voter, error) {
	addr := n.cfg.Advertised
	if addr == "" {
		addr = n.listener.Addr().String()
	}
	e, err := Voter{Addr: addr}.endpoint()
	if err != nil {
		return log.Voter{}, fmt.Errorf("node: advertised: %w", err)
	}
	return log.Voter{
		ID: int32(n.cfg.ID), Directory: n.cfg.Directory, MaxVersion: wire.MaxKRaftVersion,
		Endpoints: []log.VoterEndpoint{{Name: n.codec.ListenerName(), Host: e.Host, Port: e.Port}},
	}, nil
}
