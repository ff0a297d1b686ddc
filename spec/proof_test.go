package spec

import (
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/checker"
)

// proofNamed is a proof under a variant.
func proofNamed(t *testing.T, name string, v Variant) *checker.Proof[ProofState] {
	t.Helper()
	for _, p := range Proofs(v) {
		if p.Name == name {
			return &p
		}
	}
	t.Fatalf("no proof %s", name)
	return nil
}

// Every step of every proof holds, every action and branch is taken, and no conjunct
// can be left out.
func TestProofsHold(t *testing.T) {
	for _, p := range Proofs(Variant{}) {
		t.Run(p.Name, func(t *testing.T) {
			r, err := checker.Prove(&p, checker.ProveOptions{Samples: 80_000})
			require.NoError(t, err)
			for i := range r.Steps {
				s := &r.Steps[i]
				assert.Nil(t, s.Failure, "%s: %+v", s.Name, s.Failure)
				assert.NotZero(t, s.Checks, s.Name)
				if s.Kind == checker.StepInvariant {
					assert.Equal(t, checker.UseNeeded, s.Use, "%s alone failed in %d states", s.Name, s.Alone)
				}
			}
			assert.Empty(t, r.Vacuous)
			assert.Equal(t, 0, r.ExitCode())
			t.Logf("%d of %d states, %.1f s", r.Satisfy, r.Drawn, r.Seconds)
		})
	}
}

// Each step fails under the change that is named for it.
func TestProofsBreak(t *testing.T) {
	broken := map[string]bool{}
	for i := range ProofBreaks {
		b := &ProofBreaks[i]
		broken[b.Proof+" "+b.Step] = true
		if b.Without != "" {
			continue // TestTheoremsNeedTheInvariant
		}
		t.Run(b.Step+" "+b.String(), func(t *testing.T) {
			if b.Mutation != "" {
				_, ok := ProofMutationNamed(b.Mutation)
				require.True(t, ok, "no mutation %s", b.Mutation)
			}
			r, err := checker.Prove(proofNamed(t, b.Proof, b.Variant()), checker.ProveOptions{Only: b.Step})
			require.NoError(t, err)
			assert.Contains(t, r.Failed(), b.Step, "it holds under %s", b)
			assert.Equal(t, 1, r.ExitCode())
			t.Logf("%d states", r.Drawn)
		})
	}
	for _, p := range Proofs(Variant{}) {
		for _, name := range p.StepNames() {
			if _, none := ProofUnbroken[name]; !none {
				assert.True(t, broken[p.Name+" "+name], "nothing is named that breaks %s of %s", name, p.Name)
			}
		}
	}
}

// A theorem follows by logic: it fails without the conjunct that is named for it.
func TestTheoremsNeedTheInvariant(t *testing.T) {
	for _, p := range Proofs(Variant{}) {
		var r *checker.ProofResult
		for i := range ProofBreaks {
			b := &ProofBreaks[i]
			if b.Proof != p.Name || b.Without == "" {
				continue
			}
			if r == nil {
				var err error
				r, err = checker.Prove(&p, checker.ProveOptions{Samples: 40_000})
				require.NoError(t, err)
			}
			assert.Contains(t, r.Step(b.Step).Without, b.Without, b.Step)
		}
	}
}

// The invariants are not only inductive: they hold along behaviours that begin with the
// first step, messages in flight too.
func TestInvariantsHoldWhereReachable(t *testing.T) {
	var facts []Conjunct
	for _, p := range Proofs(Variant{}) {
		facts = append(append(facts, p.Invariant...), p.Theorem...)
	}
	d := rand.New(rand.NewPCG(1, 2))
	domain := ProofDomain(Variant{})
	var reached checker.Props
	exposed := 0
	walk := func(s *ProofState) {
		for range 120 {
			var next ProofState
			weight := 0
			var by checker.Props
			domain.Steps(s, func(m checker.Move, to *ProofState) {
				w := 4
				switch ActionID(m.Action) {
				case ActionCrash, ActionDrop, ActionDuplicate, ActionCloseConnection, ActionResign, ActionCheckQuorumResign:
					w = 1 // or nothing comes about
				case ActionBecomeLeader, ActionAppendLeaderChange, ActionFlush, ActionHandleFetchRequest, ActionHandleFetchResponse:
					w = 12
				}
				weight += w
				if d.IntN(weight) < w {
					next, by = *to, m.Reached
				}
			})
			if weight == 0 {
				break // nothing that the bounds allow
			}
			*s = next
			reached |= by
			for i := range facts {
				if !facts[i].Holds(s) {
					require.Fail(t, facts[i].Name, "%v", domain.Describe(s))
				}
			}
		}
		for _, e := range s.Exposed {
			exposed += int(e)
		}
	}
	for range 60 {
		var starts []ProofState
		domain.Init(func(s *ProofState) { starts = append(starts, *s) })
		for i := range starts {
			walk(&starts[i])
		}
	}
	assert.NotZero(t, exposed, "nothing was ever committed")
	for _, p := range []checker.Props{ClientRecordCommitted, UnflushedTailLost, LeaderReplaced} {
		assert.NotZero(t, reached&p, "%x was not reached", p)
	}
}

func bug(t *testing.T, id string) Variant {
	mu, ok := MutationNamed(id)
	require.True(t, ok, id)
	return Variant{Mutation: mu}
}

