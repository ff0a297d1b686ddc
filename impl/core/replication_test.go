package core

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The high watermark must cover a record of the leader's epoch, not only reach its
// start (KAFKA-12619), and counts the leader at its flushed end (KAFKA-10533).
func TestHighWatermark(t *testing.T) {
	fetch := func(g *rig, from ReplicaID, offset Offset, epoch Epoch) *Message {
		return g.ask(from, Message{Kind: Fetch, Epoch: g.state().Epoch, Offset: offset, LastEpoch: epoch})
	}
	g := newRig(t, logOf(2, EpochStart{1, 0}), nil).lead()
	require.Equal(t, Offset(2), g.state().EpochStart)
	require.Equal(t, Offset(3), g.state().LogEnd)
	g.flush()
	require.Equal(t, UnknownOffset, fetch(g, 2, 2, 1).HighWatermark)
	require.Equal(t, UnknownOffset, fetch(g, 3, 2, 1).HighWatermark)
	require.Equal(t, Offset(3), fetch(g, 3, 3, g.state().Epoch).HighWatermark)
	require.Equal(t, NoKey, g.state().Voted)
	g.step(Input{Kind: InputAppend, Client: 1, Records: [][]byte{{1}}})
	first := g.has(OpFlush)
	flush := Input{Kind: InputFlushed, Flush: first.Flush, End: first.End}
	require.Equal(t, Offset(3), fetch(g, 3, 4, g.state().Epoch).HighWatermark)
	g.step(Input{Kind: InputAppend, Client: 2, Records: [][]byte{{1}}})
	fetch(g, 3, 5, g.state().Epoch)
	g.step(flush)
	require.Equal(t, Offset(4), g.state().HighWatermark, "the leader counts what it flushed, not what it wrote since")
	require.Equal(t, Offset(4), fetch(g, 3, 3, g.state().Epoch).HighWatermark, "never back")

	g = newRig(t, DiskState{}, nil).lead()
	fetch(g, 2, 1, g.state().Epoch)
	require.Equal(t, UnknownOffset, g.state().HighWatermark, "the leader has not flushed")
	g.flush()
	require.Equal(t, []string{actFlush}, g.actions())
	require.Equal(t, Offset(1), g.state().HighWatermark)
	// Two followers are a majority without the leader's disk.
	g.step(Input{Kind: InputAppend, Client: 1, Records: [][]byte{{1}}})
	fetch(g, 2, 2, g.state().Epoch)
	require.Equal(t, Offset(1), g.state().HighWatermark)
	fetch(g, 3, 2, g.state().Epoch)
	require.Equal(t, Offset(2), g.state().HighWatermark)
	require.Equal(t, Result{Offset: 1}, g.has(OpComplete).Result)
	require.Equal(t, Offset(1), g.state().Flushed)

	one := newRig(t, DiskState{}, func(c *Config) { c.Voters = voters(1) })
	require.Equal(t, Leader, one.state().Role)
	require.Equal(t, UnknownOffset, one.state().HighWatermark)
	one.flush()
	require.Equal(t, Offset(1), one.state().HighWatermark)
	one.step(Input{Kind: InputAppend, Client: 1, Records: [][]byte{{1}}})
	require.Nil(t, one.has(OpComplete), "not before the flush (K-C06)")
	one.flush()
	require.NotNil(t, one.has(OpComplete))
	require.Equal(t, Never, one.r.lead.checkQuorum)
}

func TestFetchOrderOfChecks(t *testing.T) {
	g := newRig(t, DiskState{}, nil).follow(4)
	for _, c := range []struct {
		m    Message
		want ErrorCode
	}{
		{Message{Epoch: 3, Offset: -1}, InvalidRequest},
		{Message{Epoch: 3, MaxWait: -1}, InvalidRequest},
		{Message{Epoch: 3, LastEpoch: -1}, InvalidRequest},
		{Message{Epoch: 3, LastEpoch: 4}, InvalidRequest},
		{Message{Epoch: 3}, FencedLeaderEpoch},
		{Message{Epoch: 5}, UnknownLeaderEpoch},
		{Message{Epoch: 4}, NotLeaderOrFollower},
	} {
		c.m.Kind = Fetch
		answer := g.ask(3, c.m)
		require.Equal(t, c.want, answer.Error)
		require.Equal(t, ReplicaID(2), answer.Leader)
		require.Equal(t, Epoch(4), answer.Epoch, "a fetch teaches no epoch")
		require.Equal(t, UnknownOffset, answer.HighWatermark)
	}
}

