package spec

import "github.com/quorate/quorate/checker"

// Conjunct is a fact about a state with its history.
type Conjunct = checker.Conjunct[ProofState]

func everyReplicaOf(holds func(s *ProofState, r *Replica) bool) func(*ProofState) bool {
	return func(s *ProofState) bool {
		for i := range s.replicas() {
			if !holds(s, &s.Replicas[i]) {
				return false
			}
		}
		return true
	}
}

func everyMessageOf(holds func(s *ProofState, m *Msg) bool) func(*ProofState) bool {
	return func(s *ProofState) bool {
		for i := range s.network() {
			if !holds(s, &s.Network[i]) {
				return false
			}
		}
		return true
	}
}

func everyEpochOf(holds func(s *ProofState, e Epoch) bool) func(*ProofState) bool {
	return func(s *ProofState) bool {
		for e := range Epoch(proofEpochs) {
			if !holds(s, e) {
				return false
			}
		}
		return true
	}
}

// gaveTo are those who ever voted for c in an epoch.
func (s *ProofState) gaveTo(c ID, e Epoch) Set {
	var by Set
	for i := range s.replicas() {
		if s.Gave[i][e].Has(c) {
			by = by.With(ID(i + 1))
		}
	}
	return by
}

// electionInvariant is Part B of docs/proofs/election-safety.md.
var electionInvariant = []Conjunct{
	{Name: "StoredIsElection", Doc: "the quorum-state file says what the process knows", Holds: everyReplicaOf(func(_ *ProofState, r *Replica) bool {
		return r.Stored == r.Election
	})},
	{Name: "VotesArePast", Doc: "no replica has voted in a higher epoch than it is in", Holds: func(s *ProofState) bool {
		for i := range s.replicas() {
			for e := s.Replicas[i].Stored.Epoch + 1; e < proofEpochs; e++ {
				if s.Gave[i][e] != 0 {
					return false
				}
			}
		}
		return true
	}},
	{Name: "VoteKept", Doc: "a vote given in the present epoch is the one in the file", Holds: everyReplicaOf(func(s *ProofState, r *Replica) bool {
		var voted Set
		if r.Stored.Voted != Nobody {
			voted = SetOf(r.Stored.Voted)
		}
		return s.Gave[r.ID.index()][r.Stored.Epoch] == voted
	})},
	{Name: "VoteOnceEver", Doc: "in each epoch a replica votes for one candidate, ever", Holds: func(s *ProofState) bool {
		for i := range s.replicas() {
			for _, given := range s.Gave[i] {
				if given.Len() > 1 {
					return false
				}
			}
		}
		return true
	}},
	{Name: "GrantsAreVotes", Doc: "who grants a vote has it in the file, or had it", Holds: everyMessageOf(func(s *ProofState, m *Msg) bool {
		return !isGrant(m) || s.Gave[m.Src.index()][m.Epoch].Has(m.Dst)
	})},
	{Name: "GrantedWereGiven", Doc: "a candidate counts only who has voted for it in its epoch", Holds: everyReplicaOf(func(s *ProofState, r *Replica) bool {
		for i := range s.replicas() {
			if r.Role == Candidate && r.Granted.Has(ID(i+1)) && !s.Gave[i][r.Election.Epoch].Has(r.ID) {
				return false
			}
		}
		return true
	})},
	{Name: "LeaderHasMajority", Doc: "whoever leads or led an epoch has votes of a majority in it", Holds: func(s *ProofState) bool {
		for i := range s.replicas() {
			if r := &s.Replicas[i]; r.Role == Leader && !s.Led[r.Election.Epoch].Has(r.ID) {
				return false
			}
		}
		for e, led := range s.Led {
			for c := ID(1); led != 0 && int(c) <= s.N; c++ {
				if led.Has(c) && !isMajority(s.gaveTo(c, Epoch(e)), s.Voters) {
					return false
				}
			}
		}
		return true
	}},
}

