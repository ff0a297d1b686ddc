package wire

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/quorate/quorate/impl/core"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

var (
	dirA = core.DirectoryID{0: 0xaa, 15: 0x01}
	dirB = core.DirectoryID{0: 0xbb, 15: 0x02}
)

func testCodec() *Codec {
	return &Codec{
		ClusterID: "c",
		PreVote:   true,
		Endpoints: map[core.ReplicaID]Endpoint{1: {"h1", 9091}, 2: {"h2", 9092}},
	}
}

func unhex(t testing.TB, parts ...string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(strings.Join(parts, ""), " ", ""))
	require.NoError(t, err)
	return b
}

const topicHex = "13" + "5f5f636c75737465725f6d65746164617461" // compact string __cluster_metadata

// Bytes written down by hand from Kafka's message definitions.
func TestVoteRequestBytes(t *testing.T) {
	m := core.Message{Kind: core.Vote, From: core.ReplicaKey{ID: 3, Directory: dirA}, To: core.ReplicaKey{ID: 2, Directory: dirB},
		Epoch: 5, LastEpoch: 4, Offset: 258, PreVote: true}
	have, code := testCodec().AppendRequest(nil, Header{Version: 2, Correlation: 7, ClientID: "ab"}, &m)
	require.Equal(t, core.None, code)
	body := unhex(t,
		"0034 0002 00000007 0002 6162 00", // key 52, version 2, correlation, client id, no tagged fields
		"0263",                            // cluster id
		"00000002",                        // voter id
		"02", topicHex, "02",
		"00000000 00000005 00000003", // partition, replica epoch, replica id
		"aa000000000000000000000000000001", "bb000000000000000000000000000002",
		"00000004 0000000000000102 01", // last epoch, last offset, pre-vote
		"00 00 00")
	require.Equal(t, append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...), have)

	var req Request
	require.NoError(t, testCodec().ReadRequest(body, &req))
	require.Equal(t, Request{Header: Header{API: Vote, Version: 2, Correlation: 7, ClientID: "ab"}, Message: m}, req)
}

func TestFetchRequestBytes(t *testing.T) {
	m := core.Message{Kind: core.Fetch, From: core.ReplicaKey{ID: 2, Directory: dirB}, To: core.NoKey,
		Epoch: 5, LastEpoch: 4, Offset: 258, HighWatermark: 200, MaxWait: 500, MaxBytes: 8 << 20}
	have, code := testCodec().AppendRequest(nil, Header{Version: 18, Correlation: 9}, &m)
	require.Equal(t, core.None, code)
	require.Equal(t, unhex(t,
		"00000099", "0001 0012 00000009 0000 00",
		"000001f4 00000000 00800000 00", // max wait, min bytes, max bytes, isolation level
		"00000000 ffffffff",             // session
		"02 00000000000000000000000000000001 02",
		"00000000 00000005 0000000000000102 00000004 ffffffffffffffff 00000000", // .., log start -1, partition max bytes
		"02 0010 bb000000000000000000000000000002 0108 00000000000000c8",        // directory id, high watermark
		"00 01 01",                            // tags of the topic; no forgotten topics; empty rack
		"02 00 02 02 63",                      // tag 0: cluster id
		"01 0d 00000002 ffffffffffffffff 00"), // tag 1: replica id, epoch
		fixSize(have))

	var req Request
	require.NoError(t, testCodec().ReadRequest(have[4:], &req))
	require.Equal(t, m, req.Message)
}

// fixSize checks the length of a frame and puts 0x99 in its place, so that the bytes
// written by hand need not count themselves.
func fixSize(frame []byte) []byte {
	if int(binary.BigEndian.Uint32(frame)) != len(frame)-4 {
		return nil
	}
	binary.BigEndian.PutUint32(frame, 0x99)
	return frame
}

