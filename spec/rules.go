package spec

// Rules are the decisions of the protocol, by name. A mutation overrides one of
// them; the actions stay as they are.
type Rules struct {
	// Majority is how many of n voters decide.
	Majority func(n int) int
	// VotesSuffice: the votes or pre-votes of a nominee elect it.
	VotesSuffice func(c *Ctx, r *Replica) bool
	// MayStand: the timer of r, if it fires, makes it stand.
	MayStand func(r *Replica) bool
	// Electable: r may come to lead, as a voter or as one that has not left for good.
	Electable func(c *Ctx, r *Replica) bool
	// MayAbandon: r gives up asking for pre-votes.
	MayAbandon func(r *Replica) bool
	// Tally notes that src granted.
	Tally func(c *Ctx, r *Replica, src ID)
	// MayGrant: r grants the vote or pre-vote that m asks for.
	MayGrant func(c *Ctx, r *Replica, m *Msg) bool
	// AnswersStale: a vote request of an older epoch is answered.
	AnswersStale func(r *Replica, m *Msg) bool
	// Heeds: r takes over the epoch and leader that a response names.
	Heeds func(c *Ctx, r *Replica, m *Msg) bool
	// MayResign and MayLeave: a leader that nobody fetches from resigns, and one that
	// has resigned goes on to the next epoch.
	MayResign, MayLeave func(r *Replica) bool
	// WritesLeaderChange: a leader has its LeaderChange record still to write.
	WritesLeaderChange func(r *Replica) bool
	// Persist is what the quorum-state file holds after the election that r
	// knows of changed from old to r.Election.
	Persist func(r *Replica, old Election) Election
	// RoleAtStart is the role of a replica that starts; it may change the election.
	RoleAtStart func(c *Ctx, r *Replica) Role
	// MayAcknowledge: r may tell the leader how far its log goes.
	MayAcknowledge func(r *Replica) bool
	// MayAsk: r may fetch from dst.
	MayAsk func(c *Ctx, r *Replica, dst ID) bool
	// FetchFrom is where a fetch says that the log ends: its end offset, and the epoch of
	// the record before.
	FetchFrom func(r *Replica) (Offset, Epoch)
	// MayClaim: r may ask for votes for the log that it has.
	MayClaim func(r *Replica) bool
	// OwnEnd is the offset up to which a leader counts itself.
	OwnEnd func(r *Replica) Offset
	// MayExpose: the high watermark of a leader may move to hw, which a majority
	// has flushed.
	MayExpose func(r *Replica, hw Offset) bool
	// CountsAsProgress: the leader notes the fetch offset of m.
	CountsAsProgress func(r *Replica, m *Msg, valid bool) bool
	// Tells is the high watermark that a leader names to a follower.
	Tells func(r *Replica, m *Msg) Offset
	// TruncationPoint is where a follower told that it has diverged cuts its log.
	TruncationPoint func(r *Replica, m *Msg) Offset
	// MayAppend: nothing stands in the way of an append.
	MayAppend func(r *Replica) bool
	// TakesLate: a response is taken whatever has become of the follower since.
	TakesLate func(r *Replica, m *Msg) bool
	// MayRead: a leader may begin a linearizable read.
	MayRead func(r *Replica) bool
	// IsConfirmed: the leader was confirmed since the read began.
	IsConfirmed func(c *Ctx, r *Replica) bool

	// VotersFrom is the voter set in force at r, whose set was r.Voters before something
	// happened; none if it is that with which the cluster began.
	VotersFrom func(r *Replica, after Happened) Set
	// Counts are those whose logs decide how far the high watermark of a leader goes.
	Counts func(c *Ctx, r *Replica) Set
	// MayChange: a leader may change the voter set. ChangeCommitted: the last change is
	// committed.
	MayChange, ChangeCommitted func(r *Replica) bool
	// Base is the set that a change starts from, With and Without what it makes of it.
	Base          func(c *Ctx, r *Replica) Set
	With, Without func(r *Replica, voters Set, id ID) Set

	// MaySnapshot: what is below end may be in a snapshot.
	MaySnapshot func(r *Replica, end Offset) bool
	// MaySnapshotUnflushed: also if the log is not on disk up to there.
	MaySnapshotUnflushed func(r *Replica) bool
	// Snapshot is the snapshot that is taken of what is below end.
	Snapshot func(r *Replica, end Offset) Snapshot
	// MayStartAt: the log may begin at an offset.
	MayStartAt func(r *Replica, to Offset) bool
	// BelowLog: only a snapshot helps who fetches with m.
	BelowLog func(r *Replica, m *Msg) bool
	// Wants: a follower goes for a snapshot, and installs it.
	Wants func(r *Replica, s Snapshot) bool
	// ForgetFetching: r has a new epoch.
	ForgetFetching func(r *Replica)
	// LogAfterInstall is the log of r when the snapshot that it received is installed;
	// FlushesInstall: it is on disk then; KeepsOldSnapshots: so are the snapshots from before.
	LogAfterInstall                   func(r *Replica) Log
	FlushesInstall, KeepsOldSnapshots func(r *Replica) bool
}

