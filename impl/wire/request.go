package wire

import (
	"math"

	"github.com/quorate/quorate/impl/core"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Request is a request as it was read.
type Request struct {
	Header
	// Refused is the error of a request that is answered by AppendRefusal: what other
	// fields say means nothing then.
	Refused core.ErrorCode
	// Message is for the core; Kind is 0 if the request is another. If Invalid it is not
	// for the core either: it says what no replica can mean, and Answer is the response.
	Message core.Message
	Invalid bool
	// Body is the request if it is not for the core, nor ApiVersions: by AppendDescribeQuorum,
	// AppendDescribeCluster, or, if somebody else answers it, AppendBody.
	Body kmsg.Request

	// What a FetchSnapshot request named that is not there.
	topic     string
	partition int32
}

// AppendRequest appends the frame of a request. The version in the header must be
// one of Supported. The error is UnsupportedVersion if that version cannot say what
// the message says: that a vote is a pre-vote.
func (c *Codec) AppendRequest(dst []byte, h Header, m *core.Message) ([]byte, core.ErrorCode) {
	h.API = apiOf(m.Kind)
	if m.Kind == core.Vote && m.PreVote && h.Version < 2 {
		return dst, core.UnsupportedVersion
	}
	dst, start := beginFrame(dst)
	dst = appendRequestHeader(dst, h)
	switch m.Kind {
	case core.Vote:
		dst = c.appendVoteRequest(dst, h.Version, m)
	case core.BeginQuorumEpoch:
		dst = c.appendBeginRequest(dst, h.Version, m)
	case core.EndQuorumEpoch:
		dst = c.appendEndRequest(dst, h.Version, m)
	case core.Fetch:
		dst = c.appendFetchRequest(dst, h.Version, m)
	case core.FetchSnapshot:
		dst = c.appendFetchSnapshotRequest(dst, h.Version, m)
	}
	return endFrame(dst, start), core.None
}

func (c *Codec) appendVoteRequest(dst []byte, version int16, m *core.Message) []byte {
	p := kmsg.NewVoteRequestTopicPartition()
	p.CandidateEpoch, p.CandidateID, p.CandidateDirectoryID = int32(m.Epoch), int32(m.From.ID), m.From.Directory
	p.VoterDirectoryID = m.To.Directory
	p.LastOffset, p.LastOffsetEpoch, p.PreVote = int64(m.Offset), int32(m.LastEpoch), m.PreVote
	r := kmsg.NewVoteRequest()
	r.Version, r.ClusterID, r.VoterID = version, c.clusterID(), int32(m.To.ID)
	r.Topics = []kmsg.VoteRequestTopic{{Topic: topicName, Partitions: []kmsg.VoteRequestTopicPartition{p}}}
	return r.AppendTo(dst)
}

func (c *Codec) appendBeginRequest(dst []byte, version int16, m *core.Message) []byte {
	p := kmsg.NewBeginQuorumEpochRequestTopicPartition()
	p.LeaderID, p.LeaderEpoch, p.VoterDirectoryID = int32(m.From.ID), int32(m.Epoch), m.To.Directory
	r := kmsg.NewBeginQuorumEpochRequest()
	r.Version, r.ClusterID, r.VoterID = version, c.clusterID(), int32(m.To.ID)
	r.Topics = []kmsg.BeginQuorumEpochRequestTopic{{Topic: topicName, Partitions: []kmsg.BeginQuorumEpochRequestTopicPartition{p}}}
	if e, ok := c.where()[m.From.ID]; ok {
		r.LeaderEndpoints = []kmsg.BeginQuorumEpochRequestLeaderEndpoint{{Name: c.listener(), Host: e.Host, Port: e.Port}}
	}
	return r.AppendTo(dst)
}

func (c *Codec) appendEndRequest(dst []byte, version int16, m *core.Message) []byte {
	p := kmsg.NewEndQuorumEpochRequestTopicPartition()
	p.LeaderID, p.LeaderEpoch = int32(m.From.ID), int32(m.Epoch)
	for _, k := range m.Preferred {
		p.PreferredCandidates = append(p.PreferredCandidates, kmsg.EndQuorumEpochRequestTopicPartitionPreferredCandidate{
			CandidateID: int32(k.ID), CandidateDirectoryID: k.Directory,
		})
	}
	r := kmsg.NewEndQuorumEpochRequest()
	r.Version, r.ClusterID = version, c.clusterID()
	r.Topics = []kmsg.EndQuorumEpochRequestTopic{{Topic: topicName, Partitions: []kmsg.EndQuorumEpochRequestTopicPartition{p}}}
	if e, ok := c.where()[m.From.ID]; ok {
		r.LeaderEndpoints = []kmsg.EndQuorumEpochRequestLeaderEndpoint{{Name: c.listener(), Host: e.Host, Port: e.Port}}
	}
	return r.AppendTo(dst)
}

func (c *Codec) appendFetchRequest(dst []byte, version int16, m *core.Message) []byte {
	p := kmsg.NewFetchRequestTopicPartition()
	p.CurrentLeaderEpoch, p.FetchOffset, p.LastFetchedEpoch = int32(m.Epoch), int64(m.Offset), int32(m.LastEpoch)
	p.PartitionMaxBytes = 0 // as Kafka does; only MaxBytes counts
	// Tagged fields of later versions would be written in any version.
	if version >= 17 {
		p.ReplicaDirectoryID = m.From.Directory
	}
	if version >= 18 {
		p.HighWatermark = int64(m.HighWatermark)
	}
	r := kmsg.NewFetchRequest()
	r.Version, r.ClusterID = version, c.clusterID()
	if version >= 15 {
		r.ReplicaState.ID = int32(m.From.ID)
	} else {
		r.ReplicaID = int32(m.From.ID)
	}
	r.MaxWaitMillis, r.MinBytes, r.MaxBytes = int32(min(m.MaxWait, math.MaxInt32)), 0, m.MaxBytes
	r.SessionEpoch = -1
	r.Topics = []kmsg.FetchRequestTopic{{TopicID: topicID, Partitions: []kmsg.FetchRequestTopicPartition{p}}}
	return r.AppendTo(dst)
}

// ReadRequest reads the frame of a request into req, which keeps no part of it.
// After an error the connection is to be closed.
func (c *Codec) ReadRequest(frame []byte, req *Request) error {
	h, body, err := readRequestHeader(frame)
	*req = Request{Header: h}
	if err != nil {
		return err
	}
	supported := c.Supported(h.API)
	if h.API == ApiVersions {
		if !supported.has(h.Version) {
			req.Refused = core.UnsupportedVersion
			return nil
		}
		req.Refused, err = readApiVersionsRequest(body, h.Version)
		return bodyError(h, err)
	}
	if !supported.has(h.Version) {
		return malformed("API %d version %d is not served", h.API, h.Version)
	}
	m := core.Message{Kind: kindOf(h.API), To: core.NoKey}
	if m.Kind == 0 {
		return bodyError(h, readAside(body, req))
	}
	if len(frame) > MaxMessage {
		return malformed("request of API %d has %d bytes, at most %d are allowed", h.API, len(frame), MaxMessage)
	}
	switch h.API {
	case Vote:
		req.Refused, err = c.readVoteRequest(body, h.Version, &m)
	case BeginQuorumEpoch:
		req.Refused, err = c.readBeginRequest(body, h.Version, &m)
	case EndQuorumEpoch:
		req.Refused, err = c.readEndRequest(body, h.Version, &m)
	case Fetch:
		req.Refused, err = c.readFetchRequest(body, h.Version, &m)
	case FetchSnapshot:
		req.Refused, err = c.readFetchSnapshotRequest(body, h.Version, req, &m)
	}
	if err != nil {
		return bodyError(h, err)
	}
	if req.Refused == core.None {
		req.Message, req.Invalid = m, invalid(&m)
	}
	return nil
}

func bodyError(h Header, err error) error {
	if err == nil {
		return nil
	}
	return malformed("body of API %d version %d: %v", h.API, h.Version, err)
}

func (c *Codec) readVoteRequest(body []byte, version int16, m *core.Message) (core.ErrorCode, error) {
	r := kmsg.NewVoteRequest()
	r.Version = version
	if err := r.ReadFrom(body); err != nil {
		return 0, err
	}
	if c.inconsistent(r.ClusterID) {
		return InconsistentClusterID, nil
	}
	if len(r.Topics) != 1 || len(r.Topics[0].Partitions) != 1 ||
		r.Topics[0].Topic != topicName || r.Topics[0].Partitions[0].Partition != 0 {
		return core.InvalidRequest, nil
	}
	p := &r.Topics[0].Partitions[0]
	m.From = replicaKey(p.CandidateID, p.CandidateDirectoryID)
	m.To = replicaKey(r.VoterID, p.VoterDirectoryID)
	m.Epoch, m.Offset, m.LastEpoch = core.Epoch(p.CandidateEpoch), core.Offset(p.LastOffset), core.Epoch(p.LastOffsetEpoch)
	m.PreVote = p.PreVote
	return core.None, nil
}

func (c *Codec) readBeginRequest(body []byte, version int16, m *core.Message) (core.ErrorCode, error) {
	r := kmsg.NewBeginQuorumEpochRequest()
	r.Version = version
	if err := r.ReadFrom(body); err != nil {
		return 0, err
	}
	if c.inconsistent(r.ClusterID) {
		return InconsistentClusterID, nil
	}
	if len(r.Topics) != 1 || len(r.Topics[0].Partitions) != 1 ||
		r.Topics[0].Topic != topicName || r.Topics[0].Partitions[0].Partition != 0 {
		return core.InvalidRequest, nil
	}
	p := &r.Topics[0].Partitions[0]
	m.From = replicaKey(p.LeaderID, [16]byte{})
	m.To = replicaKey(r.VoterID, p.VoterDirectoryID)
	m.Epoch = core.Epoch(p.LeaderEpoch)
	for _, e := range r.LeaderEndpoints {
		if e.Name == c.listener() {
			c.told(p.LeaderID, e.Host, int32(e.Port))
		}
	}
	return core.None, nil
}

func (c *Codec) readEndRequest(body []byte, version int16, m *core.Message) (core.ErrorCode, error) {
	r := kmsg.NewEndQuorumEpochRequest()
	r.Version = version
	if err := r.ReadFrom(body); err != nil {
		return 0, err
	}
	if c.inconsistent(r.ClusterID) {
		return InconsistentClusterID, nil
	}
	if len(r.Topics) != 1 || len(r.Topics[0].Partitions) != 1 ||
		r.Topics[0].Topic != topicName || r.Topics[0].Partitions[0].Partition != 0 {
		return core.InvalidRequest, nil
	}
	p := &r.Topics[0].Partitions[0]
	m.From = replicaKey(p.LeaderID, [16]byte{})
	m.Epoch = core.Epoch(p.LeaderEpoch)
	for _, k := range p.PreferredCandidates {
		m.Preferred = append(m.Preferred, replicaKey(k.CandidateID, k.CandidateDirectoryID))
	}
	return core.None, nil
}

func (c *Codec) readFetchRequest(body []byte, version int16, m *core.Message) (core.ErrorCode, error) {
	r := kmsg.NewFetchRequest()
	r.Version = version
	if err := r.ReadFrom(body); err != nil {
		return 0, err
	}
	if c.inconsistent(r.ClusterID) {
		return InconsistentClusterID, nil
	}
	if len(r.Topics) != 1 || len(r.Topics[0].Partitions) != 1 ||
		r.Topics[0].TopicID != topicID || r.Topics[0].Partitions[0].Partition != 0 {
		return core.InvalidRequest, nil
	}
	p := &r.Topics[0].Partitions[0]
	id := r.ReplicaID
	if version >= 15 {
		id = r.ReplicaState.ID
	}
	m.From = replicaKey(id, p.ReplicaDirectoryID)
	m.Epoch, m.Offset, m.LastEpoch = core.Epoch(p.CurrentLeaderEpoch), core.Offset(p.FetchOffset), core.Epoch(p.LastFetchedEpoch)
	m.HighWatermark = max(core.Offset(p.HighWatermark), core.UnknownOffset) // the default is NoHighWatermark
	if version < 18 {
		m.HighWatermark = core.NoHighWatermark
	}
	m.MaxWait, m.MaxBytes = core.Ticks(r.MaxWaitMillis), min(max(r.MaxBytes, 0), MaxRecords)
	return core.None, nil
}
