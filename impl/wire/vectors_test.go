package wire

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/quorate/quorate/impl/core"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// layout writes bytes by the rules of Kafka's protocol guide and the fields of its message
// definitions (clients/src/main/resources/common/message/*.json), of which it knows
// nothing itself: neither our encoder nor kmsg has a part in it.
type layout []byte

func (l *layout) i8(v int8)    { *l = append(*l, byte(v)) }
func (l *layout) i16(v int16)  { *l = binary.BigEndian.AppendUint16(*l, uint16(v)) }
func (l *layout) u16(v uint16) { *l = binary.BigEndian.AppendUint16(*l, v) }
func (l *layout) i32(v int32)  { *l = binary.BigEndian.AppendUint32(*l, uint32(v)) }
func (l *layout) i64(v int64)  { *l = binary.BigEndian.AppendUint64(*l, uint64(v)) }
func (l *layout) raw(b ...byte) {
	*l = append(*l, b...)
}

// uvarint: seven bits a byte, the lowest first; all but the last have the top bit.
func (l *layout) uvarint(v uint32) {
	for v > 127 {
		l.raw(byte(v) | 128)
		v >>= 7
	}
	l.raw(byte(v))
}

// str: a compact string, which has its length plus 1 before it.
func (l *layout) str(s string) {
	l.uvarint(uint32(len(s)) + 1)
	l.raw([]byte(s)...)
}

// plain: a string of versions that are not flexible, with an int16 before it.
func (l *layout) plain(s string) {
	l.i16(int16(len(s)))
	l.raw([]byte(s)...)
}

// items: the length plus 1 of a compact array, which follows.
func (l *layout) items(n int) { l.uvarint(uint32(n) + 1) }

// tags: a number of tagged fields, which follow.
func (l *layout) tags(n uint32) { l.uvarint(n) }

// tag: a tagged field.
func (l *layout) tag(number uint32, fill func(*layout)) {
	var body layout
	fill(&body)
	l.uvarint(number)
	l.uvarint(uint32(len(body)))
	l.raw(body...)
}

// framed: the size and then all of it.
func (l layout) framed() []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(l))), l...)
}

// requestLayout begins with RequestHeader version 2 (RequestHeader.json), or 1 if not flexible.
func requestLayout(key, version int16, flexible bool) *layout {
	l := new(layout)
	l.i16(key)
	l.i16(version)
	l.i32(7)      // correlation id
	l.plain("ab") // client id, a plain string in all versions
	if flexible {
		l.tags(0)
	}
	return l
}

// responseLayout begins with ResponseHeader version 1 (ResponseHeader.json), or 0.
func responseLayout(tagged bool) *layout {
	l := new(layout)
	l.i32(7)
	if tagged {
		l.tags(0)
	}
	return l
}

const (
	metadata    = "__cluster_metadata"
	vectorEpoch = 5
)

func id16(d core.DirectoryID) []byte { return d[:] }

// vector is a message and its bytes by version.
type vector struct {
	m     core.Message
	bytes func(version int16) []byte
}

