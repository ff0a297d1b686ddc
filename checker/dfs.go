package checker

import (
	"fmt"
	"time"
	"unsafe"
)

// Order is the order in which a run visits states.
type Order string

const (
	// BreadthFirst visits states level by level: counterexamples are shortest.
	BreadthFirst Order = ""
	// DepthFirst follows each behaviour to its end before it turns back. One
	// worker; needs no queue of levels; a counterexample is the stack at the time,
	// and rarely the shortest.
	DepthFirst Order = "depth first"
)

// depthFirst explores as Run does, with a stack. A state is entered in the visited
// set when it is pushed, so it is on the stack once, and the stack is a behaviour
// with the siblings that wait. Complete runs count what a breadth-first run counts.
//
// A bound on depth is sound: a state that is reached again by a shorter way is
// expanded again, since more can lie within the bound. Counts are then those of a
// breadth-first run with the same bound.
func depthFirst[S any](spec Spec[S], opt Options) (result *Result, err error) {
	switch {
	case opt.Exact:
		return nil, fmt.Errorf("a depth-first search keeps fingerprints: exact comparison goes with breadth first")
	case opt.Projected:
		return nil, fmt.Errorf("a depth-first search does not count states without budgets: that goes with breadth first")
	case opt.onDisk():
		return nil, fmt.Errorf("a depth-first search is in memory: -mem, -dir and the like go with breadth first")
	case opt.MaxDepth > maxDepth:
		return nil, fmt.Errorf("a depth-first search is bounded by at most %d levels", maxDepth)
	case opt.Workers > 1:
		return nil, fmt.Errorf("a depth-first search has one worker, not %d", opt.Workers)
	}
	w, err := newWalker(spec, opt.Properties)
	if err != nil {
		return nil, err
	}
	d := &dive[S]{walker: w, opt: opt, seen: newSeen(16, opt.MaxDepth > 0), began: time.Now()}
	defer d.seen.free()
	defer func() {
		if p := recover(); p != nil {
			result, err = nil, modelError(p)
		}
	}()
	d.begin()
	if len(d.kids) == 0 {
		return nil, fmt.Errorf("%s has no initial state", d.info.Name)
	}
	stop := d.report()
	defer stop()
	initial := d.push(1)
	d.explore()
	return d.result(initial)
}

// dive is a depth-first search.
type dive[S any] struct {
	*walker[S]
	opt       Options
	seen      *seen
	stack     stack[S]
	began     time.Time
	known     Props
	found     [64][]uint32 // the edges of a counterexample
	deepest   uint32
	cut       int // states at the bound whose steps were not taken
	limitedBy string
	done      bool
	shown     progress
	touched   uint64
}

// Bits of a remembered depth: the steps of the state were counted, or were not
// taken, since it lay at the bound.
const (
	counted  = 1 << 31
	cutOff   = 1 << 30
	depthOf  = cutOff - 1
	maxDepth = depthOf // of a bound
)

func (d *dive[S]) explore() {
	context := d.opt.context()
	bounded := d.opt.MaxDepth > 0
	for n := uint64(0); d.stack.n > 0 && !d.done; n++ {
		if n%1024 == 0 {
			d.shown.distinct.Store(uint64(d.seen.n))
			d.shown.generated.Store(d.generated)
			d.shown.level.Store(uint64(d.deepest))
			d.shown.queue.Store(uint64(d.stack.n))
			if context.Err() != nil {
				d.limitedBy = "canceled"
				return
			}
		}
		if d.opt.MaxDistinct > 0 && uint64(d.seen.n) >= d.opt.MaxDistinct {
			d.limitedBy = "states"
			return
		}
		top := d.stack.top()
		if top.expanded {
			d.stack.pop()
			continue
		}
		first := true
		if bounded {
			place, _ := d.seen.add(top.fp)
			v := d.seen.value(place)
			if v&depthOf < top.depth { // expanded meanwhile, nearer to the beginning
				d.stack.pop()
				continue
			}
			if int(top.depth) >= d.opt.MaxDepth {
				d.deepest = max(d.deepest, top.depth)
				if v&cutOff == 0 {
					d.cut++
					d.seen.setValue(place, v|cutOff)
				}
				d.stack.pop()
				continue
			}
			if v&cutOff != 0 {
				d.cut--
			}
			first = v&counted == 0
			d.seen.setValue(place, v&^cutOff|counted)
		}
		top.expanded = true
		d.deepest = max(d.deepest, top.depth)
		if first {
			d.expand(&top.state)
		} else {
			d.enumerate(&top.state)
		}
		d.push(top.depth + 1)
	}
}

