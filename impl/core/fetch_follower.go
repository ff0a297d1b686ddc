package core

import "slices"

// sendFetches sends a fetch if none is in flight: two would append the same
// offsets twice. A fetch claims everything below its offset, so it waits until all
// of that is durable (KAFKA-10533).
func (r *Replica) sendFetches() {
	if !r.log.settled() || r.receiving.verifying || r.anyBusy() {
		return
	}
	switch p := r.fetchTarget(); {
	case p == nil:
	case r.receiving.id != NoSnapshot && r.role == Follower && p.id == r.leader:
		r.sendFetchSnapshot(p)
	default:
		r.sendFetch(p)
	}
}

// fetchTarget: a follower asks its leader; who has none asks a bootstrap server, and
// so does an observer that cannot reach its leader or hears nothing new from it
// (nobody sends BeginQuorumEpoch to an observer).
func (r *Replica) fetchTarget() *peer {
	if r.role == Follower {
		leader := r.peer(r.leader)
		if r.self >= 0 || !leader.failed && r.now < r.follow.deadline {
			if r.ready(leader) {
				return leader
			}
			return nil
		}
	}
	n := 0
	for i := range r.peers {
		if r.mayAsk(&r.peers[i]) {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	pick := r.random(uint64(n))
	for i := range r.peers {
		if p := &r.peers[i]; r.mayAsk(p) {
			if pick == 0 {
				return p
			}
			pick--
		}
	}
	return nil
}

// mayAsk says whether a peer can be asked who leads: a bootstrap server, or a voter if no
// others are configured, or if they are in the log.
func (r *Replica) mayAsk(p *peer) bool {
	known := p.voter >= 0 && (len(r.cfg.Bootstrap) == 0 || r.voterSet.Dynamic())
	return (known || slices.Contains(r.cfg.Bootstrap, p.id)) && r.ready(p)
}

func (r *Replica) sendFetch(p *peer) {
	m := Message{
		Kind: Fetch, Offset: r.log.end, LastEpoch: r.log.lastEpoch(),
		HighWatermark: r.hw, MaxBytes: r.cfg.MaxFetchBytes,
	}
	if r.role == Follower && p.id == r.leader {
		m.MaxWait = r.cfg.MaxFetchWait // others are asked who leads, and that does not wait
	}
	r.request(actSendFetch, p, &m)
}

// handleFetchResponse truncates, or appends and learns the high watermark. The
// common part has made this replica a follower if the response told it of the
// leader. (KafkaRaftClient.handleFetchResponse)
func (r *Replica) handleFetchResponse(in *Input, p *peer, changed bool) {
	m := in.Message
	if r.role != Follower || r.leader != p.id {
		if changed {
			r.done(actHandleFetchResponse, in)
		} else {
			r.backOff(r.peer(p.id))
		}
		return
	}
	r.assert(r.log.end == p.offset, "the log changed while a fetch was in flight")
	r.assert(r.log.settled(), "a fetch was in flight while the log was not durable")
	r.persist() // the epoch before records of it
	switch {
	case m.Diverging.Epoch >= 0:
		// The high watermark of this response may lie above what still diverges
		// (KAFKA-14704): it is not looked at.
		if to := r.log.truncationPoint(m.Diverging); to >= 0 && to < r.log.end {
			r.truncate(to)
		} else {
			r.backOff(r.peer(p.id))
		}
	case m.SnapshotID != NoSnapshot:
		r.receive(m.SnapshotID)
	default:
		r.appendFetched(m)
		r.learnHighWatermark(min(r.log.end, m.HighWatermark))
	}
	r.follow.fetched = true
	r.follow.deadline = r.now + r.cfg.FetchTimeout
	r.done(actHandleFetchResponse, in)
}

// cutsCommitted finds a response that would have a follower cut off what it knows to
// be committed. No leader says so: either it has lost its disk, or it lies. A peer
// shall not stop us, so this is looked at before anything else in a response. A
// snapshot that is not wanted is of that kind.
func (r *Replica) cutsCommitted(m *Message) bool {
	if m.Kind != Fetch || m.Error != None || m.Epoch != r.epoch {
		return false
	}
	if m.Diverging.Epoch < 0 {
		return m.SnapshotID != NoSnapshot && !r.wants(m.SnapshotID)
	}
	to := r.log.truncationPoint(m.Diverging)
	return to >= 0 && to < r.hwFloor
}

func (r *Replica) truncate(to Offset) {
	r.assert(to >= r.hwFloor, "truncation below the high watermark")
	r.log.cut(to)
	if r.history.cut(to) {
		r.takeEffect()
	}
	r.op(OpTruncate).End = to
	r.recordTruncation(to)
	r.askFlush()
	r.log.truncating, r.log.truncFlush = true, r.log.lastFlush
}

// appendFetched appends the whole batches of a response, up to the first that does
// not fit: then the next fetch asks for it again.
func (r *Replica) appendFetched(m *Message) {
	base, size, n := r.log.end, 0, 0
	last := r.log.lastEpoch()
	for i := range m.Batches {
		b := &m.Batches[i]
		fits := b.Base == r.log.end && b.Count > 0 && b.End == b.Base+Offset(b.Count) &&
			b.Epoch >= last && b.Epoch <= r.epoch && b.Size >= 0 && size+b.Size <= len(m.Records)
		if !fits || !r.takeControls(b) {
			break
		}
		r.log.grow(b.Epoch, b.End)
		last = b.Epoch
		size += b.Size
		n++
		r.recordBatch(b)
	}
	if n == 0 {
		return
	}
	if r.history.last() != r.voterSet {
		r.takeEffect()
	}
	o := r.op(OpAppendRaw)
	o.Base, o.End, o.Raw, o.Batches = base, r.log.end, m.Records[:size], m.Batches[:n]
	r.askFlush()
}

// takeControls adds the voter sets of a batch to the history, or none if one of them could
// not follow the one before: no leader of ours writes that.
func (r *Replica) takeControls(b *BatchInfo) bool {
	if b.Controls != nil && int64(len(b.Controls)) != b.Count {
		return false
	}
	for i, c := range b.Controls {
		if c.Kind != KRaftVotersRecord {
			continue
		}
		if !r.history.mayFollow(c.Voters) {
			r.history.cut(b.Base)
			return false
		}
		r.history.add(b.Base+Offset(i), c.Voters)
	}
	return true
}

// learnHighWatermark raises the high watermark of a follower. One that is lower is
// an old one.
func (r *Replica) learnHighWatermark(hw Offset) {
	if hw > r.hw {
		r.hw = hw
		r.hwFloor = max(r.hwFloor, hw)
	}
}

// rediscovered: an observer that had lost its leader hears that it still leads, and
// tries it again.
func (r *Replica) rediscovered(m *Message) {
	if r.self >= 0 || r.role != Follower || m.Leader != r.leader || m.Epoch != r.epoch {
		return
	}
	r.follow.deadline = r.now + r.cfg.FetchTimeout
	r.peer(r.leader).failed = false
}
