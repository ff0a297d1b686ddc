package bootstrap

import "github.com/quorate/quorate/spec/concern"

// Mutation is a bug put back: one rule overridden.
type Mutation = concern.Mutated[Rules]

func mutation(id, title, source, story, model, property string, override func(*Rules)) Mutation {
	return Mutation{Mutation: concern.Mutation{ID: id, Title: title, Source: source, Story: story, Model: model, Property: property}, Override: override}
}

// Mutations are all, in the order of a cluster's life. Source has the number of
// docs/kip-1170.md.
var Mutations = []Mutation{
	// Format.
	mutation("meta-before-zero", "format writes meta.properties before the zero checkpoint", "A-M17",
		"Power is lost between the two: the directory counts as formatted and has no bootstrap records, so the default is written.",
		"bootstrap-format", "FormatCommit", func(r *Rules) {
			r.FormatSteps = []Action{
				WriteMetaTemp, FlushMetaTemp, RenameMeta, FlushMetaDirectory,
				WriteZeroPart, FlushZeroPart, RenameZero, FlushZeroDirectory,
			}
		}),
	mutation("zero-directory-not-flushed", "format renames the zero checkpoint and does not flush its directory", "A-M17; the flush of meta.properties is one of another directory",
		"The name of the zero checkpoint is in the partition's directory, that of meta.properties in the one above. Flushing the latter makes only the latter durable.",
		"bootstrap-format", "FormatCommit", func(r *Rules) {
			r.FormatSteps = []Action{
				WriteZeroPart, FlushZeroPart, RenameZero,
				WriteMetaTemp, FlushMetaTemp, RenameMeta, FlushMetaDirectory,
			}
		}),
	mutation("zero-renamed-unflushed", "format renames the zero checkpoint before its bytes are flushed", "A-M17",
		"Power is lost after the rename: the name is there, and not the bytes.",
		"bootstrap-format", "FormatWhole", func(r *Rules) {
			r.FormatSteps = []Action{
				WriteZeroPart, RenameZero, FlushZeroDirectory,
				WriteMetaTemp, FlushMetaTemp, RenameMeta, FlushMetaDirectory,
			}
		}),
	mutation("meta-renamed-unflushed", "format renames meta.properties before its bytes are flushed", "beside A-M17",
		"Power is lost after the rename: meta.properties is there, and not its bytes, and neither start nor format goes on from there.",
		"bootstrap-format", "FormatWhole", func(r *Rules) {
			r.FormatSteps = []Action{
				WriteZeroPart, FlushZeroPart, RenameZero, FlushZeroDirectory,
				WriteMetaTemp, RenameMeta, FlushMetaDirectory,
			}
		}),
	mutation("format-keeps-zero", "a second run of format leaves a zero checkpoint alone that it finds", "docs/kip-1170.md: redo",
		"The first run was cut off before meta.properties. The second draws another directory id, which the voters in the old zero checkpoint do not have: the controller is no voter of its own quorum.",
		"bootstrap-format", "FormatCommit", func(r *Rules) {
			r.KeepsZero = func(c *Controller) bool { return c.Zero != NoZero }
		}),

	// Start, and the choice of the source.
	mutation("zero-as-committed", "the zero checkpoint is replayed as any other snapshot", "A-M1; loading before KIP-1170",
		"A takes what its zero checkpoint holds for committed. As leader it finds a metadata.version and writes none: nobody else ever has one.",
		"bootstrap-cases", "NoUncommittedReplay", func(r *Rules) {
			r.LoadsAsCommitted = func(*Controller) bool { return true }
		}),
	mutation("legacy-first", "with records in both files bootstrap.checkpoint wins", "A-M10",
		"Case 4: a file that was left behind decides over the one that format has just written.",
		"bootstrap-cases", "SourceOrder", func(r *Rules) {
			clean := r.SourceOf
			r.SourceOf = func(legacy Content, zero ZeroFile) Content {
				if legacy != NoContent {
					return legacy
				}
				return clean(legacy, zero)
			}
		}),
	mutation("both-sources", "with records in both files both are written", "A-M11",
		"Case 4: two metadata.versions, and the credentials of both.",
		"bootstrap-cases", "SourceOrder", func(r *Rules) {
			clean := r.SourceOf
			r.SourceOf = func(legacy Content, zero ZeroFile) Content {
				if legacy != NoContent && zero.Content() != NoContent {
					return Both
				}
				return clean(legacy, zero)
			}
		}),
	mutation("empty-zero-is-a-bootstrap", "a zero checkpoint without metadata records is a bootstrap without records", "A-M12",
		"Case 2, a directory formatted before KIP-1170: the records of bootstrap.checkpoint are lost, and the leader serves without a metadata.version.",
		"bootstrap-cases", "ActiveHasVersion", func(r *Rules) {
			clean := r.SourceOf
			r.SourceOf = func(legacy Content, zero ZeroFile) Content {
				if zero == ControlOnly {
					return Empty
				}
				return clean(legacy, zero)
			}
		}),
	mutation("no-warning", "case 4 goes by without a word", "A-I14",
		"Two files disagree and nobody is told.",
		"bootstrap-cases", "Warned", func(r *Rules) {
			r.Warns = func(*Controller) bool { return false }
		}),
	mutation("source-kept", "the source of an earlier life is kept over a new format", "A-M23",
		"A had loaded one zero checkpoint, is formatted again, and writes the records of the one before.",
		"bootstrap-reformat", "SourceOrder", func(r *Rules) { r.ForgetsSource = false }),
	mutation("legacy-decoded-at-start", "bootstrap.checkpoint must be usable at start, needed or not", "A-M21; KAFKA-19192",
		"The log has had its metadata.version for years. New software refuses to start over a file that nobody has used since the first day.",
		"bootstrap-upgrade-one", "NoNeedlessFailure", func(r *Rules) { r.DecodesAtStart = true }),
	mutation("zero-over-snapshot", "the zero checkpoint is loaded though there is a newer snapshot, and decides anew", "A-M22 with A-M13",
		"A directory is formatted again with its log left in place, and the controller writes the new records behind the old ones.",
		"bootstrap-reformat", "OneBootstrap", func(r *Rules) {
			r.LoadsZero = func(c *Controller) bool { return c.Zero != NoZero }
			r.MustWrite = func(c *Controller) bool { return c.Source == OfOther || c.Image.Stable().Version == NoContent }
		}),
	mutation("zero-sent", "a follower at offset 0 is sent the zero checkpoint", "A-M18; FetchSnapshot of (0, 0)",
		"B takes over what A was formatted with as if it were committed, though a leader with other records may follow.",
		"bootstrap-failover", "NoUncommittedReplay", func(r *Rules) {
			r.AnswersZero = func(*Controller) bool { return true }
		}),
	mutation("reported-before-commit", "ApiVersions reports the metadata.version of the zero checkpoint", "A-M24",
		"A client sees as finalized what nobody has committed, and another leader may never commit.",
		"bootstrap-cases", "ApiUnknown", func(r *Rules) {
			clean := r.Reports
			r.Reports = func(c *Controller) (Content, bool) {
				if v := c.Zero.Content(); v != NoContent && c.Snap == 0 {
					return v, true
				}
				return clean(c)
			}
		}),

	// Activation.
	mutation("control-records-count", "a log with control records only counts as written", "A-M2",
		"The first leader's own LeaderChange is in the log, so it takes the bootstrap for done.",
		"bootstrap-cases", "ActiveHasVersion", func(r *Rules) {
			r.MustWrite = func(c *Controller) bool { return c.Log.end() == 0 }
		}),
	mutation("begin-counts", "a log with the begin of a transaction counts as written", "A-M3, hazard H2; the tracker of KAFKA-14177",
		"The first leader is lost after BeginTransaction is committed. The next one sees a metadata record, aborts, writes nothing, and serves without a metadata.version.",
		"bootstrap-cases", "ActiveHasVersion", func(r *Rules) {
			r.MustWrite = func(c *Controller) bool {
				for _, rec := range c.Log[:c.Log.end()] {
					if !rec.control() {
						return false
					}
				}
				return c.Snap == 0
			}
		}),
	mutation("version-inside-counts", "a metadata.version inside the open transaction counts as written", "A-M4, hazard H1; the predicate since KAFKA-18858",
		"The first leader is lost after the metadata.version is committed and before EndTransaction. The next one sees a version, aborts, writes nothing, and has none.",
		"bootstrap-cases", "ActiveHasVersion", func(r *Rules) {
			r.MustWrite = func(c *Controller) bool { return c.Image.Version == NoContent }
		}),
	mutation("no-abort", "a new leader writes its bootstrap without aborting what is open", "A-M5",
		"A transaction begins within another one.",
		"bootstrap-cases", "TransactionClosed", func(r *Rules) {
			r.MustAbort = func(c *Controller) bool { return c.Image.Tx != 0 && c.Image.Stable().Version != NoContent }
		}),
	mutation("abort-only", "a new leader aborts what is open and leaves it at that", "A-M6",
		"The cluster serves without a metadata.version until somebody else leads.",
		"bootstrap-cases", "ActiveHasVersion", func(r *Rules) {
			clean := r.MustWrite
			r.MustWrite = func(c *Controller) bool { return c.Image.Tx == 0 && clean(c) }
		}),
	mutation("always-writes", "every leader writes its bootstrap", "A-M13",
		"The second leader sets the metadata.version of its own files, years later.",
		"bootstrap-cases", "OneBootstrap", func(r *Rules) {
			r.MustWrite = func(*Controller) bool { return true }
		}),
	mutation("no-transaction", "several batches without a transaction, where there could be one", "A-M14",
		"The leader is lost between two batches: half a bootstrap has taken effect.",
		"bootstrap-cases", "AllOrNothing", func(r *Rules) {
			r.Chunks = func(bool) []Kind { return []Kind{Version, Rest} }
		}),
	mutation("not-atomic", "without transactions a bootstrap is split into batches", "A-M15",
		"As no-transaction, where only one batch is possible.",
		"bootstrap-cases-atomic", "AllOrNothing", func(r *Rules) {
			r.Chunks = func(bool) []Kind { return []Kind{Version, Rest} }
		}),
	mutation("end-not-written", "an empty last chunk stands for the end of the transaction", "A-M27",
		"The number of records is a multiple of the chunk size. The leader serves with its transaction open: nobody ever sees the bootstrap, and everything after it is inside.",
		"bootstrap-cases", "ActiveHasVersion", func(r *Rules) {
			r.Chunks = func(bool) []Kind { return []Kind{Begin, Version, Rest} }
		}),
	mutation("writes-before-activation", "clients are served before activation is through", "A-M19",
		"An ordinary record is in the log in front of the bootstrap.",
		"bootstrap-queue", "FirstData", func(r *Rules) {
			r.MayWrite = func(c *Controller) bool { return c.Leading == 1 && c.lastEpoch() == c.Epoch && c.Phase == Standby }
		}),
	mutation("activation-queued-last", "activation stands at the end of the queue", "A-M20",
		"What clients had asked for already is written first.",
		"bootstrap-queue", "FirstData", func(r *Rules) {
			r.MayWrite = func(c *Controller) bool { return c.Phase == Claimed || c.Phase == Active }
		}),
	mutation("image-not-reverted", "who stops leading keeps what was not committed in memory", "A-M28",
		"A writes its bootstrap and loses the leadership before it is committed. C leads and writes none of it yet. A's state machine has a metadata.version that nobody committed.",
		"bootstrap-failover", "NoUncommittedReplay", func(r *Rules) { r.Reverts = false }),
	mutation("voters-not-written", "the first leader of a dynamic quorum does not write the voters", "A-I15; KAFKA-16532",
		"The voters are in the zero checkpoint alone, which is never replicated.",
		"bootstrap-cases", "VotersBeforeData", func(r *Rules) {
			r.WritesVoters = func(*Controller) bool { return false }
		}),
	mutation("activates-before-commit", "a leader takes over before its LeaderChange is committed", "KIP-595: the listener is told when it has caught up",
		"C leads with A's uncommitted records in its log, has not replayed them, and decides on a state from before them.",
		"bootstrap-failover-atomic", "OneBootstrap", func(r *Rules) {
			r.Leads = func(c *Controller, _ uint8) bool { return c.lastEpoch() == c.Epoch }
		}),

	// Snapshots and deletion.
	mutation("zero-deleted-when-appended", "the zero checkpoint is deleted once its records are appended", "A-M7",
		"They are truncated, and are nowhere any more.",
		"bootstrap-retention", "ZeroDeletedSafe", func(r *Rules) {
			r.MayDeleteZero = func(c *Controller) bool { return c.ImageAt(c.Log.end()).Stable().Version != NoContent }
		}),
	mutation("only-snapshot-deleted", "the zero checkpoint is deleted though there is no newer snapshot", "A-M25",
		"Retention by age removes the only snapshot that there is.",
		"bootstrap-retention", "ZeroDeletedSafe", func(r *Rules) {
			r.MayDeleteZero = func(*Controller) bool { return true }
		}),
	mutation("legacy-deleted-on-any-record", "bootstrap.checkpoint is deleted once the log is not empty", "A-M8",
		"There is a LeaderChange in the log, and no bootstrap yet.",
		"bootstrap-retention", "LegacyDeletedSafe", func(r *Rules) {
			r.MayDeleteLegacy = func(c *Controller) bool { return c.Log.end() > 0 }
		}),
	mutation("legacy-deleted-for-zero", "bootstrap.checkpoint is deleted once a checkpoint is loaded, the zero checkpoint too", "A-M9",
		"Case 2: the only file with metadata records goes, because there is one without.",
		"bootstrap-retention", "LegacyDeletedSafe", func(r *Rules) {
			r.MayDeleteLegacy = func(c *Controller) bool { return c.Zero != NoZero || c.Snap > 0 }
		}),
	mutation("snapshot-in-transaction", "a snapshot may be taken inside a transaction", "A-M16",
		"Half of the bootstrap is in the snapshot, the marks of its transaction are not: what is aborted later has taken effect there.",
		"bootstrap-retention-one", "SnapshotStable", func(r *Rules) {
			r.MaySnapshot = func(m Image) bool { return m.Version != NoContent }
		}),
	mutation("snapshot-without-version", "a snapshot may be taken of a log without a metadata.version", "docs/findings.md: a snapshot of nothing",
		"The LeaderChange is committed, the leader is lost before it writes its bootstrap. A snapshot at offset 1 holds nothing, and is newer than the zero checkpoint, which is then neither loaded nor kept.",
		"bootstrap-retention-one", "ZeroDeletedSafe", func(r *Rules) {
			r.MaySnapshot = func(m Image) bool { return m.Tx == 0 }
		}),

	// What turned out to do no harm.
	{Mutation: concern.Mutation{
		ID: "zero-loaded-with-snapshot", Title: "the zero checkpoint is handed over though there is a newer snapshot", Source: "A-M22 alone", Model: "bootstrap-reformat",
		Harmless: "it only replaces a source that is not used: the snapshot has a metadata.version, and nothing is written over one. It takes a second mistake (zero-over-snapshot)",
	}, Override: func(r *Rules) {
		r.LoadsZero = func(c *Controller) bool { return c.Zero != NoZero }
	}},
	{Mutation: concern.Mutation{
		ID: "version-counts-when-atomic", Title: "the predicates of hazards H1 and H2, without transactions", Source: "A-M3 and A-M4 without transactions", Model: "bootstrap-cases-atomic",
		Harmless: "one batch is committed as a whole or not at all, so no state has a part of it: both hazards need a transaction, and one that spans batches",
	}, Override: func(r *Rules) {
		r.MustWrite = func(c *Controller) bool { return c.Image.Version == NoContent }
	}},
}
