package history

import (
	"github.com/quorate/quorate/checker/linear"
)

// Version is the version of the schema that this package writes. A reader
// refuses any other.
const Version = 1

// History is what the clients of one run saw.
type History struct {
	Header
	Ops   []Op
	Marks []Mark
}

// Header describes a run.
type Header struct {
	// Run names the run, for people: a seed, a test.
	Run string
	// Clock is the unit of the times ("tick", "ns"). All of a history are of one
	// clock; nothing else is asked of it.
	Clock string
	// Start is the log end offset before the first operation. What the log held
	// then is of no concern; no read may have seen it.
	Start int64
}

// Op is one operation of a client.
type Op struct {
	Client  int32
	Kind    linear.Kind
	Outcome linear.Outcome
	// Call is when the operation began, Return when its client had an answer or
	// gave up; both in units of Header.Clock, 0 or more.
	Call, Return int64
	// Value of an append: unique in the history, not empty. Of a read that was
	// answered: the register, that is the value of the last record of a client,
	// empty if there is none.
	Value string
	// Offset of the record of an append that was acknowledged; the end offset
	// (exclusive) of a read that was answered. 0 otherwise.
	Offset int64
}

// Mark is an interval in which something happened to the cluster.
type Mark struct {
	// What happened, as in LeaderChange.
	What string
	// From and To are times of the clock of the history; To is not before From.
	From, To int64
	// Note is for people.
	Note string
}

// LeaderChange is the mark from the loss of a leader until the next one serves.
const LeaderChange = "leader change"

// Record is one record of the committed log, for Check.
type Record struct {
	Value string
	// Internal: no client of this history wrote it (a control record).
	Internal bool
}
