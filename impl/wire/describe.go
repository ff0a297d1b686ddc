package wire

import (
	"maps"
	"slices"

	"github.com/quorate/quorate/impl/core"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Requests that describe the quorum and the cluster. They are answered beside the core.
const (
	DescribeQuorum  API = 55
	DescribeCluster API = 60
)

// Error codes of these.
const (
	unknownTopicOrPartition = 3
	mismatchedEndpointType  = 114
	unsupportedEndpointType = 115
)

// Quorum is what a DescribeQuorum response tells. Times are milliseconds since 1970, -1
// if there was none.
type Quorum struct {
	// Error is NotLeaderOrFollower if the replica does not lead; Voters and Observers
	// are empty then.
	Error             core.ErrorCode
	Leader            core.ReplicaID
	Epoch             core.Epoch
	HighWatermark     core.Offset
	Voters, Observers []QuorumReplica
}

// QuorumReplica is one line of a Quorum.
type QuorumReplica struct {
	Key                     core.ReplicaKey
	LogEnd                  core.Offset
	LastFetch, LastCaughtUp int64
}

// AppendDescribeQuorum appends the frame of a DescribeQuorum response. A request for
// anything but the one partition is answered with an error for each that it names. Where
// voters can be reached is told with an error too, which Kafka does not: so whoever asks
// finds the leader.
func (c *Codec) AppendDescribeQuorum(dst []byte, req *Request, q *Quorum) []byte {
	r := kmsg.NewDescribeQuorumResponse()
	r.Version = req.Version
	in := req.Body.(*kmsg.DescribeQuorumRequest).Topics
	if len(in) != 1 || in[0].Topic != topicName || len(in[0].Partitions) != 1 || in[0].Partitions[0].Partition != 0 {
		for _, t := range in {
			out := kmsg.DescribeQuorumResponseTopic{Topic: t.Topic}
			for _, p := range t.Partitions {
				out.Partitions = append(out.Partitions, kmsg.DescribeQuorumResponseTopicPartition{Partition: p.Partition, ErrorCode: unknownTopicOrPartition})
			}
			r.Topics = append(r.Topics, out)
		}
	} else {
		p := kmsg.NewDescribeQuorumResponseTopicPartition()
		p.ErrorCode, p.LeaderID, p.LeaderEpoch, p.HighWatermark = int16(q.Error), int32(q.Leader), int32(q.Epoch), int64(q.HighWatermark)
		p.CurrentVoters, p.Observers = quorumReplicas(q.Voters), quorumReplicas(q.Observers)
		r.Topics = []kmsg.DescribeQuorumResponseTopic{{Topic: topicName, Partitions: []kmsg.DescribeQuorumResponseTopicPartition{p}}}
		for _, id := range c.nodes() {
			e := c.where()[id]
			r.Nodes = append(r.Nodes, kmsg.DescribeQuorumResponseNode{NodeID: int32(id), Listeners: []kmsg.DescribeQuorumResponseNodeListener{{
				Name: c.listener(), Host: e.Host, Port: e.Port,
			}}})
		}
	}
	dst, start := beginFrame(dst)
	dst = appendResponseHeader(dst, req.Header)
	return endFrame(r.AppendTo(dst), start)
}

func quorumReplicas(all []QuorumReplica) (out []kmsg.DescribeQuorumResponseTopicPartitionReplicaState) {
	for _, q := range all {
		r := kmsg.NewDescribeQuorumResponseTopicPartitionReplicaState()
		r.ReplicaID, r.ReplicaDirectoryID, r.LogEndOffset = int32(q.Key.ID), q.Key.Directory, int64(q.LogEnd)
		r.LastFetchTimestamp, r.LastCaughtUpTimestamp = q.LastFetch, q.LastCaughtUp
		out = append(out, r)
	}
	return out
}

// AppendDescribeCluster appends the frame of a DescribeCluster response: the nodes of
// the quorum, and which of them leads. It must have been asked for controllers
// (ControllerApis.handleDescribeCluster); version 0 can only ask for brokers.
func (c *Codec) AppendDescribeCluster(dst []byte, req *Request, leader core.ReplicaID) []byte {
	const controllers = 2
	r := kmsg.NewDescribeClusterResponse()
	r.Version, r.EndpointType, r.ControllerID = req.Version, controllers, -1
	switch req.Body.(*kmsg.DescribeClusterRequest).EndpointType {
	case controllers:
		r.ClusterID, r.ControllerID = c.Cluster(), int32(leader)
		for _, id := range c.nodes() {
			e := c.where()[id]
			r.Brokers = append(r.Brokers, kmsg.DescribeClusterResponseBroker{NodeID: int32(id), Host: e.Host, Port: int32(e.Port)})
		}
	case 1:
		r.ErrorCode = mismatchedEndpointType
	default:
		r.ErrorCode = unsupportedEndpointType
	}
	dst, start := beginFrame(dst)
	dst = appendResponseHeader(dst, req.Header)
	return endFrame(r.AppendTo(dst), start)
}

// nodes are the replicas that can be reached, ascending.
func (c *Codec) nodes() []core.ReplicaID {
	return slices.Sorted(maps.Keys(c.where()))
}
