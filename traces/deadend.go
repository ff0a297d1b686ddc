package traces

import (
	"github.com/quorate/quorate/spec"
	"github.com/quorate/quorate/traces/event"
)

// What a node is still to send, and no event shows, says what it can no longer be. These
// follow from the rules of the protocol, and are used under no others: epochs do not go
// back; who has not voted for itself in an epoch never leads it, and who led it never
// follows in it; a vote is given once; the high watermark of a leader does not go back, and
// its log is not cut; and it is where a majority have said that they are.

// deadEnd says whether node n can no longer send what it owes.
func (v *validator) deadEnd(sc *scene, s *reach, to *aim) bool {
	if v.opt.Rules != v.clean {
		return false
	}
	r := s.r
	for i := range to.owed {
		m := &to.owed[i]
		if spec.Epoch(m.Epoch) > r.Election.Epoch || s.has(m) {
			continue
		}
		if spec.Epoch(m.Epoch) < r.Election.Epoch || r.Role != spec.Down && v.contradicts(sc, r, m.Message, to) {
			return true
		}
	}
	return false
}

// contradicts says whether a replica that is in the epoch of a message can never again, in
// that epoch, be what the message shows its sender to be.
func (v *validator) contradicts(sc *scene, r *spec.Replica, m *event.Message, to *aim) bool {
	led := r.Election.Leader == r.ID
	// Who is a candidate, or was one and may be again after a crash; or leads.
	stands := r.Election.Voted == r.ID && (r.Election.Leader == spec.Nobody || r.Role == spec.Leader)
	self := v.who.node(r.ID)
	if m.Response {
		switch leader, _ := v.who.spec(m.Leader); {
		case m.Leader == self && !stands && !led:
			return true
		case m.Leader >= 0 && m.Leader != self && (led || r.Election.Leader != spec.Nobody && r.Election.Leader != leader):
			return true
		case m.Leader < 0 && r.Election.Leader != spec.Nobody:
			return true
		}
	}
	switch m.Kind {
	case event.Vote:
		switch {
		case m.Response && m.Granted && !m.PreVote:
			to, _ := v.who.spec(idOf(m).receiver())
			return r.Election.Voted != spec.Nobody && r.Election.Voted != to
		case m.Response:
			return false
		case m.PreVote:
			return led
		}
		return !stands || led
	case event.BeginQuorumEpoch:
		return !m.Response && !stands
	case event.EndQuorumEpoch:
		return !m.Response && !stands && !led
	case event.Fetch:
		switch {
		case !m.Response:
			return led
		case m.Error != 0:
			return false
		case !stands, to.answered != nil && !v.mayCommit(r, spec.Offset(m.HighWatermark), to):
			return true
		case r.Role != spec.Leader:
			return false
		}
		if int64(r.HighWatermark) > m.HighWatermark {
			return true
		}
		q := sc.bag[idOf(m).other()]
		return q != nil && len(m.Records) == 0 && m.Bytes == 0 && m.Diverging == nil && m.Snapshot == (event.SnapshotID{}) && r.Log.End() > q.msg.Offset
	case event.FetchSnapshot:
		return !m.Response && led || m.Response && m.Error == 0 && !stands
	}
	return false
}

// mayCommit says whether a leader may come to know a high watermark: as many others as make
// a majority with it say, at some time in its epoch, that they have fetched so far.
func (v *validator) mayCommit(r *spec.Replica, hw spec.Offset, to *aim) bool {
	if hw <= 0 || r.Role == spec.Leader && r.HighWatermark >= hw {
		return true
	}
	others := 0
	for i := range v.who.ids {
		id := spec.ID(i + 1)
		if id != r.ID && v.who.voters.Has(id) && max(r.End[i], to.fetched[fetcher{id, r.Election.Epoch}]) >= hw {
			others++
		}
	}
	return others+1 >= v.who.voters.Len()/2+1
}
