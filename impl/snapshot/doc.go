// Package snapshot keeps the snapshots of a log (KIP-630) in the files that Apache
// Kafka keeps them in, beside the segments:
//
//	00000000000000001000-0000000003.checkpoint           everything below offset 1000
//	00000000000000001000-0000000003-local.checkpoint.part   being written here
//	00000000000000001000-0000000003-from-2.checkpoint.part  being received from replica 2
//	00000000000000001000-0000000003.checkpoint.deleted   being removed
//
// Read [ID], [Writer], [Reader] and [Partial] first. A snapshot is a sequence of
// record batches with offsets of its own, from 0, all of the epoch in its name:
//
//	control batch   SnapshotHeader (the timestamp of the last record that it covers)
//	data batches    the records that make the state
//	control batch   SnapshotFooter
//
// It is durable from when it has its name on:
//
//	Create ──Append…──► .part ──Freeze: verify what was received, flush──► rename ──► directory flush
//	Receive ──Append…──┘
//
// A snapshot is never changed. One that is damaged is a [*CorruptError], which names
// file, byte and reason.
//
// When to take one is decided by [Policy], which are dropped by [Retention]: functions
// of numbers, the caller has the clock. Who may take one, and of what, is not decided
// here: the end of a snapshot must be the end of a batch, and at or below the high
// watermark.
package snapshot
