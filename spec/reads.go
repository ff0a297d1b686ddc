package spec

// StartRead: a client asks a leader for a linearizable read. The leader notes its
// high watermark, which must be of its own epoch, and has to be confirmed as
// leader by a majority that it asks after this. Kafka serves no such reads; this
// is the read index of the Raft dissertation, section 6.4, over BeginQuorumEpoch.
func StartRead(c *Ctx, r *Replica, _ Args, _ *Outbox) bool {
	if !c.Require(IsLeader, r.Role == Leader) ||
		!c.Require(NotReading, !r.Reading) ||
		!c.Require(EpochCommitted, c.Rules.MayRead(r)) {
		return false
	}
	r.Reading = true
	r.ReadRound++
	r.Confirmed = SetOf(r.ID)
	r.ReadOffset = max(r.HighWatermark, 0)
	return true
}

// ServeRead: a majority has confirmed the leader since the read began, so nobody
// else had committed anything by then; the read sees all up to the noted offset.
func ServeRead(c *Ctx, r *Replica, _ Args, _ *Outbox) bool {
	if !c.Require(IsLeader, r.Role == Leader) ||
		!c.Require(IsReading, r.Reading) ||
		!c.Require(ReadConfirmed, c.Rules.IsConfirmed(c, r)) {
		return false
	}
	r.Reading, r.Confirmed, r.ReadOffset = false, 0, 0
	return true
}
