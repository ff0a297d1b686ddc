package spec

import "slices"

// Mutation is a bug put back into the protocol: one rule overridden. The checker
// must catch it by the named property in the named model.
type Mutation struct {
	ID string
	// Title says what is wrong, Source where it was reported.
	Title, Source string
	// Story tells what happens.
	Story    string
	Override func(*Rules)
	// Model is the smallest model that catches it, Property what does. A
	// Sometimes property catches by never being reached.
	Model, Property string
	// Steps is the length of the shortest counterexample, pinned; 0 if a Sometimes
	// property catches.
	Steps int
	// Action is where the behaviour first leaves the clean protocol: refused by
	// Guard, or, if Guard is NoGuard, with another effect.
	Action ActionID
	Guard  Guard
}

// Mutations are all known mutations, in the order of the protocol.
var Mutations = slices.Concat(logMutations, snapshotMutations, membershipMutations)

var logMutations = []Mutation{
	{
		ID: "KAFKA-12619", Title: "the high watermark may move when a majority has only reached the epoch's start offset",
		Source: "KAFKA-12619; known also as figure 8 with an off-by-one",
		Story: "A leads an epoch and writes a record that nobody else gets. C leads the next one and writes its LeaderChange at the same offset, alone. " +
			"A leads again, copies its old record to B, and takes the copy for a commit, although its own LeaderChange has not been replicated. " +
			"C, whose last epoch is higher than B's, wins with B's vote and overwrites the record that was exposed.",
		Override: func(r *Rules) {
			r.MayExpose = func(r *Replica, hw Offset) bool { return hw >= r.EpochStart }
		},
		Model: "figure8", Property: "CommittedStable", Steps: 22, Action: ActionHandleFetchRequest,
	},
	{
		ID: "figure-8", Title: "the high watermark moves to whatever a majority has flushed",
		Source: "Ongaro and Ousterhout 2014, figure 8; canonical/raft 336; CCF 4472",
		Story:  "As KAFKA-12619, but the leader does not even ask whether the offset reaches its own epoch.",
		Override: func(r *Rules) {
			r.MayExpose = func(*Replica, Offset) bool { return true }
		},
		Model: "figure8", Property: "CommittedStable", Steps: 22, Action: ActionHandleFetchRequest,
	},
	{
		ID: "KAFKA-12619-over-strict", Title: "the high watermark must pass the record after LeaderChange",
		Source: "the opposite mistake to KAFKA-12619",
		Story:  "A leader commits its LeaderChange only together with a client's record: without a client nothing old is ever committed. No safety property can see it.",
		Override: func(r *Rules) {
			r.MayExpose = func(r *Replica, hw Offset) bool { return hw > r.EpochStart+1 }
		},
		Model: "commit", Property: "HighWatermarkPastLeaderChange", Action: ActionHandleFetchRequest,
	},
	{
		ID: "KAFKA-10527", Title: "a leader comes back from a restart as leader of the same epoch",
		Source: "KAFKA-10527",
		Story:  "A leads and writes a record that B fetches before A has flushed it. A loses power, comes back as leader of the same epoch, and writes another record at the same offset: one (epoch, offset), two records.",
		Override: func(r *Rules) {
			clean := r.RoleAtStart
			r.RoleAtStart = func(c *Ctx, r *Replica) Role {
				role := clean(c, r)
				if role == Resigned {
					r.Life++
					r.EpochStart = r.Log.End()
					r.LeaderChangeWritten = r.Log.LastEpoch() == r.Election.Epoch
					if r.LeaderChangeWritten {
						_, r.EpochStart = r.Log.EndOffsetForEpoch(r.Election.Epoch - 1)
					}
					for i := range r.End {
						r.End[i] = Unknown
					}
					return Leader
				}
				return role
			}
		},
		Model: "leader-restart", Property: "LogMatching", Steps: 14, Action: ActionRestart,
	},
	{
		ID: "KAFKA-10661", Title: "a leader that restarts forgets that it led, and votes again in its epoch",
		Source: "KAFKA-10661",
		Story:  "A is elected by A and B. It restarts with no leader and no vote in the same epoch; C, still a candidate of that epoch, asks A, and becomes its second leader.",
		Override: func(r *Rules) {
			clean := r.RoleAtStart
			r.RoleAtStart = func(c *Ctx, r *Replica) Role {
				role := clean(c, r)
				if role == Resigned {
					r.Election.Leader, r.Election.Voted = Nobody, Nobody
					return Unattached
				}
				return role
			}
		},
		Model: "vote-restart", Property: "ElectionSafety", Steps: 12, Action: ActionRestart,
	},
	{
		ID: "vote-forgotten", Title: "a vote is not persisted before it is answered",
		Source: "hashicorp/raft 661; KIP-595 \"quorum-state\"",
		Story:  "B votes for A, restarts without the vote, and votes for C in the same epoch.",
		Override: func(r *Rules) {
			r.Persist = func(r *Replica, old Election) Election {
				e := r.Election
				if r.Role == Unattached || r.Role == Prospective {
					e.Voted = Nobody
				}
				return e
			}
		},
		Model: "vote-restart", Property: "ElectionSafety", Steps: 12, Action: ActionHandleVoteRequest,
	},
	{
		ID: "epoch-not-persisted", Title: "a leader writes before its epoch is persisted",
		Source: "KIP-595: quorum-state is written before the first append",
		Story:  "A stands in an epoch that its disk does not know, restarts in an older one, and leads the same epoch again after somebody else did or under another life.",
		Override: func(r *Rules) {
			r.Persist = func(r *Replica, old Election) Election {
				if r.Role == Candidate || r.Role == Leader {
					return r.Stored
				}
				return r.Election
			}
		},
		Model: "vote-restart", Property: "ElectionSafety", Steps: 12, Action: ActionBecomeCandidate,
	},
	{
		ID: "KAFKA-10533", Title: "a follower acknowledges what it has not flushed",
		Source: "KAFKA-10533; tikv 994",
		Story:  "B fetches the leader's record and asks for the next one before it has flushed. The record counts as on a majority and is exposed. B loses power, and with it the record, and votes for C, which never had it.",
		Override: func(r *Rules) {
			r.MayAcknowledge = func(*Replica) bool { return true }
		},
		Model: "flush", Property: "CommittedStable", Steps: 12, Action: ActionSendFetch, Guard: LogFlushed,
	},
	{
		ID: "candidate-claims-unflushed", Title: "a candidate asks for votes for records that it has not flushed",
		Source: "found here: docs/findings.md",
		Story: "C has the committed record, unflushed, and asks A for its vote. It loses power, and the record, and comes back as candidate of the same epoch, as Kafka has it. " +
			"A has voted for C in this epoch, grants it again without another look at the log, and C leads without the record. Kafka flushes before it does anything else, so it is not hit.",
		Override: func(r *Rules) {
			r.MayClaim = func(*Replica) bool { return true }
		},
		Model: "flush", Property: "LeaderCompleteness", Steps: 15, Action: ActionSendVoteRequest, Guard: LogFlushed,
	},
	{
		ID: "leader-counts-unflushed", Title: "a leader counts its own log beyond what it has flushed",
		Source: "KAFKA-10533, the leader's half; etcd 14370",
		Story:  "A has its record from B's acknowledgement and its own unflushed copy. A loses power and the record, C gets A's vote.",
		Override: func(r *Rules) {
			r.OwnEnd = func(r *Replica) Offset { return r.Log.End() }
		},
		Model: "flush", Property: "CommittedStable", Steps: 12, Action: ActionHandleFetchRequest,
	},
	{
		ID: "KAFKA-13141", Title: "the leader counts a fetch that it answers with a divergence",
		Source: "KAFKA-13141",
		Story:  "B has records of an older epoch beyond the fork. It fetches behind them; the leader notes the offset before it looks whether the logs agree, and commits its own records on B's account.",
		Override: func(r *Rules) {
			r.CountsAsProgress = func(*Replica, *Msg, bool) bool { return true }
		},
		Model: "divergence", Property: "CommittedStable", Steps: 24, Action: ActionHandleFetchRequest,
	},
	{
		ID: "no-truncation", Title: "a follower that is told it has diverged does not truncate",
		Source: "a common slip",
		Story: "A keeps a record that its leader never had, asks again from its own log end, and is told again. " +
			"Where followers pull, the leader checks each fetch, so no safety property can break: A is stuck, which a sometimes property sees.",
		Override: func(r *Rules) {
			r.TruncationPoint = func(r *Replica, _ *Msg) Offset { return r.Log.End() }
		},
		Model: "truncation", Property: "LogTruncated", Action: ActionHandleFetchResponse,
	},
	{
		ID: "truncation-not-flushed", Title: "records are appended before a truncation is flushed",
		Source: "reference: a truncation is an operation to be flushed too",
		Story:  "B truncates, appends the leader's records, and loses power: batches of the old tail stand behind new ones, and nothing tells them apart.",
		Override: func(r *Rules) {
			// Whatever stands in the log is on disk; that more stands there is not asked.
			r.MayAcknowledge = func(r *Replica) bool { return r.FlushedEnd() == r.Log.End() }
			r.MayAppend = func(*Replica) bool { return true }
		},
		Model: "truncation-flush", Property: "UniqueEpochOffset", Steps: 20, Action: ActionSendFetch, Guard: LogFlushed,
	},
	{
		ID: "majority-of-one-less", Title: "a majority is (n-1)/2 voters",
		Source: "a common slip",
		Story:  "With three voters one is enough: a candidate needs no vote but its own.",
		Override: func(r *Rules) {
			r.Majority = func(n int) int { return (n - 1) / 2 }
		},
		Model: "election", Property: "ElectionSafety", Steps: 4, Action: ActionBecomeLeader, Guard: HasMajority,
	},
	{
		ID: "majority-of-half", Title: "a majority is half of the voters",
		Source: "a common slip; harmless with an odd number of voters if rounded up",
		Story:  "With four voters two elect a leader, and the other two another one.",
		Override: func(r *Rules) {
			r.Majority = func(n int) int { return (n + 1) / 2 }
		},
		Model: "four", Property: "ElectionSafety", Steps: 10, Action: ActionBecomeLeader, Guard: HasMajority,
	},
	{
		ID: "votes-counted-twice", Title: "votes are counted by responses, not by voters",
		Source: "xraft 27",
		Story:  "B's grant arrives twice, and A counts two.",
		Override: func(r *Rules) {
			r.Tally = func(c *Ctx, r *Replica, src ID) {
				if !r.Granted.Has(src) {
					r.Granted = r.Granted.With(src)
					return
				}
				for i := ID(1); i <= MaxReplicas; i++ {
					if c.voters(r).Has(i) && !r.Granted.Has(i) {
						r.Granted = r.Granted.With(i)
						return
					}
				}
			}
		},
		Model: "five-votes", Property: "ElectionSafety", Steps: 15, Action: ActionHandleVoteResponse,
	},
	{
		ID: "late-response", Title: "a fetch response is taken after the follower has become something else",
		Source: "Kafka drops responses of connections that a role change has reset",
		Story: "B fetches from A, stands, and is elected in a later epoch; then A's answer arrives, and B, about to write its own first record, appends A's. " +
			"A record of an old epoch now stands where B's epoch begins, in a log that no leader of that epoch ever had, and counts as B's own once it is on a majority.",
		Override: func(r *Rules) {
			r.TakesLate = func(r *Replica, m *Msg) bool {
				return m.Error == NoErrorCode && !m.Diverging && m.Epoch < r.Election.Epoch
			}
		},
		Model: "late-leader", Property: "UniqueEpochOffset", Steps: 12, Action: ActionHandleFetchResponse,
	},
	{
		ID: "unconfirmed-read", Title: "a read is served without confirming that the leader still leads",
		Source: "d-engine 381",
		Story:  "A is cut off; C is elected and commits a record. A still believes that it leads, and answers a read without it.",
		Override: func(r *Rules) {
			r.IsConfirmed = func(*Ctx, *Replica) bool { return true }
		},
		Model: "reads", Property: "LinearizableRead", Steps: 31, Action: ActionServeRead, Guard: ReadConfirmed,
	},
	{
		ID: "read-before-commit", Title: "a new leader serves reads before it has committed anything in its epoch",
		Source: "etcd 7331; redisraft 22; tikv 6340",
		Story:  "A commits a record and tells nobody how far the high watermark is. B is elected, does not know the high watermark, and answers a read from the start of its log.",
		Override: func(r *Rules) {
			r.MayRead = func(*Replica) bool { return true }
		},
		Model: "reads", Property: "LinearizableRead", Steps: 23, Action: ActionStartRead, Guard: EpochCommitted,
	},
}

// MutationNamed finds a mutation by its id.
func MutationNamed(id string) (*Mutation, bool) {
	for i := range Mutations {
		if Mutations[i].ID == id {
			return &Mutations[i], true
		}
	}
	return nil, false
}
