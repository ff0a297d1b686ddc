// Package journal is what a registry needs of a log: one totally ordered sequence of
// records, whose start may be moved, and beside it a short list of checkpoints. A log of
// Kafka's is one ([OpenKafka]), our own embedded in the process is another ([OpenKRaft]),
// and one in memory serves tests and benchmarks ([NewMemory]).
package journal

import (
	"context"
	"errors"
	"fmt"
)

// Record of a journal.
type Record struct {
	Offset int64
	// Epoch of the leader that appended it. Of two logs of the same identity that have
	// different records at an offset, the epochs there differ.
	Epoch int32
	Value []byte
}

// Bounds of a journal.
type Bounds struct {
	// Start is the first offset that can still be read, End the one after the last
	// record that is committed.
	Start, End int64
}

// Journal is a log of one partition. Offsets of records rise, and may have gaps. Its
// methods may be called at the same time, but for Read, which is one reader's.
type Journal interface {
	// ID is the identity of the journal: another log of the same name has another.
	ID(ctx context.Context) (string, error)
	// Bounds are those of now: all that was acknowledged before the call is before End.
	Bounds(ctx context.Context) (Bounds, error)
	// EpochAt is the epoch of the record at an offset or, where that is the one before
	// the first, of what was there. ErrNoEpoch: it is not known, or there is none.
	EpochAt(ctx context.Context, offset int64) (int32, error)
	// Append appends a record and returns its offset when it is committed. Errors:
	// ErrUnknown, *NotLeaderError.
	Append(ctx context.Context, value []byte) (offset int64, err error)
	// Read waits for records from an offset on, and returns some of them, in order; next
	// is where to read on. There may be none, if next is larger than from: what was there
	// is not ours. Errors: *HoleError.
	Read(ctx context.Context, from int64) (records []Record, next int64, err error)
	// TrimTo has the journal start at an offset, or not long before, and returns where it
	// starts.
	TrimTo(ctx context.Context, offset int64) (start int64, err error)
	// Checkpoints are all records of the list, oldest first, up to its end of now.
	Checkpoints(ctx context.Context) ([][]byte, error)
	// AddCheckpoint appends a record to the list. Errors as Append's.
	AddCheckpoint(ctx context.Context, value []byte) error
	// Close ends all calls.
	Close() error
}

var (
	// ErrUnknown: what was to be appended may be in the log, now or later, or never.
	ErrUnknown = errors.New("outcome is unknown")
	// ErrNoEpoch: no epoch is known of an offset.
	ErrNoEpoch = errors.New("no epoch is known of this offset")
	// ErrClosed: the journal was closed.
	ErrClosed = errors.New("journal is closed")
)

// HoleError: records are asked for that the journal does not have.
type HoleError struct {
	// Offset that was asked for; Bounds of the journal.
	Offset int64
	Bounds Bounds
}

// Error implements error.
func (e *HoleError) Error() string {
	return fmt.Sprintf("offset %d is not in the journal, which is from %d to %d", e.Offset, e.Bounds.Start, e.Bounds.End)
}

// NotLeaderError: only the leader appends. Nothing has happened.
type NotLeaderError struct {
	// Leader is who leads, less than 0 if that is not known.
	Leader int32
}

// Error implements error.
func (e *NotLeaderError) Error() string {
	if e.Leader < 0 {
		return "no leader is known"
	}
	return fmt.Sprintf("node %d leads", e.Leader)
}
