package spec

import "github.com/quorate/quorate/checker"

// Ghost is what properties remember of the past. No action sees it.
type Ghost struct {
	// Exposed are the records below the highest high watermark that any leader
	// ever had: readable, and acknowledged to clients. ExposedIn has, in place of
	// each, the epoch of the leader that exposed it first.
	Exposed, ExposedIn Log
	// Chosen are the records that no later leader may lack: a majority of the
	// voters, all of them in epoch e, had flushed a record of e behind them.
	// ChosenIn has e.
	Chosen, ChosenIn Log
	// Starts has where each epoch started, by epoch.
	Starts Starts
	// ReadFloor is, for each leader with a read under way, how much was exposed
	// anywhere when the read began.
	ReadFloor [MaxReplicas]Offset
}

// NewLargeGhost is an empty history without a limit, for long traces.
func NewLargeGhost() Ghost {
	l := NewLargeLog()
	return Ghost{Exposed: l, ExposedIn: l, Chosen: l, ChosenIn: l, Starts: Starts{large: 1}}
}

// EpochStart is the beginning of an epoch: who led it, behind which offset its
// records stand, and the epoch of the record before them. So it names the whole
// past of each of its records.
type EpochStart struct {
	Offset   Offset
	Epoch    Epoch
	Previous Epoch
	Leader   ID
	//lint:ignore U1000 what is interned has no padding
	spare [7]uint8
}

// maxStarts is how many epochs a model may have.
const maxStarts = 6

// Starts lists epoch starts in order; of an epoch with two leaders both.
type Starts struct {
	list  [maxStarts]EpochStart
	n     uint32
	large uint32
	more  *[]EpochStart // all of them, in long traces; never written again
}

func (s *Starts) all() []EpochStart {
	if s.more != nil {
		return *s.more
	}
	return s.list[:s.n]
}

// add inserts by epoch, so that the history does not depend on the order in which
// leaders of different epochs came up.
func (s *Starts) add(e EpochStart) {
	all := s.all()
	at := len(all)
	for at > 0 && all[at-1].Epoch > e.Epoch {
		at--
	}
	if s.more == nil && s.n < maxStarts {
		copy(s.list[at+1:], s.list[at:s.n])
		s.list[at] = e
		s.n++
		return
	}
	if s.large == 0 {
		panic(modelError("more than %d epochs with a leader", maxStarts))
	}
	grown := make([]EpochStart, 0, len(all)+1)
	grown = append(grown, all[:at]...)
	grown = append(grown, e)
	grown = append(grown, all[at:]...)
	*s = Starts{large: s.large, more: &grown}
}

// Concerns says whether a step of a replica from old to new may change the
// history.
func Concerns(old, now *Replica) bool {
	return now.Role == Leader && (old.Role != Leader || now.HighWatermark != old.HighWatermark) ||
		old.Reading != now.Reading ||
		!old.Disk.SameAs(&now.Disk)
}

// Observe brings the history up to date after a step of replica who from old, and
// returns the properties of whole states that the step violates.
func (g *Ghost) Observe(q Quorum, replicas []*Replica, who int, old *Replica) checker.Props {
	now := replicas[who]
	var bad checker.Props
	if now.Role == Leader && old.Role != Leader {
		bad |= g.noteLeader(now)
	}
	if q.Dynamic {
		g.noteChosenBySets(q.Voters, replicas, now)
	} else {
		g.noteChosen(q.Voters, replicas, now)
	}
	if now.Role == Leader && now.HighWatermark > g.Exposed.End() {
		from := g.Exposed.End()
		upTo := min(now.HighWatermark, now.Log.End())
		news := now.Log.Slice(from, upTo)
		g.Exposed.AppendAll(&news)
		g.ExposedIn.Append(Run{Count: int64(upTo - from), Epoch: now.Election.Epoch})
	}
	if now.Role == Leader && now.HighWatermark > old.HighWatermark && !flushedByMajority(q, replicas, now) {
		bad |= HwSound
	}
	floor := &g.ReadFloor[now.ID.index()]
	switch {
	case now.Reading && (!old.Reading || now.ReadRound != old.ReadRound):
		*floor = g.Exposed.End()
	case old.Reading && !now.Reading:
		served := now.Role == Leader && now.Election.Epoch == old.Election.Epoch
		if served && old.ReadOffset < *floor {
			bad |= LinearizableRead
		}
		*floor = 0
	}
	return bad
}

// noteLeader notes who leads an epoch, and where it starts.
func (g *Ghost) noteLeader(now *Replica) checker.Props {
	var bad checker.Props
	for _, s := range g.Starts.all() {
		if s.Epoch == now.Election.Epoch {
			if s.Leader == now.ID {
				return bad
			}
			bad |= ElectionSafety
		}
	}
	me := EpochStart{Offset: now.EpochStart, Epoch: now.Election.Epoch, Leader: now.ID}
	if now.EpochStart > 0 {
		me.Previous = now.Log.At(now.EpochStart - 1).Epoch
	}
	g.Starts.add(me)
	return bad
}

