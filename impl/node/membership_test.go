package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/log"
	"github.com/quorate/quorate/impl/snapshot"
	"github.com/quorate/quorate/impl/wire"
	"github.com/quorate/quorate/traces"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// dynamicCluster is nodes in this process whose voters are in the log. Node 1 begins as the
// only voter.
type dynamicCluster struct {
	t     testing.TB
	dir   string
	addrs []string
	disks []byte // of each node: which directory id it has
	nodes []*Node
	join  bool
	trace bool
	calm  bool // leaders stay, however busy the machine is

	started []bool
}

func newDynamicCluster(t testing.TB, size int) *dynamicCluster {
	c := &dynamicCluster{t: t, dir: t.TempDir(), nodes: make([]*Node, size), disks: make([]byte, size), trace: true, started: make([]bool, size)}
	for range size {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		c.addrs = append(c.addrs, l.Addr().String())
		l.Close()
	}
	c.writeZero(1)
	t.Cleanup(func() {
		for _, n := range c.nodes {
			if n != nil {
				n.Kill()
				require.NoError(t, n.Err())
			}
		}
		if !t.Failed() {
			c.judge()
		}
	})
	return c
}

// judge holds what was recorded against the specification, unless a node had two disks: to
// it that would be two replicas.
func (c *dynamicCluster) judge() {
	var files []string
	run := traces.Run{Voters: []int32{1}, PreVote: traces.PreVote{All: true}, KRaftVersion: 1}
	for i := range c.nodes {
		if c.disks[i] > 0 || !c.trace {
			return
		}
		if i > 0 {
			run.Observers = append(run.Observers, int32(i+1))
		}
		if name := c.traceName(i); c.started[i] {
			files = append(files, name)
		}
	}
	rec, err := traces.Files(files...)
	require.NoError(c.t, err)
	res, err := traces.Validate(rec.Inputs, traces.Options{Run: &run})
	require.NoError(c.t, err)
	require.Equal(c.t, traces.Accepted, res.Verdict, "%v", res.Rejection)
	c.t.Logf("accepted: %d events", res.Stats.Events)
}

func (c *dynamicCluster) traceName(i int) string {
	return filepath.Join(c.dir, fmt.Sprintf("node-%d-%d.ndjson", i+1, c.disks[i]))
}

func (c *dynamicCluster) path(i int) string {
	return filepath.Join(c.dir, fmt.Sprintf("%d-%d", i+1, c.disks[i]))
}

func (c *dynamicCluster) key(i int) core.ReplicaKey {
	return core.ReplicaKey{ID: core.ReplicaID(i + 1), Directory: core.DirectoryID{c.disks[i] + 1, byte(i + 1)}}
}

func (c *dynamicCluster) voter(i int) log.Voter {
	host, port := Voter{Addr: c.addrs[i]}.HostPort()
	return log.Voter{ID: int32(i + 1), Directory: c.key(i).Directory, MaxVersion: 1,
		Endpoints: []log.VoterEndpoint{{Name: "CONTROLLER", Host: host, Port: uint16(port)}}}
}

// writeZero gives the first nodes a zero checkpoint in which they are the voters.
func (c *dynamicCluster) writeZero(voters int) {
	var set []log.Voter
	for i := range voters {
		set = append(set, c.voter(i))
	}
	for i := range voters {
		dir := filepath.Join(c.path(i), logDir)
		require.NoError(c.t, os.MkdirAll(dir, 0o755))
		w, err := snapshot.Create(fs.OS{}, dir, snapshot.ID{}, 0, log.KRaftVersionControl(1), log.KRaftVotersControl(set))
		require.NoError(c.t, err)
		require.NoError(c.t, w.Freeze())
	}
}

func (c *dynamicCluster) start(i int) *Node {
	cfg := Config{
		ID: c.key(i).ID, Directory: c.key(i).Directory, Dir: c.path(i), Listen: c.addrs[i], Bootstrap: c.addrs, ClusterID: "test", AutoJoin: c.join,
		Core: core.Config{ElectionTimeout: 150, FetchTimeout: 300, ElectionBackoffMax: 100, RequestTimeout: 1000},
	}
	if c.calm {
		cfg.Core.FetchTimeout = 60_000
	}
	if c.trace {
		cfg.Trace = c.traceName(i)
	}
	c.started[i] = true
	n, err := Start(cfg)
	require.NoError(c.t, err)
	c.nodes[i] = n
	return n
}

