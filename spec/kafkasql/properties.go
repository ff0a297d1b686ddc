package kafkasql

import "github.com/quorate/quorate/checker"

// Properties: what must hold first, then what must be reached. S and a number are those of
// docs/kafkasql.md.
const (
	RestoredIsReplay checker.Props = 1 << iota
	ServingIsReplay
	NoHole
	OnceOnly
	CommitNamesComplete
	ChosenNeverBack
	TrimCovered
	Recoverable
	ReadyCaughtUp
	RightJournal
	VersionSafe
	NoNeedlessRefusal
	WaiterAnswered
	ReadYourWrites
	OneDumper
	SomebodyServes
	NoNeedlessAttempt
	LiveImageKept

	RestoredAndServed
	ReplayedAll
	FellBack
	RefusedWithHole
	DamageRejected
	HalfUploadAbandoned
	AttemptLost
	LateCommit
	LateCommitAfterTrim
	LateCommitPassedOver
	CommittedTwice
	RetryKnown
	Trimmed
	TrimmedAgain
	GarbageCollected
	OrphanCollected
	FetchedNothing
	FellOutOfRange
	TailLostImageRejected
	GrownPastImageRejected
	OtherJournalRejected
	StartedOnLocal
	LocalRejected
	MigratedImage
	NewerImageRejected
	StoppedAtUnknown
	RejectedInImage
	RestoredWhileUploading
	CapturedBehind
	ClockAheadOlder
	RestoredWhileWritten
	AnsweredWaiter
	LostLockCommitted
	LostLockAborted
	LockTakenOver
	RequestWithdrawn
	ForeignChunkPassedOver
	OldLockRead
	WaitedForNobody
	MadeAfterDamage
	AttemptFailed
)