// VoteRequest.json, BeginQuorumEpochRequest.json, EndQuorumEpochRequest.json,
// FetchRequest.json, FetchSnapshotRequest.json.
var requestVectors = []vector{
	{
		core.Message{Kind: core.Vote, From: core.ReplicaKey{ID: 3, Directory: dirA}, To: core.ReplicaKey{ID: 2, Directory: dirB}, Epoch: vectorEpoch, LastEpoch: 4, Offset: 258},
		func(version int16) []byte {
			l := requestLayout(52, version, true)
			l.str("c") // ClusterId
			if version >= 1 {
				l.i32(2) // VoterId
			}
			l.items(1) // Topics
			l.str(metadata)
			l.items(1)         // Partitions
			l.i32(0)           // PartitionIndex
			l.i32(vectorEpoch) // ReplicaEpoch
			l.i32(3)           // ReplicaId
			if version >= 1 {
				l.raw(id16(dirA)...) // ReplicaDirectoryId
				l.raw(id16(dirB)...) // VoterDirectoryId
			}
			l.i32(4)   // LastOffsetEpoch
			l.i64(258) // LastOffset
			if version >= 2 {
				l.i8(0) // PreVote
			}
			l.tags(0) // of the partition
			l.tags(0) // of the topic
			l.tags(0) // of the request
			return l.framed()
		},
	},
	{
		core.Message{Kind: core.BeginQuorumEpoch, From: core.ReplicaKey{ID: 1}, To: core.ReplicaKey{ID: 2, Directory: dirB}, Epoch: vectorEpoch},
		func(version int16) []byte {
			l := requestLayout(53, version, true)
			l.str("c") // ClusterId
			l.i32(2)   // VoterId
			l.items(1) // Topics
			l.str(metadata)
			l.items(1)           // Partitions
			l.i32(0)             // PartitionIndex
			l.raw(id16(dirB)...) // VoterDirectoryId
			l.i32(1)             // LeaderId
			l.i32(vectorEpoch)   // LeaderEpoch
			l.tags(0)
			l.tags(0)
			l.items(1) // LeaderEndpoints
			l.str("CONTROLLER")
			l.str("h1")
			l.u16(9091)
			l.tags(0)
			l.tags(0)
			return l.framed()
		},
	},
	{
		core.Message{Kind: core.EndQuorumEpoch, From: core.ReplicaKey{ID: 1}, To: core.NoKey, Epoch: vectorEpoch, Preferred: []core.ReplicaKey{{ID: 3, Directory: dirA}, {ID: 2}}},
		func(version int16) []byte {
			l := requestLayout(54, version, true)
			l.str("c") // ClusterId
			l.items(1) // Topics
			l.str(metadata)
			l.items(1)         // Partitions
			l.i32(0)           // PartitionIndex
			l.i32(1)           // LeaderId
			l.i32(vectorEpoch) // LeaderEpoch
			l.items(2)         // PreferredCandidates
			l.i32(3)
			l.raw(id16(dirA)...)
			l.tags(0)
			l.i32(2)
			l.raw(make([]byte, 16)...)
			l.tags(0)
			l.tags(0)
			l.tags(0)
			l.items(1) // LeaderEndpoints
			l.str("CONTROLLER")
			l.str("h1")
			l.u16(9091)
			l.tags(0)
			l.tags(0)
			return l.framed()
		},
	},
	{
		core.Message{Kind: core.Fetch, From: core.ReplicaKey{ID: 2, Directory: dirB}, To: core.NoKey, Epoch: vectorEpoch, LastEpoch: 4, Offset: 258,
			HighWatermark: 200, MaxWait: 500, MaxBytes: 1 << 20},
		func(version int16) []byte {
			l := requestLayout(1, version, true)
			if version <= 14 {
				l.i32(2) // ReplicaId
			}
			l.i32(500)     // MaxWaitMs
			l.i32(0)       // MinBytes
			l.i32(1 << 20) // MaxBytes
			l.i8(0)        // IsolationLevel
			l.i32(0)       // SessionId
			l.i32(-1)      // SessionEpoch
			l.items(1)     // Topics
			l.i64(0)       // TopicId
			l.i64(1)
			l.items(1)         // Partitions
			l.i32(0)           // Partition
			l.i32(vectorEpoch) // CurrentLeaderEpoch
			l.i64(258)         // FetchOffset
			l.i32(4)           // LastFetchedEpoch
			l.i64(-1)          // LogStartOffset
			l.i32(0)           // PartitionMaxBytes
			switch {
			case version >= 18:
				l.tags(2)
			case version == 17:
				l.tags(1)
			default:
				l.tags(0)
			}
			if version >= 17 {
				l.tag(0, func(l *layout) { l.raw(id16(dirB)...) }) // ReplicaDirectoryId
			}
			if version >= 18 {
				l.tag(1, func(l *layout) { l.i64(200) }) // HighWatermark
			}
			l.tags(0)
			l.items(0) // ForgottenTopicsData
			l.str("")  // RackId
			if version >= 15 {
				l.tags(2)
			} else {
				l.tags(1)
			}
			l.tag(0, func(l *layout) { l.str("c") }) // ClusterId
			if version >= 15 {
				l.tag(1, func(l *layout) { // ReplicaState
					l.i32(2)  // ReplicaId
					l.i64(-1) // ReplicaEpoch
					l.tags(0)
				})
			}
			return l.framed()
		},
	},
	{
		core.Message{Kind: core.FetchSnapshot, From: core.ReplicaKey{ID: 2, Directory: dirB}, To: core.NoKey, Epoch: vectorEpoch,
			SnapshotID: core.SnapshotID{End: 258, Epoch: 4}, Position: 1 << 33, MaxBytes: 1 << 20},
		func(version int16) []byte {
			l := requestLayout(59, version, true)
			l.i32(2)       // ReplicaId
			l.i32(1 << 20) // MaxBytes
			l.items(1)     // Topics
			l.str(metadata)
			l.items(1)         // Partitions
			l.i32(0)           // Partition
			l.i32(vectorEpoch) // CurrentLeaderEpoch
			l.i64(258)         // SnapshotId.EndOffset
			l.i32(4)           // SnapshotId.Epoch
			l.tags(0)
			l.i64(1 << 33) // Position
			if version >= 1 {
				l.tags(1)
				l.tag(0, func(l *layout) { l.raw(id16(dirB)...) }) // ReplicaDirectoryId
			} else {
				l.tags(0)
			}
			l.tags(0)
			l.tags(1)
			l.tag(0, func(l *layout) { l.str("c") }) // ClusterId
			return l.framed()
		},
	},
}