// follows says whether each epoch in a log begins where its leader began it, behind
// a record of the same epoch as there: then each record has the one past that it
// had when it was written.
func (g *Ghost) follows(l *Log) bool {
	at, previous := Offset(0), Epoch(0)
	starts := g.Starts.all()
	runs := l.tail()
	if l.more != nil && l.more.past != nil {
		var p *past
		if l.more.past.follows {
			p = l.more.past
			at, previous = p.end, p.last().Epoch
			starts = startsAfter(starts, previous)
		}
		runs = l.more.above(p)
	}
	for _, run := range runs {
		if run.Epoch != previous {
			for len(starts) > 0 && starts[0].Epoch < run.Epoch {
				starts = starts[1:]
			}
			if len(starts) == 0 || starts[0].Epoch != run.Epoch || starts[0].Offset != at || starts[0].Previous != previous {
				return false
			}
		}
		at, previous = at+Offset(run.Count), run.Epoch
	}
	return true
}

// startsAfter are the starts of the epochs after one.
func startsAfter(starts []EpochStart, e Epoch) []EpochStart {
	lo, hi := 0, len(starts)
	for lo < hi {
		if mid := (lo + hi) / 2; starts[mid].Epoch <= e {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return starts[lo:]
}

// noteChosen looks for a majority in the epoch of now that have flushed a record
// of that epoch: the prefix that they share is chosen. Replicas that are down count:
// a crash may leave more than was known to be flushed, and they come back with it.
func (g *Ghost) noteChosen(voters Set, replicas []*Replica, now *Replica) {
	holders, n := holdersIn(now.Election.Epoch, voters, replicas)
	majority := voters.Len()/2 + 1
	if n < majority {
		return
	}
	by := holders[majority-1]
	g.choose(&by.Disk, by.Disk.End(), now.Election.Epoch)
}

// holdersIn are those of a set that have a record of the epoch that they are in on their
// disks, by flushed end, descending.
func holdersIn(e Epoch, of Set, replicas []*Replica) (holders [MaxReplicas]*Replica, n int) {
	for _, r := range replicas {
		if !of.Has(r.ID) || r.Election.Epoch != e || r.Disk.LastEpoch() != e {
			continue
		}
		at := n
		for ; at > 0 && holders[at-1].Disk.End() < r.Disk.End(); at-- {
			holders[at] = holders[at-1]
		}
		holders[at] = r
		n++
	}
	return holders, n
}

// choose notes that a log up to an offset is chosen.
func (g *Ghost) choose(l *Log, to Offset, e Epoch) {
	if from := g.Chosen.End(); to > from {
		news := l.Slice(from, to)
		g.Chosen.AppendAll(&news)
		g.ChosenIn.Append(Run{Count: int64(to - from), Epoch: e})
	}
}

// noteChosenBySets is noteChosen where sets change: a prefix is chosen by a majority of the
// set that its last KRaftVoters record has. So it may end where somebody's disk does, or
// before a record that brings another set.
func (g *Ghost) noteChosenBySets(initial Set, replicas []*Replica, now *Replica) {
	e := now.Election.Epoch
	holders, n := holdersIn(e, All(MaxReplicas), replicas)
	for i := range n {
		l := &holders[i].Disk
		for end := l.End(); end > g.Chosen.End() && l.At(end-1).Epoch == e; {
			voters, at := l.votersBelow(end)
			if voters == 0 {
				voters = initial
			}
			have := 0
			for _, h := range holders[:n] {
				if voters.Has(h.ID) && h.Disk.End() >= end {
					have++
				}
			}
			if have >= voters.Len()/2+1 {
				g.choose(l, end, e)
				break
			}
			end = at
		}
	}
}

// flushedByMajority: a majority of the voters in force has flushed everything below the
// high watermark of a leader, and the last of it is of its epoch.
func flushedByMajority(q Quorum, replicas []*Replica, leader *Replica) bool {
	voters := q.Voters
	if q.Dynamic {
		if last, _ := leader.Log.lastVoters(); last != 0 {
			voters = last
		}
	}
	hw := leader.HighWatermark
	if hw == 0 || hw > leader.Log.End() || leader.Log.At(hw-1).Epoch != leader.Election.Epoch {
		return false
	}
	n := 0
	for _, r := range replicas {
		if voters.Has(r.ID) && CommonPrefix(&r.Disk, &leader.Log) >= hw {
			n++
		}
	}
	return n >= voters.Len()/2+1
}

// missing says whether a leader of the given epoch lacks a record of history that
// was established in an earlier epoch, or in its own.
func missing(l *Log, epoch Epoch, history, in *Log) bool {
	have := CommonPrefix(l, history)
	if have >= in.end {
		return false
	}
	lacks := false
	in.backward(func(run Run, end Offset) bool {
		lacks = end > have && run.Epoch <= epoch
		return !lacks && end > have
	})
	return lacks
}

// outline is what history and invariants may see of a replica.
func outline(r *Replica, of checker.Sight) Replica {
	if of == checker.SightChecked {
		seen := Replica{Log: r.Log, HighWatermark: r.HighWatermark, LogStart: r.LogStart, Snapshots: r.Snapshots, Voters: r.Voters}
		if r.Role == Leader {
			seen.Role, seen.Election.Epoch = Leader, r.Election.Epoch
		}
		return seen
	}
	seen := Replica{ID: r.ID, Disk: r.Disk, Election: Election{Epoch: r.Election.Epoch}}
	if of == checker.SightActing {
		seen.Role, seen.Log, seen.HighWatermark, seen.EpochStart = r.Role, r.Log, r.HighWatermark, r.EpochStart
		seen.Reading, seen.ReadRound, seen.ReadOffset = r.Reading, r.ReadRound, r.ReadOffset
	}
	return seen
}
