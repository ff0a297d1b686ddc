package spec

import "github.com/quorate/quorate/checker"

// proofDomain makes the states from which the proofs are tried: it draws a history of
// epochs first, then replicas that could have come of it, then messages that they
// could have sent, so that most of what it makes satisfies the invariants. Uniform
// states almost never do.
type proofDomain struct{ *proofSteps }

// ProofDomain is the domain of the proofs under a variant of the protocol.
func ProofDomain(v Variant) checker.Domain[ProofState] { return &proofDomain{newProofSteps(v)} }

// Init implements checker.Domain: two or three voters, with an observer or without,
// of old software or new.
func (p *proofDomain) Init(f func(s *ProofState)) {
	for voters := 2; voters <= 3; voters++ {
		for observers := 0; observers <= 1; observers++ {
			for _, v := range []Version{0, PreVote} {
				s := &p.next
				s.clear(voters, observers)
				for i := range s.replicas() {
					s.Replicas[i].Version = v
				}
				s.derive()
				f(s)
			}
		}
	}
}

// clear makes s the state before the first step.
func (s *ProofState) clear(voters, observers int) {
	*s = ProofState{Voters: All(voters), N: voters + observers}
	for i := range s.replicas() {
		s.Replicas[i] = NewReplica(ID(i+1), PreVote)
	}
}

func oneIn(d checker.Dice, n int) bool { return d.Intn(n) == 0 }

// upTo is a number from 0 to n, often one of the two.
func upTo(d checker.Dice, n Offset) Offset {
	if n <= 0 {
		return 0
	}
	switch d.Intn(4) {
	case 0:
		return n
	case 1:
		return 0
	}
	return Offset(d.Intn(int(n) + 1))
}

func pick[T any](d checker.Dice, of ...T) T { return of[d.Intn(len(of))] }

func (s *ProofState) anybody(d checker.Dice) ID { return ID(d.Intn(s.N) + 1) }

func (s *ProofState) anyVoter(d checker.Dice) ID { return ID(d.Intn(s.Voters.Len()) + 1) }

// Construct implements checker.Domain.
func (p *proofDomain) Construct(d checker.Dice, s *ProofState) {
	voters, observers := 3, 0
	if oneIn(d, 3) {
		voters = 2
	}
	if oneIn(d, 4) {
		observers = 1
	}
	s.clear(voters, observers)
	last := pick[Epoch](d, 1, 2, 2, 3, 3, 3)
	// In a third of the states every epoch was led and left records, most often on
	// branches of their own, and whoever has a record has had it since: histories as
	// that of figure 8 are rare otherwise.
	forked := oneIn(d, 3)
	switch {
	case forked:
		last = 3
	case oneIn(d, 12):
		last = 0
	}
	s.drawEpochs(d, last, forked)
	least := s.drawVotes(d, last)
	for i := range s.replicas() {
		s.drawElection(d, &s.Replicas[i], least[i], last)
	}
	for i := range s.replicas() {
		s.drawLogs(d, &s.Replicas[i], forked)
	}
	s.derive()
	for e := range Epoch(proofEpochs) {
		if most := s.chosen[e]; most > 0 && !oneIn(d, 3) {
			s.Exposed[e] = most - upTo(d, most-s.Begin[e]-1)
		}
	}
	for i := range s.replicas() {
		s.drawMarks(d, &s.Replicas[i])
	}
	for n := d.Intn(3); n > 0; n-- {
		s.drawMessage(d, forked)
	}
}

// drawEpochs draws who led which epoch, and with what log.
func (s *ProofState) drawEpochs(d checker.Dice, last Epoch, forked bool) {
	latest := Epoch(0)
	for e := Epoch(1); e <= last; e++ {
		if !forked && oneIn(d, 4) {
			continue
		}
		c := s.anyVoter(d)
		s.Led[e] = SetOf(c)
		parent := latest
		if oneIn(d, 2) {
			parent = Epoch(d.Intn(int(e)))
		}
		l := s.Logs[parent] // that of an epoch without a leader is empty
		if oneIn(d, 2) && !(forked && oneIn(d, 2)) {
			l.TruncateTo(upTo(d, l.End()))
		}
		s.Begin[e] = l.End()
		n := d.Intn(3)
		if forked {
			n = max(n, 1)
		}
		if n > 0 && l.End() < 4 {
			l.Append(Run{Count: 1, Epoch: e, Origin: c, Kind: LeaderChange})
			l.Append(Run{Count: int64(n - 1), Epoch: e, Origin: c, Kind: Data})
		}
		s.Logs[e] = l
		latest = e
	}
}