// raftResponse is what the responses to Vote, BeginQuorumEpoch and EndQuorumEpoch have in
// common; tail are the fields of the partition behind LeaderEpoch.
func raftResponse(endpoints bool, tail func(*layout)) []byte {
	l := responseLayout(true)
	l.i16(0)   // ErrorCode
	l.items(1) // Topics
	l.str(metadata)
	l.items(1)         // Partitions
	l.i32(0)           // PartitionIndex
	l.i16(74)          // ErrorCode
	l.i32(2)           // LeaderId
	l.i32(vectorEpoch) // LeaderEpoch
	tail(l)
	l.tags(0)
	l.tags(0)
	nodeEndpoints(l, endpoints)
	return l.framed()
}

// nodeEndpoints: NodeEndpoints, tag 0 of the response.
func nodeEndpoints(l *layout, there bool) {
	if !there {
		l.tags(0)
		return
	}
	l.tags(1)
	l.tag(0, func(l *layout) {
		l.items(1)
		l.i32(2) // NodeId
		l.str("h2")
		l.u16(9092)
		l.tags(0)
	})
}

// fetchLayout is FetchResponse.json with the tagged fields of the partition.
func fetchLayout(version, code int16, highWatermark int64, records string, tags ...func(*layout)) []byte {
	l := responseLayout(true)
	l.i32(0)   // ThrottleTimeMs
	l.i16(0)   // ErrorCode
	l.i32(0)   // SessionId
	l.items(1) // Responses
	l.i64(0)   // TopicId
	l.i64(1)
	l.items(1)           // Partitions
	l.i32(0)             // PartitionIndex
	l.i16(code)          // ErrorCode
	l.i64(highWatermark) // HighWatermark
	l.i64(-1)            // LastStableOffset
	l.i64(0)             // LogStartOffset
	l.raw(0)             // AbortedTransactions: null
	l.i32(-1)            // PreferredReadReplica
	l.str(records)       // Records: compact bytes are written as strings are
	l.tags(uint32(len(tags)))
	for _, tag := range tags {
		tag(l)
	}
	l.tags(0)
	if version < 17 { // 16 has the field, and KRaft does not use it
		l.tags(0)
		return l.framed()
	}
	l.tags(1)
	l.tag(0, func(l *layout) { // NodeEndpoints
		l.items(1)
		l.i32(2) // NodeId
		l.str("h2")
		l.i32(9092) // Port, of four bytes here
		l.raw(0)    // Rack: null
		l.tags(0)
	})
	return l.framed()
}

func currentLeader(l *layout) {
	l.tag(1, func(l *layout) {
		l.i32(2)
		l.i32(vectorEpoch)
		l.tags(0)
	})
}

