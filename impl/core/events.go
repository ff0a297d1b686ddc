package core

import "github.com/quorate/quorate/traces/event"

// Names of actions, as in the specification and in traces.
const (
	actRestart                        = "Restart"
	actBecomeProspective              = "BecomeProspective"
	actAbandonPreVote                 = "AbandonPreVote"
	actBecomeCandidate                = "BecomeCandidate"
	actSendVoteRequest                = "SendVoteRequest"
	actHandleVoteRequest              = "HandleVoteRequest"
	actHandleVoteResponse             = "HandleVoteResponse"
	actBecomeLeader                   = "BecomeLeader"
	actAppendLeaderChange             = "AppendLeaderChange"
	actSendBeginQuorumEpoch           = "SendBeginQuorumEpoch"
	actHandleBeginQuorumEpochRequest  = "HandleBeginQuorumEpochRequest"
	actHandleBeginQuorumEpochResponse = "HandleBeginQuorumEpochResponse"
	actAppend                         = "Append"
	actFlush                          = "Flush"
	actSendFetch                      = "SendFetch"
	actHandleFetchRequest             = "HandleFetchRequest"
	actHandleFetchResponse            = "HandleFetchResponse"
	actStartRead                      = "StartRead"
	actServeRead                      = "ServeRead"
	actCheckQuorumResign              = "CheckQuorumResign"
	actResign                         = "Resign"
	actSendEndQuorumEpoch             = "SendEndQuorumEpoch"
	actHandleEndQuorumEpochRequest    = "HandleEndQuorumEpochRequest"
	actHandleEndQuorumEpochResponse   = "HandleEndQuorumEpochResponse"
	actLeaveResigned                  = "LeaveResigned"
	actTakeSnapshot                   = "TakeSnapshot"
	actAdvanceLogStart                = "AdvanceLogStart"
	actSendFetchSnapshot              = "SendFetchSnapshot"
	actHandleFetchSnapshotRequest     = "HandleFetchSnapshotRequest"
	actHandleFetchSnapshotResponse    = "HandleFetchSnapshotResponse"
	actInstallSnapshot                = "InstallSnapshot"
	actAddVoter                       = "AddVoter"
	actRemoveVoter                    = "RemoveVoter"
	actUpdateVoter                    = "UpdateVoter"
)

// recording is what the action in progress did, for its event.
type recording struct {
	persisted bool
	changed   bool
	truncated Offset
	base      Offset
	runs      []event.Run
	flushed   Offset
	snapshot  SnapshotID // that became one that is held
	reset     bool       // the log is empty at the end of it
	voters    bool       // another voter set is in force
}

var noArgs event.Args

var noRecording = recording{truncated: -1, flushed: -1}

// finish ends an action: what it changed of the election is made durable, then its
// event is given, then what it sends. in is the message that it handled.
func (r *Replica) finish(action string, args event.Args, in *Input, send *Op) {
	r.persist()
	if r.cfg.Trace {
		r.trace(action, args, in, send)
	}
	if send != nil {
		*r.op(send.Kind) = *send
	}
}

// done is finish for an action that sends nothing and has no arguments.
func (r *Replica) done(action string, in *Input) { r.finish(action, noArgs, in, nil) }

// made is an event with all that it may point to, so that it is one allocation or none.
type made struct {
	event   event.Event
	recv    event.Message
	send    [1]event.Message
	log     event.LogChange
	durable event.Durable
	// Room for the runs of a log change and of a response.
	appended, records [1]event.Run
}

// event is room for the next event of the step.
func (out *Effects) event() *made {
	if !out.Reuse {
		return new(made)
	}
	m := out.next()
	out.used++
	return m
}

// next is the room that event gives, with Reuse.
func (out *Effects) next() *made {
	if out.used == len(out.events) {
		out.events = append(out.events, new(made))
	}
	return out.events[out.used]
}

func (r *Replica) trace(action string, args event.Args, in *Input, send *Op) {
	m := r.out.event()
	e := &m.event
	*e = event.Event{Action: action, Args: args, State: r.observed()}
	e.Node.ID, e.Node.Dir = int32(r.cfg.ID), r.directory
	if in != nil && in.Message != nil {
		m.recv = messageEvent(in.Message, in.Correlation)
		e.Recv = &m.recv
	}
	if send != nil {
		m.send[0] = messageEvent(&send.Message, send.Correlation)
		e.Send = m.send[:]
		if send.Message.Kind == FetchSnapshot && send.Message.Response {
			e.Send[0].Bytes = int64(send.MaxBytes) // the driver reads them when it sends
		}
		if r.out.Reuse && send.ReadTo > send.Message.Offset {
			e.Send[0].Records = m.records[:0] // the driver adds them
		}
	}
	rec := &r.recording
	if rec.changed {
		m.log = event.LogChange{Truncated: int64(rec.truncated), Base: int64(rec.base), Appended: rec.runs}
		e.Log = &m.log
	}
	if rec.reset {
		m.log = event.LogChange{Truncated: -1, Reset: int64(rec.snapshot.End), Base: int64(rec.snapshot.End)}
		e.Log = &m.log
	}
	if rec.persisted || rec.flushed >= 0 || rec.snapshot != NoSnapshot {
		m.durable = event.Durable{Election: rec.persisted, LogEnd: int64(rec.flushed), Snapshot: rec.snapshot.event()}
		e.Durable = &m.durable
	}
	if action == actRestart && r.cfg.Attach {
		e.Attach = r.attachment()
	}
	if r.recording.voters && r.voterSet.Dynamic() {
		e.State.Has |= event.HasVoters
		e.State.Voters = r.voterSet.event()
	}
	r.recording = noRecording
	r.op(OpEvent).Event = e
}

