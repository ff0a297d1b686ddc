package node

import (
	"bufio"
	"encoding/binary"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/snapshot"
	"github.com/quorate/quorate/impl/wire"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// asker sends requests as kmsg has them, on one connection.
type asker struct {
	t    testing.TB
	conn net.Conn
	r    *bufio.Reader
	form *kmsg.RequestFormatter
	next int32
}

func newAsker(t testing.TB, conn net.Conn) *asker {
	t.Cleanup(func() { conn.Close() })
	return &asker{t: t, conn: conn, r: bufio.NewReader(conn), form: kmsg.NewRequestFormatter(kmsg.FormatterClientID("test"))}
}

func dialAsker(t testing.TB, n *Node) *asker {
	conn, err := net.Dial("tcp", n.Addr().String())
	require.NoError(t, err)
	return newAsker(t, conn)
}

// try sends a request and reads the response.
func (a *asker) try(req kmsg.Request) (kmsg.Response, error) {
	a.next++
	a.conn.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := a.conn.Write(a.form.AppendRequest(nil, req, a.next)); err != nil {
		return nil, err
	}
	frame, err := wire.ReadFrame(a.r, wire.MaxResponse, nil)
	if err != nil {
		return nil, err
	}
	require.Equal(a.t, uint32(a.next), binary.BigEndian.Uint32(frame))
	resp := req.ResponseKind()
	resp.SetVersion(req.GetVersion())
	frame = frame[4:]
	if resp.IsFlexible() && req.Key() != 18 {
		frame = frame[1:]
	}
	return resp, resp.ReadFrom(frame)
}

func ask[R kmsg.Response](a *asker, req kmsg.Request) R {
	a.t.Helper()
	resp, err := a.try(req)
	require.NoError(a.t, err)
	return resp.(R)
}

var (
	ownDirectory   = core.DirectoryID{1: 1}
	otherDirectory = core.DirectoryID{1: 2}
)

// follower starts a node 1 of three, the others of which do not run, and tells it that 2
// leads epoch 5. connections are how many it has but those of voters, 0: the default.
func follower(t testing.TB, connections int) (*Node, *asker) {
	n, err := Start(Config{
		MaxConnections: connections,
		ID:             1, Dir: t.TempDir(), Directory: ownDirectory, ClusterID: "test",
		Voters: []Voter{{ID: 1, Addr: "127.0.0.1:1"}, {ID: 2, Addr: "127.0.0.1:1"}, {ID: 3, Addr: "127.0.0.1:1"}},
		Core:   core.Config{ElectionTimeout: 1e6, FetchTimeout: 1e6, RetryBackoff: 1e5},
	})
	require.NoError(t, err)
	t.Cleanup(func() { n.Kill(); require.NoError(t, n.Err()) })
	a := dialAsker(t, n)
	req := beginRequest()
	p := ask[*kmsg.BeginQuorumEpochResponse](a, req).Topics[0].Partitions[0]
	require.Equal(t, []int32{0, 5, 2}, []int32{int32(p.ErrorCode), p.LeaderEpoch, p.LeaderID})
	return n, a
}

const metadataTopic = "__cluster_metadata"

var metadataID = [16]byte{15: 1}

func voteRequest() *kmsg.VoteRequest {
	p := kmsg.NewVoteRequestTopicPartition()
	p.CandidateID, p.CandidateEpoch = 3, 5
	r := kmsg.NewPtrVoteRequest()
	r.Version, r.ClusterID, r.VoterID = 2, kmsg.StringPtr("test"), 1
	r.Topics = []kmsg.VoteRequestTopic{{Topic: metadataTopic, Partitions: []kmsg.VoteRequestTopicPartition{p}}}
	return r
}

func beginRequest() *kmsg.BeginQuorumEpochRequest {
	p := kmsg.NewBeginQuorumEpochRequestTopicPartition()
	p.LeaderID, p.LeaderEpoch = 2, 5
	r := kmsg.NewPtrBeginQuorumEpochRequest()
	r.Version, r.ClusterID, r.VoterID = 1, kmsg.StringPtr("test"), 1
	r.Topics = []kmsg.BeginQuorumEpochRequestTopic{{Topic: metadataTopic, Partitions: []kmsg.BeginQuorumEpochRequestTopicPartition{p}}}
	return r
}

func endRequest() *kmsg.EndQuorumEpochRequest {
	p := kmsg.NewEndQuorumEpochRequestTopicPartition()
	p.LeaderID, p.LeaderEpoch = 2, 5
	r := kmsg.NewPtrEndQuorumEpochRequest()
	r.Version, r.ClusterID = 1, kmsg.StringPtr("test")
	r.Topics = []kmsg.EndQuorumEpochRequestTopic{{Topic: metadataTopic, Partitions: []kmsg.EndQuorumEpochRequestTopicPartition{p}}}
	return r
}

func fetchRequest(epoch int32) *kmsg.FetchRequest {
	p := kmsg.NewFetchRequestTopicPartition()
	p.CurrentLeaderEpoch, p.LastFetchedEpoch, p.FetchOffset = epoch, 0, 0
	r := kmsg.NewPtrFetchRequest()
	r.Version, r.ClusterID, r.ReplicaState.ID, r.MaxWaitMillis, r.MaxBytes = 17, kmsg.StringPtr("test"), 3, 0, 1<<20
	r.Topics = []kmsg.FetchRequestTopic{{TopicID: metadataID, Partitions: []kmsg.FetchRequestTopicPartition{p}}}
	return r
}

func snapshotRequest(epoch int32, end int64, endEpoch int32) *kmsg.FetchSnapshotRequest {
	p := kmsg.NewFetchSnapshotRequestTopicPartition()
	p.CurrentLeaderEpoch, p.SnapshotID.EndOffset, p.SnapshotID.Epoch = epoch, end, endEpoch
	r := kmsg.NewPtrFetchSnapshotRequest()
	r.Version, r.ClusterID, r.ReplicaID, r.MaxBytes = 1, kmsg.StringPtr("test"), 3, 1<<20
	r.Topics = []kmsg.FetchSnapshotRequestTopic{{Topic: metadataTopic, Partitions: []kmsg.FetchSnapshotRequestTopicPartition{p}}}
	return r
}

// check is what a request is made of and what comes of it: a top-level error, or that of
// the partition with the epoch and the leader that the receiver then has.
type check[R any] struct {
	name   string
	change func(R)
	top    int16
	part   int16
	epoch  int32
	leader int32
}

func another(id **string) { *id = kmsg.StringPtr("another") }

// Checks of KafkaRaftClient.handleVoteRequest in their order, by a follower of 2 in epoch
// 5. Where two things are wrong, the first counts. The last ones change the receiver.
func TestVoteChecks(t *testing.T) {
	n, a := follower(t, 0)
	type req = *kmsg.VoteRequest
	part := func(r req) *kmsg.VoteRequestTopicPartition { return &r.Topics[0].Partitions[0] }
	for _, c := range []check[req]{
		{"cluster, before the topic", func(r req) { another(&r.ClusterID); r.Topics = nil }, 104, 0, 0, 0},
		{"no topic", func(r req) { r.Topics = nil }, 42, 0, 0, 0},
		{"another topic", func(r req) { r.Topics[0].Topic = "other" }, 42, 0, 0, 0},
		{"two topics", func(r req) { r.Topics = append(r.Topics, r.Topics[0]) }, 42, 0, 0, 0},
		{"no partition", func(r req) { r.Topics[0].Partitions = nil }, 42, 0, 0, 0},
		{"another partition, before its fields", func(r req) { part(r).Partition, part(r).LastOffset = 1, -1 }, 42, 0, 0, 0},
		{"offset, before the epoch", func(r req) { part(r).LastOffset, part(r).CandidateEpoch = -1, 4 }, 0, 42, 5, 2},
		{"last epoch is negative", func(r req) { part(r).LastOffsetEpoch = -1 }, 0, 42, 5, 2},
		{"last epoch is that of the vote", func(r req) { part(r).LastOffsetEpoch = 5 }, 0, 42, 5, 2},
		{"last epoch is above that of the pre-vote", func(r req) { part(r).PreVote, part(r).LastOffsetEpoch = true, 6 }, 0, 42, 5, 2},
		{"epoch is negative", func(r req) { part(r).CandidateEpoch = -1 }, 0, 42, 5, 2},
		{"old epoch, before the id", func(r req) { part(r).CandidateEpoch, part(r).CandidateID = 4, -1 }, 0, 74, 5, 2},
		{"old epoch, before the voter", func(r req) { part(r).CandidateEpoch = 4; r.VoterID = 9 }, 0, 74, 5, 2},
		{"no id, before the voter", func(r req) { part(r).CandidateID = -1; r.VoterID = 9 }, 0, 42, 5, 2},
		{"our own id", func(r req) { part(r).CandidateID = 1 }, 0, 42, 5, 2},
		{"another voter", func(r req) { r.VoterID = 3 }, 0, 125, 5, 2},
		{"another directory", func(r req) { part(r).VoterDirectoryID = otherDirectory }, 0, 125, 5, 2},
		{"no voter is named", func(r req) { r.VoterID, r.ClusterID = -1, nil }, 0, 0, 5, 2},
		{"fine, but there is a leader", func(r req) { part(r).VoterDirectoryID = ownDirectory }, 0, 0, 5, 2},
		{"pre-vote with the same last epoch", func(r req) { part(r).PreVote, part(r).LastOffsetEpoch = true, 5 }, 0, 0, 5, 2},
		{"another voter, in a new epoch all the same", func(r req) { r.VoterID, part(r).CandidateEpoch = 3, 6 }, 0, 125, 6, -1},
	} {
		r := voteRequest()
		c.change(r)
		got := ask[*kmsg.VoteResponse](a, r)
		require.Equal(t, c.top, got.ErrorCode, c.name)
		if c.top == 0 {
			p := got.Topics[0].Partitions[0]
			require.Equal(t, []int32{int32(c.part), c.epoch, c.leader}, []int32{int32(p.ErrorCode), p.LeaderEpoch, p.LeaderID}, c.name)
			require.Equal(t, c.name == "pre-vote with the same last epoch", p.VoteGranted, c.name) // has never fetched
		}
	}
	// Who is not in the voter set may be elected: ours may be old (KIP-853).
	r := voteRequest()
	part(r).CandidateID, part(r).CandidateEpoch, part(r).CandidateDirectoryID = 9, 7, otherDirectory
	require.True(t, ask[*kmsg.VoteResponse](a, r).Topics[0].Partitions[0].VoteGranted)
	require.True(t, ask[*kmsg.VoteResponse](a, r).Topics[0].Partitions[0].VoteGranted, "again")
	part(r).CandidateDirectoryID = ownDirectory
	require.False(t, ask[*kmsg.VoteResponse](a, r).Topics[0].Partitions[0].VoteGranted, "another replica of the same id")
	require.EqualValues(t, 7, n.State().Epoch)
}

// KafkaRaftClient.handleBeginQuorumEpochRequest.
func TestBeginQuorumEpochChecks(t *testing.T) {
	_, a := follower(t, 0)
	type req = *kmsg.BeginQuorumEpochRequest
	part := func(r req) *kmsg.BeginQuorumEpochRequestTopicPartition { return &r.Topics[0].Partitions[0] }
	for _, c := range []check[req]{
		{"cluster, before the topic", func(r req) { another(&r.ClusterID); r.Topics = nil }, 104, 0, 0, 0},
		{"no topic", func(r req) { r.Topics = nil }, 42, 0, 0, 0},
		{"another topic", func(r req) { r.Topics[0].Topic = "other" }, 42, 0, 0, 0},
		{"another partition", func(r req) { part(r).Partition = 1 }, 42, 0, 0, 0},
		{"old epoch, before the leader", func(r req) { part(r).LeaderEpoch, part(r).LeaderID = 4, -1 }, 0, 74, 5, 2},
		{"epoch is negative", func(r req) { part(r).LeaderEpoch = -7 }, 0, 74, 5, 2},
		{"no leader, before the voter", func(r req) { part(r).LeaderID = -1; r.VoterID = 3 }, 0, 42, 5, 2},
		{"a second leader of the epoch", func(r req) { part(r).LeaderID = 3 }, 0, 42, 5, 2},
		{"we are the leader", func(r req) { part(r).LeaderID = 1 }, 0, 42, 5, 2},
		{"another voter", func(r req) { r.VoterID = 3 }, 0, 125, 5, 2},
		{"another directory", func(r req) { part(r).VoterDirectoryID = otherDirectory }, 0, 125, 5, 2},
		{"known already", func(req) {}, 0, 0, 5, 2},
		{"another voter, in a new epoch all the same", func(r req) { r.VoterID, part(r).LeaderEpoch, part(r).LeaderID = 3, 6, 3 }, 0, 125, 6, 3},
		{"who leads need not be a voter", func(r req) { part(r).LeaderEpoch, part(r).LeaderID = 7, 9 }, 0, 0, 7, 9},
	} {
		r := beginRequest()
		c.change(r)
		got := ask[*kmsg.BeginQuorumEpochResponse](a, r)
		require.Equal(t, c.top, got.ErrorCode, c.name)
		if c.top == 0 {
			p := got.Topics[0].Partitions[0]
			require.Equal(t, []int32{int32(c.part), c.epoch, c.leader}, []int32{int32(p.ErrorCode), p.LeaderEpoch, p.LeaderID}, c.name)
		}
	}
}

// KafkaRaftClient.handleEndQuorumEpochRequest.
func TestEndQuorumEpochChecks(t *testing.T) {
	_, a := follower(t, 0)
	type req = *kmsg.EndQuorumEpochRequest
	part := func(r req) *kmsg.EndQuorumEpochRequestTopicPartition { return &r.Topics[0].Partitions[0] }
	for _, c := range []check[req]{
		{"cluster, before the topic", func(r req) { another(&r.ClusterID); r.Topics = nil }, 104, 0, 0, 0},
		{"no partition", func(r req) { r.Topics[0].Partitions = nil }, 42, 0, 0, 0},
		{"another topic", func(r req) { r.Topics[0].Topic = "other" }, 42, 0, 0, 0},
		{"another partition", func(r req) { part(r).Partition = -1 }, 42, 0, 0, 0},
		{"old epoch, before the leader", func(r req) { part(r).LeaderEpoch, part(r).LeaderID = 4, -1 }, 0, 74, 5, 2},
		{"epoch is negative", func(r req) { part(r).LeaderEpoch = -7 }, 0, 74, 5, 2},
		{"no leader", func(r req) { part(r).LeaderID = -1 }, 0, 42, 5, 2},
		{"a second leader of the epoch", func(r req) { part(r).LeaderID = 3 }, 0, 42, 5, 2},
		{"who leads need not be a voter, nor the candidates", func(r req) {
			part(r).LeaderEpoch, part(r).LeaderID = 6, 9
			part(r).PreferredCandidates = []kmsg.EndQuorumEpochRequestTopicPartitionPreferredCandidate{{CandidateID: -5}, {CandidateID: 77}}
		}, 0, 0, 6, 9},
	} {
		r := endRequest()
		c.change(r)
		got := ask[*kmsg.EndQuorumEpochResponse](a, r)
		require.Equal(t, c.top, got.ErrorCode, c.name)
		if c.top == 0 {
			p := got.Topics[0].Partitions[0]
			require.Equal(t, []int32{int32(c.part), c.epoch, c.leader}, []int32{int32(p.ErrorCode), p.LeaderEpoch, p.LeaderID}, c.name)
		}
	}
}

func fetchAnswer(r *kmsg.FetchResponse) []int32 {
	p := r.Topics[0].Partitions[0]
	return []int32{int32(p.ErrorCode), p.CurrentLeader.LeaderEpoch, p.CurrentLeader.LeaderID}
}

// KafkaRaftClient.handleFetchRequest, up to what the log decides.
func TestFetchChecks(t *testing.T) {
	_, a := follower(t, 0)
	type req = *kmsg.FetchRequest
	part := func(r req) *kmsg.FetchRequestTopicPartition { return &r.Topics[0].Partitions[0] }
	for _, c := range []check[req]{
		{"cluster, before the topic", func(r req) { another(&r.ClusterID); r.Topics = nil }, 104, 0, 0, 0},
		{"no topic", func(r req) { r.Topics = nil }, 42, 0, 0, 0},
		{"another topic", func(r req) { r.Topics[0].TopicID = [16]byte{1} }, 42, 0, 0, 0},
		{"another partition", func(r req) { part(r).Partition = 1 }, 42, 0, 0, 0},
		{"two partitions", func(r req) { r.Topics[0].Partitions = append(r.Topics[0].Partitions, *part(r)) }, 42, 0, 0, 0},
		{"wait, before the epoch", func(r req) { r.MaxWaitMillis, part(r).CurrentLeaderEpoch = -1, 4 }, 0, 42, 5, 2},
		{"offset, before the epoch", func(r req) { part(r).FetchOffset, part(r).CurrentLeaderEpoch = -1, 4 }, 0, 42, 5, 2},
		{"last epoch, before the epoch", func(r req) { part(r).LastFetchedEpoch, part(r).CurrentLeaderEpoch = -1, 4 }, 0, 42, 5, 2},
		{"last epoch is above the epoch", func(r req) { part(r).LastFetchedEpoch = 6 }, 0, 42, 5, 2},
		{"no epoch", func(r req) { part(r).CurrentLeaderEpoch = -1 }, 0, 42, 5, 2},
		{"old epoch", func(r req) { part(r).CurrentLeaderEpoch = 4 }, 0, 74, 5, 2},
		{"new epoch, which is not believed", func(r req) { part(r).CurrentLeaderEpoch = 6 }, 0, 75, 5, 2},
		{"the last of all epochs", func(r req) { part(r).CurrentLeaderEpoch = 1<<31 - 1 }, 0, 75, 5, 2},
		{"not the leader, before our own id", func(r req) { r.ReplicaState.ID = 1 }, 0, 6, 5, 2},
		{"not the leader", func(req) {}, 0, 6, 5, 2},
	} {
		r := fetchRequest(5)
		c.change(r)
		got := ask[*kmsg.FetchResponse](a, r)
		require.Equal(t, c.top, got.ErrorCode, c.name)
		if c.top == 0 {
			require.Equal(t, []int32{int32(c.part), c.epoch, c.leader}, fetchAnswer(got), c.name)
			require.EqualValues(t, -1, got.Topics[0].Partitions[0].HighWatermark)
			require.Equal(t, []kmsg.FetchResponseBroker{{NodeID: 2, Host: "127.0.0.1", Port: 1}}, got.Brokers)
		}
	}
}

// KafkaRaftClient.handleFetchSnapshotRequest, by a follower.
func TestFetchSnapshotChecks(t *testing.T) {
	_, a := follower(t, 0)
	type req = *kmsg.FetchSnapshotRequest
	part := func(r req) *kmsg.FetchSnapshotRequestTopicPartition { return &r.Topics[0].Partitions[0] }
	for _, c := range []check[req]{
		{"cluster, before the topic", func(r req) { another(&r.ClusterID); r.Topics[0].Topic = "other" }, 104, 0, 0, 0},
		{"no topic", func(r req) { r.Topics = nil }, 42, 0, 0, 0},
		{"another topic, before the epoch", func(r req) { r.Topics[0].Topic, part(r).CurrentLeaderEpoch = "other", 4 }, 0, 3, 0, 0},
		{"another partition", func(r req) { part(r).Partition = 1 }, 0, 3, 0, 0},
		{"old epoch, before the position", func(r req) { part(r).Position, part(r).CurrentLeaderEpoch = -1, 4 }, 0, 74, 5, 2},
		{"epoch is negative", func(r req) { part(r).CurrentLeaderEpoch = -1 }, 0, 74, 5, 2},
		{"new epoch, which is not believed", func(r req) { part(r).CurrentLeaderEpoch = 6 }, 0, 75, 5, 2},
		{"not the leader, before the snapshot", func(r req) { part(r).SnapshotID.EndOffset = -1 }, 0, 6, 5, 2},
	} {
		r := snapshotRequest(5, 9, 4)
		c.change(r)
		got := ask[*kmsg.FetchSnapshotResponse](a, r)
		require.Equal(t, c.top, got.ErrorCode, c.name)
		if c.top == 0 {
			require.Equal(t, r.Topics[0].Topic, got.Topics[0].Topic)
			p := got.Topics[0].Partitions[0]
			require.Equal(t, part(r).Partition, p.Partition)
			require.Equal(t, []int32{int32(c.part), c.epoch, c.leader}, []int32{int32(p.ErrorCode), p.CurrentLeader.LeaderEpoch, p.CurrentLeader.LeaderID}, c.name)
			require.Empty(t, p.Bytes)
		}
	}
}

// takeSnapshot makes a snapshot by hand of all that is committed, which the replica then
// holds.
func takeSnapshot(t testing.TB, n *Node, records ...[]byte) snapshot.ID {
	s := n.State()
	id := snapshot.ID{End: int64(s.HighWatermark), Epoch: int32(s.LastEpoch)}
	require.Equal(t, s.LogEnd, s.HighWatermark)
	w, err := snapshot.Create(fs.OS{}, filepath.Join(n.cfg.Dir, logDir), id, 0)
	require.NoError(t, err)
	require.NoError(t, w.Append(records))
	require.NoError(t, w.Freeze())
	in := input{}
	in.Kind, in.SnapshotID, in.Size = core.InputSnapshotTaken, core.SnapshotID{End: core.Offset(id.End), Epoch: core.Epoch(id.Epoch)}, w.Size()
	require.True(t, n.give(in))
	require.Eventually(t, func() bool { return n.State().Snapshot == in.SnapshotID }, 10*time.Second, time.Millisecond)
	return id
}

// What a leader makes of requests that are right but for one thing, or come at the wrong
// time.
func TestLeaderChecks(t *testing.T) {
	c := newCluster(t, 1, true, nil)
	c.append("a")
	n := c.nodes[0]
	a := dialAsker(t, n)
	epoch := int32(n.State().Epoch)
	id := takeSnapshot(t, n, []byte("a"))

	type req = *kmsg.FetchSnapshotRequest
	part := func(r req) *kmsg.FetchSnapshotRequestTopicPartition { return &r.Topics[0].Partitions[0] }
	for _, c := range []check[req]{
		{"no such end", func(r req) { part(r).SnapshotID.EndOffset++ }, 0, 98, epoch, 1},
		{"no such epoch, before the position", func(r req) { part(r).SnapshotID.Epoch++; part(r).Position = -1 }, 0, 98, epoch, 1},
		{"negative id", func(r req) { part(r).SnapshotID.EndOffset = -1 }, 0, 98, epoch, 1},
		{"the first snapshot is never given", func(r req) { part(r).SnapshotID.EndOffset, part(r).SnapshotID.Epoch = 0, 0 }, 0, 98, epoch, 1},
		{"negative position", func(r req) { part(r).Position = -1 }, 0, 99, epoch, 1},
		{"position behind the end", func(r req) { part(r).Position = 1 << 40 }, 0, 99, epoch, 1},
		{"our own id", func(r req) { r.ReplicaID = 1 }, 0, 42, epoch, 1},
		{"nothing is asked for", func(r req) { r.MaxBytes = 0 }, 0, 0, epoch, 1},
		{"less than nothing is asked for", func(r req) { r.MaxBytes = -1 }, 0, 0, epoch, 1},
		{"whoever it is, and of any cluster", func(r req) { r.ReplicaID, r.ClusterID = -1, nil }, 0, 0, epoch, 1},
	} {
		r := snapshotRequest(epoch, id.End, id.Epoch)
		c.change(r)
		got := ask[*kmsg.FetchSnapshotResponse](a, r)
		require.Equal(t, c.top, got.ErrorCode, c.name)
		p := got.Topics[0].Partitions[0]
		require.Equal(t, []int32{int32(c.part), c.epoch, c.leader}, []int32{int32(p.ErrorCode), p.CurrentLeader.LeaderEpoch, p.CurrentLeader.LeaderID}, c.name)
		require.Equal(t, c.part == 0 && r.MaxBytes > 0, len(p.Bytes) > 0, c.name)
		require.Equal(t, []kmsg.FetchSnapshotResponseNodeEndpoint{{NodeID: 1, Host: "127.0.0.1", Port: n.codec.Endpoints[1].Port}}, got.NodeEndpoints)
	}

	// A fetch at offset 0 is sent to the snapshot, one behind it gets records, and one of
	// another history is told where it leaves ours.
	first := ask[*kmsg.FetchResponse](a, fetchRequest(epoch)).Topics[0].Partitions[0]
	require.EqualValues(t, id.End, first.SnapshotID.EndOffset)
	require.EqualValues(t, id.Epoch, first.SnapshotID.Epoch)
	require.Empty(t, first.RecordBatches)
	for _, test := range []struct {
		name            string
		offset          int64
		last, id        int32
		code            int16
		records, diverg bool
	}{
		{"records", 1, epoch, 3, 0, true, false},
		{"by whom we do not know", 1, epoch, 77, 0, true, false},
		{"by nobody", 1, epoch, -1, 0, true, false},
		{"our own id", 1, epoch, 1, 42, false, false},
		{"behind the end", 1 << 40, epoch, 3, 0, false, true},
		{"of an epoch before the snapshot's", 1, epoch - 1, 3, 0, false, false},
	} {
		r := fetchRequest(epoch)
		p := &r.Topics[0].Partitions[0]
		p.FetchOffset, p.LastFetchedEpoch, r.ReplicaState.ID = test.offset, test.last, test.id
		got := ask[*kmsg.FetchResponse](a, r)
		require.Equal(t, []int32{int32(test.code), epoch, 1}, fetchAnswer(got), test.name)
		require.Equal(t, test.records, len(got.Topics[0].Partitions[0].RecordBatches) > 0, test.name)
		require.Equal(t, test.diverg, got.Topics[0].Partitions[0].DivergingEpoch.Epoch >= 0, test.name)
		require.Equal(t, test.last < epoch, got.Topics[0].Partitions[0].SnapshotID.EndOffset >= 0, test.name)
	}

	// Valid requests that come at the wrong time.
	vote := voteRequest()
	vote.Topics[0].Partitions[0].CandidateEpoch = epoch
	got := ask[*kmsg.VoteResponse](a, vote).Topics[0].Partitions[0]
	require.Equal(t, []int32{0, epoch, 1}, []int32{int32(got.ErrorCode), got.LeaderEpoch, got.LeaderID})
	require.False(t, got.VoteGranted, "a leader votes for nobody in its epoch")
	begin := beginRequest()
	begin.Topics[0].Partitions[0].LeaderEpoch = epoch
	require.EqualValues(t, 42, ask[*kmsg.BeginQuorumEpochResponse](a, begin).Topics[0].Partitions[0].ErrorCode, "another leader of our epoch")
	end := endRequest()
	end.Topics[0].Partitions[0].LeaderEpoch = epoch
	require.EqualValues(t, 42, ask[*kmsg.EndQuorumEpochResponse](a, end).Topics[0].Partitions[0].ErrorCode, "another leader of our epoch")
	require.Equal(t, core.Leader, n.State().Role)

	describe := kmsg.NewPtrDescribeQuorumRequest()
	describe.Version = 2
	describe.Topics = []kmsg.DescribeQuorumRequestTopic{{Topic: metadataTopic, Partitions: []kmsg.DescribeQuorumRequestTopicPartition{{Partition: 1}}}}
	require.EqualValues(t, 3, ask[*kmsg.DescribeQuorumResponse](a, describe).Topics[0].Partitions[0].ErrorCode)
	c.append("b")
}
