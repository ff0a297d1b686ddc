package kafkasql

import "github.com/quorate/quorate/checker"

// A's lock without what it is for: requests, quiet periods, leases, freezes and commits, but
// no images and no journal. Nothing in it is counted, so that it goes on for ever.

// lockOnly are the steps of whoever holds the lock.
func (m *machine) lockOnly(g *give, i int) {
	g.by(i, NoteOffsets, 0, m.freeze(&g.t, i))
	g.by(i, WriteDataChunk, 0, m.dump(&g.t, i))
	held := uint32(0)
	if g.s.CoordHolder == author(i, &g.s.I[i]) {
		held = 1
	}
	g.by(i, SendCommit, held, m.endDump(&g.t, i))
	g.by(i, ProbeKill, 0, m.rules.ProbeKills && g.s.I[i].Frozen == 1 && m.crash(&g.t, i))
}

func (m *machine) freeze(s *State, i int) bool {
	n := &s.I[i]
	if !m.Require(NoteOffsets, IsLocked, n.Step == Locked) {
		return false
	}
	n.Step, n.Frozen = Capturing, 1
	return true
}

func (m *machine) dump(s *State, i int) bool {
	n := &s.I[i]
	if n.Step != Capturing {
		return false
	}
	n.Step = Uploaded
	return true
}

// endDump appends the commit, which counts if in the order of the log the lock is still held.
func (m *machine) endDump(s *State, i int) bool {
	n := &s.I[i]
	if !m.Require(SendCommit, IsUploaded, n.Step == Uploaded) {
		return false
	}
	n.Step, n.Frozen = Idle, 0
	return m.release(s, i)
}

// bury renames an author that was killed. Its lives of before are told apart from the one
// that goes on, and not from each other: nothing that one of them wrote comes after what
// the next one did.
func (m *machine) bury(s *State, i int) {
	live, dead := author(i, &Instance{}), author(i, &Instance{Life: 1})
	rename := func(by *uint8) {
		if *by == live {
			*by = dead
		}
	}
	for c := range s.Coord {
		rename(&s.Coord[c].By)
	}
	for j := range s.I {
		rename(&s.I[j].FirstBy)
		rename(&s.I[j].Holder)
	}
	rename(&s.CoordHolder)
	rename(&s.OldFirst)
	rename(&s.OldHolder)
}

// Atoms of the lock.
const (
	Asked checker.Atoms = 1 << (iota + 3)
	Held
	LockOfNobody
	LockOfSomebody
	FrozenA
	UnfrozenA
)

func (m *machine) lockAtoms(s *State) (atoms checker.Atoms) {
	atoms |= LockOfSomebody
	if h := s.CoordHolder; h != 0 {
		if n := &s.I[instanceOf(h)-1]; author(int(instanceOf(h))-1, n) != h || n.Step < Locked {
			atoms ^= LockOfSomebody | LockOfNobody
		}
	}
	for i := range m.model.Instances {
		switch n := &s.I[i]; {
		case n.Step >= Locked:
			atoms |= Held
		case n.Step > Idle:
			atoms |= Asked
		}
	}
	if s.I[0].Frozen == 1 {
		return atoms | FrozenA
	}
	return atoms | UnfrozenA
}
