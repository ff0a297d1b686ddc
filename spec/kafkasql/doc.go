// Package kafkasql specifies checkpoints of a SQL store that is fed by a journal: one
// totally ordered log, to which every write is appended, and instances that each apply it
// to a private database. A checkpoint is an image of a database and the offset up to which
// it has applied the journal; with it an instance starts by restoring the image and
// replaying the tail, and what it covers may be trimmed.
//
// Three protocols over one state: A, two topics and a lock; B, one topic, a shared
// object store and no lock; T, the recommended one, in which locks save work and safety
// never depends on them. What they decide differently is in rules.go, what they do alike
// has one name. docs/kafkasql.md has the properties, mutations and gaps. C, which
// was shipped, is package kafkasqlc.
//
// Read [State] first, then instance.go and checkpoint.go; lock.go is A's coordination
// topic, environment.go what is done to everybody.
//
// The actions, by who takes them:
//
//   - clients: Append, RetryAppend; Apply answers them
//   - an instance that starts: Start, Choose, FetchImage, RejectImage, Install, ReplayAll,
//     GiveUp, Apply, BecomeReady, OutOfRange, NoticeRewind
//   - one that makes a checkpoint: BeginCapture, FinishCapture, UploadChunk,
//     VerifyUpload, AbandonAttempt, AppendCommit
//   - and in A: SendRequest, ConfirmRequest, SendLock, ObserveCoord, LeaseExpires,
//     NoteOffsets, WriteDataChunk, SendCommit
//   - whoever tidies up: TrimJournal, CollectGarbage
//   - the environment: Crash, Pause, Resume, DamageObject, LoseDisk, RewindJournal,
//     RecreateJournal, RetentionByTime, ClockJump, ChangeVersion
//
// Restart is Start, and a kill is Crash. An offset is that of the next record, as Kafka
// counts: an image of offset 3 has applied the records 0, 1 and 2.
package kafkasql
