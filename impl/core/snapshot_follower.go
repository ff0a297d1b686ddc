package core

import "github.com/quorate/quorate/traces/event"

// receiving is a snapshot on its way from the leader of an epoch. It belongs to that
// epoch: the bytes of another replica's snapshot of the same id may be others, and a
// leader cannot lose its disk and still lead. Within the epoch a transfer goes on where
// it ended, whatever roles were in between.
type receiving struct {
	id        SnapshotID // NoSnapshot: none
	epoch     Epoch
	position  int64 // bytes received
	size      int64 // of all of it; 0: not said yet
	transfer  int64 // counts transfers, so that the driver's answers can be told apart
	verifying bool
}

// wants says whether a follower needs a snapshot that its leader offers: it ends above
// what is known to be committed, and the log does not have its last record. That log may
// be longer and even end in a later epoch, where Kafka stops (docs/divergence.md).
func (r *Replica) wants(id SnapshotID) bool {
	return id.End > max(r.hwFloor, 0) && id.Epoch > 0 && id.Epoch <= r.epoch && !r.log.contains(id)
}

// receive goes for a snapshot that a fetch response named.
func (r *Replica) receive(id SnapshotID) {
	s := &r.receiving
	if s.id == id && s.epoch == r.epoch {
		return
	}
	r.abandon()
	*s = receiving{id: id, epoch: r.epoch, transfer: s.transfer + 1}
	r.received = true
}

// abandon forgets the snapshot that is being received.
func (r *Replica) abandon() {
	s := &r.receiving
	if s.id == NoSnapshot {
		return
	}
	if s.position > 0 {
		r.op(OpAbandonSnapshot).SnapshotID = s.id
	}
	*s = receiving{transfer: s.transfer}
}

// sendFetchSnapshot asks the leader for the next chunk.
func (r *Replica) sendFetchSnapshot(p *peer) {
	s := &r.receiving
	m := Message{Kind: FetchSnapshot, SnapshotID: s.id, Position: s.position, MaxBytes: r.cfg.MaxSnapshotBytes}
	r.request(actSendFetchSnapshot, p, &m)
}

// handleFetchSnapshotResponse takes a chunk; with the last one the snapshot is
// verified. A response that is not what was asked for ends the transfer, and the next
// fetch begins anew; Kafka stops then, but a peer shall not stop us.
// (KafkaRaftClient.handleFetchSnapshotResponse)
func (r *Replica) handleFetchSnapshotResponse(in *Input, p *peer, changed bool) {
	m, s := in.Message, &r.receiving
	if r.role != Follower || r.leader != p.id || s.id == NoSnapshot {
		if changed {
			r.done(actHandleFetchSnapshotResponse, in)
		} else {
			r.backOff(r.peer(p.id))
		}
		return
	}
	r.assert(!s.verifying, "a chunk was in flight while the snapshot is verified")
	r.assert(r.log.settled(), "a snapshot was asked for while the log was not durable")
	r.persist() // the epoch before records of it
	length := int64(len(m.Chunk))
	switch {
	case m.Error == SnapshotNotFound, m.Error == PositionOutOfRange, m.SnapshotID.End < 0, m.SnapshotID.Epoch < 0:
		// The leader has a later one: ask again where to go.
		r.abandon()
	case m.SnapshotID != s.id, m.Position != s.position, m.Size <= 0, s.size != 0 && m.Size != s.size,
		length > m.Size-m.Position:
		r.abandon()
		r.backOff(r.peer(p.id))
	case length == 0:
		r.backOff(r.peer(p.id))
	default:
		s.size = m.Size
		o := r.op(OpReceiveSnapshot)
		o.SnapshotID, o.Epoch, o.Position, o.Raw = s.id, s.epoch, s.position, m.Chunk
		s.position += length
		if s.position == s.size {
			s.verifying = true
			o := r.op(OpVerifySnapshot)
			o.SnapshotID, o.Size, o.Transfer = s.id, s.size, s.transfer
		}
	}
	r.follow.fetched = true
	r.follow.deadline = r.now + r.cfg.FetchTimeout
	r.done(actHandleFetchSnapshotResponse, in)
}

// snapshotVerified ends a transfer: the snapshot is installed, or was no good. The fetch
// timer stood still, as the replica was not waiting for its leader.
func (r *Replica) snapshotVerified(in *Input) {
	s := &r.receiving
	if s.id == NoSnapshot || !s.verifying || in.SnapshotID != s.id || in.Transfer != s.transfer {
		return // of a transfer that was given up
	}
	s.verifying = false
	if r.role == Follower {
		r.follow.deadline = r.now + r.cfg.FetchTimeout
	}
	if in.Error != None || r.role != Follower {
		r.abandon()
		if r.role == Follower {
			r.backOff(r.peer(r.leader))
		}
		return
	}
	r.installSnapshot(in.VoterSet)
}

// installSnapshot is the action InstallSnapshot: the log is empty and begins at the end
// of the snapshot, which is committed. (KafkaMetadataLog.truncateToLatestSnapshot)
func (r *Replica) installSnapshot(voters []Voter) {
	s := r.receiving
	r.assert(s.epoch == r.epoch, "a snapshot of another epoch's leader is installed")
	r.assert(s.id.Epoch <= r.durable.Epoch, "a snapshot is installed before its epoch is durable")
	r.assert(s.id.End > r.hwFloor, "a snapshot is installed below the high watermark")
	r.assert(!r.log.contains(s.id), "a snapshot is installed that the log has")
	r.assert(voters == nil || checkVoters(voters) == "", "a snapshot is installed whose voter set is none")
	r.assert(r.log.settled(), "a snapshot is installed while the log is not durable")
	r.receiving = receiving{transfer: s.transfer}
	r.log.reset(Snapshot{ID: s.id, Size: s.size})
	r.hw, r.hwFloor = s.id.End, s.id.End
	r.op(OpInstallSnapshot).SnapshotID = s.id
	r.recordReset(s.id)
	r.history.sets = nil
	if voters != nil {
		r.history.add(s.id.End-1, voters)
	}
	if r.history.last() != r.voterSet {
		r.takeEffect()
	}
	r.finish(actInstallSnapshot, event.Args{Snapshot: s.id.event()}, nil, nil)
}
