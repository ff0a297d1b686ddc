package spec

// Snapshots (KIP-630). The state machine of a replica writes one of what is committed;
// then the log may begin where a snapshot ends, and whoever asks for what the log no
// longer has is sent to the snapshot, and fetches it in parts.
//
// [Replica.Log] keeps the records below the log start, so that properties go on to judge
// them: they stand for what the snapshot holds. No action looks at them, but for the
// epoch of the last one, which the snapshot names.

// TakeSnapshot: the state machine has written a snapshot of everything below an offset;
// under its name it is durable. It ends at or below the high watermark, so that nothing in
// it is ever taken back, and at or below what is flushed, so that the log goes on where it
// ends (docs/divergence.md). Any role may. KIP-630 "Snapshot"; KafkaMetadataLog.createNewSnapshot.
func TakeSnapshot(c *Ctx, r *Replica, a Args, _ *Outbox) bool {
	end := Offset(a.Count)
	if !c.Require(IsUp, r.Role != Down) ||
		!c.Require(SnapshotIsLater, end > max(r.LogStart, r.Snapshots.Latest().End)) ||
		!c.Require(SnapshotInLog, end <= r.Log.End()) ||
		!c.Require(BelowHighWatermark, c.Rules.MaySnapshot(r, end)) ||
		!c.Require(BelowFlushed, c.Rules.MaySnapshotUnflushed(r) || end <= r.FlushedEnd()) {
		return false
	}
	r.Snapshots.add(c.Rules.Snapshot(r, end))
	return true
}

// AdvanceLogStart: what is below the end of a snapshot that is held leaves the log, and
// older snapshots go. KIP-630 "When to Increase the LogStartOffset";
// KafkaMetadataLog.deleteBeforeSnapshot.
func AdvanceLogStart(c *Ctx, r *Replica, a Args, _ *Outbox) bool {
	to := Offset(a.Count)
	if !c.Require(IsUp, r.Role != Down) ||
		!c.Require(LogStartIsLater, to > r.LogStart && to <= r.Log.End()) ||
		!c.Require(SnapshotHeld, c.Rules.MayStartAt(r, to)) {
		return false
	}
	r.LogStart = to
	r.Snapshots.dropBelow(to)
	return true
}

// SendFetchSnapshot: a follower that was sent to a snapshot asks its leader for the next
// part, in place of a fetch. KIP-630 "Fetching Snapshots"; KafkaRaftClient.buildFetchSnapshotRequest.
func SendFetchSnapshot(c *Ctx, r *Replica, a Args, out *Outbox) bool {
	if !c.Require(IsFollower, r.Role == Follower) ||
		!c.Require(ToLeader, a.Dst == r.Election.Leader) ||
		!c.Require(IsReceiving, r.Fetching.Snapshot.End > 0 && !r.Fetching.complete()) ||
		!c.Require(LogFlushed, c.Rules.MayAcknowledge(r)) {
		return false
	}
	m := request(r, FetchSnapshot, a.Dst)
	m.Snapshot = r.Fetching.Snapshot.name()
	m.Position = r.Fetching.Position
	out.send(m)
	return true
}

// HandleFetchSnapshotRequest: a leader gives a part of a snapshot that it holds. That a
// voter asks proves nothing of its log. KIP-630 "Response Handling";
// KafkaRaftClient.handleFetchSnapshotRequest.
func HandleFetchSnapshotRequest(c *Ctx, r *Replica, m *Msg, a Args, out *Outbox) bool {
	if !c.Require(IsUp, r.Role != Down) {
		return false
	}
	held, size := r.Snapshots.find(m.Snapshot), a.Size
	e := NoErrorCode
	switch {
	case m.Epoch < r.Election.Epoch:
		e = FencedLeaderEpoch
	case m.Epoch > r.Election.Epoch:
		e = UnknownLeaderEpoch
	case !c.Require(ServesFetch, r.Role == Leader):
		e = NotLeaderOrFollower
	case !c.Require(SnapshotHeld, held.End > 0):
		e = SnapshotNotFound
	case !c.Require(PositionInSnapshot, m.Position >= 0 && m.Position < size):
		e = PositionOutOfRange
	}
	most := int64(0)
	if e == NoErrorCode {
		most = size - m.Position
	}
	if !c.Require(PartInRange, a.Count >= 0 && a.Count <= most) {
		return false
	}
	answer := respond(r, m, e)
	answer.Snapshot, answer.Position = m.Snapshot, m.Position
	if e == NoErrorCode {
		answer.Bytes, answer.Size = a.Count, size
		answer.Snapshot = held
		answer.Snapshot.Unflushed = false
		if a.Count == most {
			// The parts of a snapshot are nothing by themselves: what it holds goes with the last.
			answer.Records = r.Log.Slice(0, held.End)
		}
	}
	out.send(answer)
	return true
}

