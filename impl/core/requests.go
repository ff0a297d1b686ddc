package core

import (
	"math"
	"slices"
)

// peer is a replica that requests are sent to, one at a time (RequestManager).
type peer struct {
	id    ReplicaID
	voter int // place in the voter set, -1
	// busy: a request is in flight, described by the fields that follow.
	busy        bool
	kind        MessageKind
	correlation int32
	deadline    Ticks
	preVote     bool
	read        int64
	offset      Offset
	// backoff: nothing is sent before.
	backoff Ticks
	// failed: the last request was not answered, or not by a working replica.
	failed bool
}

// peer finds a peer by id, and adds it if it is new. The pointer is good until the
// next new one.
func (r *Replica) peer(id ReplicaID) *peer {
	for i := range r.peers {
		if r.peers[i].id == id {
			return &r.peers[i]
		}
	}
	r.peers = append(r.peers, peer{id: id, voter: -1})
	return &r.peers[len(r.peers)-1]
}

// knows says whether the driver can reach a replica by configuration.
func (r *Replica) knows(id ReplicaID) bool {
	for i := range r.peers {
		if r.peers[i].id == id {
			return true
		}
	}
	return false
}

// addBootstrap: there is one more that may know who leads.
func (r *Replica) addBootstrap(id ReplicaID) {
	if id == r.cfg.ID || slices.Contains(r.cfg.Bootstrap, id) {
		return
	}
	r.cfg.Bootstrap = append(r.cfg.Bootstrap, id)
	r.peer(id)
}

func (r *Replica) ready(p *peer) bool {
	return !p.busy && r.now >= p.backoff && p.id != r.cfg.ID
}

func (r *Replica) anyBusy() bool {
	for i := range r.peers {
		if r.peers[i].busy {
			return true
		}
	}
	return false
}

// resetConnections forgets every request in flight: who sent it has another role now. In
// a new epoch a snapshot that is being received is forgotten with them.
func (r *Replica) resetConnections() {
	if r.receiving.id != NoSnapshot && r.receiving.epoch != r.epoch {
		r.abandon()
	}
	for i := range r.peers {
		p := &r.peers[i]
		p.busy, p.backoff, p.failed = false, 0, false
	}
}

// expireRequests gives up requests that were not answered in time.
func (r *Replica) expireRequests() {
	for i := range r.peers {
		if p := &r.peers[i]; p.busy && r.now >= p.deadline {
			p.busy, p.failed = false, true
		}
	}
}

// request ends an action by sending a request.
func (r *Replica) request(action string, p *peer, m *Message) {
	r.assert(!p.busy, "two requests in flight to one peer")
	r.correlation = (r.correlation + 1) & math.MaxInt32
	p.busy, p.kind, p.correlation = true, m.Kind, r.correlation
	p.deadline = r.now + r.cfg.RequestTimeout
	p.preVote, p.read, p.offset = m.PreVote, m.Read, m.Offset
	m.From = r.key()
	m.Epoch = r.epoch
	r.finish(action, noArgs, nil, &Op{Kind: OpSendRequest, Peer: p.id, Correlation: r.correlation, Message: *m})
}

// respond ends the action that handled a request.
func (r *Replica) respond(action string, in *Input, m *Message) {
	m.Kind, m.Response = in.Message.Kind, true
	m.Epoch, m.Leader = r.epoch, r.leader
	r.finish(action, noArgs, in, &Op{Kind: OpSendResponse, Conn: in.Conn, Correlation: in.Correlation, Message: *m})
}

// awaited is the peer whose request in flight an input ends; nil if the request
// was given up.
func (r *Replica) awaited(in *Input) *peer {
	for i := range r.peers {
		p := &r.peers[i]
		if p.id == in.Peer && p.busy && p.correlation == in.Correlation {
			return p
		}
	}
	return nil
}

func (r *Replica) requestFailed(in *Input) {
	p := r.awaited(in)
	if p == nil {
		return
	}
	p.busy = false
	r.backOff(p)
	if in.Error == UnsupportedVersion && p.kind == Vote && p.preVote && r.role == Prospective {
		// Its software is older than Pre-Vote: no majority might ever be had (KIP-996).
		r.nominee.oldPeer = true
	}
}

func (r *Replica) backOff(p *peer) {
	p.failed, p.backoff = true, r.now+r.cfg.RetryBackoff
}

func (r *Replica) handleRequest(in *Input) {
	switch in.Message.Kind {
	case Vote:
		r.handleVoteRequest(in)
	case BeginQuorumEpoch:
		r.handleBeginQuorumEpochRequest(in)
	case EndQuorumEpoch:
		r.handleEndQuorumEpochRequest(in)
	case Fetch:
		r.handleFetchRequest(in)
	case FetchSnapshot:
		r.handleFetchSnapshotRequest(in)
	}
}

