package defects

import "slices"

// Defect is something wrong in the core.
type Defect struct {
	Name string
	// Wrong says what the core does, or no longer does.
	Wrong string
	Edits []Edit
	// Unsimulated says why no simulated run gets to where it matters: then it is for
	// the tests of the core alone.
	Unsimulated string
	// Bootstrap: it concerns how clusters begin, and simulated controllers are to find it
	// rather than simulated replicas.
	Bootstrap bool
}

func in(file, old, new string) Edit { return Edit{"impl/core/" + file, old, new} }

// Core are the defects that are not a flush left out. Where an assertion would stop the replica at
// once, it is left out too: who overlooks a rule does not assert it.
//
// One check of the core is not here, since nothing can go wrong without it: that a
// flush is not older than the latest truncation. A follower truncates only on the
// answer to a fetch, and fetches only when all is flushed.
var Core = slices.Concat(core, further, bootstraps)

var core = []Defect{
	// Commit.
	{Name: "commit-old-epoch", Wrong: "the high watermark may cover no record of the leader's epoch", Edits: []Edit{
		in("commit.go", "if hw <= l.epochStart || hw <= r.hw {", "if hw < l.epochStart || hw <= r.hw {"),
		in("reads.go", "\tr.assert(r.hw > r.lead.epochStart, \"a read before a record of the epoch is committed\")\n", ""),
	}},
	{Name: "commit-unflushed", Wrong: "a leader counts what it has written and not flushed", Edits: []Edit{
		in("commit.go", "\thw := majorityOffset(l.scratch)\n", "\tl.scratch[r.self] = r.log.end\n\thw := majorityOffset(l.scratch)\n"),
	}},
	{Name: "commit-half", Wrong: "half of an even number of voters is a majority", Edits: []Edit{
		in("quorum.go", "return ends[len(ends)/2]", "return ends[(len(ends)-1)/2]"),
	}},
	{Name: "commit-minority", Wrong: "the high watermark is ahead by one voter", Edits: []Edit{
		in("quorum.go", "return ends[len(ends)/2]", "return ends[max(0, len(ends)/2-1)]"),
	}},
	{Name: "commit-divergent", Wrong: "a fetch that diverges counts as progress", Edits: []Edit{
		in("fetch_leader.go", "\tif d, diverges := r.log.diverges(m.Offset, m.LastEpoch); diverges {\n",
			"\tif i := voterIndex(r.voters, m.From); i >= 0 {\n\t\tr.lead.voters[i].end = m.Offset\n\t\tr.advanceHighWatermark()\n\t}\n"+
				"\tif d, diverges := r.log.diverges(m.Offset, m.LastEpoch); diverges {\n"),
		in("commit.go", "\tr.assert(hw <= r.log.end, \"the high watermark is past the log end\")\n", ""),
	}},
	{Name: "commit-old-fetch", Wrong: "a fetch of an older epoch counts as progress", Edits: []Edit{
		in("fetch_leader.go", "\tcase m.Epoch < r.epoch:\n\t\treturn FencedLeaderEpoch\n", ""),
	}},
	{Name: "ack-flushed", Wrong: "an append is acknowledged when the leader has flushed it", Edits: []Edit{
		in("commit.go", "c.waiting[c.head].end <= r.hw {", "c.waiting[c.head].end <= r.log.flushed {"),
	}},
	{Name: "fail-for-certain", Wrong: "an append that may yet be committed is said to have failed", Edits: []Edit{
		in("commit.go", "Result{Error: NotLeaderOrFollower, Unknown: true, Offset: w.base}", "Result{Error: NotLeaderOrFollower}"),
	}},
	{Name: "no-leader-change", Wrong: "a new leader writes no LeaderChange record", Edits: []Edit{
		in("leader.go", "\tif !l.changeWritten {\n\t\tr.appendLeaderChange()\n\t}\n", "\tl.changeWritten = true\n"),
	}},

	// Elections.
	{Name: "vote-not-stored", Wrong: "a vote is stored only together with a new epoch or leader", Edits: []Edit{
		in("replica.go", "if r.durable != (Election{Epoch: r.epoch, Leader: r.leader, Voted: r.voted}) {",
			"if r.durable.Epoch != r.epoch || r.durable.Leader != r.leader {"),
	}},
	{Name: "vote-forgotten", Wrong: "a restart forgets the vote", Edits: []Edit{
		in("replica.go", "r.epoch, r.leader, r.voted = e.Epoch, e.Leader, e.Voted", "r.epoch, r.leader, r.voted = e.Epoch, e.Leader, NoKey"),
	}},
	{Name: "vote-twice", Wrong: "a vote is given again, to another candidate", Edits: []Edit{
		in("quorum.go", "return q.voted.matches(q.candidate)", "return q.upToDate"),
	}},
	{Name: "vote-longer-log", Wrong: "the longer log counts as the better one, whatever its last epoch", Edits: []Edit{
		in("log.go", "return lastEpoch > own || (lastEpoch == own && offset >= l.end)", "_ = own\n\treturn offset >= l.end"),
	}},
	{Name: "vote-shorter-log", Wrong: "a shorter log of the same last epoch counts as good enough", Edits: []Edit{
		in("log.go", "return lastEpoch > own || (lastEpoch == own && offset >= l.end)", "return lastEpoch >= own"),
	}},
	{Name: "candidate-not-stored", Wrong: "a candidate does not store its epoch and its vote for itself", Edits: []Edit{
		in("replica.go", "if r.durable != (Election{Epoch: r.epoch, Leader: r.leader, Voted: r.voted}) {",
			"if r.role != Candidate && r.durable != (Election{Epoch: r.epoch, Leader: r.leader, Voted: r.voted}) {"),
	}},
	{Name: "candidate-unflushed", Wrong: "a candidate claims records that it may lose", Edits: []Edit{
		in("election.go", "tally(r.nominee.votes) != undecided || !r.log.settled() {", "tally(r.nominee.votes) != undecided {"),
	}},
	{Name: "leader-again", Wrong: "a leader that restarts leads the same epoch again", Edits: []Edit{
		in("replica.go", "\t\tr.role = Resigned\n\t\tr.resigned = resignedState{acked: make([]bool, len(r.voters))}\n\t\tr.restartElectionTimerAlways()\n",
			"\t\tr.role = Leader\n\t\tr.nominee.start(r.voters, r.self)\n\t\tr.lead.start(r)\n\t\tr.lead.changeWritten = true\n"),
	}},
	{Name: "pre-vote-is-vote", Wrong: "the answer to a pre-vote counts as a vote", Edits: []Edit{
		in("election.go", "nominee := r.role == Candidate && !p.preVote || r.role == Prospective && p.preVote", "nominee := r.role == Candidate || r.role == Prospective"),
		in("roles.go", "\tr.nominee.start(r.voters, r.self)\n\tr.restartElectionTimer()\n\tr.resetConnections()\n\tr.done(actBecomeCandidate, nil)\n",
			"\tif r.nominee.retries > 1 || !r.cfg.PreVote {\n\t\tr.nominee.start(r.voters, r.self)\n\t}\n\tr.restartElectionTimer()\n\tr.resetConnections()\n\tr.done(actBecomeCandidate, nil)\n"),
	}},

	// Replication.
	{Name: "no-truncation", Wrong: "a follower does not cut off what diverges", Edits: []Edit{
		in("fetch_follower.go", "\t\t\tr.truncate(to)\n", "\t\t\tr.backOff(r.peer(p.id))\n"),
	}},
	{Name: "truncate-one-more", Wrong: "a follower cuts off one record too many", Edits: []Edit{
		in("fetch_follower.go", "\t\t\tr.truncate(to)\n", "\t\t\tr.truncate(max(0, to-1))\n"),
		in("fetch_follower.go", "\tr.assert(to >= r.hwFloor, \"truncation below the high watermark\")\n", ""),
	}},
	{Name: "epoch-end", Wrong: "a leader names the start of an epoch where it was asked for the end", Edits: []Edit{
		in("log.go", "return EpochEnd{Epoch: l.epochs[i-1].Epoch, End: l.epochs[i].Start}", "return EpochEnd{Epoch: l.epochs[i-1].Epoch, End: l.epochs[i-1].Start}"),
		in("fetch_follower.go", "\tr.assert(to >= r.hwFloor, \"truncation below the high watermark\")\n", ""),
	}},
	{Name: "no-divergence", Wrong: "a leader compares ends of epochs, and not epochs", Edits: []Edit{
		in("log.go", "end.Epoch != epoch || end.End < offset {", "end.End < offset {"),
	}},
	{Name: "fetch-unflushed", Wrong: "a follower fetches again before it has flushed", Edits: []Edit{
		in("fetch_follower.go", "if !r.log.settled() || r.receiving.verifying || r.anyBusy() {", "if r.receiving.verifying || r.anyBusy() {"),
		in("fetch_follower.go", "\tr.assert(r.log.settled(), \"a fetch was in flight while the log was not durable\")\n", ""),
	}},
	{Name: "append-to-truncated", Wrong: "a follower appends before a truncation is durable", Edits: []Edit{
		in("log.go", "return l.flushed == l.end && !l.truncating }", "return l.flushed == l.end }"),
	}},
	{Name: "follower-hw-ahead", Wrong: "a follower takes the leader's high watermark for records that it does not have", Edits: []Edit{
		in("fetch_follower.go", "r.learnHighWatermark(min(r.log.end, m.HighWatermark))", "r.learnHighWatermark(m.HighWatermark)"),
	}},
	{Name: "divergent-hw", Wrong: "a follower takes the high watermark of an answer that says that it diverges", Edits: []Edit{
		in("fetch_follower.go", "\t\tif to := r.log.truncationPoint(m.Diverging); to >= 0 && to < r.log.end {\n",
			"\t\tr.learnHighWatermark(min(r.log.end, m.HighWatermark))\n\t\tif to := r.log.truncationPoint(m.Diverging); to >= 0 && to < r.log.end {\n"),
		in("fetch_follower.go", "\tr.assert(to >= r.hwFloor, \"truncation below the high watermark\")\n", ""),
	}},

	// Snapshots.
	{Name: "transfer-outlives-epoch", Wrong: "a transfer goes on with the snapshot of that name of the next leader", Edits: []Edit{
		in("snapshot_follower.go", "if s.id == id && s.epoch == r.epoch {", "if s.id == id {\n\t\ts.epoch = r.epoch"),
		in("requests.go", "if r.receiving.id != NoSnapshot && r.receiving.epoch != r.epoch {", "if false {"),
		in("snapshot_follower.go", "\tr.assert(s.epoch == r.epoch, \"a snapshot of another epoch's leader is installed\")\n", ""),
	}},
	{Name: "snapshot-is-progress", Wrong: "a fetch that is sent to a snapshot counts as progress", Edits: []Edit{
		in("fetch_leader.go", "\tif r.log.belowLog(m.Offset, m.LastEpoch) {\n",
			"\tif i := voterIndex(r.voters, m.From); i >= 0 && r.log.belowLog(m.Offset, m.LastEpoch) {\n\t\tr.lead.voters[i].end = m.Offset\n\t\tr.advanceHighWatermark()\n\t}\n"+
				"\tif r.log.belowLog(m.Offset, m.LastEpoch) {\n"),
	}},
	{Name: "installed-unknown", Wrong: "who installs a snapshot does not know that what it holds is committed", Edits: []Edit{
		in("snapshot_follower.go", "\tr.hw, r.hwFloor = s.id.End, s.id.End\n", ""),
	}},

	// Reads.
	{Name: "read-unconfirmed", Wrong: "a leader answers reads without asking whether it still leads", Edits: []Edit{
		in("reads.go", "case rs.active && r.confirmations() >= majority(len(r.voters)):", "case rs.active:"),
	}},
	{Name: "read-old-hw", Wrong: "a new leader answers reads with the high watermark that it knew as a follower", Edits: []Edit{
		in("roles.go", "\tr.hw = UnknownOffset // until a record of this epoch is committed\n", ""),
		in("reads.go", "\tr.assert(r.hw > r.lead.epochStart, \"a read before a record of the epoch is committed\")\n", ""),
	}},
	{Name: "read-late-join", Wrong: "a read joins a round that began before it", Edits: []Edit{
		in("reads.go", "\tr.reads.waiting = append(r.reads.waiting, in.Client)\n",
			"\tif r.reads.active {\n\t\tr.reads.serving = append(r.reads.serving, in.Client)\n\t\treturn\n\t}\n\tr.reads.waiting = append(r.reads.waiting, in.Client)\n"),
	}},
	{Name: "read-any-answer", Wrong: "any answer confirms a read, also to a request from before it", Edits: []Edit{
		in("reads.go", "if r.reads.active && p.read == r.reads.round && !v.confirmed {", "if r.reads.active && !v.confirmed {"),
	}},

	// Connections.
	{Name: "late-response", Wrong: "an answer is taken for that to a later request", Edits: []Edit{
		in("requests.go", "if p.id == in.Peer && p.busy && p.correlation == in.Correlation {", "if p.id == in.Peer && p.busy {"),
	}, Unsimulated: "the simulator drops late answers on its own; a node may have one in its queue"},
}
