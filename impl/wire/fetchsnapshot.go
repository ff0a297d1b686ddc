package wire

import (
	"github.com/quorate/quorate/impl/core"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// snapshotID is an id as it came. What cannot name a snapshot names none.
func snapshotID(end int64, epoch int32) core.SnapshotID {
	if end <= 0 || epoch < 0 {
		return core.NoSnapshot
	}
	return core.SnapshotID{End: core.Offset(end), Epoch: core.Epoch(epoch)}
}

func (c *Codec) appendFetchSnapshotRequest(dst []byte, version int16, m *core.Message) []byte {
	p := kmsg.NewFetchSnapshotRequestTopicPartition()
	p.CurrentLeaderEpoch, p.Position = int32(m.Epoch), m.Position
	p.SnapshotID.EndOffset, p.SnapshotID.Epoch = int64(m.SnapshotID.End), int32(m.SnapshotID.Epoch)
	if version >= 1 { // a tagged field, which kmsg would write in any version
		p.ReplicaDirectoryID = m.From.Directory
	}
	r := kmsg.NewFetchSnapshotRequest()
	r.Version, r.ClusterID, r.ReplicaID, r.MaxBytes = version, c.clusterID(), int32(m.From.ID), m.MaxBytes
	r.Topics = []kmsg.FetchSnapshotRequestTopic{{Topic: topicName, Partitions: []kmsg.FetchSnapshotRequestTopicPartition{p}}}
	return r.AppendTo(dst)
}

// readFetchSnapshotRequest is not as strict as the others: one other partition is
// answered where the partition's error stands.
func (c *Codec) readFetchSnapshotRequest(body []byte, version int16, req *Request, m *core.Message) (core.ErrorCode, error) {
	r := kmsg.NewFetchSnapshotRequest()
	r.Version = version
	if err := r.ReadFrom(body); err != nil {
		return 0, err
	}
	if c.inconsistent(r.ClusterID) {
		return InconsistentClusterID, nil
	}
	if len(r.Topics) != 1 || len(r.Topics[0].Partitions) != 1 {
		return core.InvalidRequest, nil
	}
	p := &r.Topics[0].Partitions[0]
	if r.Topics[0].Topic != topicName || p.Partition != 0 {
		req.topic, req.partition = r.Topics[0].Topic, p.Partition
		return unknownTopicOrPartition, nil
	}
	m.From = replicaKey(r.ReplicaID, p.ReplicaDirectoryID)
	m.Epoch, m.Position, m.MaxBytes = core.Epoch(p.CurrentLeaderEpoch), p.Position, max(r.MaxBytes, 0)
	m.SnapshotID = snapshotID(p.SnapshotID.EndOffset, p.SnapshotID.Epoch)
	return core.None, nil
}

func (c *Codec) appendFetchSnapshotResponse(dst []byte, version int16, m *core.Message) []byte {
	p := kmsg.NewFetchSnapshotResponseTopicPartition()
	p.ErrorCode, p.Size, p.Position, p.Bytes = int16(m.Error), m.Size, m.Position, m.Chunk
	// Kafka names the snapshot only if there is no error. Who asked does not look then.
	p.SnapshotID.EndOffset, p.SnapshotID.Epoch = int64(m.SnapshotID.End), int32(m.SnapshotID.Epoch)
	p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch = int32(m.Leader), int32(m.Epoch)
	r := kmsg.NewFetchSnapshotResponse()
	r.Version = version
	r.Topics = []kmsg.FetchSnapshotResponseTopic{{Topic: topicName, Partitions: []kmsg.FetchSnapshotResponseTopicPartition{p}}}
	if e, ok := c.namedLeader(m); ok && version >= 1 {
		r.NodeEndpoints = []kmsg.FetchSnapshotResponseNodeEndpoint{{NodeID: int32(m.Leader), Host: e.Host, Port: e.Port}}
	}
	return r.AppendTo(dst)
}

// unknownPartition answers a request for another partition than the one there is.
func unknownPartition(req *Request) kmsg.Response {
	p := kmsg.NewFetchSnapshotResponseTopicPartition()
	p.Partition, p.ErrorCode, p.Bytes = req.partition, unknownTopicOrPartition, []byte{}
	r := kmsg.NewPtrFetchSnapshotResponse()
	r.Topics = []kmsg.FetchSnapshotResponseTopic{{Topic: req.topic, Partitions: []kmsg.FetchSnapshotResponseTopicPartition{p}}}
	return r
}

func (c *Codec) readFetchSnapshotResponse(body []byte, version int16, m *core.Message) (core.ErrorCode, error) {
	r := kmsg.NewFetchSnapshotResponse()
	r.Version = version
	if err := r.UnsafeReadFrom(body); err != nil {
		return 0, err
	}
	if r.ErrorCode != 0 {
		return core.ErrorCode(r.ErrorCode), nil
	}
	if len(r.Topics) != 1 || len(r.Topics[0].Partitions) != 1 || r.Topics[0].Topic != topicName || r.Topics[0].Partitions[0].Partition != 0 {
		return 0, errPartitions
	}
	p := &r.Topics[0].Partitions[0]
	answer(m, p.ErrorCode, p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch)
	m.SnapshotID = snapshotID(p.SnapshotID.EndOffset, p.SnapshotID.Epoch)
	m.Position, m.Size = p.Position, p.Size
	if len(p.Bytes) > 0 {
		m.Chunk = p.Bytes
	}
	if m.Position < 0 || m.Size < 0 || int64(len(m.Chunk)) > m.Size-min(m.Position, m.Size) {
		return 0, malformed("%d bytes from %d on of a snapshot of %d bytes", len(m.Chunk), m.Position, m.Size)
	}
	return core.None, nil
}