// Properties lists them, in the order of their bits.
var Properties = []checker.Property{
	{Name: "RestoredIsReplay", Kind: checker.Always, Doc: "S1: what is restored is what a replay of the journal up to its offset gives, counter included", Subject: "Install"},
	{Name: "ServingIsReplay", Doc: "S2, S7: a ready instance has the database that a replay up to its position gives"},
	{Name: "NoHole", Doc: "S2, S14: a ready instance has applied every record before its position"},
	{Name: "OnceOnly", Doc: "S2: no ready instance has two rows of one operation"},
	{Name: "CommitNamesComplete", Kind: checker.Always, Doc: "S3: a commit, when it is appended, names an image that is complete, unless as many better ones as are kept are there already"},
	{Name: "ChosenNeverBack", Kind: checker.Always, Doc: "S6: who starts after an image was restored restores none with a smaller offset, while that one can be had", Subject: "Install"},
	{Name: "TrimCovered", Kind: checker.Always, Doc: "S5: what is trimmed is in an image that is committed, and complete"},
	{Name: "Recoverable", Doc: "S4: the state can be recovered, also after one object was damaged since the last trim"},
	{Name: "ReadyCaughtUp", Kind: checker.Always, Doc: "S8: who becomes ready has applied what the journal had when it started", Subject: "BecomeReady"},
	{Name: "RightJournal", Doc: "S9: a ready instance has applied a prefix of the journal as it is, not of one that is gone"},
	{Name: "VersionSafe", Doc: "S10: no instance serves a database with a newer schema than its program knows"},
	{Name: "NoNeedlessRefusal", Kind: checker.Always, Doc: "S14: an instance that was not paused gives up only if there is no image that it can use"},
	{Name: "WaiterAnswered", Doc: "L4: no client waits for a record that its instance has passed"},
	{Name: "ReadYourWrites", Doc: "S15: what an instance acknowledged is in its database"},
	{Name: "OneDumper", Doc: "S11: with clocks that can be relied upon, one instance at a time is between lock and commit"},
	{Name: "SomebodyServes", Doc: "while an instance is out of traffic for its checkpoint, another one serves"},
	{Name: "NoNeedlessAttempt", Kind: checker.Always, Doc: "no attempt is begun while an image of everything is committed, and can be had"},
	{Name: "LiveImageKept", Kind: checker.Always, Doc: "S13: nothing is collected that may be needed: the images with the greatest offsets, as many as are kept, stay", Subject: "CollectGarbage"},

	{Name: "RestoredAndServed", Kind: checker.Sometimes, Doc: "an instance restores an image, replays a tail and serves"},
	{Name: "ReplayedAll", Kind: checker.Sometimes, Doc: "an instance replays a journal that is whole, since there is no image"},
	{Name: "FellBack", Kind: checker.Sometimes, Doc: "an instance restores an older image after a newer one was rejected"},
	{Name: "RefusedWithHole", Kind: checker.Sometimes, Doc: "no image can be had, the journal is trimmed: the instance gives up"},
	{Name: "DamageRejected", Kind: checker.Sometimes, Doc: "a damaged image is rejected"},
	{Name: "HalfUploadAbandoned", Kind: checker.Sometimes, Doc: "a writer finds that the store has half of its image, and gives it up"},
	{Name: "AttemptLost", Kind: checker.Sometimes, Doc: "a writer ends before its commit"},
	{Name: "LateCommit", Kind: checker.Sometimes, Doc: "a commit lands behind one with a greater offset"},
	{Name: "LateCommitAfterTrim", Kind: checker.Sometimes, Doc: "a commit lands for an offset that is trimmed already"},
	{Name: "LateCommitPassedOver", Kind: checker.Sometimes, Doc: "an instance restores another image than that of the last commit"},
	{Name: "CommittedTwice", Kind: checker.Sometimes, Doc: "a commit whose acknowledgement was lost is sent again"},
	{Name: "RetryKnown", Kind: checker.Sometimes, Doc: "the journal knows a record that is sent again"},
	{Name: "Trimmed", Kind: checker.Sometimes, Doc: "the journal is trimmed"},
	{Name: "TrimmedAgain", Kind: checker.Sometimes, Doc: "the journal is trimmed further"},
	{Name: "GarbageCollected", Kind: checker.Sometimes, Doc: "an image that was committed is deleted, as there are better ones"},
	{Name: "OrphanCollected", Kind: checker.Sometimes, Doc: "an object that no commit names is deleted"},
	{Name: "FetchedNothing", Kind: checker.Sometimes, Doc: "what an instance has chosen is gone when it fetches it"},
	{Name: "FellOutOfRange", Kind: checker.Sometimes, Doc: "what an instance reads next was trimmed, and it ends"},
	{Name: "TailLostImageRejected", Kind: checker.Sometimes, Doc: "an image is passed over that is ahead of a rewound journal"},
	{Name: "GrownPastImageRejected", Kind: checker.Sometimes, Doc: "an image is passed over of a tail that is gone, though the journal is longer again"},
	{Name: "OtherJournalRejected", Kind: checker.Sometimes, Doc: "an image is passed over of another journal of the same name"},
	{Name: "StartedOnLocal", Kind: checker.Sometimes, Doc: "an instance starts on what is on its disk"},
	{Name: "LocalRejected", Kind: checker.Sometimes, Doc: "an instance passes over what is on its disk"},
	{Name: "MigratedImage", Kind: checker.Sometimes, Doc: "an image of an older schema is migrated"},
	{Name: "NewerImageRejected", Kind: checker.Sometimes, Doc: "an image of a newer schema is passed over"},
	{Name: "StoppedAtUnknown", Kind: checker.Sometimes, Doc: "an instance ends at a record that it cannot decode"},
	{Name: "RejectedInImage", Kind: checker.Sometimes, Doc: "an image is restored whose last operation was rejected"},
	{Name: "RestoredWhileUploading", Kind: checker.Sometimes, Doc: "an instance restores while another one uploads"},
	{Name: "CapturedBehind", Kind: checker.Sometimes, Doc: "records are applied while an image is copied"},
	{Name: "ClockAheadOlder", Kind: checker.Sometimes, Doc: "the commit with the newest time is not that with the greatest offset"},
	{Name: "RestoredWhileWritten", Kind: checker.Sometimes, Doc: "an instance becomes ready though the journal has grown since it started"},
	{Name: "AnsweredWaiter", Kind: checker.Sometimes, Doc: "a client is answered"},
	{Name: "LostLockCommitted", Kind: checker.Sometimes, Doc: "A: a holder commits that has lost the lock and has not read so"},
	{Name: "LostLockAborted", Kind: checker.Sometimes, Doc: "A: a holder reads that it has lost the lock, and aborts"},
	{Name: "LockTakenOver", Kind: checker.Sometimes, Doc: "A: a lock is taken over"},
	{Name: "RequestWithdrawn", Kind: checker.Sometimes, Doc: "A: of two that request the lock one withdraws"},
	{Name: "ForeignChunkPassedOver", Kind: checker.Sometimes, Doc: "A: chunks of another attempt lie within the range of an image that is restored"},
	{Name: "OldLockRead", Kind: checker.Sometimes, Doc: "A: an instance starts and reads a lock whose holder is gone"},
	{Name: "WaitedForNobody", Kind: checker.Sometimes, Doc: "A: an instance waits for a lease that nobody holds any more (A-8)"},
	{Name: "MadeAfterDamage", Kind: checker.Sometimes, Doc: "an image is committed in the place of one that cannot be used any more"},
	{Name: "AttemptFailed", Kind: checker.Sometimes, Doc: "an attempt fails for a reason of its own, and its instance commits another one"},
}

