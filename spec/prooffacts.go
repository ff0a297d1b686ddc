package spec

import (
	"fmt"

	"github.com/quorate/quorate/checker"
)

// Here is Part A of docs/proofs/election-safety.md: what is said of single steps of
// single replicas, over every step of many local states, reachable or not.

// localStep is a step of one replica, with the message that it took and what it
// sent.
type localStep struct {
	action   ActionID
	voters   Set
	old, now *Replica
	took     *Msg
	sent     []Msg
}

func (s *localStep) String() string {
	text := fmt.Sprintf("%s: %v -> %v", s.action, Describe(s.old), Describe(s.now))
	if s.took != nil {
		text += " took " + s.took.String()
	}
	for i := range s.sent {
		text += " sent " + s.sent[i].String()
	}
	return text
}

type stepFact struct {
	name, doc string
	holds     func(s *localStep) bool
}

// stepFacts hold of every step of a replica in which StoredIsElection held before.
var stepFacts = []stepFact{
	{"StepStoresElection", "what a step decides of the election is in the file when it ends", func(s *localStep) bool { return s.now.Stored == s.now.Election }},
	{"VoteStays", "a step raises the epoch, or keeps it and a vote that was given in it", func(s *localStep) bool {
		old, now := s.old.Election, s.now.Election
		return now.Epoch > old.Epoch || now.Epoch == old.Epoch && (old.Voted == Nobody || now.Voted == old.Voted)
	}},
	{"GrantIsVote", "a step that grants a vote ends with that vote in the file", func(s *localStep) bool {
		for i := range s.sent {
			if m := &s.sent[i]; isGrant(m) &&
				(m.Src != s.now.ID || m.Epoch != s.now.Election.Epoch || m.Dst != s.now.Election.Voted) {
				return false
			}
		}
		return true
	}},
	{"CountedIsGrant", "a candidate counts its own vote, what it had counted in this epoch, and the grant that the step took", func(s *localStep) bool {
		if s.now.Role != Candidate {
			return true
		}
		if s.now.Granted == SetOf(s.now.ID) && s.now.Election.Voted == s.now.ID {
			return true // it has just voted, or was restarted
		}
		if s.old.Role != Candidate || s.old.Election.Epoch != s.now.Election.Epoch {
			return false
		}
		counted := s.old.Granted
		if isGrant(s.took) && s.took.Epoch == s.now.Election.Epoch {
			counted = counted.With(s.took.Src)
		}
		return s.now.Granted&^counted == 0
	}},
	{"LeaderWasElected", "whoever leads after a step led before, or was a candidate with a majority", func(s *localStep) bool {
		if s.now.Role != Leader {
			return true
		}
		return s.now.Election.Epoch == s.old.Election.Epoch &&
			(s.old.Role == Leader || s.old.Role == Candidate && isMajority(s.old.Granted, s.voters))
	}},
}

// everyLog lists logs that end below, in and above the epochs of everyReplica.
func everyLog() []Log {
	var logs []Log
	for _, epochs := range [][]Epoch{{}, {1}, {1, 2}, {3}} {
		var l Log
		for _, e := range epochs {
			l.Append(Run{Count: 1, Epoch: e, Origin: 2})
		}
		logs = append(logs, l)
	}
	return logs
}

// everyReplica calls f with local states in which StoredIsElection holds, whatever
// else they are: of the voter 1 and the observer 4, of voters 1 to 3.
func everyReplica(f func(r *Replica)) {
	for _, self := range []ID{1, 4} {
		for role := Unattached; role <= Down; role++ {
			for _, epoch := range []Epoch{0, 2} {
				for _, leader := range []ID{Nobody, self, 2} {
					for _, voted := range []ID{Nobody, self, 2, 3} {
						for _, granted := range []Set{0, SetOf(1), SetOf(1, 2), SetOf(2, 3)} {
							for _, log := range everyLog() {
								r := NewReplica(self, PreVote)
								r.Role, r.Granted, r.Log, r.Disk = role, granted, log, log
								r.Election = Election{Epoch: epoch, Leader: leader, Voted: voted}
								r.Stored = r.Election
								r.LeaderChangeWritten, r.HighWatermark = true, 0
								f(&r)
								r.Version, r.Disk = 0, Log{}
								r.LeaderChangeWritten, r.HighWatermark = false, Unknown
								r.Reading, r.Confirmed = true, granted
								f(&r)
							}
						}
					}
				}
			}
		}
	}
}

