// Package metrics tells how a node fares: Prometheus metrics by the names of Kafka's
// raft-metrics, and whether it is alive and ready.
//
// Read [Tracker] first. It is the [node.Observer] of a node and keeps the figures; it is
// a [prometheus.Collector] as well. [Handler] serves it by HTTP.
//
// What Kafka calls commit-latency-avg in the group raft-metrics is here
// kafka_server_raft_metrics_commit_latency_avg, the name that the JMX exporter gives it.
// Averages, maxima and rates are over Kafka's default window: two samples of 30 s, the
// current and the last one.
package metrics

import (
	"sync"
	"time"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/node"
)

// maxUncommitted bounds the appends whose time to commit is measured at a time. While
// there are more, some are not.
const maxUncommitted = 4096

// Tracker follows the states of a node. Its methods may be called from anywhere.
type Tracker struct {
	self core.ReplicaKey
	now  func() time.Time

	mu          sync.Mutex
	voters      int                 // guarded by mu
	voter       bool                // guarded by mu
	network     func() node.Network // nil: not known; guarded by mu, as all below
	state       node.State
	stepped     bool
	ended       time.Time  // of the last step
	uncommitted []appended // what this leader wrote and is not committed, oldest first
	electing    time.Time  // since when; zero: no election is going on

	commit, election  window // milliseconds
	appends, fetches  window // records
	busy, idle        window // seconds
	appended, fetched uint64 // records, ever
	elections         uint64
}

type appended struct {
	end core.Offset
	at  time.Time
}

// NewTracker makes a Tracker of a replica.
func NewTracker(self core.ReplicaKey, voters []node.Voter) *Tracker {
	t := &Tracker{self: self, voters: len(voters), now: time.Now}
	for _, v := range voters {
		t.voter = t.voter || v.ID == self.ID
	}
	return t
}

var _ node.Observer = (*Tracker)(nil)

// Watch says whom to ask what the node has to do with others.
func (t *Tracker) Watch(network func() node.Network) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.network = network
}

// Stepped implements [node.Observer].
func (t *Tracker) Stepped(began, ended time.Time, s node.State) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if set := s.VoterSet; set != nil && set.Dynamic() {
		v, ok := set.Find(t.self.ID)
		t.voters, t.voter = len(set.Voters), ok && v.Key == t.self
	}
	if !t.stepped {
		t.stepped, t.state, t.ended = true, s, ended
		t.elect(began, s)
		return
	}
	t.idle.add(ended, began.Sub(t.ended).Seconds())
	t.busy.add(ended, ended.Sub(began).Seconds())
	t.elect(ended, s)
	t.grow(began, ended, s)
	t.state, t.ended = s, ended
}

// elect measures from when a replica first stands in an election until it knows a leader
// (KafkaRaftClient: from the transition to a candidate to that to leader or follower).
func (t *Tracker) elect(at time.Time, s node.State) {
	switch {
	case s.Role == core.Prospective || s.Role == core.Candidate:
		if t.electing.IsZero() {
			t.electing = at
		}
	case t.electing.IsZero():
	case s.Leader != core.NoReplica:
		t.election.add(at, float64(at.Sub(t.electing))/float64(time.Millisecond))
		t.elections++
		t.electing = time.Time{}
	}
}

// grow counts records, and measures how long those of a leader take to be committed.
func (t *Tracker) grow(began, ended time.Time, s node.State) {
	if s.Role != core.Leader || s.Epoch != t.state.Epoch {
		t.uncommitted = t.uncommitted[:0]
	}
	if n := float64(s.LogEnd - t.state.LogEnd); n > 0 {
		switch {
		case s.Role == core.Leader:
			t.appends.add(ended, n)
			t.appended += uint64(n)
			if len(t.uncommitted) < maxUncommitted {
				t.uncommitted = append(t.uncommitted, appended{s.LogEnd, began})
			}
		case s.Role == core.Follower:
			t.fetches.add(ended, n)
			t.fetched += uint64(n)
		}
	}
	done := 0
	for done < len(t.uncommitted) && t.uncommitted[done].end <= s.HighWatermark {
		t.commit.add(ended, float64(ended.Sub(t.uncommitted[done].at))/float64(time.Millisecond))
		done++
	}
	if done > 0 {
		t.uncommitted = t.uncommitted[:copy(t.uncommitted, t.uncommitted[done:])]
	}
}

// Ready says whether the node takes part in a quorum that works: it knows the leader of
// its epoch and what is committed. The reason is empty then.
func (t *Tracker) Ready() (reason string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case !t.stepped:
		return "starts"
	case t.state.Leader == core.NoReplica:
		return "knows no leader"
	case t.state.HighWatermark < 0:
		return "does not know yet what is committed"
	}
	return ""
}

// Alive says whether the loop of the node goes on: its last step is not older than
// limit. Every replica steps at least as often as its timers run out. The reason is
// empty then.
func (t *Tracker) Alive(limit time.Duration) (reason string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch age := t.now().Sub(t.ended); {
	case !t.stepped:
		return "starts"
	case age > limit:
		return "has been in one step for " + age.Round(time.Millisecond).String()
	}
	return ""
}

// stateName is current-state as Kafka 4 calls it (KafkaRaftMetrics). A leader that has
// resigned is unattached.
func (t *Tracker) stateName() string {
	voted := t.state.Voted.ID != core.NoReplica
	switch t.state.Role {
	case core.Leader:
		return "leader"
	case core.Candidate:
		return "candidate"
	case core.Prospective:
		if voted {
			return "prospective-voted"
		}
		return "prospective"
	case core.Follower:
		if !t.voter {
			return "observer"
		}
		return "follower"
	case core.Unattached:
		if voted {
			return "unattached-voted"
		}
	}
	return "unattached"
}

// vote is current-vote: that of a leader and of a candidate is their own, and a
// follower's is not told, as in Kafka.
func (t *Tracker) vote() core.ReplicaKey {
	switch t.state.Role {
	case core.Leader, core.Candidate:
		return t.self
	case core.Unattached, core.Prospective:
		return t.state.Voted
	}
	return core.NoKey
}