// drawVotes draws who voted for whom, and returns the epochs that everybody must have
// come to.
func (s *ProofState) drawVotes(d checker.Dice, last Epoch) (least [proofReplicas]Epoch) {
	vote := func(i, c ID, e Epoch) {
		if s.Gave[i.index()][e] != 0 {
			return
		}
		s.Gave[i.index()][e] = SetOf(c)
		least[i.index()] = max(least[i.index()], e)
		least[c.index()] = max(least[c.index()], e)
	}
	for e := Epoch(1); e <= last; e++ {
		for c := ID(1); s.led(e) && int(c) <= s.N; c++ {
			if !s.Led[e].Has(c) {
				continue
			}
			vote(c, c, e)
			by := SetOf(c)
			for !isMajority(by, s.Voters) {
				i := s.anyVoter(d)
				vote(i, c, e)
				by = by.With(i)
			}
		}
		if c := s.anyVoter(d); !oneIn(d, 3) {
			vote(c, c, e)
			for n := d.Intn(4); n > 0 && s.Gave[c.index()][e].Has(c); n-- {
				vote(s.anybody(d), c, e)
			}
		}
	}
	return least
}

func (s *ProofState) drawElection(d checker.Dice, r *Replica, least, last Epoch) {
	e := least
	if oneIn(d, 3) {
		e += Epoch(d.Intn(int(last-least) + 1))
	}
	r.Election = Election{Epoch: e}
	for c := ID(1); int(c) <= s.N; c++ {
		if s.Gave[r.ID.index()][e].Has(c) {
			r.Election.Voted = c
		}
		if s.Led[e].Has(c) && (c == r.ID || !oneIn(d, 3)) {
			r.Election.Leader = c
		}
	}
	r.Stored = r.Election
	if oneIn(d, 3) {
		r.Version = 0
	}
	switch {
	case r.Election.Leader == r.ID:
		r.Role = pick(d, Leader, Leader, Leader, Resigned, Down)
	case r.Election.Leader != Nobody:
		r.Role = pick(d, Follower, Follower, Follower, Follower, Prospective, Down, Unattached)
	case stands(r):
		r.Role = pick(d, Candidate, Candidate, Candidate, Prospective, Unattached, Down)
	default:
		r.Role = pick(d, Unattached, Unattached, Prospective, Down)
	}
	switch r.Role {
	case Candidate:
		r.Granted = SetOf(r.ID)
		for i := range s.replicas() {
			if s.Gave[i][e].Has(r.ID) && !oneIn(d, 3) {
				r.Granted = r.Granted.With(ID(i + 1))
			}
		}
	case Prospective:
		r.Granted = Set(d.Intn(1 << s.N))
	case Follower:
		r.HasFetched = oneIn(d, 2)
	}
}

// latestLed is the log of the latest led epoch up to e.
func (s *ProofState) latestLed(e Epoch) *Log {
	for e > 0 && !s.led(e) {
		e--
	}
	return &s.Logs[e]
}

// anyPast is the beginning of the log of some epoch up to e.
func (s *ProofState) anyPast(d checker.Dice, e Epoch) Log {
	l := s.latestLed(e)
	if oneIn(d, 3) {
		l = &s.Logs[d.Intn(int(e)+1)]
	}
	if oneIn(d, 2) {
		return *l
	}
	return l.Slice(0, upTo(d, l.End()))
}

func (s *ProofState) drawLogs(d checker.Dice, r *Replica, forked bool) {
	e, i := r.Election.Epoch, r.ID.index()
	r.Log = s.anyPast(d, e)
	if r.Role == Follower && oneIn(d, 2) {
		r.Log = s.Logs[d.Intn(int(e)+1)]
	}
	if r.Role == Leader {
		r.Log = s.Logs[e]
		r.EpochStart = s.Begin[e]
		r.LeaderChangeWritten = r.Log.End() > s.Begin[e]
	}
	r.Disk = r.Log
	switch d.Intn(6) {
	case 0, 1:
		r.Disk.TruncateTo(upTo(d, r.Disk.End()))
	case 2:
		if tail := s.anyPast(d, e); !r.LeaderChangeWritten && CommonPrefix(&tail, &r.Log) == r.Log.End() {
			r.Disk = tail
		}
	}
	for b := range e {
		switch {
		case !forked && oneIn(d, 3):
		case !forked && oneIn(d, 4):
			s.Left[i][b] = s.anyPast(d, b)
		default:
			// What it has now, as far as it was there then.
			had := flushed(r)
			for had.LastEpoch() > b {
				_, end := had.EndOffsetForEpoch(had.LastEpoch() - 1)
				had.TruncateTo(end)
			}
			s.Left[i][b] = had
		}
	}
}

