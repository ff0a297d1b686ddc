package linear

// window is the part of the order that must be searched: what its holes hold is
// not known, and digests depend on it.
type window struct {
	start    State // the log at the first hole
	from, to int   // places[from:to]
	bound    int64 // earliest return of what follows the window
}

// values walks forward and demands that every read saw the records below its
// end. Where a digest follows holes that an append of unknown outcome may fill,
// it leaves a window to the search.
func (c *check) values() *Violation {
	lastView := -1 // the last place whose view of the log depends on what fills holes
	if len(c.holes) > 0 && len(c.free) > 0 && !(c.opt.Gaps && c.byReads) {
		for n, p := range c.order {
			if c.sawDigest(p) || c.opt.Gaps && c.ops[p.op].Kind == Read && c.ops[p.op].Saw != 0 {
				lastView = n
			}
		}
	}
	s := c.opt.Start
	lastKnown, digestKnown := true, true
	digestAt := -1          // the read that made the digest known again
	h, last := 0, int32(-1) // last: the append of s.Last
	for n, p := range c.order {
		op := &c.ops[p.op]
		if h < len(c.holes) && c.holes[h].before == n {
			if n <= lastView {
				if c.window == nil {
					c.window = &window{start: s, from: n}
					c.window.start.End = c.holes[h].from
				}
				if c.opt.Gaps {
					return c.closeWindow(len(c.order)) // a record may lie in every gap, or none
				}
			}
			// A hole without gaps holds a client's record: one that no read saw as
			// the last, or it would have a place.
			lastKnown = lastKnown && c.opt.Gaps
			digestKnown = digestKnown && c.opt.Gaps
			h++
		}
		s.End = p.offset()
		if p.append() {
			s, last, lastKnown = s.append(op.Value), p.op, true
			continue
		}
		switch {
		case op.Saw&SawLast == 0 || lastKnown && op.Value == s.Last:
		case !lastKnown:
			return c.violation(-1, p.op, "%s: no append of that value can be at offset %d", c.describe(p.op), s.End-1)
		case last < 0:
			return c.violation(-1, p.op, "%s: the last value below offset %d is %s", c.describe(p.op), s.End, c.opt.name(s.Last))
		default:
			return c.violation(last, p.op, "%s: the last value below offset %d is that of %s", c.describe(p.op), s.End, c.describe(last))
		}
		if !c.sawDigest(p) {
			continue
		}
		if digestKnown && op.Digest != s.Digest {
			return c.violation(last, p.op, "%s: the digest is %016x, want %016x, that of the records below", c.describe(p.op), op.Digest, s.Digest)
		}
		if !digestKnown {
			s.Digest, digestKnown, digestAt = op.Digest, true, n
		}
	}
	if c.window == nil {
		return nil
	}
	// To the read whose digest ends the last of these holes. Holes behind it can be
	// filled whatever is chosen here: what fits a hole fits every later one.
	return c.closeWindow(digestAt + 1)
}

func (c *check) sawDigest(p place) bool {
	op := &c.ops[p.op]
	return op.Kind == Read && op.Saw&SawDigest != 0
}

func (c *check) closeWindow(to int) *Violation {
	c.window.to, c.window.bound = to, never
	for _, p := range c.order[to:] {
		c.window.bound = min(c.window.bound, c.ops[p.op].returned())
	}
	return nil
}
