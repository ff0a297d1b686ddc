package spec

import "github.com/quorate/quorate/checker"

// Atoms: predicates of whole states, by position.
const (
	atomEarly      = iota // no epoch is above Prefix
	atomSound             // First is up and can win, and so can a majority take part
	atomCutOff            // a majority is down
	atomSettled           // a leader that a majority follows
	atomUnfinished        // a leader has a record that is not committed, or still to write
	atomFinished          // none has
	atomCaughtUp          // everybody up follows one leader, with its whole log and high watermark
	atomLed               // somebody leads
	atomUnled             // nobody leads
	atomStale             // somebody leads whom a majority cannot follow
	atomNoStale           // nobody does
	atomAsking            // First asks for pre-votes
	atomBusy              // the timer of First waits: it hears its leader, has yet to ask, or has won
	atomOf                // one for each replica, in groups of MaxReplicas, follows
)

// Atoms of each replica.
const (
	groupDeserted    = iota // it follows a leader that it does not hear
	groupKeeps              // it leads, and a majority may follow
	groupProspective        // it asks for pre-votes
	groupCalm               // it does not
	numGroups
)

var (
	atomNames  = []string{"early", "sound", "cutOff", "settled", "unfinished", "finished", "caughtUp", "led", "unled", "stale", "noStale", "asking", "busy"}
	groupNames = []string{"deserted", "keeps", "prospective", "calm"}
)

func atom(position int) checker.Atoms { return 1 << position }

// of is an atom of one replica.
func (m *LiveModel) of(group int, i ID) checker.Atoms {
	return atom(atomOf + group*m.size() + i.index())
}

func (m *LiveModel) atomNames() []string {
	names := append([]string(nil), atomNames...)
	for _, g := range groupNames {
		for i := range m.size() {
			names = append(names, g+" "+ID(i+1).String())
		}
	}
	return names
}

// Atoms implements checker.LiveSystem.
func (s *LiveSystem) Atoms(replicas []*LiveReplica, network []*Msg, _ *uint64) checker.Atoms {
	m := s.live
	voters := s.inner.ctx.Voters
	majority := voters.Len()/2 + 1
	var set checker.Atoms
	either := func(holds bool, yes, no int) {
		if holds {
			set |= atom(yes)
		} else {
			set |= atom(no)
		}
	}
	early, up := true, 0
	for _, r := range replicas {
		early = early && r.Election.Epoch <= m.Prefix
		if voters.Has(r.ID) && r.Role != Down {
			up++
		}
	}
	if early {
		set |= atom(atomEarly)
	}
	if up < majority {
		set |= atom(atomCutOff)
	}
	led, settled, unfinished, stale := false, false, false, false
	for _, l := range replicas {
		if l.Role != Leader {
			continue
		}
		follow, may := 1, 1
		for _, r := range replicas {
			if r == l || !voters.Has(r.ID) || r.Role == Down {
				continue
			}
			if follows(r, l) {
				follow++
			}
			if r.Election.Epoch <= l.Election.Epoch {
				may++
			}
		}
		led = true
		settled = settled || follow >= majority
		unfinished = unfinished || !l.LeaderChangeWritten || l.HighWatermark < l.Log.End()
		if may >= majority {
			set |= m.of(groupKeeps, l.ID)
		} else {
			stale = true
		}
		if caughtUp(replicas, l) {
			set |= atom(atomCaughtUp)
		}
	}
	either(led, atomLed, atomUnled)
	either(unfinished, atomUnfinished, atomFinished)
	either(stale, atomStale, atomNoStale)
	if settled {
		set |= atom(atomSettled)
	}
	for _, r := range replicas {
		if r.Role == Follower && !hears(replicas, r) {
			set |= m.of(groupDeserted, r.ID)
		}
		if r.Role == Prospective {
			set |= m.of(groupProspective, r.ID)
		} else {
			set |= m.of(groupCalm, r.ID)
		}
	}
	return set | s.first(replicas, network, majority)
}

// first are the atoms of First.
func (s *LiveSystem) first(replicas []*LiveReplica, network []*Msg, majority int) checker.Atoms {
	var set checker.Atoms
	first, voters := replicas[s.live.First.index()], s.inner.ctx.Voters
	upToDate := 0
	busy := hears(replicas, first)
	nominee := first.Role == Candidate || first.Role == Prospective
	for _, r := range replicas {
		if !voters.Has(r.ID) || r.Role == Down {
			continue
		}
		last, ours := r.Log.LastEpoch(), first.Log.LastEpoch()
		if last < ours || last == ours && r.Log.End() <= first.Log.End() {
			upToDate++
		}
		if nominee && r.ID != first.ID && !first.Asked.Has(r.ID) && !first.Granted.Has(r.ID) {
			busy = true
		}
	}
	if first.Role != Down && upToDate >= majority {
		set |= atom(atomSound)
	}
	if nominee && (first.Granted&voters).Len() >= majority {
		busy = true
	}
	for _, m := range network {
		if m.Kind == Vote && nominee && (m.Src == first.ID || m.Dst == first.ID) {
			busy = true
		}
	}
	if busy {
		set |= atom(atomBusy)
	}
	if first.Role == Prospective {
		set |= atom(atomAsking)
	}
	return set
}

// follows says whether r is a follower of l, in its epoch.
func follows(r, l *LiveReplica) bool {
	return r.Role == Follower && r.Election.Leader == l.ID && r.Election.Epoch == l.Election.Epoch
}

// hears says whether r follows somebody who leads it.
func hears(replicas []*LiveReplica, r *LiveReplica) bool {
	if r.Role != Follower {
		return false
	}
	l := replicas[r.Election.Leader.index()]
	return l.Role == Leader && follows(r, l)
}

// caughtUp says whether everybody who is up follows l, with the same log and high
// watermark, and all of it is committed.
func caughtUp(replicas []*LiveReplica, l *LiveReplica) bool {
	if !l.LeaderChangeWritten || l.HighWatermark != l.Log.End() {
		return false
	}
	for _, r := range replicas {
		if r == l || r.Role == Down {
			continue
		}
		if !follows(r, l) || !r.Log.SameAs(&l.Log) || r.HighWatermark != l.HighWatermark {
			return false
		}
	}
	return true
}