// handleResponse does what is common to all responses (KafkaRaftClient.
// maybeHandleCommonResponse), in its order. An answer that changes nothing is
// dropped without an event.
func (r *Replica) handleResponse(in *Input) {
	p := r.awaited(in)
	if p == nil || p.kind != in.Message.Kind || !in.Message.Response {
		return
	}
	p.busy, p.failed = false, false
	answered := *p // a transition resets p
	r.completed, r.completedMessage = *in, *in.Message
	in = &r.completed
	in.Message = &r.completedMessage
	m := in.Message
	m.PreVote, m.Read = p.preVote, p.read // not on the wire
	if m.Epoch > MaxEpoch || r.cutsCommitted(m) {
		r.backOff(p) // nothing else of it is believed either
		return
	}
	action := [...]string{
		Vote:             actHandleVoteResponse,
		BeginQuorumEpoch: actHandleBeginQuorumEpochResponse,
		EndQuorumEpoch:   actHandleEndQuorumEpochResponse,
		Fetch:            actHandleFetchResponse,
		FetchSnapshot:    actHandleFetchSnapshotResponse,
	}[m.Kind]
	switch {
	case m.Epoch < r.epoch, m.Error == UnknownLeaderEpoch:
		r.backOff(p) // it has to catch up before it is of use
		return
	case m.Epoch > r.epoch, m.Error == FencedLeaderEpoch, m.Error == NotLeaderOrFollower:
		epoch, role := r.epoch, r.role
		switch {
		case !r.learn(m.Epoch, m.Leader, false):
			r.backOff(p)
		case epoch != r.epoch || role != r.role:
			r.done(action, in)
		default:
			r.backOff(p)
			r.rediscovered(m)
		}
		return
	}
	role := r.role
	if !r.learn(m.Epoch, m.Leader, false) {
		r.backOff(p)
		return
	}
	gone := m.Kind == FetchSnapshot && (m.Error == SnapshotNotFound || m.Error == PositionOutOfRange)
	if m.Error != None && !gone {
		// Also INVALID_REQUEST, which stops Kafka: a peer shall not stop us.
		if role != r.role {
			r.done(action, in)
		} else {
			r.backOff(p)
		}
		return
	}
	switch m.Kind {
	case Vote:
		r.handleVoteResponse(in, &answered, role != r.role)
	case BeginQuorumEpoch:
		r.handleBeginQuorumEpochResponse(in, &answered, role != r.role)
	case EndQuorumEpoch:
		r.handleEndQuorumEpochResponse(in, &answered, role != r.role)
	case Fetch:
		r.handleFetchResponse(in, &answered, role != r.role)
	case FetchSnapshot:
		r.handleFetchSnapshotResponse(in, &answered, role != r.role)
	}
}

// fencedVoterRequest checks what Vote, BeginQuorumEpoch and EndQuorumEpoch have in
// common. Whether sender or receiver is a voter is not asked: voter sets may be
// stale (KIP-853).
func (r *Replica) fencedVoterRequest(m *Message) ErrorCode {
	switch {
	case m.Epoch < r.epoch:
		return FencedLeaderEpoch
	case m.Epoch > MaxEpoch, m.From.ID < 0, m.From.ID == r.cfg.ID:
		return InvalidRequest
	}
	return None
}

// meant says whether a request was meant for this replica and this disk. It is
// asked after the transition, as in Kafka.
func (r *Replica) meant(m *Message) bool {
	return m.To.ID < 0 || m.To.ID == r.cfg.ID && (m.To.Directory == DirectoryID{} || m.To.Directory == r.cfg.Directory)
}

// sendRequests sends what the role has to send to peers that are ready.
func (r *Replica) sendRequests() {
	switch r.role {
	case Prospective, Candidate:
		r.sendVoteRequests()
	case Leader:
		r.sendBeginQuorumEpochs()
	case Resigned:
		r.sendEndQuorumEpochs()
	case Follower, Unattached:
		r.sendFetches()
	}
}

// nextWake is when something becomes due without an input.
func (r *Replica) nextWake() Ticks {
	wake := Never
	for i := range r.peers {
		p := &r.peers[i]
		switch {
		case p.busy:
			wake = min(wake, p.deadline)
		case p.backoff > r.now:
			wake = min(wake, p.backoff)
		}
	}
	switch r.role {
	case Follower:
		// An observer stays what it is, and a snapshot that is verified stops the timer.
		if !r.receiving.verifying && (r.mayStand() || r.follow.deadline > r.now) {
			wake = min(wake, r.follow.deadline)
		}
	case Leader:
		wake = min(wake, r.leaderWake())
	case Candidate:
		if r.nominee.backingOff {
			wake = min(wake, r.nominee.backoffUntil)
		} else {
			wake = min(wake, r.electionDeadline)
		}
	default:
		wake = min(wake, r.electionDeadline)
	}
	r.assert(wake > r.now, "a timer that is due was not handled")
	return wake
}

// restartElectionTimer draws a new election timer. An observer's never expires.
func (r *Replica) restartElectionTimer() {
	r.restartElectionTimerAlways()
	if !r.mayStand() {
		r.electionDeadline = Never
	}
}

func (r *Replica) restartElectionTimerAlways() {
	t := uint64(r.cfg.ElectionTimeout)
	r.electionDeadline = r.now + Ticks(t+r.random(t))
}

// electionBackoff is how long a candidate that lost waits, before Pre-Vote.
func (r *Replica) electionBackoff() Ticks {
	n := uint64(2) << min(20, max(r.nominee.retries, 1)-1)
	return min(Ticks(100*r.random(n)), r.cfg.ElectionBackoffMax)
}

// random is a number below n (splitmix64, seeded by the configuration).
func (r *Replica) random(n uint64) uint64 {
	r.rng += 0x9e3779b97f4a7c15
	z := r.rng
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	z ^= z >> 31
	if n == 0 {
		return 0
	}
	return z % n
}
