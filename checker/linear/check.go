package linear

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Check decides whether a history of a log is linearizable. Values of appends
// must be unique; the order of ops does not matter. The error is for a history
// that is malformed (a return before its call, a negative offset, the value 0).
func Check(ops []Op, opt Options) (Result, error) {
	c := &check{ops: ops, opt: &opt}
	if err := c.sort(); err != nil {
		return Result{}, err
	}
	for _, step := range []func() *Violation{c.locate, c.places, c.realTime, c.matchHoles, c.values} {
		if v := step(); v != nil {
			c.res.Verdict, c.res.Violation = NotLinearizable, v
			return c.res, nil
		}
	}
	c.res.Verdict = Linearizable
	if c.window != nil {
		c.search()
	}
	return c.res, nil
}

// place is where an operation stands in the log.
type place struct {
	key  int64 // twice the offset, one more for an append: a read of end n comes after record n-1 and before record n
	call int64 // orders reads of one end
	op   int32
}

func (p place) offset() int64 { return p.key >> 1 }
func (p place) append() bool  { return p.key&1 == 1 }

// hole is a run of offsets, beyond the known log, that no placed append has.
type hole struct {
	from, to int64
	before   int   // the hole lies before places[before]
	bound    int64 // earliest return of what follows
	later    int32 // whose return that is
}

type check struct {
	ops    []Op
	opt    *Options
	order  []place
	unsure map[uint64]int32 // value of an append that is not known to have taken effect → operation
	free   []int32          // appends of unknown outcome without a place
	holes  []hole
	// byReads: reads have placed the appends that they saw.
	byReads bool
	window  *window
	res     Result
}

// sort gives each operation its place, as far as it is known.
func (c *check) sort() error {
	c.order = make([]place, 0, len(c.ops))
	for i := range c.ops {
		op := &c.ops[i]
		switch {
		case op.Kind == Append && op.Value == 0:
			return fmt.Errorf("operation %d: an append of the value 0, which stands for none", i)
		case op.Outcome == Known && op.Return < op.Call:
			return fmt.Errorf("operation %d: returned at %d, before it was called at %d", i, op.Return, op.Call)
		case op.Outcome == Known && (op.Offset < 0 || op.Offset > math.MaxInt64/2-1):
			return fmt.Errorf("operation %d: offset %d is out of range", i, op.Offset)
		case op.Outcome == Known && op.Kind == Append:
			c.put(i, op.Offset)
		case op.Outcome == Known:
			c.order = append(c.order, place{op.Offset * 2, op.Call, int32(i)})
		case op.Kind == Append:
			if c.unsure == nil {
				c.unsure = make(map[uint64]int32)
			}
			if j, ok := c.unsure[op.Value]; ok {
				return fmt.Errorf("operations %d and %d append the same value", j, i)
			}
			c.unsure[op.Value] = int32(i)
		}
	}
	return nil
}

func (c *check) put(op int, offset int64) {
	c.order = append(c.order, place{offset*2 + 1, c.ops[op].Call, int32(op)})
}

// locate places appends of unknown outcome by the log, or by the first read that
// saw them: where the end of that read is not at a known record, the record just
// below it is the best place, since fewest operations follow there.
func (c *check) locate() *Violation {
	// With gaps and digests that place need not be the best; the search decides.
	c.byReads = !c.opt.Gaps || !slices.ContainsFunc(c.order, c.sawDigest)
	located := make(map[uint64]int64)
	at := func(value uint64, offset int64, by string) *Violation {
		i, ok := c.unsure[value]
		if !ok {
			return nil
		}
		if old, ok := located[value]; ok && old != offset {
			return c.violation(i, -1, "%s is at offset %d and, by %s, at offset %d", c.describe(i), old, by, offset)
		} else if ok {
			return nil
		}
		if c.ops[i].Outcome == Failed {
			return c.violation(i, -1, "%s failed, but by %s it is at offset %d", c.describe(i), by, offset)
		}
		located[value] = offset
		c.put(int(i), offset)
		c.res.Located++
		return nil
	}
	if len(c.unsure) > 0 {
		for k := range c.opt.Log {
			if e := &c.opt.Log[k]; !e.Internal {
				if v := at(e.Value, c.opt.Start.End+int64(k), "the committed log"); v != nil {
					return v
				}
			}
		}
		first := make(map[uint64]place) // the lowest read that saw a value
		for _, p := range c.order {
			op := &c.ops[p.op]
			if _, ok := c.unsure[op.Value]; !ok || !c.byReads || op.Kind != Read || op.Saw&SawLast == 0 {
				continue
			}
			if _, ok := located[op.Value]; ok || p.offset()-1 < c.opt.logEnd() {
				continue // values says whether the read agrees with the log
			}
			if f, ok := first[op.Value]; !ok || p.key < f.key {
				first[op.Value] = p
			}
		}
		for value, p := range first {
			if v := at(value, p.offset()-1, c.describe(p.op)); v != nil {
				return v
			}
		}
	}
	for i := range c.ops {
		if op := &c.ops[i]; op.Kind == Append && op.Outcome == Unknown {
			if _, ok := located[op.Value]; !ok && !c.opt.Whole {
				c.free = append(c.free, int32(i))
			} else if !ok {
				c.res.Dropped++
			}
		}
	}
	slices.SortFunc(c.order, func(a, b place) int {
		if a.key != b.key {
			return cmp.Compare(a.key, b.key)
		}
		return cmp.Or(cmp.Compare(a.call, b.call), cmp.Compare(a.op, b.op))
	})
	c.res.Placed = len(c.order)
	return nil
}