func (c *dynamicCluster) kill(i int) {
	c.nodes[i].Kill()
	require.NoError(c.t, c.nodes[i].Err())
	c.nodes[i] = nil
}

func (c *dynamicCluster) leader() *Node {
	var leads *Node
	require.Eventually(c.t, func() bool {
		leads = nil
		for _, n := range c.nodes {
			if n != nil {
				if s := n.State(); s.Role == core.Leader && s.HighWatermark > s.EpochStart && (leads == nil || leads.State().Epoch < s.Epoch) {
					leads = n
				}
			}
		}
		return leads != nil
	}, 30*time.Second, time.Millisecond, "no leader")
	return leads
}

// until asks the leader, whichever that is, until it has done it.
func (c *dynamicCluster) until(do func(n *Node) error) {
	var err error
	require.Eventually(c.t, func() bool {
		err = do(c.leader())
		return err == nil
	}, 60*time.Second, 10*time.Millisecond, "%v", err)
}

func (c *dynamicCluster) add(i int) {
	c.until(func(n *Node) error {
		err := n.AddVoter(context.Background(), c.voter(i))
		if e := new(OpError); errors.As(err, &e) && e.Code == core.DuplicateVoter {
			return nil // an attempt that was not answered
		}
		return err
	})
}

func (c *dynamicCluster) remove(key core.ReplicaKey) {
	c.until(func(n *Node) error {
		err := n.RemoveVoter(context.Background(), key)
		if e := new(OpError); errors.As(err, &e) && e.Code == core.VoterNotFound {
			return nil
		}
		return err
	})
}

func (c *dynamicCluster) propose(value string) {
	c.until(func(n *Node) error {
		_, _, err := n.Propose(context.Background(), [][]byte{[]byte(value)})
		return err
	})
}

// agree waits until all that run have the same voters and values.
func (c *dynamicCluster) agree(voters ...core.ReplicaKey) {
	require.Eventually(c.t, func() bool {
		end := c.leader().State().LogEnd
		for _, n := range c.nodes {
			if n == nil {
				continue
			}
			s := n.State()
			if s.HighWatermark != end || s.LogEnd != end || len(s.VoterSet.Voters) != len(voters) {
				return false
			}
			for _, key := range voters {
				if v, ok := s.VoterSet.Find(key.ID); !ok || v.Key != key {
					return false
				}
			}
		}
		return true
	}, 30*time.Second, 5*time.Millisecond, "the nodes do not agree")
}

// One voter becomes three, and the leader leaves and comes back; all are killed; and one more
// comes late: over sockets and files.
func TestMembership(t *testing.T) {
	c := newDynamicCluster(t, 4)
	for i := range 3 {
		c.start(i)
	}
	first := c.leader()
	require.Equal(t, core.ReplicaID(1), first.State().ID)
	c.propose("one")
	require.Error(t, first.AddVoter(context.Background(), log.Voter{ID: 9, Directory: [16]byte{1}}), "it listens nowhere")
	c.add(1)
	c.add(2)
	c.propose("two")
	c.agree(c.key(0), c.key(1), c.key(2))

	c.remove(c.key(0))
	c.propose("three")
	c.agree(c.key(1), c.key(2))
	require.NotEqual(t, core.ReplicaID(1), c.leader().State().ID)
	c.add(0)
	c.agree(c.key(0), c.key(1), c.key(2))

	// All of it is found again on the disks.
	for i := range 3 {
		c.kill(i)
	}
	for i := range 3 {
		c.start(i)
	}
	c.propose("four")
	c.agree(c.key(0), c.key(1), c.key(2))
	state, err := os.ReadFile(filepath.Join(c.path(1), logDir, "quorum-state"))
	require.NoError(t, err)
	require.Contains(t, string(state), `"data_version":1`)

	// And one that comes late gets it.
	c.start(3)
	c.add(3)
	c.agree(c.key(0), c.key(1), c.key(2), c.key(3))
	var values []string
	for _, v := range c.nodes[3].Values(0) {
		values = append(values, string(v.Value))
	}
	require.Equal(t, []string{"one", "two", "three", "four"}, values)
}

