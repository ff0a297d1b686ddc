package core

import "github.com/quorate/quorate/traces/event"

// Attachable says whether recording can begin now: an event could not tell of a truncation
// that is not durable, nor of a snapshot that is complete and not installed. Both pass.
func (r *Replica) Attachable() bool { return !r.log.truncating && !r.receiving.verifying }

// Attach begins recording between two steps, when [Replica.Attachable]: from the next step
// on each action has its event. The event that it returns tells where that begins; the
// driver adds what it knows.
func (r *Replica) Attach() *event.Event {
	r.assert(r.Attachable(), "recording begins where no event can tell of it")
	r.Trace(true)
	return &event.Event{State: r.observed(), Attach: r.attachment()}
}

// attachment is what the specification knows of a replica and [event.State] does not say.
func (r *Replica) attachment() *event.Attach {
	a := &event.Attach{Correlation: r.correlation, FetchingSize: r.receiving.size}
	for _, s := range r.log.snapshots {
		a.Snapshots = append(a.Snapshots, s.ID.event())
	}
	if s := r.history.at(r.log.start); s.Dynamic() {
		a.Voters = s.event()
	}
	switch r.role {
	case Prospective, Candidate:
		for i, v := range r.nominee.votes {
			if v == granted {
				a.Granted = append(a.Granted, int32(r.voters[i].ID))
			}
		}
	case Follower:
		a.Fetched = r.follow.fetched
	case Leader:
		a.Leading = r.leading()
	}
	return a
}

func (r *Replica) leading() *event.Leading {
	l := &event.Leading{EpochStart: int64(r.lead.epochStart), LeaderChange: r.lead.changeWritten}
	for i, v := range r.lead.voters {
		if i != r.self && v.end != UnknownOffset {
			l.Ends = append(l.Ends, event.ReplicaEnd{ID: int32(r.voters[i].ID), Offset: int64(v.end)})
		}
	}
	if r.voterSet.Dynamic() {
		for _, p := range r.lead.progress { // an observer may become a voter, with what it has
			if voterIndex(r.voters, p.Key) < 0 {
				l.Ends = append(l.Ends, event.ReplicaEnd{ID: int32(p.Key.ID), Offset: int64(p.End)})
			}
		}
	}
	if r.reads.active {
		l.Read, l.ReadOffset = r.reads.round, int64(r.reads.offset)
		for i, v := range r.lead.voters {
			if v.confirmed {
				l.Confirmed = append(l.Confirmed, int32(r.voters[i].ID))
			}
		}
	}
	return l
}

// Trace begins or ends to give events, between two steps.
func (r *Replica) Trace(on bool) { r.cfg.Trace, r.recording = on, noRecording }

// Detach is the event that says that recording ends here, between two steps.
func (r *Replica) Detach() *event.Event {
	return &event.Event{State: r.observed(), Detach: &event.Detach{Correlation: r.correlation}}
}
