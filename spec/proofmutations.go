package spec

// ProofMutations are changes of one rule, made to break one step of a proof. They are
// not among [Mutations]: nobody had them as bugs, or another property would catch them
// in a model first.
var ProofMutations = []Mutation{
	{
		ID: "vote-taken-back", Title: "a voter that is asked again forgets whom it voted for",
		Override: func(r *Rules) {
			r.MayGrant = func(_ *Ctx, r *Replica, m *Msg) bool {
				if !m.PreVote {
					r.Election.Voted = Nobody
				}
				return true
			}
		},
	},
	{
		ID: "vote-before-leader", Title: "a replica that stood comes back as candidate although it knows the leader (docs/findings.md)",
		Override: func(r *Rules) {
			clean := r.RoleAtStart
			r.RoleAtStart = func(c *Ctx, r *Replica) Role {
				if r.Election.Voted == r.ID && r.Election.Leader != r.ID && c.isVoter(r) {
					return Candidate
				}
				return clean(c, r)
			}
		},
	},
	{
		ID: "fetch-states-own-epoch", Title: "a fetch states the epoch that the replica is in, not that of its last record",
		Override: func(r *Rules) {
			r.FetchFrom = func(r *Replica) (Offset, Epoch) { return r.Log.End(), r.Election.Epoch }
		},
	},
	{
		ID: "truncation-too-deep", Title: "a follower that has diverged cuts its whole log",
		Override: func(r *Rules) {
			r.TruncationPoint = func(*Replica, *Msg) Offset { return 0 }
		},
	},
}

// ProofMutationNamed finds a mutation of [Mutations] or [ProofMutations] by its id.
func ProofMutationNamed(id string) (*Mutation, bool) {
	for i := range ProofMutations {
		if ProofMutations[i].ID == id {
			return &ProofMutations[i], true
		}
	}
	return MutationNamed(id)
}

// ProofBreak names what makes a step of a proof fail: a mutation, or a guard that is
// dropped. A theorem follows from the invariant by logic alone, and no change of the
// protocol can break it; it fails without the conjunct that is named.
type ProofBreak struct {
	Proof, Step string
	Mutation    string
	Action      ActionID
	Guard       Guard
	Without     string
}

// String names the change as the command takes it.
func (b *ProofBreak) String() string {
	switch {
	case b.Mutation != "":
		return b.Mutation
	case b.Guard != NoGuard:
		return b.Action.String() + "." + b.Guard.String()
	}
	return "without " + b.Without
}

// Variant is the protocol under the change.
func (b *ProofBreak) Variant() Variant {
	v := Variant{DropAction: b.Action, DropGuard: b.Guard}
	if b.Mutation != "" {
		v.Mutation, _ = ProofMutationNamed(b.Mutation)
	}
	return v
}

// ProofUnbroken are the lemmas that no change of the protocol touches, with the reason.
var ProofUnbroken = map[string]string{
	"MessagesKeepWhatTheySay": "it is of the environment, which has no rules and no guards",
	"GroundedLogsMatch":       "it is of logs alone, and no action is in it",
}

