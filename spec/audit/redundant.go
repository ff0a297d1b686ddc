package audit

import (
	"strings"

	"github.com/quorate/quorate/spec"
)

// reason says why nobody misses a guard or an effect in the models tried: by its
// full name, or, for a guard, by *.Guard, for an effect by *.Field or Action.*.
func reason(d Deletion) string {
	name := d.Name()
	_, part, _ := strings.Cut(name, ".")
	keys := []string{name, "*." + part}
	if d.Guard == spec.NoGuard {
		keys = append(keys, d.Action.String()+".*")
	}
	for _, key := range keys {
		if r, ok := redundant[key]; ok {
			return r
		}
	}
	return ""
}

var redundant = map[string]string{
	// A replica that is down.
	"*.IsUp":             "what arrives at a process that is down is as if it arrived right after the restart, which reads the same disk; a second crash changes nothing",
	"Restart.IsDown":     "a process that starts twice has lost what is in memory, which the first start had lost too",
	"Restart.*":          "which role a replica starts in changes how soon it goes on, and never what it may do wrong: KAFKA-10527 and KAFKA-10661 are about roles that it may not start in",
	"Crash.Role":         "shown by LeaderAppendOnly where a leader has records to lose",
	"Crash.Log":          "a crash that loses nothing is one of the crashes",
	"Crash.Disk":         "what the crash left is on disk in either case",
	"Crash.*":            "cleared again by the restart",
	"*.FlushInRange":     "models flush to the end",
	"Flush.*":            "a flush of what is durable does nothing",
	"*.KeepInRange":      "models choose among what there is",
	"*.PrefixInRange":    "more records than there are is no more than all of them; none where there are some only costs another fetch",
	"*.SomethingToFlush": "a flush of what is durable does nothing",

	// Snapshots.
	"AdvanceLogStart.LogStartIsLater":         "no snapshot that is held ends before the log start, so the log could only start where it does",
	"SendFetchSnapshot.IsReceiving":           "who has all of it asks for what is behind its end, is refused, and begins anew",
	"HandleFetchSnapshotRequest.SnapshotHeld": "a part of no snapshot does not fit what was asked for, and ends the transfer as the error does",
	"HandleFetchSnapshotRequest.PartInRange":  "a part that goes past the end of the snapshot does not fit",
	"HandleFetchSnapshotResponse.NotStale":    "a transfer is forgotten with its epoch, and here nobody who led an older one leads the present one",
	"HandleFetchSnapshotResponse.IsReceiving": "a part of what is not being received does not fit, and nothing is there to be given up",
	"HandleFetchSnapshotResponse.Election":    "as HandleVoteResponse",
	"HandleFetchSnapshotResponse.Role":        "as HandleVoteResponse",
	"BecomeCandidate.Fetching":                "who stands in an epoch follows nobody in it where one replica stands in each, and the next epoch clears it",
	"InstallSnapshot.Fetching":                "the log has it by now, so that it is not wanted again, and may be given up",
	"AbandonSnapshot.Fetching":                "a replica may take its time to give up",

	// Whom a message goes to.
	"*.ToOtherVoter": "a message to itself or to an observer is one more message, which its handler takes as from anybody",
	"*.ToOther":      "a fetch from itself is answered as from anybody and moves nothing",
	"*.ToLeader":     "a fetch from another is refused, and names the leader",
	"*.NotGranted":   "a vote is granted again to who has it",

	// Who stands.
	"*.IsVoter":                     "whoever stands is elected only by a majority of the voters, and counts only them; KIP-853 has voters vote for replicas that are not in their set",
	"BecomeProspective.MayStand":    "asking for pre-votes binds nobody; a leader that asks no longer leads",
	"BecomeCandidate.MayStand":      "standing begins a new epoch, which is safe from any role",
	"BecomeCandidate.IsProspective": "as MayStand: Pre-Vote is there for quiet, not for safety",
	"BecomeCandidate.HasPreVotes":   "as MayStand: Pre-Vote is there for quiet, not for safety",
	"*.SupportsPreVote":             "as MayStand: which software asks first is a matter of quiet",
	"BecomeProspective.*":           "as MayStand",
	"AbandonPreVote.IsProspective":  "giving up is safe from any role: nobody leads an epoch again that he left",
	"AbandonPreVote.*":              "a prospective voter that does not go back asks again",
	"SendVoteRequest.IsNominee":     "the answer is not counted by who is no nominee; the vote is wasted",
	"LeaveResigned.IsResigned":      "going to the next epoch is safe from any role",
	"LeaveResigned.*":               "one that stays resigned only waits",
	"Resign.IsLeader":               "only a leader has something to give up, and in its epoch the others are resigned from the start",
	"CheckQuorumResign.IsLeader":    "as Resign.IsLeader",
	"CheckQuorumResign.OthersVote":  "a quorum of one that gives up elects itself again",
	"SendEndQuorumEpoch.IsResigned": "it names the sender as leader of its epoch: a follower that says so is taken for a leader by others who then fetch in vain; a mutation of its own would be needed to make harm of it",
	"SendEndQuorumEpoch.send":       "without it followers wait for their timers",

	// What a message of another epoch does.
	"HandleVoteRequest.NotStale":              "the answer carries the epoch of the voter, in which the asker is no candidate: the vote is wasted",
	"HandleVoteResponse.NotStale":             "caught by ElectionSafety in the model upgrade, which takes longer",
	"HandleFetchResponse.NotStale":            "caught by LeaderCompleteness in the model reads, which takes longer",
	"HandleFetchRequest.FetchIsValid":         "caught by CommittedStable in the model divergence, which takes longer",
	"HandleBeginQuorumEpochResponse.NotStale": "an old confirmation names an old round",
	"HandleEndQuorumEpochRequest.NotStale":    "caught by ElectionSafety in the model check-quorum, which takes longer",
	"HandleEndQuorumEpochResponse.NotStale":   "only a newer epoch means anything to who has resigned",
	"*.NewerEpoch":                            "a transition to the epoch that the replica is in already forgets a role and nothing durable",
	"*.NamesLeader":                           "who does not learn the leader from an answer learns it from BeginQuorumEpoch, and who learns it twice learns nothing",
	"*.NoError":                               "an error carries nothing that a handler would take",
	"*.FirstVote":                             "a second vote for the same candidate is the same vote",
	"*.Tallying":                              "who is no nominee counts for nothing; a role change clears the count",
	"*.FromReader":                            "a confirmation is counted for the round that it names",
	"*.ToPreVoter":                            "old software that answers pre-votes answers as new software does",
	"*.FromLeader":                            "what a follower asked in this epoch it asked its leader",
	"*.AnswersFetch":                          "one request in flight: shown where messages are late",

	// Leaders.
	"*.IsLeader":                             "implied by the guard that follows: only a leader has a LeaderChange of its own, reads, or a high watermark of its epoch",
	"AppendLeaderChange.LeaderChangeMissing": "one more record of the epoch commits nothing else",
	"Append.LeaderChangePresent":             "any first record of the epoch would do for safety; Kafka's listeners want LeaderChange to be it",
	"*.IsReading":                            "without a read nobody has confirmed it: ReadConfirmed refuses",
	"StartRead.NotReading":                   "another round starts over",
	"StartRead.ReadRound":                    "tells rounds apart where two reads overlap with late answers",
	"ServeRead.*":                            "the round is over and is not looked at again",
	"*.OfVoter":                              "the end offset of an observer is noted and not counted: the high watermark goes through the voters",
	"*.MovesForward":                         "a follower's high watermark is not asked for by anybody",
	"*.TruncationFlushed":                    "nobody is asked for records before the truncation is flushed: LogFlushed of SendFetch",

	// Effects that others repeat.
	"HandleVoteResponse.*":                     "who does not learn the epoch here learns it from the next message",
	"HandleFetchResponse.Election":             "as HandleVoteResponse",
	"HandleFetchResponse.Stored":               "an epoch in which the replica has not voted may be forgotten: it votes as if it never heard of it, and its records bring the epoch back",
	"HandleFetchResponse.Role":                 "as HandleVoteResponse",
	"HandleFetchResponse.HasFetched":           "whether a follower refuses pre-votes is a matter of quiet",
	"HandleFetchResponse.HighWatermark":        "followers that do not know what is committed expose nothing",
	"*.Stored":                                 "an epoch in which the replica has not voted may be forgotten, or was persisted with the vote before",
	"BecomeLeader.Election":                    "that it leads follows from its role; what a restart must know is in Stored",
	"BecomeLeader.HighWatermark":               "a high watermark that was known is committed; a new leader starts without one so that reads wait (StartRead.EpochCommitted) and so that what it exposes never goes back",
	"HandleBeginQuorumEpochResponse.*":         "a leader learns of a newer epoch from others too",
	"HandleEndQuorumEpochResponse.*":           "a resigned leader waits in any case",
	"HandleEndQuorumEpochRequest.*":            "who does not learn that the leader gives up waits for its timer",
	"HandleBeginQuorumEpochRequest.send":       "the answer only confirms reads, and brings newer epochs",
	"HandleVoteRequest.send":                   "an answer that is lost",
	"AppendLeaderChange.LeaderChangeWritten":   "the leader writes LeaderChange again: one more record of the epoch",
	"HandleFetchRequest.HighWatermark":         "the high watermark moves with the next flush or fetch; that a fetch alone can move it is shown by HighWatermarkPastLeaderChange where the leader flushes first",
	"HandleBeginQuorumEpochRequest.HasFetched": "whether a follower refuses pre-votes is a matter of quiet",
	"Append.Log":                               "a client that writes nothing",
}
