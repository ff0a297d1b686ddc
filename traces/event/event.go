// Package event is the schema of traces: what one replica did, one event for
// each action of the specification that it took.
//
// Read [Event] first. A trace is one file for each node, a line for each event
// (see Writer and Reader). Order between nodes comes from messages alone: one
// that was received was sent before. There are no clocks in a trace.
//
// The package is a leaf: the implementation records with it, the validator reads
// with it, and neither knows the other.
package event

// Version is the version of the schema that this package writes. A reader
// refuses any other.
const Version = 1

// Event is one action of one node. Fields are read back from what happened
// (bytes on the wire, files), not from intentions; an event is written to a file
// that survives the process before what it sends leaves the node.
type Event struct {
	Node Node
	// Inc numbers the incarnations of the node's process, from 1.
	Inc int32
	// Seq numbers the events of an incarnation, from 1, without gaps.
	Seq int64
	// Step is shared by events of one step of the code, which may take several
	// actions of the specification.
	Step int64
	// Action is the name of the action in the specification. Empty: not logged.
	Action string
	Args   Args
	// Recv is the message that the action handles, nil if it handles none.
	Recv *Message
	// Send are the messages that the action sends.
	Send []Message
	// State is what was observed after the action.
	State State
	// Log says how the log changed, nil if it did not.
	Log *LogChange
	// Durable says what this action made durable, nil if nothing.
	Durable *Durable
	// Attach is set in the first event of a file, and in no other, if recording began in
	// the life of the replica: in an event without an action, or in a Restart. Detach is
	// set in the last event of a file if the process went on without recording; such an
	// event has no action.
	Attach *Attach
	Detach *Detach
}

// Node is a replica key: the configured id and the id of the log directory
// (unpadded base64url; empty: not known).
type Node struct {
	ID  int32
	Dir string
}

// Args are the parameters of an action that are not in a message. Zero values
// are not written.
type Args struct {
	// Count of records that a client appends (Append).
	Count int64
	// Park: the request stays with the leader, to be answered later; only its
	// progress was noted (HandleFetchRequest).
	Park bool
	// Read numbers a linearizable read at this node (StartRead, ServeRead).
	Read int64
	// Snapshot that is taken, installed, or where the log is to start (TakeSnapshot,
	// InstallSnapshot, AdvanceLogStart).
	Snapshot SnapshotID
	// Voter that is added, removed or updated (AddVoter, RemoveVoter, UpdateVoter).
	Voter *Node
}

// SnapshotID names a snapshot: of everything below End, where Epoch is the epoch of
// the last record of that. The zero value is none.
type SnapshotID struct {
	End   int64
	Epoch int32
}

// Fetching is how far a snapshot was received: all bytes below Position.
type Fetching struct {
	Snapshot SnapshotID
	Position int64
}

// Conn names a connection for ever: who opened it, to whom, in which incarnation
// of the opener, and a counter.
type Conn struct {
	From, To int32
	Inc      int32
	N        int64
}

// Message kinds.
const (
	Vote             = "Vote"
	BeginQuorumEpoch = "BeginQuorumEpoch"
	EndQuorumEpoch   = "EndQuorumEpoch"
	Fetch            = "Fetch"
	FetchSnapshot    = "FetchSnapshot"
)

// Message is what was on the wire, as far as the specification models it. The
// identity of a message is (Conn, Response, Correlation).
type Message struct {
	Conn        Conn
	Correlation int32
	Response    bool
	Kind        string
	// External: from or to a client, not modelled as a replica.
	External bool

	// Epoch is the epoch that the sender states: the candidate's in Vote, the
	// leader's in BeginQuorumEpoch and EndQuorumEpoch, the fetcher's in Fetch and
	// FetchSnapshot, the answering replica's in every response.
	Epoch int32
	// Leader is the leader that a response names, -1 if none.
	Leader int32
	// Error is the Kafka error code of a response.
	Error int16
	// PreVote and Granted belong to Vote.
	PreVote, Granted bool
	// Offset is the log end offset of a Vote request, the fetch offset of a
	// Fetch request, and the offset of the first record of a Fetch response.
	Offset int64
	// LastEpoch is the epoch of the last record before Offset in a request.
	LastEpoch int32
	// HighWatermark is in Fetch responses, -1 if the leader does not know it.
	HighWatermark int64
	// Diverging is set in the Fetch response to a replica that has diverged.
	Diverging *EpochEnd
	// Records are the records of a Fetch response, as runs.
	Records []Run
	// Read is the number of the read that a BeginQuorumEpoch request is to
	// confirm, and that its response so confirms; 0 if none. It is not on the
	// wire: request and response are matched by correlation.
	Read int64
	// Snapshot is what FetchSnapshot is about, and where a Fetch response sends a
	// follower that the log cannot help; the zero value if it does not.
	Snapshot SnapshotID
	// Position is where the bytes of FetchSnapshot begin. Its response says how many
	// there are, and the Size of the whole snapshot.
	Position, Bytes, Size int64
}

