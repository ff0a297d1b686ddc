package spec

// leaveRole clears everything that belongs to the present role.
func leaveRole(r *Replica) {
	r.EpochStart, r.End, r.ReadOffset = 0, [MaxReplicas]Offset{}, 0
	r.Granted, r.HasFetched = 0, false
	r.LeaderChangeWritten, r.Reading, r.Confirmed, r.ReadRound = false, false, 0, 0
}

// elect changes what the replica knows of the election, durably before anything
// is sent (KIP-595; QuorumState.durableTransitionTo).
func (c *Ctx) elect(r *Replica, e Election) {
	if e.Epoch != r.Election.Epoch {
		r.Life = 0
		c.Rules.ForgetFetching(r)
	}
	old := r.Election
	r.Election = e
	r.Stored = c.Rules.Persist(r, old)
}

// becomeUnattached: a newer epoch without a known leader.
func (c *Ctx) becomeUnattached(r *Replica, e Epoch) {
	leaveRole(r)
	r.Role = Unattached
	c.elect(r, Election{Epoch: e})
}

// becomeFollower: the leader of this or a newer epoch is known. A vote given in
// this epoch is kept, so that the replica cannot vote twice in it.
func (c *Ctx) becomeFollower(r *Replica, e Epoch, leader ID) {
	leaveRole(r)
	r.Role = Follower
	next := Election{Epoch: e, Leader: leader}
	if e == r.Election.Epoch {
		next.Voted = r.Election.Voted
	}
	c.elect(r, next)
}

// transition takes what a message says of an epoch not older than ours: its
// leader, if it names one. KafkaRaftClient.maybeTransition.
func (c *Ctx) transition(r *Replica, e Epoch, leader ID) {
	switch {
	case c.Require(NewerEpoch, e > r.Election.Epoch):
		if leader != Nobody && leader != r.ID {
			c.becomeFollower(r, e, leader)
		} else {
			c.becomeUnattached(r, e)
		}
	case leader != Nobody && leader != r.ID &&
		(r.Role == Unattached || r.Role == Prospective || r.Role == Candidate):
		c.becomeFollower(r, e, leader)
	}
}

// learn is what every response is asked first, in Kafka's order. It returns
// whether the response is to be handled further: of our epoch, without error.
// KafkaRaftClient.maybeHandleCommonResponse.
func (c *Ctx) learn(r *Replica, m *Msg) bool {
	if !c.Require(NotStale, m.Epoch >= r.Election.Epoch) || m.Error == UnknownLeaderEpoch {
		return false
	}
	if m.Epoch > r.Election.Epoch || m.Error == FencedLeaderEpoch || m.Error == NotLeaderOrFollower {
		if c.Rules.Heeds(c, r, m) {
			c.transition(r, m.Epoch, m.Leader)
		}
		return false
	}
	if c.Require(NamesLeader, m.Leader != Nobody && r.Election.Leader == Nobody) {
		c.transition(r, m.Epoch, m.Leader)
	}
	return c.Require(NoError, m.Error == NoErrorCode)
}
