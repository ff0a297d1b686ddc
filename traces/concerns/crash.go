package concerns

import (
	"github.com/quorate/quorate/spec/bootstrap"
	"github.com/quorate/quorate/spec/clusterid"
)

// The ends of processes.

// end are the states that an end of the process can leave, by a loss of power or without one,
// after as many steps on disk that nobody recorded as there may be.
func (v *validator) end(states []*state) (list []*state) {
	for range v.opt.Hidden {
		for _, s := range states {
			states = bounded(append(states, v.unrecorded(s)...))
		}
		states = fewest(states)
	}
	for _, s := range states {
		list = bounded(append(list, v.crash(s)...))
	}
	return fewest(list)
}

// maxStates bounds the ways in which an end of a process is explained.
const maxStates = 2048

func bounded(states []*state) []*state {
	if len(states) > maxStates {
		panic(errBounds)
	}
	return states
}

// unrecorded are the states after one more step on disk.
func (v *validator) unrecorded(s *state) (list []*state) {
	try := func(step func(s *state) bool) {
		if now := s.clone(); step(now) {
			now.hidden++
			list = append(list, now)
		}
	}
	if s.c.FormatStep > 0 {
		try(func(s *state) bool {
			a, ok := v.boot.FormatStep(&s.c)
			switch d := &s.dirs[0]; a {
			case bootstrap.RenameZero:
				s.zeroKnown = false // what is in it is not known
			case bootstrap.RenameMeta:
				d.known = false
			case bootstrap.FlushMetaDirectory:
				d.disk = d.now
			}
			return ok
		})
	}
	for d := range s.dirs {
		if !s.dirs[d].known {
			continue
		}
		try(func(s *state) bool {
			ok := s.nodes(d, func(n *clusterid.Node) bool { return v.ids.WriteMeta(n, min(d, 1)) })
			s.drawn()
			return ok
		})
		try(func(s *state) bool {
			return s.nodes(d, func(n *clusterid.Node) bool { return v.ids.FlushMeta(n, min(d, 1)) })
		})
	}
	try(func(s *state) bool {
		w := s.controller()
		ok := v.boot.DeleteZero(&w.Controller)
		s.take(w.Controller)
		return ok
	})
	try(func(s *state) bool {
		w := s.controller()
		ok := v.boot.DeleteLegacy(&w.Controller)
		s.take(w.Controller)
		return ok
	})
	return list
}

// crash are the states that a crash can leave: of files what the one specification says, of
// directories what the other says.
func (v *validator) crash(s *state) (list []*state) {
	formats := s.c.FormatStep > 0
	for way := range bootstrap.Survivors {
		now := s.clone()
		if now.c.Up == 0 && now.c.FormatStep == 0 {
			now.c.Up = 1 // it has ended, and the machine may yet
		}
		if !v.boot.Crash(&now.c, way) {
			continue
		}
		var unflushed []int
		for i, d := range now.dirs {
			if d.now != d.disk {
				unflushed = append(unflushed, i)
			}
		}
		if len(unflushed) > maxUnflushed {
			panic(errBounds)
		}
		for keep := range 1 << len(unflushed) {
			s := now.clone()
			for bit, i := range unflushed {
				if keep>>bit&1 == 1 {
					s.dirs[i].now = s.dirs[i].disk
				}
			}
			if s.lost(formats) {
				s.stop()
				list = append(list, s)
			}
		}
	}
	return list
}

// maxUnflushed bounds the directories that a crash may leave in two ways.
const maxUnflushed = 6

// lost takes what is left for what is on disk; false if the two specifications do not agree
// on the file of the metadata directory, which they have each.
func (s *state) lost(formats bool) bool {
	for i := range s.dirs {
		d := &s.dirs[i]
		d.disk, d.offline = d.now, false
	}
	if len(s.dirs) == 0 || !s.dirs[0].known {
		return true
	}
	if !formats {
		s.formatted()
		return true
	}
	return (s.c.Meta == 0) == (s.dirs[0].now.Form == clusterid.Missing) || s.dirs[0].now.Form == clusterid.Broken
}

// stop ends the process.
func (s *state) stop() {
	s.c.Phase, s.claimed, s.once, s.stopped, s.rest = bootstrap.Standby, 0, nil, false, 0
	s.n = clusterid.Node{Role: s.n.Role, Zero: s.n.Zero, ZeroID: s.n.ZeroID, Draws: s.n.Draws, Ever: s.n.Ever, Endpoints: s.n.Endpoints}
	s.log = s.log[:s.handed]
}
