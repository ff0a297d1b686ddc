package core

// handleFetchSnapshotRequest gives a chunk of a snapshot, or says why not. It leaves
// nothing behind but that the voter was here. (KafkaRaftClient.
// handleFetchSnapshotRequest)
func (r *Replica) handleFetchSnapshotRequest(in *Input) {
	m := in.Message
	answer := Message{Kind: FetchSnapshot, Response: true, SnapshotID: m.SnapshotID, Position: m.Position}
	size := r.log.size(m.SnapshotID)
	length := int32(0)
	answer.Error = r.checkFetchSnapshotRequest(m, size)
	if answer.Error == None {
		answer.Size = size
		length = int32(min(int64(max(m.MaxBytes, 0)), int64(r.cfg.MaxSnapshotBytes), size-m.Position))
		if i := voterIndex(r.voters, m.From); i >= 0 {
			// It follows, but where its log ends it has not said.
			r.lead.voters[i].lastFetch, r.lead.voters[i].hasFetch = r.now, true
			r.noteQuorum(i)
		}
	}
	answer.Epoch, answer.Leader = r.epoch, r.leader
	send := Op{
		Kind: OpSendResponse, Conn: in.Conn, Correlation: in.Correlation, Message: answer,
		MaxBytes: length,
	}
	r.finish(actHandleFetchSnapshotRequest, noArgs, in, &send)
}

// checkFetchSnapshotRequest: the order of the checks is Kafka's.
func (r *Replica) checkFetchSnapshotRequest(m *Message, size int64) ErrorCode {
	switch err := r.checkLeaderRequest(m); {
	case m.Epoch > MaxEpoch:
		return InvalidRequest
	case err != None:
		return err
	case size == 0:
		return SnapshotNotFound
	case m.Position < 0, m.Position >= size:
		return PositionOutOfRange
	}
	return None
}
