package kafkasql

// Variant A: a lock on a coordination topic, and images in a data topic that all share.
// The order of the log is the arbiter; what an instance has read of it may be old.

// author is an instance in one of its lives, as its records name it.
func author(i int, n *Instance) uint8 { return uint8(i+1) | n.Life<<2 }

// instanceOf is the number, 1 and up, of an author.
func instanceOf(by uint8) uint8 { return by & 3 }

// say appends to the coordination topic. The last lock in the order of the log holds.
// Whoever has read all before has read this as well.
func (m *machine) say(s *State, n *Instance, k CoordKind, by uint8) bool {
	if int(s.NCoord) == m.model.Unread {
		return false
	}
	if n.CoordPos == s.NCoord {
		n.CoordPos++
		if k == Request {
			n.FirstBy, _ = fold(n.FirstBy, n.Holder, Coord{k, by})
		}
	}
	s.Coord[s.NCoord] = Coord{k, by}
	s.NCoord++
	switch {
	case k == Lock:
		s.CoordHolder = by
	case k == Done && s.CoordHolder == by:
		s.CoordHolder = 0
	}
	m.shift(s)
	return true
}

// fold is what a record changes in what its reader knows.
func fold(first, holder uint8, c Coord) (uint8, uint8) {
	switch c.Kind {
	case Request:
		if first == 0 && holder == 0 {
			first = c.By
		}
	case Lock:
		return 0, c.By
	case Done:
		if holder == c.By || holder == 0 {
			return 0, 0
		}
	}
	return first, holder
}

// sendRequest: an instance wants to make a checkpoint, and knows of nobody who does.
func (m *machine) sendRequest(s *State, i int) bool {
	n := &s.I[i]
	if !m.model.LockOnly && int(s.NAtts) == m.model.Attempts ||
		!m.Require(SendRequest, IsReady, n.Phase == Ready) ||
		!m.Require(SendRequest, LockFree, n.Holder == 0) ||
		!m.Require(SendRequest, IsDue, m.rules.Wants(s, i)) ||
		!m.Require(SendRequest, HasApplied, m.model.LockOnly || n.DB.Off > 0) {
		return false
	}
	again := n.Step == Requested && n.FirstBy != 0 && n.FirstBy != author(i, n)
	if !m.Require(SendRequest, NobodyFirst, !m.rules.KeepsSilence || n.FirstBy == 0) ||
		!m.Require(SendRequest, NoAttempt, n.Step == Idle || again) {
		return false
	}
	n.Step = Requested
	return m.say(s, n, Request, author(i, n))
}

// confirmRequest: its request was the first in the order of the log. It says so again.
func (m *machine) confirmRequest(s *State, i int) bool {
	n := &s.I[i]
	if !m.Require(ConfirmRequest, IsRequested, n.Step == Requested) ||
		!m.Require(ConfirmRequest, IsFirst, n.FirstBy == author(i, n)) {
		return false
	}
	n.Step = Confirming
	return m.say(s, n, Request, author(i, n))
}

// sendLock: the quiet period is over. It is longer than it takes to read the topic to its
// end, and whatever is appended meanwhile begins it again.
func (m *machine) sendLock(s *State, i int) bool {
	n := &s.I[i]
	if !m.Require(SendLock, IsConfirming, n.Step == Confirming) ||
		!m.Require(SendLock, HasReadAll, n.CoordPos == s.NCoord) {
		return false
	}
	n.Step, n.Holder, n.FirstBy = Locked, author(i, n), 0
	return m.say(s, n, Lock, author(i, n))
}

// observeCoord reads one record.
func (m *machine) observeCoord(s *State, i int) bool {
	n := &s.I[i]
	if n.CoordPos >= s.NCoord || !m.Require(ObserveCoord, IsUp, n.up()) {
		return false
	}
	c, own := s.Coord[n.CoordPos], author(i, n)
	n.CoordPos++
	holds := n.Step >= Locked
	first, holder := fold(n.FirstBy, n.Holder, c)
	switch {
	case c.By == own: // its own lock it knew already
		if c.Kind == Request && !holds {
			n.FirstBy = first
		}
		if c.Kind == Done {
			n.FirstBy, n.Holder = first, holder
		}
	case holds && c.Kind == Lock && !m.rules.CommitAfterLoss,
		holds && c.Kind == Request && m.rules.AbortsOnRequest:
		n.FirstBy, n.Holder = first, holder
		if c.Kind == Request {
			n.FirstBy, n.Holder = c.By, 0
		}
		m.abort(n)
	case holds:
	case c.Kind == Request:
		n.FirstBy = first
	default:
		n.FirstBy, n.Holder = first, holder
		if n.Step == Requested || n.Step == Confirming {
			n.Step = Idle
		}
	}
	m.shift(s)
	return true
}

// shift forgets coordination records that everybody who is up has read.
func (m *machine) shift(s *State) {
	read := s.NCoord
	for i := range m.model.Instances {
		if n := &s.I[i]; n.up() && m.takesPart(i) {
			read = min(read, n.CoordPos)
		}
	}
	for _, c := range s.Coord[:read] {
		s.OldFirst, s.OldHolder = fold(s.OldFirst, s.OldHolder, c)
	}
	copy(s.Coord[:], s.Coord[read:])
	clear(s.Coord[MaxCoord-read:])
	s.NCoord -= read
	for i := range m.model.Instances {
		if n := &s.I[i]; n.up() && m.takesPart(i) {
			n.CoordPos -= read
		}
	}
}