// VoteResponse.json, BeginQuorumEpochResponse.json, EndQuorumEpochResponse.json,
// FetchResponse.json, FetchSnapshotResponse.json.
var responseVectors = []vector{
	{
		core.Message{Kind: core.Vote, Epoch: vectorEpoch, Leader: 2, Error: core.FencedLeaderEpoch, Granted: true},
		func(version int16) []byte {
			return raftResponse(version >= 1, func(l *layout) { l.i8(1) }) // VoteGranted
		},
	},
	{
		core.Message{Kind: core.BeginQuorumEpoch, Epoch: vectorEpoch, Leader: 2, Error: core.FencedLeaderEpoch},
		func(int16) []byte { return raftResponse(true, func(*layout) {}) },
	},
	{
		core.Message{Kind: core.EndQuorumEpoch, Epoch: vectorEpoch, Leader: 2, Error: core.FencedLeaderEpoch},
		func(int16) []byte { return raftResponse(true, func(*layout) {}) },
	},
	{
		core.Message{Kind: core.Fetch, Epoch: vectorEpoch, Leader: 2, Offset: 258, HighWatermark: 200, Records: []byte("batches"), Diverging: core.NoEpochEnd},
		func(version int16) []byte { return fetchLayout(version, 0, 200, "batches", currentLeader) },
	},
	{
		core.Message{Kind: core.Fetch, Epoch: vectorEpoch, Leader: 2, Error: core.NotLeaderOrFollower, HighWatermark: core.UnknownOffset, Diverging: core.NoEpochEnd},
		func(version int16) []byte { return fetchLayout(version, 6, -1, "", currentLeader) },
	},
	{
		core.Message{Kind: core.Fetch, Epoch: vectorEpoch, Leader: 2, HighWatermark: 200, Diverging: core.EpochEnd{Epoch: 3, End: 99}},
		func(version int16) []byte {
			return fetchLayout(version, 0, 200, "", func(l *layout) {
				l.tag(0, func(l *layout) { // DivergingEpoch
					l.i32(3)
					l.i64(99)
					l.tags(0)
				})
			}, currentLeader)
		},
	},
	{
		core.Message{Kind: core.Fetch, Epoch: vectorEpoch, Leader: 2, HighWatermark: 200, Diverging: core.NoEpochEnd, SnapshotID: core.SnapshotID{End: 99, Epoch: 3}},
		func(version int16) []byte {
			return fetchLayout(version, 0, 200, "", currentLeader, func(l *layout) {
				l.tag(2, func(l *layout) { // SnapshotId
					l.i64(99)
					l.i32(3)
					l.tags(0)
				})
			})
		},
	},
	{
		core.Message{Kind: core.FetchSnapshot, Epoch: vectorEpoch, Leader: 2, SnapshotID: core.SnapshotID{End: 99, Epoch: 3}, Position: 6, Size: 17, Chunk: []byte("chunk")},
		func(version int16) []byte {
			l := responseLayout(true)
			l.i32(0)   // ThrottleTimeMs
			l.i16(0)   // ErrorCode
			l.items(1) // Topics
			l.str(metadata)
			l.items(1) // Partitions
			l.i32(0)   // Index
			l.i16(0)   // ErrorCode
			l.i64(99)  // SnapshotId.EndOffset
			l.i32(3)   // SnapshotId.Epoch
			l.tags(0)
			l.i64(17)      // Size
			l.i64(6)       // Position
			l.str("chunk") // UnalignedRecords
			l.tags(1)
			l.tag(0, func(l *layout) { // CurrentLeader
				l.i32(2)
				l.i32(vectorEpoch)
				l.tags(0)
			})
			l.tags(0)
			nodeEndpoints(l, version >= 1)
			return l.framed()
		},
	},
}

// Requests and responses of all versions that are served, byte by byte, in both
// directions.
func TestVectors(t *testing.T) {
	c := testCodec()
	for _, v := range requestVectors {
		api := apiOf(v.m.Kind)
		supported := c.Supported(api)
		for version := supported.Min; version <= supported.Max; version++ {
			name := fmt.Sprintf("%v request %d", v.m.Kind, version)
			want := v.bytes(version)
			have, code := c.AppendRequest(nil, Header{Version: version, Correlation: 7, ClientID: "ab"}, &v.m)
			require.Equal(t, core.None, code, name)
			require.Equal(t, want, have, name)
			var req Request
			require.NoError(t, c.ReadRequest(want[4:], &req), name)
			require.Equal(t, Header{API: api, Version: version, Correlation: 7, ClientID: "ab"}, req.Header)
			require.Equal(t, v.m.Epoch, req.Message.Epoch, name)
			if version == supported.Max {
				require.Equal(t, v.m, req.Message, name)
			}
		}
	}
	for _, v := range responseVectors {
		api := apiOf(v.m.Kind)
		supported := c.Supported(api)
		for version := supported.Min; version <= supported.Max; version++ {
			name := fmt.Sprintf("%v response %d", v.m.Kind, version)
			want := v.bytes(version)
			h := Header{API: api, Version: version, Correlation: 7}
			require.Equal(t, want, c.AppendResponse(nil, h, &v.m), name)
			var m core.Message
			code, err := c.ReadResponse(want[4:], Expect{Header: h, Offset: v.m.Offset}, &m)
			require.NoError(t, err, name)
			require.Equal(t, core.None, code)
			expected := v.m
			expected.Response, expected.From, expected.To = true, core.NoKey, core.NoKey
			require.Equal(t, expected, m, name)
		}
	}
}

