package core

import "slices"

// leaderState is what a leader knows of the voters (LeaderState).
type leaderState struct {
	epochStart    Offset
	changeWritten bool         // the LeaderChange record of the epoch
	granting      []ReplicaID  // who voted for it
	voters        []voterState // in the order of the voter set
	scratch       []Offset
	progress      []Progress // of all that fetch, for Describe
	checkQuorum   Ticks      // when it gives up
	heartbeat     Ticks      // when it looks which voters need a BeginQuorumEpoch
}

type voterState struct {
	end       Offset // from its valid fetches; the leader's own is its flushed end
	lastFetch Ticks
	hasFetch  bool
	fetched   bool // since the check-quorum timer was set
	beginDue  bool // a BeginQuorumEpoch is to be sent
	confirmed bool // the read round in progress
}

func (l *leaderState) start(r *Replica) {
	n := len(r.voters)
	*l = leaderState{
		epochStart: r.log.end,
		granting:   l.granting[:0],
		voters:     append(l.voters[:0], make([]voterState, n)...),
		scratch:    append(l.scratch[:0], make([]Offset, n)...),
		heartbeat:  r.now,
	}
	for i := range l.voters {
		l.voters[i].end = UnknownOffset // its own too, until it has flushed a record of the epoch
		if r.nominee.votes[i] == granted {
			l.granting = append(l.granting, r.voters[i].ID)
		}
	}
	r.restartCheckQuorum()
}

// leaderWork does what a leader has to do besides answering.
func (r *Replica) leaderWork() {
	l := &r.lead
	if !l.changeWritten {
		r.appendLeaderChange()
	}
	r.drain()
	if r.flush {
		// The followers fetch while the leader flushes: see wakeParked.
		r.askFlush()
	}
	r.wakeParked()
	r.completeAppends()
	r.serveReads()
	r.completeVoterChange()
	if r.now >= l.heartbeat {
		for i := range l.voters {
			v := &l.voters[i]
			// Who fetches knows its leader.
			if i != r.self && (!v.hasFetch || v.lastFetch+r.heartbeatPeriod() <= r.now) {
				v.beginDue = true
			}
		}
		l.heartbeat = r.now + r.heartbeatPeriod()
	}
}

func (r *Replica) heartbeatPeriod() Ticks { return max(1, r.cfg.FetchTimeout/2) }

// sendBeginQuorumEpochs tells voters who leads, and asks them to confirm reads.
func (r *Replica) sendBeginQuorumEpochs() {
	for i := range r.lead.voters {
		v := &r.lead.voters[i]
		confirm := r.reads.active && !v.confirmed
		if p := &r.peers[i]; (v.beginDue || confirm) && r.ready(p) {
			v.beginDue = false
			r.sendBeginQuorumEpoch(p)
		}
	}
}

func (r *Replica) sendBeginQuorumEpoch(p *peer) {
	m := Message{Kind: BeginQuorumEpoch, To: r.voters[p.voter]}
	if r.reads.active {
		m.Read = r.reads.round
	}
	r.request(actSendBeginQuorumEpoch, p, &m)
}

// handleBeginQuorumEpochRequest follows the leader that announces itself.
func (r *Replica) handleBeginQuorumEpochRequest(in *Input) {
	m := in.Message
	answer := Message{Read: m.Read}
	answer.Error = r.fencedVoterRequest(m)
	if answer.Error == None {
		switch {
		case !r.learn(m.Epoch, m.From.ID, true):
			answer.Error = InvalidRequest
		case !r.meant(m):
			answer.Error = InvalidVoterKey
		}
	}
	r.respond(actHandleBeginQuorumEpochRequest, in, &answer)
}

func (r *Replica) handleBeginQuorumEpochResponse(in *Input, p *peer, changed bool) {
	m := in.Message
	if r.role != Leader || m.Epoch != r.epoch {
		if changed {
			r.done(actHandleBeginQuorumEpochResponse, in)
		}
		return
	}
	r.confirmRead(p)
	r.done(actHandleBeginQuorumEpochResponse, in)
}

// successors are the other voters, the one with the most of the log first.
func (r *Replica) successors() []ReplicaKey {
	var order []int
	for i := range r.voters {
		if i != r.self {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := r.lead.voters[a].end, r.lead.voters[b].end
		switch {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return int(r.voters[a].ID - r.voters[b].ID)
	})
	keys := make([]ReplicaKey, len(order))
	for i, v := range order {
		keys[i] = r.voters[v]
	}
	return keys
}

func (r *Replica) sendEndQuorumEpochs() {
	for i, acked := range r.resigned.acked {
		if p := &r.peers[i]; !acked && r.ready(p) {
			r.sendEndQuorumEpoch(p)
		}
	}
}

// sendEndQuorumEpoch tells one voter to elect another leader.
func (r *Replica) sendEndQuorumEpoch(p *peer) {
	r.request(actSendEndQuorumEpoch, p, &Message{Kind: EndQuorumEpoch, Preferred: r.resigned.preferred})
}

// handleEndQuorumEpochRequest shortens the fetch timer of a follower of the leader
// that resigned.
func (r *Replica) handleEndQuorumEpochRequest(in *Input) {
	m := in.Message
	answer := Message{}
	answer.Error = r.fencedVoterRequest(m)
	if answer.Error == None && !r.learn(m.Epoch, m.From.ID, true) {
		answer.Error = InvalidRequest
	}
	if answer.Error == None && r.role == Follower && r.leader == m.From.ID {
		r.follow.deadline = r.now + endQuorumDelay(m.Preferred, r.key(), r.cfg.ElectionBackoffMax)
		if r.cfg.GrantPreVoteAfterEnd {
			r.follow.fetched = false
		}
	}
	r.respond(actHandleEndQuorumEpochRequest, in, &answer)
}

func (r *Replica) handleEndQuorumEpochResponse(in *Input, p *peer, changed bool) {
	acked := r.role == Resigned && in.Message.Epoch == r.epoch
	if acked {
		r.resigned.acked[p.voter] = true
	}
	if acked || changed {
		r.done(actHandleEndQuorumEpochResponse, in)
	}
}

// restartCheckQuorum gives the leader another 1.5 fetch timeouts. One that is the
// only voter needs nobody.
func (r *Replica) restartCheckQuorum() {
	l := &r.lead
	for i := range l.voters {
		l.voters[i].fetched = false
	}
	l.checkQuorum = r.now + r.cfg.FetchTimeout + r.cfg.FetchTimeout/2
	if len(l.voters) == 1 && r.self == 0 {
		l.checkQuorum = Never
	}
}

// noteQuorum counts the voters that have fetched, the leader with them if it is one.
func (r *Replica) noteQuorum(voter int) {
	l := &r.lead
	l.voters[voter].fetched = true
	n := 0
	if r.self >= 0 {
		n = 1
	}
	for i := range l.voters {
		if l.voters[i].fetched {
			n++
		}
	}
	if n >= majority(len(l.voters)) {
		r.restartCheckQuorum()
	}
}

func (r *Replica) leaderWake() Ticks {
	wake := min(r.lead.checkQuorum, r.clients.wake())
	if len(r.lead.voters) > 1 || r.self < 0 {
		wake = min(wake, r.lead.heartbeat)
	}
	if r.change.active {
		wake = min(wake, r.change.deadline)
	}
	for i := range r.parked {
		wake = min(wake, r.parked[i].deadline)
	}
	return wake
}