// drawMarks draws high watermarks and end offsets, which the other parts bound.
func (s *ProofState) drawMarks(d checker.Dice, r *Replica) {
	e := r.Election.Epoch
	r.HighWatermark = Unknown
	if r.Role == Down {
		return
	}
	if r.Role != Leader {
		if oneIn(d, 3) {
			return
		}
		of := Epoch(d.Intn(int(e) + 1))
		if most := min(s.Exposed[of], CommonPrefix(&r.Log, &s.Logs[of])); most > 0 {
			r.HighWatermark = upTo(d, most)
		}
		return
	}
	if s.Exposed[e] > 0 && !oneIn(d, 4) {
		r.HighWatermark = s.Exposed[e]
	}
	if oneIn(d, 3) {
		r.Reading, r.ReadRound, r.Confirmed = true, 1, SetOf(r.ID)|Set(d.Intn(1<<s.N))
	}
	for i := range r.End {
		r.End[i] = Unknown
		if id := ID(i + 1); s.Voters.Has(id) && id != r.ID && s.kept[i][e] >= 0 && !oneIn(d, 3) {
			r.End[i] = upTo(d, s.kept[i][e])
		}
	}
}

// drawMessage puts a message in flight that its sender could have sent, most often one
// that its receiver waits for.
func (s *ProofState) drawMessage(d checker.Dice, forked bool) {
	var m Msg
	kind := d.Intn(8)
	if forked && oneIn(d, 2) {
		kind = 6
	}
	switch kind {
	case 0, 1:
		m = s.drawVoteRequest(d)
	case 2:
		m = s.drawVoteResponse(d)
	case 3:
		m = s.drawPair(d, pick(d, BeginQuorumEpoch, EndQuorumEpoch), nil)
		if oneIn(d, 2) {
			s.drawAnswer(d, &m)
		}
	case 4, 5:
		m = s.drawFetch(d)
	default:
		m = s.drawFetched(d)
	}
	s.Network[s.Messages] = m
	s.Messages++
}

// drawPair draws who sends a message to whom, and an epoch that the sender has come
// to: three times in four a receiver that is wanted, in its epoch.
func (s *ProofState) drawPair(d checker.Dice, kind Kind, wanted func(dst, src *Replica) bool) Msg {
	m := Msg{Kind: kind, Late: oneIn(d, 8)}
	if wanted != nil && !oneIn(d, 4) {
		n := 0
		for i := range s.replicas() {
			for j := range s.replicas() {
				dst, src := &s.Replicas[i], &s.Replicas[j]
				if e := dst.Election.Epoch; i != j && e <= src.Election.Epoch && wanted(dst, src) {
					if n++; oneIn(d, n) {
						m.Src, m.Dst, m.Epoch = src.ID, dst.ID, e
					}
				}
			}
		}
		if n > 0 {
			return m
		}
	}
	m.Src, m.Dst = s.anybody(d), s.anybody(d)
	for m.Dst == m.Src {
		m.Dst = s.anybody(d)
	}
	m.Epoch = s.replica(m.Src).Election.Epoch
	if oneIn(d, 3) {
		m.Epoch = Epoch(d.Intn(int(m.Epoch) + 1))
	}
	return m
}

// drawAnswer makes a response of m.
func (s *ProofState) drawAnswer(d checker.Dice, m *Msg) {
	m.Response = true
	m.Error = pick(d, NoErrorCode, NoErrorCode, NoErrorCode, NoErrorCode, NoErrorCode, NoErrorCode, NotLeaderOrFollower, FencedLeaderEpoch, UnknownLeaderEpoch)
	m.Leader = pick(d, Nobody, s.anybody(d))
	for c := ID(1); int(c) <= s.N; c++ {
		if s.Led[m.Epoch].Has(c) && oneIn(d, 2) {
			m.Leader = c
		}
	}
}

