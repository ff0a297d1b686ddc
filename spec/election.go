package spec

// BecomeProspective: the fetch timer of a follower or the election timer of an
// unattached voter or a candidate fired, and it asks whether it would be elected
// before it raises the epoch. Epoch, leader and vote stay as they are, on disk
// too. KIP-996; QuorumState.transitionToProspective.
func BecomeProspective(c *Ctx, r *Replica, _ Args, _ *Outbox) bool {
	if !c.Require(IsVoter, c.Rules.Electable(c, r)) ||
		!c.Require(SupportsPreVote, r.Version&PreVote != 0) ||
		!c.Require(MayStand, c.Rules.MayStand(r)) {
		return false
	}
	leaveRole(r)
	r.Role = Prospective
	r.Granted = SetOf(r.ID)
	return true
}

// BecomeCandidate: a voter raises its epoch and votes for itself, durably, before
// it asks anybody. With Pre-Vote it needs a majority that would elect it, or a voter
// too old to be asked; without, its timer is enough. KIP-595, KIP-996;
// QuorumState.transitionToCandidate.
func BecomeCandidate(c *Ctx, r *Replica, _ Args, _ *Outbox) bool {
	if !c.Require(IsVoter, c.Rules.Electable(c, r)) {
		return false
	}
	if r.Version&PreVote != 0 {
		if !c.Require(IsProspective, r.Role == Prospective) ||
			!c.Require(HasPreVotes, c.voters(r)&c.Old != 0 || c.Rules.VotesSuffice(c, r)) {
			return false
		}
	} else if !c.Require(MayStand, c.Rules.MayStand(r) || r.Role == Resigned) {
		return false
	}
	leaveRole(r)
	r.Role = Candidate
	c.elect(r, Election{Epoch: r.Election.Epoch + 1, Voted: r.ID})
	r.Granted = SetOf(r.ID)
	return true
}

// AbandonPreVote: the election timer of a prospective voter fired, or a majority
// of pre-votes became impossible: back to the leader it knew, else to waiting.
// KIP-996; KafkaRaftClient.pollProspective.
func AbandonPreVote(c *Ctx, r *Replica, _ Args, _ *Outbox) bool {
	if !c.Require(IsProspective, c.Rules.MayAbandon(r)) {
		return false
	}
	leaveRole(r)
	r.Role = Unattached
	if r.Election.Leader != Nobody {
		r.Role = Follower
	}
	return true
}

// SendVoteRequest: a nominee asks a voter that has not granted it yet. A
// prospective one asks for a pre-vote. What it claims of its log is durable: a
// vote is granted for the claim, and the same candidate may come back from a crash
// and be granted it again without another look at its log (docs/findings.md).
// KIP-595 "Vote"; KIP-996.
func SendVoteRequest(c *Ctx, r *Replica, a Args, out *Outbox) bool {
	if !c.Require(IsNominee, r.Role == Candidate || r.Role == Prospective) ||
		!c.Require(ToOtherVoter, a.Dst != r.ID && c.voters(r).Has(a.Dst)) ||
		!c.Require(NotGranted, !r.Granted.Has(a.Dst)) ||
		!c.Require(ToPreVoter, r.Role == Candidate || !c.Old.Has(a.Dst)) ||
		!c.Require(LogFlushed, c.Rules.MayClaim(r)) {
		return false
	}
	m := request(r, Vote, a.Dst)
	m.PreVote = r.Role == Prospective
	m.Offset, m.LastEpoch = r.Log.End(), r.Log.LastEpoch()
	out.send(m)
	return true
}