// recordTruncation and recordAppend note a change of the log for the event.
func (r *Replica) recordTruncation(to Offset) {
	if r.cfg.Trace {
		r.recording.changed, r.recording.truncated, r.recording.base = true, to, to
	}
}

// recordReset notes that a snapshot took the place of the log.
func (r *Replica) recordReset(id SnapshotID) {
	r.recording.snapshot, r.recording.reset, r.recording.flushed = id, true, id.End
}

func (r *Replica) recordAppend(base Offset, epoch Epoch, kind string, count int64) {
	if rec := &r.recording; r.cfg.Trace {
		r.beginRuns(base)
		rec.runs = appendRun(rec.runs, epoch, kind, count)
	}
}

func (r *Replica) recordVoters(base Offset, epoch Epoch, s *VoterSet) {
	if rec := &r.recording; r.cfg.Trace {
		r.beginRuns(base)
		rec.runs = append(rec.runs, event.Run{Epoch: int32(epoch), Kind: event.KRaftVoters, Count: 1, Voters: s.event()})
	}
}

func (r *Replica) recordBatch(b *BatchInfo) {
	if rec := &r.recording; r.cfg.Trace {
		r.beginRuns(b.Base)
		rec.runs = appendBatch(rec.runs, b)
	}
}

// beginRuns notes where an append begins, if no other of the action has before.
func (r *Replica) beginRuns(base Offset) {
	if rec := &r.recording; !rec.changed {
		rec.changed, rec.base = true, base
		if r.out.Reuse {
			rec.runs = r.out.next().appended[:0]
		}
	}
}

func appendRun(runs []event.Run, epoch Epoch, kind string, count int64) []event.Run {
	if n := len(runs); n > 0 && runs[n-1].Epoch == int32(epoch) && runs[n-1].Kind == kind {
		runs[n-1].Count += count
		return runs
	}
	return append(runs, event.Run{Epoch: int32(epoch), Kind: kind, Count: count})
}

func appendBatch(runs []event.Run, b *BatchInfo) []event.Run {
	switch {
	case !b.Control:
		return appendRun(runs, b.Epoch, event.Data, b.Count)
	case b.Controls == nil:
		return appendRun(runs, b.Epoch, event.LeaderChange, b.Count)
	}
	for _, c := range b.Controls {
		if c.Kind == KRaftVotersRecord {
			set := VoterSet{Voters: c.Voters}
			runs = append(runs, event.Run{Epoch: int32(b.Epoch), Kind: event.KRaftVoters, Count: 1, Voters: set.event()})
		} else {
			runs = appendRun(runs, b.Epoch, c.Kind.String(), 1)
		}
	}
	return runs
}

// observed is the state in an event. The driver may add more, a digest say.
func (r *Replica) observed() event.State {
	s := event.State{
		Has: event.HasRole | event.HasEpoch | event.HasLeader | event.HasVoted | event.HasHighWatermark |
			event.HasLogStart | event.HasLogEnd | event.HasLastEpoch | event.HasFlushed,
		Role:          r.role.String(),
		Epoch:         int32(r.epoch),
		Leader:        int32(r.leader),
		Voted:         int32(r.voted.ID),
		HighWatermark: int64(r.hw),
		LogStart:      int64(r.log.start),
		LogEnd:        int64(r.log.end),
		LastEpoch:     int32(r.log.lastEpoch()),
		Flushed:       int64(r.log.flushed),
	}
	if id := r.log.latest(); id != NoSnapshot {
		s.Has |= event.HasSnapshot
		s.Snapshot = id.event()
	}
	if r.received {
		s.Has |= event.HasFetching
		s.Fetching = event.Fetching{Snapshot: r.receiving.id.event(), Position: r.receiving.position}
	}
	return s
}

// messageEvent is a message as a trace shows it. The driver adds the connection
// and the records that it reads for a Fetch response.
func messageEvent(m *Message, correlation int32) event.Message {
	e := event.Message{
		Correlation: correlation,
		Response:    m.Response,
		Kind:        m.Kind.String(),
		Epoch:       int32(m.Epoch),
		Read:        m.Read,
	}
	if m.Response {
		e.Leader, e.Error = int32(m.Leader), int16(m.Error)
	}
	switch {
	case m.Kind == Vote:
		e.PreVote, e.Granted = m.PreVote, m.Granted
		e.Offset, e.LastEpoch = int64(m.Offset), int32(m.LastEpoch)
	case m.Kind == Fetch && !m.Response:
		e.Offset, e.LastEpoch = int64(m.Offset), int32(m.LastEpoch)
	case m.Kind == Fetch:
		e.Offset, e.HighWatermark = int64(m.Offset), int64(m.HighWatermark)
		if m.Diverging.Epoch >= 0 {
			e.Diverging = &event.EpochEnd{Epoch: int32(m.Diverging.Epoch), EndOffset: int64(m.Diverging.End)}
		}
		for i := range m.Batches {
			e.Records = appendBatch(e.Records, &m.Batches[i])
		}
		e.Snapshot = m.SnapshotID.event()
	case m.Kind == FetchSnapshot:
		e.Snapshot, e.Position = m.SnapshotID.event(), m.Position
		e.Size, e.Bytes = m.Size, int64(len(m.Chunk))
	}
	return e
}
