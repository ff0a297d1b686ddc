package spec

import (
	"fmt"
	"strings"
)

// Snapshot is a snapshot by its name, End (exclusive) and the epoch of the record before,
// and what is wrong with what it holds. Two snapshots of one name hold the same records.
// The zero value is none.
type Snapshot struct {
	End   Offset
	Epoch Epoch
	// Lacks is how many of the records below End it does not hold; less than 0 if it
	// holds some from End on. 0 but for bugs.
	Lacks int16
	// Unflushed: it has its name, and is not on disk. Never but for bugs.
	Unflushed bool
	//lint:ignore U1000 what is interned has no padding
	spare uint8
}

// name is the snapshot without what is wrong with it: what a request says.
func (s Snapshot) name() Snapshot { return Snapshot{End: s.End, Epoch: s.Epoch} }

func (s Snapshot) names(other Snapshot) bool { return s.End == other.End && s.Epoch == other.Epoch }

// String is the name, and what is wrong.
func (s Snapshot) String() string {
	if s.End == 0 {
		return "-"
	}
	t := fmt.Sprintf("(%d, epoch %d)", s.End, s.Epoch)
	if s.Lacks != 0 {
		t += fmt.Sprintf(" lacks %d", s.Lacks)
	}
	if s.Unflushed {
		t += " unflushed"
	}
	return t
}

// maxSnapshots is how many snapshots a replica of a model may hold.
const maxSnapshots = 3

// Snapshots are those that a replica holds, by their ends. In long traces there may be
// more than fit.
type Snapshots struct {
	list  [maxSnapshots]Snapshot
	n     uint32
	large uint32
	more  *[]Snapshot // all of them, once outgrown; never written again
}

// All are the snapshots, the first ending first; the result must not be changed.
func (s *Snapshots) All() []Snapshot {
	if s.more != nil {
		return *s.more
	}
	return s.list[:s.n]
}

// First and Latest are those that end first and last, none if there are none.
func (s *Snapshots) First() Snapshot {
	if all := s.All(); len(all) > 0 {
		return all[0]
	}
	return Snapshot{}
}

// Latest is the one that ends last.
func (s *Snapshots) Latest() Snapshot {
	if all := s.All(); len(all) > 0 {
		return all[len(all)-1]
	}
	return Snapshot{}
}

// find is the snapshot of that name, none if it is not held.
func (s *Snapshots) find(name Snapshot) Snapshot {
	for _, held := range s.All() {
		if held.names(name) {
			return held
		}
	}
	return Snapshot{}
}

// endsAt says whether a snapshot ends there.
func (s *Snapshots) endsAt(o Offset) bool {
	for _, held := range s.All() {
		if held.End == o {
			return true
		}
	}
	return false
}

func (s *Snapshots) set(all []Snapshot) {
	large := s.large
	*s = Snapshots{large: large}
	if len(all) > maxSnapshots {
		if large == 0 {
			panic(modelError("more than %d snapshots", maxSnapshots))
		}
		s.more = &all
		return
	}
	s.n = uint32(copy(s.list[:], all))
}

// add puts a snapshot in its place.
func (s *Snapshots) add(one Snapshot) {
	all := append([]Snapshot(nil), s.All()...)
	at := len(all)
	for at > 0 && all[at-1].End > one.End {
		at--
	}
	all = append(all, Snapshot{})
	copy(all[at+1:], all[at:])
	all[at] = one
	s.set(all)
}

func (s *Snapshots) dropBelow(end Offset) {
	all := s.All()
	n := 0
	for n < len(all) && all[n].End < end {
		n++
	}
	if n > 0 {
		s.set(append([]Snapshot(nil), all[n:]...))
	}
}

func (s *Snapshots) clear() { *s = Snapshots{large: s.large} }

// losePower: what was not flushed is gone, though its name is there.
func (s *Snapshots) losePower() {
	for i, held := range s.All() {
		if held.Unflushed {
			all := append([]Snapshot(nil), s.All()...)
			all[i].Unflushed, all[i].Lacks = false, int16(held.End)
			s.set(all)
		}
	}
}

// Same says whether the same snapshots are held.
func (s *Snapshots) Same(other *Snapshots) bool {
	a, b := s.All(), other.All()
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// Fetching is a snapshot on its way from the leader of an epoch: it is forgotten with the
// epoch, since the bytes of another replica's snapshot of that name may be others, and by a
// crash. Within the epoch it is kept, whatever roles and connections were in between.
type Fetching struct {
	// Contents is what the snapshot holds, once all of it is there.
	Contents Log
	// Snapshot is none if nothing is on its way.
	Snapshot Snapshot
	// Position: all below it is there. Size is that of the whole; 0: not known yet.
	Position, Size int64
	// From is who sent the last part. Mixed: others sent some of those before.
	From  ID
	Mixed bool
	//lint:ignore U1000 what is interned has no padding
	spare [6]uint8
}

// String lists the snapshots.
func (s *Snapshots) String() string {
	var list []string
	for _, held := range s.All() {
		list = append(list, held.String())
	}
	return strings.Join(list, " ")
}

func (s *Snapshots) text() string {
	if len(s.All()) == 0 {
		return "it holds none"
	}
	return s.String()
}

// String is how far it is.
func (f *Fetching) String() string {
	return fmt.Sprintf("%s from %s up to %d", f.Snapshot, f.From, f.Position)
}

func (f *Fetching) complete() bool { return f.Size > 0 && f.Position == f.Size }
