package defects

// Defect is something wrong in the core.
type Defect struct {
	Name string
	// Wrong says what the core does, or no longer does.
	Wrong string
	Edits []Edit
}

func in(file, old, new string) Edit { return Edit{"impl/core/" + file, old, new} }

// Core are the defects of the core. Where an assertion would stop the replica at
// once, it is left out too: who overlooks a rule does not assert it.
var Core = []Defect{
	// Commit.
	{"commit-old-epoch", "the high watermark may cover no record of the leader's epoch", []Edit{
		in("commit.go", "if hw <= l.epochStart || hw <= r.hw {", "if hw < l.epochStart || hw <= r.hw {"),
		in("reads.go", "\tr.assert(r.hw > r.lead.epochStart, \"a read before a record of the epoch is committed\")\n", ""),
	}},
	{"commit-unflushed", "a leader counts what it has written and not flushed", []Edit{
		in("commit.go", "\thw := majorityOffset(l.scratch)\n", "\tl.scratch[r.self] = r.log.end\n\thw := majorityOffset(l.scratch)\n"),
	}},
	{"commit-half", "half of an even number of voters is a majority", []Edit{
		in("quorum.go", "return ends[len(ends)/2]", "return ends[(len(ends)-1)/2]"),
	}},
	{"commit-minority", "the high watermark is ahead by one voter", []Edit{
		in("quorum.go", "return ends[len(ends)/2]", "return ends[max(0, len(ends)/2-1)]"),
	}},
	{"commit-divergent", "a fetch that diverges counts as progress", []Edit{
		in("fetch_leader.go", "\tif d, diverges := r.log.diverges(m.Offset, m.LastEpoch); diverges {\n",
			"\tif i := voterIndex(r.cfg.Voters, m.From); i >= 0 {\n\t\tr.lead.voters[i].end = m.Offset\n\t\tr.advanceHighWatermark()\n\t}\n"+
				"\tif d, diverges := r.log.diverges(m.Offset, m.LastEpoch); diverges {\n"),
		in("commit.go", "\tr.assert(hw <= r.log.end, \"the high watermark is past the log end\")\n", ""),
	}},
	{"commit-old-fetch", "a fetch of an older epoch counts as progress", []Edit{
		in("fetch_leader.go", "\tcase m.Epoch < r.epoch:\n\t\treturn FencedLeaderEpoch\n", ""),
	}},
	{"ack-flushed", "an append is acknowledged when the leader has flushed it", []Edit{
		in("commit.go", "c.waiting[c.head].end <= r.hw {", "c.waiting[c.head].end <= r.log.flushed {"),
	}},
	{"fail-for-certain", "an append that may yet be committed is said to have failed", []Edit{
		in("commit.go", "Result{Error: NotLeaderOrFollower, Unknown: true, Offset: w.base}", "Result{Error: NotLeaderOrFollower}"),
	}},
	{"no-leader-change", "a new leader writes no LeaderChange record", []Edit{
		in("leader.go", "\tif !l.changeWritten {\n\t\tr.appendLeaderChange()\n\t}\n", "\tl.changeWritten = true\n"),
	}},

	// Elections.
	{"vote-not-stored", "a vote is stored only together with a new epoch or leader", []Edit{
		in("replica.go", "if r.durable != (Election{Epoch: r.epoch, Leader: r.leader, Voted: r.voted}) {",
			"if r.durable.Epoch != r.epoch || r.durable.Leader != r.leader {"),
	}},
	{"vote-forgotten", "a restart forgets the vote", []Edit{
		in("replica.go", "r.epoch, r.leader, r.voted = e.Epoch, e.Leader, e.Voted", "r.epoch, r.leader, r.voted = e.Epoch, e.Leader, NoKey"),
	}},
	{"vote-twice", "a vote is given again, to another candidate", []Edit{
		in("quorum.go", "return q.voted.matches(q.candidate)", "return q.upToDate"),
	}},
	{"vote-longer-log", "the longer log counts as the better one, whatever its last epoch", []Edit{
		in("log.go", "return lastEpoch > own || (lastEpoch == own && offset >= l.end)", "return offset >= l.end"),
	}},
	{"vote-shorter-log", "a shorter log of the same last epoch counts as good enough", []Edit{
		in("log.go", "return lastEpoch > own || (lastEpoch == own && offset >= l.end)", "return lastEpoch >= own"),
	}},
	{"candidate-not-stored", "a candidate does not store its epoch and its vote for itself", []Edit{
		in("replica.go", "if r.durable != (Election{Epoch: r.epoch, Leader: r.leader, Voted: r.voted}) {",
			"if r.role != Candidate && r.durable != (Election{Epoch: r.epoch, Leader: r.leader, Voted: r.voted}) {"),
	}},
	{"candidate-unflushed", "a candidate claims records that it may lose", []Edit{
		in("election.go", "tally(r.nominee.votes) != undecided || !r.log.settled() {", "tally(r.nominee.votes) != undecided {"),
	}},
	{"leader-again", "a leader that restarts leads the same epoch again", []Edit{
		in("replica.go", "\t\tr.role = Resigned\n\t\tr.resigned = resignedState{acked: make([]bool, len(r.cfg.Voters))}\n\t\tr.restartElectionTimerAlways()\n",
			"\t\tr.role = Leader\n\t\tr.nominee.start(r.cfg.Voters, r.self)\n\t\tr.lead.start(r)\n\t\tr.lead.changeWritten = true\n"),
	}},
	{"pre-vote-is-vote", "the answer to a pre-vote counts as a vote", []Edit{
		in("election.go", "nominee := r.role == Candidate && !p.preVote || r.role == Prospective && p.preVote", "nominee := r.role == Candidate || r.role == Prospective"),
		in("roles.go", "\tr.nominee.start(r.cfg.Voters, r.self)\n\tr.restartElectionTimer()\n\tr.resetConnections()\n\tr.done(actBecomeCandidate, nil)\n",
			"\tif r.nominee.retries > 1 || !r.cfg.PreVote {\n\t\tr.nominee.start(r.cfg.Voters, r.self)\n\t}\n\tr.restartElectionTimer()\n\tr.resetConnections()\n\tr.done(actBecomeCandidate, nil)\n"),
	}},

	// Replication.
	{"no-truncation", "a follower does not cut off what diverges", []Edit{
		in("fetch_follower.go", "\t\t\tr.truncate(to)\n", "\t\t\tr.backOff(r.peer(p.id))\n"),
	}},
	{"truncate-one-more", "a follower cuts off one record too many", []Edit{
		in("fetch_follower.go", "\t\t\tr.truncate(to)\n", "\t\t\tr.truncate(max(0, to-1))\n"),
		in("fetch_follower.go", "\tr.assert(to >= r.hwFloor, \"truncation below the high watermark\")\n", ""),
	}},
	{"epoch-end", "a leader names the start of an epoch where it was asked for the end", []Edit{
		in("log.go", "return EpochEnd{Epoch: l.epochs[i-1].Epoch, End: l.epochs[i].Start}", "return EpochEnd{Epoch: l.epochs[i-1].Epoch, End: l.epochs[i-1].Start}"),
		in("fetch_follower.go", "\tr.assert(to >= r.hwFloor, \"truncation below the high watermark\")\n", ""),
	}},
	{"no-divergence", "a leader compares ends of epochs, and not epochs", []Edit{
		in("log.go", "end.Epoch != epoch || end.End < offset {", "end.End < offset {"),
	}},
	{"fetch-unflushed", "a follower fetches again before it has flushed", []Edit{
		in("fetch_follower.go", "if !r.log.settled() || r.anyBusy() {", "if r.anyBusy() {"),
		in("fetch_follower.go", "\tr.assert(r.log.settled(), \"a fetch was in flight while the log was not durable\")\n", ""),
	}},
	{"append-to-truncated", "a follower appends before a truncation is durable", []Edit{
		in("log.go", "return l.flushed == l.end && !l.truncating }", "return l.flushed == l.end }"),
	}},
	{"old-flush", "a flush from before a truncation counts for what came after it", []Edit{
		in("commit.go", "\tif in.Flush < l.truncFlush {\n\t\treturn\n\t}\n\tr.assert(in.End <= l.end, \"flushed past the log end\")\n\tif in.End <= l.flushed && !l.truncating {\n\t\treturn\n\t}\n",
			"\tin.End = min(in.End, l.end)\n"),
	}},
	{"follower-hw-ahead", "a follower takes the leader's high watermark for records that it does not have", []Edit{
		in("fetch_follower.go", "r.learnHighWatermark(min(r.log.end, m.HighWatermark))", "r.learnHighWatermark(m.HighWatermark)"),
	}},
	{"divergent-hw", "a follower takes the high watermark of an answer that says that it diverges", []Edit{
		in("fetch_follower.go", "\t\tif to := r.log.truncationPoint(m.Diverging); to >= 0 && to < r.log.end {\n",
			"\t\tr.learnHighWatermark(min(r.log.end, m.HighWatermark))\n\t\tif to := r.log.truncationPoint(m.Diverging); to >= 0 && to < r.log.end {\n"),
		in("fetch_follower.go", "\tr.assert(to >= r.hwFloor, \"truncation below the high watermark\")\n", ""),
	}},

	// Reads.
	{"read-unconfirmed", "a leader answers reads without asking whether it still leads", []Edit{
		in("reads.go", "case rs.active && rs.confirmed+1 >= majority(len(r.cfg.Voters)):", "case rs.active:"),
	}},
	{"read-old-hw", "a new leader answers reads with the high watermark that it knew as a follower", []Edit{
		in("roles.go", "\tr.hw = UnknownOffset // until a record of this epoch is committed\n", ""),
		in("reads.go", "\tr.assert(r.hw > r.lead.epochStart, \"a read before a record of the epoch is committed\")\n", ""),
	}},
	{"read-late-join", "a read joins a round that began before it", []Edit{
		in("reads.go", "\tr.reads.waiting = append(r.reads.waiting, in.Client)\n",
			"\tif r.reads.active {\n\t\tr.reads.serving = append(r.reads.serving, in.Client)\n\t\treturn\n\t}\n\tr.reads.waiting = append(r.reads.waiting, in.Client)\n"),
	}},
	{"read-any-answer", "any answer confirms a read, also to a request from before it", []Edit{
		in("reads.go", "if r.reads.active && p.read == r.reads.round && !v.confirmed {", "if r.reads.active && !v.confirmed {"),
	}},

	// Connections.
	{"late-response", "an answer is taken for that to a later request", []Edit{
		in("requests.go", "if p.id == in.Peer && p.busy && p.correlation == in.Correlation {", "if p.id == in.Peer && p.busy {"),
	}},
}