// A fetch that diverges proves nothing: no progress, no credit (KAFKA-13141).
func TestDivergingFetchProvesNothing(t *testing.T) {
	g := newRig(t, logOf(2, EpochStart{1, 0}), nil).lead()
	g.flush()
	start := g.now
	epoch := g.state().Epoch
	for g.now < start+2900 {
		g.now += 100
		answer := g.ask(2, Message{Kind: Fetch, Epoch: epoch, Offset: 3, LastEpoch: 1, MaxWait: 500})
		require.Equal(t, EpochEnd{1, 2}, answer.Diverging)
		require.Equal(t, None, answer.Error)
		require.Equal(t, UnknownOffset, answer.HighWatermark)
		// An observer is no voter, nor is one with our id.
		g.ask(7, Message{Kind: Fetch, Epoch: epoch, Offset: 3, LastEpoch: epoch})
		require.Equal(t, InvalidRequest, g.ask(1, Message{Kind: Fetch, Epoch: epoch, Offset: 3, LastEpoch: epoch}).Error)
	}
	require.Equal(t, UnknownOffset, g.state().HighWatermark)
	g.tick(start + 3000)
	require.Equal(t, Resigned, g.state().Role)

	g = newRig(t, DiskState{}, nil).lead()
	for start = g.now; g.now < start+10_000; {
		g.tick(g.now + 1000)
		g.ask(3, Message{Kind: Fetch, Epoch: g.state().Epoch})
	}
	require.Equal(t, Leader, g.state().Role, "one of two others is enough")

	g = newRig(t, file(4, -1, 1), func(c *Config) { c.Voters = voters(1, 2, 3, 4, 5) })
	o := g.request(3, Vote)
	g.answer(g.request(2, Vote), Message{Epoch: 4, Leader: -1, Granted: true})
	g.answer(o, Message{Epoch: 4, Leader: -1, Granted: true})
	require.Equal(t, Leader, g.state().Role)
	for range 4 {
		g.tick(g.now + 1000)
		g.ask(3, Message{Kind: Fetch, Epoch: 4})
	}
	require.Equal(t, Resigned, g.state().Role, "one of four others is not")
}

func TestObserverTriesItsLeaderAgain(t *testing.T) {
	g := newRig(t, file(4, 2, -1), func(c *Config) { c.ID, c.Bootstrap = 9, []ReplicaID{3} })
	at := g.r.follow.deadline
	g.step(Input{Kind: InputRequestFailed, Peer: 2, Correlation: g.request(2, Fetch).Correlation})
	o := g.request(3, Fetch)
	require.NotNil(t, o, "the leader cannot be reached")
	g.now += 100
	g.answer(o, Message{Epoch: 4, Leader: 2, Error: NotLeaderOrFollower})
	require.NotNil(t, g.request(2, Fetch), "it still leads (K-F04)")
	require.Equal(t, at+100, g.r.follow.deadline)
	// Nothing from the leader for long.
	for g.now < at+200 && g.request(3, Fetch) == nil {
		g.tick(g.now + 1)
	}
	require.NotNil(t, g.request(3, Fetch))
	require.Equal(t, Follower, g.state().Role)
}

func TestParkedFetches(t *testing.T) {
	g := newRig(t, DiskState{}, nil).lead()
	g.flush()
	epoch := g.state().Epoch
	park := func(from ReplicaID, hw Offset) ConnID {
		m := g.ask(from, Message{Kind: Fetch, Epoch: epoch, Offset: g.state().LogEnd, LastEpoch: epoch, MaxWait: 500, HighWatermark: hw})
		require.Nil(t, m)
		require.True(t, g.out.Ops[0].Event.Args.Park)
		return g.conn
	}
	answered := func(conn ConnID) *Op {
		for i := range g.out.Ops {
			if o := &g.out.Ops[i]; o.Kind == OpSendResponse && o.Conn == conn {
				return o
			}
		}
		return nil
	}
	// The high watermark wakes who can hear of it (KIP-1166).
	old, seven := park(7, NoHighWatermark), park(8, UnknownOffset)
	require.NotNil(t, g.ask(2, Message{Kind: Fetch, Epoch: epoch, Offset: 1, LastEpoch: epoch, MaxWait: 500, HighWatermark: UnknownOffset}),
		"it moved the high watermark itself")
	require.Equal(t, Offset(1), answered(seven).Message.HighWatermark)
	require.Nil(t, answered(old))
	// New records wake all, before the leader has flushed them.
	at := park(2, 1)
	g.step(Input{Kind: InputAppend, Client: 1, Records: [][]byte{{1}}})
	for _, conn := range []ConnID{old, at} {
		require.Equal(t, Offset(1), answered(conn).Message.Offset)
		require.Equal(t, Offset(2), answered(conn).ReadTo)
	}
	// The time is up.
	at = park(2, 1)
	gone := park(7, 1)
	g.step(Input{Kind: InputDisconnected, Conn: gone})
	g.tick(g.now + 499)
	require.Nil(t, answered(at))
	g.tick(g.now + 1)
	require.Equal(t, None, answered(at).Message.Error)
	require.Zero(t, answered(at).ReadTo, "nothing to read")
	require.Nil(t, answered(gone))
	// The leader leads no more.
	g.flush()
	at = park(3, 2)
	g.step(Input{Kind: InputResign})
	require.Equal(t, NotLeaderOrFollower, answered(at).Message.Error)
	require.Empty(t, g.r.parked)
}

