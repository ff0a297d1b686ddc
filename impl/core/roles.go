package core

// Role transitions (QuorumState.transitionTo...). They change memory only; finish
// makes the election durable at the end of the action. Every one of them forgets
// the requests in flight, so that a late response meets nobody.

type nomineeState struct {
	votes []ballot // one for each voter
	// oldPeer: a voter does not know pre-votes, so a Prospective stands without.
	oldPeer bool
	// Before Pre-Vote a candidate that lost waits before it stands again, longer each
	// time.
	retries      int
	backingOff   bool
	backoffUntil Ticks
}

func (n *nomineeState) start(voters []ReplicaKey, self int) {
	n.votes = append(n.votes[:0], make([]ballot, len(voters))...)
	if self >= 0 {
		n.votes[self] = granted
	}
	n.backingOff, n.oldPeer = false, false
}

type followerState struct {
	deadline Ticks // the fetch timer
	// fetched: the leader has answered a fetch in this epoch.
	fetched bool
}

type resignedState struct {
	acked     []bool // voters that know that we resigned
	preferred []ReplicaKey
}

// toUnattached learns of a higher epoch without a leader.
func (r *Replica) toUnattached(epoch Epoch) {
	r.assert(epoch > r.epoch, "to Unattached without a higher epoch")
	switch r.role {
	case Follower, Leader:
		r.restartElectionTimer()
	default: // the rest of the election timer goes on
	}
	if !r.mayStand() {
		r.electionDeadline = Never
	}
	r.role, r.epoch, r.leader, r.voted = Unattached, epoch, NoReplica, NoKey
	r.resetConnections()
}

// toFollower learns of the leader of an epoch.
func (r *Replica) toFollower(epoch Epoch, leader ReplicaID) {
	r.assert(leader != r.cfg.ID, "to Follower of itself")
	r.assert(leader >= 0, "to Follower of nobody")
	r.assert(epoch >= r.epoch, "to Follower of an older epoch")
	r.assert(epoch > r.epoch || r.role != Leader && r.role != Follower && r.role != Resigned, "to Follower in the same epoch")
	r.assert(epoch > r.epoch || r.leader == NoReplica || r.leader == leader, "two leaders in one epoch")
	if epoch > r.epoch || !r.cfg.PreVote {
		// A follower never votes, so before Pre-Vote the file kept no vote beside a
		// leader. With Pre-Vote it may become Prospective in this very epoch.
		r.voted = NoKey
	}
	r.role, r.epoch, r.leader = Follower, epoch, leader
	r.follow = followerState{deadline: r.now + r.cfg.FetchTimeout}
	r.peer(leader)
	r.resetConnections()
}

// learn is maybeTransition: it takes over epoch and leader of a message. announced:
// the leader itself says so. It returns false, and does nothing, if the message
// contradicts what is known: a second leader of an epoch, or this replica as the
// leader it is not. Kafka stops then; a peer shall not stop us.
func (r *Replica) learn(epoch Epoch, leader ReplicaID, announced bool) bool {
	switch {
	case leader < NoReplica:
		return false
	case leader != NoReplica && leader == r.cfg.ID && (epoch != r.epoch || r.leader != leader):
		return false
	case epoch == r.epoch && leader != NoReplica && r.leader != NoReplica && leader != r.leader:
		return false
	case epoch > r.epoch && leader != NoReplica:
		r.toFollower(epoch, leader)
	case epoch > r.epoch:
		r.toUnattached(epoch)
	case epoch == r.epoch && leader != NoReplica && r.leader == NoReplica:
		r.toFollower(epoch, leader)
	case epoch == r.epoch && leader != NoReplica && announced && (r.role == Unattached || r.role == Prospective):
		// The leader that we had given up, or could not reach, is there. The answers of
		// others that merely name it must not end a pre-vote round.
		r.toFollower(epoch, leader)
	}
	return true
}

// becomeProspective asks whether it would be elected, and changes nothing durable
// (KIP-996). Epoch, leader and vote stay.
func (r *Replica) becomeProspective() {
	r.assert(r.mayStand(), "an observer becomes Prospective")
	r.assert(r.cfg.PreVote, "Prospective without Pre-Vote")
	r.assert(r.role == Follower || r.role == Unattached || r.role == Candidate, "to Prospective from another role")
	r.role = Prospective
	r.nominee.start(r.voters, r.self)
	r.restartElectionTimer()
	r.resetConnections()
	r.done(actBecomeProspective, nil)
}

// abandonPreVote goes back: to the leader known, if there is one.
func (r *Replica) abandonPreVote() {
	r.assert(r.role == Prospective, "only a Prospective abandons a pre-vote")
	if r.leader != NoReplica && r.knows(r.leader) {
		r.toFollower(r.epoch, r.leader)
	} else {
		if tally(r.nominee.votes) == lost {
			r.restartElectionTimer()
		}
		r.role = Unattached
		r.resetConnections()
	}
	r.done(actAbandonPreVote, nil)
}