// push judges the kids, and puts those on the stack that are new, the first on top.
func (d *dive[S]) push(depth uint32) (fresh int) {
	var touched uint64
	for i := range d.kids {
		touched ^= d.seen.touch(d.kids[i].fp)
	}
	d.touched = touched // so that the loads are made
	for i := len(d.kids) - 1; i >= 0; i-- {
		k := &d.kids[i]
		place, isNew := d.seen.add(k.fp)
		violated := k.violated
		if isNew {
			fresh++
			v, _ := d.check(k)
			violated |= v
		}
		if violated &^= d.known; violated != 0 {
			d.note(violated, k.edge)
		}
		if d.seen.values == nil {
			if isNew {
				d.stack.push(entry[S]{state: k.state, fp: k.fp, edge: k.edge, depth: depth})
			}
			continue
		}
		old := d.seen.value(place)
		if isNew || depth < old&depthOf {
			d.seen.setValue(place, depth|old&^depthOf)
			d.stack.push(entry[S]{state: k.state, fp: k.fp, edge: k.edge, depth: depth})
		}
	}
	return fresh
}

func (d *dive[S]) note(violated Props, edge uint32) {
	edges := append(d.stack.path(), edge)
	for i := range d.found {
		if violated>>i&1 == 1 {
			d.found[i] = edges
		}
	}
	d.known |= violated
	d.done = violated&^d.restating != 0 && !d.opt.KeepGoing
}

func (d *dive[S]) result(initial int) (*Result, error) {
	if d.cut > 0 && !d.done && d.limitedBy == "" {
		d.limitedBy = "depth"
	}
	r := &Result{
		Status: Holds, LimitedBy: d.limitedBy, Order: DepthFirst, Distinct: uint64(d.seen.n), Initial: uint64(initial),
		Depth: int(d.deepest), Partial: d.limitedBy != "" && d.limitedBy != "depth",
		TableBytes: d.seen.peak, Memory: Memory{Tables: d.seen.peak, Frontier: d.stack.peak()},
	}
	d.tell(r)
	if d.limitedBy != "" {
		r.Status = Limit
	}
	r.Seconds = time.Since(d.began).Seconds()
	r.Properties = verdicts(d.info, d.selected, d.known, d.reached, d.limitedBy != "" || d.done)
	for _, set := range []Props{d.known &^ d.restating, d.known & d.restating} {
		for i := range d.info.Properties {
			if set>>i&1 == 0 {
				continue
			}
			r.Status = Violated
			v, err := d.violation(i, d.found[i])
			if err != nil {
				return nil, err
			}
			r.Violations = append(r.Violations, v)
		}
	}
	return r, nil
}

// entry is a state on the stack.
type entry[S any] struct {
	state       S
	fp          uint64
	edge, depth uint32
	// expanded says that what lies above are its successors: the entry is part of
	// the behaviour that is being followed.
	expanded bool
	lot      float32 // of a swarm: its place among its siblings
}

const segmentLen = 1 << 10

// stack is in segments, so that it need not be copied when it grows, and shrinks.
type stack[S any] struct {
	segments []*[segmentLen]entry[S]
	n        int
	most     int // segments
}

// peak is how many bytes it has taken at most.
func (s *stack[S]) peak() uint64 {
	var e entry[S]
	return uint64(s.most) * segmentLen * uint64(unsafe.Sizeof(e))
}

func (s *stack[S]) push(e entry[S]) {
	if s.n == len(s.segments)*segmentLen {
		s.segments = append(s.segments, new([segmentLen]entry[S]))
		s.most = max(s.most, len(s.segments))
	}
	s.segments[s.n/segmentLen][s.n%segmentLen] = e
	s.n++
}

func (s *stack[S]) top() *entry[S] {
	return &s.segments[(s.n-1)/segmentLen][(s.n-1)%segmentLen]
}

func (s *stack[S]) pop() {
	s.n--
	if keep := s.n/segmentLen + 2; len(s.segments) > keep {
		s.segments[len(s.segments)-1] = nil
		s.segments = s.segments[:keep]
	}
}

// path has the edges of the behaviour that is being followed.
func (s *stack[S]) path() []uint32 {
	var edges []uint32
	for i := range s.n {
		if e := &s.segments[i/segmentLen][i%segmentLen]; e.expanded {
			edges = append(edges, e.edge)
		}
	}
	return edges
}
