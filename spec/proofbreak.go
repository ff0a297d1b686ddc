package spec

import "github.com/quorate/quorate/checker"

// breaking has, for conjuncts that a random change seldom breaks alone and where it
// tells, a change that often does.
var breaking = map[string]func(d checker.Dice, s *ProofState){
	"StoredIsElection": func(d checker.Dice, s *ProofState) {
		// Its vote is not in the file; whom it voted for asks again.
		r := s.replica(s.anybody(d))
		if c := r.Election.Voted; c != Nobody {
			r.Stored.Voted = Nobody
			s.Gave[r.ID.index()][r.Stored.Epoch] = 0
			s.ask(c, r)
		}
	},
	"VoteKept": func(d checker.Dice, s *ProofState) {
		// The file has lost the vote; somebody else asks for it.
		r := s.replica(s.anybody(d))
		r.Election.Voted, r.Election.Leader = Nobody, Nobody
		r.Stored = r.Election
		r.Role = pick(d, Unattached, Prospective)
		r.Granted, r.HasFetched, r.EpochStart, r.LeaderChangeWritten = 0, false, 0, false
		s.ask(s.anybody(d), r)
	},
	"VoteOnceEver": func(d checker.Dice, s *ProofState) {
		// Whoever has left the epoch of a leader has voted for another one too.
		e, c := Epoch(1+d.Intn(proofEpochs-1)), s.anyVoter(d)
		for i := range s.replicas() {
			if s.Replicas[i].Election.Epoch > e {
				s.Gave[i][e] = s.Gave[i][e].With(c)
			}
		}
		s.Led[e] = s.Led[e].With(c)
	},
	"GrantsAreVotes": func(d checker.Dice, s *ProofState) {
		c := s.replica(s.anybody(d))
		s.Network[0] = Msg{Kind: Vote, Response: true, Granted: true, Src: s.anybody(d), Dst: c.ID, Epoch: c.Election.Epoch}
		s.Messages = max(1, s.Messages)
	},
	"NobodyVotesInEpochZero": func(d checker.Dice, s *ProofState) {
		// A candidate of epoch 0, with the votes of those that have left it.
		c := s.anyVoter(d)
		r := NewReplica(c, 0)
		r.Role, r.Granted = Candidate, SetOf(c)
		r.Election.Voted, r.Stored.Voted = c, c
		*s.replica(c) = r
		i := c.index()
		s.Gave[i], s.Left[i] = [proofEpochs]Set{SetOf(c)}, [proofEpochs]Log{}
		for j := range s.replicas() {
			if s.Replicas[j].Election.Epoch > 0 {
				s.Gave[j][0] = SetOf(c)
				r.Granted = r.Granted.With(ID(j + 1))
			}
		}
		s.replica(c).Granted = r.Granted
		s.Messages, s.Network = 0, [proofMessages]Msg{}
	},
	"OneBranch": func(d checker.Dice, s *ProofState) {
		r := s.replica(s.anybody(d))
		if r.Role != Leader {
			r.Log = s.anyPast(d, r.Election.Epoch)
		}
		r.Disk = s.anyPast(d, r.Election.Epoch)
	},
	"LeaderHasNoTail": func(d checker.Dice, s *ProofState) {
		r := s.leader(d)
		if r == nil || r.Log.End() > r.EpochStart {
			return
		}
		for e := Epoch(1); e <= r.Election.Epoch; e++ {
			if l := &s.Logs[e]; l.End() > r.Log.End() && CommonPrefix(l, &r.Log) == r.Log.End() {
				r.Disk, r.LeaderChangeWritten = *l, true
			}
		}
	},
	"FetchesGrounded": func(d checker.Dice, s *ProofState) {
		// A fetch that claims a record which nobody has there.
		r := s.leader(d)
		if r == nil || r.Log.End() == 0 {
			return
		}
		o := Offset(1 + d.Intn(int(r.Log.End())))
		s.Network[0] = Msg{
			Kind: Fetch, Src: s.anybody(d), Dst: r.ID, Epoch: r.Election.Epoch,
			Offset: o, LastEpoch: r.Log.At(Offset(d.Intn(int(r.Log.End())))).Epoch,
		}
		s.Messages = max(1, s.Messages)
	},
	"VotedForWasThere": func(d checker.Dice, s *ProofState) {
		// A vote for somebody who has yet to come to its epoch.
		c, i := s.replica(s.anyVoter(d)), s.replica(s.anyVoter(d))
		e := c.Election.Epoch + 1
		if e >= proofEpochs || e > i.Election.Epoch || s.Gave[i.ID.index()][e] != 0 {
			return
		}
		s.Gave[i.ID.index()][e] = SetOf(c.ID)
		c.Disk.TruncateTo(upTo(d, c.Log.End()))
		if e == i.Election.Epoch {
			i.Election.Voted = c.ID
			i.Stored = i.Election
		}
	},
	"ClaimsAreDurable": func(d checker.Dice, s *ProofState) {
		// A request in flight that claims more than its sender has.
		c := s.replica(s.anyVoter(d))
		l := s.anyPast(d, c.Election.Epoch)
		s.Network[0] = Msg{
			Kind: Vote, Src: c.ID, Dst: s.anybody(d), Epoch: c.Election.Epoch,
			Offset: l.End(), LastEpoch: l.LastEpoch(),
		}
		s.Messages = max(1, s.Messages)
	},
	"DivergenceIsLeaders": func(d checker.Dice, s *ProofState) {
		// A leader names too early a point to a follower.
		r := s.replica(s.anybody(d))
		e := r.Election.Epoch
		r.Role, r.Granted, r.EpochStart, r.End, r.LeaderChangeWritten = Follower, 0, 0, [MaxReplicas]Offset{}, false
		r.Reading, r.ReadRound, r.Confirmed, r.ReadOffset = false, 0, 0, 0
		for c := ID(1); int(c) <= s.N; c++ {
			if s.Led[e].Has(c) {
				r.Election.Leader = c
				r.Stored = r.Election
			}
		}
		s.Network[0] = Msg{
			Kind: Fetch, Response: true, Diverging: true, Src: r.Election.Leader, Dst: r.ID, Epoch: e, HighWatermark: Unknown,
			Offset: r.Log.End(), LastEpoch: r.Log.LastEpoch(), DivergingEpoch: Epoch(d.Intn(int(e) + 1)), DivergingEnd: upTo(d, r.Log.End()),
		}
		if r.Election.Leader == Nobody {
			s.Network[0].Src = s.anybody(d)
		}
		s.Messages = max(1, s.Messages)
	},
	"LeadershipStays": func(d checker.Dice, s *ProofState) {
		// Who led its epoch stands in it again.
		r := s.replica(s.anyVoter(d))
		if e := r.Election.Epoch; s.Led[e].Has(r.ID) {
			v := r.Version
			log, disk := r.Log, r.Disk
			*r = NewReplica(r.ID, v)
			r.Log, r.Disk = log, disk
			r.Role, r.Granted = Candidate, s.gaveTo(r.ID, e)
			r.Election = Election{Epoch: e, Voted: r.ID}
			r.Stored = r.Election
			if s.Logs[e].End() == s.Begin[e] {
				r.Log = s.anyPast(d, e)
				r.Disk = r.Log
			}
		}
	},
	"HighWatermarkWasExposed": func(_ checker.Dice, s *ProofState) {
		// Everybody takes all that it has for committed.
		for i := range s.replicas() {
			if r := &s.Replicas[i]; r.Role != Leader && r.Role != Down {
				r.HighWatermark = r.Log.End()
			}
		}
	},
	"EndIsKept": func(d checker.Dice, s *ProofState) {
		if r := s.leader(d); r != nil {
			r.End[s.anyVoter(d).index()] = r.Log.End()
		}
	},
}

// ask puts a vote request of c to r in flight, for all that there is.
func (s *ProofState) ask(c ID, r *Replica) {
	s.Network[0] = Msg{Kind: Vote, Src: c, Dst: r.ID, Epoch: r.Election.Epoch, Offset: r.Log.End(), LastEpoch: r.Log.LastEpoch()}
	s.Messages = max(1, s.Messages)
}

// leader is some replica that leads, or nil.
func (s *ProofState) leader(d checker.Dice) *Replica {
	for n := d.Intn(s.N); n < 2*s.N; n++ {
		if r := &s.Replicas[n%s.N]; r.Role == Leader {
			return r
		}
	}
	return nil
}
