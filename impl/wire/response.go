package wire

import (
	"github.com/quorate/quorate/impl/core"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// AppendResponse appends the frame of the response to a request with header h.
func (c *Codec) AppendResponse(dst []byte, h Header, m *core.Message) []byte {
	dst, start := beginFrame(dst)
	dst = appendResponseHeader(dst, h)
	switch h.API {
	case Vote:
		dst = c.appendVoteResponse(dst, h.Version, m)
	case BeginQuorumEpoch:
		dst = c.appendBeginResponse(dst, h.Version, m)
	case EndQuorumEpoch:
		dst = c.appendEndResponse(dst, h.Version, m)
	case Fetch:
		dst = c.appendFetchResponse(dst, h.Version, m)
	case FetchSnapshot:
		dst = c.appendFetchSnapshotResponse(dst, h.Version, m)
	}
	return endFrame(dst, start)
}

// namedLeader is the endpoint to name in a response, if there is one.
func (c *Codec) namedLeader(m *core.Message) (Endpoint, bool) {
	if m.Leader < 0 {
		return Endpoint{}, false
	}
	e, ok := c.where()[m.Leader]
	return e, ok
}

func (c *Codec) appendVoteResponse(dst []byte, version int16, m *core.Message) []byte {
	p := kmsg.NewVoteResponseTopicPartition()
	p.ErrorCode, p.LeaderID, p.LeaderEpoch, p.VoteGranted = int16(m.Error), int32(m.Leader), int32(m.Epoch), m.Granted
	r := kmsg.NewVoteResponse()
	r.Version = version
	r.Topics = []kmsg.VoteResponseTopic{{Topic: topicName, Partitions: []kmsg.VoteResponseTopicPartition{p}}}
	if e, ok := c.namedLeader(m); ok && version >= 1 {
		r.NodeEndpoints = []kmsg.VoteResponseNodeEndpoint{{NodeID: int32(m.Leader), Host: e.Host, Port: e.Port}}
	}
	return r.AppendTo(dst)
}

func (c *Codec) appendBeginResponse(dst []byte, version int16, m *core.Message) []byte {
	p := kmsg.NewBeginQuorumEpochResponseTopicPartition()
	p.ErrorCode, p.LeaderID, p.LeaderEpoch = int16(m.Error), int32(m.Leader), int32(m.Epoch)
	r := kmsg.NewBeginQuorumEpochResponse()
	r.Version = version
	r.Topics = []kmsg.BeginQuorumEpochResponseTopic{{Topic: topicName, Partitions: []kmsg.BeginQuorumEpochResponseTopicPartition{p}}}
	if e, ok := c.namedLeader(m); ok {
		r.NodeEndpoints = []kmsg.BeginQuorumEpochResponseNodeEndpoint{{NodeID: int32(m.Leader), Host: e.Host, Port: e.Port}}
	}
	return r.AppendTo(dst)
}

func (c *Codec) appendEndResponse(dst []byte, version int16, m *core.Message) []byte {
	p := kmsg.NewEndQuorumEpochResponseTopicPartition()
	p.ErrorCode, p.LeaderID, p.LeaderEpoch = int16(m.Error), int32(m.Leader), int32(m.Epoch)
	r := kmsg.NewEndQuorumEpochResponse()
	r.Version = version
	r.Topics = []kmsg.EndQuorumEpochResponseTopic{{Topic: topicName, Partitions: []kmsg.EndQuorumEpochResponseTopicPartition{p}}}
	if e, ok := c.namedLeader(m); ok {
		r.NodeEndpoints = []kmsg.EndQuorumEpochResponseNodeEndpoint{{NodeID: int32(m.Leader), Host: e.Host, Port: e.Port}}
	}
	return r.AppendTo(dst)
}

// Expect says what a response answers: what the reader of it cannot know from its
// bytes.
type Expect struct {
	Header
	PreVote bool
	Read    int64
	// Offset is where the records of a Fetch response must begin.
	Offset core.Offset
}

// ExpectFor is what the response to a request will answer.
func ExpectFor(h Header, m *core.Message) Expect {
	h.API = apiOf(m.Kind)
	e := Expect{Header: h, PreVote: m.PreVote, Read: m.Read}
	if m.Kind == core.Fetch {
		e.Offset = m.Offset
	}
	return e
}

// Limit is the most bytes that the frame of the response may have.
func (e Expect) Limit() int {
	if e.API == Fetch || e.API == FetchSnapshot {
		return MaxResponse
	}
	return MaxRequest
}

// ReadResponse reads the frame of a response into m, whose Records are a part of it
// and whose Batches the caller fills in when it has checked them. The code is a
// top-level error; m then means nothing. After an error the connection is to be
// closed.
func (c *Codec) ReadResponse(frame []byte, e Expect, m *core.Message) (core.ErrorCode, error) {
	*m = core.Message{Kind: kindOf(e.API), Response: true, From: core.NoKey, To: core.NoKey, PreVote: e.PreVote, Read: e.Read}
	body, err := readResponseHeader(frame, e.Header)
	if err != nil {
		return 0, err
	}
	var code core.ErrorCode
	switch e.API {
	case Vote:
		code, err = c.readVoteResponse(body, e.Version, m)
	case BeginQuorumEpoch:
		code, err = c.readBeginResponse(body, e.Version, m)
	case EndQuorumEpoch:
		code, err = c.readEndResponse(body, e.Version, m)
	case Fetch:
		code, err = c.readFetchResponse(body, e, m)
	case FetchSnapshot:
		code, err = c.readFetchSnapshotResponse(body, e.Version, m)
	default:
		err = malformed("response of API %d", e.API)
	}
	if err != nil {
		return 0, bodyError(e.Header, err)
	}
	if code != core.None {
		return code, nil
	}
	if m.Epoch < 0 || m.Epoch > core.MaxEpoch || m.Leader < core.NoReplica || m.HighWatermark < core.UnknownOffset ||
		m.Diverging.Epoch < -1 || m.Diverging.Epoch >= 0 && m.Diverging.End < 0 {
		return 0, malformed("response of API %d: leader %d, epoch %d, high watermark %d, diverging epoch %d at %d",
			e.API, m.Leader, m.Epoch, m.HighWatermark, m.Diverging.Epoch, m.Diverging.End)
	}
	return core.None, nil
}

var (
	errPartitions = malformed("not exactly the one partition that was asked for")
	errSnapshot   = malformed("a snapshot that ends at 0, or records beside a snapshot")
)

func answer(m *core.Message, code int16, leader, epoch int32) {
	m.Error, m.Leader, m.Epoch = core.ErrorCode(code), core.ReplicaID(leader), core.Epoch(epoch)
}

func (c *Codec) readVoteResponse(body []byte, version int16, m *core.Message) (core.ErrorCode, error) {
	r := kmsg.NewVoteResponse()
	r.Version = version
	if err := r.ReadFrom(body); err != nil {
		return 0, err
	}
	if r.ErrorCode != 0 {
		return core.ErrorCode(r.ErrorCode), nil
	}
	if len(r.Topics) != 1 || len(r.Topics[0].Partitions) != 1 || r.Topics[0].Partitions[0].Partition != 0 {
		return 0, errPartitions
	}
	p := &r.Topics[0].Partitions[0]
	answer(m, p.ErrorCode, p.LeaderID, p.LeaderEpoch)
	for _, e := range r.NodeEndpoints {
		c.told(e.NodeID, e.Host, int32(e.Port))
	}
	m.Granted = p.VoteGranted
	return core.None, nil
}

func (c *Codec) readBeginResponse(body []byte, version int16, m *core.Message) (core.ErrorCode, error) {
	r := kmsg.NewBeginQuorumEpochResponse()
	r.Version = version
	if err := r.ReadFrom(body); err != nil {
		return 0, err
	}
	if r.ErrorCode != 0 {
		return core.ErrorCode(r.ErrorCode), nil
	}
	if len(r.Topics) != 1 || len(r.Topics[0].Partitions) != 1 || r.Topics[0].Partitions[0].Partition != 0 {
		return 0, errPartitions
	}
	p := &r.Topics[0].Partitions[0]
	answer(m, p.ErrorCode, p.LeaderID, p.LeaderEpoch)
	for _, e := range r.NodeEndpoints {
		c.told(e.NodeID, e.Host, int32(e.Port))
	}
	return core.None, nil
}

func (c *Codec) readEndResponse(body []byte, version int16, m *core.Message) (core.ErrorCode, error) {
	r := kmsg.NewEndQuorumEpochResponse()
	r.Version = version
	if err := r.ReadFrom(body); err != nil {
		return 0, err
	}
	if r.ErrorCode != 0 {
		return core.ErrorCode(r.ErrorCode), nil
	}
	if len(r.Topics) != 1 || len(r.Topics[0].Partitions) != 1 || r.Topics[0].Partitions[0].Partition != 0 {
		return 0, errPartitions
	}
	p := &r.Topics[0].Partitions[0]
	answer(m, p.ErrorCode, p.LeaderID, p.LeaderEpoch)
	for _, e := range r.NodeEndpoints {
		c.told(e.NodeID, e.Host, int32(e.Port))
	}
	return core.None, nil
}

func (c *Codec) readFetchResponse(body []byte, e Expect, m *core.Message) (core.ErrorCode, error) {
	r := kmsg.NewFetchResponse()
	r.Version = e.Version
	if err := r.UnsafeReadFrom(body); err != nil {
		return 0, err
	}
	if r.ErrorCode != 0 {
		return core.ErrorCode(r.ErrorCode), nil
	}
	if len(r.Topics) != 1 || len(r.Topics[0].Partitions) != 1 ||
		r.Topics[0].TopicID != topicID || r.Topics[0].Partitions[0].Partition != 0 {
		return 0, errPartitions
	}
	p := &r.Topics[0].Partitions[0]
	if p.SnapshotID.EndOffset >= 0 && p.SnapshotID.Epoch >= 0 { // as Kafka asks
		m.SnapshotID = snapshotID(p.SnapshotID.EndOffset, p.SnapshotID.Epoch)
		if m.SnapshotID == core.NoSnapshot || len(p.RecordBatches) > 0 {
			return 0, errSnapshot
		}
	}
	answer(m, p.ErrorCode, p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch)
	for _, e := range r.Brokers { // NodeEndpoints
		c.told(e.NodeID, e.Host, e.Port)
	}
	m.HighWatermark = core.Offset(p.HighWatermark)
	m.Diverging = core.EpochEnd{Epoch: core.Epoch(p.DivergingEpoch.Epoch), End: core.Offset(p.DivergingEpoch.EndOffset)}
	if m.Diverging.Epoch == -1 {
		m.Diverging = core.NoEpochEnd
	}
	if len(p.RecordBatches) > 0 {
		m.Records, m.Offset = p.RecordBatches, e.Offset
	}
	return core.None, nil
}
