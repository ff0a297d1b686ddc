package spec

import "fmt"

// ID names a replica: 1 is A, 2 is B, and so on. IDs are compared, never counted
// with.
type ID uint8

// Nobody is the leader or the voted replica when there is none.
const Nobody ID = 0

// MaxReplicas is how many replicas a state has room for.
const MaxReplicas = 8

func (i ID) index() int { return int(i) - 1 }

// String is the letter of the replica.
func (i ID) String() string {
	if i == Nobody {
		return "-"
	}
	return string(rune('A' + i - 1))
}

// Set is a set of replicas.
type Set uint8

// SetOf is the set of the given replicas.
func SetOf(ids ...ID) Set {
	var s Set
	for _, i := range ids {
		s = s.With(i)
	}
	return s
}

// With is the set and i.
func (s Set) With(i ID) Set { return s | 1<<i.index() }

// Has says whether i is in the set.
func (s Set) Has(i ID) bool { return i != Nobody && s>>i.index()&1 == 1 }

// Len is how many are in the set.
func (s Set) Len() int {
	n := 0
	for ; s != 0; s &= s - 1 {
		n++
	}
	return n
}

// String lists the set as letters.
func (s Set) String() string {
	out := "{"
	for i := ID(1); i <= MaxReplicas; i++ {
		if s.Has(i) {
			out += i.String()
		}
	}
	return out + "}"
}

// Role is the state of a replica in Kafka's sense (KIP-595, KIP-996).
type Role uint8

// Roles. Down is a process that has crashed and has not been started again.
const (
	Unattached Role = iota
	Prospective
	Candidate
	Leader
	Follower
	Resigned
	Down
)

var roleNames = [...]string{"Unattached", "Prospective", "Candidate", "Leader", "Follower", "Resigned", "Down"}

func (r Role) String() string { return roleNames[r] }

// Version says what a replica's software can do.
type Version uint16

// PreVote is software that asks before it raises the epoch (KIP-996, Kafka 4.0).
const PreVote Version = 1

// Election is what the quorum-state file holds (KIP-595; ElectionState).
type Election struct {
	Epoch  Epoch
	Leader ID
	Voted  ID
	//lint:ignore U1000 what is interned has no padding
	spare uint16
}

// Replica is the state of one replica. Fields that belong to one role are zero
// in every other.
type Replica struct {
	// Log is what the process reads and writes; Disk what would be left of it if
	// the machine lost power now and nothing unflushed had reached the disk. A
	// truncation is an operation to be flushed too: until then Disk is longer.
	Log, Disk Log

	// HighWatermark is the first offset not known to be committed, or Unknown. It
	// is in memory only, and a new leader starts without one.
	HighWatermark Offset

	// Leader: where its epoch begins, what it knows of the others' logs
	// (Unknown before the first fetch), and the high watermark noted when the
	// present read began.
	EpochStart Offset
	End        [MaxReplicas]Offset
	ReadOffset Offset

	// Election is in memory, Stored in the quorum-state file.
	Election, Stored Election

	// LogStart is the first offset that is still in the log; what is before it only the
	// snapshots have. Both are durable as soon as they are there.
	LogStart  Offset
	Snapshots Snapshots
	// Fetching is the snapshot that is being received. In memory only.
	Fetching Fetching

	// Leader: number of the present or last read of this epoch.
	ReadRound uint32

	ID ID
	// Voters is the voter set in force, if the log has a record of one: that of the last
	// such record (KIP-853), which [Rules.VotersFrom] makes sure of. Else it is empty, and the
	// set with which the cluster began is in force.
	Voters Set
	// Life is how often this leader has been restarted as leader of this very
	// epoch. Kafka never does that (KAFKA-10527), so it stays 0.
	Life    uint16
	Version Version
	Role    Role
	// Nominee: who granted the vote or pre-vote.
	Granted Set
	// Follower: a fetch from this leader has been answered in this epoch.
	HasFetched bool
	// Leader: LeaderChange is in the log; a read is under way; who confirmed it.
	LeaderChangeWritten bool
	Reading             bool
	Confirmed           Set
}

// NewReplica is a replica before its first start, with an empty disk.
func NewReplica(id ID, v Version) Replica {
	return Replica{ID: id, Version: v, HighWatermark: Unknown}
}

// NewLargeReplica is one without limits, for long traces.
func NewLargeReplica(id ID, v Version) Replica {
	r := NewReplica(id, v)
	r.Log, r.Disk, r.Snapshots.large = NewLargeLog(), NewLargeLog(), 1
	return r
}

// FlushedEnd is the offset below which the log is durable: nothing that a crash
// could do brings anything else back there.
func (r *Replica) FlushedEnd() Offset { return CommonPrefix(&r.Log, &r.Disk) }

// TruncationPending says whether a truncation has not been flushed.
func (r *Replica) TruncationPending() bool { return r.FlushedEnd() < r.Disk.End() }

// Flushed says whether log and disk are the same.
func (r *Replica) Flushed() bool { return r.Log.SameAs(&r.Disk) }

type modelErr struct{ msg string }

func (e modelErr) Error() string { return e.msg }

// modelError is a value that does not fit the model; the checker reports it as
// an error of the model, not of the protocol.
func modelError(format string, args ...any) error {
	return modelErr{fmt.Sprintf(format, args...)}
}
