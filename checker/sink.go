package checker

import (
	"math"
	"unsafe"
)

// ringSize is how many successors are collected before the table is asked, so
// that its cache misses overlap. 32 was measured best; 16 and 64 are close.
const ringSize = 32

// Sink takes successors from a specification: build one in the value that Slot
// returns, then Commit it. The value belongs to the sink again from then on.
// A Slot that is not committed is given out again.
//
//	t := out.Slot()
//	*t = *s
//	t.Term++
//	out.Commit(server, Instance{Action: Timeout}, 0, 0)
type Sink[S any] struct {
	n       int
	edge    uint32 // successors of the current state so far
	parent  ordinal
	current *S
	bounded uint64
	reached Props
	w       *worker[S] // nil when collect is set
	collect func(successor[S])
	tally   *actionMeter // nil unless coverage is counted
	aside   bool         // collect or tally is set
	plain   bool         // collect wants no details
	lost    bool         // an answer is lost within the step
	detail  detail
	near    []uint64 // slots to prefetch from: those of a little while ago will do
	fired   [math.MaxUint8 + 1]uint64
	within  [math.MaxUint8 + 1]uint64
	fps     [ringSize]uint64
	refs    [ringSize]ref
	hints   [ringSize]uint32
	ring    [ringSize]S
}

// successor is what a collecting sink passes on.
type successor[S any] struct {
	state             *S
	fp                uint64 // 0 if the specification gave none with the step
	hint              uint32
	process           int
	instance          Instance
	violated, reached Props
	edge              uint32
	lost              bool // an answer is lost within the step
	detail            detail
}

// detail is what a reader wants to know of one step and a search does not.
type detail struct {
	message string
	kept    bool
	sends   []Sent
	inner   []InnerStep
}

// everything is the hint of a successor of which nothing is known to be as in
// the state before it.
const everything = math.MaxUint32

// Slot returns the value in which to build the next successor. It holds
// leftovers of an earlier one.
func (k *Sink[S]) Slot() *S { return &k.ring[k.n] }

// Commit adds the successor in the slot, reached by instance i of the process
// (-1: none, the environment), with the Always properties that the step
// violates and the Sometimes properties that it reaches.
func (k *Sink[S]) Commit(process int, i Instance, violated, reached Props) {
	if k.collect != nil {
		k.hand(0, everything, process, i, violated, reached)
		return
	}
	if k.w.canon != nil {
		k.w.canon.Canonical(&k.ring[k.n])
	}
	k.commit(k.w.fingerprint(&k.ring[k.n]), everything, process, i, violated, reached)
}

// commit is Commit for specifications of this package, which know the
// fingerprint (0 is allowed) and which parts have changed.
func (k *Sink[S]) commit(fp uint64, hint uint32, process int, i Instance, violated, reached Props) {
	if k.aside {
		if k.collect != nil {
			k.hand(fp, hint, process, i, violated, reached)
			return
		}
		k.tally.see(k.n, i.Action)
	}
	if fp == 0 {
		fp = 1
	}
	if len(k.near) > 0 {
		prefetch(unsafe.Pointer(&k.near[home(scramble(fp), len(k.near))]))
	}
	n := k.n
	k.fps[n] = fp
	k.refs[n] = makeRef(k.parent, k.edge)
	k.hints[n] = hint
	k.fired[i.Action]++
	k.reached |= reached
	if violated != 0 {
		k.w.stepViolates(violated, fp, process, i)
	}
	k.edge++
	if k.n = n + 1; k.n == ringSize {
		k.w.drain()
	}
}

func (k *Sink[S]) hand(fp uint64, hint uint32, process int, i Instance, violated, reached Props) {
	k.collect(successor[S]{
		state: &k.ring[k.n], fp: fp, hint: hint, process: process, instance: i,
		violated: violated, reached: reached, edge: k.edge, lost: k.lost, detail: k.detail,
	})
	k.edge++
	k.lost, k.detail = false, detail{}
}

// Bounded records that bound b kept a step of the current state from being
// committed.
func (k *Sink[S]) Bounded(b Bound) { k.bounded |= 1 << b }

// The bits of Sink.bounded above those of the specification's own bounds.
const (
	budgetBit   = 32
	inFlightBit = budgetBit + MaxBudgets
	boundBits   = inFlightBit + 1
)

// explains says that details of steps are wanted, which cost time.
func (k *Sink[S]) explains() bool { return k.collect != nil && !k.plain }

// newCollector returns a sink that passes each successor on instead of
// searching with it.
func newCollector[S any](collect func(successor[S])) *Sink[S] {
	return &Sink[S]{collect: collect, aside: true}
}
