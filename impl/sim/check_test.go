package sim

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/traces/event"
)

// stream makes up events of a cluster of three voters. Digests are epoch*1000 +
// end, so logs with one epoch and end agree.
type stream struct {
	t     *testing.T
	check *checker
	logs  [3][]boundary
	epoch [3]int32
	role  [3]string
	hw    [3]int64
	err   error
	// forgets: elections are not made durable.
	forgets bool
}

func newStream(t *testing.T) *stream {
	s := &stream{t: t, check: newChecker([]int32{1, 2, 3}, 3, &Stats{}, func(Sometimes) {})}
	for i := range s.role {
		s.role[i], s.hw[i] = "Unattached", -1
	}
	return s
}

func (s *stream) event(i int, edit func(*event.Event), appended ...boundary) {
	if s.err != nil {
		return
	}
	e := &event.Event{Inc: 1}
	e.State = event.State{Role: s.role[i], Epoch: s.epoch[i], HighWatermark: s.hw[i], Voted: -1, Leader: -1}
	if edit != nil {
		edit(e)
	}
	if e.Durable == nil {
		e.Durable = &event.Durable{LogEnd: -1}
	}
	e.Durable.Election = !s.forgets
	if l := e.Log; l != nil && l.Truncated >= 0 {
		for len(s.logs[i]) > 0 && s.logs[i][len(s.logs[i])-1].end > l.Truncated {
			s.logs[i] = s.logs[i][:len(s.logs[i])-1]
		}
	}
	s.logs[i] = append(s.logs[i], appended...)
	if n := len(s.logs[i]); n > 0 && e.State.LogEnd == 0 {
		e.State.LogEnd, e.State.Digest = s.logs[i][n-1].end, s.logs[i][n-1].digest
	}
	s.err = s.check.observe(i, e, appended)
}

// steps of a stream, by replica.
func (s *stream) lead(i int, epoch int32) {
	s.role[i], s.epoch[i] = "Leader", epoch
	s.event(i, nil)
}

func (s *stream) follow(i int, epoch int32) {
	s.role[i], s.epoch[i] = "Follower", epoch
	s.event(i, nil)
}

func (s *stream) append(i int, epoch int32, end int64) {
	s.event(i, nil, boundary{end: end, digest: uint64(epoch)*1000 + uint64(end), epoch: epoch})
}

func (s *stream) flush(i int) {
	s.event(i, func(e *event.Event) {
		e.Durable = &event.Durable{LogEnd: s.logs[i][len(s.logs[i])-1].end}
	})
}

func (s *stream) commit(i int, hw int64) {
	s.hw[i] = hw
	s.event(i, nil)
}

func (s *stream) truncate(i int, to int64) {
	s.event(i, func(e *event.Event) { e.Log = &event.LogChange{Truncated: to} })
}

func (s *stream) vote(i int, epoch, id int32) {
	s.epoch[i] = epoch
	s.event(i, func(e *event.Event) { e.State.Voted = id })
}

// snapshot has a replica hold one, and its log start at start.
func (s *stream) snapshot(i int, id event.SnapshotID, start int64) {
	s.event(i, func(e *event.Event) {
		e.State.Snapshot, e.State.LogStart = id, start
	})
}

// install has a snapshot take the place of a log.
func (s *stream) install(i int, id event.SnapshotID, digest uint64) {
	s.logs[i] = []boundary{{end: id.End, digest: digest}}
	s.event(i, func(e *event.Event) {
		e.State.Snapshot, e.State.LogStart = id, id.End
		e.Log = &event.LogChange{Truncated: -1, Reset: id.End, Base: id.End, Digest: digest}
	})
}

// committed is a cluster that has committed one batch in epoch 1, on 1 and 2.
func (s *stream) committed() {
	s.lead(0, 1)
	s.follow(1, 1)
	for i := range 2 {
		s.append(i, 1, 1)
		s.flush(i)
	}
	s.commit(0, 1)
	require.NoError(s.t, s.err)
}

