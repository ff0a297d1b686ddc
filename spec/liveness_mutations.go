package spec

// LivenessMutation is a bug that breaks no safety property: the cluster, or a part
// of it, stands still. A live model catches it with a lasso.
type LivenessMutation struct {
	// Mutation has the live model and the liveness property; Steps, Action and Guard
	// are not used.
	Mutation
	// Stem and Cycle are the lengths of the lasso, pinned. A cycle of 0: nothing
	// happens any more.
	Stem, Cycle int
}

// LivenessMutations are all of them. What is known of others, and why they are not
// here, stands in docs/liveness.md.
var LivenessMutations = []LivenessMutation{
	{
		Mutation: Mutation{
			ID: "etcd-8243", Title: "a pre-vote of an older epoch is dropped, not answered",
			Source: "etcd 8243, 8501; canonical/raft 279",
			Story: "B and C have come to a newer epoch, of which A does not know. A asks them for pre-votes and hears nothing, so it never learns of that epoch, " +
				"asks again and again, and never comes to stand; nor would their pre-votes reach a majority without it.",
			Override: func(r *Rules) {
				r.AnswersStale = func(_ *Replica, m *Msg) bool { return !m.PreVote }
			},
			Model: "live-prevote", Property: "PreVoteEnds",
		},
		Stem: 7, Cycle: 4,
	},
	{
		Mutation: Mutation{
			ID: "newer-epoch-not-heeded", Title: "a nominee does not look at the epoch in an answer that refuses it",
			Source: "a common slip; the other half of etcd 8243",
			Story:  "A asks in an old epoch, and B's answer names the newer one. A only counts that the vote was not granted, and asks in the old epoch again.",
			Override: func(r *Rules) {
				r.Heeds = func(_ *Ctx, r *Replica, _ *Msg) bool { return r.Role != Prospective }
			},
			Model: "live-prevote", Property: "PreVoteEnds",
		},
		Stem: 7, Cycle: 4,
	},
	{
		Mutation: Mutation{
			ID: "stuck-in-prospective", Title: "a prospective voter that cannot win does not go back",
			Source: "the public TLA+ specification of KIP-996, mended in kafka-tlaplus b0b4d41, 421f170, 42dd2f4",
			Story:  "C's fetch timer fires once, although its leader is well. The others refuse it their pre-votes, as they hear the leader, and C stays prospective: it does not fetch any more.",
			Override: func(r *Rules) {
				r.MayAbandon = func(*Replica) bool { return false }
			},
			Model: "live-prevote", Property: "NotProspectiveForEver.B",
		},
		Stem: 6, Cycle: 0,
	},
	{
		Mutation: Mutation{
			ID: "etcd-8334", Title: "who knows a leader refuses pre-votes, whether it still hears it or not",
			Source: "etcd 8334",
			Story:  "The leader is gone, and its timers have told both others so. Each still has its name, refuses the other one because there is a leader, and nobody is elected.",
			Override: func(r *Rules) {
				clean := r.MayGrant
				r.MayGrant = func(c *Ctx, r *Replica, m *Msg) bool {
					return clean(c, r, m) && !(m.PreVote && r.Election.Leader != Nobody)
				}
			},
			Model: "live-crash", Property: "LeaderElectedAndStays",
		},
		Stem: 8, Cycle: 6,
	},
	{
		Mutation: Mutation{
			ID: "follower-refuses-for-ever", Title: "a follower refuses every pre-vote",
			Source: "KIP-996: a follower refuses only while it has fetched from its leader",
			Story:  "A asks for a pre-vote whenever C is between two attempts of its own, as a follower of the leader that is gone. C refuses as all followers do.",
			Override: func(r *Rules) {
				clean := r.MayGrant
				r.MayGrant = func(c *Ctx, r *Replica, m *Msg) bool { return clean(c, r, m) && r.Role != Follower }
			},
			Model: "live-crash", Property: "LeaderElectedAndStays",
		},
		Stem: 8, Cycle: 5,
	},
	{
		Mutation: Mutation{
			ID: "candidate-never-gives-up", Title: "a candidate without a majority does not stand again",
			Source: "a common slip: the timer is armed for followers only",
			Story:  "The votes of an epoch are split. A has asked everybody, waits for grants that nobody has left to give, and does nothing else.",
			Override: func(r *Rules) {
				clean := r.MayStand
				r.MayStand = func(r *Replica) bool { return clean(r) && r.Role != Candidate }
			},
			Model: "live-old", Property: "LeaderElectedAndStays",
		},
		Stem: 3, Cycle: 0,
	},
	{
		Mutation: Mutation{
			ID: "follower-never-gives-up", Title: "the fetch timer of a follower never fires",
			Source: "a common slip: the timer is set anew by a fetch that failed, too",
			Story:  "The leader crashes, and its followers go on fetching from it.",
			Override: func(r *Rules) {
				clean := r.MayStand
				r.MayStand = func(r *Replica) bool { return clean(r) && r.Role != Follower }
			},
			Model: "live-crash", Property: "LeaderElectedAndStays",
		},
		Stem: 7, Cycle: 1,
	},
	{
		Mutation: Mutation{
			ID: "KAFKA-15489", Title: "a leader that is cut off from the majority never gives up",
			Source: "KAFKA-15489",
			Story:  "A leads, and both others go down. A goes on to lead, can never commit what it has taken, and its clients wait.",
			Override: func(r *Rules) {
				r.MayResign = func(*Replica) bool { return false }
			},
			Model: "live-cut-off", Property: "CutOffLeaderGivesUp",
		},
		Stem: 8, Cycle: 0,
	},
	{
		Mutation: Mutation{
			ID: "resigned-leader-stays", Title: "a leader that has resigned never leaves its epoch",
			Source: "KIP-996: a resigned leader becomes unattached in the next epoch when its election timer fires",
			Story:  "A resigns, and the others do not stand before it. It may neither lead nor follow in its epoch, and waits for somebody to begin another.",
			Override: func(r *Rules) {
				r.MayLeave = func(*Replica) bool { return false }
			},
			Model: "live-prevote", Property: "LeaderElectedAndStays",
		},
		Stem: 6, Cycle: 0,
	},
	{
		Mutation: Mutation{
			ID: "high-watermark-not-told", Title: "fetch responses carry no high watermark",
			Source: "MongoDB's commit point series, 2016 to 2019; KIP-1166 is its milder form",
			Story:  "Followers have every record, and never learn that any of them is committed.",
			Override: func(r *Rules) {
				r.Tells = func(*Replica, *Msg) Offset { return Unknown }
			},
			Model: "live-old", Property: "CatchesUp",
		},
		Stem: 10, Cycle: 4,
	},
	{
		Mutation: Mutation{
			ID: "KIP-1166-for-ever", Title: "followers hear a high watermark only with new records",
			Source: "KIP-1166, if parked fetches never timed out",
			Story:  "The last record of an idle log is committed, and only its leader knows.",
			Override: func(r *Rules) {
				r.Tells = func(r *Replica, m *Msg) Offset {
					if m.Offset == r.Log.End() {
						return Unknown
					}
					return r.HighWatermark
				}
			},
			Model: "live-old", Property: "CatchesUp",
		},
		Stem: 10, Cycle: 4,
	},
	{
		Mutation: Mutation{
			ID: "fetch-not-repeated", Title: "a follower whose fetch was answered does not fetch again",
			Source: "etcd-io/raft, inflight bytes that were never given back (2023)",
			Story:  "B fetches once. What it has got is never acknowledged, so the high watermark stays where it is.",
			Override: func(r *Rules) {
				clean := r.MayAcknowledge
				r.MayAcknowledge = func(r *Replica) bool { return clean(r) && !r.HasFetched }
			},
			Model: "live-old", Property: "AppendEnds",
		},
		Stem: 8, Cycle: 2,
	},
	{
		Mutation: Mutation{
			ID: "no-truncation-stuck", Title: "a follower that is told it has diverged does not truncate",
			Source: "a common slip",
			Story:  "A keeps a record that its leader never had, asks again from its own log end, and is told again, for ever.",
			Override: func(r *Rules) {
				r.TruncationPoint = func(r *Replica, _ *Msg) Offset { return r.Log.End() }
			},
			Model: "live-old", Property: "CatchesUp",
		},
		Stem: 13, Cycle: 4,
	},
	{
		Mutation: Mutation{
			ID: "high-watermark-over-strict", Title: "the high watermark must pass the record after LeaderChange",
			Source: "the opposite mistake to KAFKA-12619",
			Story:  "A leader has its LeaderChange record on all replicas, and waits for a client before it takes it as committed.",
			Override: func(r *Rules) {
				r.MayExpose = func(r *Replica, hw Offset) bool { return hw > r.EpochStart+1 }
			},
			Model: "live-old", Property: "AppendEnds",
		},
		Stem: 10, Cycle: 4,
	},
	{
		Mutation: Mutation{
			ID: "openraft-1246", Title: "a leader that has records already writes no LeaderChange",
			Source: "openraft 1246; jgroups-raft 30",
			Story:  "A is elected with records of an older epoch. Without a record of its own epoch it may not count them as committed, and it writes none before a client comes.",
			Override: func(r *Rules) {
				clean := r.WritesLeaderChange
				r.WritesLeaderChange = func(r *Replica) bool { return clean(r) && r.Log.End() == 0 }
			},
			Model: "live-old", Property: "AppendEnds",
		},
		Stem: 14, Cycle: 4,
	},
	{
		Mutation: Mutation{
			ID: "KAFKA-19354", Title: "an observer does not heed the leader that an answer names",
			Source: "KAFKA-19354",
			Story:  "D asks a voter, which does not lead and says who does. D asks the voters again.",
			Override: func(r *Rules) {
				r.Heeds = func(c *Ctx, r *Replica, _ *Msg) bool { return c.isVoter(r) }
			},
			Model: "live-observer", Property: "CatchesUp",
		},
		Stem: 8, Cycle: 4,
	},
	{
		Mutation: Mutation{
			ID: "KAFKA-20514", Title: "an observer asks nobody but the leader it knows",
			Source: "KAFKA-20514",
			Story:  "D follows a leader that crashes for good. The others elect one, but D never asks them.",
			Override: func(r *Rules) {
				r.MayAsk = func(_ *Ctx, r *Replica, dst ID) bool {
					return r.Role == Unattached || dst == r.Election.Leader
				}
			},
			Model: "live-observer", Property: "CatchesUp",
		},
		Stem: 12, Cycle: 2,
	},
}

// LivenessMutationNamed finds a liveness mutation by its id.
func LivenessMutationNamed(id string) (*LivenessMutation, bool) {
	for i := range LivenessMutations {
		if LivenessMutations[i].ID == id {
			return &LivenessMutations[i], true
		}
	}
	return nil, false
}