// CleanRules are the rules of Kafka 4.x.
func CleanRules() *Rules {
	return &Rules{
		Majority: func(n int) int { return n/2 + 1 },
		VotesSuffice: func(c *Ctx, r *Replica) bool {
			voters := c.voters(r)
			return (r.Granted & voters).Len() >= c.Rules.Majority(voters.Len())
		},
		MayStand: func(r *Replica) bool {
			return r.Role == Follower || r.Role == Unattached || r.Role == Candidate
		},
		Electable:          electable,
		MayAbandon:         func(r *Replica) bool { return r.Role == Prospective },
		AnswersStale:       func(*Replica, *Msg) bool { return true },
		Heeds:              func(*Ctx, *Replica, *Msg) bool { return true },
		MayResign:          func(r *Replica) bool { return r.Role == Leader },
		MayLeave:           func(r *Replica) bool { return r.Role == Resigned },
		WritesLeaderChange: func(r *Replica) bool { return !r.LeaderChangeWritten },
		MayAsk: func(c *Ctx, r *Replica, dst ID) bool {
			return r.Role == Unattached || !c.isVoter(r) || dst == r.Election.Leader
		},
		Tells:    func(r *Replica, _ *Msg) Offset { return r.HighWatermark },
		Tally:    func(c *Ctx, r *Replica, src ID) { r.Granted = r.Granted.With(src) },
		MayGrant: mayGrant,
		Persist:  func(r *Replica, _ Election) Election { return r.Election },
		RoleAtStart: func(c *Ctx, r *Replica) Role {
			switch {
			case r.Election.Leader == r.ID:
				return Resigned
			case r.Election.Voted == r.ID && r.Election.Leader == Nobody && c.Rules.Electable(c, r):
				return Candidate
			case r.Election.Leader != Nobody:
				return Follower
			}
			return Unattached
		},
		MayAcknowledge:   func(r *Replica) bool { return r.Flushed() },
		FetchFrom:        func(r *Replica) (Offset, Epoch) { return r.Log.End(), r.Log.LastEpoch() },
		MayClaim:         func(r *Replica) bool { return r.Flushed() },
		OwnEnd:           func(r *Replica) Offset { return r.FlushedEnd() },
		MayExpose:        func(r *Replica, hw Offset) bool { return hw > r.EpochStart },
		CountsAsProgress: func(_ *Replica, _ *Msg, valid bool) bool { return valid },
		TruncationPoint:  truncationPoint,
		MayAppend:        func(r *Replica) bool { return !r.TruncationPending() },
		TakesLate:        func(*Replica, *Msg) bool { return false },
		MayRead:          func(r *Replica) bool { return r.HighWatermark != Unknown },
		IsConfirmed: func(c *Ctx, r *Replica) bool {
			voters := c.voters(r)
			return (r.Confirmed & voters).Len() >= c.Rules.Majority(voters.Len())
		},
		VotersFrom: votersFrom,
		Counts:     func(c *Ctx, r *Replica) Set { return c.voters(r) },
		MayChange:  func(r *Replica) bool { return r.HighWatermark > r.EpochStart },
		ChangeCommitted: func(r *Replica) bool {
			_, at := r.Log.lastVoters()
			return at < r.HighWatermark || r.HighWatermark == Unknown // and then MayChange refuses
		},
		Base:                 func(c *Ctx, r *Replica) Set { return c.voters(r) },
		With:                 func(_ *Replica, voters Set, id ID) Set { return voters.With(id) },
		Without:              func(_ *Replica, voters Set, id ID) Set { return voters &^ SetOf(id) },
		MaySnapshot:          func(r *Replica, end Offset) bool { return end <= r.HighWatermark },
		MaySnapshotUnflushed: func(*Replica) bool { return false },
		Snapshot:             func(r *Replica, end Offset) Snapshot { return Snapshot{End: end, Epoch: r.epochBefore(end)} },
		MayStartAt:           func(r *Replica, to Offset) bool { return r.Snapshots.endsAt(to) },
		BelowLog:             belowLog,
		Wants:                wants,
		ForgetFetching:       func(r *Replica) { r.Fetching = Fetching{} },
		LogAfterInstall: func(r *Replica) Log {
			log := r.Fetching.Contents
			log.large = r.Log.large
			return log
		},
		FlushesInstall:    func(*Replica) bool { return true },
		KeepsOldSnapshots: func(*Replica) bool { return false },
	}
}

// mayGrant is the table of KIP-595 and KIP-996: EpochState.canGrantVote and
// canGrantPreVote of each role. The epoch of m is ours by now.
func mayGrant(_ *Ctx, r *Replica, m *Msg) bool {
	upToDate := m.LastEpoch > r.Log.LastEpoch() ||
		m.LastEpoch == r.Log.LastEpoch() && m.Offset >= r.Log.End()
	switch r.Role {
	case Unattached, Prospective:
		switch {
		case m.PreVote:
			return upToDate
		case r.Election.Voted != Nobody:
			return r.Election.Voted == m.Src
		}
		return r.Election.Leader == Nobody && upToDate
	case Follower:
		return m.PreVote && upToDate && !r.HasFetched
	case Candidate, Resigned:
		return m.PreVote && upToDate
	}
	return false
}

// truncationPoint: ReplicatedLog.truncateToEndOffset. If the epoch that the
// leader names is not in the log, cut where the next smaller one ends, and ask
// again.
func truncationPoint(r *Replica, m *Msg) Offset {
	if m.DivergingEpoch == 0 {
		return min(m.DivergingEnd, r.Log.End())
	}
	epoch, end := r.EndOffsetForEpoch(m.DivergingEpoch)
	if epoch == m.DivergingEpoch {
		return min(end, m.DivergingEnd)
	}
	return end
}