// EpochEnd is an epoch and the offset where it ends (exclusive).
type EpochEnd struct {
	Epoch     int32
	EndOffset int64
}

// Kinds of records.
const (
	LeaderChange = "LeaderChange"
	Data         = "Data"
	KRaftVersion = "KRaftVersion"
	KRaftVoters  = "KRaftVoters"
)

// Run is a number of successive records of one epoch and kind.
type Run struct {
	Epoch int32
	Kind  string
	Count int64
	// Voters is the voter set that a KRaftVoters record holds, ascending by id. Each
	// such record is a run of its own; runs of other kinds have none.
	Voters []Node
}

// StateFields is a set of fields of [State].
type StateFields uint32

// Fields of State that may be observed.
const (
	HasRole StateFields = 1 << iota
	HasEpoch
	HasLeader
	HasVoted
	HasHighWatermark
	HasLogStart
	HasLogEnd
	HasLastEpoch
	HasFlushed
	HasDigest
	HasSnapshot
	HasFetching
	HasVoters
)

// State is what was observed of a replica after an action; Has says which
// fields.
type State struct {
	Has   StateFields
	Role  string // Unattached, Prospective, Candidate, Leader, Follower, Resigned
	Epoch int32
	// Leader and Voted are replica ids, -1 if none.
	Leader, Voted int32
	// HighWatermark is exclusive, -1 if unknown.
	HighWatermark int64
	LogStart      int64
	// LogEnd is the log end offset, exclusive.
	LogEnd    int64
	LastEpoch int32
	// Flushed is the offset below which the log is known to be durable.
	Flushed int64
	// Digest is the chained digest of the log up to LogEnd (see [LogChange]).
	Digest uint64
	// Snapshot is the latest one held. Not written by a replica that holds none.
	Snapshot SnapshotID
	// Fetching is the snapshot that is being received, the zero value if none is. Not
	// written by a process that has not received any.
	Fetching Fetching
	// Voters is the voter set in force, ascending by id. Written where kraft.version is
	// 1 or above, in a Restart and by an action that changed it.
	Voters []Node
}

// LogChange is a change of the log: first a truncation or a reset, then an append.
type LogChange struct {
	// Truncated is the offset that the log was cut to, -1 if it was not.
	Truncated int64
	// Reset is where the log, emptied, now starts and ends, as a snapshot took its
	// place; 0 if it was not.
	Reset int64
	// Base is the offset of the first record appended.
	Base int64
	// Appended are the records appended, as runs.
	Appended []Run
	// Digest is the chained digest of the log at its new end: of the digest at
	// the previous batch boundary and the bytes of the batch, from 0 at offset 0.
	// Two logs that agree at an offset have one digest there.
	Digest uint64
	// NoDigest: it is not known, as the log began with a snapshot of another replica.
	NoDigest bool
}

// Durable says what an action made durable.
type Durable struct {
	// Election: the quorum-state file, with the epoch, leader and vote of State.
	Election bool
	// LogEnd is the flushed end of the log, -1 if the log was not flushed.
	LogEnd int64
	// Snapshot that is now held, the zero value if there is no new one.
	Snapshot SnapshotID
}

// Attach begins a recording in the life of a replica: all that the specification knows of
// it and that [State] does not say. Every field of State is observed beside it, but for
// Digest, Snapshot and Fetching where there is nothing to tell.
type Attach struct {
	// Correlation id of the last request that was sent, 0 if none was: later ones are
	// recorded.
	Correlation int32
	// Log are the records from the log start to the log end. What of them is flushed is in
	// State; no truncation waits for its flush.
	Log []Run
	// Snapshots that are held, the one that ends first before the others.
	Snapshots []SnapshotID
	// Voters is the voter set that was in force where Log begins, ascending by id: that of
	// the snapshot which ends there, or of the zero checkpoint. None where kraft.version
	// is 0: then the set is static.
	Voters []Node
	// FetchingSize is how many bytes the snapshot that is being received has, 0 if that is
	// not known yet.
	FetchingSize int64
	// Granted: a nominee has the votes, or pre-votes, of these, its own among them.
	Granted []int32
	// Fetched: the leader has answered a fetch of this follower in this epoch.
	Fetched bool
	// Leading is what a leader knows, nil if it is none.
	Leading *Leading
}

// Leading is what a leader knows of its epoch.
type Leading struct {
	// EpochStart is where its epoch begins.
	EpochStart int64
	// LeaderChange: the first record of the epoch is in the log.
	LeaderChange bool
	// Ends are the log end offsets of other voters, as far as they have fetched.
	Ends []ReplicaEnd
	// Read is the number of the linearizable read in progress, 0 if there is none. It
	// began when ReadOffset was the high watermark, and Confirmed have confirmed it since,
	// the leader itself among them.
	Read, ReadOffset int64
	Confirmed        []int32
}

// ReplicaEnd is the log end offset of a replica.
type ReplicaEnd struct {
	ID     int32
	Offset int64
}

// Detach ends a recording, while the process goes on.
type Detach struct {
	// Correlation id of the last request that was sent: later ones are not recorded.
	Correlation int32
}
