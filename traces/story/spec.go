package story

import (
	"fmt"
	"slices"

	"github.com/quorate/quorate/spec"
)

// specCast plays with replicas of the specification. It adds what a script does
// not say: that a replica does at once what it has to do.
type specCast struct {
	ctx      spec.Ctx
	cluster  Cluster
	replicas []spec.Replica
	network  []spec.Msg
	parked   []spec.Msg
	wants    []wants
	served   [][]spec.Offset
	out      spec.Outbox
}

// wants is what a replica still has to send.
type wants struct {
	role  spec.Role
	epoch spec.Epoch
	// asked: nominees have asked these, leaders and resigned ones told them.
	asked spec.Set
	// confirm: asked to confirm the present read.
	confirm spec.Set
	reads   int
	// successor of a resigned leader: it need not wait.
	successor spec.ID
}

// NewSpec is a cast of specification replicas.
func NewSpec(c Cluster) (Cast, error) {
	if c.Voters < 1 || c.Voters+c.Observers > spec.MaxReplicas {
		return nil, fmt.Errorf("cluster of %d voters and %d observers", c.Voters, c.Observers)
	}
	s := &specCast{cluster: c, ctx: spec.Ctx{Rules: spec.CleanRules(), Voters: spec.All(c.Voters), Dynamic: c.Dynamic}}
	v := spec.Version(0)
	if c.PreVote {
		v = spec.PreVote
	}
	for i := 0; i < c.Voters+c.Observers; i++ {
		s.replicas = append(s.replicas, spec.NewReplica(spec.ID(i+1), v))
	}
	s.wants = make([]wants, len(s.replicas))
	s.served = make([][]spec.Offset, len(s.replicas))
	s.calm()
	return s, nil
}

func (s *specCast) at(id spec.ID) *spec.Replica { return &s.replicas[id-1] }

// Line implements Cast.
func (s *specCast) Line(id spec.ID) Line {
	r := s.at(id)
	l := Line{
		Role: r.Role.String(), Epoch: r.Election.Epoch, Leader: r.Election.Leader, Voted: r.Election.Voted,
		Log: r.Log, Flushed: r.FlushedEnd(), HighWatermark: r.HighWatermark, Voters: s.ctx.VotersOf(r), Served: s.served[id-1], Snapshots: s.snapshots(r),
	}
	if r.Voters == 0 && int(id) > s.cluster.Voters {
		l.Voters = 0 // it has no zero checkpoint, so knows of none
	}
	if l.Leader == id || l.Leader != spec.Nobody && !s.cluster.PreVote {
		// Kafka forgets a leader's vote for itself, and before Pre-Vote every vote beside
		// a leader; nothing depends on it.
		l.Voted = spec.Nobody
	}
	s.served[id-1] = nil
	return l
}

// Messages implements Cast.
func (s *specCast) Messages() []spec.Msg {
	return slices.DeleteFunc(slices.Clone(s.network), func(m spec.Msg) bool { return m.Late && m.Response })
}

// Parked implements Cast.
func (s *specCast) Parked() []spec.Msg { return slices.Clone(s.parked) }

// take runs an action and posts what it sends.
func (s *specCast) take(a spec.ActionID, id spec.ID, m *spec.Msg, args spec.Args) bool {
	r := s.at(id)
	before := *r
	if !s.ctx.Take(a, r, m, args, &s.out) {
		return false
	}
	s.network = append(s.network, s.out.Messages()...)
	if r.Role != before.Role || r.Election.Epoch != before.Election.Epoch || r.Election.Leader != before.Election.Leader {
		s.reset(id, false)
	}
	return true
}

