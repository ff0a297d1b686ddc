package core

// logState is what the core knows of the log: ends and epochs, no bytes.
type logState struct {
	start, end Offset
	// flushed is the offset below which the log is known to be durable.
	flushed Offset
	epochs  []EpochStart
	// snapshots are those that are held, ascending. If start is not 0, the first ends
	// there.
	snapshots []Snapshot
	// lastFlush is the latest flush asked for. truncFlush is the one that makes the
	// latest truncation durable; truncating until it has.
	lastFlush, truncFlush FlushID
	truncating            bool
}

// lastEpoch is the epoch of the last record, which may be in a snapshot only; 0 if
// there is none (ReplicatedLog.lastFetchedEpoch).
func (l *logState) lastEpoch() Epoch {
	if len(l.epochs) == 0 {
		return l.startEpoch()
	}
	return l.epochs[len(l.epochs)-1].Epoch
}

// settled: everything that the log claims is durable, truncations too.
func (l *logState) settled() bool { return l.flushed == l.end && !l.truncating }

// endOffsetForEpoch is the largest epoch in the log that is at most e, and where it
// ends (LeaderEpochFileCache.endOffsetFor, ReplicatedLog.endOffsetForEpoch). Below
// the log that is the epoch of the snapshot which the log continues, and without one
// the epoch itself.
func (l *logState) endOffsetForEpoch(e Epoch) EpochEnd {
	i := len(l.epochs)
	for i > 0 && l.epochs[i-1].Epoch > e {
		i--
	}
	switch {
	case i == len(l.epochs): // the latest epoch, or one above all
		return EpochEnd{Epoch: l.lastEpoch(), End: l.end}
	case i == 0 && len(l.snapshots) > 0 && l.snapshots[0].ID.End == l.epochs[0].Start:
		return EpochEnd{Epoch: l.snapshots[0].ID.Epoch, End: l.epochs[0].Start}
	case i == 0: // below all
		return EpochEnd{Epoch: e, End: l.epochs[0].Start}
	}
	return EpochEnd{Epoch: l.epochs[i-1].Epoch, End: l.epochs[i].Start}
}

// diverges validates a fetch position against the log of the leader
// (ReplicatedLog.validateOffsetAndEpoch). What it says counts if the position is not
// below the log: see belowLog.
func (l *logState) diverges(offset Offset, epoch Epoch) (EpochEnd, bool) {
	if offset == 0 && l.start == 0 {
		return NoEpochEnd, false
	}
	if end := l.endOffsetForEpoch(epoch); end.Epoch != epoch || end.End < offset {
		return end, true
	}
	return NoEpochEnd, false
}

// truncationPoint is where a follower cuts its log when the leader says that it
// diverges (ReplicatedLog.truncateToEndOffset). More rounds may be needed.
func (l *logState) truncationPoint(d EpochEnd) Offset {
	if d.Epoch == 0 {
		return min(d.End, l.end)
	}
	local := l.endOffsetForEpoch(d.Epoch)
	if local.Epoch == d.Epoch {
		return min(local.End, d.End)
	}
	return local.End
}

// grow appends up to end under an epoch.
func (l *logState) grow(epoch Epoch, end Offset) {
	if len(l.epochs) == 0 || epoch > l.lastEpoch() {
		l.epochs = append(l.epochs, EpochStart{Epoch: epoch, Start: l.end})
	}
	l.end = end
}

// cut truncates. An epoch that is left without a record goes too.
func (l *logState) cut(to Offset) {
	l.end = to
	l.flushed = min(l.flushed, to)
	for n := len(l.epochs); n > 0 && l.epochs[n-1].Start >= to; n-- {
		l.epochs = l.epochs[:n-1]
	}
}

// upToDate: a log that ends so is at least as good as this one: by epoch of the
// last record, then by end offset.
func (l *logState) upToDate(offset Offset, lastEpoch Epoch) bool {
	own := l.lastEpoch()
	return lastEpoch > own || (lastEpoch == own && offset >= l.end)
}
