package kafkasql

import "github.com/quorate/quorate/spec/concern"

func mutation(id, title, source, story, model, property string, override func(*Rules)) concern.Mutated[Change] {
	return concern.Mutated[Change]{
		Mutation: concern.Mutation{ID: id, Title: title, Source: source, Story: story, Model: model, Property: property},
		Override: func(c *Change) { *c = override },
	}
}

// Mutations are all. Source has the number of docs/kafkasql.md.
var Mutations = []concern.Mutated[Change]{
	mutation("zombie-writer", "chunks do not name their attempt", "M5, A-4",
		"A holds the lock and stops in the middle of its dump. Its lease expires, B takes the lock and dumps. A goes on, and its second half lands within B's range; nothing in the range says which half is whose.",
		"kafkasql-a", "RestoredIsReplay", func(r *Rules) { r.Tags, r.Accepts = false, acceptAll }),
	mutation("late-commit-after-trim", "everybody goes by the last commit in the topic", "M8, A-5",
		"A has uploaded an image of offset 2 and is slow. B commits one of offset 3, and the journal is trimmed behind it. Now A's commit lands, the last in the topic: who starts restores it, and the records between the two are gone.",
		"kafkasql-t", "NoNeedlessRefusal", func(r *Rules) {
			chooseLast(r)
			r.Eligible, r.TrimTo = eligibleBelowStart, trimToLast
		}),
	mutation("last-in-topic", "the last commit in the topic is chosen, and there is no trim", "M8",
		"The choice moves back although the better image is there.",
		"kafkasql-t", "ChosenNeverBack", chooseLast),
	mutation("last-in-topic-fenced", "A chooses the last commit whose author held the lock", "M8, A-5",
		"Holding the lock says nothing of how far the holder has read the journal: B takes the lock properly, with an older offset than A's.",
		"kafkasql-a", "ChosenNeverBack", chooseLast),
	mutation("newest-time", "the commit with the newest time is chosen", "M7, C-5",
		"The clock of A is ahead, so its image counts as the newest although that of B has a greater offset.",
		"kafkasql-b", "ChosenNeverBack", chooseNewest),
	mutation("offset-before-copy", "the offset is noted before the copy, which shows its end", "M1",
		"A record is applied while the image is copied. It is in the image, and the offset says that it is not.",
		"kafkasql-t-capture", "RestoredIsReplay", func(r *Rules) {
			r.CopiesAtEnd = true
			r.Noted = func(_ *DB, begun, _ uint8) uint8 { return begun }
		}),
	mutation("offset-after-copy", "the offset is noted after the copy, which shows its beginning", "M2",
		"A record is applied while the image is copied. It is not in the image, and the offset says that it is.",
		"kafkasql-t-capture", "RestoredIsReplay", func(r *Rules) {
			r.Noted = func(_ *DB, _, ended uint8) uint8 { return ended }
		}),
	mutation("dump-beside-applying", "B's thread goes on applying while it dumps", "M1, B",
		"As offset-before-copy: the cut of B is the pause, and without it the offset and the dump are of different moments.",
		"kafkasql-b-capture", "RestoredIsReplay", func(r *Rules) {
			r.BlocksApply, r.CopiesAtEnd = false, true
		}),
	mutation("freeze-leaks", "a frozen instance goes on applying", "M1, S12",
		"A notes its offset, writes its rows, applies a record and writes its counter: the image is of no moment.",
		"kafkasql-a", "RestoredIsReplay", func(r *Rules) { r.FreezeHolds = false }),
	mutation("resume-at-last", "the journal is read from the last record that is applied", "M3",
		"The record is applied twice, which shows because there is a counter.",
		"kafkasql-t", "ServingIsReplay", func(r *Rules) { r.Resume = func(off uint8) uint8 { return off - min(off, 1) } }),
	mutation("resume-one-behind", "the first record after the image is left out", "M4",
		"It is missing for as long as the instance lives, and in each image that it makes.",
		"kafkasql-t", "NoHole", func(r *Rules) { r.Resume = func(off uint8) uint8 { return off + 1 } }),
	mutation("trim-to-newest", "the journal is trimmed behind the newest image, of two that are kept", "M9",
		"The newest image is damaged. The older one is there, but the records behind it are not.",
		"kafkasql-t-damage", "Recoverable", func(r *Rules) { r.TrimTo = func(s *State) uint8 { return s.trimTo(1) } }),
	mutation("trim-unverified", "the journal is trimmed behind an image that nobody has read again", "M10",
		"The store has acknowledged an upload and kept half of it. The commit names it, and the records are gone.",
		"kafkasql-t-store", "TrimCovered", func(r *Rules) { r.VerifiesUpload, r.TrimTo = false, trimToAnyCommit }),
	mutation("trim-before-commit", "the journal is trimmed behind an image that is not committed", "M10",
		"The writer ends before its commit.",
		"kafkasql-t", "TrimCovered", func(r *Rules) {
			r.TrimTo = func(s *State) (off uint8) {
				for _, a := range s.Atts[:s.NAtts] {
					off = max(off, a.Off)
				}
				return off
			}
		}),
	mutation("retention-by-time", "the journal is deleted by age", "M11",
		"Nobody has made a checkpoint, and records get old.",
		"kafkasql-t", "TrimCovered", func(r *Rules) { r.ExpiresByTime = true }),
	mutation("hole-is-replayed", "without an image whatever is left of the journal counts as all of it", "M12, C-2",
		"The journal was deleted by age, and there is no image: what is left is replayed, and the instance serves.",
		"kafkasql-t", "NoHole", func(r *Rules) { r.ExpiresByTime, r.Guesses = true, true }),
	mutation("reset-to-earliest", "who reads below the start of the journal goes on at its start", "M13",
		"The journal is trimmed while an instance is paused. It goes on behind the hole.",
		"kafkasql-t-gc", "NoHole", func(r *Rules) { r.Resets = true }),
	mutation("end-from-before", "the end to be reached is one from before the start", "M18",
		"The instance is ready with what it had when it ended, while others have acknowledged more.",
		"kafkasql-t", "ReadyCaughtUp", func(r *Rules) { r.CachedEnd = true }),
	mutation("first-poll-lost", "what the first poll of the checkpoints topic returns is thrown away", "M19, C-11",
		"There is one image, the journal is trimmed behind it, and the instance does not know it.",
		"kafkasql-t", "NoNeedlessRefusal", func(r *Rules) { r.Visible = func(_ *State, n *Instance, c int) bool { return c+1 < int(n.CkEnd) } }),
	mutation("empty-poll-ends", "an empty poll is taken for the end of the checkpoints topic", "M20, C-12",
		"The broker is slow, and the instance has read the first commit only. The journal is trimmed behind the second one.",
		"kafkasql-t", "NoNeedlessRefusal", func(r *Rules) { r.Visible = func(_ *State, _ *Instance, c int) bool { return c == 0 } }),
	mutation("null-published", "a timeout is published like a location", "M23",
		"The copy has taken longer than the waiter waits, and a commit that names nothing lands.",
		"kafkasql-t-store", "CommitNamesComplete", func(r *Rules) {
			r.VerifiesUpload = false
			r.PublishesNull = true
		}),
	mutation("recency-fails-open", "if it is not known whether there is a recent image, one is made", "M24",
		"An image of everything is there, and another one is begun.",
		"kafkasql-t-schedule", "NoNeedlessAttempt", func(r *Rules) { r.Wants = func(*State, int) bool { return true } }),
	mutation("recency-counts-unusable", "an image that cannot be used counts as recent", "M25",
		"The only image is damaged. Nobody makes another one: that none is made while one is missing is never seen to end.",
		"kafkasql-t-schedule", "MadeAfterDamage", func(r *Rules) {
			r.Wants = func(s *State, i int) bool {
				for _, c := range s.Commits[:s.NCommits] {
					if c.Att != 0 && s.Atts[c.Att-1].Off >= s.I[i].DB.Off {
						return false
					}
				}
				return s.idle()
			}
		}),
	mutation("lease-judged-behind", "a lease is judged by one who has not read to the end", "M26, A-6",
		"A refreshes its lease, and B has not read so. It takes its own lag for silence, and the lock over: two dump at once, though clocks can be relied upon.",
		"kafkasql-a-clock", "OneDumper", func(r *Rules) { r.TrustsSilence = true }),
	mutation("old-lock-is-dead", "a lock that is read at a start is taken for dead", "M26, A-7",
		"An instance starts, reads the lock of a holder that is well, and takes it over.",
		"kafkasql-a-clock", "OneDumper", func(r *Rules) { r.ForgetsOld = true }),
	mutation("counter-left-out", "the counter is not in the image", "M32, C-8, A-11",
		"The row with the highest id was deleted. The restored instance gives that id again, and the others do not.",
		"kafkasql-t", "RestoredIsReplay", func(r *Rules) {
			r.Image = func(db DB) DB {
				db.Counter = db.highest()
				return db
			}
		}),
	mutation("export-without-counter", "A's dump is an export, which lacks the counter", "M32, A-11",
		"As counter-left-out: analogous to an export is not equal to a replay.",
		"kafkasql-a-export", "RestoredIsReplay", func(r *Rules) {
			r.Image = func(db DB) DB {
				db.Counter = db.highest()
				return db
			}
		}),
	mutation("wall-clock", "rows have the time at which they were applied", "M33, C-9",
		"Two instances apply the same record at different times.",
		"kafkasql-t", "ServingIsReplay", func(r *Rules) { r.Stamp = func(i int) uint8 { return uint8(i) << 3 } }),
	mutation("cleans-by-itself", "an instance deletes a row on its own", "M34, C-10",
		"The row is gone on one instance, and in the images that it makes.",
		"kafkasql-t", "RestoredIsReplay", func(r *Rules) { r.Cleans = true }),
	mutation("rows-counted", "the offset row counts the operations that took effect", "M35",
		"The first operation was rejected, so the offset in the image is one less than what it has applied.",
		"kafkasql-t-rejected", "RestoredIsReplay", func(r *Rules) { r.CountsEffects = true }),
	mutation("row-after-operation", "the offset row is written in a transaction of its own", "M36",
		"The instance ends in between, and applies the operation again when it starts on its database.",
		"kafkasql-t-local", "ServingIsReplay", func(r *Rules) { r.SplitsTransaction = true }),
	mutation("row-after-operation-copied", "the same, and an image is made in between", "M36",
		"The image has the operation, and its offset does not.",
		"kafkasql-t", "RestoredIsReplay", func(r *Rules) { r.SplitsTransaction = true }),
	mutation("other-journal", "an image of another journal of the same name is restored", "M37",
		"The topic was deleted and made again. The image is of the old one.",
		"kafkasql-t-recreated", "RightJournal", func(r *Rules) { r.Eligible = eligible(lineageByOffset) }),
	mutation("ahead-of-journal", "an image ahead of a rewound journal is restored", "M38",
		"The tail that the image has is gone from the journal.",
		"kafkasql-t-rewind", "RightJournal", func(r *Rules) {
			r.Eligible = eligible(func(s *State, a *Attempt) bool { return a.Journal == s.Journal })
		}),
	mutation("grown-past", "an image counts as of this journal if the journal is long enough", "M38",
		"The journal lost its tail and has grown past the offset of the image, with other records.",
		"kafkasql-t-rewind", "RightJournal", func(r *Rules) {
			r.Eligible = eligible(func(s *State, a *Attempt) bool { return a.Journal == s.Journal && a.Off <= s.N })
		}),
	mutation("local-unchecked", "a local database is used without asking of which epoch it is", "M38",
		"It has applied a tail that the journal has lost.",
		"kafkasql-t-local", "RightJournal", func(r *Rules) {
			r.ReusesLocal = func(s *State, db *DB) bool { return db.Journal == s.Journal && db.Off >= s.LogStart }
		}),
	mutation("local-below-start", "a local database is used without asking whether its tail is there", "M12",
		"It is older than the start of the journal. The instance ends, and as often as it starts it finds the same database.",
		"kafkasql-t-local-behind", "NoNeedlessRefusal", func(r *Rules) {
			r.ReusesLocal = func(s *State, db *DB) bool { return db.Journal != 0 && s.lineage(db.Journal, db.Off, db.Epoch) }
		}),
	mutation("newer-schema", "an image of a newer schema is restored by an older program", "M39, C-14",
		"It serves a database that it does not understand.",
		"kafkasql-t-versions", "VersionSafe", func(r *Rules) {
			r.Eligible = func(s *State, _ *Instance, c Commit) bool {
				a := &s.Atts[c.Att-1]
				return s.lineage(a.Journal, a.Off, a.Epoch) && a.Off >= s.LogStart
			}
		}),
	mutation("unknown-skipped", "a record that cannot be decoded is passed over", "M40",
		"The instance makes an image without the operation. It is missing for ever, in newer programs as well.",
		"kafkasql-t-versions", "RestoredIsReplay", func(r *Rules) { r.SkipsUnknown = true }),
	mutation("gc-under-restore", "an image is collected that somebody restores", "M41, B",
		"The instance fixed the end of the checkpoints before the better images were committed, and knows no other.",
		"kafkasql-t-gc", "NoNeedlessRefusal", func(r *Rules) { r.Collects = collectsOld }),
	mutation("gc-by-age", "objects that no commit names are collected when they are old", "M41, B",
		"The writer was paused between upload and commit. Its commit names an image that is gone, and no better one is there.",
		"kafkasql-t-gc-paused", "CommitNamesComplete", func(r *Rules) {
			clean := r.Collects
			r.Collects = func(s *State, key uint8) bool { return clean(s, key) || s.abandoned(key) }
		}),
	mutation("gc-without-count", "everything but the newest image is collected", "M41",
		"Two should be kept.",
		"kafkasql-t-damage-gc", "LiveImageKept", func(r *Rules) { r.Collects = func(s *State, key uint8) bool { return s.garbage(1, key) } }),
	mutation("key-reused", "a key is the offset, and an upload overwrites", "M42",
		"Two attempts of one offset upload under one key, and each half is of another one.",
		"kafkasql-t-store", "CommitNamesComplete", func(r *Rules) { r.VerifiesUpload, r.Key = false, keyOfOffset }),
	mutation("upload-unverified", "the store is believed, and readers believe as well", "M43",
		"The store has acknowledged an upload and kept half of it.",
		"kafkasql-t-store", "RestoredIsReplay", func(r *Rules) { r.VerifiesUpload, r.Accepts = false, acceptAll }),
	mutation("digest-unchecked", "a reader installs what the store gives", "M43, B",
		"An object was damaged after it was verified.",
		"kafkasql-t-damage", "RestoredIsReplay", func(r *Rules) { r.Accepts = acceptAll }),
	mutation("no-fall-back", "an image that is rejected ends the start", "C-6, B",
		"The one before it is there, and is kept for that.",
		"kafkasql-t-damage", "NoNeedlessRefusal", func(r *Rules) { r.FallsBack = false }),
	mutation("restore-in-place", "an image is restored into the live database", "M44",
		"The instance ends half-way. When it starts again the database is there, with an offset and without its rows.",
		"kafkasql-t-local-restore", "ServingIsReplay", func(r *Rules) { r.InPlace = true }),
	mutation("waiter-late", "a waiter is registered after its record is appended", "M45",
		"The record is applied before anybody waits for it.",
		"kafkasql-t-clients", "WaiterAnswered", func(r *Rules) { r.RegistersFirst = false }),
	mutation("answer-at-append", "a write is acknowledged when it is appended", "S15",
		"Whoever reads it back does not find it.",
		"kafkasql-t-clients", "ReadYourWrites", func(r *Rules) { r.AnswersAtAppend = true }),
	mutation("retry-not-known", "a record that is sent again is appended again", "M47, A-12",
		"Its acknowledgement was lost. The operation takes effect twice.",
		"kafkasql-t-clients", "OnceOnly", func(r *Rules) { r.Idempotent = false }),
	mutation("two-partitions", "the journal has two partitions, and the offset is one number", "M48, A-9",
		"The later record of one partition is applied before the earlier one of the other. The image has one, and its offset says both.",
		"kafkasql-t-capture", "RestoredIsReplay", func(r *Rules) { r.TwoPartitions = true }),
	mutation("data-trimmed", "A's data topic is trimmed up to the newest commit", "A-10",
		"An instance has fixed the end of the checkpoints before that commit, and what it chose is gone.",
		"kafkasql-a", "NoNeedlessRefusal", func(r *Rules) { r.TrimsData = true }),

	standstill("moving-target", "ready is whoever has applied all that there is now", "M17",
		"Others write all the time. The end moves on whenever the instance has nearly reached it.",
		"kafkasql-t-endless", "live-kafkasql-writer",
		func(r *Rules) { r.End = func(s *State, _ *Instance) uint8 { return s.N } }),
	standstill("damaged-counts-as-recent", "a commit counts as recent, whatever became of its image", "M25",
		"The only image is damaged, and nobody makes another one.",
		"kafkasql-t-live", "live-kafkasql-t",
		func(r *Rules) { r.Wants = func(s *State, _ int) bool { return s.NCommits == 0 && s.idle() } }),
	standstill("failure-burns-interval", "an attempt counts as recent, whatever became of it", "M25, scenario 20",
		"A writer ends before its commit, and nobody tries again.",
		"kafkasql-t-live", "live-kafkasql-t",
		func(r *Rules) { r.Wants = func(s *State, _ int) bool { return s.NAtts == 0 } }),
	standstill("quiet-restarts", "any request begins the quiet period again, and who was not first repeats its own", "M28, A-1",
		"A was first and waits for silence. B asks again before it is over, and again, and nobody ever takes the lock.",
		"kafkasql-a-lock", "live-kafkasql-a-lock", func(r *Rules) { r.KeepsSilence = false }),
	standstill("abort-on-request", "a holder aborts on any foreign request", "A-2",
		"A holds the lock. B has not read so, and asks: A aborts, of which nobody hears, and asks again. B lets the old lock expire, and asks once more before it reads the new one.",
		"kafkasql-a-lock", "live-kafkasql-a-lock", func(r *Rules) { r.AbortsOnRequest = true }),
	standstill("withdraws-on-expiry", "who waits behind a request that expires withdraws its own, and asks again", "A-1",
		"The first one to ask was killed. A and B each let its request expire, and each then finds the request of the other one, withdrawn meanwhile, before its own.",
		"kafkasql-a-lock", "live-kafkasql-a-lock", func(r *Rules) { r.KeepsAsking = false }),
	standstill("waiters-refresh", "who waits behind another request keeps its own from expiring", "A-1",
		"A lock expires for A before, and for B after a request of B. Each takes the other one for the first, and waits for it.",
		"kafkasql-a-lock", "live-kafkasql-a-lock", func(r *Rules) { r.WaitersRefresh = true }),
	standstill("old-lock-holds", "a lock never expires", "L3, A-7",
		"Its holder was killed. Everybody waits for a commit of somebody who is gone.",
		"kafkasql-a-lock", "live-kafkasql-a-lock", func(r *Rules) { r.LocksExpire = false }),
	standstill("stays-frozen", "an attempt that is aborted leaves its instance out of traffic", "M29",
		"A was paused for longer than its lease, reads that the lock is lost, and serves nobody any more.",
		"kafkasql-a-lock", "live-kafkasql-a-lock", func(r *Rules) { r.Unfreezes = false }),
	standstill("probe-kills", "who is out of traffic is taken for dead, and killed", "M30",
		"The probe that fails while an instance dumps is the one that decides of its life. Each attempt ends when it has begun.",
		"kafkasql-a-lock", "live-kafkasql-a-lock", func(r *Rules) { r.ProbeKills = true }),

	harmless("commit-after-loss", "a holder that has read that it lost the lock commits nevertheless", "M27",
		"kafkasql-a", func(r *Rules) { r.CommitAfterLoss = true },
		"in the order of the log the lock was lost already, which a holder that has not read it cannot know either; images are of one attempt each, and choice is by offset"),
	harmless("fence-ignored", "readers accept a commit whose author had lost the lock", "M6, A-3",
		"kafkasql-a", acceptFenced,
		"the image is complete, since chunks name their attempt, and it is chosen only if its offset is the greatest; with the last commit chosen it is late-commit-after-trim"),
	harmless("lag-with-leases", "a lease is judged by one who has not read to the end, and clocks are not relied upon", "M26, A-6",
		"kafkasql-a", func(r *Rules) { r.JudgesAtEnd = false },
		"two dump at once, which safety does not depend on"),
	harmless("rejected-keeps-row", "a rejected operation does not advance the offset row", "M35",
		"kafkasql-t-rejected", func(r *Rules) { r.RejectedKeepsRow = true },
		"the next operation that takes effect writes its own offset over it; what is executed again was rejected on this very database and is rejected again"),
	harmless("writes-before-ready", "writes are taken before the instance is ready", "M46",
		"kafkasql-t-early", func(r *Rules) { r.TakesEarly = true },
		"both ends are fixed at the start: no image that is restored has the record, so it is applied here, and its client is answered"),
	harmless("commit-twice", "the commit of an attempt is appended twice", "A-12",
		"kafkasql-t-store", func(r *Rules) { r.Idempotent = false },
		"both name the same image"),
	harmless("chunk-twice", "a chunk is appended twice", "A-12",
		"kafkasql-a-lost", func(r *Rules) { r.Idempotent = false },
		"it names its attempt and its half, so a reader takes it once"),
}

