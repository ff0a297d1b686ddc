package core

// sendVoteRequests asks the voters that have not answered. It waits until the log
// is durable: a candidate could lose what it claimed in a crash, come back as
// candidate of the same epoch, and be granted the same vote again.
func (r *Replica) sendVoteRequests() {
	if r.nominee.backingOff || tally(r.nominee.votes) != undecided || !r.log.settled() {
		return
	}
	for i, v := range r.nominee.votes {
		if p := &r.peers[i]; v == unrecorded && r.ready(p) {
			r.sendVoteRequest(p)
		}
	}
}

// sendVoteRequest asks one voter, for its vote or, from a Prospective, whether it
// would give it. The offset is the log end: a log is compared, not a commit.
func (r *Replica) sendVoteRequest(p *peer) {
	r.request(actSendVoteRequest, p, &Message{
		Kind: Vote, To: r.voters[p.voter], PreVote: r.role == Prospective,
		Offset: r.log.end, LastEpoch: r.log.lastEpoch(),
	})
}

// handleVoteRequest gives a vote at most once in an epoch, durably before the
// answer leaves, and only to a log that is at least as good. A pre-vote leaves no
// mark. (KafkaRaftClient.handleVoteRequest)
func (r *Replica) handleVoteRequest(in *Input) {
	m := in.Message
	answer := Message{PreVote: m.PreVote}
	answer.Error = r.checkVoteRequest(m)
	if answer.Error == None {
		if m.Epoch > r.epoch {
			r.toUnattached(m.Epoch)
		}
		if r.meant(m) {
			answer.Granted = r.vote(m)
		} else {
			answer.Error = InvalidVoterKey
		}
	}
	r.respond(actHandleVoteRequest, in, &answer)
}

func (r *Replica) checkVoteRequest(m *Message) ErrorCode {
	switch {
	case m.PreVote && !r.cfg.PreVote:
		return UnsupportedVersion
	case m.Offset < 0, m.LastEpoch < 0, m.PreVote && m.LastEpoch > m.Epoch, !m.PreVote && m.LastEpoch >= m.Epoch:
		return InvalidRequest
	}
	return r.fencedVoterRequest(m)
}

// vote answers a request of this epoch, and notes a real vote.
func (r *Replica) vote(m *Message) bool {
	r.assert(m.Epoch == r.epoch, "a vote in another epoch")
	yes := grant(grantQuestion{
		role: r.role, leader: r.leader, voted: r.voted, fetched: r.follow.fetched,
		candidate: m.From, upToDate: r.log.upToDate(m.Offset, m.LastEpoch), preVote: m.PreVote,
	})
	if yes && !m.PreVote && r.voted.ID == NoReplica {
		r.assert(r.role == Unattached || r.role == Prospective, "a vote in a role that has none")
		r.voted = m.From
		r.restartElectionTimer()
	}
	return yes
}

// handleVoteResponse notes one voter's answer. Whether it decides the election is
// looked at after it (expireRole).
func (r *Replica) handleVoteResponse(in *Input, p *peer, changed bool) {
	m := in.Message
	nominee := r.role == Candidate && !p.preVote || r.role == Prospective && p.preVote
	if !nominee {
		if changed {
			r.done(actHandleVoteResponse, in)
		}
		return
	}
	r.assert(p.voter >= 0, "a vote of a replica that was not asked")
	r.assert(r.nominee.votes[p.voter] == unrecorded, "a voter that has answered was asked again")
	r.nominee.votes[p.voter] = rejected
	if m.Granted {
		r.nominee.votes[p.voter] = granted
	}
	r.done(actHandleVoteResponse, in)
}