var electionTheorem = []Conjunct{
	{Name: "ElectionSafety", Doc: "an epoch has at most one leader, ever", Holds: everyEpochOf(func(s *ProofState, e Epoch) bool {
		return s.Led[e].Len() <= 1
	})},
}

// grounded: if the last record of l is of epoch e, l is the beginning of the log of
// the leader of e.
func (s *ProofState) grounded(l *Log) bool {
	return l.End() == 0 || CommonPrefix(l, &s.Logs[l.LastEpoch()]) == l.End()
}

// logInvariant is that of docs/proofs/log-matching.md.
var logInvariant = []Conjunct{
	{Name: "NobodyVotesInEpochZero", Doc: "in epoch 0 nobody votes, and nobody asks for a vote", Holds: func(s *ProofState) bool {
		for i := range s.replicas() {
			if s.Gave[i][0] != 0 {
				return false
			}
		}
		for i := range s.network() {
			if m := &s.Network[i]; asksVote(m) && m.Epoch == 0 {
				return false
			}
		}
		return true
	}},
	{Name: "CandidateStands", Doc: "a candidate has voted for itself and knows no leader", Holds: everyReplicaOf(func(_ *ProofState, r *Replica) bool {
		return r.Role != Candidate || stands(r)
	})},
	{Name: "LeadershipStays", Doc: "who led an epoch is not in an earlier one; as long as it is in that one it names itself as leader, and leads, has resigned, or is down, so that it never stands there again; and nobody else names itself", Holds: everyReplicaOf(func(s *ProofState, r *Replica) bool {
		for e := r.Election.Epoch + 1; e < proofEpochs; e++ {
			if s.Led[e].Has(r.ID) {
				return false
			}
		}
		led := s.Led[r.Election.Epoch].Has(r.ID)
		return led == (r.Election.Leader == r.ID) && (!led || r.Role == Leader || r.Role == Resigned || r.Role == Down)
	})},
	{Name: "EpochLogsGrounded", Doc: "the log of an epoch is the beginning of that of an earlier one, and then records of its own; an epoch without a leader has none", Holds: everyEpochOf(func(s *ProofState, e Epoch) bool {
		l, begin := &s.Logs[e], s.Begin[e]
		if !s.led(e) {
			return l.End() == 0
		}
		if begin > l.End() {
			return false
		}
		past := l.Slice(0, begin)
		if past.LastEpoch() >= e || !s.grounded(&past) {
			return false
		}
		at := Offset(0)
		for _, r := range l.Runs() {
			if at += Offset(r.Count); at > begin && r.Epoch != e {
				return false
			}
		}
		return true
	})},
	{Name: "LeaderHoldsEpochLog", Doc: "the log of a leader is that of its epoch, which begins where the leader says", Holds: everyReplicaOf(func(s *ProofState, r *Replica) bool {
		e := r.Election.Epoch
		return r.Role != Leader || r.EpochStart == s.Begin[e] && r.Log.SameAs(&s.Logs[e])
	})},
	{Name: "LogsGrounded", Doc: "a log, in memory, on disk, or flushed when an epoch was left, whose last record is of epoch e is the beginning of the log of epoch e", Holds: everyReplicaOf(func(s *ProofState, r *Replica) bool {
		left := &s.Left[r.ID.index()]
		for e := range left {
			if !s.grounded(&left[e]) {
				return false
			}
		}
		return s.grounded(&r.Log) && s.grounded(&r.Disk)
	})},
	{Name: "LogsArePast", Doc: "no replica has a record of a higher epoch than it is in, or left an epoch with one; and it has left earlier epochs only", Holds: everyReplicaOf(func(s *ProofState, r *Replica) bool {
		left := &s.Left[r.ID.index()]
		for e := range left {
			if left[e].LastEpoch() > Epoch(e) || left[e].End() > 0 && Epoch(e) >= r.Election.Epoch {
				return false
			}
		}
		return r.Log.LastEpoch() <= r.Election.Epoch && r.Disk.LastEpoch() <= r.Election.Epoch
	})},
	{Name: "OneBranch", Doc: "of log and disk one is the beginning of the other", Holds: everyReplicaOf(func(_ *ProofState, r *Replica) bool {
		return r.FlushedEnd() == min(r.Log.End(), r.Disk.End())
	})},
	{Name: "LeaderHasNoTail", Doc: "a leader that has written its first record has nothing on disk behind its log", Holds: everyReplicaOf(func(_ *ProofState, r *Replica) bool {
		return r.Role != Leader || !r.LeaderChangeWritten || !r.TruncationPending()
	})},
	{Name: "FetchesGrounded", Doc: "a fetch asks from behind a record that the log of its last epoch has there", Holds: everyMessageOf(func(s *ProofState, m *Msg) bool {
		if m.Kind != Fetch || m.Response {
			return true
		}
		f := m.LastEpoch
		if m.Offset == 0 {
			return f == 0
		}
		return f > 0 && f <= m.Epoch && s.led(f) && s.Begin[f] < m.Offset && m.Offset <= s.Logs[f].End()
	})},
	{Name: "RecordsGrounded", Doc: "what a leader answers is the part of its log behind the record that was asked from", Holds: everyMessageOf(func(s *ProofState, m *Msg) bool {
		if !brings(m) {
			return true
		}
		l := &s.Logs[m.Epoch]
		to := m.Offset + m.Records.End()
		if !s.led(m.Epoch) || to > l.End() || m.Offset > 0 && l.At(m.Offset-1).Epoch != m.LastEpoch {
			return false
		}
		part := l.Slice(m.Offset, to)
		return part.SameAs(&m.Records)
	})},
}

