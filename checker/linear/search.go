package linear

import (
	"fmt"
	"time"

	"github.com/anishathalye/porcupine"
)

// Limits bound a search. Where one is reached the verdict is Undecided.
type Limits struct {
	// Ops is the largest number of operations to search among; 0: 2,000. The
	// memory of a search grows with its square.
	Ops int
	// Time for the search; 0: 5 seconds. Less than 0: none.
	Time time.Duration
}

func (l Limits) ops() int {
	if l.Ops == 0 {
		return 2000
	}
	return l.Ops
}

func (l Limits) time() time.Duration {
	switch {
	case l.Time == 0:
		return 5 * time.Second
	case l.Time < 0:
		return 0 // porcupine: without end
	}
	return l.Time
}

// run asks porcupine.
func run(model porcupine.Model, ops []porcupine.Operation, l Limits) (Verdict, string) {
	if len(ops) > l.ops() {
		return Undecided, fmt.Sprintf("%d operations to search among, the limit is %d", len(ops), l.ops())
	}
	switch porcupine.CheckOperationsTimeout(model, ops, l.time()) {
	case porcupine.Ok:
		return Linearizable, ""
	case porcupine.Illegal:
		return NotLinearizable, ""
	}
	return Undecided, fmt.Sprintf("no answer among %d operations within %v", len(ops), l.time())
}

// item is an operation of the window: the nth place, or a candidate for a hole.
type item struct {
	op     *Op
	n      int // -1: a candidate
	offset int64
}

// filled is the state of the window: the log so far, and the places passed.
type filled struct {
	State
	n int
}

// search decides the window. All that is open is which candidate goes where, so
// the model takes the places in their order; the candidates that are left over
// come when all places are passed. Porcupine alone would try the orders of those,
// which are without number.
func (c *check) search() {
	w := c.window
	places := c.order[w.from:w.to]
	var ops []porcupine.Operation
	for n, p := range places {
		op := &c.ops[p.op]
		ops = append(ops, porcupine.Operation{ClientId: int(op.Client), Input: item{op, n, p.offset()}, Call: op.Call, Return: op.returned()})
	}
	for _, i := range c.free {
		if op := &c.ops[i]; op.Call <= w.bound {
			ops = append(ops, porcupine.Operation{ClientId: int(op.Client), Input: item{op, -1, -1}, Call: op.Call, Return: never})
		}
	}
	model := porcupine.Model{
		Init: func() any { return filled{w.start, 0} },
		Step: func(state, input, _ any) (bool, any) {
			s, it := state.(filled), input.(item)
			switch {
			case it.n < 0 && s.n == len(places):
				return true, s
			case it.n < 0:
				s.State = s.append(it.op.Value)
				return s.End <= places[s.n].offset(), s
			case it.n != s.n || it.offset != s.End && !c.opt.Gaps:
				return false, s
			}
			s.End, s.n = it.offset, s.n+1
			if it.op.Kind == Append {
				s.State = s.append(it.op.Value)
				return true, s
			}
			return s.shows(it.op), s
		},
		Hash: func(state any) uint64 {
			s := state.(filled)
			return s.hash() + uint64(s.n)
		},
	}
	c.res.Searched = len(ops)
	c.res.Verdict, c.res.Reason = run(model, ops, c.opt.Limits)
	if c.res.Verdict == NotLinearizable {
		c.res.Violation = c.violation(-1, -1,
			"from offset %d to %d no choice among %d appends of unknown outcome gives what the reads saw",
			w.start.End, places[len(places)-1].offset(), len(ops)-len(places))
	}
}

// LogOperations gives a history to porcupine, for [LogModel]. Operations that
// failed, and reads without an answer, bind nothing and are left out.
func LogOperations(ops []Op) []porcupine.Operation {
	out := make([]porcupine.Operation, 0, len(ops))
	for i := range ops {
		op := &ops[i]
		if op.Outcome == Known || op.Outcome == Unknown && op.Kind == Append {
			out = append(out, porcupine.Operation{ClientId: int(op.Client), Input: op, Call: op.Call, Return: op.returned()})
		}
	}
	return out
}

// LogModel is the log as a sequential object, for porcupine. It needs the
// history to know which offsets belong to appends that returned.
func LogModel(ops []Op, opt Options) porcupine.Model {
	m := &logModel{opt: &opt, log: make(map[uint64]int64), owned: make(map[int64]bool)}
	for k := len(opt.Log) - 1; k >= 0; k-- {
		if !opt.Log[k].Internal {
			m.log[opt.Log[k].Value] = opt.Start.End + int64(k)
		}
	}
	for i := range ops {
		if ops[i].Kind == Append && ops[i].Outcome == Known {
			m.owned[ops[i].Offset] = true
		}
	}
	return porcupine.Model{
		Init: func() any { return opt.Start },
		Step: func(state, input, _ any) (bool, any) {
			next, ok := m.step(state.(State), input.(*Op))
			return ok, next
		},
		Hash: func(state any) uint64 {
			s := state.(State)
			return s.hash()
		},
		DescribeOperation: func(input, _ any) string { return opt.describe(input.(*Op)) },
		DescribeState: func(state any) string {
			s := state.(State)
			return fmt.Sprintf("end %d, last %s, digest %016x", s.End, opt.name(s.Last), s.Digest)
		},
	}
}

type logModel struct {
	opt   *Options
	log   map[uint64]int64 // offsets of the values in the log
	owned map[int64]bool
}

// step is one operation on the log in state s.
func (m *logModel) step(s State, op *Op) (State, bool) {
	offset := op.Offset
	if op.Outcome == Unknown {
		at, inLog := m.log[op.Value]
		switch {
		case inLog:
			offset = at
		case m.opt.Whole:
			return s, true // it never took effect
		default:
			// The lowest offset that it can have leaves most to what follows.
			for offset = max(s.End, m.opt.logEnd()); m.opt.Gaps && m.owned[offset]; offset++ {
			}
		}
	}
	if offset < s.End || !m.opt.skippable(s.End, offset) {
		return s, false
	}
	s.End = offset
	if op.Kind == Append {
		if offset < m.opt.logEnd() && (m.opt.entry(offset).Internal || m.opt.entry(offset).Value != op.Value) {
			return s, false
		}
		return s.append(op.Value), offset < m.opt.logEnd() || !m.opt.Whole
	}
	return s, s.shows(op)
}