func (s *ProofState) drawVoteRequest(d checker.Dice) Msg {
	src := s.replica(s.anyVoter(d))
	for n := 2 * s.N; n > 0 && !stands(src); n-- {
		src = s.replica(s.anyVoter(d))
	}
	m := s.drawPair(d, Vote, nil)
	if stands(src) && src.ID != m.Dst && !oneIn(d, 4) {
		m.Src, m.Epoch = src.ID, src.Election.Epoch
	}
	r := s.replica(m.Src)
	l := s.anyPast(d, m.Epoch)
	if m.Epoch == r.Election.Epoch && !oneIn(d, 4) {
		l = r.Log
	}
	m.Offset, m.LastEpoch = l.End(), l.LastEpoch()
	m.PreVote = m.Epoch == 0 || !s.Gave[m.Src.index()][m.Epoch].Has(m.Src) || oneIn(d, 4)
	return m
}

func (s *ProofState) drawVoteResponse(d checker.Dice) Msg {
	m := s.drawPair(d, Vote, func(dst, src *Replica) bool {
		return dst.Role == Candidate && s.Gave[src.ID.index()][dst.Election.Epoch].Has(dst.ID) ||
			dst.Role == Prospective
	})
	s.drawAnswer(d, &m)
	m.PreVote = oneIn(d, 3)
	m.Granted = m.PreVote && oneIn(d, 2) || s.Gave[m.Src.index()][m.Epoch].Has(m.Dst)
	return m
}

func (s *ProofState) drawFetch(d checker.Dice) Msg {
	m := s.drawPair(d, Fetch, func(dst, _ *Replica) bool { return dst.Role == Leader })
	r := s.replica(m.Src)
	l := flushed(r)
	if m.Epoch < r.Election.Epoch {
		l = s.Left[m.Src.index()][m.Epoch]
	}
	if oneIn(d, 4) {
		l.TruncateTo(upTo(d, l.End()))
	}
	m.Offset, m.LastEpoch = l.End(), l.LastEpoch()
	return m
}

func (s *ProofState) drawFetched(d checker.Dice) Msg {
	apart := oneIn(d, 2)
	m := s.drawPair(d, Fetch, func(dst, src *Replica) bool {
		l := &s.Logs[dst.Election.Epoch]
		return dst.Role == Follower && dst.Election.Leader == src.ID &&
			(!apart || CommonPrefix(l, &dst.Log) < dst.Log.End())
	})
	s.drawAnswer(d, &m)
	m.HighWatermark = Unknown
	to := s.replica(m.Dst)
	l, from := to.Log, &s.Logs[m.Epoch]
	switch d.Intn(6) {
	case 0:
		l = s.anyPast(d, to.Election.Epoch)
	case 1: // an answer to an earlier fetch
		l.TruncateTo(upTo(d, l.End()))
	}
	m.Offset, m.LastEpoch = l.End(), l.LastEpoch()
	if m.Error != NoErrorCode {
		return m
	}
	if !s.led(m.Epoch) {
		m.Error = NotLeaderOrFollower
		return m
	}
	if o := m.Offset; CommonPrefix(&l, from) == o {
		m.Records = from.Slice(o, o+upTo(d, from.End()-o))
	} else {
		past := from.Slice(0, s.Begin[m.Epoch])
		m.Diverging = true
		m.DivergingEpoch, m.DivergingEnd = past.EndOffsetForEpoch(m.LastEpoch)
	}
	if x := s.Exposed[m.Epoch]; x > 0 && !oneIn(d, 3) {
		m.HighWatermark = x - upTo(d, x-1)
	}
	return m
}

// Perturb implements checker.Domain: one part of a replica, a message or the history
// becomes something else.
func (p *proofDomain) Perturb(d checker.Dice, s *ProofState) {
	switch n := d.Intn(10); {
	case n < 5:
		s.perturbReplica(d, s.replica(s.anybody(d)))
	case n < 8 && s.Messages > 0:
		s.perturbMessage(d, &s.Network[d.Intn(s.Messages)])
	default:
		s.perturbHistory(d)
	}
	s.derive()
}

