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
	// Leaders has a run for each leader of each epoch, by epoch.
	Leaders Log
	// ReadFloor is, for each leader with a read under way, how much was exposed
	// anywhere when the read began.
	ReadFloor [MaxReplicas]Offset
}

// NewLargeGhost is an empty history without a limit, for long traces.
func NewLargeGhost() Ghost {
	l := NewLargeLog()
	return Ghost{Exposed: l, ExposedIn: l, Chosen: l, ChosenIn: l, Leaders: l}
}

// Concerns says whether a step of a replica from old to new may change the
// history.
func Concerns(old, now *Replica) bool {
	return now.Role == Leader && (old.Role != Leader || now.HighWatermark != old.HighWatermark) ||
		old.Reading != now.Reading ||
		now.Role != Down && !old.Disk.SameAs(&now.Disk)
}

// Observe brings the history up to date after a step of replica who from old, and
// returns the properties of whole states that the step violates.
func (g *Ghost) Observe(voters Set, replicas []*Replica, who int, old *Replica) checker.Props {
	now := replicas[who]
	var bad checker.Props
	if now.Role == Leader && old.Role != Leader {
		bad |= g.noteLeader(now)
	}
	g.noteChosen(voters, replicas, now)
	if now.Role == Leader && now.HighWatermark > g.Exposed.End() {
		from := g.Exposed.End()
		upTo := min(now.HighWatermark, now.Log.End())
		news := now.Log.Slice(from, upTo)
		g.Exposed.AppendAll(&news)
		g.ExposedIn.Append(Run{Count: int64(upTo - from), Epoch: now.Election.Epoch})
	}
	if now.Role == Leader && now.HighWatermark > old.HighWatermark && !flushedByMajority(voters, replicas, now) {
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

// noteLeader inserts the leader by epoch, so that the history does not depend on
// the order in which leaders of different epochs came up.
func (g *Ghost) noteLeader(now *Replica) checker.Props {
	var bad checker.Props
	me := Run{Count: 1, Epoch: now.Election.Epoch, Origin: now.ID}
	before := Log{large: g.Leaders.large}
	known := false
	var after []Run
	for _, l := range g.Leaders.Runs() {
		if l.Epoch == me.Epoch && l.Origin != me.Origin {
			bad |= ElectionSafety
		}
		known = known || l.Epoch == me.Epoch && l.Origin == me.Origin
		if l.Epoch <= me.Epoch {
			before.Append(l)
		} else {
			after = append(after, l)
		}
	}
	if known {
		return bad
	}
	before.Append(me)
	for _, l := range after {
		before.Append(l)
	}
	g.Leaders = before
	return bad
}

// noteChosen looks for a majority in the epoch of now that have flushed a record
// of that epoch: the prefix that they share is chosen.
func (g *Ghost) noteChosen(voters Set, replicas []*Replica, now *Replica) {
	e := now.Election.Epoch
	var holders [MaxReplicas]*Replica // by flushed end, descending
	n := 0
	for _, r := range replicas {
		if !voters.Has(r.ID) || r.Election.Epoch != e || r.Role == Down || r.Disk.LastEpoch() != e {
			continue
		}
		at := n
		for ; at > 0 && holders[at-1].Disk.End() < r.Disk.End(); at-- {
			holders[at] = holders[at-1]
		}
		holders[at] = r
		n++
	}
	majority := voters.Len()/2 + 1
	if n < majority {
		return
	}
	by := holders[majority-1]
	if from, to := g.Chosen.End(), by.Disk.End(); to > from {
		news := by.Disk.Slice(from, to)
		g.Chosen.AppendAll(&news)
		g.ChosenIn.Append(Run{Count: int64(to - from), Epoch: e})
	}
}

// flushedByMajority: a majority of the voters has flushed everything below the
// high watermark of a leader, and the last of it is of its epoch.
func flushedByMajority(voters Set, replicas []*Replica, leader *Replica) bool {
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
	at := Offset(0)
	for _, run := range in.Runs() {
		end := at + Offset(run.Count)
		if end > have && run.Epoch <= epoch {
			return true
		}
		at = end
	}
	return false
}
