package spec

// Membership (KIP-853). Whom the quorum has is a record in its log, and a leader changes it
// by one voter at a time. A set is in force at a replica as soon as its record is in its log,
// committed or not; it is no longer when the record is cut off again. So two successive sets
// may be in force at different replicas, and are safe since any majority of the one meets any
// of the other. More than two are not: hence the guards of a change.
//
// The specification knows a replica by its id alone. A node that has lost its disk has
// another directory id, and is another replica (KIP-853 "Replica Key"). The requests that ask
// for a change come from outside, and what a leader asks of a new voter beforehand, that it
// is caught up and knows the version, is a matter of progress.

// AddVoter: a leader adds a replica to the voter set. The new set decides from this record
// on, also whether this record is committed. Its own epoch has to be committed first: another
// leader may have another change under way, of which this one knows nothing, and its
// majority need not meet that of this change (raft-dev 2015). KIP-853 "AddRaftVoter";
// AddVoterHandler.
func AddVoter(c *Ctx, r *Replica, a Args, _ *Outbox) bool {
	if !c.mayChange(r) ||
		!c.Require(NotInVoterSet, a.Voter != Nobody && !c.voters(r).Has(a.Voter)) {
		return false
	}
	c.appendVoters(r, c.Rules.With(r, c.Rules.Base(c, r), a.Voter))
	return true
}

// RemoveVoter: a leader takes a replica out of the voter set, itself perhaps. It goes on to
// lead then, and does not count, until the record is committed: nobody else is sure to have
// it. KIP-853 "RemoveRaftVoter"; RemoveVoterHandler.
func RemoveVoter(c *Ctx, r *Replica, a Args, _ *Outbox) bool {
	if !c.mayChange(r) ||
		!c.Require(InVoterSet, c.voters(r).Has(a.Voter)) ||
		!c.Require(NotLastVoter, c.voters(r) != SetOf(a.Voter)) {
		return false
	}
	c.appendVoters(r, c.Rules.Without(r, c.Rules.Base(c, r), a.Voter))
	return true
}

// UpdateVoter: a leader writes anew how a voter is reached and which versions it knows. The
// set stays as it is, and so does every majority; it is a change like others nevertheless,
// so that there is one at a time. KIP-853 "UpdateRaftVoter"; UpdateVoterHandler.
func UpdateVoter(c *Ctx, r *Replica, a Args, _ *Outbox) bool {
	if !c.mayChange(r) ||
		!c.Require(InVoterSet, c.voters(r).Has(a.Voter)) {
		return false
	}
	c.appendVoters(r, c.voters(r))
	return true
}

// mayChange are the guards that all changes have in common.
func (c *Ctx) mayChange(r *Replica) bool {
	return c.Require(IsLeader, r.Role == Leader) &&
		c.Require(EpochCommitted, c.Rules.MayChange(r)) &&
		c.Require(NoUncommittedChange, c.Rules.ChangeCommitted(r))
}

// appendVoters: a leader writes a voter set.
func (c *Ctx) appendVoters(r *Replica, voters Set) {
	run := ownRun(r, KRaftVoters, 1)
	run.Voters = voters
	r.Log.Append(run)
	c.takeVoters(r, Appended)
}

// Happened is what has happened to a replica that may bring another voter set into force.
type Happened uint8

// What happened. That the high watermark has moved is nothing to the protocol.
const (
	Appended Happened = iota
	Truncated
	Installed // a snapshot in place of the log
	Started
	Committed
)

// takeVoters brings the set in force up to date. KRaftControlRecordStateMachine.
func (c *Ctx) takeVoters(r *Replica, after Happened) {
	if c.Dynamic {
		r.Voters = c.Rules.VotersFrom(r, after)
	}
}

// votersFrom is the set of the last record in the log, or in the snapshot that the log goes
// on from.
func votersFrom(r *Replica, after Happened) Set {
	if after == Committed {
		return r.Voters
	}
	voters, _ := r.Log.lastVoters()
	return voters
}

// electable: a voter may stand; and so may a replica that a change takes out of the set of
// which it does not know that it is committed. It may be the only one that has the record:
// those that are left do not elect each other without it, since its log is longer. Its own
// vote does not count then. Kafka lets voters stand alone, and has such a quorum without a
// leader for ever (docs/divergence.md). Ongaro 2014, 4.2.2.
func electable(c *Ctx, r *Replica) bool {
	if c.isVoter(r) {
		return true
	}
	voters, at := r.Log.lastVoters()
	if at < r.HighWatermark {
		return false
	}
	for at >= 0 {
		was, before := r.Log.votersBelow(at)
		if was != voters {
			return was.Has(r.ID)
		}
		at = before
	}
	return false
}

// lastVoters is the set of the last KRaftVoters record, and where that is; no set, at
// Unknown, if there is none.
func (l *Log) lastVoters() (Set, Offset) { return l.votersBelow(l.end) }

// votersBelow is lastVoters of the log up to an offset.
func (l *Log) votersBelow(o Offset) (Set, Offset) {
	end, runs := l.end, l.tail()
	var p *past
	if l.more != nil {
		p = l.more.past
	}
	for {
		for i := len(runs) - 1; i >= 0; i-- {
			at := end - Offset(runs[i].Count)
			if runs[i].Kind == KRaftVoters && at < o {
				return runs[i].Voters, min(end, o) - 1
			}
			end = at
		}
		if p == nil {
			return 0, Unknown
		}
		if p.end <= o {
			return p.voters, p.votersAt
		}
		runs, p = p.runs, p.below
	}
}

// cutsBatch says whether an offset lies within the batch in which a leader writes the voter
// set behind its LeaderChange: nobody ever has a part of a batch.
func (l *Log) cutsBatch(o Offset) bool {
	if l.more != nil || o <= 0 || o >= l.end {
		return false
	}
	at := Offset(0)
	for i, r := range l.runs[:l.n] {
		switch {
		case at == o:
			return r.Kind == KRaftVersion || r.Kind == KRaftVoters && i > 0 && l.runs[i-1].Kind == KRaftVersion
		case at > o:
			return false
		}
		at += Offset(r.Count)
	}
	return false
}
