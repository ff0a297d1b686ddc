package spec

import "github.com/quorate/quorate/checker"

// Overlap says whether any majority of one voter set meets any of another.
func Overlap(a, b Set) bool {
	return a.Len()/2+1+b.Len()/2+1 > (a | b).Len()
}

// checkVoters returns the invariants of voter sets that one replica violates.
func checkVoters(r *Replica, g *Ghost) checker.Props {
	var bad checker.Props
	if last, _ := r.Log.lastVoters(); last != r.Voters {
		bad |= VoterSetFromLog
	}
	exposed := CommonPrefix(&r.Log, &g.Exposed)
	changes := 0
	r.Log.eachVoters(func(was, now Set, at Offset) bool {
		if at >= exposed && was != 0 && was != now {
			changes++
		}
		if now == 0 || was != 0 && !Overlap(was, now) {
			bad |= QuorumOverlap
		}
		return at >= exposed // what was exposed has been judged
	})
	if changes > 1 {
		bad |= OneChange
	}
	return bad
}

// eachVoters shows the KRaftVoters records of a log, the last first, with the set before
// (empty if there is none), as long as it is asked to go on.
func (l *Log) eachVoters(show func(was, now Set, at Offset) bool) {
	for now, at := l.lastVoters(); at >= 0; {
		was, before := l.votersBelow(at)
		if !show(was, now, at) {
			return
		}
		now, at = was, before
	}
}

// firstVoters is the set of the first KRaftVoters record, none if there is none.
func (l *Log) firstVoters() (first Set) {
	l.eachVoters(func(_, now Set, _ Offset) bool {
		first = now
		return true
	})
	return first
}

// commitsData says whether a client's record is committed from an offset on, and not only
// those of the protocol.
func (r *Replica) commitsData(from Offset) bool {
	news := r.Log.Slice(max(from, r.EpochStart), r.HighWatermark)
	for _, run := range news.Runs() {
		if run.Kind == Data {
			return true
		}
	}
	return false
}

// reachMembership returns the sometimes properties of voter sets that a step reaches.
func reachMembership(a ActionID, old, now *Replica) checker.Props {
	var reached checker.Props
	inSet := now.Voters.Has(now.ID)
	if now.Role == Leader && old.Role == Leader && now.HighWatermark > old.HighWatermark {
		if set, at := now.Log.lastVoters(); at >= old.HighWatermark && at < now.HighWatermark {
			if was, before := now.Log.votersBelow(at); before >= 0 {
				if set&^was != 0 {
					reached |= VoterAdded
				}
			}
		}
		if !inSet {
			reached |= CommittedFromOutside
		}
	}
	switch a {
	case ActionBecomeLeader:
		if now.Role == Leader && !now.Log.firstVoters().Has(now.ID) {
			reached |= AddedVoterElected
		}
		if now.Role == Leader && !inSet {
			reached |= ElectedFromOutside
		}
	case ActionResign:
		if _, at := now.Log.lastVoters(); now.Role == Resigned && !inSet && at < old.HighWatermark {
			reached |= RemovedLeaderResigned
		}
	case ActionHandleFetchResponse:
		if now.Log.End() < old.Log.End() && now.Voters != old.Voters {
			reached |= ChangeTakenBack
		}
	case ActionInstallSnapshot:
		if now.Voters != old.Voters && now.Voters != now.Log.firstVoters() {
			reached |= VotersFromSnapshot
		}
	}
	return reached
}
