package core

import (
	"errors"
	"slices"
	"strconv"

	"github.com/quorate/quorate/traces/event"
)

// Voter sets (KIP-853). The set in force is the last that the log has, committed or not,
// and the snapshot that the log continues counts as part of it: a set takes effect when
// its record is appended, and truncation takes it back. Where there is none, kraft.version
// is 0 and the set is that of the configuration, for ever.

// Voter is a member of a voter set.
type Voter struct {
	Key ReplicaKey
	// Info is where it listens and which levels of kraft.version it can do, as the driver
	// encodes that. The core compares it and hands it on.
	Info string
}

// VoterSet is a voter set and where it is from. It is never changed.
type VoterSet struct {
	// Offset of its KRaftVoters record; of the last record of the snapshot that has it; or
	// one of the constants below.
	Offset Offset
	Voters []Voter
}

const (
	// ZeroCheckpoint is the offset of a set that the zero checkpoint has: it was in no log
	// so far.
	ZeroCheckpoint Offset = -1
	// StaticVoters is the offset of the set of the configuration: kraft.version is 0.
	StaticVoters Offset = -2
)

// Dynamic says whether kraft.version is 1.
func (s *VoterSet) Dynamic() bool { return s.Offset != StaticVoters }

// Find returns a member by id.
func (s *VoterSet) Find(id ReplicaID) (Voter, bool) {
	i := s.index(id)
	if i < 0 {
		return Voter{Key: NoKey}, false
	}
	return s.Voters[i], true
}

func (s *VoterSet) index(id ReplicaID) int {
	return slices.IndexFunc(s.Voters, func(v Voter) bool { return v.Key.ID == id })
}

func (s *VoterSet) event() (nodes []event.Node) {
	for _, v := range s.Voters {
		nodes = append(nodes, v.Key.event())
	}
	slices.SortFunc(nodes, func(a, b event.Node) int { return int(a.ID - b.ID) })
	return nodes
}

func (known ReplicaKey) event() event.Node {
	return event.Node{ID: int32(known.ID), Dir: known.Directory.String()}
}

// ControlRecord is one of a control batch with more than a LeaderChange.
type ControlRecord struct {
	Kind ControlKind
	// Voters of a KRaftVoters record.
	Voters []Voter
}

// ControlKind is a type of control records.
type ControlKind uint8

// Types of control records.
const (
	LeaderChangeRecord ControlKind = iota
	KRaftVersionRecord
	KRaftVotersRecord
)

func (k ControlKind) String() string {
	return [...]string{event.LeaderChange, event.KRaftVersion, event.KRaftVoters}[k]
}

// checkVoters says what is wrong with a set by itself, "" if nothing is.
func checkVoters(voters []Voter) string {
	if len(voters) == 0 {
		return "a voter set is empty"
	}
	for i, v := range voters {
		if v.Key.ID < 0 {
			return "the id of a voter is negative"
		}
		if slices.ContainsFunc(voters[:i], func(w Voter) bool { return v.Key.ID == w.Key.ID }) {
			return "two voters have one id"
		}
	}
	return ""
}

// overlap says whether two sets differ by one voter at most, who came or went: then any
// majority of one has a member of any of the other. VoterSet.hasOverlappingMajority lets
// one come and another go at once, and that does not hold then (docs/findings.md).
func overlap(a, b []Voter) bool {
	return outsiders(a, b)+outsiders(b, a) <= 1
}

// outsiders are how many of a are not in b.
func outsiders(a, b []Voter) (n int) {
	for _, v := range a {
		if !slices.ContainsFunc(b, func(w Voter) bool { return v.Key == w.Key }) {
			n++
		}
	}
	return n
}

// voterHistory are the sets of a log by offset, ascending (VoterSetHistory).
type voterHistory struct {
	static *VoterSet
	sets   []*VoterSet
}

func (h *voterHistory) last() *VoterSet {
	if n := len(h.sets); n > 0 {
		return h.sets[n-1]
	}
	return h.static
}

// at is the set that was in force below an offset.
func (h *voterHistory) at(end Offset) *VoterSet {
	for _, s := range slices.Backward(h.sets) {
		if s.Offset < end {
			return s
		}
	}
	return h.static
}

// mayFollow says whether a set may be appended after the last one.
func (h *voterHistory) mayFollow(voters []Voter) bool {
	last := h.last()
	return checkVoters(voters) == "" && (last.Offset < 0 || overlap(last.Voters, voters))
}

func (h *voterHistory) add(offset Offset, voters []Voter) {
	h.sets = append(h.sets, &VoterSet{Offset: offset, Voters: slices.Clone(voters)})
}