func fetched(base Offset, epoch Epoch, counts ...int) Message {
	m := Message{Epoch: epoch, Leader: 2, HighWatermark: UnknownOffset, Offset: base}
	for _, n := range counts {
		m.Batches = append(m.Batches, BatchInfo{Base: base, End: base + Offset(n), Epoch: epoch, Count: int64(n), Size: 10 * n})
		base += Offset(n)
		m.Records = append(m.Records, make([]byte, 10*n)...)
	}
	return m
}

// A follower claims only what is durable: it fetches on after the flush.
func TestFollowerFlushesBeforeItFetches(t *testing.T) {
	g := newRig(t, DiskState{}, nil).follow(2)
	m := fetched(0, 2, 1, 2)
	m.HighWatermark = 9
	g.answer(g.request(2, Fetch), m)
	require.Equal(t, []OpKind{OpAppendRaw, OpFlush, OpEvent}, g.kinds())
	require.Equal(t, Offset(3), g.state().HighWatermark, "not past the log end")
	require.Equal(t, Offset(0), g.state().Flushed)
	g.tick(g.now + 500)
	require.Nil(t, g.request(2, Fetch))
	g.flush()
	o := g.request(2, Fetch)
	require.Equal(t, Offset(3), o.Message.Offset)
	require.Equal(t, Epoch(2), o.Message.LastEpoch)
	// An older high watermark does not move it back (K-C07).
	m = fetched(3, 2)
	m.HighWatermark = 1
	g.now += 700
	g.answer(o, m)
	require.Equal(t, g.now+2000, g.r.follow.deadline)
	require.Equal(t, Offset(3), g.state().HighWatermark)
	require.NotNil(t, g.request(2, Fetch))
}

func TestFollowerTruncates(t *testing.T) {
	g := newRig(t, logOf(6, EpochStart{1, 0}, EpochStart{2, 2}), nil).follow(4)
	m := Message{Epoch: 4, Leader: 2, HighWatermark: 5, Diverging: EpochEnd{2, 4}}
	g.answer(g.request(2, Fetch), m)
	require.Equal(t, []OpKind{OpTruncate, OpFlush, OpEvent}, g.kinds())
	require.Equal(t, Offset(4), g.has(OpTruncate).End)
	require.Equal(t, UnknownOffset, g.state().HighWatermark, "what is left may diverge too (KAFKA-14704)")
	// A flush that began earlier does not make the truncation durable.
	g.step(Input{Kind: InputFlushed, Flush: g.r.log.lastFlush - 1, End: 4})
	require.Nil(t, g.request(2, Fetch))
	g.flush()
	require.Equal(t, []string{actFlush, actSendFetch}, g.actions())
	require.Equal(t, Offset(4), g.request(2, Fetch).Message.Offset)
	// An answer that would change nothing is not taken at face value for ever.
	g.answer(g.request(2, Fetch), Message{Epoch: 4, Leader: 2, Diverging: EpochEnd{2, 9}})
	require.Nil(t, g.has(OpTruncate))
	require.Nil(t, g.request(2, Fetch))
}

func TestNothingIsClaimedBeforeATruncationIsDurable(t *testing.T) {
	g := newRig(t, logOf(6, EpochStart{1, 0}), nil).follow(4)
	g.answer(g.request(2, Fetch), Message{Epoch: 4, Leader: 2, Diverging: EpochEnd{1, 4}})
	require.NotNil(t, g.has(OpTruncate))
	g.tick(g.now + 2000)
	require.Equal(t, Prospective, g.state().Role)
	require.Nil(t, g.has(OpSendRequest))
	g.flush()
	require.Equal(t, []string{actFlush, actSendVoteRequest, actSendVoteRequest}, g.actions())
	require.Equal(t, Offset(4), g.request(2, Vote).Message.Offset)
}

