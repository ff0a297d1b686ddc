package spec

// AppendLeaderChange: a new leader writes the first record of its epoch; until
// this very record is committed, nothing is. The first leader of a quorum that can
// change writes in the same batch who its voters are; a later one may do so again, where
// its own entry among them is to be another. KIP-595 "LeaderChangeMessage"; KIP-853;
// KAFKA-12619; LeaderState.appendStartOfEpochControlRecords.
func AppendLeaderChange(c *Ctx, r *Replica, a Args, _ *Outbox) bool {
	if !c.Require(IsLeader, r.Role == Leader) ||
		!c.Require(LeaderChangeMissing, c.Rules.WritesLeaderChange(r)) ||
		!c.Require(TruncationFlushed, c.Rules.MayAppend(r)) {
		return false
	}
	r.Log.Append(ownRun(r, LeaderChange, 1))
	r.LeaderChangeWritten = true
	if c.Dynamic && (r.Voters == 0 || a.WithVoters) {
		r.Log.Append(ownRun(r, KRaftVersion, 1))
		c.appendVoters(r, c.voters(r))
	}
	return true
}

// Append: a client hands records to the leader. RaftClient.prepareAppend.
func Append(c *Ctx, r *Replica, a Args, _ *Outbox) bool {
	if !c.Require(IsLeader, r.Role == Leader) ||
		!c.Require(LeaderChangePresent, r.LeaderChangeWritten) {
		return false
	}
	r.Log.Append(ownRun(r, max(a.Kind, Data), max(a.Count, 1)))
	return true
}

func ownRun(r *Replica, kind RecordKind, count int64) Run {
	return Run{Count: count, Epoch: r.Election.Epoch, Origin: r.ID, Life: uint8(r.Life), Kind: kind}
}

// advanceHighWatermark moves the high watermark of a leader to the largest offset
// that a majority of the voters have flushed, if that commits a record of its own
// epoch. It never goes back. The voters are those in force, and a leader that is none of
// them does not count. KIP-595, KIP-853; LeaderState.maybeUpdateHighWatermark.
func (c *Ctx) advanceHighWatermark(r *Replica) {
	counted := c.Rules.Counts(c, r)
	var ends [MaxReplicas]Offset // descending
	n := 0
	for id := ID(1); id <= MaxReplicas; id++ {
		if !counted.Has(id) {
			continue
		}
		end := r.End[id.index()]
		if id == r.ID {
			end = c.Rules.OwnEnd(r)
		}
		at := n
		for ; at > 0 && ends[at-1] < end; at-- {
			ends[at] = ends[at-1]
		}
		ends[at] = end
		n++
	}
	majority := c.Rules.Majority(c.voters(r).Len())
	if majority < 1 {
		majority = 1
	}
	hw := ends[majority-1]
	if hw <= r.HighWatermark || !c.Rules.MayExpose(r, hw) {
		return
	}
	r.HighWatermark = hw
	c.takeVoters(r, Committed)
}