// HandleVoteRequest: a replica adopts a newer epoch, and grants its vote or
// pre-vote by the rules of its role; a vote is durable before it is answered. It
// is not asked whether the candidate or the receiver is a voter: sets may be
// stale (KIP-853). KIP-595, KIP-996; KafkaRaftClient.handleVoteRequest.
func HandleVoteRequest(c *Ctx, r *Replica, m *Msg, _ Args, out *Outbox) bool {
	if !c.Require(IsUp, r.Role != Down) {
		return false
	}
	if !c.Require(NotStale, m.Epoch >= r.Election.Epoch) {
		if c.Rules.AnswersStale(r, m) {
			out.send(respond(r, m, FencedLeaderEpoch))
		}
		return true
	}
	if c.Require(NewerEpoch, m.Epoch > r.Election.Epoch) {
		c.becomeUnattached(r, m.Epoch)
	}
	granted := c.Require(VoteAllowed, c.Rules.MayGrant(c, r, m))
	if granted && !m.PreVote {
		if c.Require(FirstVote, r.Election.Voted == Nobody) {
			e := r.Election
			e.Voted = m.Src
			c.elect(r, e)
		}
	}
	if !granted && !m.PreVote && r.Role == Unattached && r.Election.Voted == Nobody && r.Election.Leader == Nobody {
		c.sometimes(VoteRefusedForStaleLog)
	}
	if !granted && m.PreVote && r.Role == Follower && r.HasFetched {
		c.sometimes(PreVoteRefusedByFollower)
	}
	if granted && !m.PreVote && c.Dynamic {
		if !c.isVoter(r) {
			c.sometimes(OutsiderVoted)
		}
		if !c.voters(r).Has(m.Src) {
			c.sometimes(VotedForOutsider)
		}
	}
	answer := respond(r, m, NoErrorCode)
	answer.Granted = granted
	out.send(answer)
	return true
}

// HandleVoteResponse: a nominee counts the grant of a voter, once. KIP-595;
// KafkaRaftClient.handleVoteResponse.
func HandleVoteResponse(c *Ctx, r *Replica, m *Msg, _ Args, _ *Outbox) bool {
	if !c.Require(IsUp, r.Role != Down) {
		return false
	}
	if !c.learn(r, m) {
		return true
	}
	tallies := r.Role == Candidate && !m.PreVote || r.Role == Prospective && m.PreVote
	if c.Require(Tallying, tallies) && c.Require(WasGranted, m.Granted) {
		c.Rules.Tally(c, r, m.Src)
	}
	return true
}

// BecomeLeader: a candidate with votes of a majority of its voter set leads its
// epoch. It knows no high watermark, and exposes nothing before its own first
// record is committed. KIP-595 "Leader election"; QuorumState.transitionToLeader.
func BecomeLeader(c *Ctx, r *Replica, _ Args, _ *Outbox) bool {
	if !c.Require(IsCandidate, r.Role == Candidate) ||
		!c.Require(HasMajority, c.Rules.VotesSuffice(c, r)) {
		return false
	}
	leaveRole(r)
	r.Role = Leader
	e := r.Election
	e.Leader = r.ID
	c.elect(r, e)
	r.EpochStart = r.Log.End()
	r.HighWatermark = Unknown
	for i := range r.End {
		r.End[i] = Unknown
	}
	return true
}

// SendBeginQuorumEpoch: a leader tells a voter that it leads; and asks it, while
// a read is under way, to confirm that it still does. KIP-595 "BeginQuorumEpoch".
func SendBeginQuorumEpoch(c *Ctx, r *Replica, a Args, out *Outbox) bool {
	if !c.Require(IsLeader, r.Role == Leader) ||
		!c.Require(ToOtherVoter, a.Dst != r.ID && c.voters(r).Has(a.Dst)) {
		return false
	}
	m := request(r, BeginQuorumEpoch, a.Dst)
	if r.Reading {
		m.Read = r.ReadRound
	}
	out.send(m)
	return true
}

// HandleBeginQuorumEpochRequest: a replica learns who leads.
// KafkaRaftClient.handleBeginQuorumEpochRequest.
func HandleBeginQuorumEpochRequest(c *Ctx, r *Replica, m *Msg, _ Args, out *Outbox) bool {
	if !c.Require(IsUp, r.Role != Down) {
		return false
	}
	if !c.Require(NotStale, m.Epoch >= r.Election.Epoch) {
		out.send(respond(r, m, FencedLeaderEpoch))
		return true
	}
	c.transition(r, m.Epoch, m.Src)
	out.send(respond(r, m, NoErrorCode))
	return true
}