func (s *ProofState) perturbReplica(d checker.Dice, r *Replica) {
	someone := pick(d, Nobody, r.ID, s.anybody(d))
	top := Epoch(proofEpochs - 1)
	switch d.Intn(16) {
	case 0:
		r.Role = Role(d.Intn(int(Down) + 1))
	case 1:
		r.Election.Epoch = Epoch(d.Intn(int(top)))
		r.Stored = r.Election
	case 2:
		r.Election.Leader = someone
		r.Stored = r.Election
	case 3:
		r.Election.Voted = someone
		r.Stored = r.Election
	case 4:
		r.Stored = pick(d, Election{Epoch: r.Election.Epoch}, Election{}, Election{Epoch: r.Election.Epoch, Voted: someone})
	case 5:
		r.Log = s.anyPast(d, top)
		if oneIn(d, 2) {
			r.Disk = r.Log
		}
	case 6:
		r.Disk = s.anyPast(d, top)
	case 7:
		r.Log.TruncateTo(upTo(d, r.Log.End()))
	case 8:
		r.Disk.TruncateTo(upTo(d, r.Disk.End()))
	case 9:
		if r.Log.End() < 4 {
			r.Log.Append(Run{Count: 1, Epoch: max(1, r.Election.Epoch), Origin: r.ID, Kind: Data})
		}
		if oneIn(d, 2) {
			r.Disk = r.Log
		}
	case 10:
		r.HighWatermark = Offset(d.Intn(int(r.Log.End())+2)) - 1
	case 11:
		if r.Role == Leader {
			r.End[d.Intn(s.N)] = Offset(d.Intn(int(r.Log.End())+2)) - 1
		} else {
			r.Granted = Set(d.Intn(1 << s.N))
		}
	case 12:
		r.EpochStart = upTo(d, r.Log.End())
	case 13:
		r.LeaderChangeWritten = !r.LeaderChangeWritten
	case 14: // a tail on disk that is not in the log
		if tail := s.anyPast(d, top); CommonPrefix(&tail, &r.Log) == r.Log.End() {
			r.Disk = tail
		}
		r.LeaderChangeWritten = r.Role == Leader && (r.LeaderChangeWritten || oneIn(d, 2))
	case 15: // what another epoch exposed
		if most := min(s.Exposed[d.Intn(int(top))], r.Log.End()); most > 0 {
			r.HighWatermark = most
		}
	}
}

func (s *ProofState) perturbMessage(d checker.Dice, m *Msg) {
	r := s.replica(m.Src)
	switch d.Intn(9) {
	case 0:
		m.Epoch = Epoch(d.Intn(proofEpochs - 1))
	case 1:
		m.Src = s.anybody(d)
	case 2:
		m.Dst = s.anybody(d)
	case 3:
		l := pick(d, r.Log, s.replica(m.Dst).Log, s.anyPast(d, proofEpochs-1))
		m.Offset, m.LastEpoch = l.End(), l.LastEpoch()
	case 4:
		m.Offset = upTo(d, 4)
		m.LastEpoch = Epoch(d.Intn(proofEpochs - 1))
	case 5:
		if m.Kind == Vote && m.Response {
			m.Granted = !m.Granted
		} else if m.Kind == Vote {
			m.PreVote = !m.PreVote
		}
	case 6:
		if brings(m) {
			m.HighWatermark = Offset(d.Intn(5)) - 1
		}
	case 7:
		if brings(m) {
			l := s.anyPast(d, proofEpochs-1)
			m.Records = l.Slice(min(m.Offset, l.End()), l.End())
		}
	case 8:
		if m.Kind == Fetch && m.Response && m.Error == NoErrorCode {
			m.Records, m.Diverging = Log{}, true
			m.DivergingEpoch, m.DivergingEnd = Epoch(d.Intn(proofEpochs-1)), upTo(d, 4)
		}
	}
}

func (s *ProofState) perturbHistory(d checker.Dice) {
	e := Epoch(d.Intn(proofEpochs - 1))
	i := d.Intn(s.N)
	switch d.Intn(7) {
	case 0:
		s.Gave[i][e] = SetOf(s.anybody(d))
	case 1:
		s.Gave[i][e] = pick(d, 0, s.Gave[i][e].With(s.anybody(d)))
	case 2:
		s.Left[i][e] = s.anyPast(d, proofEpochs-1)
	case 3:
		s.Led[e] = pick(d, 0, s.Led[e].With(s.anybody(d)))
		if s.Led[e] == 0 {
			s.Logs[e], s.Begin[e], s.Exposed[e] = Log{}, 0, 0
		}
	case 4:
		s.Logs[e] = s.anyPast(d, proofEpochs-1)
	case 5:
		s.Begin[e] = upTo(d, s.Logs[e].End())
	case 6:
		s.Exposed[e] = upTo(d, s.Logs[e].End())
	}
}