// becomeCandidate starts a new epoch with a vote for itself.
func (r *Replica) becomeCandidate() {
	r.assert(r.mayStand(), "an observer becomes Candidate")
	r.assert(r.role != Leader, "a leader becomes Candidate")
	r.assert(r.cfg.PreVote == (r.role == Prospective), "with Pre-Vote, and only then, Prospective comes first")
	r.assert(r.role != Prospective || tally(r.nominee.votes) == won || r.nominee.oldPeer, "Candidate without a majority of pre-votes")
	if r.role == Candidate {
		r.nominee.retries++
	} else {
		r.nominee.retries = 1
	}
	r.role, r.leader = Candidate, NoReplica
	r.epoch++
	r.voted = r.key()
	r.nominee.start(r.voters, r.self)
	r.restartElectionTimer()
	r.resetConnections()
	r.done(actBecomeCandidate, nil)
}

// becomeLeader: a candidate with the votes of a majority leads its epoch.
func (r *Replica) becomeLeader() {
	r.assert(r.role == Candidate, "only a Candidate becomes Leader")
	r.assert(tally(r.nominee.votes) == won, "Leader without a majority of votes")
	r.assert(r.epoch > r.log.lastEpoch(), "a leader's epoch is in its log already")
	// A leader never votes in its epoch, and is Resigned in it after a restart.
	r.role, r.leader, r.voted = Leader, r.cfg.ID, NoKey
	r.hw = UnknownOffset // until a record of this epoch is committed
	r.lead.start(r)
	r.resetConnections()
	r.done(actBecomeLeader, nil)
}

// resign gives the leadership up, without a word to the disk: the file still says
// that this replica leads the epoch, so it will not vote in it. The caller gives
// the action its name: Resign, or CheckQuorumResign.
func (r *Replica) resign(action string) {
	r.assert(r.role == Leader, "only a Leader resigns")
	r.role = Resigned
	r.resigned.acked = append(r.resigned.acked[:0], make([]bool, len(r.voters))...)
	r.resigned.preferred = r.successors()
	r.restartElectionTimerAlways()
	r.resetConnections()
	r.done(action, nil)
}

// leaveResigned: a resigned leader leaves its epoch behind.
func (r *Replica) leaveResigned() {
	r.assert(r.role == Resigned, "only a Resigned leaves")
	r.toUnattached(r.epoch + 1)
	r.done(actLeaveResigned, nil)
}

// expireRole takes the one transition of the role that is due, if any.
func (r *Replica) expireRole() bool {
	if r.epoch >= MaxEpoch {
		r.postpone()
	}
	switch r.role {
	case Unattached:
		if r.now < r.electionDeadline {
			return false
		}
		r.stand()
	case Prospective:
		switch result := tally(r.nominee.votes); {
		case result == won, r.nominee.oldPeer:
			r.becomeCandidate()
		case result == lost || r.now >= r.electionDeadline:
			r.abandonPreVote()
		default:
			return false
		}
	case Candidate:
		return r.expireCandidate()
	case Follower:
		if !r.mayStand() || r.now < r.follow.deadline || r.receiving.verifying {
			return false
		}
		r.stand()
	case Leader:
		if r.now < r.lead.checkQuorum {
			return false
		}
		r.resign(actCheckQuorumResign)
	case Resigned:
		if r.now < r.electionDeadline {
			return false
		}
		if !r.mayStand() || r.cfg.PreVote {
			r.leaveResigned()
		} else {
			r.becomeCandidate()
		}
	}
	return true
}

// postpone puts off what would end in a new epoch, as there is none after the last:
// a replica in it can follow, lead and resign, and never stands again.
func (r *Replica) postpone() {
	later := r.now + r.cfg.ElectionTimeout
	switch {
	case r.role == Follower && r.mayStand() && r.now >= r.follow.deadline:
		r.follow.deadline = later
	case r.role == Candidate && r.nominee.backingOff && r.now >= r.nominee.backoffUntil:
		r.nominee.backoffUntil = later
	case r.role != Follower && r.role != Leader && r.now >= r.electionDeadline:
		r.electionDeadline = later
	}
}

// stand stands for election.
func (r *Replica) stand() {
	if r.cfg.PreVote {
		r.becomeProspective()
	} else {
		r.becomeCandidate()
	}
}

func (r *Replica) expireCandidate() bool {
	n := &r.nominee
	result := tally(n.votes)
	switch {
	case result == won:
		r.becomeLeader()
		return true
	case r.cfg.PreVote:
		// One that has lost waits for the rest of its timer.
		if r.now < r.electionDeadline {
			return false
		}
		r.becomeProspective()
		return true
	case n.backingOff:
		if r.now < n.backoffUntil {
			return false
		}
		r.becomeCandidate()
		return true
	case result == lost || r.now >= r.electionDeadline:
		n.backingOff = true
		n.backoffUntil = r.now + r.electionBackoff()
		return true
	}
	return false
}