// takesPart says whether an instance makes checkpoints.
func (m *machine) takesPart(i int) bool { return !m.model.Readers || i < m.model.Up }

// abort ends an attempt.
func (m *machine) abort(n *Instance) {
	n.Att, n.Step, n.Begun = 0, Idle, 0
	if m.rules.Unfreezes {
		n.Frozen = 0
	}
}

// leaseExpires: nothing was heard of who requested, or holds the lock, for too long.
func (m *machine) leaseExpires(s *State, i int) bool {
	n := &s.I[i]
	by := max(n.Holder, n.FirstBy)
	if by == 0 || n.Holder != 0 && !m.rules.LocksExpire ||
		!m.Require(LeaseExpires, IsReady, n.Phase == Ready) ||
		!m.Require(LeaseExpires, NotHolding, n.Step < Locked) ||
		!m.Require(LeaseExpires, NotOwn, by != author(i, n)) ||
		!m.Require(LeaseExpires, HasReadAll, !m.rules.JudgesAtEnd || n.CoordPos == s.NCoord) ||
		!m.Require(LeaseExpires, IsSilent, !m.model.BoundedClocks || m.rules.TrustsSilence || !m.refreshes(s, by, n.Holder != 0)) {
		return false
	}
	n.FirstBy, n.Holder = 0, 0
	if n.Step == Requested { // behind the one that has expired
		if m.rules.KeepsAsking {
			n.FirstBy = author(i, n)
		} else {
			n.Step = Idle
		}
	}
	return true
}

// refreshes says whether an author is heard of: it holds the lock, or is about to take it.
// Who waits for another one's request says nothing.
func (m *machine) refreshes(s *State, by uint8, lock bool) bool {
	n := &s.I[instanceOf(by)-1]
	switch {
	case !n.up() || n.Paused == 1 || author(int(instanceOf(by))-1, n) != by:
		return false
	case lock || n.Step != Requested:
		return n.Step >= Locked || n.Step == Confirming && !lock
	}
	return m.rules.WaitersRefresh || n.FirstBy == 0 || n.FirstBy == by
}

// noteOffsets takes the instance out of traffic, and notes what it has applied and where
// its range of the data topic begins.
func (m *machine) noteOffsets(s *State, i int) bool {
	n := &s.I[i]
	if int(s.NAtts) == m.model.Attempts || !m.Require(NoteOffsets, IsLocked, n.Step == Locked) {
		return false
	}
	s.NAtts++
	n.Att, n.Step, n.Frozen = s.NAtts, Capturing, 1
	s.Atts[n.Att-1] = Attempt{
		By: uint8(i + 1), Off: n.Pos, Epoch: n.DB.Epoch, Journal: n.DB.Journal, From: s.NData,
		Img: DB{Off: n.DB.Off, Epoch: n.DB.Epoch, Journal: n.DB.Journal}, Ahead: n.Ahead,
	}
	return true
}

// writeDataChunk dumps half of the database: the rows, then all else. twice: the
// acknowledgement was lost, and the record is there twice.
func (m *machine) writeDataChunk(s *State, i int, twice bool) bool {
	n := &s.I[i]
	if n.Att == 0 || n.Step != Capturing && n.Step != HalfUploaded {
		return false
	}
	a, db := &s.Atts[n.Att-1], m.rules.Image(n.DB)
	half := uint8(0)
	if n.Step == Capturing {
		a.Img.Rows, a.Img.Has = db.Rows, db.Has
		n.Step = HalfUploaded
	} else {
		half = 1
		a.Img.Counter, a.Img.Schema = db.Counter, db.Schema
		n.Step = Uploaded
	}
	times := 1
	if twice && !m.rules.Idempotent {
		times = 2
	}
	for range times {
		if s.NData == MaxData {
			return false
		}
		s.Data[s.NData] = n.Att<<1 | half
		s.NData++
	}
	return true
}

// sendCommit makes the range known, if in the order of the log the lock is still held;
// whoever reads it sees whether it was. The instance goes back to its clients.
func (m *machine) sendCommit(s *State, i int) bool {
	n := &s.I[i]
	if n.Att == 0 || s.NCommits == MaxCommits || !m.Require(SendCommit, IsUploaded, n.Step == Uploaded) {
		return false
	}
	a := &s.Atts[n.Att-1]
	a.To = s.NData
	c := Commit{Att: n.Att, Key: n.Att}
	if s.CoordHolder != author(i, n) {
		c.Fenced = 1
	}
	s.Commits[s.NCommits] = c
	s.NCommits++
	n.Att, n.Step, n.Frozen = 0, Idle, 0
	return m.release(s, i)
}

// release appends that the lock is free. Its holder takes it so when it has read that: what
// others asked for before is older than that.
func (m *machine) release(s *State, i int) bool {
	n := &s.I[i]
	if n.CoordPos == s.NCoord {
		n.Holder, n.FirstBy = 0, 0
	}
	return m.say(s, n, Done, author(i, n))
}

// trimData deletes what lies before the range of the newest commit from A's data topic.
func (m *machine) trimData(s *State) bool {
	if !m.rules.TrimsData || s.NCommits == 0 {
		return false
	}
	from := s.Atts[s.Commits[s.NCommits-1].Att-1].From
	if from <= s.DataStart {
		return false
	}
	s.DataStart = from
	return true
}
