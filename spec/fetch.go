package spec

// SendFetch: a follower asks its leader for what comes after its log, and thereby
// acknowledges all it has: so all of it is durable (KAFKA-10533). A replica
// without a leader, and an observer whose leader does not answer, ask whom they
// know to find it. KIP-595 "Fetch"; KafkaRaftClient.buildFetchRequest.
func SendFetch(c *Ctx, r *Replica, a Args, out *Outbox) bool {
	if !c.Require(IsFetcher, r.Role == Follower || r.Role == Unattached) ||
		!c.Require(ToOther, a.Dst != r.ID && a.Dst != Nobody) ||
		!c.Require(ToLeader, c.Rules.MayAsk(c, r, a.Dst)) ||
		!c.Require(LogFlushed, c.Rules.MayAcknowledge(r)) {
		return false
	}
	m := request(r, Fetch, a.Dst)
	m.Offset, m.LastEpoch = c.Rules.FetchFrom(r)
	out.send(m)
	return true
}

// HandleFetchRequest: a leader answers with any non-empty prefix of the records
// that follow, with the point where the logs part, or with the snapshot to fetch
// instead. A valid fetch is the
// acknowledgement of everything before it, and may move the high watermark. A
// fetch that finds nothing new may be parked: its progress counts, the answer
// comes later. KIP-595; KafkaRaftClient.handleFetchRequest, tryCompleteFetchRequest.
func HandleFetchRequest(c *Ctx, r *Replica, m *Msg, a Args, out *Outbox) bool {
	if !c.Require(IsUp, r.Role != Down) {
		return false
	}
	e := NoErrorCode
	switch {
	case m.Epoch < r.Election.Epoch:
		e = FencedLeaderEpoch
	case m.Epoch > r.Election.Epoch:
		e = UnknownLeaderEpoch
	case !c.Require(ServesFetch, r.Role == Leader):
		e = NotLeaderOrFollower
	}
	endEpoch, end := r.EndOffsetForEpoch(m.LastEpoch)
	valid := m.Offset >= r.LogStart && (m.Offset == 0 || endEpoch == m.LastEpoch && m.Offset <= end)
	below := e == NoErrorCode && !c.Require(NotBelowLog, !c.Rules.BelowLog(r, m))
	valid = valid && !below
	most := int64(0)
	if e == NoErrorCode && valid {
		most = int64(r.Log.End() - m.Offset)
	}
	if !c.Require(PrefixInRange, a.Count >= 0 && a.Count <= most && (a.Count > 0 || most == 0 || a.Park)) {
		return false
	}
	if e != NoErrorCode {
		answer := respond(r, m, e)
		answer.Offset, answer.LastEpoch, answer.HighWatermark = m.Offset, m.LastEpoch, Unknown
		out.send(answer)
		return true
	}
	if c.Require(FetchIsValid, c.Rules.CountsAsProgress(r, m, valid)) {
		ofVoter := c.Require(OfVoter, c.voters(r).Has(m.Src))
		if ofVoter || c.Dynamic { // an observer that becomes a voter counts at once
			r.End[m.Src.index()] = m.Offset
		}
		if ofVoter {
			c.advanceHighWatermark(r)
		}
	}
	if a.Park {
		return true
	}
	answer := respond(r, m, NoErrorCode)
	answer.Offset, answer.LastEpoch, answer.HighWatermark = m.Offset, m.LastEpoch, c.Rules.Tells(r, m)
	if below {
		answer.Snapshot = r.Snapshots.Latest().name()
	} else if valid {
		answer.Records = r.Log.Slice(m.Offset, m.Offset+Offset(a.Count))
	} else {
		answer.Diverging, answer.DivergingEpoch, answer.DivergingEnd = true, endEpoch, end
		c.sometimes(DivergenceFound)
	}
	out.send(answer)
	return true
}

// HandleFetchResponse: a follower cuts its log where it left the leader's, goes for
// the snapshot that it was sent to if it needs one, or appends what it was sent, and takes the high watermark as far as its own log
// goes. It must have asked for exactly this, in this epoch. KIP-595;
// KafkaRaftClient.handleFetchResponse.
func HandleFetchResponse(c *Ctx, r *Replica, m *Msg, _ Args, _ *Outbox) bool {
	if !c.Require(IsUp, r.Role != Down) {
		return false
	}
	if !c.Rules.TakesLate(r, m) {
		if !c.learn(r, m) || !c.Require(FromLeader, r.Role == Follower && r.Election.Leader == m.Src) {
			return true
		}
	}
	if !c.Require(AnswersFetch, m.Offset == r.Log.End() && m.LastEpoch == r.Log.LastEpoch()) {
		return true
	}
	toSnapshot := c.Require(NamesSnapshot, m.Snapshot.End > 0)
	if toSnapshot && !c.Require(SnapshotWanted, c.Rules.Wants(r, m.Snapshot)) {
		return true // not believed
	}
	if r.Role == Follower {
		r.HasFetched = true
	}
	if c.Require(FetchDiverges, m.Diverging) {
		if to := c.Rules.TruncationPoint(r, m); to < r.Log.End() {
			r.Log.TruncateTo(to)
			c.takeVoters(r, Truncated)
		}
		return true
	}
	if toSnapshot {
		if !r.Fetching.Snapshot.names(m.Snapshot) {
			r.Fetching = Fetching{Snapshot: m.Snapshot, From: m.Src}
		}
		return true
	}
	if m.Records.End() > 0 {
		if !c.Require(TruncationFlushed, c.Rules.MayAppend(r)) {
			return true
		}
		r.Log.AppendAll(&m.Records)
		if v, _ := m.Records.lastVoters(); v != 0 {
			c.takeVoters(r, Appended)
		}
	}
	if hw := min(m.HighWatermark, r.Log.End()); c.Require(MovesForward, hw > r.HighWatermark) {
		r.HighWatermark = hw
		c.takeVoters(r, Committed)
	}
	return true
}

// Flush: everything up to an offset becomes durable, a truncation as well. What a
// leader has flushed counts as replicated on itself. KIP-595 "Log durability".
func Flush(c *Ctx, r *Replica, a Args, _ *Outbox) bool {
	if !c.Require(IsUp, r.Role != Down) ||
		!c.Require(SomethingToFlush, !r.Flushed()) ||
		!c.Require(FlushInRange, Offset(a.Count) >= r.FlushedEnd() && Offset(a.Count) <= r.Log.End()) {
		return false
	}
	r.Disk = r.Log.Slice(0, Offset(a.Count))
	if r.Role == Leader {
		c.advanceHighWatermark(r)
	}
	return true
}
