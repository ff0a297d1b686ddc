package spec

// snapshotMutations are bugs of snapshots. Those of the reference that are not here, and
// why, are in docs/findings.md.
var snapshotMutations = []Mutation{
	{
		ID: "KAFKA-14238", Title: "retention deletes what no snapshot holds",
		Source: "KAFKA-14238",
		Story:  "Segments of the log go by age and size, as those of any other topic, and nobody asks whether a snapshot holds their records.",
		Override: func(r *Rules) {
			r.MayStartAt = func(r *Replica, to Offset) bool { return to <= r.HighWatermark }
		},
		Model: "snapshot", Property: "SnapshotCovers", Steps: 8, Action: ActionAdvanceLogStart, Guard: SnapshotHeld,
	},
	{
		ID: "KAFKA-14618", Title: "a snapshot is named after its last record, not after the end of it",
		Source: "KAFKA-14618",
		Story:  "The snapshot of offsets 0 and 1 is named 1. Who loads it has the record at 1, and fetches it again.",
		Override: func(r *Rules) {
			clean := r.Snapshot
			r.Snapshot = func(r *Replica, end Offset) Snapshot {
				s := clean(r, end)
				if end > 1 {
					s.End, s.Lacks = end-1, -1
				}
				return s
			}
		},
		Model: "snapshot", Property: "SnapshotWhole", Steps: 9, Action: ActionTakeSnapshot,
	},
	{
		ID: "KAFKA-15312", Title: "a snapshot gets its name before it is on disk",
		Source: "KAFKA-15312",
		Story:  "A takes a snapshot, drops the log below it, and loses power: the file is there, and empty.",
		Override: func(r *Rules) {
			clean := r.Snapshot
			r.Snapshot = func(r *Replica, end Offset) Snapshot {
				s := clean(r, end)
				s.Unflushed = true
				return s
			}
		},
		Model: "snapshot-crash", Property: "SnapshotCovers", Steps: 12, Action: ActionTakeSnapshot,
	},
	{
		ID: "snapshot-above-high-watermark", Title: "a snapshot is taken of what is in the log, committed or not",
		Source: "a common slip; KIP-630 asks for the high watermark",
		Story:  "A takes a snapshot of its own first record, which nobody else has.",
		Override: func(r *Rules) {
			r.MaySnapshot = func(r *Replica, end Offset) bool { return end <= r.FlushedEnd() }
		},
		Model: "snapshot", Property: "SnapshotCommitted", Steps: 5, Action: ActionTakeSnapshot, Guard: BelowHighWatermark,
	},
	{
		ID: "snapshot-above-flushed", Title: "a snapshot is taken of what this replica has not flushed",
		Source: "reference: a snapshot ends at or below what is flushed",
		Story: "B knows that a record is committed, as others have flushed it, and takes a snapshot before it has done so itself. It loses power: its snapshot ends behind its log. " +
			"Kafka finds that at the next start, and empties the log.",
		Override: func(r *Rules) {
			r.MaySnapshotUnflushed = func(*Replica) bool { return true }
		},
		Model: "snapshot-crash", Property: "LogContiguity", Steps: 13, Action: ActionTakeSnapshot, Guard: BelowFlushed,
	},
	{
		ID: "install-not-flushed", Title: "the log start is durable before the log is that it belongs to",
		Source: "reference: an install is atomic (kraft.md 6.4)",
		Story:  "C installs a snapshot and loses power: its old log is back, and begins where the snapshot ends.",
		Override: func(r *Rules) {
			r.FlushesInstall = func(*Replica) bool { return false }
			r.MayAcknowledge = func(r *Replica) bool { return r.Flushed() || r.Log.End() == r.LogStart }
		},
		Model: "snapshot-crash", Property: "LogContiguity", Steps: 15, Action: ActionInstallSnapshot,
	},
	{
		ID: "install-over-newer-log", Title: "a snapshot is installed though the log has all of it and more",
		Source: "camunda/zeebe 6092",
		Story: "B was sent to a snapshot. Before it is there, an answer to an older fetch arrives, and B appends and applies a record behind the snapshot. " +
			"Then it installs the snapshot, and the record is gone again.",
		Override: func(r *Rules) {
			r.Wants = func(_ *Replica, s Snapshot) bool { return s.End > 0 }
		},
		Model: "snapshot-late", Property: "MonotonicHighWatermark", Steps: 26, Action: ActionInstallSnapshot, Guard: SnapshotWanted,
	},
	{
		ID: "install-keeps-log", Title: "an install keeps a log that is as long as the snapshot, whatever it holds",
		Source: "hashicorp/raft 697; openraft 559, 753",
		Story:  "C has a record of an epoch that lost where the snapshot ends. It installs the snapshot and keeps the record.",
		Override: func(r *Rules) {
			clean := r.LogAfterInstall
			r.LogAfterInstall = func(r *Replica) Log {
				if r.Log.End() >= r.Fetching.Snapshot.End {
					return r.Log
				}
				return clean(r)
			}
		},
		Model: "snapshot-diverged", Property: "StateMachineSafety", Steps: 16, Action: ActionInstallSnapshot,
	},
	{
		ID: "KAFKA-12205", Title: "an install keeps the snapshots from before",
		Source: "KAFKA-12205",
		Story:  "C holds a snapshot and falls behind. It installs a later one, and its first snapshot ends before its log starts.",
		Override: func(r *Rules) {
			r.KeepsOldSnapshots = func(*Replica) bool { return true }
		},
		Model: "snapshot", Property: "LogContiguity", Steps: 18, Action: ActionInstallSnapshot,
	},
	{
		ID: "transfer-outlives-epoch", Title: "a transfer goes on with another leader's snapshot of that name",
		Source: "reference: the bytes of two replicas' snapshots of one name may differ",
		Story:  "B has a part of A's snapshot when C is elected. C holds a snapshot of the same name, and B asks it for the rest.",
		Override: func(r *Rules) {
			r.ForgetFetching = func(*Replica) {}
		},
		Model: "snapshot-transfer", Property: "SnapshotWhole", Steps: 22, Action: ActionHandleBeginQuorumEpochRequest,
	},
	{
		ID: "no-snapshot-for-the-empty", Title: "a leader serves a fetch from offset 0 out of its log, wherever that begins",
		Source: "a common slip; KAFKA-15076 and KAFKA-15078 have it for readers in the same process",
		Story: "The log of A starts behind the first record. C has nothing, and is told again and again that it has diverged. " +
			"No safety property can see it; a Sometimes property is no longer reached.",
		Override: func(r *Rules) {
			r.BelowLog = func(r *Replica, m *Msg) bool { return m.Offset > 0 && belowLog(r, m) }
		},
		Model: "snapshot", Property: "SnapshotInstalledOnEmpty", Action: ActionHandleFetchRequest,
	},
	{
		ID: "snapshot-must-be-ahead", Title: "a snapshot is installed only if it is ahead of the log by epoch, then by offset",
		Source: "found here: docs/findings.md; KafkaMetadataLog.truncateToLatestSnapshot",
		Story: "C has a record of epoch 2 at offset 0 that lost. A, of epoch 3, has one of epoch 1 there, committed, and its log starts behind it. C fetches from 1 behind epoch 2, and is sent to the snapshot (1, epoch 1), " +
			"which is not ahead of (1, epoch 2): Kafka throws, and C is stopped. No safety property can see it.",
		Override: func(r *Rules) {
			clean := r.Wants
			r.Wants = func(r *Replica, s Snapshot) bool {
				last := r.Log.LastEpoch()
				return clean(r, s) && (s.Epoch > last || s.Epoch == last && s.End > r.Log.End())
			}
		},
		Model: "snapshot-diverged", Property: "SnapshotInstalledOverLaterEpoch", Action: ActionHandleFetchResponse,
	},
}