// A peer that would have committed records cut off is not believed, whether it leads
// already or says so only now.
func TestCommittedRecordsAreNotCutOff(t *testing.T) {
	g := newRig(t, logOf(6, EpochStart{1, 0}), nil).follow(4)
	m := fetched(6, 4)
	m.HighWatermark = 5
	g.answer(g.request(2, Fetch), m)
	require.Equal(t, Offset(5), g.state().HighWatermark)
	lie := Message{Epoch: 4, Leader: 2, Diverging: EpochEnd{1, 4}}
	before := g.state()
	o := g.request(2, Fetch)
	for range 3 {
		require.Empty(t, g.answer(o, lie))
		require.Equal(t, before, g.state())
		g.tick(g.now + 20)
		o = g.request(2, Fetch)
		require.NotNil(t, o, "it asks again, later")
	}
	// It is no proof that the leader is there.
	for g.state().Role == Follower {
		if o := g.request(2, Fetch); o != nil {
			g.answer(o, lie)
		}
		g.tick(g.now + 20)
		require.Less(t, g.now, Ticks(4000))
	}
	require.Equal(t, Prospective, g.state().Role)
	require.Equal(t, before.LogEnd, g.state().LogEnd)

	// Up to the high watermark it may.
	g = newRig(t, logOf(6, EpochStart{1, 0}), nil).follow(4)
	g.answer(g.request(2, Fetch), m)
	g.answer(g.request(2, Fetch), Message{Epoch: 4, Leader: 2, Diverging: EpochEnd{1, 5}})
	require.Equal(t, Offset(5), g.has(OpTruncate).End)

	// One that only now says that it leads: that is not believed either.
	g = newRig(t, logOf(6, EpochStart{1, 0}), nil).follow(4)
	g.answer(g.request(2, Fetch), m)
	g.ask(3, Message{Kind: Vote, Epoch: 5})
	g.tick(g.now + 100)
	for range 20 {
		for _, id := range []ReplicaID{2, 3} {
			if o := g.request(id, Fetch); o != nil {
				require.Empty(t, g.answer(o, Message{Epoch: 5, Leader: id, Diverging: EpochEnd{1, 4}}))
				require.Equal(t, Unattached, g.state().Role)
			}
		}
		g.tick(g.now + 20)
	}
}

func TestTruncationBelowTheHighWatermarkPanics(t *testing.T) {
	g := newRig(t, logOf(6, EpochStart{1, 0}), nil).follow(4)
	m := fetched(6, 4)
	m.HighWatermark = 5
	g.answer(g.request(2, Fetch), m)
	require.Equal(t, Offset(5), g.state().HighWatermark)
	defer func() {
		text := recover().(string)
		require.Contains(t, text, "truncation below the high watermark")
		require.Contains(t, text, "replica 1 Follower epoch 4 leader 2")
		require.Contains(t, text, "high watermark 5")
	}()
	g.r.truncate(4)
}

func TestFollowerAppendsOnlyWhatFits(t *testing.T) {
	for name, spoil := range map[string]func(*Message){
		"gap":          func(m *Message) { m.Batches[1].Base++; m.Batches[1].End++ },
		"overlap":      func(m *Message) { m.Batches[1].Base-- },
		"older epoch":  func(m *Message) { m.Batches[1].Epoch = 1 },
		"newer epoch":  func(m *Message) { m.Batches[1].Epoch = 9 },
		"empty":        func(m *Message) { m.Batches[1].Count = 0 },
		"short of raw": func(m *Message) { m.Records = m.Records[:len(m.Records)-1] },
	} {
		g := newRig(t, DiskState{}, nil).follow(4)
		m := fetched(0, 4, 2, 3)
		spoil(&m)
		g.answer(g.request(2, Fetch), m)
		o := g.has(OpAppendRaw)
		require.Equal(t, Offset(2), o.End, name)
		require.Len(t, o.Raw, 20, name)
		require.Len(t, o.Batches, 1, name)
		require.Equal(t, Offset(2), g.state().LogEnd, name)
	}
}