var logTheorem = []Conjunct{
	{Name: "LogMatching", Doc: "two logs that hold a record of the same epoch at the same offset are equal up to it, on disk too", Holds: func(s *ProofState) bool {
		for i := range s.replicas() {
			a := &s.Replicas[i]
			if !Matches(&a.Log, &a.Disk) {
				return false
			}
			for j := range i {
				b := &s.Replicas[j]
				if !Matches(&a.Log, &b.Log) || !Matches(&a.Log, &b.Disk) || !Matches(&a.Disk, &b.Log) || !Matches(&a.Disk, &b.Disk) {
					return false
				}
			}
		}
		return true
	}},
	{Name: "UniqueEpochOffset", Doc: "each epoch in a log begins where its leader began it", Holds: everyReplicaOf(func(s *ProofState, r *Replica) bool {
		at, previous := Offset(0), Epoch(0)
		for _, run := range r.Log.Runs() {
			if run.Epoch != previous && (!s.led(run.Epoch) || s.Begin[run.Epoch] != at) {
				return false
			}
			at, previous = at+Offset(run.Count), run.Epoch
		}
		return true
	})},
}

// completenessInvariant is that of docs/proofs/leader-completeness.md.
var completenessInvariant = []Conjunct{
	{Name: "MessagesArePast", Doc: "a message is to somebody else, and states an epoch that its sender has come to", Holds: everyMessageOf(func(s *ProofState, m *Msg) bool {
		return m.Src != m.Dst && m.Epoch <= s.replica(m.Src).Election.Epoch
	})},
	{Name: "VotedForWasThere", Doc: "whoever got a vote has come to the epoch of the vote", Holds: func(s *ProofState) bool {
		for i := range s.replicas() {
			for e, given := range s.Gave[i] {
				for c := ID(1); int(c) <= s.N; c++ {
					if given.Has(c) && Epoch(e) > s.replica(c).Election.Epoch {
						return false
					}
				}
			}
		}
		return true
	}},
	{Name: "ClaimsAreDurable", Doc: "while who asked for a vote stands, its log is what it claimed, and flushed", Holds: everyMessageOf(func(s *ProofState, m *Msg) bool {
		c := s.replica(m.Src)
		return !asksVote(m) || m.Epoch != c.Election.Epoch || !stands(c) ||
			m.Offset == c.Log.End() && m.LastEpoch == c.Log.LastEpoch() && c.Flushed()
	})},
	{Name: "VotedForIsDurable", Doc: "while who got another's vote stands, its log is flushed", Holds: everyReplicaOf(func(s *ProofState, c *Replica) bool {
		if !stands(c) {
			return true
		}
		for i := range s.replicas() {
			if ID(i+1) != c.ID && s.Gave[i][c.Election.Epoch].Has(c.ID) && !c.Flushed() {
				return false
			}
		}
		return true
	})},
	{Name: "DivergenceIsLeaders", Doc: "a leader that says where logs part says where its own has the last epoch asked from, or the one before", Holds: everyMessageOf(func(s *ProofState, m *Msg) bool {
		if m.Kind != Fetch || !m.Response || m.Error != NoErrorCode || !m.Diverging {
			return true
		}
		if !s.led(m.Epoch) || m.LastEpoch >= m.Epoch {
			return false
		}
		past := s.Logs[m.Epoch].Slice(0, s.Begin[m.Epoch])
		epoch, end := past.EndOffsetForEpoch(m.LastEpoch)
		return m.DivergingEpoch == epoch && m.DivergingEnd == end
	})},
	{Name: "ChoosableIsKept", Doc: "a voter that has flushed what is choosable has it still, flushed", Holds: func(s *ProofState) bool {
		for i := range s.replicas() {
			r := &s.Replicas[i]
			for e := Epoch(0); e <= r.Election.Epoch && s.Voters.Has(r.ID); e++ {
				o := s.mostChoosable(e, s.kept[i][e])
				if o > 0 && (r.FlushedEnd() < o || CommonPrefix(&r.Log, &s.Logs[e]) < o) {
					return false
				}
			}
		}
		return true
	}},
	{Name: "VotedForHasChoosable", Doc: "while it stands, who got a vote has all that is choosable and that the voter has flushed in earlier epochs", Holds: everyReplicaOf(func(s *ProofState, c *Replica) bool {
		d := c.Election.Epoch
		if !stands(c) {
			return true
		}
		for i := range s.replicas() {
			if !s.Voters.Has(ID(i+1)) || !s.Gave[i][d].Has(c.ID) {
				continue
			}
			for e := range d {
				if CommonPrefix(&c.Log, &s.Logs[e]) < s.mostChoosable(e, s.kept[i][e]) {
					return false
				}
			}
		}
		return true
	})},
	{Name: "LaterLeadersHaveChoosable", Doc: "the log of a later epoch has all that is choosable in an earlier one", Holds: everyEpochOf(func(s *ProofState, d Epoch) bool {
		if !s.led(d) {
			return true
		}
		for e := range d {
			if s.led(e) && CommonPrefix(&s.Logs[d], &s.Logs[e]) < s.mostChoosable(e, s.Logs[e].End()) {
				return false
			}
		}
		return true
	})},
}

