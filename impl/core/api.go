package core

import (
	"encoding/base64"
	"math"

	"github.com/quorate/quorate/traces/event"
)

// Ticks is a time on the caller's clock, in milliseconds. The clock never goes
// back; where it starts does not matter.
type Ticks int64

// Never is a time that does not come.
const Never Ticks = math.MaxInt64

// ReplicaID is the configured id of a replica (node.id).
type ReplicaID int32

// NoReplica stands for no leader, no vote, or a replica without an id.
const NoReplica ReplicaID = -1

// Epoch numbers election rounds. Epoch 0 has no leader and no records.
type Epoch int32

// MaxEpoch is the last epoch. The number above it is kept free, so that an epoch
// can be counted up and compared; no message and no disk may hold it.
const MaxEpoch Epoch = math.MaxInt32 - 1

// Offset is a position in the log. All ends are exclusive.
type Offset int64

// UnknownOffset is the high watermark of a replica that does not know it.
const UnknownOffset Offset = -1

// NoHighWatermark in a Fetch request says that the sender cannot state its high
// watermark (Fetch before version 18): a change of it alone wakes no such fetch.
const NoHighWatermark Offset = math.MaxInt64

// DirectoryID is the id of a log directory; zero: not known.
type DirectoryID [16]byte

// String is the id as Kafka prints it (unpadded base64url), empty if not known.
func (d DirectoryID) String() string {
	if d == (DirectoryID{}) {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(d[:])
}

// ReplicaKey is what is compared in votes and voter sets.
type ReplicaKey struct {
	ID        ReplicaID
	Directory DirectoryID
}

// NoKey is no replica.
var NoKey = ReplicaKey{ID: NoReplica}

// ConnID names a connection that the driver accepted. The core only hands it back.
type ConnID uint64

// ClientID names a client operation in progress. The core only hands it back.
type ClientID uint64

// FlushID numbers the Flush effects of a replica, from 1.
type FlushID uint64

// Role of a replica.
type Role uint8

// Roles.
const (
	Unattached Role = iota
	Prospective
	Candidate
	Leader
	Follower
	Resigned
)

var roleNames = [...]string{"Unattached", "Prospective", "Candidate", "Leader", "Follower", "Resigned"}

func (r Role) String() string { return roleNames[r] }

// ErrorCode is a Kafka protocol error code.
type ErrorCode int16

// Error codes that the core gives or understands.
const (
	None                    ErrorCode = 0
	NotLeaderOrFollower     ErrorCode = 6
	RequestTimedOut         ErrorCode = 7
	BrokerNotAvailable      ErrorCode = 8
	MessageTooLarge         ErrorCode = 10
	UnsupportedVersion      ErrorCode = 35
	InvalidRequest          ErrorCode = 42
	FencedLeaderEpoch       ErrorCode = 74
	UnknownLeaderEpoch      ErrorCode = 75
	ThrottlingQuotaExceeded ErrorCode = 89
	SnapshotNotFound        ErrorCode = 98
	PositionOutOfRange      ErrorCode = 99
	InvalidVoterKey         ErrorCode = 125
	DuplicateVoter          ErrorCode = 126
	VoterNotFound           ErrorCode = 127
)

// Config of a replica. Zero durations and limits get Kafka's defaults (see New).
type Config struct {
	ID        ReplicaID
	Directory DirectoryID
	// Voters is the static voter set, which counts as long as the log has none (see
	// [DiskState].VoterSets). Directory ids are optional; one that is given must match. A
	// replica that is not in the set in force is an observer.
	Voters []ReplicaKey
	// Info is that of this replica in a voter set (see [Voter]). A leader writes it into
	// the set, where that has another one. Empty: it does not.
	Info string
	// Bootstrap are the replicas that one without a leader may ask; more may come
	// (InputBootstrap). Empty: the voters. Replicas that are not voters may stand here too.
	Bootstrap []ReplicaID

	// PreVote: Kafka 4 (KIP-996). Without it the behaviour before 4.0.
	PreVote bool
	// GrantPreVoteAfterEnd: an EndQuorumEpoch makes a follower forget that it has
	// fetched from the leader, so that it grants pre-votes at once (KAFKA-20895,
	// not in a release of Kafka).
	GrantPreVoteAfterEnd bool

	ElectionTimeout    Ticks // T; each timer is uniform in [T, 2T). 1000
	FetchTimeout       Ticks // 2000; check-quorum is 1.5 times, the heartbeat half of it
	ElectionBackoffMax Ticks // 1000
	RequestTimeout     Ticks // 2000
	RetryBackoff       Ticks // 20
	MaxFetchWait       Ticks // 500
	// AppendLinger is how long a leader waits for more records before it writes:
	// 25 in Kafka; zero means zero here: each append is written at once.
	AppendLinger Ticks

	MaxBatchRecords   int   // records of one AppendData; a larger append is refused. 10000
	MaxBatchBytes     int   // bytes of the records of one AppendData. 8 MiB
	MaxPendingAppends int   // appends not completed; more are refused. 10000
	MaxFetchBytes     int32 // limit of the Fetch requests sent. 8 MiB
	MaxSnapshotBytes  int32 // limit of a chunk of a snapshot, asked for and given. 8 MiB

	// Seed of the random timeouts. Replicas and incarnations should differ.
	Seed uint64
	// Trace: give Event effects.
	Trace bool
	// Attach, with Trace: the first event tells all of the replica, as recording begins in
	// its life, with this start.
	Attach bool
}

// Election is the content of the quorum-state file.
type Election struct {
	Epoch  Epoch
	Leader ReplicaID  // NoReplica: none
	Voted  ReplicaKey // NoKey: none
}

// EpochStart is an entry of the leader epoch cache: the offset of the first record
// of an epoch.
type EpochStart struct {
	Epoch Epoch
	Start Offset
}

// EpochEnd is an epoch and the offset where it ends. Epoch -1: none.
type EpochEnd struct {
	Epoch Epoch
	End   Offset
}

// NoEpochEnd is no divergence.
var NoEpochEnd = EpochEnd{Epoch: -1, End: UnknownOffset}

// DiskState is what the driver found at the start. All of it is durable: what
// recovery kept has been flushed.
type DiskState struct {
	// Election is the quorum-state file; HasElection false: there was none.
	Election    Election
	HasElection bool
	// LogStart is 0, or where the first of Snapshots ends.
	LogStart Offset
	LogEnd   Offset
	// Epochs has one entry for each epoch that has a record at or above LogStart,
	// ascending in both: the first starts at LogStart.
	Epochs []EpochStart
	// Snapshots are the complete ones, ascending. Each ends in the log or at its start.
	Snapshots []Snapshot
	// VoterSets are the voter sets of the log by offset, ascending: that of the zero
	// checkpoint, or of the snapshot at the log start, and those of KRaftVoters records
	// behind it. None: kraft.version is 0.
	VoterSets []VoterSet
}

// SnapshotID names a snapshot: of everything below End, where Epoch is the epoch of
// the last record of that (KIP-630). The zero value is none: the snapshot that ends
// at 0, Kafka's bootstrap snapshot, is never served.
type SnapshotID struct {
	End   Offset
	Epoch Epoch
}

// NoSnapshot is no snapshot.
var NoSnapshot SnapshotID

// Snapshot is one that is held.
type Snapshot struct {
	ID   SnapshotID
	Size int64 // of the file, in bytes
}

// MessageKind is a request type of the protocol.
type MessageKind uint8

// Message kinds.
const (
	Vote MessageKind = iota + 1
	BeginQuorumEpoch
	EndQuorumEpoch
	Fetch
	FetchSnapshot
)

var kindNames = [...]string{"", event.Vote, event.BeginQuorumEpoch, event.EndQuorumEpoch, event.Fetch,
	event.FetchSnapshot}

func (k MessageKind) String() string { return kindNames[k] }

// BatchInfo describes one record batch of a Fetch response.
type BatchInfo struct {
	Base  Offset // offset of the first record
	End   Offset // offset after the last record
	Epoch Epoch
	// Control: a batch of control records.
	Control bool
	// Count of records; End-Base here, as nothing is ever compacted.
	Count int64
	// Size in bytes, so that the core can hand on a prefix of whole batches.
	Size int
	// Controls are the records of a control batch, nil if all are LeaderChange.
	Controls []ControlRecord
}

// Message is a request or a response, as far as the protocol looks at it. A field
// has one meaning; the comment says which messages carry it. Others are zero.
//
// The core keeps no pointer into a message that it was given after Step returns,
// and the driver keeps none into one of an Op after it has carried out the Op.
type Message struct {
	Kind     MessageKind
	Response bool

	// From is the sender of a request: candidate, leader or fetching replica.
	From ReplicaKey
	// To is the voter that a Vote or BeginQuorumEpoch request is meant for (VoterId,
	// VoterDirectoryId). ID NoReplica: not stated.
	To ReplicaKey
	// Epoch is the epoch that the sender states (in Fetch and FetchSnapshot
	// CurrentLeaderEpoch).
	Epoch Epoch

	// Error of a response. A top-level error is not a response here but an
	// InputRequestFailed.
	Error ErrorCode
	// Leader that a response names, NoReplica if none.
	Leader ReplicaID

	// PreVote: Vote request, and its response, where it is not on the wire: who sent
	// the request fills it in.
	PreVote bool
	// Granted: Vote response.
	Granted bool

	// Offset is the log end offset in a Vote request, the fetch offset in a Fetch
	// request, and where the records begin in a Fetch response that has any.
	Offset Offset
	// LastEpoch is the epoch of the record before Offset (Vote, Fetch requests).
	LastEpoch Epoch

	// HighWatermark: Fetch requests (what the follower knows, NoHighWatermark before
	// version 18) and Fetch responses; UnknownOffset if not known.
	HighWatermark Offset
	// MaxWait: Fetch requests. MaxBytes: those, and FetchSnapshot requests.
	MaxWait  Ticks
	MaxBytes int32
	// Diverging: Fetch response; Epoch -1 if none (see NoEpochEnd).
	Diverging EpochEnd
	// Batches and Records: Fetch response; summaries of the whole batches in Records.
	Batches []BatchInfo
	Records []byte

	// SnapshotID: FetchSnapshot, and a Fetch response that sends the follower to a
	// snapshot; NoSnapshot if it does not.
	SnapshotID SnapshotID
	// Position of the first byte: FetchSnapshot. Size of all bytes and the Chunk that
	// begins at Position: its response.
	Position int64
	Size     int64
	Chunk    []byte

	// Preferred successors: EndQuorumEpoch request.
	Preferred []ReplicaKey

	// Read is the read round that a BeginQuorumEpoch request is to confirm, 0 if
	// none, and that its response so confirms. It is not on the wire: who sent the
	// request fills it in. It is here for the trace.
	Read int64
}

// InputKind says what an Input is.
type InputKind uint8

// Input kinds, with the fields of Input that they use.
const (
	// InputTick: only time has passed. Every input looks at the timers too.
	InputTick InputKind = iota
	// InputRequest: Conn, Correlation, Message. At most one request of a connection
	// may be unanswered.
	InputRequest
	// InputResponse: Peer, Correlation, Message.
	InputResponse
	// InputRequestFailed: Peer, Correlation, Error (what went wrong, for the record
	// only). No connection, closed connection, or a top-level error.
	InputRequestFailed
	// InputDisconnected: Conn was closed; its parked fetch is forgotten.
	InputDisconnected
	// InputFlushed: Flush, End of an OpFlush that is done, or of the last of several:
	// everything the log held when that Op was given is durable, truncations too.
	InputFlushed
	// InputAppend: Client, Records. All records get into one batch. The core keeps
	// the slices until it gives the OpAppendData.
	InputAppend
	// InputRead: Client wants an offset that a linearizable read must have applied.
	InputRead
	// InputResign: a leader is to step down. Nothing for other roles.
	InputResign
	// InputSnapshotTaken: SnapshotID, Size. The state machine has written a snapshot and
	// it is durable. What may be taken, [Replica.MayTakeSnapshot] says before; one that
	// was overtaken since is given up (OpDeleteSnapshot).
	InputSnapshotTaken
	// InputSnapshotVerified: SnapshotID, Transfer of an OpVerifySnapshot that is done, and
	// Error: None if the snapshot is good. VoterSet is what its header has, nil if nothing.
	InputSnapshotVerified
	// InputAdvanceLogStart: SnapshotID is one that is held and committed: what is before
	// it is to go. Anything else changes nothing.
	InputAdvanceLogStart
	// InputAddVoter: Client wants Voter to become one; Early: an answer when the record is
	// written, not when it is committed (AckWhenCommitted of AddRaftVoter, KIP-1186).
	InputAddVoter
	// InputVoterChecked: Client of an OpCheckVoter that is done, and Error: None if the
	// replica was there and can do the kraft.version in force. Voter may have another Info.
	InputVoterChecked
	// InputRemoveVoter: Client wants the voter with the key of Voter to be none any more.
	InputRemoveVoter
	// InputUpdateVoter: Client tells of another Info of Voter, in Epoch, and with Error not
	// None if that one cannot do the kraft.version in force.
	InputUpdateVoter
	// InputBootstrap: Peer is one more replica that this one may ask who leads.
	InputBootstrap
)

// Input is one thing that happened to the replica.
type Input struct {
	Kind        InputKind
	Conn        ConnID
	Peer        ReplicaID
	Correlation int32
	Message     *Message
	Error       ErrorCode
	// Reason says why, in words: VoterChecked, UpdateVoter.
	Reason     string
	Flush      FlushID
	End        Offset
	Client     ClientID
	Records    [][]byte
	SnapshotID SnapshotID
	Size       int64
	Transfer   int64
	Voter      Voter
	VoterSet   []Voter
	Epoch      Epoch
	Early      bool
}

// OpKind says what an Op is.
type OpKind uint8

// Op kinds, with the fields of Op that they use.
const (
	// OpPersist: write Election to the quorum-state file, durably, before the next Op, and if
	// Dynamic as kraft.version 1 has it.
	OpPersist OpKind = iota + 1
	// OpAppendLeaderChange: append a control batch of one LeaderChange record at Base
	// with Epoch, Voters, Granting, and, if there is a VoterSet, one KRaftVersion and one
	// KRaftVoters record. (In all appends End is the log end after it.)
	OpAppendLeaderChange
	// OpAppendVoters: append a control batch of one KRaftVoters record at Base with Epoch
	// and VoterSet.
	OpAppendVoters
	// OpAppendData: append one batch with Records at Base with Epoch.
	OpAppendData
	// OpAppendRaw: append the batches in Raw (a prefix of Message.Records of the
	// input, still the driver's memory) at Base; Batches describes them.
	OpAppendRaw
	// OpTruncate: cut the log to End. Nothing is appended before it is flushed.
	OpTruncate
	// OpFlush: make all earlier appends and truncations durable, in the background;
	// then give InputFlushed with the same Flush and End.
	OpFlush
	// OpEvent: record Event. It stands after the durable Ops of its action and before
	// its send and completions. The send of an event, if it has one (Event.Send), is the next Op.
	OpEvent
	// OpSendRequest: send Message to Peer with Correlation. A request to Peer that is
	// still unanswered has been given up: the driver should drop that connection
	// rather than queue behind it.
	OpSendRequest
	// OpSendResponse: answer the request Correlation of Conn with Message. If ReadTo >
	// Message.Offset, fill in Records and Batches of the message: whole batches from
	// Message.Offset, at least one, not past ReadTo, and about MaxBytes of them. In a
	// FetchSnapshot response with MaxBytes > 0 fill in Chunk: exactly MaxBytes bytes of
	// the snapshot from Position.
	OpSendResponse
	// OpComplete: the operation of Client ended with Result.
	OpComplete
	// OpReceiveSnapshot: write Raw (still the driver's memory) at Position of the part of
	// SnapshotID that was received so far from the leader of Epoch. Position 0 begins it
	// anew.
	OpReceiveSnapshot
	// OpVerifySnapshot: check all of the Size bytes received of SnapshotID, and make them
	// durable, in the background; then give InputSnapshotVerified with the same Transfer.
	OpVerifySnapshot
	// OpInstallSnapshot: the verified SnapshotID becomes one that is held, durably; after
	// that the log becomes empty and begins and ends at the end of it, durably, before
	// the next Op. Then older snapshots are deleted.
	OpInstallSnapshot
	// OpAbandonSnapshot: delete what was received of SnapshotID.
	OpAbandonSnapshot
	// OpAdvanceLogStart: the log is to begin at the end of SnapshotID, durably before the
	// next Op; then older snapshots, and some day what is below, are deleted.
	OpAdvanceLogStart
	// OpDeleteSnapshot: delete SnapshotID, which was taken too late to be held.
	OpDeleteSnapshot
	// OpCheckVoter: ask Voter, which is to become one, what it can do, in the background;
	// then give InputVoterChecked with the same Client.
	OpCheckVoter
)

// Op is one effect. Its slices belong to the Effects or to the Input and are valid
// until the next Step that uses those Effects.
type Op struct {
	Kind        OpKind
	Election    Election
	Base        Offset
	Epoch       Epoch
	Voters      []ReplicaID
	Granting    []ReplicaID
	Records     [][]byte
	Raw         []byte
	Batches     []BatchInfo
	End         Offset
	Flush       FlushID
	Peer        ReplicaID
	Conn        ConnID
	Correlation int32
	Message     Message
	ReadTo      Offset
	MaxBytes    int32
	Client      ClientID
	Result      Result
	Event       *event.Event
	SnapshotID  SnapshotID
	Position    int64
	Size        int64
	Transfer    int64
	Voter       Voter
	VoterSet    []Voter
	Dynamic     bool
}

// Result of a client operation.
type Result struct {
	// Error is None or a Kafka error code.
	Error ErrorCode
	// Reason says in words why a change of the voter set was refused, or did not end well.
	Reason string
	// Unknown: the operation failed here but may yet take effect, or already has
	// (records were appended and the leadership lost). False with an error: it has
	// not and never will.
	Unknown bool
	// Offset of the first record of an append, or the offset up to which a read must
	// see everything.
	Offset Offset
}

// Effects are what the driver must do after a Step. They belong to the caller, who
// uses them again and again; New and Step reset them first.
type Effects struct {
	// Ops, to be carried out in this order.
	Ops []Op
	// Wake is when the replica next wants an input, InputTick if there is no other.
	Wake Ticks
	// Reuse: an Event, with all that it points to, is good until the next Step only, as
	// the next events take its place; otherwise for ever.
	Reuse bool

	events []*made
	used   int // of events, in this step
}

// State is what can be observed of a replica.
type State struct {
	Role          Role
	Epoch         Epoch
	Leader        ReplicaID
	Voted         ReplicaKey
	HighWatermark Offset
	LogStart      Offset
	LogEnd        Offset
	LastEpoch     Epoch
	// Flushed is the offset below which the log is known to be durable.
	Flushed Offset
	// EpochStart is where the epoch of a leader starts, UnknownOffset in other roles.
	EpochStart Offset
	// Snapshot is the latest one held, NoSnapshot if there is none.
	Snapshot SnapshotID
	// Fetching is the snapshot that is being fetched, and Position up to which byte.
	Fetching SnapshotID
	Position int64
}
