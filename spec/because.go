package spec

import (
	"fmt"

	"github.com/quorate/quorate/checker"
)

// Because implements checker.Accuser: of whom a property does not hold, and why. It
// looks at states, so it has nothing to say of a step within an exchange that a later
// one of the same exchange hides.
func (s *System) Because(property int, old, now []*Replica, before, after *Ghost) []string {
	p := checker.Props(1) << property
	var list []string
	say := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	if Properties[property].Kind == checker.Invariant {
		for i, r := range now {
			if CheckOne(r, after)&p != 0 {
				becauseOf(p, r, after, say)
			}
			for _, other := range now[i+1:] {
				if CheckPair(r, other)&p != 0 {
					becauseOfTwo(p, r, other, say)
				}
			}
		}
		return list
	}
	for i := range old {
		if *old[i] != *now[i] {
			becauseOfStep(p, old[i], now[i], before, after, say)
		}
	}
	return list
}

func becauseOf(p checker.Props, r *Replica, g *Ghost, say func(string, ...any)) {
	switch p {
	case CommittedStable:
		if r.HighWatermark > r.Log.End() {
			say("the log of %s ends at %d, before its high watermark %d", r.ID, r.Log.End(), r.HighWatermark)
		}
		if r.Role == Leader {
			becauseMissing(r, &g.Exposed, &g.ExposedIn, "exposed", say)
		}
	case SnapshotCovers:
		say("the log of %s starts at %d, and what is below is in none of its snapshots: %s", r.ID, r.LogStart, r.Snapshots.text())
	case LogContiguity, SnapshotWhole, SnapshotCommitted:
		becauseOfSnapshot(p, r, g, say)
	case VoterSetFromLog:
		last, at := r.Log.lastVoters()
		say("%s goes by %s, and the last voter set in its log is %s, at offset %d", r.ID, r.Voters, last, at)
	case OneChange, QuorumOverlap:
		r.Log.eachVoters(func(was, now Set, at Offset) bool {
			if was != now && was != 0 {
				say("in the log of %s the voter set %s follows %s at offset %d; exposed is what is below %d", r.ID, now, was, at, CommonPrefix(&r.Log, &g.Exposed))
			}
			return true
		})
	case LeaderCompleteness:
		becauseMissing(r, &g.Chosen, &g.ChosenIn, "chosen", say)
	case StateMachineSafety:
		at := CommonPrefix(&r.Log, &g.Exposed)
		say("%s holds %s at offset %d, below its high watermark %d, where %s was exposed", r.ID, recordAt(&r.Log, at), at, r.HighWatermark, recordAt(&g.Exposed, at))
	case UniqueEpochOffset:
		for n := range r.Log.Runs() {
			end := Offset(0)
			for _, run := range r.Log.Runs()[:n+1] {
				end += Offset(run.Count)
			}
			l := r.Log.Slice(0, end)
			if g.follows(&l) {
				continue
			}
			run := r.Log.Runs()[n]
			say("in the log %s of %s epoch %d begins at offset %d, and not where its leader began it", r.Log.String(), r.ID, run.Epoch, end-Offset(run.Count))
			for _, s := range g.Starts.all() {
				if s.Epoch == run.Epoch {
					say("%s began epoch %d at offset %d, behind epoch %d", s.Leader, s.Epoch, s.Offset, s.Previous)
				}
			}
			return
		}
	}
}

// becauseOfSnapshot names the snapshots that violate p.
func becauseOfSnapshot(p checker.Props, r *Replica, g *Ghost, say func(string, ...any)) {
	for _, s := range r.Snapshots.All() {
		one := *r
		one.Snapshots.set([]Snapshot{s})
		if checkSnapshots(&one, g)&p == 0 {
			continue
		}
		switch p {
		case LogContiguity:
			say("%s holds the snapshot %s, and its log %s starts at %d and ends at %d", r.ID, s, r.Log.String(), r.LogStart, r.Log.End())
		case SnapshotWhole:
			say("the snapshot %s of %s holds other records than its name says", s, r.ID)
		case SnapshotCommitted:
			say("%s holds the snapshot %s; exposed is %s", r.ID, s, g.Exposed.String())
		}
	}
}