// TestChecks: each property is broken by a few events, and was not before.
func TestChecks(t *testing.T) {
	for _, c := range []struct {
		property string
		broken   func(*stream)
	}{
		{"ElectionSafety", func(s *stream) { s.lead(1, 1) }},
		{"MonotonicEpoch", func(s *stream) { s.follow(1, 3); s.follow(1, 2) }},
		{"OneVotePerEpoch", func(s *stream) { s.vote(2, 4, 1); s.follow(2, 4); s.vote(2, 4, 2) }},
		{"ElectionDurable", func(s *stream) { s.forgets = true; s.vote(2, 4, 1) }},
		{"ElectionDurable", func(s *stream) { s.follow(2, 4); s.forgets = true; s.vote(2, 4, 1) }},
		{"LeaderCompleteness", func(s *stream) { s.lead(2, 2) }},
		{"LeaderCompleteness", func(s *stream) { // the later leader was there before the commit
			s.append(0, 1, 2)
			s.append(1, 1, 2)
			s.follow(1, 2)
			s.truncate(1, 1)
			s.lead(1, 2)
			s.append(2, 1, 1)
			s.append(2, 1, 2)
			s.flush(2)
			s.flush(0)
			s.commit(0, 2)
		}},
		{"MonotonicHighWatermark", func(s *stream) { s.commit(0, 0) }},
		{"HighWatermarkOnMajority", func(s *stream) { s.append(0, 1, 2); s.flush(0); s.append(1, 1, 2); s.commit(0, 2) }},
		{"StateMachineSafety", func(s *stream) { s.commit(2, 1) }},
		{"StateMachineSafety", func(s *stream) { s.append(2, 2, 1); s.commit(2, 1) }},
		{"StateMachineSafety", func(s *stream) { s.append(2, 2, 2); s.flush(2); s.commit(2, 2) }},
		{"CommittedStable", func(s *stream) { s.truncate(1, 0) }},
		{"LogMatching", func(s *stream) {
			s.event(0, func(e *event.Event) { e.State.LogEnd, e.State.Digest = 1, 7 })
		}},
		{"LogMatching", func(s *stream) {
			s.append(1, 1, 5)
			s.event(1, func(e *event.Event) { e.Log = &event.LogChange{Truncated: 3} })
		}},
		{"SnapshotCommitted", func(s *stream) { s.snapshot(0, event.SnapshotID{End: 2, Epoch: 1}, 0) }},
		{"SnapshotCommitted", func(s *stream) {
			s.snapshot(0, event.SnapshotID{End: 1, Epoch: 1}, 0)
			s.snapshot(0, event.SnapshotID{}, 0)
		}},
		{"SnapshotCommitted", func(s *stream) { s.install(2, event.SnapshotID{End: 1, Epoch: 1}, 7) }},
		{"CommittedStable", func(s *stream) {
			s.append(0, 1, 2)
			s.append(1, 1, 2)
			s.flush(0)
			s.flush(1)
			s.commit(0, 2)
			require.NoError(s.t, s.err)
			s.install(0, event.SnapshotID{End: 1, Epoch: 1}, 1001)
		}},
		{"SnapshotCovers", func(s *stream) { s.snapshot(0, event.SnapshotID{}, 1) }},
		{"SnapshotCovers", func(s *stream) { s.snapshot(0, event.SnapshotID{End: 1, Epoch: 1}, 2) }},
		{"MonotonicLogStart", func(s *stream) {
			id := event.SnapshotID{End: 1, Epoch: 1}
			s.snapshot(0, id, 1)
			require.NoError(s.t, s.err)
			s.snapshot(0, id, 0)
		}},
		{"AckCommitted", func(s *stream) { s.err = s.check.ack(1, 1) }},
		{"AckUnique", func(s *stream) { require.NoError(s.t, s.check.ack(1, 0)); s.err = s.check.ack(2, 0) }},
		{"AckUnique", func(s *stream) {
			s.append(0, 1, 2)
			s.append(1, 1, 2)
			s.flush(0)
			s.flush(1)
			s.commit(0, 2)
			require.NoError(s.t, s.err)
			require.NoError(s.t, s.check.ack(1, 0))
			s.err = s.check.ack(1, 1)
		}},
		{"ReadSeesAcknowledged", func(s *stream) { s.err = s.check.read(0, 1) }},
		{"ReadCommitted", func(s *stream) { s.err = s.check.read(2, 1) }},
	} {
		s := newStream(t)
		s.committed()
		c.broken(s)
		var v *ViolationError
		require.True(t, errors.As(s.err, &v), "%s: %v", c.property, s.err)
		require.Equal(t, c.property, v.Property, v.Detail)
	}
}

// TestSnapshotState: machines that have applied the same records have one state.
func TestSnapshotState(t *testing.T) {
	var m machines
	n := &node{id: 1}
	require.NoError(t, m.reach(n, 5, moment{hash: 1, records: 2, last: []byte("x")}, "applied the log"))
	require.NoError(t, m.reach(n, 5, moment{hash: 1, records: 2, last: []byte("x")}, "loaded"))
	for _, other := range []moment{{hash: 2, records: 2, last: []byte("x")}, {hash: 1, records: 3, last: []byte("x")}, {hash: 1, records: 2}} {
		require.ErrorContains(t, m.reach(n, 5, other, "loaded"), "SnapshotState: replica 1 loaded to offset 5")
	}
}

// TestChecksAccept: what looks alike and is right.
func TestChecksAccept(t *testing.T) {
	s := newStream(t)
	s.committed()
	s.append(0, 1, 2) // not committed, and cut off by the next leader
	s.lead(1, 2)
	s.append(1, 2, 2)
	s.follow(0, 2)
	s.hw[0] = 1
	s.truncate(0, 1)
	s.append(0, 2, 2)
	s.flush(0)
	s.flush(1)
	s.commit(1, 2)
	s.append(2, 1, 1)
	s.append(2, 2, 2)
	s.commit(2, 1)
	s.commit(2, 2)
	s.vote(2, 3, 1)
	s.vote(2, 3, 1)
	s.vote(2, 4, 2)
	one, two := event.SnapshotID{End: 1, Epoch: 1}, event.SnapshotID{End: 2, Epoch: 2}
	s.snapshot(1, one, 0)
	s.snapshot(1, two, 1)
	s.hw[2] = -1
	s.check.nodes[2].highest = -1 // a new incarnation
	s.install(2, two, 2002)
	require.NoError(t, s.err)
	require.NoError(t, s.check.ack(7, 1))
	require.NoError(t, s.check.ack(7, 1))
	require.NoError(t, s.check.read(2, 2))
	require.Len(t, s.check.committed, 2)
}