// A refusal as a whole, at the top of each response.
func TestRefusalVectors(t *testing.T) {
	c := testCodec()
	for api, fill := range map[API]func(*layout){
		Vote:             func(l *layout) { l.i16(31); l.items(0) },
		BeginQuorumEpoch: func(l *layout) { l.i16(31); l.items(0) },
		EndQuorumEpoch:   func(l *layout) { l.i16(31); l.items(0) },
		Fetch:            func(l *layout) { l.i32(0); l.i16(31); l.i32(0); l.items(0) },
		FetchSnapshot:    func(l *layout) { l.i32(0); l.i16(31); l.items(0) },
		DescribeQuorum:   func(l *layout) { l.i16(31); l.raw(0); l.items(0); l.items(0) }, // ErrorMessage null, Topics, Nodes
	} {
		l := responseLayout(true)
		fill(l)
		l.tags(0)
		have := c.AppendRefusal(nil, &Request{Header: Header{API: api, Version: c.Supported(api).Max, Correlation: 7}}, 31)
		require.Equal(t, l.framed(), have, "API %d", api)
	}
	// Of another partition, where that has its error.
	l := responseLayout(true)
	l.i32(0)
	l.i16(0)
	l.items(1)
	l.str("other")
	l.items(1)
	l.i32(6)  // Index
	l.i16(3)  // ErrorCode
	l.i64(0)  // SnapshotId
	l.i32(0)  //
	l.tags(0) //
	l.i64(0)  // Size
	l.i64(0)  // Position
	l.str("") // UnalignedRecords
	l.tags(0)
	l.tags(0)
	l.tags(0)
	req := &Request{Header: Header{API: FetchSnapshot, Version: 1, Correlation: 7}, topic: "other", partition: 6}
	require.Equal(t, l.framed(), c.AppendRefusal(nil, req, unknownTopicOrPartition))
}

// ApiVersionsRequest.json and ApiVersionsResponse.json, of all versions and of one that
// is not known. Its response has no tagged fields in the header.
func TestApiVersionsVectors(t *testing.T) {
	c := testCodec()
	c.Features = []Feature{{Name: "metadata.version", Min: 7, Max: 20, Finalized: 19}}
	served := [][3]int16{{1, 13, 18}, {18, 0, 4}, {52, 0, 2}, {53, 1, 1}, {54, 1, 1}, {55, 0, 2}, {59, 0, 1}, {60, 0, 1}, {80, 0, 1}, {81, 0, 0}, {82, 0, 0}}
	for version := int16(0); version <= 5; version++ {
		q := requestLayout(18, version, version >= 3)
		if version >= 3 {
			q.str("quorate") // ClientSoftwareName
			q.str("0")       // ClientSoftwareVersion
			q.tags(0)
		}
		h := Header{API: ApiVersions, Version: version, Correlation: 7, ClientID: "ab"}
		if version < 5 {
			require.Equal(t, q.framed(), c.AppendApiVersionsRequest(nil, h))
		}
		var req Request
		require.NoError(t, c.ReadRequest((*q)[:], &req))

		r := responseLayout(false)
		switch {
		case version == 5:
			require.Equal(t, core.UnsupportedVersion, req.Refused)
			r.i16(35)
			r.i32(1) // ApiKeys: an array of version 0
			r.i16(18)
			r.i16(0)
			r.i16(4)
		case version < 3:
			require.Equal(t, core.None, req.Refused)
			r.i16(0)
			r.i32(int32(len(served)))
			for _, k := range served {
				r.i16(k[0])
				r.i16(k[1])
				r.i16(k[2])
			}
			if version >= 1 {
				r.i32(0) // ThrottleTimeMs
			}
		default:
			r.i16(0)
			r.items(len(served))
			for _, k := range served {
				r.i16(k[0])
				r.i16(k[1])
				r.i16(k[2])
				r.tags(0)
			}
			r.i32(0)
			r.tags(3)
			r.tag(0, func(l *layout) { // SupportedFeatures
				l.items(int(version) - 2) // not of level 0 before version 4
				if version >= 4 {
					l.str("kraft.version")
					l.i16(0)
					l.i16(1)
					l.tags(0)
				}
				l.str("metadata.version")
				l.i16(7)
				l.i16(20)
				l.tags(0)
			})
			r.tag(1, func(l *layout) { l.i64(0) }) // FinalizedFeaturesEpoch
			r.tag(2, func(l *layout) {             // FinalizedFeatures
				l.items(1)
				l.str("metadata.version")
				l.i16(19)
				l.i16(19)
				l.tags(0)
			})
		}
		require.Equal(t, r.framed(), c.answer(req), "version %d", version)
	}
}