// reset closes the connections that a replica opened, when its role changes; and
// those that others opened to it, when its process ends.
func (s *specCast) reset(id spec.ID, process bool) {
	kept := s.network[:0]
	for _, m := range s.network {
		opener, acceptor := m.Src, m.Dst
		if m.Response {
			opener, acceptor = acceptor, opener
		}
		if process && (opener == id || acceptor == id) {
			if w := &s.wants[opener-1]; opener != id && !m.Late {
				// Its request has failed, and it asks again; but a leader that announced
				// itself waits for its next heartbeat.
				w.confirm &^= spec.SetOf(id)
				if w.role != spec.Leader {
					w.asked &^= spec.SetOf(id)
				}
			}
			continue
		}
		if opener == id {
			if m.Response {
				continue
			}
			m.Late = true
		}
		kept = append(kept, m)
	}
	s.network = kept
	s.parked = slices.DeleteFunc(s.parked, func(m spec.Msg) bool {
		return m.Src == id || process && m.Dst == id
	})
}

// waiting says whether a request of id to dst is unanswered.
func (s *specCast) waiting(id, dst spec.ID) bool {
	open := func(m spec.Msg) bool {
		return !m.Late && (!m.Response && m.Src == id && m.Dst == dst || m.Response && m.Src == dst && m.Dst == id)
	}
	return slices.ContainsFunc(s.network, open) || slices.ContainsFunc(s.parked, open)
}

func (s *specCast) waitingForAny(id spec.ID) bool {
	for i := range s.replicas {
		if s.waiting(id, spec.ID(i+1)) {
			return true
		}
	}
	return false
}

// calm lets every replica do what it has to do, until nobody has.
func (s *specCast) calm() {
	for moved := true; moved; {
		moved = false
		for i := range s.replicas {
			for s.duty(spec.ID(i + 1)) {
				moved = true
			}
		}
	}
}

// duty does one thing that a replica has to do.
func (s *specCast) duty(id spec.ID) bool {
	r, w := s.at(id), &s.wants[id-1]
	if w.role != r.Role || w.epoch != r.Election.Epoch {
		*w = wants{role: r.Role, epoch: r.Election.Epoch, successor: w.successor}
	}
	for _, a := range []spec.ActionID{spec.ActionBecomeCandidate, spec.ActionBecomeLeader, spec.ActionAppendLeaderChange} {
		ready := a != spec.ActionBecomeCandidate || r.Role == spec.Prospective
		if ready && s.take(a, id, nil, spec.Args{}) {
			return true
		}
	}
	if s.leaves(r) {
		return s.Resign(id) == nil
	}
	if s.cluster.Voters == 1 && id == 1 && s.alone(id) && s.fire(id) { // nobody to wait for
		return true
	}
	if s.serve(id, w) || s.unpark(id) {
		return true
	}
	for i := range s.replicas {
		dst := spec.ID(i + 1)
		if s.waiting(id, dst) {
			continue
		}
		switch r.Role {
		case spec.Prospective, spec.Candidate:
			if !w.asked.Has(dst) && s.take(spec.ActionSendVoteRequest, id, nil, spec.Args{Dst: dst}) {
				w.asked = w.asked.With(dst)
				return true
			}
		case spec.Leader:
			due := !w.asked.Has(dst) || r.Reading && !w.confirm.Has(dst)
			if due && s.take(spec.ActionSendBeginQuorumEpoch, id, nil, spec.Args{Dst: dst}) {
				w.asked = w.asked.With(dst)
				if r.Reading {
					w.confirm = w.confirm.With(dst)
				}
				return true
			}
		case spec.Resigned:
			if !w.asked.Has(dst) && s.take(spec.ActionSendEndQuorumEpoch, id, nil, spec.Args{Dst: dst}) {
				w.asked = w.asked.With(dst)
				return true
			}
		case spec.Follower:
			if r.Fetching.Snapshot.End > 0 {
				if dst == r.Election.Leader && s.take(spec.ActionSendFetchSnapshot, id, nil, spec.Args{Dst: dst}) {
					return true
				}
				continue
			}
			if dst == r.Election.Leader && !s.waitingForAny(id) && s.take(spec.ActionSendFetch, id, nil, spec.Args{Dst: dst}) {
				return true
			}
		case spec.Unattached:
			// Voters look for a leader too, and who was one; what they ask is left out of
			// stories.
			if int(id) > s.cluster.Voters && !s.ctx.VotersOf(r).Has(id) && dst == 1 && !s.waitingForAny(id) && s.take(spec.ActionSendFetch, id, nil, spec.Args{Dst: dst}) {
				return true
			}
		}
	}
	return false
}