// Check implements concern.Spec.
func (m *machine) Check(s *State) (bad checker.Props) {
	dumpers := 0
	for i := range m.model.Instances {
		n := &s.I[i]
		if n.up() && n.Step >= Locked && n.Paused == 0 {
			dumpers++
		}
		if n.Frozen == 1 && m.model.JudgesService && !m.somebodyServes(s) {
			bad |= SomebodyServes
		}
		if n.up() && n.Cut == 0 && n.Wait != 0 && n.Wait <= n.Pos {
			bad |= WaiterAnswered
		}
		if n.Phase == Ready && n.Cut == 0 && n.Applied == 0 {
			bad |= m.checkReady(s, n)
		}
	}
	if m.model.BoundedClocks && !m.model.LockOnly && dumpers > 1 { // pauses are free there
		bad |= OneDumper
	}
	if s.LogStart > 0 && s.Hurt <= 1 && !s.recoverable() {
		bad |= Recoverable
	}
	return bad
}

func (m *machine) checkReady(s *State, n *Instance) (bad checker.Props) {
	if !s.lineage(n.DB.Journal, n.DB.Off, n.DB.Epoch) {
		return RightJournal
	}
	if !sameContent(n.DB, s.replay(n.Pos)) {
		bad |= ServingIsReplay
	}
	if all := uint8(1)<<n.Pos - 1; n.DB.Has&all != all {
		bad |= NoHole
	}
	for x, row := range n.DB.Rows {
		for _, other := range n.DB.Rows[x+1:] {
			if row != 0 && row == other {
				bad |= OnceOnly
			}
		}
	}
	if n.DB.Schema > n.Version {
		bad |= VersionSafe
	}
	if n.Acked&^n.DB.Has != 0 {
		bad |= ReadYourWrites
	}
	return bad
}

// recoverable says whether some image can be restored, and all behind it is there.
func (s *State) recoverable() bool {
	for _, c := range s.Commits[:s.NCommits] {
		if c.Att != 0 && s.usable(c) {
			return true
		}
	}
	return s.LogStart == 0
}

func (m *machine) somebodyServes(s *State) bool {
	for i := range m.model.Instances {
		if n := &s.I[i]; n.Phase == Ready && n.Frozen == 0 {
			return true
		}
	}
	return false
}

// suits says whether an image can be used by a version of the program.
func (s *State) suits(version uint8) bool {
	for _, c := range s.Commits[:s.NCommits] {
		if c.Att != 0 && s.usable(c) && s.Atts[c.Att-1].Img.Schema <= version {
			return true
		}
	}
	return false
}

// everythingCommitted says whether an image that can be had has all that an instance has.
func (s *State) everythingCommitted(n *Instance) bool {
	for _, c := range s.Commits[:s.NCommits] {
		if c.Att != 0 && s.usable(c) && s.Atts[c.Att-1].Off >= n.DB.Off {
			return true
		}
	}
	return false
}