// becauseMissing names the first record of history that a leader lacks.
func becauseMissing(r *Replica, history, in *Log, how string, say func(string, ...any)) {
	have := CommonPrefix(&r.Log, history)
	for at := have; at < history.End(); at++ {
		if e := in.At(at).Epoch; e <= r.Election.Epoch {
			say("%s was %s at offset %d in epoch %d; %s leads epoch %d and holds %s there", recordAt(history, at), how, at, e, r.ID, r.Election.Epoch, recordAt(&r.Log, at))
			return
		}
	}
}

func recordAt(l *Log, at Offset) string {
	if at >= l.End() {
		return "nothing"
	}
	one := l.Slice(at, at+1)
	return one.String()
}

func becauseOfTwo(p checker.Props, a, b *Replica, say func(string, ...any)) {
	at := CommonPrefix(&a.Log, &b.Log)
	switch p {
	case LogMatching:
		say("%s holds %s and %s holds %s at offset %d, of logs %s and %s that agree in an epoch there or behind",
			a.ID, recordAt(&a.Log, at), b.ID, recordAt(&b.Log, at), at, a.Log.String(), b.Log.String())
	case StateMachineSafety:
		say("%s holds %s and %s holds %s at offset %d, below the high watermarks %d and %d of both",
			a.ID, recordAt(&a.Log, at), b.ID, recordAt(&b.Log, at), at, a.HighWatermark, b.HighWatermark)
	}
}

func becauseOfStep(p checker.Props, old, now *Replica, before, after *Ghost, say func(string, ...any)) {
	switch p {
	case ElectionSafety:
		for _, s := range before.Starts.all() {
			if now.Role == Leader && old.Role != Leader && s.Epoch == now.Election.Epoch && s.Leader != now.ID {
				say("%s leads epoch %d, which %s has led", now.ID, s.Epoch, s.Leader)
			}
		}
	case MonotonicEpoch:
		if now.Election.Epoch < old.Election.Epoch {
			say("%s goes back from epoch %d to %d", now.ID, old.Election.Epoch, now.Election.Epoch)
		}
	case VoteOnce:
		if now.Election.Epoch == old.Election.Epoch && old.Election.Voted != Nobody && now.Election.Voted != old.Election.Voted {
			say("%s voted for %s in epoch %d, and its vote is now %s", now.ID, old.Election.Voted, now.Election.Epoch, now.Election.Voted)
		}
	case MonotonicHighWatermark:
		if now.HighWatermark < old.HighWatermark {
			say("the high watermark of %s goes back from %s to %s", now.ID, offsetText(old.HighWatermark), offsetText(now.HighWatermark))
		}
	case MonotonicLogStart:
		if now.LogStart < old.LogStart {
			say("the log of %s starts at %d; it started at %d", now.ID, now.LogStart, old.LogStart)
		}
	case LeaderAppendOnly:
		if at := CommonPrefix(&old.Log, &now.Log); old.Role == Leader && now.Role == Leader && at < old.Log.End() {
			say("%s leads and had %s at offset %d; it has %s there now", now.ID, recordAt(&old.Log, at), at, recordAt(&now.Log, at))
		}
	case RoleFieldsClear:
		if !roleFieldsClear(now) {
			say("%s is %s and keeps what belongs to another role", now.ID, now.Role)
		}
	case LinearizableRead:
		if floor := before.ReadFloor[now.ID.index()]; old.Reading && !now.Reading && old.ReadOffset < floor {
			say("%s answers a read as of offset %d; %d was exposed when it began", now.ID, old.ReadOffset, floor)
		}
	case HwSound:
		if now.Role == Leader && now.HighWatermark > old.HighWatermark {
			say("%s moves its high watermark to %s, and not all below is on the disks of a majority with a record of epoch %d behind it", now.ID, offsetText(now.HighWatermark), now.Election.Epoch)
		}
	}
}
