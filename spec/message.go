package spec

// Kind is the API of a message.
type Kind uint32

// APIs of KIP-595 and KIP-630.
const (
	Vote Kind = iota + 1
	BeginQuorumEpoch
	EndQuorumEpoch
	Fetch
	FetchSnapshot
	numKinds
)

var kindNames = [...]string{"", "Vote", "BeginQuorumEpoch", "EndQuorumEpoch", "Fetch", "FetchSnapshot"}

func (k Kind) String() string { return kindNames[k] }

// Error is the error code of a response.
type Error uint8

// Kafka's error codes, as far as replicas answer them to each other here.
const (
	NoErrorCode Error = iota
	NotLeaderOrFollower
	FencedLeaderEpoch
	UnknownLeaderEpoch
	SnapshotNotFound
	PositionOutOfRange
)

var errorNames = [...]string{"NONE", "NOT_LEADER_OR_FOLLOWER", "FENCED_LEADER_EPOCH", "UNKNOWN_LEADER_EPOCH", "SNAPSHOT_NOT_FOUND", "POSITION_OUT_OF_RANGE"}

func (e Error) String() string { return errorNames[e] }

// Msg is a message in flight. Fields that its kind does not use are zero.
type Msg struct {
	// Records of a Fetch response, the first at Offset.
	Records Log
	// Offset is the log end offset of the asker in a Vote request, and of the
	// fetcher in a Fetch request and its response: a response says what it
	// answers, as a correlation id would.
	Offset Offset
	// HighWatermark of the leader in a Fetch response, or Unknown.
	HighWatermark Offset
	// DivergingEnd is where DivergingEpoch ends in the log of the leader.
	DivergingEnd Offset
	// Snapshot is what a FetchSnapshot is about, and where a Fetch response sends a
	// follower that the log cannot help; none if it does not.
	Snapshot Snapshot
	// Position is where the part of a FetchSnapshot begins; its response says how much
	// there is, and the Size of the whole. Records go with the last part.
	Position, Bytes, Size int64
	// Epoch is the epoch that the sender states.
	Epoch Epoch
	// LastEpoch is the epoch of the record before Offset.
	LastEpoch      Epoch
	DivergingEpoch Epoch
	// Read is the round of the read that a BeginQuorumEpoch is to confirm.
	Read     uint32
	Kind     Kind
	Src, Dst ID
	// Leader is the leader that a response names.
	Leader   ID
	Error    Error
	Response bool
	PreVote  bool
	Granted  bool
	// Diverging: the Fetch response tells the follower to truncate.
	Diverging bool
	// Late: its connection has been closed, or it is a copy. It may still
	// arrive, and no longer keeps the sender from sending another.
	Late bool
	//lint:ignore U1000 what is interned has no padding
	spare [3]uint8
}

// Outbox is what an action sends.
type Outbox struct {
	n    int
	msgs [1]Msg
}

// Messages are what was sent.
func (o *Outbox) Messages() []Msg { return o.msgs[:o.n] }

// Reset empties the outbox.
func (o *Outbox) Reset() { o.n = 0 }

func (o *Outbox) send(m Msg) {
	o.msgs[o.n] = m
	o.n++
}

// request is a request from r.
func request(r *Replica, kind Kind, dst ID) Msg {
	return Msg{Kind: kind, Src: r.ID, Dst: dst, Epoch: r.Election.Epoch}
}

// respond is the answer of r to m, from the state that r is in by now.
func respond(r *Replica, m *Msg, e Error) Msg {
	return Msg{
		Kind: m.Kind, Response: true, Src: r.ID, Dst: m.Src, Late: m.Late,
		Epoch: r.Election.Epoch, Leader: r.Election.Leader, Error: e,
		PreVote: m.PreVote, Read: m.Read,
	}
}
