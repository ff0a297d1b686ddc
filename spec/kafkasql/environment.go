package kafkasql

// What is done to everybody: clients, whoever tidies up, and what goes wrong.

// operation is the next one of the script of a model.
func (m *machine) operation(s *State) (Record, bool) {
	if m.model.Endless { // replay keeps up with what is written
		for i := range m.model.Instances {
			if n := &s.I[i]; n.Phase >= Replaying && n.up() && n.Pos+2 <= s.N {
				return Record{}, false
			}
		}
		return Record{Kind: Touch, Number: 1}, s.N < 4
	}
	if int(s.Ops) >= len(m.model.Script) {
		return Record{}, false
	}
	return Record{Kind: m.model.Script[s.Ops], Number: s.Ops + 1}, true
}

// write appends an operation that nobody in the model waits for.
func (m *machine) write(s *State) bool {
	r, ok := m.operation(s)
	if !ok {
		return false
	}
	if !m.model.Endless {
		s.Ops++
	}
	return s.appendRecord(r)
}

// slide forgets what all have applied: so a model is finite in which clients write for ever. Only
// records that change nothing are written, and nobody is down.
func (m *machine) slide(s *State) {
	by := s.N
	for i := range m.model.Instances {
		n := &s.I[i]
		if n.Phase != Replaying && n.Phase != Ready {
			return
		}
		by = min(by, n.Pos)
	}
	copy(s.J[:], s.J[by:])
	clear(s.J[MaxJournal-by:])
	s.N -= by
	for i := range m.model.Instances {
		n := &s.I[i]
		n.Pos, n.DB.Off, n.DB.Has = n.Pos-by, n.DB.Off-by, n.DB.Has>>by
		n.End, n.Must = n.End-min(n.End, by), n.Must-min(n.Must, by)
		if n.Pos == 0 {
			n.DB.Epoch = 0
		}
	}
}

// request appends an operation for a client of an instance, which waits until that very
// instance has applied it. lost: the acknowledgement of the journal is.
func (m *machine) request(s *State, i int, lost bool) bool {
	n := &s.I[i]
	r, ok := m.operation(s)
	if !ok ||
		!m.Require(Append, NotWaiting, n.Wait == 0) ||
		!m.Require(Append, NotUnsure, n.Unsure == 0) ||
		!m.Require(Append, NotCut, n.Cut == 0) ||
		!m.Require(Append, IsReady, n.Phase == Ready || m.rules.TakesEarly && n.restoring()) {
		return false
	}
	r.By = uint8(i + 1)
	s.Ops++
	if !s.appendRecord(r) {
		return false
	}
	switch {
	case lost:
		n.Unsure = r.Number
	case !m.rules.RegistersFirst:
		n.Unregistered = s.N
	case m.rules.AnswersAtAppend:
		n.Acked |= 1 << (s.N - 1)
	default:
		n.Wait = s.N
	}
	return true
}

// register is a waiter that comes after its record.
func (m *machine) register(s *State, i int) bool {
	n := &s.I[i]
	if n.Unregistered == 0 {
		return false
	}
	n.Wait, n.Unregistered = n.Unregistered, 0
	return true
}

// retryAppend sends again what was not acknowledged. The journal knows it, by producer and
// sequence number.
func (m *machine) retryAppend(s *State, i int) bool {
	n := &s.I[i]
	if n.Unsure == 0 ||
		!m.Require(RetryAppend, IsReady, n.Phase == Ready) ||
		!m.Require(RetryAppend, NotCut, n.Cut == 0) {
		return false
	}
	at := uint8(0)
	for off, r := range s.J[:s.N] {
		if r.Number == n.Unsure {
			at = uint8(off + 1)
		}
	}
	if !m.rules.Idempotent || at == 0 {
		if !s.appendRecord(Record{Kind: m.model.Script[n.Unsure-1], Number: n.Unsure, By: uint8(i + 1)}) {
			return false
		}
		at = s.N
	}
	n.Unsure = 0
	if at > n.Pos {
		n.Wait = at
	} else {
		n.Acked |= 1 << (at - 1)
	}
	return true
}

// trimJournal deletes what enough verified images cover.
func (m *machine) trimJournal(s *State) bool {
	to := min(m.rules.TrimTo(s), s.N)
	if to <= s.LogStart {
		return false
	}
	s.LogStart, s.Hurt = to, 0
	return true
}