// everyMessage lists messages that a handler may be given, honest or not.
func everyMessage(a ActionID) []Msg {
	var all []Msg
	t := &actionTable[a]
	for e := Epoch(0); e <= 3; e++ {
		for _, src := range []ID{2, 4} {
			if src == 4 && t.kind != Vote {
				continue // only votes are counted by who sent them
			}
			base := Msg{Kind: t.kind, Response: t.answer, Src: src, Dst: 1, Epoch: e, HighWatermark: Unknown}
			switch {
			case t.kind == Vote && !t.answer:
				for _, last := range everyLog() {
					m := base
					m.Offset, m.LastEpoch = last.End(), last.LastEpoch()
					all = append(all, m)
					m.PreVote = true
					all = append(all, m)
				}
			case t.answer:
				for _, leader := range []ID{Nobody, 1, 2} {
					for code := NoErrorCode; code <= UnknownLeaderEpoch; code++ {
						m := base
						m.Leader, m.Error = leader, code
						all = append(all, m)
						if t.kind == Vote {
							for _, pre := range []bool{false, true} {
								m.Granted, m.PreVote = true, pre
								all = append(all, m)
							}
						}
						if t.kind == Fetch {
							m.Records.Append(Run{Count: 1, Epoch: 2, Origin: 2})
							all = append(all, m)
						}
					}
				}
			default:
				all = append(all, base)
			}
		}
	}
	return all
}

// everyArgs lists parameters of an action, those out of range too.
func everyArgs(a ActionID) []Args {
	switch a {
	case ActionSendVoteRequest, ActionSendBeginQuorumEpoch, ActionSendEndQuorumEpoch, ActionSendFetch:
		return []Args{{Dst: 1}, {Dst: 2}, {Dst: 4}}
	case ActionFlush, ActionAppend:
		return []Args{{Count: 0}, {Count: 1}, {Count: 2}}
	case ActionHandleFetchRequest:
		return []Args{{Count: 0}, {Count: 1}, {Park: true}}
	case ActionCrash:
		return []Args{{Keep: 0}, {Keep: 1}, {Keep: 2}}
	}
	return []Args{{}}
}

// takeEveryStep takes the given actions under a variant of the protocol, with all
// parameters, from every local state, until f says that it is enough.
func takeEveryStep(actions []ActionID, v Variant, f func(s *localStep) bool) {
	sys := NewSystem(&Model{Voters: 3, Observers: 1, Epochs: maxStarts}, v)
	var now Replica // used again for every step
	var step localStep
	for _, a := range actions {
		messages := []Msg{{}}
		if a.Handles() {
			messages = everyMessage(a)
		}
		args, enough := everyArgs(a), false
		everyReplica(func(r *Replica) {
			for i := range messages {
				for j := range args {
					if enough {
						return
					}
					now = *r
					step = localStep{action: a, voters: sys.ctx.Voters, old: r, now: &now}
					if a.Handles() {
						step.took = &messages[i]
					}
					if sys.take(a, &now, step.took, args[j]) {
						step.sent = sys.scratch.Messages()
						enough = f(&step)
					}
				}
			}
		})
	}
}

// stepLemma is the step facts, over every step.
func stepLemma(v Variant) checker.Lemma {
	l := checker.Lemma{}
	for a := range NumReplicaActions {
		name := a.String()
		if !proofsTry(a) {
			name = ""
		}
		l.Actions = append(l.Actions, name)
	}
	for _, f := range stepFacts {
		l.Facts = append(l.Facts, checker.Fact{Name: f.name, Doc: f.doc})
	}
	l.Cases = func(f func(checker.ActionID, uint64, func() string) bool) {
		takeEveryStep(actionsOfProof(), v, func(s *localStep) bool {
			failed := uint64(0)
			for i := range stepFacts {
				if !stepFacts[i].holds(s) {
					failed |= 1 << i
				}
			}
			return !f(checker.ActionID(s.action), failed, s.String)
		})
	}
	return l
}

// messageLemma: what the environment does to a message in flight changes none of what
// it says.
func messageLemma(v Variant) checker.Lemma {
	return checker.Lemma{
		Facts: []checker.Fact{{Name: "MessagesKeepWhatTheySay", Doc: "the network loses, copies and delays messages, and changes nothing in them"}},
		Cases: func(f func(checker.ActionID, uint64, func() string) bool) {
			sys := NewSystem(&roomy, v)
			for _, a := range actionsOfProof() {
				if !a.Handles() {
					continue
				}
				for _, m := range everyMessage(a) {
					var fates checker.Fates[Msg]
					sys.Network(&m, &fates)
					for _, fate := range fates.List {
						failed := uint64(0)
						for _, b := range fate.Becomes[:fate.N] {
							b.Late = m.Late
							if b != m {
								failed = 1
							}
						}
						if !f(0, failed, func() string { return m.String() + ": " + ActionID(fate.Instance.Action).String() }) {
							return
						}
					}
				}
			}
		},
	}
}