func TestResponses(t *testing.T) {
	for _, c := range []struct {
		name   string
		m      Message
		role   Role
		epoch  Epoch
		leader ReplicaID
	}{
		{"older epoch", Message{Epoch: 3, Leader: 3}, Follower, 4, 2},
		{"our epoch is unknown", Message{Epoch: 4, Leader: 2, Error: UnknownLeaderEpoch}, Follower, 4, 2},
		{"newer epoch", Message{Epoch: 5, Leader: -1, Error: FencedLeaderEpoch}, Unattached, 5, -1},
		{"newer leader", Message{Epoch: 5, Leader: 3, Error: NotLeaderOrFollower}, Follower, 5, 3},
		{"we lead?", Message{Epoch: 5, Leader: 1}, Follower, 4, 2},
		{"two leaders", Message{Epoch: 4, Leader: 3}, Follower, 4, 2},
		{"invalid request", Message{Epoch: 4, Leader: 2, Error: InvalidRequest}, Follower, 4, 2},
		{"not available", Message{Epoch: 4, Leader: 2, Error: BrokerNotAvailable}, Follower, 4, 2},
	} {
		g := newRig(t, DiskState{}, nil).follow(4)
		deadline := g.r.follow.deadline
		g.now += 5
		g.answer(g.request(2, Fetch), c.m)
		s := g.state()
		require.Equal(t, []any{c.role, c.epoch, c.leader}, []any{s.Role, s.Epoch, s.Leader}, c.name)
		if s.Epoch == 4 {
			require.Empty(t, g.out.Ops, c.name)
			require.Equal(t, deadline, g.r.follow.deadline, "an error is no sign of life")
			g.tick(g.now + 20)
			require.NotNil(t, g.request(2, Fetch), c.name)
		} else {
			require.Equal(t, actHandleFetchResponse, g.actions()[0], c.name)
		}
	}
}

func TestLateAnswersAreDropped(t *testing.T) {
	g := newRig(t, DiskState{}, nil).follow(4)
	old := g.request(2, Fetch)
	g.follow(5) // the same peer, another epoch
	require.NotNil(t, g.request(2, Fetch))
	g.answer(old, fetched(0, 5, 1))
	require.Empty(t, g.out.Ops)
	// A request that timed out is sent again under another number.
	old = &Op{Peer: 2, Correlation: g.r.peers[1].correlation, Message: Message{Kind: Fetch}}
	g.tick(g.now + 1999)
	g.r.follow.deadline = Never
	g.now++
	g.step(Input{})
	require.NotEqual(t, old.Correlation, g.request(2, Fetch).Correlation)
	g.answer(old, fetched(0, 5, 1))
	require.Empty(t, g.out.Ops)
	// A failed one waits for the back-off.
	g.step(Input{Kind: InputRequestFailed, Peer: 2, Correlation: g.r.peers[1].correlation})
	require.Empty(t, g.out.Ops)
	g.tick(g.now + 20)
	require.NotNil(t, g.request(2, Fetch))
}

func TestUnattachedAsksABootstrapServer(t *testing.T) {
	for _, id := range []ReplicaID{1, 9} {
		g := newRig(t, DiskState{}, func(c *Config) { c.ID, c.Bootstrap = id, []ReplicaID{3, 1} })
		o := g.request(3, Fetch)
		if o == nil { // the observer may have picked 1
			o = g.request(1, Fetch)
		}
		require.Zero(t, o.Message.MaxWait)
		n := 0
		for _, k := range g.kinds() {
			if k == OpSendRequest {
				n++
			}
		}
		require.Equal(t, 1, n, "one fetch in flight")
		g.answer(o, Message{Epoch: 2, Leader: 2, Error: NotLeaderOrFollower})
		require.Equal(t, Follower, g.state().Role)
		require.NotNil(t, g.request(2, Fetch))
	}
	// A discovery that meets the leader appends at once.
	g := newRig(t, file(2, -1, -1), func(c *Config) { c.ID, c.Bootstrap = 9, []ReplicaID{2} })
	g.answer(g.request(2, Fetch), fetched(0, 2, 3))
	require.Equal(t, []OpKind{OpPersist, OpAppendRaw, OpFlush, OpEvent}, g.kinds())
	require.Equal(t, Follower, g.state().Role)
	// Who does not know our epoch does not know the leader of it.
	u := newRig(t, file(4, -1, -1), func(c *Config) { c.Bootstrap = []ReplicaID{3} })
	u.answer(u.request(3, Fetch), Message{Epoch: 4, Leader: 2, Error: UnknownLeaderEpoch})
	require.Equal(t, Unattached, u.state().Role)
	// An observer never stands.
	g.flush()
	g.tick(g.now + 60_000)
	require.Equal(t, Follower, g.state().Role)
	require.Equal(t, Epoch(2), g.state().Epoch)
}
