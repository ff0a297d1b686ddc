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
	RoleFieldsClear
	HwSound
	SnapshotCovers
	LogContiguity
	SnapshotWhole
	SnapshotCommitted
	MonotonicLogStart
	VoterSetFromLog
	OneChange
	QuorumOverlap
	HighWatermarkPastLeaderChange
	ClientRecordCommitted
	HighWatermarkMovedByFlush
	FollowerLearnedHighWatermark
	LogTruncated
	DivergenceFound
	UnflushedTailLost
	VoteRefusedForStaleLog
	PreVoteRefusedByFollower
	PreVoteAbandoned
	StoodWithoutPreVotes
	LeaderReplaced
	EpochLearnedFromVote
	EpochLearnedFromFetch
	EpochLearnedFromResignation
	LeaderLearnedFromAnswer
	LeaderResigned
	ResignedLeft
	CandidateRestarted
	FollowerRestarted
	ReadServed
	SnapshotTaken
	LogStartAdvanced
	SnapshotInstalled
	SnapshotInstalledOnEmpty
	SnapshotInstalledOnBehind
	SnapshotInstalledOnDiverged
	SnapshotInstalledOverLaterEpoch
	LogContinuedSnapshot
	TransferResumed
	TransferOvertaken
	TransferReplaced
	SnapshotGone
	LedWithSnapshot
	VoterAdded
	ElectedFromOutside
	AddedVoterElected
	CommittedFromOutside
	RemovedLeaderResigned
	ChangeTakenBack
	VotersFromSnapshot
	OutsiderVoted
	VotedForOutsider
)

// SnapshotProperties are those of states and steps that say nothing where there are no
// snapshots.
const SnapshotProperties = SnapshotCovers | LogContiguity | SnapshotWhole | SnapshotCommitted | MonotonicLogStart

// snapshotBranches are the sometimes properties that need a snapshot.
const snapshotBranches = SnapshotTaken | LogStartAdvanced | SnapshotInstalled | SnapshotInstalledOnEmpty | SnapshotInstalledOnBehind |
	SnapshotInstalledOnDiverged | SnapshotInstalledOverLaterEpoch | LogContinuedSnapshot | TransferResumed | TransferOvertaken |
	TransferReplaced | SnapshotGone | LedWithSnapshot

// MembershipProperties are those of states that say nothing where the voter set does not
// change.
const MembershipProperties = VoterSetFromLog | OneChange | QuorumOverlap

// membershipBranches are the sometimes properties that need a change of the voter set.
const membershipBranches = VoterAdded | ElectedFromOutside | AddedVoterElected | CommittedFromOutside | RemovedLeaderResigned |
	ChangeTakenBack | VotersFromSnapshot | OutsiderVoted | VotedForOutsider