// answer is what a node sends.
func (c *Codec) answer(req Request) []byte {
	if req.Refused != core.None {
		return c.AppendRefusal(nil, &req, req.Refused)
	}
	return c.AppendApiVersions(nil, req.Header, core.None)
}

// The names of client software are looked at as Kafka does (KIP-511).
func TestSoftwareNames(t *testing.T) {
	c := testCodec()
	for name, want := range map[string]core.ErrorCode{
		"apache-kafka-java": 0, "a": 0, "3.9.0": 0, "a.-b": 0,
		"": 42, "-a": 42, "a-": 42, "a b": 42, "a\n": 42, "ä": 42, "a_b": 42, ".": 42,
	} {
		for _, swapped := range []bool{false, true} {
			q := requestLayout(18, 3, true)
			names := []string{name, "1"}
			if swapped {
				names = []string{"x", name}
			}
			q.str(names[0])
			q.str(names[1])
			q.tags(0)
			var req Request
			require.NoError(t, c.ReadRequest(*q, &req))
			require.Equal(t, want, req.Refused, "%q", names)
			if want != 0 {
				r := responseLayout(false)
				r.i16(42)
				r.items(0)
				r.i32(0)
				r.tags(0)
				require.Equal(t, r.framed(), c.answer(req))
			}
		}
	}
}

