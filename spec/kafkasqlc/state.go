package kafkasqlc

// Sizes of a state. Models stay within them, and report it as a bound if they would not.
const (
	MaxInstances = 2
	MaxJournal   = 7
	MaxSnapshots = 3
)

// Kind is what a journal record is.
type Kind uint8

// Kinds of records.
const (
	NoRecord Kind = iota
	// Operation is a write of a client.
	Operation
	// Marker asks for a snapshot; Number is the snapshot.
	Marker
	// Boot is appended by who starts; Number is its author.
	Boot
)

var kindNames = [...]string{"", "op", "snapshot", "bootstrap"}

// Record is a record of the journal.
type Record struct {
	Kind   Kind
	Number uint8
}

// Phase is how far an instance has come.
type Phase uint8

// Phases.
const (
	Down Phase = iota
	// Scanning has begun. Scanned has restored a file, or nothing; Booted has appended its
	// marker and reads the journal.
	Scanning
	Scanned
	Booted
	Ready
)

var phaseNames = [...]string{"down", "scanning", "scanned", "reading", "ready"}

func (p Phase) String() string { return phaseNames[p] }

// Instance is one process with its database and its disk.
type Instance struct {
	Phase Phase
	Life  uint8
	// Pos is what it reads next, Skip the snapshot whose marker it looks for, 0 for none.
	Pos, Skip uint8
	// Has is the database: the offsets of the operations in it, bit by bit.
	Has uint8
	// Files are the snapshots on its disk, Waits those that a request waits for, Dumped
	// those that were dumped in this life, and Slot the one asked for last, bit by bit.
	Files, Waits, Dumped, Slot uint8
	// Must is a ghost: the end of the journal when it started.
	Must uint8
}

// State is everything.
type State struct {
	J           [MaxJournal]Record
	N, LogStart uint8
	I           [MaxInstances]Instance
	// Image is what a snapshot has, Asked how many were asked for, Topic the records of
	// the snapshots topic.
	Image   [MaxSnapshots]uint8
	Asked   uint8
	Topic   [MaxSnapshots]uint8
	NTopic  uint8
	Ops     uint8
	Crashes uint8
	Expired uint8
	Disks   uint8
	Unused  [pad]uint8
}

// author is an instance in one of its lives.
func author(i int, n *Instance) uint8 { return uint8(i+1) | n.Life<<2 }

// operations are the offsets of all operations before one, those that are deleted included.
func (s *State) operations(before uint8) (bits uint8) {
	for off := range before {
		if s.J[off].Kind == Operation {
			bits |= 1 << off
		}
	}
	return bits
}

// ahead says whether a record is still to be read from an offset on.
func (s *State) ahead(from uint8, r Record) bool {
	for off := max(from, s.LogStart); off < s.N; off++ {
		if s.J[off] == r {
			return true
		}
	}
	return false
}