// The header of a version that is not flexible has no tagged fields, in either
// direction, and the response to ApiVersions never has.
func TestHeaders(t *testing.T) {
	h := Header{API: ApiVersions, Version: 0, Correlation: -2, ClientID: "x"}
	require.Equal(t, unhex(t, "0012 0000 fffffffe 0001 78"), appendRequestHeader(nil, h))
	require.Equal(t, unhex(t, "fffffffe"), appendResponseHeader(nil, h))
	h.Version = 3
	require.Equal(t, unhex(t, "0012 0003 fffffffe 0001 78 00"), appendRequestHeader(nil, h))
	require.Equal(t, unhex(t, "fffffffe"), appendResponseHeader(nil, h))
	h.API = BeginQuorumEpoch
	require.Equal(t, unhex(t, "fffffffe 00"), appendResponseHeader(nil, h))
	h.Version = 0
	require.Equal(t, unhex(t, "fffffffe"), appendResponseHeader(nil, h))

	for _, api := range served {
		for version := int16(0); version <= testCodec().Supported(api).Max; version++ {
			r := kmsg.RequestForKey(int16(api))
			r.SetVersion(version)
			require.Equal(t, r.IsFlexible(), Header{API: api, Version: version}.flexible())
		}
	}

	// A null client id and an unknown tagged field are fine.
	got, body, err := readRequestHeader(unhex(t, "0034 0002 00000007 ffff 01 05 02 0102 77"))
	require.NoError(t, err)
	require.Equal(t, Header{API: Vote, Version: 2, Correlation: 7}, got)
	require.Equal(t, []byte{0x77}, body)
}

func requests() []core.Message {
	return []core.Message{
		{Kind: core.Vote, From: core.ReplicaKey{ID: 3, Directory: dirA}, To: core.ReplicaKey{ID: 2}, Epoch: 5, LastEpoch: 4, Offset: 17, PreVote: true},
		{Kind: core.Vote, From: core.ReplicaKey{ID: 3}, To: core.NoKey, Epoch: 1},
		{Kind: core.BeginQuorumEpoch, From: core.ReplicaKey{ID: 1}, To: core.ReplicaKey{ID: 2, Directory: dirB}, Epoch: 9},
		{Kind: core.EndQuorumEpoch, From: core.ReplicaKey{ID: 1}, To: core.NoKey, Epoch: 9,
			Preferred: []core.ReplicaKey{{ID: 3, Directory: dirA}, {ID: 2}}},
		{Kind: core.Fetch, From: core.ReplicaKey{ID: 2, Directory: dirA}, To: core.NoKey, Epoch: 9, Offset: 1 << 40, LastEpoch: 8,
			HighWatermark: core.UnknownOffset, MaxWait: 500, MaxBytes: 1 << 20},
		{Kind: core.FetchSnapshot, From: core.ReplicaKey{ID: 2, Directory: dirA}, To: core.NoKey, Epoch: 9,
			SnapshotID: core.SnapshotID{End: 1 << 40, Epoch: 8}, Position: 1 << 33, MaxBytes: 1 << 20},
	}
}

func responses() []core.Message {
	return []core.Message{
		{Kind: core.Vote, Epoch: 5, Leader: -1, Granted: true, PreVote: true},
		{Kind: core.Vote, Epoch: 5, Leader: 2, Error: core.FencedLeaderEpoch, PreVote: true},
		{Kind: core.BeginQuorumEpoch, Epoch: 5, Leader: 1, Read: 4},
		{Kind: core.EndQuorumEpoch, Epoch: 5, Leader: 1, Error: core.InvalidVoterKey},
		{Kind: core.Fetch, Epoch: 5, Leader: 1, Offset: 6, HighWatermark: 77, Records: []byte("not a batch"), Diverging: core.NoEpochEnd},
		{Kind: core.Fetch, Epoch: 5, Leader: 2, HighWatermark: core.UnknownOffset, Error: core.NotLeaderOrFollower, Diverging: core.NoEpochEnd},
		{Kind: core.Fetch, Epoch: 5, Leader: 9, HighWatermark: 3, Diverging: core.EpochEnd{Epoch: 3, End: 12}},
		{Kind: core.Fetch, Epoch: 5, Leader: -1, HighWatermark: 3, Diverging: core.NoEpochEnd},
		{Kind: core.Fetch, Epoch: 5, Leader: 1, HighWatermark: 99, Diverging: core.NoEpochEnd, SnapshotID: core.SnapshotID{End: 90, Epoch: 4}},
		{Kind: core.FetchSnapshot, Epoch: 5, Leader: 1, SnapshotID: core.SnapshotID{End: 90, Epoch: 4}, Position: 6, Size: 17, Chunk: []byte("some bytes")},
		{Kind: core.FetchSnapshot, Epoch: 5, Leader: 2, SnapshotID: core.SnapshotID{End: 90, Epoch: 4}, Position: 6, Error: core.SnapshotNotFound},
	}
}