// serve begins and ends reads.
func (s *specCast) serve(id spec.ID, w *wants) bool {
	r := s.at(id)
	offset := r.ReadOffset
	if s.take(spec.ActionServeRead, id, nil, spec.Args{}) {
		s.served[id-1] = append(s.served[id-1], offset)
		w.confirm = 0
		return true
	}
	if w.reads > 0 && s.take(spec.ActionStartRead, id, nil, spec.Args{}) {
		w.reads--
		w.confirm = 0
		return true
	}
	return false
}

// unpark answers a parked fetch that has something to learn, or whose leader is
// none any more.
func (s *specCast) unpark(id spec.ID) bool {
	r := s.at(id)
	for i, m := range s.parked {
		if m.Dst != id {
			continue
		}
		news := r.Role != spec.Leader || r.Log.End() > m.Offset || r.HighWatermark > s.at(m.Src).HighWatermark
		if !news {
			continue
		}
		s.parked = slices.Delete(s.parked, i, i+1)
		s.handleFetch(id, m)
		return true
	}
	return false
}

// handleFetch answers with everything there is.
func (s *specCast) handleFetch(id spec.ID, m spec.Msg) {
	if !s.take(spec.ActionHandleFetchRequest, id, &m, spec.Args{Count: int64(s.at(id).Log.End() - m.Offset)}) {
		s.take(spec.ActionHandleFetchRequest, id, &m, spec.Args{})
	}
}

// Deliver implements Cast.
func (s *specCast) Deliver(m spec.Msg) error {
	at := slices.Index(s.network, m)
	if at < 0 {
		return fmt.Errorf("%s is not in flight", m.String())
	}
	s.network = slices.Delete(s.network, at, at+1)
	a := spec.HandlerOf(&m)
	r := s.at(m.Dst)
	switch {
	case a == spec.ActionHandleFetchRequest && s.parks(r, &m):
		if !s.take(a, m.Dst, &m, spec.Args{Park: true}) {
			return fmt.Errorf("%s cannot be parked", m.String())
		}
		s.parked = append(s.parked, m)
	case a == spec.ActionHandleFetchRequest:
		s.handleFetch(m.Dst, m)
	case a == spec.ActionHandleFetchSnapshotRequest:
		s.handleFetchSnapshot(m.Dst, m)
	case !s.take(a, m.Dst, &m, spec.Args{}):
		return fmt.Errorf("%s is not handled", m.String())
	case a == spec.ActionHandleEndQuorumEpochRequest && r.Role == spec.Follower && r.Election.Leader == m.Src && s.wants[m.Src-1].successor == m.Dst:
		s.fire(m.Dst)
	}
	s.calm()
	return nil
}

// parks: a valid fetch with nothing to learn waits, but one that looks for the
// leader does not.
func (s *specCast) parks(r *spec.Replica, m *spec.Msg) bool {
	if r.Role != spec.Leader || m.Epoch != r.Election.Epoch || m.Offset < r.Log.End() || s.at(m.Src).Role != spec.Follower || s.ctx.Rules.BelowLog(r, m) {
		return false
	}
	epoch, end := r.EndOffsetForEpoch(m.LastEpoch)
	return m.Offset == 0 || epoch == m.LastEpoch && m.Offset <= end
}

// fire lets the timer of a replica fire. One that leaves Resigned keeps the timer,
// which has just fired.
func (s *specCast) fire(id spec.ID) bool {
	if s.take(spec.ActionAbandonPreVote, id, nil, spec.Args{}) {
		return true
	}
	left := s.take(spec.ActionLeaveResigned, id, nil, spec.Args{})
	role := s.at(id).Role
	if role == spec.Leader || role == spec.Candidate && s.alone(id) {
		return left
	}
	return s.take(spec.ActionBecomeProspective, id, nil, spec.Args{}) ||
		!s.cluster.PreVote && s.take(spec.ActionBecomeCandidate, id, nil, spec.Args{}) || left
}

