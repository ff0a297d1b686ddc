package core

import "slices"

// Progress is what a leader knows of how far a replica has come. Times are Never if
// there was none.
type Progress struct {
	Key ReplicaKey
	// End is where its last valid fetch began; UnknownOffset if there was none.
	End Offset
	// LastFetch is when that was. LastCaughtUp is when it last had all that the leader
	// had at that moment.
	LastFetch, LastCaughtUp Ticks

	leaderEnd Offset // of the leader, at the last fetch
}

const (
	// observerSession is after how long an observer that does not fetch is forgotten
	// (LeaderState.OBSERVER_SESSION_TIMEOUT_MS).
	observerSession Ticks = 300_000
	// maxObservers bounds those that are known: whoever may fetch can make up ids.
	maxObservers = 1000
)

// follow notes a valid fetch, of a voter or of another replica. The protocol asks whether
// one that is to become a voter has caught up. (LeaderState.ReplicaState.
// updateFollowerState)
func (l *leaderState) follow(r *Replica, key ReplicaKey, offset Offset) {
	if key.ID < 0 {
		return
	}
	i := voterIndex(r.voters, key)
	if i >= 0 {
		key = r.voters[i] // as the voter set has it
	}
	p := l.progressOf(key)
	if p == nil {
		if i < 0 {
			l.forgetObservers(r)
			if len(l.progress) >= len(r.voters)+maxObservers {
				return
			}
		}
		l.progress = append(l.progress, Progress{Key: key, LastFetch: Never, LastCaughtUp: Never})
		p = &l.progress[len(l.progress)-1]
	}
	switch {
	case offset >= r.log.end:
		p.LastCaughtUp = r.now
	case p.leaderEnd > 0 && offset >= p.leaderEnd:
		p.LastCaughtUp = p.LastFetch
	}
	p.End, p.LastFetch, p.leaderEnd = offset, r.now, r.log.end
}

func (l *leaderState) progressOf(key ReplicaKey) *Progress {
	for i := range l.progress {
		if l.progress[i].Key == key {
			return &l.progress[i]
		}
	}
	return nil
}

func (l *leaderState) forgetObservers(r *Replica) {
	l.progress = slices.DeleteFunc(l.progress, func(p Progress) bool {
		return voterIndex(r.voters, p.Key) < 0 && r.now-p.LastFetch >= observerSession
	})
}

// Describe returns how far the voters are, in the order of the voter set, and then the
// observers that have fetched in the last five minutes. False: it is no leader, and does
// not know. A leader itself has caught up now, with the end of its log. (DescribeQuorum)
func (r *Replica) Describe(now Ticks) (voters, observers []Progress, ok bool) {
	if r.role != Leader {
		return nil, nil, false
	}
	for _, key := range r.voters {
		p := Progress{Key: key, End: UnknownOffset, LastFetch: Never, LastCaughtUp: Never}
		if key.ID == r.cfg.ID {
			p.End, p.LastFetch, p.LastCaughtUp = r.log.end, now, now
		} else if have := r.lead.progressOf(key); have != nil {
			p = *have
		}
		voters = append(voters, p)
	}
	if r.self < 0 { // it has removed itself
		observers = append(observers, Progress{Key: r.key(), End: r.log.end, LastFetch: now, LastCaughtUp: now})
	}
	for _, p := range r.lead.progress {
		if voterIndex(r.voters, p.Key) < 0 && now-p.LastFetch < observerSession {
			observers = append(observers, p)
		}
	}
	return voters, observers, true
}