func TestRoundTrip(t *testing.T) {
	c := testCodec()
	for _, m := range requests() {
		v := c.Supported(apiOf(m.Kind))
		for version := v.Min; version <= v.Max; version++ {
			want := m
			if version == 0 && m.Kind != core.FetchSnapshot {
				want.To, want.From.Directory = core.NoKey, core.DirectoryID{}
			}
			if m.Kind == core.Fetch && version < 18 {
				want.HighWatermark = core.NoHighWatermark
			}
			if m.Kind == core.Fetch && version < 17 || m.Kind == core.FetchSnapshot && version < 1 {
				want.From.Directory = core.DirectoryID{}
			}
			frame, code := c.AppendRequest(nil, Header{Version: version, Correlation: 3, ClientID: "quorate-1-2-3"}, &m)
			if m.PreVote && version < 2 {
				require.Equal(t, core.UnsupportedVersion, code)
				require.Empty(t, frame)
				continue
			}
			require.Equal(t, core.None, code)
			inner, err := ReadFrame(bytes.NewReader(frame), MaxRequest, nil)
			require.NoError(t, err)
			var req Request
			require.NoError(t, c.ReadRequest(inner, &req))
			require.Equal(t, want, req.Message, "version %d", version)
			require.Equal(t, "quorate-1-2-3", req.ClientID)
		}
	}
	for _, m := range responses() {
		m.Response, m.From, m.To = true, core.NoKey, core.NoKey
		v := c.Supported(apiOf(m.Kind))
		for version := v.Min; version <= v.Max; version++ {
			e := Expect{Header: Header{API: apiOf(m.Kind), Version: version, Correlation: 12}, PreVote: m.PreVote, Read: m.Read, Offset: m.Offset}
			frame := c.AppendResponse(nil, e.Header, &m)
			inner, err := ReadFrame(bytes.NewReader(frame), e.Limit(), nil)
			require.NoError(t, err)
			var have core.Message
			code, err := c.ReadResponse(inner, e, &have)
			require.NoError(t, err)
			require.Equal(t, core.None, code)
			require.Equal(t, m, have)
		}
	}
}

// An epoch above the last is no epoch.
func TestResponseEpochs(t *testing.T) {
	c := testCodec()
	for _, m := range responses() {
		e := Expect{Header: Header{API: apiOf(m.Kind), Version: c.Supported(apiOf(m.Kind)).Max}}
		for epoch, fine := range map[core.Epoch]bool{core.MaxEpoch: true, math.MaxInt32: false, -1: false} {
			m.Epoch = epoch
			var have core.Message
			_, err := c.ReadResponse(c.AppendResponse(nil, e.Header, &m)[4:], e, &have)
			require.Equal(t, fine, err == nil, "%v epoch %d: %v", m.Kind, epoch, err)
			require.True(t, fine || errors.Is(err, ErrMalformed))
		}
	}
}

// The Fetch response written by hand is what kmsg writes.
func TestFetchResponseIsThatOfKmsg(t *testing.T) {
	c := testCodec()
	c.Endpoints[9] = Endpoint{strings.Repeat("long.", 60), 9}
	for _, m := range responses() {
		if m.Kind != core.Fetch {
			continue
		}
		for version := int16(13); version <= 18; version++ {
			p := kmsg.NewFetchResponseTopicPartition()
			p.ErrorCode, p.HighWatermark, p.LastStableOffset, p.LogStartOffset = int16(m.Error), int64(m.HighWatermark), -1, 0
			p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch = int32(m.Leader), int32(m.Epoch)
			if m.Leader < 0 && m.Epoch < 0 {
				t.Fatal("kmsg would leave out the leader")
			}
			if m.SnapshotID != core.NoSnapshot {
				p.SnapshotID.EndOffset, p.SnapshotID.Epoch = int64(m.SnapshotID.End), int32(m.SnapshotID.Epoch)
			}
			if m.Diverging.Epoch >= 0 {
				p.DivergingEpoch.Epoch, p.DivergingEpoch.EndOffset = int32(m.Diverging.Epoch), int64(m.Diverging.End)
			}
			p.RecordBatches = append([]byte{}, m.Records...)
			r := kmsg.NewFetchResponse()
			r.Version = version
			r.Topics = []kmsg.FetchResponseTopic{{TopicID: topicID, Partitions: []kmsg.FetchResponseTopicPartition{p}}}
			if e, ok := c.Endpoints[m.Leader]; ok && version >= 17 {
				r.Brokers = []kmsg.FetchResponseBroker{{NodeID: int32(m.Leader), Host: e.Host, Port: int32(e.Port)}}
			}
			require.Equal(t, r.AppendTo(nil), c.appendFetchResponse(nil, version, &m), "version %d", version)
		}
	}
}