// alone says whether a replica is the only voter of the set in force.
func (s *specCast) alone(id spec.ID) bool { return s.ctx.VotersOf(s.at(id)) == spec.SetOf(id) }

// leaves says whether a leader has taken itself out of the voter set, and that is committed.
func (s *specCast) leaves(r *spec.Replica) bool {
	return r.Role == spec.Leader && !s.ctx.VotersOf(r).Has(r.ID) && r.HighWatermark == r.Log.End()
}

// AddVoter implements Cast.
func (s *specCast) AddVoter(id, voter spec.ID) error { return s.change(spec.ActionAddVoter, id, voter) }

// RemoveVoter implements Cast.
func (s *specCast) RemoveVoter(id, voter spec.ID) error {
	return s.change(spec.ActionRemoveVoter, id, voter)
}

func (s *specCast) change(a spec.ActionID, id, voter spec.ID) error {
	if !s.take(a, id, nil, spec.Args{Voter: voter}) {
		return fmt.Errorf("%s refuses", id)
	}
	s.wants[id-1].asked = s.wants[id-1].asked.With(voter) // it fetches, so it knows who leads
	s.calm()
	return nil
}

// Timeout implements Cast.
func (s *specCast) Timeout(id spec.ID) error {
	if !s.fire(id) {
		return fmt.Errorf("%s has no timer that could fire as %s", id, s.at(id).Role)
	}
	s.calm()
	return nil
}

// resigned notes whom a leader that resigns would have as its successor: the voter
// with most of the log.
func (s *specCast) resigned(id spec.ID, ends [spec.MaxReplicas]spec.Offset) {
	best := spec.Nobody
	for i := 1; i <= len(s.replicas); i++ {
		if v := spec.ID(i); v != id && s.ctx.VotersOf(s.at(id)).Has(v) && (best == spec.Nobody || ends[v-1] > ends[best-1]) {
			best = v
		}
	}
	s.wants[id-1].successor = best
}

// Flush implements Cast.
func (s *specCast) Flush(id spec.ID) error {
	if !s.take(spec.ActionFlush, id, nil, spec.Args{Count: int64(s.at(id).Log.End())}) {
		return fmt.Errorf("%s has nothing to flush", id)
	}
	s.calm()
	return nil
}

// Append implements Cast.
func (s *specCast) Append(id spec.ID, records int) error {
	if !s.take(spec.ActionAppend, id, nil, spec.Args{Count: int64(records)}) {
		return fmt.Errorf("%s does not lead", id)
	}
	s.calm()
	return nil
}

// Read implements Cast.
func (s *specCast) Read(id spec.ID) error {
	if s.at(id).Role != spec.Leader {
		return fmt.Errorf("%s does not lead", id)
	}
	s.wants[id-1].reads++
	s.calm()
	return nil
}

// Crash implements Cast.
func (s *specCast) Crash(id spec.ID, keep spec.Offset) error {
	for k, l := range spec.Survivors(s.at(id)) {
		if l.End() != keep {
			continue
		}
		s.take(spec.ActionCrash, id, nil, spec.Args{Keep: k})
		s.reset(id, true)
		s.take(spec.ActionRestart, id, nil, spec.Args{})
		s.wants[id-1] = wants{}
		s.calm()
		return nil
	}
	return fmt.Errorf("a crash cannot leave the log of %s ending at %d", id, keep)
}

// CheckQuorum implements Cast.
func (s *specCast) CheckQuorum(id spec.ID) error {
	ends := s.at(id).End
	if !s.take(spec.ActionCheckQuorumResign, id, nil, spec.Args{}) {
		return fmt.Errorf("%s does not lead others", id)
	}
	s.resigned(id, ends)
	s.calm()
	return nil
}

// Resign implements Cast.
func (s *specCast) Resign(id spec.ID) error {
	ends := s.at(id).End
	if !s.take(spec.ActionResign, id, nil, spec.Args{}) {
		return fmt.Errorf("%s does not lead", id)
	}
	s.resigned(id, ends)
	s.calm()
	return nil
}
