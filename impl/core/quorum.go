package core

// majority is how many of n voters decide.
func majority(n int) int { return n/2 + 1 }

// majorityOffset is the largest offset that a majority of the voters has reached,
// given where each ends; UnknownOffset if there is none (LeaderState.
// maybeUpdateHighWatermark). It sorts ends in place.
func majorityOffset(ends []Offset) Offset {
	if len(ends) == 0 {
		return UnknownOffset
	}
	for i := 1; i < len(ends); i++ { // descending; unknown (-1) comes last
		for j := i; j > 0 && ends[j-1] < ends[j]; j-- {
			ends[j-1], ends[j] = ends[j], ends[j-1]
		}
	}
	return ends[len(ends)/2]
}

// ballot is what a nominee knows of the vote of one voter.
type ballot uint8

const (
	unrecorded ballot = iota
	granted
	rejected
)

// outcome of an election round so far.
type outcome uint8

const (
	undecided outcome = iota
	won
	lost
)

// tally counts a set of voters, not of answers: a repeated answer changes nothing.
func tally(votes []ballot) outcome {
	yes, no := 0, 0
	for _, v := range votes {
		switch v {
		case granted:
			yes++
		case rejected:
			no++
		}
	}
	switch need := majority(len(votes)); {
	case yes >= need:
		return won
	case len(votes)-no < need:
		return lost
	}
	return undecided
}

// matches says whether a key that may have no directory id names the replica
// given: ids are equal, and directory ids if known has one.
func (known ReplicaKey) matches(k ReplicaKey) bool {
	return known.ID == k.ID && (known.Directory == DirectoryID{} || known.Directory == k.Directory)
}

// voterIndex is the place of a replica in the voter set, -1 for an observer
// (VoterSet.isVoter).
func voterIndex(voters []ReplicaKey, k ReplicaKey) int {
	for i, v := range voters {
		if v.matches(k) {
			return i
		}
	}
	return -1
}

// grantQuestion is all that the answer to a vote request depends on, once epochs
// are equal.
type grantQuestion struct {
	role      Role
	leader    ReplicaID // known leader of the epoch
	voted     ReplicaKey
	fetched   bool // a follower that had a successful fetch from the leader
	candidate ReplicaKey
	upToDate  bool // the candidate's log is at least as good as ours
	preVote   bool
}

// grant answers it (EpochState.canGrantVote of each role; KIP-996).
func grant(q grantQuestion) bool {
	switch q.role {
	case Unattached, Prospective:
		switch {
		case q.preVote:
			return q.upToDate
		case q.voted.ID != NoReplica:
			// The same candidate may ask again: its answer may have been lost.
			return q.voted.matches(q.candidate)
		case q.leader != NoReplica:
			return false
		}
		return q.upToDate
	case Follower:
		return q.preVote && q.upToDate && !q.fetched
	case Candidate, Resigned:
		return q.preVote && q.upToDate
	}
	return false
}

// endQuorumDelay is how long a follower waits after the leader resigned before it
// stands for election: first successors first (KafkaRaftClient.
// endEpochElectionBackoff).
func endQuorumDelay(preferred []ReplicaKey, self ReplicaKey, max Ticks) Ticks {
	for p, k := range preferred {
		if !k.matches(self) {
			continue
		}
		if p == 0 {
			return 0
		}
		return min(max, (max>>min(len(preferred)-1, 62))<<min(p-1, 32))
	}
	return max
}