func TestRefusals(t *testing.T) {
	c := testCodec()
	other := testCodec()
	other.ClusterID = "another"
	silent := testCodec()
	silent.ClusterID = ""
	for _, m := range requests() {
		h := Header{API: apiOf(m.Kind), Version: c.Supported(apiOf(m.Kind)).Max, Correlation: 5}
		read := func(sender *Codec, m core.Message) core.ErrorCode {
			frame, code := sender.AppendRequest(nil, h, &m)
			require.Equal(t, core.None, code)
			var req Request
			require.NoError(t, c.ReadRequest(frame[4:], &req))
			require.Equal(t, req.Refused == core.None, req.Message.Kind != 0)
			require.False(t, req.Invalid)
			return req.Refused
		}
		require.Equal(t, core.None, read(c, m))
		require.Equal(t, core.None, read(silent, m))
		require.Equal(t, InconsistentClusterID, read(other, m))
		// The sender sees the top-level error.
		frame := c.AppendRefusal(nil, &Request{Header: h}, InconsistentClusterID)
		var have core.Message
		code, err := c.ReadResponse(frame[4:], ExpectFor(h, &m), &have)
		require.NoError(t, err)
		require.Equal(t, InconsistentClusterID, code)
	}
}

func TestExactlyOnePartition(t *testing.T) {
	c := testCodec()
	read := func(h Header, body []byte) core.ErrorCode {
		var req Request
		require.NoError(t, c.ReadRequest(append(appendRequestHeader(nil, h), body...), &req))
		return req.Refused
	}
	part := kmsg.VoteRequestTopicPartition{}
	topic := func(name string, parts ...kmsg.VoteRequestTopicPartition) kmsg.VoteRequestTopic {
		return kmsg.VoteRequestTopic{Topic: name, Partitions: parts}
	}
	for _, topics := range [][]kmsg.VoteRequestTopic{
		{}, {topic(topicName)}, {topic(topicName, part, part)}, {topic(topicName, part), topic(topicName, part)},
		{topic("other", part)}, {topic(topicName, kmsg.VoteRequestTopicPartition{Partition: 1})},
	} {
		r := kmsg.VoteRequest{Version: 2, Topics: topics}
		require.Equal(t, core.InvalidRequest, read(Header{API: Vote, Version: 2}, r.AppendTo(nil)))
	}
	fetch := kmsg.NewFetchRequest()
	fetch.Version = 17
	fetch.Topics = []kmsg.FetchRequestTopic{{TopicID: [16]byte{1}, Partitions: make([]kmsg.FetchRequestTopicPartition, 1)}}
	require.Equal(t, core.InvalidRequest, read(Header{API: Fetch, Version: 17}, fetch.AppendTo(nil)))
}

func TestUnservedVersionsCloseTheConnection(t *testing.T) {
	before := testCodec()
	before.PreVote = false
	m := requests()[1]
	frame, _ := testCodec().AppendRequest(nil, Header{Version: 2}, &m)
	var req Request
	require.ErrorIs(t, before.ReadRequest(frame[4:], &req), ErrMalformed)
	for _, h := range []Header{{API: 3, Version: 0}, {API: Fetch, Version: 12}, {API: Fetch, Version: 19}, {API: -1}, {API: Vote, Version: -1}} {
		require.ErrorIs(t, testCodec().ReadRequest(appendRequestHeader(nil, h), &req), ErrMalformed)
	}
}

