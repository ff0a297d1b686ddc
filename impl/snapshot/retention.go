package snapshot

import "github.com/quorate/quorate/impl/log"

// Retention says how much is kept (KafkaMetadataLog.maybeClean). At least one snapshot
// always is.
type Retention struct {
	// MaxBytes of log and snapshots: older ones are dropped while there are more
	// (metadata.max.retention.bytes). Less than 0: no limit.
	MaxBytes int64
	// MaxMs: a snapshot whose last record is older, in milliseconds, is dropped
	// (metadata.max.retention.ms). Less than 0: no limit.
	MaxMs int64
}

// Stored is a snapshot as Retention sees it.
type Stored struct {
	ID ID
	// Size in bytes.
	Size int64
	// LastTimestamp is that of the last record that it covers, in milliseconds since
	// 1970.
	LastTimestamp int64
}

// Keep says which snapshot is to be the oldest; false if nothing is to be dropped. The
// log is then to start at its end, and everything before can be deleted. The snapshots
// are given oldest first, the segments of the log too; now is in milliseconds since
// 1970.
func (r Retention) Keep(stored []Stored, segments []log.SegmentInfo, now int64) (ID, bool) {
	total := int64(0)
	for _, s := range stored {
		total += s.Size
	}
	for _, s := range segments {
		total += s.Size
	}
	first := 0
	for len(stored)-first >= 2 {
		oldest := stored[first]
		tooMany := r.MaxBytes >= 0 && total > r.MaxBytes
		tooOld := r.MaxMs >= 0 && now-oldest.LastTimestamp > r.MaxMs
		if !tooMany && !tooOld {
			break
		}
		first++
		total -= oldest.Size
		for len(segments) >= 2 && segments[1].Base <= stored[first].ID.End {
			total -= segments[0].Size
			segments = segments[1:]
		}
	}
	if first == 0 {
		return ID{}, false
	}
	return stored[first].ID, true
}

// Policy says when a snapshot is due (SnapshotGenerator).
type Policy struct {
	// MaxBytes of records after the last one
	// (metadata.log.max.record.bytes.between.snapshots). 0: whatever the size.
	MaxBytes int64
	// MaxIntervalMs after the last one, in milliseconds, if there are new records
	// (metadata.log.max.snapshot.interval.ms). 0: whatever the time.
	MaxIntervalMs int64
}

// Due says whether it is time for a snapshot, by the bytes of committed records since
// the last one and the milliseconds since then.
func (p Policy) Due(bytes, ms int64) bool {
	if bytes <= 0 {
		return false
	}
	return p.MaxBytes > 0 && bytes >= p.MaxBytes || p.MaxIntervalMs > 0 && ms >= p.MaxIntervalMs
}
