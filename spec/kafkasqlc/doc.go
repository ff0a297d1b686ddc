// Package kafkasqlc specifies variant C of the checkpoints of package kafkasql, the one that was
// shipped: a snapshot is asked for by a marker in the journal, the instance that asked dumps its
// database to a file of its own when it comes to the marker, and who starts restores the newest
// file that it has, and reads the journal from its beginning, throwing away all up to that
// marker. It is ready when a marker that it has appended itself comes round.
//
// What C has in common with the others is there: its choice by time, its single test of
// validity and its hidden state are mutations of B and T. Here are its markers, and what waits
// for them. Its gaps are mutations, and all of them together the model kafkasqlc-as-shipped;
// without them it holds, as long as nobody deletes from the journal.
//
// Read [State] first, then instance.go. The actions are those of kafkasql where there is one
// that does the same, and otherwise the words of the reference:
//
//   - clients: Append
//   - an instance that starts: Start, ScanSnapshots, Bootstrap, Skip, Apply, BecomeReady
//   - one that makes a snapshot: Trigger, Dump, AppendSnapshotRecord, WaiterTimeout
//   - the environment: Crash, LoseDisk, RetentionByTime
package kafkasqlc