// DescribeQuorumRequest.json, DescribeQuorumResponse.json, DescribeClusterRequest.json and
// DescribeClusterResponse.json.
func TestDescribeVectors(t *testing.T) {
	c := testCodec()
	quorum := &Quorum{Leader: 2, Epoch: vectorEpoch, HighWatermark: 200,
		Voters:    []QuorumReplica{{Key: core.ReplicaKey{ID: 2, Directory: dirB}, LogEnd: 201, LastFetch: 11, LastCaughtUp: 10}},
		Observers: []QuorumReplica{{Key: core.ReplicaKey{ID: 9}, LogEnd: -1, LastFetch: -1, LastCaughtUp: -1}},
	}
	for version := int16(0); version <= 2; version++ {
		q := requestLayout(55, version, true)
		q.items(1)
		q.str(metadata)
		q.items(1)
		q.i32(0)
		q.tags(0)
		q.tags(0)
		q.tags(0)
		var req Request
		require.NoError(t, c.ReadRequest(*q, &req))

		r := responseLayout(true)
		r.i16(0) // ErrorCode
		if version >= 2 {
			r.raw(0) // ErrorMessage: null
		}
		r.items(1) // Topics
		r.str(metadata)
		r.items(1) // Partitions
		r.i32(0)   // PartitionIndex
		r.i16(0)   // ErrorCode
		if version >= 2 {
			r.raw(0) // ErrorMessage
		}
		r.i32(2) // LeaderId
		r.i32(vectorEpoch)
		r.i64(200) // HighWatermark
		for _, replicas := range [][]QuorumReplica{quorum.Voters, quorum.Observers} {
			r.items(1)
			r.i32(int32(replicas[0].Key.ID))
			if version >= 2 {
				r.raw(id16(replicas[0].Key.Directory)...)
			}
			r.i64(int64(replicas[0].LogEnd))
			if version >= 1 {
				r.i64(replicas[0].LastFetch)
				r.i64(replicas[0].LastCaughtUp)
			}
			r.tags(0)
		}
		r.tags(0)
		r.tags(0)
		if version >= 2 {
			r.items(2) // Nodes
			for id := int32(1); id <= 2; id++ {
				r.i32(id)
				r.items(1) // Listeners
				r.str("CONTROLLER")
				r.str(fmt.Sprintf("h%d", id))
				r.u16(uint16(9090 + id))
				r.tags(0)
				r.tags(0)
			}
		}
		r.tags(0)
		require.Equal(t, r.framed(), c.AppendDescribeQuorum(nil, &req, quorum), "version %d", version)
	}
	for version := int16(0); version <= 1; version++ {
		q := requestLayout(60, version, true)
		q.i8(0) // IncludeClusterAuthorizedOperations
		if version >= 1 {
			q.i8(2) // EndpointType: controllers
		}
		q.tags(0)
		var req Request
		require.NoError(t, c.ReadRequest(*q, &req))
		r := responseLayout(true)
		r.i32(0) // ThrottleTimeMs
		if version == 0 {
			r.i16(mismatchedEndpointType)
			r.raw(0)   // ErrorMessage
			r.str("")  // ClusterId
			r.i32(-1)  // ControllerId
			r.items(0) // Brokers
		} else {
			r.i16(0)
			r.raw(0)
			r.i8(2) // EndpointType
			r.str("c")
			r.i32(2)
			r.items(2)
			for id := int32(1); id <= 2; id++ {
				r.i32(id)
				r.str(fmt.Sprintf("h%d", id))
				r.i32(9090 + id)
				r.raw(0) // Rack: null
				r.tags(0)
			}
		}
		r.i32(-1 << 31) // ClusterAuthorizedOperations: not asked for
		r.tags(0)
		require.Equal(t, r.framed(), c.AppendDescribeCluster(nil, &req, 2), "version %d", version)
	}
}

// AddRaftVoterRequest.json, RemoveRaftVoterRequest.json and their responses.
func TestRaftVoterVectors(t *testing.T) {
	c := &Codec{}
	for version := int16(0); version <= 1; version++ {
		l := requestLayout(80, version, true)
		l.str("c")    // ClusterId
		l.i32(15_000) // TimeoutMs
		l.i32(2)      // VoterId
		l.raw(id16(dirB)...)
		l.items(1) // Listeners
		l.str("CTL")
		l.str("h2")
		l.u16(9092)
		l.tags(0)
		if version >= 1 {
			l.raw(0) // AckWhenCommitted
		}
		l.tags(0)
		var req Request
		require.NoError(t, c.ReadRequest(*l, &req))
		q := req.Body.(*kmsg.AddRaftVoterRequest)
		require.Equal(t, "c 15000 2", fmt.Sprint(*q.ClusterID, " ", q.TimeoutMillis, " ", q.VoterID))
		require.EqualValues(t, dirB, q.VoterDirectoryID)
		require.Equal(t, "CTL h2 9092", fmt.Sprint(q.Listeners[0].Name, " ", q.Listeners[0].Host, " ", q.Listeners[0].Port))
		require.Equal(t, version == 0, q.AckWhenCommitted)
		for cut := range len(*l) - 1 {
			require.ErrorIs(t, c.ReadRequest((*l)[:cut], new(Request)), ErrMalformed, "%d bytes", cut)
		}
		r := responseLayout(true)
		r.i32(0) // ThrottleTimeMs
		r.i16(126)
		r.raw(0) // ErrorMessage: null
		r.tags(0)
		require.Equal(t, r.framed(), c.AppendRefusal(nil, &req, 126))
	}
	l := requestLayout(81, 0, true)
	l.str("c")
	l.i32(2) // VoterId
	l.raw(id16(dirB)...)
	l.tags(0)
	var req Request
	require.NoError(t, c.ReadRequest(*l, &req))
	q := req.Body.(*kmsg.RemoveRaftVoterRequest)
	require.Equal(t, "c 2", fmt.Sprint(*q.ClusterID, " ", q.VoterID))
	require.EqualValues(t, dirB, q.VoterDirectoryID)
	r := responseLayout(true)
	r.i32(0)
	r.i16(127)
	r.raw(0)
	r.tags(0)
	require.Equal(t, r.framed(), c.AppendRefusal(nil, &req, 127))
}