// Properties lists them, in the order of their bits.
var Properties = []checker.Property{
	{Name: "ElectionSafety", Kind: checker.Always, Doc: "an epoch has at most one leader, ever"},
	{Name: "LogMatching", Kind: checker.Invariant, Doc: "two logs that hold a record of the same epoch at the same offset are equal up to it"},
	{Name: "UniqueEpochOffset", Kind: checker.Invariant, Doc: "a pair (epoch, offset) names one record for ever, and one past of it: each epoch in a log begins where its leader began it"},
	{Name: "LeaderCompleteness", Kind: checker.Invariant, Doc: "a leader holds every record chosen in its epoch or before: flushed, in that epoch, by a majority with a record of that epoch behind it"},
	{Name: "CommittedStable", Kind: checker.Invariant, Doc: "a record below any high watermark ever exposed is never lost: each leader of that epoch or later holds it, and no replica's log ends before its high watermark"},
	{Name: "StateMachineSafety", Kind: checker.Invariant, Doc: "below their high watermarks two replicas hold the same records"},
	{Name: "LinearizableRead", Kind: checker.Always, Doc: "a read sees at least everything acknowledged before it began", Subject: "ServeRead"},
	{Name: "LeaderAppendOnly", Kind: checker.Always, Doc: "a leader never changes or removes a record of its log"},
	{Name: "MonotonicEpoch", Kind: checker.Always, Doc: "the epoch of a replica never goes back, over restarts too", Restates: "NotStale"},
	{Name: "MonotonicHighWatermark", Kind: checker.Always, Doc: "the high watermark of a replica does not go back while its process lives, but for a new leader that starts without one", Restates: "MovesForward"},
	{Name: "VoteOnce", Kind: checker.Always, Doc: "within an epoch a replica never changes or forgets its vote", Restates: "FirstVote"},
	{Name: "RoleFieldsClear", Kind: checker.Always, Doc: "what belongs to one role is zero in every other, so that equal states are equal"},
	{Name: "HwSound", Kind: checker.Always, Doc: "a high watermark is on the disks of a majority, behind a record of the leader's epoch", Restates: "MayExpose"},
	{Name: "SnapshotCovers", Kind: checker.Invariant, Doc: "whatever is below the start of a log is in a snapshot that its replica holds, on disk"},
	{Name: "LogContiguity", Kind: checker.Invariant, Doc: "a log goes on from each snapshot that its replica holds: none ends before the log starts or behind its end, or with another record than the log has there"},
	{Name: "SnapshotWhole", Kind: checker.Invariant, Doc: "a snapshot holds each record below its end, and no other"},
	{Name: "SnapshotCommitted", Kind: checker.Invariant, Doc: "a snapshot holds nothing that has not been exposed, as it was exposed"},
	{Name: "MonotonicLogStart", Kind: checker.Always, Doc: "the start of a log never goes back, over restarts too", Restates: "LogStartIsLater"},
	{Name: "VoterSetFromLog", Kind: checker.Invariant, Doc: "the voter set in force is that of the last KRaftVoters record in log and snapshot, committed or not", Restates: "VotersFrom"},
	{Name: "OneChange", Kind: checker.Invariant, Doc: "of the records that change the voter set a log has at most one that was never exposed", Restates: "NoUncommittedChange"},
	{Name: "QuorumOverlap", Kind: checker.Invariant, Doc: "no voter set in a log is empty, and any majority of one meets any of the next"},
	{Name: "HighWatermarkPastLeaderChange", Kind: checker.Sometimes, Doc: "a leader commits its LeaderChange record alone, without a client"},
	{Name: "ClientRecordCommitted", Kind: checker.Sometimes, Doc: "a leader commits a client's record"},
	{Name: "HighWatermarkMovedByFlush", Kind: checker.Sometimes, Doc: "the flush of the leader is what completes a majority"},
	{Name: "FollowerLearnedHighWatermark", Kind: checker.Sometimes, Doc: "a follower learns a high watermark"},
	{Name: "LogTruncated", Kind: checker.Sometimes, Doc: "a follower cuts its log"},
	{Name: "DivergenceFound", Kind: checker.Sometimes, Doc: "a leader finds that a follower has diverged"},
	{Name: "UnflushedTailLost", Kind: checker.Sometimes, Doc: "a crash takes records that were not flushed"},
	{Name: "VoteRefusedForStaleLog", Kind: checker.Sometimes, Doc: "a vote is refused because the log of the candidate is behind"},
	{Name: "PreVoteRefusedByFollower", Kind: checker.Sometimes, Doc: "a follower that hears its leader refuses a pre-vote"},
	{Name: "PreVoteAbandoned", Kind: checker.Sometimes, Doc: "a prospective voter goes back to waiting or to its leader"},
	{Name: "StoodWithoutPreVotes", Kind: checker.Sometimes, Doc: "a prospective voter stands although only itself would vote for it, since a voter knows no pre-votes"},
	{Name: "LeaderReplaced", Kind: checker.Sometimes, Doc: "a leader learns of a newer epoch"},
	{Name: "EpochLearnedFromVote", Kind: checker.Sometimes, Doc: "the answer to a vote request brings a newer epoch"},
	{Name: "EpochLearnedFromFetch", Kind: checker.Sometimes, Doc: "the answer to a fetch brings a newer epoch"},
	{Name: "EpochLearnedFromResignation", Kind: checker.Sometimes, Doc: "the resignation of a leader brings a newer epoch"},
	{Name: "LeaderLearnedFromAnswer", Kind: checker.Sometimes, Doc: "an answer names the leader of the epoch to one who did not know"},
	{Name: "LeaderResigned", Kind: checker.Sometimes, Doc: "a leader gives up"},
	{Name: "ResignedLeft", Kind: checker.Sometimes, Doc: "a resigned leader goes on to the next epoch"},
	{Name: "CandidateRestarted", Kind: checker.Sometimes, Doc: "a candidate comes back from a restart with its own vote"},
	{Name: "FollowerRestarted", Kind: checker.Sometimes, Doc: "a follower comes back from a restart as follower"},
	{Name: "ReadServed", Kind: checker.Sometimes, Doc: "a linearizable read is served"},
	{Name: "SnapshotTaken", Kind: checker.Sometimes, Doc: "a replica takes a snapshot"},
	{Name: "LogStartAdvanced", Kind: checker.Sometimes, Doc: "a log starts later than it did, at a snapshot"},
	{Name: "SnapshotInstalled", Kind: checker.Sometimes, Doc: "a follower installs the snapshot that it fetched"},
	{Name: "SnapshotInstalledOnEmpty", Kind: checker.Sometimes, Doc: "a follower that has nothing installs a snapshot"},
	{Name: "SnapshotInstalledOnBehind", Kind: checker.Sometimes, Doc: "a follower whose log is a part of what the snapshot holds installs it"},
	{Name: "SnapshotInstalledOnDiverged", Kind: checker.Sometimes, Doc: "a follower with records that the snapshot does not hold installs it"},
	{Name: "SnapshotInstalledOverLaterEpoch", Kind: checker.Sometimes, Doc: "a follower whose log ends in a later epoch than the snapshot installs it"},
	{Name: "LogContinuedSnapshot", Kind: checker.Sometimes, Doc: "a follower appends the first records behind a snapshot"},
	{Name: "TransferResumed", Kind: checker.Sometimes, Doc: "a follower asks for the next part of a snapshot"},
	{Name: "TransferOvertaken", Kind: checker.Sometimes, Doc: "a newer epoch ends a transfer that has begun"},
	{Name: "TransferReplaced", Kind: checker.Sometimes, Doc: "a follower that receives a snapshot is sent to another"},
	{Name: "SnapshotGone", Kind: checker.Sometimes, Doc: "the leader has a snapshot no more that is being received"},
	{Name: "LedWithSnapshot", Kind: checker.Sometimes, Doc: "a replica leads whose log does not begin at 0"},
	{Name: "VoterAdded", Kind: checker.Sometimes, Doc: "a leader commits that a replica joins the voter set"},
	{Name: "ElectedFromOutside", Kind: checker.Sometimes, Doc: "a replica is elected that is no voter in its own set, since its removal may not be committed"},
	{Name: "AddedVoterElected", Kind: checker.Sometimes, Doc: "a replica leads that was no voter in the beginning"},
	{Name: "CommittedFromOutside", Kind: checker.Sometimes, Doc: "a leader that is no voter moves its high watermark, by the logs of others alone"},
	{Name: "RemovedLeaderResigned", Kind: checker.Sometimes, Doc: "a leader that is no voter any more resigns, once that is committed"},
	{Name: "ChangeTakenBack", Kind: checker.Sometimes, Doc: "a follower cuts a KRaftVoters record off its log, and the set before is in force again"},
	{Name: "VotersFromSnapshot", Kind: checker.Sometimes, Doc: "a follower learns a change of the voter set from a snapshot"},
	{Name: "OutsiderVoted", Kind: checker.Sometimes, Doc: "a replica grants its vote though it is no voter in its own set"},
	{Name: "VotedForOutsider", Kind: checker.Sometimes, Doc: "a replica votes for a candidate that is no voter in its own set"},
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
	if last, at := r.Log.lastVoters(); last != 0 || at != Unknown || r.Voters != 0 {
		bad |= checkVoters(r, g)
	}
	if r.LogStart > 0 || len(r.Snapshots.All()) > 0 {
		bad |= checkSnapshots(r, g)
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

// checkSnapshots returns the invariants of snapshots that one replica violates.
func checkSnapshots(r *Replica, g *Ghost) checker.Props {
	var bad checker.Props
	covered := r.LogStart == 0
	for _, s := range r.Snapshots.All() {
		if s.End >= r.LogStart && s.Lacks <= 0 {
			covered = true
		}
		if s.Lacks != 0 {
			bad |= SnapshotWhole
		}
		if !r.contains(s) {
			bad |= LogContiguity
		}
		if s.End > g.Exposed.End() || g.Exposed.At(s.End-1).Epoch != s.Epoch {
			bad |= SnapshotCommitted
		}
	}
	if !covered {
		bad |= SnapshotCovers
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
	if !roleFieldsClear(now) {
		bad |= RoleFieldsClear
	}
	if now.LogStart < old.LogStart {
		bad |= MonotonicLogStart
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

// roleFieldsClear says whether the fields of roles that r does not have are zero.
func roleFieldsClear(r *Replica) bool {
	var blank Replica
	if r.Role != Leader && (r.EpochStart != 0 || r.End != blank.End || r.ReadRound != 0 || r.LeaderChangeWritten) {
		return false
	}
	if !r.Reading && (r.Confirmed != 0 || r.ReadOffset != 0) || r.Reading && r.Role != Leader {
		return false
	}
	if r.Role != Candidate && r.Role != Prospective && r.Granted != 0 {
		return false
	}
	return r.Role == Follower || !r.HasFetched
}

// ReachStep returns the sometimes properties that a step of one replica reaches. It
// looks at what came of the step and not at what the action meant to do.
func ReachStep(a ActionID, old, now *Replica) checker.Props {
	var reached checker.Props
	if now.Role == Leader && old.Role == Leader && now.HighWatermark > old.HighWatermark {
		if now.HighWatermark == now.EpochStart+1 {
			reached |= HighWatermarkPastLeaderChange
		}
		if now.HighWatermark > now.EpochStart+1 && (now.Voters == 0 || now.commitsData(old.HighWatermark)) {
			reached |= ClientRecordCommitted
		}
		if a == ActionFlush {
			reached |= HighWatermarkMovedByFlush
		}
	}
	newer := now.Election.Epoch > old.Election.Epoch && now.Stored.Epoch > old.Stored.Epoch && now.Role != old.Role
	if old.Role == Leader && newer {
		reached |= LeaderReplaced
	}
	if old.Fetching.Position > 0 && now.Election.Epoch > old.Election.Epoch && now.Fetching.Snapshot.End == 0 {
		reached |= TransferOvertaken
	}
	if old.Voters|now.Voters != 0 {
		reached |= reachMembership(a, old, now)
	}
	learned := old.Election.Leader == Nobody && now.Election.Leader != Nobody && now.Election.Epoch == old.Election.Epoch
	switch a {
	case ActionHandleFetchResponse:
		if now.HighWatermark > old.HighWatermark {
			reached |= FollowerLearnedHighWatermark
		}
		if now.Log.End() < old.Log.End() {
			reached |= LogTruncated
		}
		if newer {
			reached |= EpochLearnedFromFetch
		}
		if learned {
			reached |= LeaderLearnedFromAnswer
		}
		if now.Log.End() > old.Log.End() && old.LogStart > 0 && old.Log.End() == old.LogStart {
			reached |= LogContinuedSnapshot
		}
		if was := old.Fetching.Snapshot; was.End > 0 && now.Fetching.Snapshot.End > 0 && !was.names(now.Fetching.Snapshot) {
			reached |= TransferReplaced
		}
	case ActionHandleVoteResponse:
		if newer {
			reached |= EpochLearnedFromVote
		}
		if learned {
			reached |= LeaderLearnedFromAnswer
		}
	case ActionBecomeCandidate:
		if old.Role == Prospective && now.Role == Candidate && old.Granted == SetOf(old.ID) {
			reached |= StoodWithoutPreVotes
		}
	case ActionHandleEndQuorumEpochRequest:
		if newer {
			reached |= EpochLearnedFromResignation
		}
	case ActionAbandonPreVote:
		if now.Role != old.Role {
			reached |= PreVoteAbandoned
		}
	case ActionResign, ActionCheckQuorumResign:
		if now.Role == Resigned {
			reached |= LeaderResigned
		}
	case ActionLeaveResigned:
		if now.Role == Unattached && newer {
			reached |= ResignedLeft
		}
	case ActionCrash:
		if now.Log.End() < old.Log.End() && now.Disk.End() == now.Log.End() {
			reached |= UnflushedTailLost
		}
	case ActionRestart:
		if now.Role == Candidate && now.Granted.Has(now.ID) {
			reached |= CandidateRestarted
		}
		if now.Role == Follower {
			reached |= FollowerRestarted
		}
	case ActionBecomeLeader:
		if now.LogStart > 0 {
			reached |= LedWithSnapshot
		}
	case ActionTakeSnapshot:
		if now.Snapshots.Latest().End > old.Snapshots.Latest().End {
			reached |= SnapshotTaken
		}
	case ActionAdvanceLogStart:
		if now.LogStart > old.LogStart && now.Snapshots.endsAt(now.LogStart) {
			reached |= LogStartAdvanced
		}
	case ActionSendFetchSnapshot:
		if now.Fetching.Position > 0 {
			reached |= TransferResumed
		}
	case ActionHandleFetchSnapshotResponse:
		if old.Fetching.Snapshot.End > 0 && now.Fetching.Snapshot.End == 0 && now.Election.Epoch == old.Election.Epoch {
			reached |= SnapshotGone
		}
	case ActionInstallSnapshot:
		reached |= reachInstall(old, now)
	case ActionServeRead:
		if !now.Reading {
			reached |= ReadServed
		}
	}
	return reached
}

// reachInstall: onto what a snapshot was installed.
func reachInstall(old, now *Replica) checker.Props {
	s := now.Snapshots.Latest()
	if now.LogStart <= old.LogStart || now.Log.End() != s.End {
		return 0
	}
	reached := SnapshotInstalled
	switch common := CommonPrefix(&old.Log, &now.Log); {
	case old.Log.End() == 0:
		reached |= SnapshotInstalledOnEmpty
	case common == old.Log.End():
		reached |= SnapshotInstalledOnBehind
	default:
		reached |= SnapshotInstalledOnDiverged
	}
	if old.Log.LastEpoch() > s.Epoch {
		reached |= SnapshotInstalledOverLaterEpoch
	}
	return reached
}
