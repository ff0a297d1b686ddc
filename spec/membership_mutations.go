package spec

// membershipMutations are bugs of changes of the voter set.
var membershipMutations = []Mutation{
	{
		ID: "single-server-change", Title: "a leader changes the voter set before it has committed a record of its own epoch",
		Source: "raft-dev 2015 (Ongaro); braft 182; copycat 23; axon-server 120; openraft 2051",
		Story: "B is elected by C and D, of A, B, C and D. A, which still leads the epoch before, takes D out in its own log, and nobody hears of it. B takes A out at once, and commits that with D: two of B, C and D. " +
			"Meanwhile A has been elected by C: two of A, B and C. The two majorities do not meet, and what B has committed is lost. Had B committed a record of its own epoch first, a majority of A, B, C and D would have it, and refuse A.",
		Override: func(r *Rules) {
			r.MayChange = func(*Replica) bool { return true }
		},
		Model: "two-changes", Property: "CommittedStable", Steps: 13, Action: ActionRemoveVoter, Guard: EpochCommitted,
	},
	{
		ID: "two-changes-at-once", Title: "a leader begins a change while another is not committed",
		Source: "Raft dissertation 4.1; KIP-853",
		Story:  "A takes C out, and B right after it, and commits that alone. B and C, which have heard of neither, have elected B.",
		Override: func(r *Rules) {
			r.ChangeCommitted = func(*Replica) bool { return true }
		},
		Model: "remove-two", Property: "CommittedStable", Steps: 5, Action: ActionRemoveVoter, Guard: NoUncommittedChange,
	},
	{
		ID: "inherited-change", Title: "a new leader changes the voter set that was committed last, and not the one in its log",
		Source: "NuRaft 67",
		Story: "A takes D out, and B has that record when it is elected by the set in it. B takes it for uncommitted, as it is, and derives its own change from the set before: B, C and D without A. " +
			"A is elected with C by the set of A's own change, and what B commits with D is lost.",
		Override: func(r *Rules) {
			r.MayChange = func(*Replica) bool { return true }
			r.Base = func(c *Ctx, r *Replica) Set {
				if v, at := r.Log.votersBelow(max(r.HighWatermark, 0)); at >= 0 {
					return v
				}
				return c.Voters
			}
		},
		Model: "two-changes", Property: "CommittedStable", Steps: 12, Action: ActionRemoveVoter, Guard: EpochCommitted,
	},
	{
		ID: "set-at-commit", Title: "a voter set takes effect when it is committed",
		Source: "etcd 7280, 11284, 12134; etcd-io/raft 469",
		Story:  "A takes C out, then B, and commits both. B has the records, crashes, and comes back without a high watermark, so that neither set is in force for it: it is elected by C, which has nothing of it, and lacks what A has committed alone by then.",
		Override: func(r *Rules) {
			r.VotersFrom = func(r *Replica, _ Happened) Set {
				v, _ := r.Log.votersBelow(max(r.HighWatermark, 0))
				return v
			}
		},
		Model: "voters-crash", Property: "CommittedStable", Steps: 15, Action: ActionRemoveVoter,
	},
	{
		ID: "truncation-keeps-set", Title: "a truncation does not bring the voter set before into force again",
		Source: "reference: VoterSetHistory.truncateNewEntries",
		Story:  "A takes D out, in its own log alone. B is elected, and A follows it and cuts its record off, but goes on to count by its own set. B takes A out, and commits that with D; A is elected by C, two of a set of three that never was.",
		Override: func(r *Rules) {
			r.VotersFrom = func(r *Replica, after Happened) Set {
				if after == Truncated {
					return r.Voters
				}
				return votersFrom(r, after)
			}
		},
		Model: "two-changes", Property: "CommittedStable", Steps: 19, Action: ActionHandleFetchResponse,
	},
	{
		ID: "snapshot-without-set", Title: "a snapshot that is installed leaves the voter set as it was",
		Source: "etcd 12163",
		Story:  "A takes B out, and the log begins behind that. B installs the snapshot and still takes itself for a voter. A grants it its vote, B leads, and derives the next set from one that is long gone: from {A} to {ABC}, of which two can decide without A.",
		Override: func(r *Rules) {
			r.VotersFrom = func(r *Replica, after Happened) Set {
				if after == Installed {
					return r.Voters
				}
				return votersFrom(r, after)
			}
		},
		Model: "voters-snapshot", Property: "QuorumOverlap", Steps: 14, Action: ActionInstallSnapshot,
	},
	{
		ID: "restart-forgets-set", Title: "a replica starts with the voter set of its configuration",
		Source: "KAFKA-19489 has it for the first start",
		Story:  "A takes C out, and B has the record. B restarts and reads the set from its configuration, is elected with C, and A, which took B out as well, commits that alone.",
		Override: func(r *Rules) {
			r.VotersFrom = func(r *Replica, after Happened) Set {
				if after == Started {
					return 0
				}
				return votersFrom(r, after)
			}
		},
		Model: "voters-crash", Property: "CommittedStable", Steps: 10, Action: ActionCrash,
	},
	{
		ID: "KAFKA-16530", Title: "a leader that has left the voter set counts itself",
		Source: "KAFKA-16530; RedisLabs/raft 13",
		Story:  "Of A, B, C and D, A takes itself out. It appends a record, which B fetches, and counts two of three: B and itself. C and D, the other two of B, C and D, elect C, which does not have it.",
		Override: func(r *Rules) {
			r.Counts = func(c *Ctx, r *Replica) Set { return c.voters(r).With(r.ID) }
		},
		Model: "remove-leader", Property: "CommittedStable", Steps: 8, Action: ActionHandleFetchRequest,
	},
	{
		ID: "removed-leader-stops", Title: "a leader that has left the voter set commits nothing any more",
		Source: "the opposite mistake to KAFKA-16530; KIP-853 lets the leader go on until its removal is committed",
		Story:  "A takes itself out and does not lead on. Whether its record survives is a matter of luck: nobody is sure to have it. No safety property can see it; a Sometimes property is no longer reached.",
		Override: func(r *Rules) {
			r.Counts = func(c *Ctx, r *Replica) Set {
				if !c.isVoter(r) {
					return 0
				}
				return c.voters(r)
			}
		},
		Model: "leader-leaves", Property: "CommittedFromOutside", Action: ActionHandleFetchRequest,
	},
	{
		ID: "removed-voter-never-stands", Title: "only a voter of its own set stands",
		Source: "found here: docs/findings.md; KIP-853 and Kafka have it so; openraft 2091; Ongaro 2014, 4.2.2",
		Story: "Of A and B, A leads and takes itself out. Before B has that record, A leads no more. B needs the votes of both, and A refuses it, whose log is longer; A itself, which B would elect, is no voter in its own set. " +
			"There is no leader for ever. No safety property can see it; a Sometimes property is no longer reached.",
		Override: func(r *Rules) {
			r.Electable = func(c *Ctx, r *Replica) bool { return c.isVoter(r) }
		},
		Model: "one-of-two", Property: "ElectedFromOutside", Action: ActionBecomeCandidate,
	},
	{
		ID: "swap", Title: "a replica takes the place of another in one change",
		Source: "found here: docs/findings.md; VoterSet.hasOverlappingMajority lets it pass",
		Story:  "A puts D in the place of C. Two of A, B and D are no majority that meets two of B and C: B is elected by C, and D by A, in one epoch.",
		Override: func(r *Rules) {
			r.With = func(r *Replica, voters Set, id ID) Set {
				for other := ID(MaxReplicas); other > 0; other-- {
					if voters.Has(other) && other != r.ID {
						return voters.With(id) &^ SetOf(other)
					}
				}
				return voters.With(id)
			}
		},
		Model: "add-fourth", Property: "ElectionSafety", Steps: 8, Action: ActionAddVoter,
	},
	{
		ID: "etcd-10998", Title: "a replica that does not know itself as a voter does not vote",
		Source: "etcd 10998; KIP-853 \"Vote\"",
		Story:  "C was added, and does not know it yet. The others need its vote as soon as one of them is gone, and C says that it has none. No safety property can see it.",
		Override: func(r *Rules) {
			clean := r.MayGrant
			r.MayGrant = func(c *Ctx, r *Replica, m *Msg) bool { return c.isVoter(r) && clean(c, r, m) }
		},
		Model: "add-voter", Property: "OutsiderVoted", Action: ActionHandleVoteRequest,
	},
	{
		ID: "votes-for-own-set", Title: "a replica does not vote for a candidate that is no voter in its own set",
		Source: "KIP-853 \"Vote\"",
		Story:  "C was added, and A does not know it yet. C may be the one whose log is long enough to be elected, and A says that it is no voter. No safety property can see it.",
		Override: func(r *Rules) {
			clean := r.MayGrant
			r.MayGrant = func(c *Ctx, r *Replica, m *Msg) bool { return c.voters(r).Has(m.Src) && clean(c, r, m) }
		},
		Model: "add-voter", Property: "VotedForOutsider", Action: ActionHandleVoteRequest,
	},
	{
		ID: "observers-counted", Title: "a leader counts the logs of observers",
		Source: "a common slip",
		Story:  "D is an observer beside A, B and C. A appends a record, D fetches it, and A counts two of three, D and itself. B, which does not have it, is elected with C.",
		Override: func(r *Rules) {
			r.Counts = func(c *Ctx, r *Replica) Set {
				s := c.voters(r)
				for i := ID(1); i <= MaxReplicas; i++ {
					if r.End[i.index()] > 0 {
						s = s.With(i)
					}
				}
				return s
			}
		},
		Model: "add-fourth", Property: "CommittedStable", Steps: 7, Action: ActionHandleFetchRequest,
	},
}
