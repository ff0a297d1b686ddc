// Package log is Kafka's log: record batches of format 2 in segment files, as
// Apache Kafka writes and reads them.
//
// Read [Log], [Config] and [Batch] first. A log is a directory:
//
//	00000000000000000000.log   batches; the name is the first offset
//	00000000000000012345.log   the last segment is the one that grows
//	00000000000000000000.index, .timeindex   where some of its batches are
//	leader-epoch-checkpoint    first offset of each epoch (derived, rewritten)
//	partition.metadata         topic id
//	recovery-point             ours: an offset below which all is flushed
//	log-start                  ours: where the log starts, if not at 0
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
// What is below the start of the log is in a snapshot, which the package knows nothing
// of:
//
//	AdvanceStart ──► log-start ──DeleteOld──► segments wholly below it are gone
//	ResetTo: log-start says reset ──► segments go ──► an empty log at the snapshot's end
//
// The index files are for Kafka: they are what it would make of the segment, written
// when a segment is left and when the log is closed, and compared with the batches,
// and made anew, when it is opened. They are never flushed. An index in memory, 16
// bytes for each batch, serves reads: a look-up takes a fraction of the time that one by
// the entries of .index and the segment does (BenchmarkLookup).
//
// Compression and transactions are not supported, and no segment is preallocated: a
// flush is not faster for it (BenchmarkPreallocate). Kafka ignores recovery-point and
// log-start; where Kafka has used a log since, remove both before opening it here:
// Kafka truncates below the one and deletes above the other, and writes
// leader-epoch-checkpoint before the batches that it speaks of. The package does not
// lock the directory against another process.
package log