// HandleFetchSnapshotResponse: a follower adds the part to those it has. What does not fit
// ends the transfer, and the next fetch asks anew where to go; so does a leader that has
// the snapshot no more. KafkaRaftClient.handleFetchSnapshotResponse.
func HandleFetchSnapshotResponse(c *Ctx, r *Replica, m *Msg, _ Args, _ *Outbox) bool {
	if !c.Require(IsUp, r.Role != Down) {
		return false
	}
	gone := m.Epoch == r.Election.Epoch && (m.Error == SnapshotNotFound || m.Error == PositionOutOfRange)
	if good := c.learn(r, m); !good && !gone {
		return true
	}
	f := &r.Fetching
	if !c.Require(FromLeader, r.Role == Follower && r.Election.Leader == m.Src) ||
		!c.Require(IsReceiving, f.Snapshot.End > 0) {
		return true
	}
	r.HasFetched = true
	fits := !gone && f.Snapshot.names(m.Snapshot) && m.Position == f.Position && !f.complete() &&
		(f.Size == 0 || m.Size == f.Size) && m.Bytes <= m.Size-m.Position
	switch {
	case !c.Require(PartFits, fits):
		r.Fetching = Fetching{}
	case m.Bytes > 0:
		if f.Position > 0 && f.From != m.Src {
			f.Mixed = true
		}
		f.From, f.Size = m.Src, m.Size
		if f.Position += m.Bytes; f.complete() {
			f.Snapshot, f.Contents = m.Snapshot, m.Records
		}
	}
	return true
}

// InstallSnapshot: all of a snapshot is there and was found to be whole. Its follower drops
// its log, whatever that was, for one that begins where the snapshot ends; all of it in one,
// however the machine may fail. KIP-630 "Fetching Snapshots";
// KafkaMetadataLog.truncateToLatestSnapshot.
func InstallSnapshot(c *Ctx, r *Replica, _ Args, _ *Outbox) bool {
	f := &r.Fetching
	if !c.Require(IsFollower, r.Role == Follower) ||
		!c.Require(SnapshotReceived, f.Snapshot.End > 0 && f.complete()) ||
		!c.Require(SnapshotWanted, c.Rules.Wants(r, f.Snapshot)) ||
		!c.Require(LogFlushed, c.Rules.MayAcknowledge(r)) {
		return false
	}
	s := f.Snapshot
	if f.Mixed {
		s.Lacks = int16(s.End)
	}
	log, disk := c.Rules.LogAfterInstall(r), r.Disk
	if c.Rules.FlushesInstall(r) {
		disk = log
	}
	if !c.Rules.KeepsOldSnapshots(r) {
		r.Snapshots.clear()
	}
	r.Snapshots.add(s)
	r.Log, r.Disk = log, disk
	r.LogStart, r.HighWatermark = s.End, s.End
	c.takeVoters(r, Installed)
	r.Fetching = Fetching{}
	return true
}

// AbandonSnapshot: a replica forgets what it has received of a snapshot: it proved to be
// damaged, or there was no room for it. It fetches again, and is told again where to go.
func AbandonSnapshot(c *Ctx, r *Replica, _ Args, _ *Outbox) bool {
	if !c.Require(IsReceiving, r.Fetching.Snapshot.End > 0) {
		return false
	}
	r.Fetching = Fetching{}
	return true
}

// belowLog says whether a fetch asks for what only a snapshot can tell: from before the
// log start, at it behind another record, or behind an epoch before the first snapshot.
// Who has nothing is sent to the latest snapshot even if the log begins at 0. KIP-630
// "Fetch"; ReplicatedLog.validateOffsetAndEpoch.
func belowLog(r *Replica, m *Msg) bool {
	first := r.Snapshots.First()
	return first.End > 0 && (m.Offset == 0 || m.Offset < r.LogStart || m.Offset == r.LogStart && m.LastEpoch != first.Epoch ||
		m.LastEpoch < first.Epoch)
}

// EndOffsetForEpoch is that of the log from its start on: below it there is only the
// epoch of the record before.
func (r *Replica) EndOffsetForEpoch(e Epoch) (Epoch, Offset) {
	epoch, end := r.Log.EndOffsetForEpoch(e)
	if r.LogStart > 0 && end < r.LogStart {
		return r.epochBefore(r.LogStart), r.LogStart
	}
	return epoch, end
}

// epochBefore is the epoch of the record before an offset of the log, 0 if there is none.
func (r *Replica) epochBefore(o Offset) Epoch {
	if o <= 0 || o > r.Log.End() {
		return 0
	}
	return r.Log.At(o - 1).Epoch
}

// contains says whether the log has, or begins after, the last record of a snapshot.
func (r *Replica) contains(s Snapshot) bool {
	return s.End >= r.LogStart && s.End <= r.Log.End() && r.epochBefore(s.End) == s.Epoch
}

// wants says whether a follower needs a snapshot that its leader names: it ends above what
// is known to be committed, and the log does not have its last record. That log may be
// longer and even end in a later epoch, where Kafka stops (docs/divergence.md).
func wants(r *Replica, s Snapshot) bool {
	return s.End > max(r.HighWatermark, 0) && s.Epoch > 0 && s.Epoch <= r.Election.Epoch && !r.contains(s)
}
