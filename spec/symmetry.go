package spec

import "github.com/quorate/quorate/checker"

// Interchangeable implements checker.Symmetric: replicas with the same part in the
// model. Voters and observers, those that know pre-votes and those that do not, those
// that run a change and those that do not, and those that may stand in different
// epochs are told apart.
func (s *System) Interchangeable() [][]uint8 {
	m := s.model
	type part struct {
		voter, preVote, changed, changing, leads bool
		stands                                   uint64 // by epoch
	}
	var parts []part
	var groups [][]uint8
	for i := range m.size() {
		id := ID(i + 1)
		p := part{voter: m.voters().Has(id), preVote: m.PreVote.Has(id), changed: s.variant.on(id), changing: m.changing().Has(id), leads: m.Formed && id == 1}
		for e := Epoch(1); e <= m.Epochs; e++ {
			if m.mayStand(e, id) {
				p.stands |= 1 << e
			}
		}
		at := 0
		for at < len(parts) && parts[at] != p {
			at++
		}
		if at == len(parts) {
			parts, groups = append(parts, p), append(groups, nil)
		}
		groups[at] = append(groups[at], uint8(i))
	}
	return groups
}

// renaming says what replicas are called instead.
type renaming checker.Perm

func (p renaming) id(i ID) ID {
	if i == Nobody {
		return Nobody
	}
	return ID(p[i.index()]) + 1
}

func (p renaming) set(s Set) Set {
	var t Set
	for i := range p {
		if id := ID(i + 1); s.Has(id) {
			t = t.With(p.id(id))
		}
	}
	return t
}

func (p renaming) offsets(by *[MaxReplicas]Offset) [MaxReplicas]Offset {
	to := *by
	for i := range p {
		to[p[i]] = by[i]
	}
	return to
}

func (p renaming) election(e Election) Election {
	e.Leader, e.Voted = p.id(e.Leader), p.id(e.Voted)
	return e
}

func (p renaming) log(l *Log) Log {
	to := *l
	for i := range to.runs[:to.n] {
		to.runs[i].Origin = p.id(to.runs[i].Origin)
		if v := to.runs[i].Voters; v != 0 {
			to.runs[i].Voters = p.set(v)
		}
	}
	return to
}

// PermuteProcess implements checker.Symmetric.
func (s *System) PermuteProcess(perm checker.Perm, r *Replica) Replica {
	p, to := renaming(perm), *r
	to.ID, to.Voters = p.id(r.ID), p.set(r.Voters)
	to.Log, to.Disk = p.log(&r.Log), p.log(&r.Disk)
	to.End = p.offsets(&r.End)
	to.Fetching.Contents, to.Fetching.From = p.log(&r.Fetching.Contents), p.id(r.Fetching.From)
	to.Election, to.Stored = p.election(r.Election), p.election(r.Stored)
	to.Granted, to.Confirmed = p.set(r.Granted), p.set(r.Confirmed)
	return to
}

// PermuteMessage implements checker.Symmetric.
func (s *System) PermuteMessage(perm checker.Perm, m *Msg) Msg {
	p, to := renaming(perm), *m
	to.Records = p.log(&m.Records)
	to.Src, to.Dst, to.Leader = p.id(m.Src), p.id(m.Dst), p.id(m.Leader)
	return to
}

// PermuteGhost implements checker.Symmetric. ExposedIn and ChosenIn name epochs and
// nobody.
func (s *System) PermuteGhost(perm checker.Perm, g *Ghost) Ghost {
	p, to := renaming(perm), *g
	to.Exposed, to.Chosen = p.log(&g.Exposed), p.log(&g.Chosen)
	to.ExposedIn, to.ChosenIn = p.log(&g.ExposedIn), p.log(&g.ChosenIn)
	for i := range to.Starts.list[:to.Starts.n] {
		to.Starts.list[i].Leader = p.id(to.Starts.list[i].Leader)
	}
	to.ReadFloor = p.offsets(&g.ReadFloor)
	return to
}