// retentionByTime deletes records because they are old.
func (m *machine) retentionByTime(s *State) bool {
	if !m.rules.ExpiresByTime || s.LogStart == s.N {
		return false
	}
	s.LogStart++
	return true
}

// collectGarbage deletes an object that is of no use.
func (m *machine) collectGarbage(s *State, key uint8) bool {
	o := &s.Objects[key-1]
	if o.First == 0 || o.Gone == 1 || !m.Require(CollectGarbage, IsGarbage, m.rules.Collects(s, key)) {
		return false
	}
	*o = Object{First: o.First, Gone: 1}
	return true
}

// damageObject: what the store gives back is not what was written. Nobody notices before
// somebody reads it.
func (m *machine) damageObject(s *State, key uint8) bool {
	o := &s.Objects[key-1]
	if o.First == 0 || o.Second == 0 || o.Bad == 1 || o.Gone == 1 {
		return false
	}
	o.Bad = 1
	s.Hurt++
	return true
}

// crash ends a process.
func (m *machine) crash(s *State, i int) bool {
	n := &s.I[i]
	if !m.Require(Crash, IsUp, n.up()) {
		return false
	}
	if m.rules.CachedEnd {
		n.Seen = n.Pos
	}
	seen := n.Seen
	n.end(Down)
	n.Seen = seen
	m.forget(n)
	if m.model.LockOnly {
		m.bury(s, i)
	}
	if m.model.Variant == A {
		m.shift(s)
	}
	return true
}

// loseDisk takes the database of an instance that is down.
func (m *machine) loseDisk(s *State, i int) bool {
	n := &s.I[i]
	if n.DB == (DB{}) || !m.Require(LoseDisk, IsDown, !n.up()) {
		return false
	}
	n.DB = DB{}
	return true
}

// pause stops a process in the middle of something, for longer than any lease or grace
// period.
func (m *machine) pause(s *State, i int) bool {
	n := &s.I[i]
	if n.Paused == 1 || n.Step == Idle && !n.restoring() {
		return false
	}
	n.Paused = 1
	if n.restoring() {
		n.Lagged = 1
	}
	return true
}

func (m *machine) resume(s *State, i int) bool {
	n := &s.I[i]
	if n.Paused == 0 {
		return false
	}
	n.Paused = 0
	return true
}

// rewindJournal: a leader that lacks the tail is elected all the same, and the journal goes
// on from there in a new epoch.
func (m *machine) rewindJournal(s *State, to uint8) bool {
	if to >= s.N || to < s.LogStart {
		return false
	}
	clear(s.J[to:])
	s.N = to
	s.JEpoch++
	m.cut(s, func(n *Instance) bool { return n.DB.Off > to || n.Pos > to })
	for i := range s.I {
		n := &s.I[i]
		n.End, n.Must = min(n.End, to), min(n.Must, to)
	}
	return true
}

// recreateJournal: the topic is deleted, and there is another one of its name.
func (m *machine) recreateJournal(s *State) bool {
	s.J, s.N, s.LogStart, s.JEpoch = [MaxJournal]Record{}, 0, 0, 1
	s.Journal++
	m.cut(s, func(*Instance) bool { return true })
	return true
}

func (m *machine) cut(s *State, whom func(n *Instance) bool) {
	for i := range s.I {
		if n := &s.I[i]; n.up() && n.Phase >= Replaying && whom(n) {
			n.Cut = 1
		} else if n.up() && n.Phase < Replaying {
			n.end(Down) // it is told so when it begins to read, and starts again
			m.forget(n)
		}
	}
}

// clockJump sets a clock an hour ahead.
func (m *machine) clockJump(s *State, i int) bool {
	n := &s.I[i]
	n.Ahead ^= 1
	return true
}

// install another version of the program, while it does not run.
func (m *machine) changeVersion(s *State, i int, to uint8) bool {
	n := &s.I[i]
	if n.Version == to || !m.Require(ChangeVersion, IsDown, !n.up() && (m.model.KeepDisk || n.DB == (DB{}))) {
		return false
	}
	n.Version = to
	return true
}

// cleanUp deletes a row that the instance takes for an orphan: a mutation.
func (m *machine) cleanUp(s *State, i int) bool {
	n := &s.I[i]
	id := n.DB.highest()
	if !m.rules.Cleans || n.Phase != Ready || id == 0 {
		return false
	}
	n.DB.Rows[id-1] = 0
	return true
}