// ProofBreaks has, for each other step of each proof, something that breaks it.
var ProofBreaks = []ProofBreak{
	{Proof: "election-safety", Step: "StepStoresElection", Mutation: "vote-forgotten"},
	{Proof: "election-safety", Step: "VoteStays", Action: ActionHandleVoteRequest, Guard: NewerEpoch},
	{Proof: "election-safety", Step: "GrantIsVote", Action: ActionHandleVoteRequest, Guard: VoteAllowed},
	{Proof: "election-safety", Step: "CountedIsGrant", Mutation: "votes-counted-twice"},
	{Proof: "election-safety", Step: "LeaderWasElected", Action: ActionBecomeLeader, Guard: HasMajority},
	{Proof: "election-safety", Step: "MajoritiesMeet", Mutation: "majority-of-half"},
	{Proof: "election-safety", Step: "StoredIsElection", Mutation: "vote-forgotten"},
	{Proof: "election-safety", Step: "VotesArePast", Action: ActionHandleBeginQuorumEpochRequest, Guard: NotStale},
	{Proof: "election-safety", Step: "VoteKept", Action: ActionHandleVoteRequest, Guard: NewerEpoch},
	{Proof: "election-safety", Step: "VoteOnceEver", Mutation: "vote-taken-back"},
	{Proof: "election-safety", Step: "GrantsAreVotes", Action: ActionHandleVoteRequest, Guard: VoteAllowed},
	{Proof: "election-safety", Step: "GrantedWereGiven", Mutation: "votes-counted-twice"},
	{Proof: "election-safety", Step: "LeaderHasMajority", Mutation: "majority-of-one-less"},
	{Proof: "election-safety", Step: "ElectionSafety", Without: "VoteOnceEver"},

	{Proof: "log-matching", Step: "TakenFetchAgrees", Mutation: "fetch-states-own-epoch"},
	{Proof: "log-matching", Step: "NobodyVotesInEpochZero", Action: ActionSendVoteRequest, Guard: IsNominee},
	{Proof: "log-matching", Step: "CandidateStands", Mutation: "vote-before-leader"},
	{Proof: "log-matching", Step: "LeadershipStays", Mutation: "KAFKA-10661"},
	{Proof: "log-matching", Step: "EpochLogsGrounded", Mutation: "late-response"},
	{Proof: "log-matching", Step: "LeaderHoldsEpochLog", Mutation: "KAFKA-10527"},
	{Proof: "log-matching", Step: "LogsGrounded", Action: ActionHandleFetchResponse, Guard: AnswersFetch},
	{Proof: "log-matching", Step: "LogsArePast", Action: ActionHandleBeginQuorumEpochRequest, Guard: NotStale},
	{Proof: "log-matching", Step: "OneBranch", Mutation: "truncation-not-flushed"},
	{Proof: "log-matching", Step: "LeaderHasNoTail", Action: ActionAppendLeaderChange, Guard: TruncationFlushed},
	{Proof: "log-matching", Step: "FetchesGrounded", Mutation: "fetch-states-own-epoch"},
	{Proof: "log-matching", Step: "RecordsGrounded", Action: ActionHandleFetchRequest, Guard: ServesFetch},
	{Proof: "log-matching", Step: "LogMatching", Without: "LogsGrounded"},
	{Proof: "log-matching", Step: "UniqueEpochOffset", Without: "EpochLogsGrounded"},

	{Proof: "leader-completeness", Step: "TruncationKeepsAgreement", Mutation: "truncation-too-deep"},
	{Proof: "leader-completeness", Step: "GrantedHasMore", Action: ActionHandleVoteRequest, Guard: VoteAllowed},
	{Proof: "leader-completeness", Step: "MessagesArePast", Action: ActionSendVoteRequest, Guard: ToOtherVoter},
	{Proof: "leader-completeness", Step: "VotedForWasThere", Action: ActionHandleBeginQuorumEpochRequest, Guard: NotStale},
	{Proof: "leader-completeness", Step: "ClaimsAreDurable", Mutation: "candidate-claims-unflushed"},
	{Proof: "leader-completeness", Step: "VotedForIsDurable", Mutation: "late-response"},
	{Proof: "leader-completeness", Step: "DivergenceIsLeaders", Action: ActionHandleFetchRequest, Guard: ServesFetch},
	{Proof: "leader-completeness", Step: "ChoosableIsKept", Mutation: "truncation-too-deep"},
	{Proof: "leader-completeness", Step: "VotedForHasChoosable", Action: ActionHandleVoteRequest, Guard: VoteAllowed},
	{Proof: "leader-completeness", Step: "LaterLeadersHaveChoosable", Mutation: "majority-of-one-less"},
	{Proof: "leader-completeness", Step: "LeaderCompleteness", Without: "LaterLeadersHaveChoosable"},

	{Proof: "commit-safety", Step: "HighWatermarkIsMajoritys", Mutation: "figure-8"},
	{Proof: "commit-safety", Step: "FetchedIsKept", Mutation: "KAFKA-10533"},
	{Proof: "commit-safety", Step: "EndIsKept", Mutation: "KAFKA-13141"},
	{Proof: "commit-safety", Step: "ExposedIsChosen", Mutation: "KAFKA-12619"},
	{Proof: "commit-safety", Step: "ExposedIsChosen", Mutation: "figure-8"},
	{Proof: "commit-safety", Step: "ExposedIsChosen", Mutation: "leader-counts-unflushed"},
	{Proof: "commit-safety", Step: "AnsweredWasExposed", Action: ActionHandleFetchRequest, Guard: ServesFetch},
	{Proof: "commit-safety", Step: "HighWatermarkWasExposed", Action: ActionHandleFetchResponse, Guard: AnswersFetch},
	{Proof: "commit-safety", Step: "CommittedStable", Without: "HighWatermarkWasExposed"},
	{Proof: "commit-safety", Step: "StateMachineSafety", Without: "HighWatermarkWasExposed"},
	{Proof: "commit-safety", Step: "CommittedOnMajority", Without: "ExposedIsChosen"},
}