// A disk is lost: the node comes back with another directory id, and is another replica.
func TestLostDisk(t *testing.T) {
	c := newDynamicCluster(t, 3)
	for i := range 3 {
		c.start(i)
	}
	c.add(1)
	c.add(2)
	c.propose("before")
	old := c.key(1)
	c.kill(1)
	c.propose("meanwhile")
	c.disks[1] = 1
	c.start(1)
	c.remove(old)
	c.add(1)
	c.propose("after")
	c.agree(c.key(0), c.key(1), c.key(2))
}

// Killed in the midst of changes, nodes come back to what was committed, and go on.
func TestMembershipSurvivesKills(t *testing.T) {
	c := newDynamicCluster(t, 3)
	for i := range 3 {
		c.start(i)
	}
	c.add(1)
	for round := range 6 {
		n, doing := c.leader(), make(chan struct{})
		go func() {
			defer close(doing)
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			if round%2 == 0 {
				n.AddVoter(ctx, c.voter(2))
			} else {
				n.RemoveVoter(ctx, c.key(2))
			}
		}()
		time.Sleep(time.Duration(round*3) * time.Millisecond) // anywhere in the change
		i := int(n.State().ID) - 1
		c.kill(i)
		<-doing
		c.start(i)
		c.propose(fmt.Sprint("round ", round))
	}
	c.add(2)
	c.agree(c.key(0), c.key(1), c.key(2))
}

// A node that may become a voter does so by itself (KIP-1186).
func TestAutoJoin(t *testing.T) {
	c := newDynamicCluster(t, 3)
	c.join = true
	for i := range 3 {
		c.start(i)
	}
	c.agree(c.key(0), c.key(1), c.key(2))
}

// So does one in place of its lost disk.
func TestAutoJoinAfterLostDisk(t *testing.T) {
	c := newDynamicCluster(t, 3)
	c.join = true
	for i := range 3 {
		c.start(i)
	}
	c.agree(c.key(0), c.key(1), c.key(2))
	c.kill(2)
	c.disks[2] = 1
	c.start(2)
	c.agree(c.key(0), c.key(1), c.key(2))
}

// A voter that listens elsewhere after a restart tells the leader.
func TestVoterMoves(t *testing.T) {
	c := newDynamicCluster(t, 2)
	c.start(0)
	c.start(1)
	c.add(1)
	c.agree(c.key(0), c.key(1))
	i := 1 - (int(c.leader().State().ID) - 1)
	c.kill(i)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c.addrs[i] = l.Addr().String()
	l.Close()
	c.start(i)
	require.Eventually(t, func() bool {
		for _, n := range c.nodes {
			voters, _ := n.Voters()
			if len(voters) != 2 || voters[i].Endpoints[0] != c.voter(i).Endpoints[0] {
				return false
			}
		}
		return true
	}, 30*time.Second, 5*time.Millisecond, "the voter set does not tell where the voter listens")
	c.propose("there")
	c.agree(c.key(0), c.key(1))
}

