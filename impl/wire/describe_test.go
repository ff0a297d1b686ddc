package wire

import (
	"testing"

	"github.com/quorate/quorate/impl/core"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

var describing = &Codec{ClusterID: "c", Listener: "X", Endpoints: map[core.ReplicaID]Endpoint{2: {"h2", 92}, 1: {"h1", 91}}}

// asked reads a request as it arrives.
func asked(t *testing.T, r kmsg.Request) *Request {
	t.Helper()
	frame := kmsg.NewRequestFormatter().AppendRequest(nil, r, 5)
	req := new(Request)
	require.NoError(t, describing.ReadRequest(frame[4:], req))
	require.Zero(t, req.Message.Kind)
	require.Zero(t, req.Refused)
	return req
}

func quorumRequest(version int16, topics ...kmsg.DescribeQuorumRequestTopic) *kmsg.DescribeQuorumRequest {
	r := kmsg.NewPtrDescribeQuorumRequest()
	r.Version, r.Topics = version, topics
	return r
}

func topic(name string, partitions ...int32) kmsg.DescribeQuorumRequestTopic {
	t := kmsg.DescribeQuorumRequestTopic{Topic: name}
	for _, p := range partitions {
		t.Partitions = append(t.Partitions, kmsg.DescribeQuorumRequestTopicPartition{Partition: p})
	}
	return t
}

// The bytes of each version follow DescribeQuorumResponse.json.
func TestDescribeQuorumBytes(t *testing.T) {
	q := &Quorum{Leader: 1, Epoch: 7, HighWatermark: 9, Voters: []QuorumReplica{
		{Key: core.ReplicaKey{ID: 1, Directory: core.DirectoryID{0: 0xd1, 15: 0xd2}}, LogEnd: 10, LastFetch: 3, LastCaughtUp: -1},
	}}
	head := "\x00\x00\x00\x05" + "\x00" + "\x00\x00" // correlation, tags, no error
	name := "\x13__cluster_metadata"
	partition := "\x02" + "\x00\x00\x00\x00" + "\x00\x00" // one: 0, no error
	state := "\x00\x00\x00\x01" + "\x00\x00\x00\x07" + "\x00\x00\x00\x00\x00\x00\x00\x09"
	directory := "\xd1\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xd2"
	end, times := "\x00\x00\x00\x00\x00\x00\x00\x0a", "\x00\x00\x00\x00\x00\x00\x00\x03"+"\xff\xff\xff\xff\xff\xff\xff\xff"
	nodes := "\x03" + "\x00\x00\x00\x01" + "\x02" + "\x02X" + "\x03h1" + "\x00\x5b" + "\x00" + "\x00" +
		"\x00\x00\x00\x02" + "\x02" + "\x02X" + "\x03h2" + "\x00\x5c" + "\x00" + "\x00"
	for version, want := range []string{
		head + "\x02" + name + partition + state + "\x02" + "\x00\x00\x00\x01" + end + "\x00" + "\x01" + "\x00" + "\x00" + "\x00",
		head + "\x02" + name + partition + state + "\x02" + "\x00\x00\x00\x01" + end + times + "\x00" + "\x01" + "\x00" + "\x00" + "\x00",
		head + "\x00" + "\x02" + name + partition + "\x00" + state + "\x02" + "\x00\x00\x00\x01" + directory + end + times + "\x00" + "\x01" + "\x00" + "\x00" + nodes + "\x00",
	} {
		req := asked(t, quorumRequest(int16(version), topic(topicName, 0)))
		frame := describing.AppendDescribeQuorum(nil, req, q)
		require.Equal(t, []byte(want), frame[4:], "version %d", version)
	}
}

func TestDescribeQuorumRefused(t *testing.T) {
	read := func(r *kmsg.DescribeQuorumRequest, q *Quorum) *kmsg.DescribeQuorumResponse {
		frame := describing.AppendDescribeQuorum(nil, asked(t, r), q)
		resp := kmsg.NewPtrDescribeQuorumResponse()
		resp.Version = r.Version
		require.NoError(t, resp.ReadFrom(frame[9:]))
		require.Zero(t, resp.ErrorCode)
		return resp
	}
	for _, topics := range [][]kmsg.DescribeQuorumRequestTopic{
		{topic("other", 0, 5)}, {topic(topicName, 1)}, {topic(topicName, 0, 0)}, {topic(topicName)}, {topic(topicName, 0), topic("x", 2)}, nil,
	} {
		resp := read(quorumRequest(2, topics...), &Quorum{Leader: 1})
		require.Len(t, resp.Topics, len(topics))
		require.Empty(t, resp.Nodes)
		for i, in := range topics {
			require.Equal(t, in.Topic, resp.Topics[i].Topic)
			require.Len(t, resp.Topics[i].Partitions, len(in.Partitions))
			for j, p := range in.Partitions {
				require.EqualValues(t, p.Partition, resp.Topics[i].Partitions[j].Partition)
				require.EqualValues(t, 3, resp.Topics[i].Partitions[j].ErrorCode)
			}
		}
	}
	resp := read(quorumRequest(2, topic(topicName, 0)), &Quorum{Error: core.NotLeaderOrFollower, Leader: 2, Epoch: 4, HighWatermark: -1})
	p := resp.Topics[0].Partitions[0]
	require.EqualValues(t, 6, p.ErrorCode)
	require.EqualValues(t, 2, p.LeaderID)
	require.Len(t, resp.Nodes, 2, "where to ask instead")

	// What is cut off, or of a version that is not served, ends the connection.
	frame := kmsg.NewRequestFormatter().AppendRequest(nil, quorumRequest(2, topic(topicName, 0)), 5)[4:]
	for n := range frame {
		require.Error(t, describing.ReadRequest(frame[:n], new(Request)), "%d bytes", n)
	}
	frame[3] = 3
	require.ErrorContains(t, describing.ReadRequest(frame, new(Request)), "API 55 version 3 is not served")
}

func TestDescribeCluster(t *testing.T) {
	for _, c := range []struct {
		version int16
		kind    int8
		code    int16
	}{{1, 2, 0}, {1, 1, 114}, {0, 1, 114}, {1, 3, 115}, {1, -1, 115}} {
		r := kmsg.NewPtrDescribeClusterRequest()
		r.Version, r.EndpointType = c.version, c.kind
		frame := describing.AppendDescribeCluster(nil, asked(t, r), 2)
		resp := kmsg.NewPtrDescribeClusterResponse()
		resp.Version = c.version
		require.NoError(t, resp.ReadFrom(frame[9:]))
		require.Equal(t, c.code, resp.ErrorCode)
		if c.code == 0 {
			require.Equal(t, "c", resp.ClusterID)
			require.EqualValues(t, 2, resp.ControllerID)
			require.EqualValues(t, 2, resp.EndpointType)
			require.Equal(t, []kmsg.DescribeClusterResponseBroker{{NodeID: 1, Host: "h1", Port: 91}, {NodeID: 2, Host: "h2", Port: 92}}, resp.Brokers)
		} else {
			require.Empty(t, resp.Brokers)
		}
	}
}