// places demands that every offset is taken once, and agrees with the log.
func (c *check) places() *Violation {
	next, end := c.opt.Start.End, c.opt.logEnd()
	prev := int32(-1)
	for n, p := range c.order {
		at := p.offset()
		switch {
		case at < c.opt.Start.End:
			return c.violation(-1, p.op, "%s lies before offset %d, where the history begins", c.describe(p.op), c.opt.Start.End)
		case at < next: // only an append can be, by the order
			return c.violation(prev, p.op, "%s and %s are at the same offset, %d", c.describe(prev), c.describe(p.op), at)
		case c.opt.Whole && (at > end || p.append() && at == end):
			return c.violation(p.op, -1, "%s lies beyond the committed log, which ends at %d", c.describe(p.op), end)
		}
		if v := c.unowned(next, at); v != nil {
			return v
		}
		if from := max(next, end); from < at {
			c.holes = append(c.holes, hole{from: from, to: at, before: n})
		}
		if next = at; !p.append() {
			continue
		}
		if op := &c.ops[p.op]; at < end && (c.opt.entry(at).Internal || c.opt.entry(at).Value != op.Value) {
			return c.violation(p.op, -1, "%s is not in the committed log, which has %s there", c.describe(p.op), c.record(at))
		}
		next, prev = at+1, p.op
	}
	return c.unowned(next, end)
}

// unowned demands that the log has only records of the system's own in [from, to).
func (c *check) unowned(from, to int64) *Violation {
	for ; from < min(to, c.opt.logEnd()); from++ {
		e := c.opt.entry(from)
		if e.Internal {
			continue
		}
		for _, p := range c.order {
			if p.append() && c.ops[p.op].Value == e.Value {
				return c.violation(p.op, -1, "%s is in the committed log at offset %d too", c.describe(p.op), from)
			}
		}
		return c.violation(-1, -1, "offset %d of the committed log has the value %s, which no client appended", from, c.opt.name(e.Value))
	}
	return nil
}

// realTime walks backward: an operation must have been called before anything
// that follows it in the log returned.
func (c *check) realTime() *Violation {
	first, who := int64(never), int32(-1)
	h := len(c.holes) - 1
	for n := len(c.order) - 1; n >= 0; n-- {
		i := c.order[n].op
		if op := &c.ops[i]; op.Call > first {
			return c.violation(i, who, "%s must come before %s, by their offsets; but the second had returned at %d, before the first was called at %d",
				c.describe(i), c.describe(who), first, op.Call)
		}
		if r := c.ops[i].returned(); r < first {
			first, who = r, i
		}
		for ; h >= 0 && c.holes[h].before == n; h-- {
			c.holes[h].bound, c.holes[h].later = first, who
		}
	}
	return nil
}

// matchHoles demands that the holes can be filled by appends of unknown outcome.
// Such an append never returned, so nothing but its own call binds it: it fits a
// hole if it was called before anything behind the hole returned. The bounds of
// the holes rise with the offset, so the earliest called goes to the lowest.
func (c *check) matchHoles() *Violation {
	if c.opt.Gaps {
		return nil // the system's own records fill any hole
	}
	slices.SortFunc(c.free, func(a, b int32) int {
		return cmp.Or(cmp.Compare(c.ops[a].Call, c.ops[b].Call), cmp.Compare(a, b))
	})
	used := 0
	for _, h := range c.holes {
		for at := h.from; at < h.to; at++ {
			if used == len(c.free) || c.ops[c.free[used]].Call > h.bound {
				early := int32(-1)
				why := "no append of unknown outcome is left for it"
				if used < len(c.free) {
					early = c.free[used]
					why = fmt.Sprintf("of the appends of unknown outcome, those called earlier are needed below, and the next, %s, was called after that had returned", c.describe(early))
				}
				later := c.order[h.before].op
				if early >= 0 {
					later = h.later
				}
				return c.violation(early, later, "offset %d must hold a record, by %s; but %s", at, c.describe(later), why)
			}
			used++
			c.res.Holes++
		}
	}
	return nil
}

func (c *check) record(offset int64) string {
	if e := c.opt.entry(offset); !e.Internal {
		return "the value " + c.opt.name(e.Value)
	}
	return "a record of the system's own"
}

func (c *check) describe(op int32) string { return c.opt.describe(&c.ops[op]) }

func (c *check) violation(earlier, later int32, format string, args ...any) *Violation {
	return &Violation{Earlier: int(earlier), Later: int(later), Text: fmt.Sprintf(format, args...)}
}
