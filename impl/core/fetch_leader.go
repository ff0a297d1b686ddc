package core

import "github.com/quorate/quorate/traces/event"

// fetchRequest is a fetch that waits for something new.
type fetchRequest struct {
	conn        ConnID
	correlation int32
	message     Message
	deadline    Ticks
}

// handleFetchRequest answers or parks a fetch.
func (r *Replica) handleFetchRequest(in *Input) {
	m := in.Message
	answer, readTo := r.fetchRequest(m)
	nothing := answer.Error == None && answer.Diverging.Epoch < 0 && answer.SnapshotID == NoSnapshot && readTo == 0
	behind := m.HighWatermark < answer.HighWatermark // never with NoHighWatermark
	if nothing && !behind && m.MaxWait > 0 {
		f := fetchRequest{conn: in.Conn, correlation: in.Correlation, message: *m, deadline: r.now + m.MaxWait}
		r.parked = append(r.parked, f)
		r.finish(actHandleFetchRequest, event.Args{Park: true}, in, nil)
		return
	}
	r.answerFetch(in, &answer, readTo)
}

// fetchRequest validates a fetch, notes the progress that it proves, and says what
// to answer: records from its offset up to readTo, 0 if there are none. A fetch that is not valid proves
// nothing (KAFKA-13141). (KafkaRaftClient.tryCompleteFetchRequest)
func (r *Replica) fetchRequest(m *Message) (answer Message, readTo Offset) {
	answer = Message{HighWatermark: UnknownOffset, Diverging: NoEpochEnd}
	if answer.Error = r.checkFetchRequest(m); answer.Error != None {
		return answer, 0
	}
	if r.log.belowLog(m.Offset, m.LastEpoch) {
		answer.SnapshotID, answer.HighWatermark = r.log.latest(), r.hw
		return answer, 0
	}
	if d, diverges := r.log.diverges(m.Offset, m.LastEpoch); diverges {
		answer.Diverging, answer.HighWatermark = d, r.hw
		return answer, 0
	}
	r.lead.follow(r, m.From, m.Offset)
	if i := voterIndex(r.voters, m.From); i >= 0 {
		v := &r.lead.voters[i]
		v.end, v.lastFetch, v.hasFetch = m.Offset, r.now, true
		r.noteQuorum(i)
		r.advanceHighWatermark()
	}
	answer.HighWatermark = r.hw
	if r.log.end <= m.Offset {
		return answer, 0
	}
	answer.Offset = m.Offset
	return answer, r.log.end
}

// checkFetchRequest: the order of the checks is Kafka's.
func (r *Replica) checkFetchRequest(m *Message) ErrorCode {
	switch {
	case m.MaxWait < 0, m.Offset < 0, m.LastEpoch < 0, m.LastEpoch > m.Epoch, m.Epoch > MaxEpoch:
		return InvalidRequest
	}
	return r.checkLeaderRequest(m)
}

// checkLeaderRequest is common to Fetch and FetchSnapshot. A higher epoch is not taken
// over here: who asks may only have heard of it.
func (r *Replica) checkLeaderRequest(m *Message) ErrorCode {
	switch {
	case m.Epoch < r.epoch:
		return FencedLeaderEpoch
	case m.Epoch > r.epoch:
		return UnknownLeaderEpoch
	case r.role != Leader:
		return NotLeaderOrFollower
	case m.From.ID == r.cfg.ID:
		return InvalidRequest // a second replica with our id; we do not fetch from ourselves
	}
	return None
}

// answerFetch ends the action with the response. The driver reads the records.
func (r *Replica) answerFetch(in *Input, answer *Message, readTo Offset) {
	m := in.Message
	answer.Kind, answer.Response = Fetch, true
	answer.Epoch, answer.Leader = r.epoch, r.leader
	send := Op{
		Kind: OpSendResponse, Conn: in.Conn, Correlation: in.Correlation, Message: *answer,
		ReadTo: readTo, MaxBytes: m.MaxBytes,
	}
	r.finish(actHandleFetchRequest, noArgs, in, &send)
}

// wakeParked completes the fetches that have something to learn, or have waited
// long enough. A completion looks at everything again, progress too.
func (r *Replica) wakeParked() {
	kept := 0
	for i := range r.parked {
		f := &r.parked[i]
		m := &f.message
		if r.log.end > m.Offset || m.HighWatermark < r.hw || r.now >= f.deadline {
			r.completeFetch(f)
			continue
		}
		if kept != i {
			r.parked[kept] = *f
		}
		kept++
	}
	r.parked = r.parked[:kept]
}

func (r *Replica) completeFetch(f *fetchRequest) {
	answer, readTo := r.fetchRequest(&f.message)
	in := Input{Kind: InputRequest, Conn: f.conn, Correlation: f.correlation, Message: &f.message}
	r.answerFetch(&in, &answer, readTo)
}

// unpark forgets the fetch of a connection that was closed.
func (r *Replica) unpark(conn ConnID) {
	kept := r.parked[:0]
	for _, f := range r.parked {
		if f.conn != conn {
			kept = append(kept, f)
		}
	}
	r.parked = kept
}

// failWaiting ends what waits for a leader that this replica no longer is.
func (r *Replica) failWaiting() {
	for i := range r.parked {
		f := &r.parked[i]
		answer := Message{Error: NotLeaderOrFollower, HighWatermark: UnknownOffset, Diverging: NoEpochEnd}
		in := Input{Kind: InputRequest, Conn: f.conn, Correlation: f.correlation, Message: &f.message}
		r.answerFetch(&in, &answer, 0)
	}
	r.parked = r.parked[:0]
	r.failAppends()
	r.failReads()
	r.failVoterChange()
	if r.flush {
		r.askFlush()
	}
}
