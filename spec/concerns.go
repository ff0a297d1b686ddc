package spec

import (
	"slices"

	"github.com/quorate/quorate/checker"
)

// Concern is what a model, a property or a mutation is mainly about. Each model has the
// actions of all of them; bootstrap and cluster ids have packages of their own.
type Concern string

// Concerns of this package.
const (
	OfElection Concern = "election"
	OfCommit   Concern = "commit"
	OfSnapshot Concern = "snapshot"
	// OfMembership: whoever has a vote changes in the course of it (KIP-853).
	OfMembership Concern = "membership"
)

// electionModels are those in which it matters who comes to lead.
var electionModels = []string{
	"pair", "election", "prevote", "prevote-exchanges", "upgrade", "vote-restart", "resign", "check-quorum", "four", "five", "five-votes",
	"four-epochs", "prevote-epochs", "four-two-epochs", "five-epochs", "six-epochs", "three-in-flight", "lost-disk",
}

// Concern of the model: what is not of membership, snapshots or elections is of commits.
func (m *Model) Concern() Concern {
	switch {
	case m.Dynamic():
		return OfMembership
	case m.Snapshots > 0:
		return OfSnapshot
	case slices.Contains(electionModels, m.Name):
		return OfElection
	}
	return OfCommit
}

// electionProperties are those of who leads, and of what a replica knows of it.
const electionProperties = ElectionSafety | MonotonicEpoch | VoteOnce | RoleFieldsClear |
	VoteRefusedForStaleLog | PreVoteRefusedByFollower | PreVoteAbandoned | StoodWithoutPreVotes | LeaderReplaced | EpochLearnedFromVote |
	EpochLearnedFromFetch | EpochLearnedFromResignation | LeaderLearnedFromAnswer | LeaderResigned | ResignedLeft | CandidateRestarted | FollowerRestarted

// ConcernOfProperty is that of the property with this bit.
func ConcernOfProperty(p checker.Props) Concern {
	switch {
	case p&(MembershipProperties|membershipBranches) != 0:
		return OfMembership
	case p&(SnapshotProperties|snapshotBranches) != 0:
		return OfSnapshot
	case p&electionProperties != 0:
		return OfElection
	}
	return OfCommit
}

// Concern of the mutation: that of its model if the voter set changes or there are snapshots
// in it, else whether it is caught by who leads or by what is lost.
func (mu *Mutation) Concern() Concern {
	if m, ok := ModelNamed(mu.Model); ok && (m.Dynamic() || m.Snapshots > 0) {
		return m.Concern()
	}
	for i := range Properties {
		if Properties[i].Name == mu.Property {
			return ConcernOfProperty(1 << i)
		}
	}
	return OfCommit
}
