package spec

import "github.com/quorate/quorate/checker"

// Properties of the specification, by the names of the literature.
const (
	ElectionSafety checker.Props = 1 << iota
	LogMatching
	UniqueEpochOffset
	LeaderCompleteness
	CommittedStable
	StateMachineSafety
	LinearizableRead
	LeaderAppendOnly
	MonotonicEpoch
	MonotonicHighWatermark
	VoteOnce
	HwSound
	HighWatermarkPastLeaderChange
	FollowerLearnedHighWatermark
	LogTruncated
	DivergenceFound
	UnflushedTailLost
	VoteRefusedForStaleLog
	PreVoteRefusedByFollower
	ReadServed
)

// Properties lists them, in the order of their bits.
var Properties = []checker.Property{
	{Name: "ElectionSafety", Kind: checker.Always, Doc: "an epoch has at most one leader, ever"},
	{Name: "LogMatching", Kind: checker.Invariant, Doc: "two logs that hold a record of the same epoch at the same offset are equal up to it"},
	{Name: "UniqueEpochOffset", Kind: checker.Invariant, Doc: "a pair (epoch, offset) names one record for ever, and one past of it: each epoch in a log begins where its leader began it"},
	{Name: "LeaderCompleteness", Kind: checker.Invariant, Doc: "a leader holds every record chosen in its epoch or before: flushed, in that epoch, by a majority with a record of that epoch behind it"},
	{Name: "CommittedStable", Kind: checker.Invariant, Doc: "a record below any high watermark ever exposed is never lost: each leader of that epoch or later holds it, and no replica's log ends before its high watermark"},
	{Name: "StateMachineSafety", Kind: checker.Invariant, Doc: "below their high watermarks two replicas hold the same records"},
	{Name: "LinearizableRead", Kind: checker.Always, Doc: "a read sees at least everything acknowledged before it began"},
	{Name: "LeaderAppendOnly", Kind: checker.Always, Doc: "a leader never changes or removes a record of its log"},
	{Name: "MonotonicEpoch", Kind: checker.Always, Doc: "the epoch of a replica never goes back, over restarts too", Restates: "NotStale"},
	{Name: "MonotonicHighWatermark", Kind: checker.Always, Doc: "the high watermark of a replica does not go back while its process lives, but for a new leader that starts without one", Restates: "MovesForward"},
	{Name: "VoteOnce", Kind: checker.Always, Doc: "within an epoch a replica never changes or forgets its vote", Restates: "FirstVote"},
	{Name: "HwSound", Kind: checker.Always, Doc: "a high watermark is on the disks of a majority, behind a record of the leader's epoch", Restates: "MayExpose"},
	{Name: "HighWatermarkPastLeaderChange", Kind: checker.Sometimes, Doc: "a leader commits its LeaderChange record alone, without a client"},
	{Name: "FollowerLearnedHighWatermark", Kind: checker.Sometimes, Doc: "a follower learns a high watermark"},
	{Name: "LogTruncated", Kind: checker.Sometimes, Doc: "a follower cuts its log"},
	{Name: "DivergenceFound", Kind: checker.Sometimes, Doc: "a leader finds that a follower has diverged"},
	{Name: "UnflushedTailLost", Kind: checker.Sometimes, Doc: "a crash takes records that were not flushed"},
	{Name: "VoteRefusedForStaleLog", Kind: checker.Sometimes, Doc: "a vote is refused because the log of the candidate is behind"},
	{Name: "PreVoteRefusedByFollower", Kind: checker.Sometimes, Doc: "a follower that hears its leader refuses a pre-vote"},
	{Name: "ReadServed", Kind: checker.Sometimes, Doc: "a linearizable read is served"},
}

// CheckOne returns the invariants that one replica violates.
func CheckOne(r *Replica, g *Ghost) checker.Props {
	var bad checker.Props
	if r.HighWatermark > r.Log.End() {
		bad |= CommittedStable
	}
	if hw := min(r.HighWatermark, r.Log.End(), g.Exposed.End()); hw > 0 && CommonPrefix(&r.Log, &g.Exposed) < hw {
		bad |= StateMachineSafety
	}
	if !g.follows(&r.Log) {
		bad |= UniqueEpochOffset
	}
	if r.Role == Leader {
		if missing(&r.Log, r.Election.Epoch, &g.Exposed, &g.ExposedIn) {
			bad |= CommittedStable
		}
		if missing(&r.Log, r.Election.Epoch, &g.Chosen, &g.ChosenIn) {
			bad |= LeaderCompleteness
		}
	}
	return bad
}

// CheckPair returns the invariants that two replicas violate.
func CheckPair(a, b *Replica) checker.Props {
	var bad checker.Props
	if !Matches(&a.Log, &b.Log) {
		bad |= LogMatching
	}
	if hw := min(a.HighWatermark, b.HighWatermark, a.Log.End(), b.Log.End()); hw > 0 && CommonPrefix(&a.Log, &b.Log) < hw {
		bad |= StateMachineSafety
	}
	return bad
}

// CheckStep returns the properties of steps that a step of one replica violates.
func CheckStep(a ActionID, old, now *Replica) checker.Props {
	if a == ActionLoseDisk {
		return 0 // what is lost with the disk is shown by what comes of it
	}
	var bad checker.Props
	if now.Election.Epoch < old.Election.Epoch {
		bad |= MonotonicEpoch
	}
	if now.Election.Epoch == old.Election.Epoch && old.Election.Voted != Nobody && now.Election.Voted != old.Election.Voted {
		bad |= VoteOnce
	}
	if old.Role == Down || now.Role == Down {
		return bad
	}
	if now.HighWatermark < old.HighWatermark && a != ActionBecomeLeader {
		bad |= MonotonicHighWatermark
	}
	if old.Role == Leader && now.Role == Leader && CommonPrefix(&old.Log, &now.Log) < old.Log.End() {
		bad |= LeaderAppendOnly
	}
	return bad
}