func harmless(id, title, source, model string, override func(*Rules), why string) concern.Mutated[Change] {
	m := mutation(id, title, source, "", model, "", override)
	m.Harmless = why
	return m
}

// standstill is a bug by which nothing is lost, but something never comes about.
func standstill(id, title, source, story, model, live string, override func(*Rules)) concern.Mutated[Change] {
	m := harmless(id, title, source, model, override, "nothing is lost; what never comes about is judged in "+live)
	m.Story = story
	return m
}

// chooseLast tries the last commit of the topic first.
func chooseLast(r *Rules) { r.Better = func(_ *State, x, y int) bool { return x > y } }

// chooseNewest tries the commit with the newest time first.
func chooseNewest(r *Rules) {
	r.Better = func(s *State, x, y int) bool {
		ax, ay := s.Atts[s.Commits[x].Att-1].Ahead, s.Atts[s.Commits[y].Att-1].Ahead
		return ax > ay || ax == ay && x > y
	}
}

// acceptAll installs whatever was fetched.
func acceptAll(*State, *Instance, Commit) bool { return true }

// acceptFenced tries commits whose author had lost the lock, too.
func acceptFenced(r *Rules) {
	clean := r.Eligible
	r.Eligible = func(s *State, n *Instance, c Commit) bool {
		c.Fenced = 0
		return clean(s, n, c)
	}
}

