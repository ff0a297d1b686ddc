package story_test

import (
	"fmt"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/spec"
)

// Voters that are in the log: a replica of the specification is one with a disk here, and
// listens somewhere.

func voter(id spec.ID) core.Voter {
	return core.Voter{Key: core.ReplicaKey{ID: core.ReplicaID(id), Directory: core.DirectoryID{byte(id)}}, Info: fmt.Sprint("host-", id)}
}

func votersOf(set spec.Set) (voters []core.Voter) {
	for id := spec.ID(1); id <= spec.MaxReplicas; id++ {
		if set.Has(id) {
			voters = append(voters, voter(id))
		}
	}
	return voters
}

func setOf(voters []core.Voter) (set spec.Set) {
	for _, v := range voters {
		set = set.With(spec.ID(v.Key.ID))
	}
	return set
}

// voterSets are what the disk of a replica has: the zero checkpoint, if it was one of the first
// voters, and what is in its log.
func (s *coreCast) voterSets(m *machine) (sets []core.VoterSet) {
	if int(m.id) <= s.cluster.Voters {
		sets = append(sets, core.VoterSet{Offset: core.ZeroCheckpoint, Voters: votersOf(spec.All(s.cluster.Voters))})
	}
	at := core.Offset(0)
	for _, r := range m.log.Runs() {
		at += core.Offset(r.Count)
		if r.Kind == spec.KRaftVoters {
			sets = append(sets, core.VoterSet{Offset: at - 1, Voters: votersOf(r.Voters)})
		}
	}
	return sets
}

// AddVoter implements story.Cast.
func (s *coreCast) AddVoter(id, v spec.ID) error { return s.change(core.InputAddVoter, id, v) }

// RemoveVoter implements story.Cast.
func (s *coreCast) RemoveVoter(id, v spec.ID) error { return s.change(core.InputRemoveVoter, id, v) }

func (s *coreCast) change(kind core.InputKind, id, v spec.ID) error {
	m := s.at(id)
	m.refused = core.None
	s.step(m, core.Input{Kind: kind, Client: changeClient, Voter: voter(v)})
	if m.refused != core.None {
		return fmt.Errorf("%s refuses", id)
	}
	s.calm()
	return nil
}
