package kafkasqlc

// start begins a life. The database is empty; what is on the disk stays.
func (m *machine) start(s *State, i int) bool {
	n := &s.I[i]
	if n.Phase != Down {
		return false
	}
	n.Life++
	n.Phase, n.Must = Scanning, s.N
	return true
}

// scanSnapshots reads the snapshots topic to its end, and restores the last one whose file is
// on the disk of this instance.
func (m *machine) scanSnapshots(s *State, i int) bool {
	n := &s.I[i]
	if n.Phase != Scanning && (n.Phase != Scanned || !m.rules.BootsFirst) || n.Phase == Scanning && m.rules.BootsFirst {
		return false
	}
	for at := range s.NTopic {
		if id := s.Topic[at]; id > 0 && n.Files>>id&1 == 1 {
			n.Skip, n.Has = id, s.Image[id-1]
		}
	}
	n.Phase, n.Pos = Scanned, s.LogStart
	if m.rules.BootsFirst {
		n.Phase = Booted
	}
	return true
}

// bootstrap appends the marker for which it will wait, and reads the journal from its
// beginning.
func (m *machine) bootstrap(s *State, i int) bool {
	n := &s.I[i]
	if n.Phase != Scanned && !m.rules.BootsFirst || n.Phase != Scanning && m.rules.BootsFirst || s.N == MaxJournal {
		return false
	}
	s.J[s.N] = Record{Boot, author(i, n)}
	s.N++
	n.Phase, n.Pos = Booted, s.LogStart
	if m.rules.BootsFirst {
		n.Phase = Scanned
	}
	return true
}

// reads says whether there is a record for an instance. Its consumer begins at the earliest
// one there is, and again where that is deleted under it.
func (s *State) reads(n *Instance) bool {
	n.Pos = max(n.Pos, s.LogStart)
	return (n.Phase == Booted || n.Phase == Ready) && n.Pos < s.N
}

// skip throws away a record that the restored file has, up to its marker.
func (m *machine) skip(s *State, i int) bool {
	n := &s.I[i]
	if !s.reads(n) || n.Skip == 0 {
		return false
	}
	if r := s.J[n.Pos]; r.Kind == Marker && r.Number == n.Skip {
		n.Skip = 0
	}
	n.Pos++
	return true
}

// apply applies an operation. Markers of others are passed over, and so is one that this
// instance does not remember.
func (m *machine) apply(s *State, i int) bool {
	n := &s.I[i]
	if !s.reads(n) || n.Skip != 0 {
		return false
	}
	switch r := s.J[n.Pos]; r.Kind {
	case Operation:
		n.Has |= 1 << n.Pos
	case Marker:
		if n.Slot>>r.Number&1 == 1 {
			return false // it dumps
		}
	case Boot:
		if m.isMine(i, n, r) && n.Phase == Booted {
			return false // it becomes ready
		}
	}
	n.Pos++
	return true
}

func (m *machine) isMine(i int, n *Instance, r Record) bool {
	return r.Number == author(i, n) || m.rules.AnyBoot
}

// becomeReady: the marker that it waits for has come round.
func (m *machine) becomeReady(s *State, i int) bool {
	n := &s.I[i]
	if !s.reads(n) || n.Phase != Booted || n.Skip != 0 || s.J[n.Pos].Kind != Boot || !m.isMine(i, n, s.J[n.Pos]) {
		return false
	}
	n.Pos++
	n.Phase, n.Must = Ready, 0
	return true
}

// trigger: a request, or a timer, asks for a snapshot; it appends the marker, remembers it,
// and waits.
func (m *machine) trigger(s *State, i int) bool {
	n := &s.I[i]
	if n.Phase != Ready || s.Asked == m.model.Snapshots || s.N == MaxJournal || n.Waits != 0 && !m.rules.TwoAtOnce {
		return false
	}
	s.Asked++
	id := s.Asked
	s.J[s.N] = Record{Marker, id}
	s.N++
	n.Waits |= 1 << id
	n.Slot = 1 << id
	return true
}

// dump: the thread that applies has come to a marker that it remembers.
func (m *machine) dump(s *State, i int) bool {
	n := &s.I[i]
	if !s.reads(n) || n.Skip != 0 || s.J[n.Pos].Kind != Marker || n.Slot>>s.J[n.Pos].Number&1 == 0 {
		return false
	}
	id := s.J[n.Pos].Number
	s.Image[id-1] = n.Has
	n.Files |= 1 << id
	n.Dumped |= 1 << id
	n.Pos++
	return true
}

// appendSnapshotRecord: the request that has waited makes the file known.
func (m *machine) appendSnapshotRecord(s *State, i int, id uint8) bool {
	n := &s.I[i]
	if n.Waits>>id&1 == 0 || n.Dumped>>id&1 == 0 || s.NTopic == MaxSnapshots {
		return false
	}
	s.Topic[s.NTopic] = id
	s.NTopic++
	n.Waits &^= 1 << id
	n.Dumped &^= 1 << id
	return true
}

// waiterTimeout: the request has waited too long, and goes. What it would have made known
// nobody does.
func (m *machine) waiterTimeout(s *State, i int, id uint8) bool {
	n := &s.I[i]
	if !m.rules.TimesOut || n.Waits>>id&1 == 0 {
		return false
	}
	n.Waits &^= 1 << id
	return true
}

// crash ends a process. Its files stay.
func (m *machine) crash(s *State, i int) bool {
	n := &s.I[i]
	if n.Phase == Down {
		return false
	}
	*n = Instance{Life: n.Life, Files: n.Files}
	return true
}

// loseDisk takes the files of an instance that is down: it starts somewhere else.
func (m *machine) loseDisk(s *State, i int) bool {
	n := &s.I[i]
	if n.Phase != Down || n.Files == 0 {
		return false
	}
	n.Files = 0
	return true
}

// retentionByTime deletes the oldest record that there is; a slow one, what everybody who is up
// has read.
func (m *machine) retentionByTime(s *State) bool {
	if !m.rules.ExpiresByTime || s.LogStart == s.N {
		return false
	}
	for i := range m.model.Instances {
		if n := &s.I[i]; n.Phase >= Booted && n.Pos <= s.LogStart && !m.rules.ExpiresUnread {
			return false
		}
	}
	s.LogStart++
	return true
}
