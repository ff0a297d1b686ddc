package node

import (
	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/snapshot"
)

// Machine is what the quorum replicates: it applies what is committed, in order, on
// every node alike. Its methods are called one at a time, by a goroutine of the node's
// that does nothing else, so a machine that is slow delays clients of this node and
// nobody's elections. An error of any, or a panic, stops the node (see [Node.Err]):
// a replica that could not apply a record is no replica any more.
type Machine interface {
	// Apply applies a batch. Each batch follows the one before, but for the protocol's
	// own records, which are left out.
	Apply(b Batch) error
	// Snapshot makes a cut of the state as it is now, for a snapshot of everything
	// applied so far. write is called at most once, in another goroutine, while Apply
	// goes on: it writes the state as it was when Snapshot was called. [ErrNoSnapshot]
	// says that no snapshot may begin here; the node asks again after later batches.
	Snapshot() (write func(SnapshotWriter) error, err error)
	// Load puts the state of a snapshot in the place of all that there is: at the start,
	// and when this node was so far behind that it was sent a snapshot.
	Load(r SnapshotReader) error
	// LeaderChange tells of another leader or epoch, where the ones in between may be
	// left out. That this node leads is told when everything of earlier epochs has been
	// applied.
	LeaderChange(l Leadership)
}

// Bootstrapper is a [Machine] that takes what format has left for the first leader.
type Bootstrapper interface {
	// LoadBootstrap gives the records of the zero checkpoint, which are not committed
	// and may never be (KIP-1170; Kafka's RaftClient.Listener.handleLoadBootstrap). It is
	// called at most once, before all other methods, and only if no snapshot has
	// replaced the zero checkpoint.
	LoadBootstrap(r SnapshotReader) error
}

// Batch is a batch of committed records. Nothing of it may be kept or changed.
type Batch struct {
	// Base is the offset of the first record, End the one after the last.
	Base, End int64
	// Epoch of the leader that appended it.
	Epoch int32
	// Timestamp of the append by the leader's clock, in milliseconds since 1970.
	Timestamp int64
	Records   []Record
}

// Record is a committed record.
type Record struct {
	Offset int64
	Value  []byte
}

// SnapshotWriter takes the records of a snapshot, each of at least one byte and at most
// 16 MiB; they are copied.
type SnapshotWriter interface {
	Append(records [][]byte) error
}

// SnapshotReader has the records of a snapshot.
type SnapshotReader interface {
	// ID says of what it is the snapshot.
	ID() snapshot.ID
	// Records calls yield with each record in the order in which they were written,
	// until it returns an error, which Records returns. The value is good during the
	// call. That something is damaged may show late: nothing counts before Records has
	// returned nil.
	Records(yield func(value []byte) error) error
}

// Leadership is who leads.
type Leadership struct {
	Epoch int32
	// Leader is NoReplica if none is known, or if this node led and has resigned.
	Leader core.ReplicaID
	// Self: it is this node.
	Self bool
}
