package kafkalog

import (
	"errors"
	"fmt"
	"strings"

	"github.com/quorate/quorate/traces/event"
)

// envelope is a message with what its line says around it.
type envelope struct {
	corr int32
	// class is the name of the message's class, as FetchRequestData.
	class string
	msg   event.Message
	// peer is the node at the other end: whom a request is sent to, or who sent it.
	// -1: a client.
	peer int32
	// bytes of records in a Fetch response.
	local bool // made by the node itself, for a request that nobody answered
}

// errNotRaft is a message between a node and whoever is no replica of the quorum.
var errNotRaft = errors.New("not of the raft protocol")

// local are error codes of responses that the network layer of a node makes up when there
// is no answer: BROKER_NOT_AVAILABLE, CLUSTER_AUTHORIZATION_FAILED, UNSUPPORTED_VERSION
// (KafkaNetworkChannel).
var local = map[int16]bool{8: true, 31: true, 35: true}

// payload cuts the message out of a line, and reads it.
func payload(text string) (envelope, error) {
	var e envelope
	head := fields{text: text}
	e.corr = head.int32("correlationId=")
	_, data, found := strings.Cut(text, "data=")
	class, body, open := strings.Cut(data, "(")
	if head.err != nil || !found || !open {
		return e, errors.New("no correlationId, or no data in it")
	}
	e.class = class
	f := &fields{text: body}
	m := &e.msg
	m.Correlation = e.corr
	switch class {
	case "FetchRequestData":
		m.Kind = event.Fetch
		e.peer = f.int32("ReplicaState(replicaId=")
		m.Epoch, m.Offset, m.LastEpoch = f.int32("currentLeaderEpoch="), f.int64("fetchOffset="), f.int32("lastFetchedEpoch=")
	case "VoteRequestData":
		m.Kind = event.Vote
		if f.has("candidateEpoch=") { // before Pre-Vote
			e.peer, m.Epoch = f.int32("candidateId="), f.int32("candidateEpoch=")
		} else {
			e.peer, m.Epoch = f.int32("replicaId="), f.int32("replicaEpoch=")
		}
		m.Offset, m.LastEpoch = f.int64("lastOffset="), f.int32("lastOffsetEpoch=")
		m.PreVote = f.has("preVote=") && f.bool("preVote=")
	case "BeginQuorumEpochRequestData", "EndQuorumEpochRequestData":
		m.Kind = strings.TrimSuffix(class, "RequestData")
		e.peer, m.Epoch = f.int32("leaderId="), f.int32("leaderEpoch=")
	case "FetchResponseData", "VoteResponseData", "BeginQuorumEpochResponseData", "EndQuorumEpochResponseData":
		m.Kind, m.Response = strings.TrimSuffix(class, "ResponseData"), true
		return e, e.response(f)
	case "FetchSnapshotRequestData", "FetchSnapshotResponseData":
		return e, errors.New("FetchSnapshot: logs of runs in which replicas fetch snapshots cannot be read")
	case "AddRaftVoterRequestData", "RemoveRaftVoterRequestData":
		return e, fmt.Errorf("%s: the specification has a static voter set", class)
	default:
		if strings.HasSuffix(class, "RequestData") || strings.HasSuffix(class, "ResponseData") {
			return e, errNotRaft // DescribeQuorum, ApiVersions, UpdateRaftVoter
		}
		return e, fmt.Errorf("%s is no message", class)
	}
	if strings.Contains(text, "destination=") {
		to := fields{text: text}
		e.peer = to.from("destination=").int32("(id: ")
		f.err = errors.Join(f.err, to.err)
	}
	return e, f.err
}

func (e *envelope) response(f *fields) error {
	m := &e.msg
	top := f.int16("errorCode=")
	if top != 0 {
		if e.local = local[top]; !e.local {
			return fmt.Errorf("error %d of the whole response: no replica of the specification answers so", top)
		}
		return f.err
	}
	if m.Kind == event.Fetch && f.has("PartitionData(") || m.Kind != event.Fetch {
		f.from("PartitionData(")
	}
	m.Error = f.int16("errorCode=")
	if m.Kind != event.Fetch {
		m.Leader, m.Epoch = f.int32("leaderId="), f.int32("leaderEpoch=")
		m.Granted = m.Kind == event.Vote && f.bool("voteGranted=")
		return f.err
	}
	m.HighWatermark = f.int64("highWatermark=")
	current := *f
	current.from("currentLeader=")
	m.Leader, m.Epoch = current.int32("leaderId="), current.int32("leaderEpoch=")
	diverging := *f
	diverging.from("divergingEpoch=EpochEndOffset(")
	if end := diverging.int64("endOffset="); end >= 0 {
		m.Diverging = &event.EpochEnd{Epoch: diverging.int32("epoch="), EndOffset: end}
	}
	snapshot := *f
	snapshot.from("snapshotId=SnapshotId(")
	if end := snapshot.int64("endOffset="); end >= 0 {
		m.Snapshot = event.SnapshotID{End: end, Epoch: snapshot.int32("epoch=")}
	}
	if f.has("Records(size=") {
		m.Bytes = f.int64("Records(size=")
	} else if !f.has("records=null") && f.err == nil {
		f.err = errors.New("no size of the records")
	}
	return errors.Join(f.err, current.err, diverging.err, snapshot.err)
}
