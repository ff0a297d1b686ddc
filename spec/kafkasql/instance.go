package kafkasql

// How an instance starts: it fixes the ends of both topics, restores an image or nothing,
// and replays the tail.

// start begins a life. What is on its own disk is used if it is of this journal.
func (m *machine) start(s *State, i int) bool {
	n := &s.I[i]
	if !m.Require(Start, IsDown, !n.up()) || n.Life == m.model.Lives && m.model.Lives > 0 {
		return false
	}
	if !m.takesPart(i) && s.NCommits == 0 {
		return false // nothing to be seen: it would replay the journal
	}
	if m.model.Lives > 0 {
		n.Life++
	}
	n.Phase, n.End, n.Must, n.CkEnd = Choosing, s.N, s.N, s.NCommits
	if m.rules.CachedEnd {
		n.End = n.Seen
	}
	n.Seen = 0
	if m.rules.ReusesLocal(s, &n.DB) && m.model.KeepDisk && n.DB.Schema <= n.Version {
		n.Phase, n.Pos = Replaying, m.rules.Resume(n.DB.Off)
		n.CkEnd = 0 // what it knows of images is no reason to trim: it reads from elsewhere
		n.migrate()
	} else {
		n.DB = DB{}
	}
	if m.model.Variant == A && m.takesPart(i) {
		n.FirstBy, n.Holder = s.OldFirst, s.OldHolder
		if m.rules.ForgetsOld {
			n.FirstBy, n.Holder, n.CoordPos = 0, 0, s.NCoord
		}
	}
	if m.model.LockOnly {
		n.Phase, n.DB = Ready, DB{Journal: 1, Schema: n.Version} // there is nothing to restore
	}
	return true
}

// choose takes the best commit that it knows and has not rejected.
func (m *machine) choose(s *State, i int) bool {
	n := &s.I[i]
	if !m.Require(Choose, IsChoosing, n.Phase == Choosing) {
		return false
	}
	c, ok := m.candidate(s, n)
	if !ok {
		return false
	}
	n.Phase, n.Cand = Chosen, uint8(c+1)
	return true
}

func (m *machine) candidate(s *State, n *Instance) (best int, ok bool) {
	for c := range int(n.CkEnd) {
		if n.Tried>>c&1 == 1 || s.Commits[c].Att == 0 || !m.rules.Visible(s, n, c) || !m.rules.Eligible(s, n, s.Commits[c]) {
			continue
		}
		if !ok || m.rules.Better(s, c, best) {
			best, ok = c, true
		}
	}
	return best, ok
}

// fetchImage reads what the store has under the key of the commit, or the range of A's data
// topic.
func (m *machine) fetchImage(s *State, i int) bool {
	n := &s.I[i]
	if !m.Require(FetchImage, IsChosen, n.Phase == Chosen) {
		return false
	}
	n.First, n.Second, n.Bad = m.bytesOf(s, s.Commits[n.Cand-1])
	n.Phase = Fetched
	return true
}

// bytesOf are the images whose halves a reader of a commit gets, and what is wrong with them.
func (m *machine) bytesOf(s *State, c Commit) (first, second, bad uint8) {
	if m.model.Variant != A {
		o := &s.Objects[c.Key-1]
		if o.Gone == 1 {
			return 0, 0, 0
		}
		return o.First, o.Second, o.Bad
	}
	return s.chunks(&s.Atts[c.Att-1], c.Att, m.rules.Tags)
}

// chunks reads a range of A's data topic; a later chunk replaces an earlier one.
func (s *State) chunks(a *Attempt, att uint8, tags bool) (first, second, bad uint8) {
	for at := max(a.From, s.DataStart); at < a.To; at++ {
		by, half := s.Data[at]>>1, s.Data[at]&1
		switch {
		case tags && by != att:
		case half == 0:
			first = by
		default:
			second = by
		}
	}
	return first, second, 0
}

// available says whether all of an image can be read, by a reader who knows chunks apart.
func (s *State) available(c Commit) bool {
	a := &s.Atts[c.Att-1]
	if a.To > 0 {
		first, second, _ := s.chunks(a, c.Att, true)
		return first == c.Att && second == c.Att
	}
	return s.intact(c)
}

// rejectImage: size or digest are not those of the commit, or a half is missing.
func (m *machine) rejectImage(s *State, i int) bool {
	n := &s.I[i]
	if !m.Require(RejectImage, IsFetched, n.Phase == Fetched) ||
		!m.Require(RejectImage, NotAccepted, !m.rules.Accepts(s, n, s.Commits[n.Cand-1])) {
		return false
	}
	n.Tried |= 1 << (n.Cand - 1)
	n.Phase, n.Cand, n.First, n.Second, n.Bad = Choosing, 0, 0, 0, 0
	if !m.rules.FallsBack {
		n.end(GaveUp)
		n.DB = DB{}
	}
	return true
}