// eligible is the clean rule with another idea of what an image of this journal is.
func eligible(lineage func(s *State, a *Attempt) bool) func(s *State, n *Instance, c Commit) bool {
	return func(s *State, n *Instance, c Commit) bool {
		a := &s.Atts[c.Att-1]
		return lineage(s, a) && a.Off >= s.LogStart && a.Img.Schema <= n.Version
	}
}

func lineageByOffset(s *State, a *Attempt) bool {
	return a.Off <= s.N && (a.Off == 0 || s.J[a.Off-1].Epoch == a.Epoch)
}

// eligibleBelowStart does not ask whether what follows an image is there.
func eligibleBelowStart(s *State, n *Instance, c Commit) bool {
	a := &s.Atts[c.Att-1]
	return s.lineage(a.Journal, a.Off, a.Epoch) && a.Img.Schema <= n.Version
}

// trimToAnyCommit believes commits.
func trimToAnyCommit(s *State) (off uint8) {
	for _, c := range s.Commits[:s.NCommits] {
		if c.Att != 0 {
			off = max(off, s.Atts[c.Att-1].Off)
		}
	}
	return off
}

// trimToLast goes by the last commit in the topic.
func trimToLast(s *State) uint8 {
	if s.NCommits == 0 || !s.usable(s.Commits[s.NCommits-1]) || !s.knownToAll(int(s.NCommits)-1) {
		return 0
	}
	return s.Atts[s.Commits[s.NCommits-1].Att-1].Off
}

// collectsOld deletes an image as soon as there are better ones, whoever restores it.
func collectsOld(s *State, key uint8) bool {
	list, count := s.kept(1)
	return count == 1 && list[0].Key != key && s.Atts[list[0].Att-1].Off >= s.Atts[key-1].Off
}

// abandoned says whether no commit names an object, and nobody who is awake works on it.
func (s *State) abandoned(key uint8) bool {
	for i := range s.I {
		if n := &s.I[i]; n.up() && n.Att == key && n.Paused == 0 {
			return false
		}
	}
	return !s.committed(key)
}

// keyOfOffset is the key of the first attempt of the same offset.
func keyOfOffset(s *State, att uint8) uint8 {
	for i, a := range s.Atts[:s.NAtts] {
		if a.Off == s.Atts[att-1].Off {
			return uint8(i + 1)
		}
	}
	return att
}