// The requests on the wire, with the errors of Kafka.
func TestVoterRequests(t *testing.T) {
	c := newDynamicCluster(t, 2)
	c.calm = true
	c.start(0)
	c.start(1)
	leader, follower := c.leader(), c.nodes[1]
	why := ""
	ask := func(n *Node, q kmsg.Request) (code int16) {
		r, err := leader.Ask(context.Background(), n.Addr().String(), q)
		require.NoError(t, err)
		switch r := r.(type) {
		case *kmsg.AddRaftVoterResponse:
			if why = ""; r.ErrorMessage != nil {
				why = *r.ErrorMessage
			}
			return r.ErrorCode
		case *kmsg.RemoveRaftVoterResponse:
			if why = ""; r.ErrorMessage != nil {
				why = *r.ErrorMessage
			}
			return r.ErrorCode
		case *kmsg.UpdateRaftVoterResponse:
			return r.ErrorCode
		}
		return -1
	}
	add := func(i int, change func(q *kmsg.AddRaftVoterRequest)) *kmsg.AddRaftVoterRequest {
		q := kmsg.NewPtrAddRaftVoterRequest()
		v := c.voter(i)
		q.VoterID, q.VoterDirectoryID = v.ID, v.Directory
		q.Listeners = []kmsg.AddRaftVoterRequestListener{{Name: "controller", Host: v.Endpoints[0].Host, Port: v.Endpoints[0].Port}}
		change(q)
		return q
	}
	require.EqualValues(t, 104, ask(leader, add(1, func(q *kmsg.AddRaftVoterRequest) { q.ClusterID = kmsg.StringPtr("other") })))
	require.EqualValues(t, 6, ask(follower, add(1, func(q *kmsg.AddRaftVoterRequest) {})))
	require.EqualValues(t, 42, ask(leader, add(1, func(q *kmsg.AddRaftVoterRequest) { q.VoterDirectoryID = [16]byte{} })))
	require.EqualValues(t, 42, ask(leader, add(1, func(q *kmsg.AddRaftVoterRequest) { q.Listeners[0].Name = "EXTERNAL" })))
	require.EqualValues(t, 126, ask(leader, add(0, func(q *kmsg.AddRaftVoterRequest) {})))
	require.EqualValues(t, 7, ask(leader, add(1, func(q *kmsg.AddRaftVoterRequest) { q.Listeners[0].Port = 1 })), "nobody listens there")
	require.Contains(t, why, "REQUEST_TIMED_OUT: the leader does not reach it at 127.0.0.1:1: ")
	require.EqualValues(t, 7, ask(leader, add(1, func(q *kmsg.AddRaftVoterRequest) { q.VoterDirectoryID = [16]byte{9} })))
	require.Equal(t, "REQUEST_TIMED_OUT: no replica of this id and this directory id fetches from the leader", why)
	require.Eventually(t, func() bool { return ask(leader, add(1, func(q *kmsg.AddRaftVoterRequest) {})) == 0 }, 30*time.Second, 10*time.Millisecond)

	r := kmsg.NewPtrRemoveRaftVoterRequest()
	r.VoterID, r.VoterDirectoryID = 2, [16]byte{9}
	require.EqualValues(t, 127, ask(leader, r))
	require.Equal(t, "VOTER_NOT_FOUND: no voter has this id and this directory id", why)
	u := kmsg.NewPtrUpdateRaftVoterRequest()
	u.CurrentLeaderEpoch, u.VoterID, u.VoterDirectoryID = int32(leader.State().Epoch), 2, c.key(1).Directory
	u.Listeners = []kmsg.UpdateRaftVoterRequestListener{{Name: "CONTROLLER", Host: "h", Port: 1}}
	u.KRaftVersionFeature.MinSupportedVersion, u.KRaftVersionFeature.MaxSupportedVersion = 2, 3
	require.EqualValues(t, 42, ask(leader, u), "it cannot do kraft.version 1")
	u.CurrentLeaderEpoch--
	require.EqualValues(t, 74, ask(leader, u))

	conn, err := leader.dial(context.Background(), leader.Addr().String(), time.Second, "")
	require.NoError(t, err)
	defer conn.Close()
	require.Equal(t, wire.Versions{Min: 0, Max: 1, OK: true}, conn.peer.KRaftVersion)
	require.Equal(t, core.ReplicaID(1), conn.peer.Node)
}

// The voters that were in force at the end of a snapshot are in its header, and who
// starts from it knows them.
func TestSnapshotHasVoters(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c := newDynamicCluster(t, 3)
	c.start(0)
	c.start(1)
	c.add(1)
	c.propose("x")
	c.agree(c.key(0), c.key(1))
	end := int64(c.leader().State().HighWatermark)
	for _, n := range c.nodes[:2] {
		require.Eventually(t, func() bool { return n.State().Applied >= end }, 30*time.Second, time.Millisecond)
		epoch, _ := n.EpochOf(end - 1)
		write, err := n.values.Snapshot()
		require.NoError(t, err)
		_, err = n.TrimTo(ctx, end, write)
		require.NoError(t, err)
		r, err := snapshot.Open(fs.OS{}, filepath.Join(n.cfg.Dir, logDir), snapshot.ID{End: end, Epoch: epoch})
		require.NoError(t, err)
		require.EqualValues(t, 1, r.KRaftVersion())
		require.Equal(t, []log.Voter{c.voter(0), c.voter(1)}, r.Voters())
		require.NoError(t, r.Close())
	}

	c.start(2)
	c.agree(c.key(0), c.key(1))
	require.Equal(t, core.Offset(end), c.nodes[2].State().LogStart, "it has fetched the log, not the snapshot")
	for i := range 3 {
		c.kill(i)
	}
	for i := range 3 {
		c.start(i)
	}
	c.propose("y")
	c.agree(c.key(0), c.key(1))
	c.add(2)
	c.agree(c.key(0), c.key(1), c.key(2))
}