func without(a ActionID, g Guard) Variant { return Variant{DropAction: a, DropGuard: g} }

// Each step fact fails where the proof says that it needs a rule or a guard.
func TestStepFactsNeedTheirRules(t *testing.T) {
	for _, c := range []struct {
		fact string
		in   ActionID
		v    Variant
	}{
		{"StepStoresElection", ActionHandleVoteRequest, bug(t, "vote-forgotten")},
		{"StepStoresElection", ActionBecomeCandidate, bug(t, "epoch-not-persisted")},
		{"StepStoresElection", ActionRestart, bug(t, "KAFKA-10661")},
		{"VoteStays", ActionRestart, bug(t, "KAFKA-10661")},
		{"VoteStays", ActionHandleVoteRequest, without(ActionHandleVoteRequest, NewerEpoch)},
		{"VoteStays", ActionHandleVoteResponse, without(ActionHandleVoteResponse, NotStale)},
		{"VoteStays", ActionHandleVoteResponse, without(ActionHandleVoteResponse, NewerEpoch)},
		{"VoteStays", ActionHandleBeginQuorumEpochRequest, without(ActionHandleBeginQuorumEpochRequest, NotStale)},
		{"VoteStays", ActionHandleBeginQuorumEpochResponse, without(ActionHandleBeginQuorumEpochResponse, NotStale)},
		{"VoteStays", ActionHandleEndQuorumEpochRequest, without(ActionHandleEndQuorumEpochRequest, NotStale)},
		{"VoteStays", ActionHandleBeginQuorumEpochResponse, without(ActionHandleBeginQuorumEpochResponse, NewerEpoch)},
		{"VoteStays", ActionHandleEndQuorumEpochResponse, without(ActionHandleEndQuorumEpochResponse, NotStale)},
		{"VoteStays", ActionHandleEndQuorumEpochResponse, without(ActionHandleEndQuorumEpochResponse, NewerEpoch)},
		{"VoteStays", ActionHandleFetchResponse, without(ActionHandleFetchResponse, NotStale)},
		{"VoteStays", ActionHandleFetchResponse, without(ActionHandleFetchResponse, NewerEpoch)},
		{"VoteStays", ActionLoseDisk, Variant{}},
		{"GrantIsVote", ActionHandleVoteRequest, without(ActionHandleVoteRequest, VoteAllowed)},
		{"CountedIsGrant", ActionHandleVoteResponse, bug(t, "votes-counted-twice")},
		{"CountedIsGrant", ActionHandleVoteResponse, without(ActionHandleVoteResponse, Tallying)},
		{"CountedIsGrant", ActionHandleVoteResponse, without(ActionHandleVoteResponse, WasGranted)},
		{"CountedIsGrant", ActionHandleVoteResponse, without(ActionHandleVoteResponse, NotStale)},
		{"LeaderWasElected", ActionBecomeLeader, bug(t, "majority-of-one-less")},
		{"LeaderWasElected", ActionBecomeLeader, without(ActionBecomeLeader, IsCandidate)},
		{"LeaderWasElected", ActionBecomeLeader, without(ActionBecomeLeader, HasMajority)},
		{"LeaderWasElected", ActionRestart, bug(t, "KAFKA-10527")},
	} {
		i := slices.IndexFunc(stepFacts, func(f stepFact) bool { return f.name == c.fact })
		require.GreaterOrEqual(t, i, 0, c.fact)
		broken := false
		takeEveryStep([]ActionID{c.in}, c.v, func(s *localStep) bool {
			broken = !stepFacts[i].holds(s)
			return broken
		})
		assert.True(t, broken, "%s holds of %s under %+v", c.fact, c.in, c.v)
	}
}

// The documents and the checks have the same steps, both ways: each step has a line
// that begins with its name in the document of its proof, each name that a document
// gives so is a step, and what breaks a step is named.
func TestProofDocuments(t *testing.T) {
	for _, p := range Proofs(Variant{}) {
		text, err := os.ReadFile("../docs/proofs/" + p.Name + ".md")
		require.NoError(t, err)
		named := map[string]bool{}
		for line := range strings.Lines(string(text)) {
			cells := strings.Split(line, "|")
			if len(cells) < 5 || !strings.HasPrefix(strings.TrimSpace(cells[1]), "`") {
				continue
			}
			name := strings.Trim(strings.TrimSpace(cells[1]), "`")
			if kind := strings.TrimSpace(cells[2]); kind != "lemma" && kind != "invariant" && kind != "theorem" {
				continue
			}
			named[name] = true
			broken := strings.TrimSpace(cells[len(cells)-2])
			if reason, none := ProofUnbroken[name]; none {
				assert.Contains(t, broken, reason, name)
				continue
			}
			found := false
			for i := range ProofBreaks {
				b := &ProofBreaks[i]
				found = found || b.Proof == p.Name && b.Step == name && strings.Contains(broken, "`"+b.String()+"`")
			}
			assert.True(t, found, "%s.md: nothing breaks %s by %s", p.Name, name, broken)
		}
		for _, name := range p.StepNames() {
			assert.True(t, named[name], "%s.md has no line for %s", p.Name, name)
			delete(named, name)
		}
		assert.Empty(t, named, "%s.md names what is no step of the proof", p.Name)
		for _, a := range actionsOfProof() {
			assert.Contains(t, string(text), "`"+a.String()+"`", "%s.md has no case for it", p.Name)
		}
	}
}
