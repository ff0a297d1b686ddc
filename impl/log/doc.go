// Package log is Kafka's log: record batches of format 2 in segment files, as
// Apache Kafka writes and reads them.
//
// Read [Log], [Config] and [Batch] first. A log is a directory:
//
//	00000000000000000000.log   batches; the name is the first offset
//	00000000000000012345.log   the last segment is the one that grows
//	leader-epoch-checkpoint    first offset of each epoch (derived, rewritten)
//	partition.metadata         topic id
//	recovery-point             ours: an offset below which all is flushed
//
// The life of a batch:
//
//	Append ──► file (EndOffset) ──Flush──► disk (FlushedEnd)
//	   ▲                 │
//	   │              TruncateTo ──Flush──► Append is allowed again
//	  Open: scan, cut a torn tail, refuse corruption
//
// Nothing is retried: after a write or flush that failed, and after a bad
// checksum, every call returns that error.
//
// A torn tail and corruption look alike, and cutting a log where it is corrupt
// loses acknowledged records (Alagappan et al., "Protocol-Aware Recovery for
// Consensus-Based Storage", FAST 2018). See [Open] for how they are told apart.
//
// Indexes (.index, .timeindex) are not written: Kafka rebuilds them when they
// are absent. An index in memory, 16 bytes for each batch, serves reads.
// Compression, transactions and snapshots (a log that does not start at 0) are
// not supported. Kafka ignores recovery-point; where Kafka has used a log since,
// remove the file before opening it here: Kafka truncates below it, and writes
// leader-epoch-checkpoint before the batches that it speaks of. The package does
// not lock the directory against another process.
package log
