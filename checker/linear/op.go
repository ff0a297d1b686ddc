package linear

import (
	"fmt"
	"math"
)

// Kind of an operation.
type Kind uint8

const (
	// Append adds one record with a unique value at the end of the log.
	Append Kind = iota
	// Read returns the end of the log.
	Read
)

// Outcome of an operation, as its client knows it.
type Outcome uint8

const (
	// Known: it returned.
	Known Outcome = iota
	// Unknown: it may have taken effect, or may yet (a timeout, a lost
	// connection).
	Unknown
	// Failed: it certainly has not taken effect and never will.
	Failed
)

// Saw is a set of what a read saw besides the end of the log.
type Saw uint8

const (
	// SawLast: Op.Value is the value of the last client record below the end, 0
	// if there is none.
	SawLast Saw = 1 << iota
	// SawDigest: Op.Digest is the digest of the values of all client records
	// below the end, see [Chain].
	SawDigest
)

// Op is one operation of a client on the log. Times are of one clock, of any
// unit: an operation precedes another if its Return is less than the other's
// Call.
type Op struct {
	Client  int32
	Kind    Kind
	Outcome Outcome
	Saw     Saw
	// Call and Return are when the operation began and ended. Return counts only
	// if the outcome is known.
	Call, Return int64
	// Offset is that of the appended record, or the end offset that a read
	// returned (exclusive). It counts only if the outcome is known.
	Offset int64
	// Value of an append: unique in the history, and not 0. Of a read: see
	// SawLast.
	Value  uint64
	Digest uint64
}

// Chain is the digest of a log with the digest d to which a record is appended.
// The digest of the empty log is 0.
func Chain(d, value uint64) uint64 {
	// The finalizer of SplitMix64 over both; order matters.
	x := d*0x9e3779b97f4a7c15 + value + 0x632be59bd9b4e019
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// State is a log as far as operations see it.
type State struct {
	// End is the end offset, exclusive.
	End int64
	// Digest is over the values of all client records.
	Digest uint64
	// Last is the value of the last client record, 0 if there is none.
	Last uint64
}

func (s State) append(value uint64) State {
	return State{s.End + 1, Chain(s.Digest, value), value}
}

// shows says whether a read could see this.
func (s State) shows(op *Op) bool {
	return (op.Saw&SawLast == 0 || op.Value == s.Last) && (op.Saw&SawDigest == 0 || op.Digest == s.Digest)
}

func (s State) hash() uint64 { return Chain(Chain(s.Digest, s.Last), uint64(s.End)) }

// Entry is one record of the committed log.
type Entry struct {
	Value uint64
	// Internal: the system's own record; no client wrote it, digests and last
	// values pass over it.
	Internal bool
}

// Options say what is known besides the history.
type Options struct {
	// Start is the log before the first operation.
	Start State
	// Log is the committed log from offset Start.End on, as far as it is known.
	Log []Entry
	// Whole: Log is all that was ever committed, so an append that is not in it
	// has not taken effect.
	Whole bool
	// Gaps: beyond Log, an offset that belongs to no append may hold a record of
	// the system's own. Otherwise it must hold an append of unknown outcome.
	Gaps bool
	// Limits bound the search, where one is needed.
	Limits Limits
	// Name prints a value in explanations; nil prints the number.
	Name func(value uint64) string
	// Notes are what happened to the system, to be shown beside the operations.
	Notes []Note
}

// Note is something that happened, by the clock of the operations.
type Note struct {
	// Who stands before it: each has a line of its own in a picture.
	Who      string
	From, To int64
	// What in a few words, Details in more.
	What, Details string
}

func (o *Options) logEnd() int64 { return o.Start.End + int64(len(o.Log)) }

// entry is the record at an offset that Log covers.
func (o *Options) entry(offset int64) *Entry { return &o.Log[offset-o.Start.End] }

// skippable says whether [from, to) may hold only records of the system's own.
func (o *Options) skippable(from, to int64) bool {
	for ; from < to && from < o.logEnd(); from++ {
		if !o.entry(from).Internal {
			return false
		}
	}
	return from >= to || o.Gaps && !o.Whole
}

func (o *Options) name(value uint64) string {
	if o.Name != nil && value != 0 {
		return o.Name(value)
	}
	return fmt.Sprint(value)
}

// describe says in words what an operation was.
func (o *Options) describe(op *Op) string {
	when := fmt.Sprintf("called at %d, returned at %d", op.Call, op.Return)
	switch op.Outcome {
	case Unknown:
		when = fmt.Sprintf("called at %d, outcome unknown", op.Call)
	case Failed:
		when = fmt.Sprintf("called at %d, failed", op.Call)
	}
	if op.Kind == Append {
		at := ""
		if op.Outcome == Known {
			at = fmt.Sprintf(" at offset %d", op.Offset)
		}
		return fmt.Sprintf("the append of %s%s by client %d (%s)", o.name(op.Value), at, op.Client, when)
	}
	saw := ""
	if op.Saw&SawLast != 0 {
		saw = ", last value " + o.name(op.Value)
	}
	return fmt.Sprintf("the read of end offset %d%s by client %d (%s)", op.Offset, saw, op.Client, when)
}

// never is later than every time.
const never = math.MaxInt64

func (op *Op) returned() int64 {
	if op.Outcome == Known {
		return op.Return
	}
	return never
}

// Verdict on a history.
type Verdict uint8

const (
	// Undecided: a limit was reached first.
	Undecided Verdict = iota
	// Linearizable: there is an order.
	Linearizable
	// NotLinearizable: there is none.
	NotLinearizable
)

// String names the verdict.
func (v Verdict) String() string {
	return [...]string{"undecided", "linearizable", "not linearizable"}[v]
}

// Violation says why there is no order.
type Violation struct {
	// Earlier and Later are the indices of two operations whose order is
	// impossible; -1 where there is no such operation.
	Earlier, Later int
	// Text says it in words.
	Text string
}

// Result of a check.
type Result struct {
	Verdict Verdict
	// Violation is set if the verdict is NotLinearizable.
	Violation *Violation
	// Reason says why the verdict is Undecided.
	Reason string
	// Placed is the number of operations whose place in the log is known, Located
	// the number of appends of unknown outcome among them.
	Placed, Located int
	// Dropped is the number of appends of unknown outcome that need not have
	// taken effect.
	Dropped int
	// Holes is the number of offsets that appends of unknown outcome must fill.
	Holes int
	// Searched is the number of operations that were left to a search.
	Searched int
}