// cut takes back the sets from an offset on, and says whether there were any
// (truncateNewEntries).
func (h *voterHistory) cut(to Offset) bool {
	n := len(h.sets)
	for n > 0 && h.sets[n-1].Offset >= to {
		n--
	}
	if n == len(h.sets) {
		return false
	}
	h.sets = slices.Clip(h.sets[:n])
	return true
}

// forget drops the sets that nobody asks for any more, as the log starts at an offset
// (truncateOldEntries).
func (h *voterHistory) forget(start Offset) {
	for len(h.sets) > 1 && h.sets[1].Offset < start {
		h.sets = h.sets[1:]
	}
}

// VoterSet is the voter set in force.
func (r *Replica) VoterSet() *VoterSet { return r.voterSet }

// VoterSetAt is the voter set that was in force below an offset that is not below the log
// start: that of a snapshot which ends there.
func (r *Replica) VoterSetAt(end Offset) *VoterSet { return r.history.at(end) }

// takeEffect makes the last voter set of the log the one in force. What is known of a
// replica stays, whether it is a voter or not (LeaderState.updateVoterAndObserverStates).
func (r *Replica) takeEffect() {
	before := r.voters
	r.useVoters()
	r.recording.voters = true
	if r.role == Leader {
		r.lead.reorder(r, before)
		r.restartCheckQuorum()
	} else {
		r.assert(r.role == Follower, "the voter set changes in a role that changes no log")
	}
}

// useVoters finds out who the voters are, and puts their peers before others.
func (r *Replica) useVoters() {
	r.voterSet = r.history.last()
	r.voters = make([]ReplicaKey, len(r.voterSet.Voters))
	peers := make([]peer, 0, len(r.peers)+1)
	for i, v := range r.voterSet.Voters {
		r.voters[i] = v.Key
		p := peer{id: v.Key.ID}
		if j := slices.IndexFunc(r.peers, func(q peer) bool { return q.id == v.Key.ID }); j >= 0 {
			p = r.peers[j]
		}
		p.voter = i
		peers = append(peers, p)
	}
	for _, p := range r.peers {
		if r.voterSet.index(p.id) < 0 {
			p.voter = -1
			peers = append(peers, p)
		}
	}
	r.peers = peers
	r.self = voterIndex(r.voters, r.key())
}

// mayStand says whether this replica may stand for election: it is a voter, or was one before
// a change of which it does not know that it is committed (Ongaro's thesis, 4.2.2). Of two
// voters the leader may have removed itself, and go before the other has the record: then
// it has the longer log, so the other cannot be elected. Kafka stays without a leader
// there (docs/divergence.md).
func (r *Replica) mayStand() bool {
	if r.self >= 0 || r.voterSet.Offset < r.hwFloor {
		return r.self >= 0
	}
	for _, s := range slices.Backward(r.history.sets) {
		if outsiders(s.Voters, r.voterSet.Voters)+outsiders(r.voterSet.Voters, s.Voters) > 0 {
			return slices.ContainsFunc(s.Voters, func(v Voter) bool { return v.Key.matches(r.key()) })
		}
	}
	return false
}

// key is that of this replica.
func (r *Replica) key() ReplicaKey { return ReplicaKey{ID: r.cfg.ID, Directory: r.cfg.Directory} }

// reorder keeps what a leader knows of replicas when the voters were others before.
func (l *leaderState) reorder(r *Replica, before []ReplicaKey) {
	states := make([]voterState, len(r.voters))
	for i, key := range r.voters {
		if j := slices.Index(before, key); j >= 0 {
			states[i] = l.voters[j]
			continue
		}
		states[i].end = UnknownOffset
		if p := l.progressOf(key); p != nil {
			states[i].end, states[i].lastFetch, states[i].hasFetch = p.End, p.LastFetch, true
		}
	}
	l.voters = states
	l.scratch = make([]Offset, len(states))
	l.heartbeat = min(l.heartbeat, r.now+r.heartbeatPeriod())
}

// check refuses a history of voter sets that cannot be.
func (d *DiskState) checkVoters() error {
	for i, s := range d.VoterSets {
		name := "core: the voter set at offset " + strconv.FormatInt(int64(s.Offset), 10)
		switch {
		case s.Offset < ZeroCheckpoint || s.Offset >= max(d.LogEnd, 0):
			return errors.New(name + " is not of this log")
		case i > 0 && s.Offset <= d.VoterSets[i-1].Offset:
			return errors.New(name + " does not ascend")
		case i > 0 && d.VoterSets[i-1].Offset >= 0 && !overlap(d.VoterSets[i-1].Voters, s.Voters):
			return errors.New(name + " differs from the one before by more than one voter")
		}
		if reason := checkVoters(s.Voters); reason != "" {
			return errors.New(name + ": " + reason)
		}
	}
	return nil
}