// Where kraft.version is 1 it is told as finalized; and a node tells who it is in a field
// that Kafka skips.
func TestApiVersionsOfDynamicQuorum(t *testing.T) {
	id := core.ReplicaID(7)
	c := &Codec{Node: &id}
	h := Header{API: ApiVersions, Version: 4, Correlation: 7, ClientID: "ab"}
	read := func() (r kmsg.ApiVersionsResponse) {
		r.Version = 4
		require.NoError(t, r.ReadFrom(c.AppendApiVersions(nil, h, core.None)[8:]))
		return r
	}
	require.Empty(t, read().FinalizedFeatures)
	c.UseVoters(map[core.ReplicaID]Endpoint{2: {"h", 9}})
	f := read().FinalizedFeatures
	require.Len(t, f, 1)
	require.Equal(t, "kraft.version 1 1", fmt.Sprint(f[0].Name, " ", f[0].MinVersionLevel, " ", f[0].MaxVersionLevel))
	p, code, err := c.ReadPeer(c.AppendApiVersions(nil, h, core.None)[4:], h)
	require.NoError(t, err)
	require.Equal(t, core.None, code)
	require.Equal(t, id, p.Node)
	require.Equal(t, Versions{0, 1, true}, p.KRaftVersion)
	c.Node = nil
	p, _, _ = c.ReadPeer(c.AppendApiVersions(nil, h, core.None)[4:], h)
	require.Equal(t, core.NoReplica, p.Node)
}

// UpdateRaftVoterRequest.json, UpdateRaftVoterResponse.json.
func TestUpdateRaftVoterVectors(t *testing.T) {
	c := &Codec{ClusterID: "c", Endpoints: map[core.ReplicaID]Endpoint{2: {"h2", 9092}}, Listener: "CTL"}
	l := requestLayout(82, 0, true)
	l.str("c")         // ClusterId
	l.i32(vectorEpoch) // CurrentLeaderEpoch
	l.i32(2)           // VoterId
	l.raw(id16(dirB)...)
	l.items(1) // Listeners
	l.str("CTL")
	l.str("h2")
	l.u16(9092)
	l.tags(0)
	l.i16(0) // KRaftVersionFeature: MinSupportedVersion
	l.i16(1) // MaxSupportedVersion
	l.tags(0)
	l.tags(0)
	var req Request
	require.NoError(t, c.ReadRequest(*l, &req))
	q := req.Body.(*kmsg.UpdateRaftVoterRequest)
	require.Equal(t, "c", *q.ClusterID)
	require.EqualValues(t, vectorEpoch, q.CurrentLeaderEpoch)
	require.EqualValues(t, 2, q.VoterID)
	require.EqualValues(t, dirB, q.VoterDirectoryID)
	require.Len(t, q.Listeners, 1)
	require.Equal(t, "CTL h2 9092", fmt.Sprint(q.Listeners[0].Name, " ", q.Listeners[0].Host, " ", q.Listeners[0].Port))
	require.EqualValues(t, 1, q.KRaftVersionFeature.MaxSupportedVersion)
	for cut := range len(*l) - 1 {
		require.ErrorIs(t, c.ReadRequest((*l)[:cut], new(Request)), ErrMalformed, "%d bytes", cut)
	}

	for code, s := range map[int16]core.State{
		0: {Role: core.Leader, Leader: 2, Epoch: vectorEpoch},
		6: {Role: core.Follower, Leader: 2, Epoch: vectorEpoch},
	} {
		r := responseLayout(true)
		r.i32(0) // ThrottleTimeMs
		r.i16(code)
		r.tags(1)
		r.tag(0, func(l *layout) { // CurrentLeader
			l.i32(2)
			l.i32(vectorEpoch)
			l.str("h2")
			l.i32(9092)
			l.tags(0)
		})
		require.Equal(t, r.framed(), c.AppendUpdateRaftVoter(nil, &req, s), "error %d", code)
	}
}