var completenessTheorem = []Conjunct{
	{Name: "LeaderCompleteness", Doc: "a leader has every record that a majority had flushed in its epoch or an earlier one, with a record of that epoch behind it", Holds: everyReplicaOf(func(s *ProofState, r *Replica) bool {
		for e := Epoch(0); r.Role == Leader && e <= r.Election.Epoch; e++ {
			if CommonPrefix(&r.Log, &s.Logs[e]) < s.chosen[e] {
				return false
			}
		}
		return true
	})},
}

// commitInvariant is that of docs/proofs/commit-safety.md.
var commitInvariant = []Conjunct{
	{Name: "FetchedIsKept", Doc: "a voter whose fetch the leader of its epoch takes, or will take, has flushed the leader's log up to there in that epoch", Holds: everyMessageOf(func(s *ProofState, m *Msg) bool {
		if m.Kind != Fetch || m.Response || !s.Voters.Has(m.Src) || m.Offset == 0 {
			return true
		}
		r, e := s.replica(m.Src), m.Epoch
		if e > r.Election.Epoch {
			return true
		}
		if s.led(e) {
			epoch, end := s.Logs[e].EndOffsetForEpoch(m.LastEpoch)
			taken := m.LastEpoch == e || epoch == m.LastEpoch && m.Offset <= end
			return !taken || s.kept[m.Src.index()][e] >= m.Offset
		}
		had := s.Left[m.Src.index()][e]
		if e == r.Election.Epoch {
			had = flushed(r)
		}
		return had.End() >= m.Offset && had.At(m.Offset-1).Epoch == m.LastEpoch
	})},
	{Name: "EndIsKept", Doc: "the end offset that a leader has of another voter is one that the voter has flushed of the leader's log in that epoch", Holds: everyReplicaOf(func(s *ProofState, r *Replica) bool {
		for i := range s.replicas() {
			if r.Role == Leader && ID(i+1) != r.ID && s.Voters.Has(ID(i+1)) && r.End[i] > max(0, s.kept[i][r.Election.Epoch]) {
				return false
			}
		}
		return true
	})},
	{Name: "ExposedIsChosen", Doc: "what a leader exposed ends with a record of its epoch, and a majority has flushed it in that epoch", Holds: everyEpochOf(func(s *ProofState, e Epoch) bool {
		return s.Exposed[e] == 0 || s.Exposed[e] > s.Begin[e] && s.Exposed[e] <= s.chosen[e]
	})},
	{Name: "AnsweredWasExposed", Doc: "the high watermark in an answer was exposed by the leader of its epoch", Holds: everyMessageOf(func(s *ProofState, m *Msg) bool {
		return !brings(m) || m.HighWatermark <= s.Exposed[m.Epoch]
	})},
	{Name: "HighWatermarkWasExposed", Doc: "what a replica has below its high watermark was exposed by the leader of its epoch or of an earlier one, and if it leads, by itself", Holds: everyReplicaOf(func(s *ProofState, r *Replica) bool {
		if r.HighWatermark <= 0 {
			return true
		}
		for e := r.Election.Epoch; e > 0; e-- {
			if r.HighWatermark <= min(s.Exposed[e], CommonPrefix(&r.Log, &s.Logs[e])) {
				return true
			}
			if r.Role == Leader {
				return false
			}
		}
		return false
	})},
}