// install puts an image in the place of the database, by a rename. What was fetched is of
// two halves: the rows, and all else. An image of an older schema is migrated before.
func (m *machine) install(s *State, i int) bool {
	n := &s.I[i]
	c := s.Commits[n.Cand-1]
	if !m.Require(Install, IsFetched, n.Phase == Fetched || n.Phase == Installing) ||
		!m.Require(Install, IsAccepted, n.Phase == Installing || m.rules.Accepts(s, n, c)) {
		return false
	}
	if m.rules.InPlace && n.Phase == Fetched {
		n.DB = m.assemble(s, n, c)
		n.DB.Rows, n.DB.Has = [MaxRows]uint8{}, 0
		n.Phase = Installing
		return true
	}
	n.DB = m.assemble(s, n, c)
	n.migrate()
	n.Phase, n.Pos = Replaying, m.rules.Resume(n.DB.Off)
	if s.Best == 0 || m.better(s, c) {
		s.Best = n.Cand
	}
	n.Cand, n.First, n.Second, n.Bad, n.Tried = 0, 0, 0, 0, 0
	return true
}

// better says whether a commit is further than all that anybody has restored.
func (m *machine) better(s *State, c Commit) bool {
	best, now := &s.Atts[s.Commits[s.Best-1].Att-1], &s.Atts[c.Att-1]
	return !s.lineage(best.Journal, best.Off, best.Epoch) || now.Off > best.Off
}

// assemble makes a database of what was fetched. In A and B the commit says the offset, in
// T the image does.
func (m *machine) assemble(s *State, n *Instance, c Commit) DB {
	var db DB
	if n.Second != 0 {
		db = s.Atts[n.Second-1].Img
	}
	db.Rows = [MaxRows]uint8{}
	if n.First != 0 {
		db.Rows = s.Atts[n.First-1].Img.Rows
	}
	if n.Bad == 1 {
		db.Rows[0] ^= 8 // a flipped bit in a text
	}
	if n.First != n.Second {
		db.Has = 0
	}
	a := &s.Atts[c.Att-1]
	db.Off, db.Epoch, db.Journal = a.Off, a.Epoch, a.Journal
	return db
}

// migrate brings the schema up to that of the program.
func (n *Instance) migrate() { n.DB.Schema = max(n.DB.Schema, n.Version) }

// replayAll begins with nothing, which only a journal that is whole allows.
func (m *machine) replayAll(s *State, i int) bool {
	n := &s.I[i]
	_, ok := m.candidate(s, n)
	if !m.Require(ReplayAll, IsChoosing, n.Phase == Choosing) ||
		!m.Require(ReplayAll, NoCandidate, !ok) ||
		!m.Require(ReplayAll, JournalWhole, s.LogStart == 0 || m.rules.Guesses) {
		return false
	}
	n.DB = DB{Journal: s.Journal, Schema: n.Version}
	n.Phase, n.Pos, n.Tried = Replaying, s.LogStart, 0
	return true
}

// giveUp: without a usable image, and with records missing in front, there is no state to
// be had. It ends with an error that names the first missing offset.
func (m *machine) giveUp(s *State, i int) bool {
	n := &s.I[i]
	_, ok := m.candidate(s, n)
	if !m.Require(GiveUp, IsChoosing, n.Phase == Choosing) ||
		!m.Require(GiveUp, HasHole, s.LogStart > 0 && !m.rules.Guesses) ||
		!m.Require(GiveUp, NoCandidate, !ok) {
		return false
	}
	n.end(GaveUp)
	m.forget(n)
	return true
}

// outOfRange: what it reads next has been trimmed. It ends, rather than to go on behind the
// hole.
func (m *machine) outOfRange(s *State, i int) bool {
	n := &s.I[i]
	if !m.Require(OutOfRange, IsReading, n.reading()) ||
		!m.Require(OutOfRange, NotCut, n.Cut == 0) ||
		!m.Require(OutOfRange, BelowStart, n.Pos < s.LogStart) {
		return false
	}
	if m.rules.Resets {
		n.Pos = s.LogStart
		return true
	}
	n.end(GaveUp)
	m.forget(n)
	return true
}

// becomeReady: all that was in the journal when it started is applied.
func (m *machine) becomeReady(s *State, i int) bool {
	n := &s.I[i]
	if n.Applied == 1 ||
		!m.Require(BecomeReady, IsReplaying, n.Phase == Replaying) ||
		!m.Require(BecomeReady, ReachedEnd, n.Pos >= m.rules.End(s, n)) ||
		!m.Require(BecomeReady, RecordIsThere, n.Pos >= s.LogStart) {
		return false
	}
	n.Phase, n.End, n.Must, n.CkEnd, n.Lagged = Ready, 0, 0, 0, 0
	return true
}

// noticeRewind: the journal has lost what it applied; its consumer says so, and it ends.
// Its database says of which epoch it is, and will not be used.
func (m *machine) noticeRewind(s *State, i int) bool {
	n := &s.I[i]
	if !m.Require(NoticeRewind, IsUp, n.up()) || !m.Require(NoticeRewind, IsCut, n.Cut == 1) {
		return false
	}
	n.end(Down)
	m.forget(n)
	return true
}

// forget loses a database that is not on a disk.
func (m *machine) forget(n *Instance) {
	if !m.model.KeepDisk {
		n.DB = DB{}
	}
}