func TestApiVersions(t *testing.T) {
	c := testCodec()
	for version := int16(0); version <= 4; version++ {
		h := Header{API: ApiVersions, Version: version, Correlation: 1, ClientID: "q"}
		var req Request
		require.NoError(t, c.ReadRequest(c.AppendApiVersionsRequest(nil, h)[4:], &req))
		require.Equal(t, core.None, req.Refused)
		require.Zero(t, req.Message.Kind)
		n, code, err := c.ReadApiVersions(c.AppendApiVersions(nil, req.Header, core.None)[4:], h)
		require.NoError(t, err)
		require.Equal(t, core.None, code)
		require.Equal(t, Negotiated{ApiVersions: 4, Fetch: 18, Vote: 2, BeginQuorumEpoch: 1, EndQuorumEpoch: 1, DescribeQuorum: 2, FetchSnapshot: 1, DescribeCluster: 1, AddRaftVoter: 1, RemoveRaftVoter: 0, UpdateRaftVoter: 0}, n)
	}

	// An unknown version is answered with version 0.
	h := Header{API: ApiVersions, Version: 9, Correlation: 1}
	var req Request
	require.NoError(t, c.ReadRequest(append(appendRequestHeader(nil, h), 1, 2, 3), &req))
	require.Equal(t, core.UnsupportedVersion, req.Refused)
	frame := c.AppendRefusal(nil, &Request{Header: h}, req.Refused)
	r := kmsg.ApiVersionsResponse{Version: 0}
	require.NoError(t, r.ReadFrom(frame[8:]))
	require.Equal(t, int16(core.UnsupportedVersion), r.ErrorCode)
	require.Equal(t, []kmsg.ApiVersionsResponseApiKey{{ApiKey: 18, MaxVersion: 4}}, r.ApiKeys)
	_, code, err := c.ReadApiVersions(frame[4:], h)
	require.NoError(t, err)
	require.Equal(t, core.UnsupportedVersion, code)

	// The newest version that both know is taken.
	before := testCodec()
	before.PreVote, before.MaxFetch = false, 17
	h.Version = 4
	n, _, err := c.ReadApiVersions(before.AppendApiVersions(nil, h, core.None)[4:], h)
	require.NoError(t, err)
	require.Equal(t, Negotiated{ApiVersions: 4, Fetch: 17, Vote: 1, BeginQuorumEpoch: 1, EndQuorumEpoch: 1, DescribeQuorum: 2, FetchSnapshot: 1, DescribeCluster: 1, AddRaftVoter: 1, RemoveRaftVoter: 0, UpdateRaftVoter: 0}, n)
}

func TestReadFrame(t *testing.T) {
	read := func(limit int, buf []byte, b ...byte) ([]byte, error) {
		return ReadFrame(bytes.NewReader(b), limit, buf)
	}
	_, err := read(10, nil)
	require.Equal(t, io.EOF, err)
	_, err = read(10, nil, 0, 0, 0)
	require.Equal(t, io.ErrUnexpectedEOF, err)
	_, err = read(10, nil, 0, 0, 0, 4, 1)
	require.Equal(t, io.ErrUnexpectedEOF, err)
	_, err = read(10, nil, 0, 0, 0, 11)
	require.ErrorIs(t, err, ErrMalformed)
	_, err = read(10, nil, 0xff, 0xff, 0xff, 0xff)
	require.ErrorIs(t, err, ErrMalformed)
	for _, buf := range [][]byte{nil, make([]byte, 2), make([]byte, 100)} {
		got, err := read(10, buf, 0, 0, 0, 2, 7, 8, 9)
		require.NoError(t, err)
		require.Equal(t, []byte{7, 8}, got)
	}
	big := make([]byte, 5*firstRead+3)
	for i := range big {
		big[i] = byte(i * 7)
	}
	got, err := ReadFrame(bytes.NewReader(append(binary.BigEndian.AppendUint32(nil, uint32(len(big))), big...)), MaxResponse, nil)
	require.NoError(t, err)
	require.True(t, bytes.Equal(big, got))
}

// A length that nobody backs with bytes costs no memory.
func TestLyingLengthAllocatesLittle(t *testing.T) {
	lie := append(binary.BigEndian.AppendUint32(nil, MaxResponse), 1, 2, 3)
	r := bytes.NewReader(nil)
	bytesPerRun := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			r.Reset(lie)
			if _, err := ReadFrame(r, MaxResponse, nil); !errors.Is(err, io.ErrUnexpectedEOF) {
				b.Fatal(err)
			}
		}
	}).AllocedBytesPerOp()
	require.Less(t, bytesPerRun, int64(2*firstRead))
}
