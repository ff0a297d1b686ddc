package kafkasql

// Sizes of a state. Models stay within them, and report it as a bound if they would not.
const (
	MaxInstances = 3
	MaxJournal   = 6
	MaxRows      = 4
	MaxAttempts  = 4
	MaxCommits   = 5
	MaxCoord     = 7
	MaxData      = 6
)

// Kind is what a journal record is.
type Kind uint8

// Kinds of records.
const (
	NoRecord Kind = iota
	// Create adds a row, with the next id of a counter. Delete removes the row with the
	// highest id, and is rejected if there is none. Touch changes nothing.
	Create
	Delete
	Touch
	// CreateV2 is a Create in a form that version 1 of the program cannot decode.
	CreateV2
)

var kindNames = [...]string{"", "create", "delete", "touch", "create-v2"}

// Record is a record of the journal: an operation, its number, the epoch of the leader
// that wrote it and, of markers and of writes that are waited for, whose it is (1 and up).
type Record struct {
	Kind              Kind
	Number, Epoch, By uint8
}

// DB is the database of an instance, or an image of one: rows by id, the counter that the
// next id comes from, and what it says of itself, written in the transaction of every
// operation.
type DB struct {
	Off, Epoch, Journal uint8
	Counter             uint8
	Schema              uint8
	Rows                [MaxRows]uint8 // number of the operation that made it, 0 for none
	// Has is a ghost: the offsets that have been applied, bit by bit.
	Has uint8
}

// Phase is how far an instance has come.
type Phase uint8

// Phases.
const (
	Down Phase = iota
	// Choosing has fixed the ends of both topics. Chosen has a candidate, Fetched its bytes.
	Choosing
	Chosen
	Fetched
	// Installing is half-way through a restore into the live database: a mutation.
	Installing
	Replaying
	Ready
	// GaveUp has ended with an error that names the first missing offset.
	GaveUp
)

var phaseNames = [...]string{"down", "choosing", "chosen", "fetched", "installing", "replaying", "ready", "gave up"}

func (p Phase) String() string { return phaseNames[p] }

// Step is how far an attempt at a checkpoint has come.
type Step uint8

// Steps of an attempt, those of A's lock first.
const (
	Idle Step = iota
	Requested
	Confirming
	Locked
	Capturing
	Captured
	HalfUploaded
	Uploaded
	Verified
	// Unacknowledged has appended its commit and not heard of it.
	Unacknowledged
)

var stepNames = [...]string{"idle", "requested", "confirming", "locked", "capturing", "captured", "half uploaded", "uploaded", "verified", "commit unacknowledged"}

func (s Step) String() string { return stepNames[s] }

// Instance is one process with its database.
type Instance struct {
	Phase   Phase
	Version uint8 // of the program
	Paused  uint8
	// Lagged: it was paused since it started, so that no grace period covers it.
	Lagged uint8
	Life   uint8
	DB     DB
	// Pos is the offset that it reads next. Applied is 1 between an operation and its
	// offset row, or between two records out of order: mutations.
	Pos, Applied uint8
	// End and CkEnd are the ends of journal and checkpoints that it fixed when it
	// started; Tried are commits that it rejected, Cand is 1 and up for the one chosen,
	// First and Second the images whose halves it has fetched, Bad what is wrong with them.
	End, CkEnd, Tried, Cand, First, Second, Bad uint8
	// Must is a ghost: the end of the journal when it started.
	Must uint8
	// Cut is a ghost: it has applied what the journal has lost.
	Cut uint8

	// Att is its attempt, 1 and up, Begun its offset when that began.
	Att, Begun uint8
	Step       Step
	Frozen     uint8
	Ahead      uint8 // its clock is ahead

	// Wait is 1 and up for the offset that a client of it waits for; Unsure is the
	// operation of which a client does not know whether it was appended. Acked are the
	// offsets acknowledged in this life.
	Wait, Unsure, Acked uint8
	// Unregistered is a record that is to be waited for: a mutation. Seen is an end of the
	// journal from before a crash: a mutation.
	Unregistered, Seen uint8

	// What it knows of A's coordination topic: it has read up to CoordPos, the first
	// request is that of FirstBy, the lock that of Holder.
	CoordPos, FirstBy, Holder uint8
}

// Attempt is an image as it was captured, and what is noted of it.
type Attempt struct {
	By                  uint8 // 1 and up
	Img                 DB
	Off, Epoch, Journal uint8
	Ahead               uint8 // stamped by a clock that is ahead
	From, To            uint8 // A: its range in the data topic
}

// Commit makes an image known.
type Commit struct {
	Att, Key uint8
	// Fenced: in the order of the log its author did not hold the lock any more (A).
	Fenced uint8
}

// Object is what the store has under a key: the images that its halves are of.
type Object struct{ First, Second, Bad, Gone uint8 }

// CoordKind is what a record of A's coordination topic says.
type CoordKind uint8

// Kinds of coordination records.
const (
	NoCoord CoordKind = iota
	Request
	Lock
	Done // a commit
)

var coordNames = [...]string{"", "request", "lock", "commit"}

// Coord is a record of A's coordination topic, of an author: an instance in one life.
type Coord struct {
	Kind CoordKind
	By   uint8
}

// State is everything.
type State struct {
	J                [MaxJournal]Record
	N, LogStart      uint8
	Journal, JEpoch  uint8 // which journal of that name, and the epoch of its leader
	Ops              uint8 // operations that clients have begun
	I                [MaxInstances]Instance
	Atts             [MaxAttempts]Attempt
	NAtts            uint8
	Commits          [MaxCommits]Commit
	NCommits         uint8
	Objects          [MaxAttempts]Object
	Coord            [MaxCoord]Coord // what somebody has not read yet
	NCoord           uint8
	CoordHolder      uint8 // who holds the lock, in the order of the log
	OldFirst         uint8 // what the records that all have read amount to
	OldHolder        uint8
	Data             [MaxData]uint8 // A's data topic: image and half, packed
	NData, DataStart uint8

	// Best is a ghost: 1 and up for the commit with the greatest offset that anybody
	// has restored. Hurt counts objects damaged since the last trim.
	Best, Hurt uint8

	// Steps that a model allows only so often.
	Crashes, Pauses, Trims, Damages, Rewinds, Lost, Moves, Jumps, Collected, Disks, Failures uint8
	Unused                                                                                   [pad]uint8
}

// lineage says whether something that has applied the journal up to an offset, the last
// record of which is of an epoch, is a prefix of the journal as it is.
func (s *State) lineage(journal, off, epoch uint8) bool {
	return journal == s.Journal && off <= s.N && (off == 0 || s.J[off-1].Epoch == epoch)
}

// up says whether there is a process.
func (n *Instance) up() bool { return n.Phase != Down && n.Phase != GaveUp }

// reading says whether a process follows the journal.
func (n *Instance) reading() bool { return n.Phase == Replaying || n.Phase == Ready }

// restoring says whether a process is between its start and being ready.
func (n *Instance) restoring() bool { return n.up() && n.Phase != Ready }

// intact says whether the store has all of an image under the key of a commit.
func (s *State) intact(c Commit) bool {
	o := s.Objects[c.Key-1]
	return o.First == c.Att && o.Second == c.Att && o.Bad == 0 && o.Gone == 0
}

// committed says whether a commit names an image.
func (s *State) committed(att uint8) bool {
	for _, c := range s.Commits[:s.NCommits] {
		if c.Att == att {
			return true
		}
	}
	return false
}
