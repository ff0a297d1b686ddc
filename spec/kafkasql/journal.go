package kafkasql

// What operations do to a database, and what a journal amounts to.

// effect applies a record to the rows. It says whether that was more than a rejection,
// which is deterministic: the same on every instance.
func (db *DB) effect(r Record, stamp uint8) bool {
	switch r.Kind {
	case Create, CreateV2:
		if db.Counter == MaxRows {
			return false
		}
		db.Counter++
		db.Rows[db.Counter-1] = r.Number | stamp
		return true
	case Delete:
		id := db.highest()
		if id > 0 {
			db.Rows[id-1] = 0
		}
		return id > 0
	}
	return r.Kind == Touch
}

// highest is the highest id of a row, 0 for none.
func (db *DB) highest() uint8 {
	id := uint8(MaxRows)
	for id > 0 && db.Rows[id-1] == 0 {
		id--
	}
	return id
}

// replay is F(k): what the first k records of the journal amount to, those that have been
// trimmed included.
func (s *State) replay(k uint8) DB {
	db := DB{Journal: s.Journal}
	for off := range min(k, s.N) {
		db.effect(s.J[off], 0)
		db.Off, db.Epoch = off+1, s.J[off].Epoch
		db.Has |= 1 << off
	}
	return db
}

// sameContent compares what a client can see or will see of two databases.
func sameContent(a, b DB) bool {
	return a.Rows == b.Rows && a.Counter == b.Counter
}

// appendRecord adds a record at the end.
func (s *State) appendRecord(r Record) bool {
	if s.N == MaxJournal {
		return false
	}
	r.Epoch = s.JEpoch
	s.J[s.N] = r
	s.N++
	return true
}

// apply is one record, and its offset row in the same transaction. A client that waits for
// it is answered.
func (m *machine) apply(s *State, i int) bool {
	n := &s.I[i]
	if !m.applyRecord(s, n, i) {
		return false
	}
	if n.Wait != 0 && n.Wait == n.Pos {
		n.Acked |= 1 << (n.Wait - 1)
		n.Wait = 0
	}
	return true
}

func (m *machine) applyRecord(s *State, n *Instance, i int) bool {
	if n.Pos >= s.N ||
		!m.Require(Apply, IsReading, n.reading()) ||
		!m.Require(Apply, NotCut, n.Cut == 0) ||
		!m.Require(Apply, NotFrozen, n.Frozen == 0 || !m.rules.FreezeHolds) ||
		!m.Require(Apply, NotCapturing, !m.rules.BlocksApply || n.Step != Capturing || n.Att == 0) ||
		!m.Require(Apply, RecordIsThere, n.Pos >= s.LogStart) {
		return false
	}
	r := s.J[n.Pos]
	switch {
	case r.Kind == CreateV2 && n.Version < 2:
		if !m.rules.SkipsUnknown { // it may miss nothing: it ends, and another version has to start
			n.end(GaveUp)
			m.forget(n)
			return true
		}
	case m.rules.SplitsTransaction && n.Applied == 0:
		n.DB.effect(r, 0)
		n.DB.Has |= 1 << n.Pos
		n.Applied = 1
		return true
	case m.rules.SplitsTransaction:
		n.Applied = 0
	case m.rules.TwoPartitions && n.Applied == 1:
		n.DB.effect(r, 0)
		n.DB.Has |= 1 << n.Pos
		n.Applied = 0
		n.Pos += 2
		return true
	default:
		took := n.DB.effect(r, m.rules.Stamp(i))
		n.DB.Has |= 1 << n.Pos
		if !took && m.rules.CountsEffects {
			n.Pos++
			return true
		}
		if m.rules.CountsEffects {
			n.Pos++
			n.DB.Off, n.DB.Epoch = n.DB.Off+1, r.Epoch
			return true
		}
		if !took && m.rules.RejectedKeepsRow {
			n.Pos++
			return true
		}
	}
	n.Pos++
	n.DB.Off, n.DB.Epoch = n.Pos, r.Epoch
	return true
}

// applyOther takes the record of the other partition first: a mutation.
func (m *machine) applyOther(s *State, i int) bool {
	n := &s.I[i]
	if !m.rules.TwoPartitions || n.Applied == 1 || n.Phase != Replaying && n.Phase != Ready || n.Cut == 1 || n.Pos+1 >= s.N || n.Pos < s.LogStart {
		return false
	}
	n.DB.effect(s.J[n.Pos+1], 0)
	n.DB.Has |= 1 << (n.Pos + 1)
	n.DB.Off, n.Applied = n.Pos+2, 1
	return true
}

// end is the end of a process: its memory is gone.
func (n *Instance) end(to Phase) {
	keep := Instance{Phase: to, Version: n.Version, Life: n.Life, DB: n.DB, Unsure: n.Unsure, Ahead: n.Ahead}
	*n = keep
}