// HandleBeginQuorumEpochResponse: a leader learns of a newer epoch, or that a
// voter still followed it when the read began.
// KafkaRaftClient.handleBeginQuorumEpochResponse.
func HandleBeginQuorumEpochResponse(c *Ctx, r *Replica, m *Msg, _ Args, _ *Outbox) bool {
	if !c.Require(IsUp, r.Role != Down) {
		return false
	}
	if !c.learn(r, m) {
		return true
	}
	if c.Require(FromReader, r.Role == Leader && r.Reading && m.Read == r.ReadRound) {
		r.Confirmed = r.Confirmed.With(m.Src)
	}
	return true
}

// CheckQuorumResign: the leader has not been fetched from by a majority for a
// while and gives up. How long is a matter of time, which the specification does
// not know: it may always be. KAFKA-15489; KafkaRaftClient.pollLeader.
func CheckQuorumResign(c *Ctx, r *Replica, _ Args, _ *Outbox) bool {
	if !c.Require(IsLeader, c.Rules.MayResign(r)) ||
		!c.Require(OthersVote, c.voters(r)&^SetOf(r.ID) != 0) {
		return false
	}
	leaveRole(r)
	r.Role = Resigned
	return true
}

// Resign: the leader is shut down, or asked to give up. It stays in its epoch,
// which it can never lead again. KIP-595 "EndQuorumEpoch".
func Resign(c *Ctx, r *Replica, _ Args, _ *Outbox) bool {
	if !c.Require(IsLeader, r.Role == Leader) {
		return false
	}
	leaveRole(r)
	r.Role = Resigned
	return true
}

// SendEndQuorumEpoch: a resigned leader tells a voter, so that it need not wait
// for its fetch timer. KIP-595 "EndQuorumEpoch".
func SendEndQuorumEpoch(c *Ctx, r *Replica, a Args, out *Outbox) bool {
	if !c.Require(IsResigned, r.Role == Resigned) ||
		!c.Require(ToOtherVoter, a.Dst != r.ID && c.voters(r).Has(a.Dst)) {
		return false
	}
	out.send(request(r, EndQuorumEpoch, a.Dst))
	return true
}

// HandleEndQuorumEpochRequest: a replica learns that the leader gives up; what it
// does with its timer is a matter of time.
// KafkaRaftClient.handleEndQuorumEpochRequest.
func HandleEndQuorumEpochRequest(c *Ctx, r *Replica, m *Msg, _ Args, out *Outbox) bool {
	if !c.Require(IsUp, r.Role != Down) {
		return false
	}
	if !c.Require(NotStale, m.Epoch >= r.Election.Epoch) {
		out.send(respond(r, m, FencedLeaderEpoch))
		return true
	}
	c.transition(r, m.Epoch, m.Src)
	out.send(respond(r, m, NoErrorCode))
	return true
}

// HandleEndQuorumEpochResponse: a resigned leader may learn of a newer epoch.
// KafkaRaftClient.handleEndQuorumEpochResponse.
func HandleEndQuorumEpochResponse(c *Ctx, r *Replica, m *Msg, _ Args, _ *Outbox) bool {
	if !c.Require(IsUp, r.Role != Down) {
		return false
	}
	c.learn(r, m)
	return true
}

// LeaveResigned: the election timer of a resigned leader fired. It waits for
// others in the next epoch, since in this one it may not follow anybody; software
// without Pre-Vote stands again at once (BecomeCandidate). KIP-996.
func LeaveResigned(c *Ctx, r *Replica, _ Args, _ *Outbox) bool {
	if !c.Require(IsResigned, c.Rules.MayLeave(r)) ||
		!c.Require(SupportsPreVote, r.Version&PreVote != 0) {
		return false
	}
	c.becomeUnattached(r, r.Election.Epoch+1)
	return true
}
