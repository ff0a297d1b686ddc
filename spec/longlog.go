package spec

// Logs of long traces. What most of them hold for good is held once, as a past: logs that
// have the same one are equal up to its end, and nobody has to look there again. Models
// never have one.

// longLog is the runs of a log that has outgrown its array: a past, and what follows it.
// It is never written again.
type longLog struct {
	past *past
	runs []Run
}

// past is the beginning of logs, up to end. It is never written again, and no run goes
// across its end.
type past struct {
	below *past // the beginning of the beginning
	runs  []Run // what follows that
	end   Offset
	// The last KRaftVoters record of it, see votersBelow.
	voters   Set
	votersAt Offset
	// follows: it is known to follow the starts of epochs (Ghost.follows).
	follows bool
}

func (p *past) last() Run { return p.runs[len(p.runs)-1] }

// all are the runs of a log, of which only those of what has no past are there already.
func (l *longLog) all() []Run {
	if l.past == nil {
		return l.runs
	}
	return l.above(nil)
}

// above are the runs behind a past that is one of its own, nil for the beginning.
func (l *longLog) above(p *past) []Run {
	if l.past == p {
		return l.runs
	}
	var parts [][]Run
	n := len(l.runs)
	for q := l.past; q != p; q = q.below {
		parts = append(parts, q.runs)
		n += len(q.runs)
	}
	runs := make([]Run, 0, n)
	for i := len(parts) - 1; i >= 0; i-- {
		runs = append(runs, parts[i]...)
	}
	return append(runs, l.runs...)
}

// with is the log with the records of one run more.
func (l *longLog) with(r Run) *longLog {
	p, tail := l.past, l.runs
	if len(tail) == 0 && p != nil && p.last().sameRecords(r) {
		p, tail = p.below, p.runs // the run goes on
	}
	runs := make([]Run, len(tail), len(tail)+1)
	copy(runs, tail)
	if k := len(runs); k > 0 && runs[k-1].sameRecords(r) {
		runs[k-1].Count += r.Count
	} else {
		runs = append(runs, r)
	}
	return &longLog{p, runs}
}

// tail are the runs behind the past.
func (l *Log) tail() []Run {
	if l.more != nil {
		return l.more.runs
	}
	return l.runs[:l.n]
}

// from are the runs from one that begins at or before an offset, and where it begins.
func (l *Log) from(o Offset) (Offset, []Run) {
	if l.more == nil {
		return 0, l.runs[:l.n]
	}
	p := l.more.past
	for p != nil && p.end > o {
		p = p.below
	}
	if p == nil {
		return 0, l.more.above(nil)
	}
	return p.end, l.more.above(p)
}

// backward shows the runs from the last to the first, with their ends, until it is told
// that it is enough.
func (l *Log) backward(show func(r Run, end Offset) (more bool)) {
	end, runs := l.end, l.tail()
	var p *past
	if l.more != nil {
		p = l.more.past
	}
	for {
		for i := len(runs) - 1; i >= 0; i-- {
			if !show(runs[i], end) {
				return
			}
			end -= Offset(runs[i].Count)
		}
		if p == nil {
			return
		}
		runs, p = p.runs, p.below
	}
}

// prefix is the log up to an offset within it, after 0.
func (l *Log) prefix(to Offset) Log {
	p, runs := l.more.past, l.more.runs
	for p != nil && p.end >= to {
		p, runs = p.below, p.runs
	}
	out := Log{large: l.large, end: to}
	left := int64(to)
	if p != nil {
		left -= int64(p.end)
	}
	kept := make([]Run, 0, len(runs))
	for _, r := range runs {
		if r.Count = min(r.Count, left); r.Count <= 0 {
			break
		}
		kept, left = append(kept, r), left-r.Count
	}
	if p == nil && len(kept) <= maxRuns {
		out.set(kept)
		return out
	}
	out.more = &longLog{p, kept}
	return out
}

// apart are the runs of two logs behind the past that they have in common, and where it
// ends.
func apart(a, b *Log) (Offset, []Run, []Run) {
	if a.more == nil || b.more == nil {
		return 0, a.Runs(), b.Runs()
	}
	p, q := a.more.past, b.more.past
	for p != q {
		switch {
		case q == nil || p != nil && p.end > q.end:
			p = p.below
		case p == nil || q.end > p.end:
			q = q.below
		default: // as long, and not known to be the same
			p, q = p.below, q.below
		}
	}
	if p == nil {
		return 0, a.Runs(), b.Runs()
	}
	return p.end, a.more.above(p), b.more.above(p)
}

// hasPast says whether a log begins with a past.
func (l *Log) hasPast(p *past) bool {
	if l.more == nil {
		return false
	}
	q := l.more.past
	for q != nil && q.end > p.end {
		q = q.below
	}
	return q == p
}

// settle makes a past of what is before the last run behind the present one.
func (l *Log) settle() *past {
	if l.more == nil || len(l.more.runs) < 2 {
		return nil
	}
	runs, last := l.more.runs, len(l.more.runs)-1
	p := &past{below: l.more.past, runs: runs[:last:last], end: l.end - Offset(runs[last].Count)}
	p.voters, p.votersAt = l.votersBelow(p.end)
	l.more = &longLog{p, runs[last:]}
	return p
}

// adopt lets a log begin with a past that it is known to hold.
func (l *Log) adopt(p *past) {
	if l.end < p.end || l.hasPast(p) {
		return
	}
	var runs []Run
	if l.end > p.end {
		var at Offset
		if at, runs = l.from(p.end); at < p.end {
			for at < p.end && len(runs) > 0 {
				at += Offset(runs[0].Count)
				runs = runs[1:]
			}
			if at != p.end {
				return // a run goes across
			}
		}
		runs = append([]Run(nil), runs...)
	}
	l.more = &longLog{p, runs}
}

// Condense lets the logs of a long trace, and its history, share what is exposed and all of
// them hold, but for the last run of it. It changes nothing that they say.
func Condense(g *Ghost, replicas []*Replica) {
	before := g.Exposed
	p := g.Exposed.settle()
	if p == nil {
		g.ExposedIn.settle()
		g.Chosen.settle()
		g.ChosenIn.settle()
		return
	}
	p.follows = g.follows(&Log{large: 1, end: p.end, more: &longLog{past: p}})
	share := func(l *Log) {
		if l.large == 1 && l.end >= p.end && CommonPrefix(l, &before) >= p.end {
			l.adopt(p)
		}
	}
	for _, r := range replicas {
		share(&r.Log)
		share(&r.Disk)
		share(&r.Fetching.Contents)
	}
	share(&g.Chosen)
	g.ExposedIn.settle()
	g.ChosenIn.settle()
}