var commitTheorem = []Conjunct{
	{Name: "CommittedStable", Doc: "a record below any high watermark ever exposed is in the log of each leader of that epoch or later, and no log ends before its high watermark", Holds: everyReplicaOf(func(s *ProofState, r *Replica) bool {
		if r.HighWatermark > r.Log.End() {
			return false
		}
		for e := Epoch(0); r.Role == Leader && e <= r.Election.Epoch; e++ {
			if CommonPrefix(&r.Log, &s.Logs[e]) < s.Exposed[e] {
				return false
			}
		}
		return true
	})},
	{Name: "StateMachineSafety", Doc: "below their high watermarks two replicas hold the same records", Holds: func(s *ProofState) bool {
		for i := range s.replicas() {
			for j := range i {
				a, b := &s.Replicas[i], &s.Replicas[j]
				if hw := min(a.HighWatermark, b.HighWatermark); hw > 0 && CommonPrefix(&a.Log, &b.Log) < hw {
					return false
				}
			}
		}
		return true
	}},
	{Name: "CommittedOnMajority", Doc: "what was exposed is on the disks of a majority, now and for ever", Holds: everyEpochOf(func(s *ProofState, e Epoch) bool {
		var on Set
		for i := range s.replicas() {
			r := &s.Replicas[i]
			if min(r.FlushedEnd(), CommonPrefix(&r.Log, &s.Logs[e])) >= s.Exposed[e] {
				on = on.With(r.ID)
			}
		}
		return isMajority(on, s.Voters)
	})},
}
