package core

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/traces/event"
)

// held is a disk whose log was [0,10) in epochs 1 (to 4) and 3, and [10,12) in epoch 4,
// with a snapshot of [0,10) from where it starts.
func held(start Offset) DiskState {
	d := file(4, NoReplica, NoReplica)
	d.LogStart, d.LogEnd = start, 12
	d.Epochs = []EpochStart{{4, 10}}
	if start == 0 {
		d.Epochs = []EpochStart{{1, 0}, {3, 4}, {4, 10}}
	}
	d.Snapshots = []Snapshot{{ID: SnapshotID{10, 3}, Size: 100}}
	return d
}

func TestDiskWithSnapshots(t *testing.T) {
	disk := func(start, end Offset, epochs []EpochStart, snapshots ...SnapshotID) DiskState {
		d := file(9, NoReplica, NoReplica)
		d.LogStart, d.LogEnd, d.Epochs = start, end, epochs
		for _, id := range snapshots {
			d.Snapshots = append(d.Snapshots, Snapshot{id, 1})
		}
		return d
	}
	log := []EpochStart{{2, 0}, {5, 6}}
	for _, good := range []DiskState{
		disk(0, 9, log), disk(0, 9, log, SnapshotID{3, 2}, SnapshotID{6, 2}, SnapshotID{9, 5}),
		disk(9, 9, nil, SnapshotID{9, 5}), disk(6, 9, []EpochStart{{5, 6}}, SnapshotID{6, 2}),
		disk(7, 9, []EpochStart{{5, 7}}, SnapshotID{7, 5}, SnapshotID{8, 5}),
	} {
		_, err := New(Config{ID: 1, Voters: voters(1, 2, 3)}, good, 0, &Effects{})
		require.NoError(t, err, "%+v", good)
	}
	noSize := disk(0, 9, log, SnapshotID{3, 2})
	noSize.Snapshots[0].Size = 0
	for _, c := range []struct {
		d    DiskState
		want string
	}{
		{disk(-1, 9, log), "starts at -1"},
		{disk(10, 9, log), "starts at 10 and ends at 9"},
		{disk(6, 9, []EpochStart{{5, 6}}), "no snapshot ends there"},
		{disk(6, 9, []EpochStart{{5, 6}}, SnapshotID{7, 5}), "no snapshot ends there"},
		{disk(6, 9, log, SnapshotID{6, 2}), "do not ascend"},
		{disk(6, 9, nil, SnapshotID{6, 2}), "records and no epochs"},
		{disk(0, 9, log, SnapshotID{7, 2}), "ends at 7 in epoch 2 is not of this log"},
		{disk(0, 9, log, SnapshotID{6, 5}), "not of this log"},
		{disk(0, 9, log, SnapshotID{10, 5}), "not of this log"},
		{disk(0, 9, log, SnapshotID{6, 2}, SnapshotID{6, 2}), "does not ascend"},
		{disk(0, 9, log, SnapshotID{0, 1}), "is none"},
		{disk(0, 9, log, SnapshotID{1, 0}), "is none"},
		{noSize, "is none"},
		{disk(6, 9, []EpochStart{{5, 6}}, SnapshotID{6, 7}), "before that of its snapshot"},
	} {
		_, err := New(Config{ID: 1, Voters: voters(1, 2, 3)}, c.d, 0, &Effects{})
		require.ErrorContains(t, err, c.want, "%+v", c.d)
	}
}

// A log that was emptied by a snapshot ends where the snapshot does, for elections too.
func TestVoteWithEmptyLog(t *testing.T) {
	d := file(4, NoReplica, NoReplica)
	d.LogStart, d.LogEnd, d.Snapshots = 10, 10, []Snapshot{{SnapshotID{10, 3}, 100}}
	g := newRig(t, d, nil)
	require.Equal(t, Epoch(3), g.state().LastEpoch)
	require.Equal(t, UnknownOffset, g.state().HighWatermark)
	require.False(t, g.ask(2, Message{Kind: Vote, Epoch: 5, Offset: 9, LastEpoch: 3}).Granted)
	require.True(t, g.ask(2, Message{Kind: Vote, Epoch: 6, Offset: 10, LastEpoch: 3}).Granted)
	g = newRig(t, d, nil)
	g.tick(g.now + 2100)
	m := g.r.log
	require.Equal(t, Prospective, g.state().Role)
	require.Equal(t, Offset(10), m.end)
	g.lead()
	require.Equal(t, Offset(10), g.state().EpochStart)
	require.Equal(t, []EpochStart{{g.state().Epoch, 10}}, g.r.log.epochs)

	f := newRig(t, d, nil).follow(5)
	o := f.request(2, Fetch)
	require.Equal(t, Offset(10), o.Message.Offset)
	require.Equal(t, Epoch(3), o.Message.LastEpoch)
	// Records of the very epoch of the snapshot give the log an epoch again.
	f.answer(o, Message{Epoch: 5, Leader: 2, Offset: 10, HighWatermark: 10,
		Records: []byte{1}, Batches: []BatchInfo{{Base: 10, End: 11, Epoch: 3, Count: 1, Size: 1}}})
	require.Equal(t, []EpochStart{{3, 10}}, f.r.log.epochs)
	require.Equal(t, Offset(11), f.state().LogEnd)
	f.flush()
	// What the snapshot holds is never cut off, whatever a leader says.
	f.answer(f.request(2, Fetch), Message{Epoch: 5, Leader: 2, Diverging: EpochEnd{3, 9}})
	require.Equal(t, Offset(11), f.state().LogEnd)
	require.Empty(t, f.actions())
}

func TestTakeSnapshot(t *testing.T) {
	g := newRig(t, held(0), nil).follow(5)
	take := func(end Offset, epoch Epoch) []Op {
		return g.step(Input{Kind: InputSnapshotTaken, SnapshotID: SnapshotID{end, epoch}, Size: 7})
	}
	may := func(end Offset, epoch Epoch) error { return g.r.MayTakeSnapshot(SnapshotID{end, epoch}) }
	require.ErrorIs(t, may(12, 4), ErrSnapshotUncommitted, "the high watermark is not known yet")
	take(12, 4)
	require.Equal(t, SnapshotID{12, 4}, g.has(OpDeleteSnapshot).SnapshotID)
	o := g.request(2, Fetch)
	if o == nil {
		p := g.r.peer(2)
		o = &Op{Peer: 2, Correlation: p.correlation, Message: Message{Kind: Fetch}}
	}
	g.answer(o, Message{Epoch: 5, Leader: 2, Offset: 12, HighWatermark: 14, Records: []byte{1},
		Batches: []BatchInfo{{Base: 12, End: 13, Epoch: 5, Count: 1, Size: 1}}})
	require.Equal(t, Offset(13), g.state().HighWatermark)
	require.ErrorIs(t, may(13, 5), ErrSnapshotUnflushed)
	take(13, 5)
	require.NotNil(t, g.has(OpDeleteSnapshot))
	g.flush()
	require.ErrorIs(t, may(14, 5), ErrSnapshotUncommitted)
	require.ErrorIs(t, may(10, 3), ErrSnapshotOld)
	require.ErrorIs(t, may(9, 3), ErrSnapshotOld)
	require.ErrorIs(t, may(12, 5), ErrSnapshotEpoch, "epoch 5 starts there: the record before is of epoch 4")
	require.ErrorIs(t, may(13, 4), ErrSnapshotEpoch)
	require.NoError(t, may(12, 4))
	take(12, 4)
	require.Equal(t, []string{actTakeSnapshot}, g.actions())
	e := g.has(OpEvent).Event
	want := event.SnapshotID{End: 12, Epoch: 4}
	require.Equal(t, want, e.Args.Snapshot)
	require.Equal(t, want, e.State.Snapshot)
	require.Equal(t, &event.Durable{LogEnd: -1, Snapshot: want}, e.Durable)
	require.Nil(t, e.Log)
	require.Equal(t, SnapshotID{12, 4}, g.state().Snapshot)
	take(12, 4)
	require.Empty(t, g.out.Ops, "one that is held is not deleted")
	take(11, 4)
	require.Equal(t, SnapshotID{11, 4}, g.has(OpDeleteSnapshot).SnapshotID, "a later one is held")
	g.step(Input{Kind: InputSnapshotTaken, SnapshotID: SnapshotID{13, 5}})
	require.NotNil(t, g.has(OpDeleteSnapshot), "a snapshot without a byte is none")
}

// A snapshot that was begun before the replica became leader is taken once the leader
// knows the high watermark.
func TestTakeSnapshotOfNewLeader(t *testing.T) {
	g := newRig(t, held(0), nil).follow(5)
	g.answer(&Op{Peer: 2, Correlation: g.r.peer(2).correlation, Message: Message{Kind: Fetch}},
		Message{Epoch: 5, Leader: 2, HighWatermark: 12})
	require.NoError(t, g.r.MayTakeSnapshot(SnapshotID{12, 4}))
	g.lead()
	require.Equal(t, UnknownOffset, g.state().HighWatermark)
	g.step(Input{Kind: InputSnapshotTaken, SnapshotID: SnapshotID{12, 4}, Size: 7})
	require.Empty(t, g.actions())
	require.Nil(t, g.has(OpDeleteSnapshot))
	g.flush()
	g.ask(2, Message{Kind: Fetch, Epoch: g.state().Epoch, Offset: 13, LastEpoch: g.state().Epoch})
	require.Contains(t, g.actions(), actTakeSnapshot)
	require.Equal(t, SnapshotID{12, 4}, g.state().Snapshot)
}

func TestAdvanceLogStart(t *testing.T) {
	d := held(0)
	d.Snapshots = []Snapshot{{SnapshotID{3, 1}, 1}, {SnapshotID{6, 3}, 2}, {SnapshotID{10, 3}, 3}, {SnapshotID{12, 4}, 4}}
	g := newRig(t, d, nil)
	advance := func(end Offset, epoch Epoch) {
		g.step(Input{Kind: InputAdvanceLogStart, SnapshotID: SnapshotID{end, epoch}})
	}
	advance(5, 3)
	require.Empty(t, g.out.Ops, "no snapshot ends there")
	advance(6, 1)
	require.Empty(t, g.out.Ops, "it ends in another epoch")
	advance(6, 3)
	require.Equal(t, []OpKind{OpAdvanceLogStart, OpEvent}, g.kinds())
	require.Equal(t, SnapshotID{6, 3}, g.has(OpAdvanceLogStart).SnapshotID)
	e := g.has(OpEvent).Event
	require.Equal(t, actAdvanceLogStart, e.Action)
	require.Equal(t, event.SnapshotID{End: 6, Epoch: 3}, e.Args.Snapshot)
	require.Equal(t, int64(6), e.State.LogStart)
	require.Equal(t, []EpochStart{{3, 6}, {4, 10}}, g.r.log.epochs)
	require.Equal(t, d.Snapshots[1:], g.r.log.snapshots)
	advance(6, 3)
	require.Empty(t, g.out.Ops)
	advance(10, 3)
	require.Equal(t, []EpochStart{{4, 10}}, g.r.log.epochs)
	require.Equal(t, Epoch(4), g.state().LastEpoch)
	advance(12, 4)
	require.Empty(t, g.r.log.epochs)
	require.Equal(t, Epoch(4), g.state().LastEpoch)
	require.Equal(t, Offset(12), g.state().LogStart)
	require.NoError(t, (&DiskState{HasElection: true, LogStart: 12, LogEnd: 12, Snapshots: g.r.log.snapshots}).check(&g.r.cfg))
}

// Where a fetch is answered with a snapshot, as KafkaMetadataLog.validateOffsetAndEpoch.
func TestFetchBelowLogStart(t *testing.T) {
	for _, c := range []struct {
		start     Offset
		offset    Offset
		epoch     Epoch
		snapshot  bool
		diverging EpochEnd
	}{
		{10, 0, 0, true, NoEpochEnd},
		{10, 9, 3, true, NoEpochEnd},
		{10, 10, 3, false, NoEpochEnd}, // the end of the snapshot itself
		{10, 10, 4, true, NoEpochEnd},  // another record there
		{10, 10, 2, true, NoEpochEnd},
		{10, 11, 2, true, NoEpochEnd}, // in the log, of an epoch that only the snapshot knows
		{10, 11, 3, false, EpochEnd{3, 10}},
		{10, 11, 4, false, NoEpochEnd},
		{10, 13, 4, false, EpochEnd{4, 12}},
		{0, 0, 0, true, NoEpochEnd}, // who has nothing gets the snapshot
		{0, 0, 3, true, NoEpochEnd}, // whatever epoch it says
		{0, 3, 1, true, NoEpochEnd}, // epoch below that of the snapshot
		{0, 5, 3, false, NoEpochEnd},
		{0, 10, 3, false, NoEpochEnd},
	} {
		g := newRig(t, held(c.start), nil).lead()
		g.flush()
		epoch := g.state().Epoch
		answer := g.ask(2, Message{Kind: Fetch, Epoch: epoch, Offset: c.offset, LastEpoch: c.epoch, MaxWait: 500})
		require.NotNil(t, answer, "%+v: parked", c)
		require.Equal(t, None, answer.Error)
		require.Equal(t, c.diverging, answer.Diverging, "%+v", c)
		if c.snapshot {
			require.Equal(t, SnapshotID{10, 3}, answer.SnapshotID, "%+v", c)
			require.Equal(t, UnknownOffset, g.r.lead.voters[1].end, "%+v: it proves nothing", c)
			require.False(t, g.r.lead.voters[1].fetched)
			require.Equal(t, event.SnapshotID{End: 10, Epoch: 3}, g.has(OpEvent).Event.Send[0].Snapshot)
		} else {
			require.Equal(t, NoSnapshot, answer.SnapshotID, "%+v", c)
		}
	}
}

// Between the snapshot and the log may lie an epoch of which neither has a record.
func TestEndOffsetForEpochAboveSnapshot(t *testing.T) {
	l := logState{start: 10, end: 12, epochs: []EpochStart{{6, 10}}, snapshots: []Snapshot{{SnapshotID{10, 3}, 1}}}
	require.Equal(t, EpochEnd{3, 10}, l.endOffsetForEpoch(3))
	require.Equal(t, EpochEnd{3, 10}, l.endOffsetForEpoch(5))
	require.Equal(t, EpochEnd{6, 12}, l.endOffsetForEpoch(6))
	end, diverges := l.diverges(11, 5)
	require.True(t, diverges)
	require.Equal(t, EpochEnd{3, 10}, end)
	require.Equal(t, Offset(10), l.truncationPoint(EpochEnd{5, 11}))
}

func TestFetchSnapshotOrderOfChecks(t *testing.T) {
	id := SnapshotID{10, 3}
	g := newRig(t, held(10), nil).follow(5)
	ask := func(from ReplicaID, m Message) *Message {
		m.Kind = FetchSnapshot
		return g.ask(from, m)
	}
	require.Equal(t, InvalidRequest, ask(3, Message{Epoch: MaxEpoch + 1, SnapshotID: id}).Error)
	require.Equal(t, FencedLeaderEpoch, ask(3, Message{Epoch: 4, Position: -1}).Error)
	require.Equal(t, UnknownLeaderEpoch, ask(3, Message{Epoch: 6, Position: -1}).Error)
	answer := ask(3, Message{Epoch: 5, Position: -1})
	require.Equal(t, NotLeaderOrFollower, answer.Error)
	require.Equal(t, ReplicaID(2), answer.Leader)

	g.lead()
	epoch := g.state().Epoch
	require.Equal(t, InvalidRequest, ask(1, Message{Epoch: epoch, SnapshotID: id}).Error, "our own id")
	for _, c := range []struct {
		m    Message
		want ErrorCode
	}{
		{Message{Position: -1}, SnapshotNotFound}, // the bootstrap snapshot is never served
		{Message{SnapshotID: SnapshotID{10, 4}, Position: -1}, SnapshotNotFound},
		{Message{SnapshotID: SnapshotID{9, 3}}, SnapshotNotFound},
		{Message{SnapshotID: SnapshotID{-1, -1}}, SnapshotNotFound},
		{Message{SnapshotID: id, Position: -1}, PositionOutOfRange},
		{Message{SnapshotID: id, Position: 100}, PositionOutOfRange},
	} {
		c.m.Epoch = epoch
		answer := ask(2, c.m)
		require.Equal(t, c.want, answer.Error, "%+v", c.m)
		require.Zero(t, answer.Size)
		require.Equal(t, epoch, answer.Epoch)
		require.False(t, g.r.lead.voters[1].fetched, "no credit")
	}
	for _, c := range []struct {
		position int64
		max      int32
		want     int32
	}{{0, 100, 100}, {0, 1000, 100}, {0, 40, 40}, {40, 40, 40}, {80, 40, 20}, {99, 1, 1}, {0, 0, 0}, {0, -5, 0}} {
		answer := ask(2, Message{Epoch: epoch, SnapshotID: id, Position: c.position, MaxBytes: c.max})
		require.Equal(t, Message{Kind: FetchSnapshot, Response: true, Epoch: epoch, Leader: 1, SnapshotID: id,
			Position: c.position, Size: 100}, *answer)
		require.Equal(t, c.want, g.has(OpSendResponse).MaxBytes)
		e := g.has(OpEvent).Event
		require.Equal(t, actHandleFetchSnapshotRequest, e.Action)
		require.Equal(t, int64(c.want), e.Send[0].Bytes)
	}
	// A voter that fetches a snapshot follows: it counts for the leader's quorum, and its
	// log does not count as reaching anywhere.
	start := g.now
	for g.now < start+10_000 {
		g.tick(g.now + 1000)
		ask(2, Message{Epoch: epoch, SnapshotID: id, MaxBytes: 10})
	}
	require.Equal(t, Leader, g.state().Role)
	require.Equal(t, UnknownOffset, g.r.lead.voters[1].end)
	for start = g.now; g.now < start+3100; {
		g.tick(g.now + 1000)
		ask(7, Message{Epoch: epoch, SnapshotID: id, MaxBytes: 10})
	}
	require.Equal(t, Resigned, g.state().Role, "an observer's does not")
}

// Whoever asks for more gets what the leader's own limit allows.
func TestChunkLimit(t *testing.T) {
	g := newRig(t, held(10), func(c *Config) { c.MaxSnapshotBytes = 30 }).lead()
	g.ask(2, Message{Kind: FetchSnapshot, Epoch: g.state().Epoch, SnapshotID: SnapshotID{10, 3}, MaxBytes: 100})
	require.Equal(t, int32(30), g.has(OpSendResponse).MaxBytes)
}

// fetching is a follower of 2 in epoch 5 that has [0,12) and was sent to a snapshot.
func fetching(t *testing.T, id SnapshotID) *rig {
	g := newRig(t, logOf(12, EpochStart{1, 0}, EpochStart{3, 4}), nil).follow(5)
	g.answer(g.request(2, Fetch), Message{Epoch: 5, Leader: 2, HighWatermark: 20, SnapshotID: id})
	return g
}

func (g *rig) chunk(o *Op, position, size int64, chunk string) []Op {
	return g.answer(o, Message{Epoch: 5, Leader: 2, SnapshotID: o.Message.SnapshotID, Position: position,
		Size: size, Chunk: []byte(chunk)})
}

func TestFetchSnapshot(t *testing.T) {
	id := SnapshotID{30, 4}
	g := fetching(t, id)
	require.Equal(t, []string{actHandleFetchResponse, actSendFetchSnapshot}, g.actions())
	require.Equal(t, UnknownOffset, g.state().HighWatermark, "that of the response is not looked at")
	o := g.request(2, FetchSnapshot)
	require.Equal(t, id, o.Message.SnapshotID)
	require.Equal(t, int32(8<<20), o.Message.MaxBytes)
	require.Equal(t, Epoch(5), o.Message.Epoch)
	g.chunk(o, 0, 5, "ab")
	require.Equal(t, []OpKind{OpReceiveSnapshot, OpEvent, OpEvent, OpSendRequest}, g.kinds())
	require.Equal(t, "ab", string(g.has(OpReceiveSnapshot).Raw))
	e := g.has(OpEvent).Event
	require.Equal(t, event.Fetching{Snapshot: event.SnapshotID{End: 30, Epoch: 4}, Position: 2}, e.State.Fetching)
	require.Equal(t, int64(2), e.Recv.Bytes)
	require.Equal(t, int64(5), e.Recv.Size)

	// A request that is not answered, or not well, is repeated where it was.
	o = g.request(2, FetchSnapshot)
	require.Equal(t, int64(2), o.Message.Position)
	g.step(Input{Kind: InputRequestFailed, Peer: 2, Correlation: o.Correlation, Error: BrokerNotAvailable})
	g.tick(g.now + 20)
	o = g.request(2, FetchSnapshot)
	require.Equal(t, int64(2), o.Message.Position)
	g.chunk(o, 2, 5, "")
	g.tick(g.now + 20)
	o = g.request(2, FetchSnapshot)
	require.Equal(t, int64(2), o.Message.Position)
	// Nor does a pre-vote in the same epoch begin it anew.
	g.tick(g.now + 2000)
	require.Equal(t, Prospective, g.state().Role)
	require.Equal(t, id, g.state().Fetching)
	g.follow(5)
	o = g.request(2, FetchSnapshot)
	require.Equal(t, int64(2), o.Message.Position)

	g.chunk(o, 2, 5, "cde")
	require.Equal(t, []OpKind{OpReceiveSnapshot, OpVerifySnapshot, OpEvent}, g.kinds())
	v := *g.has(OpVerifySnapshot)
	require.Equal(t, int64(5), v.Size)
	g.tick(g.now + 10_000)
	require.Equal(t, Follower, g.state().Role, "the timer stands still")
	verified := Input{Kind: InputSnapshotVerified, SnapshotID: id, Transfer: v.Transfer}
	other := verified
	other.Transfer--
	g.step(other)
	require.Empty(t, g.out.Ops)
	other = verified
	other.SnapshotID.End++
	g.step(other)
	require.Empty(t, g.out.Ops)

	g.step(verified)
	require.Equal(t, []OpKind{OpInstallSnapshot, OpEvent, OpEvent, OpSendRequest}, g.kinds())
	require.Equal(t, id, g.has(OpInstallSnapshot).SnapshotID)
	require.Equal(t, []string{actInstallSnapshot, actSendFetch}, g.actions())
	e = g.has(OpEvent).Event
	name := event.SnapshotID{End: 30, Epoch: 4}
	require.Equal(t, name, e.Args.Snapshot)
	require.Equal(t, &event.LogChange{Truncated: -1, Reset: 30, Base: 30}, e.Log)
	require.Equal(t, &event.Durable{LogEnd: 30, Snapshot: name}, e.Durable)
	require.Equal(t, event.Fetching{}, e.State.Fetching)
	require.NotZero(t, e.State.Has&event.HasFetching)
	s := g.state()
	require.Equal(t, State{Role: Follower, Epoch: 5, Leader: 2, Voted: NoKey, HighWatermark: 30, LogStart: 30, LogEnd: 30,
		LastEpoch: 4, Flushed: 30, EpochStart: UnknownOffset, Snapshot: id}, s)
	o = g.request(2, Fetch)
	require.Equal(t, Offset(30), o.Message.Offset)
	require.Equal(t, Epoch(4), o.Message.LastEpoch)
	require.NoError(t, (&DiskState{HasElection: true, LogStart: 30, LogEnd: 30, Snapshots: g.r.log.snapshots}).check(&g.r.cfg))
	g.step(verified)
	require.Empty(t, g.out.Ops)

	// A flush that was under way says nothing about the new log.
	g.step(Input{Kind: InputFlushed, Flush: g.r.log.lastFlush, End: 35})
	require.Equal(t, Offset(30), g.state().Flushed)
	g.answer(o, Message{Epoch: 5, Leader: 2, Offset: 30, HighWatermark: 31, Records: []byte{1},
		Batches: []BatchInfo{{Base: 30, End: 31, Epoch: 5, Count: 1, Size: 1}}})
	g.flush()
	require.Equal(t, Offset(31), g.state().Flushed)
	require.Equal(t, Offset(31), g.state().HighWatermark)
}

// A snapshot takes the place of a log that is longer, and even one that ends in a later
// epoch, if that log does not have its last record; Kafka stops then.
func TestSnapshotOverDivergedLog(t *testing.T) {
	for _, id := range []SnapshotID{{30, 4}, {10, 4}, {10, 1}, {4, 3}} {
		g := fetching(t, id)
		g.chunk(g.request(2, FetchSnapshot), 0, 1, "x")
		v := g.has(OpVerifySnapshot)
		g.step(Input{Kind: InputSnapshotVerified, SnapshotID: id, Transfer: v.Transfer})
		require.Equal(t, id.End, g.state().LogEnd)
		require.Equal(t, id.Epoch, g.state().LastEpoch)
	}
}

func TestRefusedSnapshots(t *testing.T) {
	// Offers: what the log has, what is known to be committed, and what cannot be.
	for _, id := range []SnapshotID{{12, 3}, {4, 1}, {30, 6}, {30, 0}, {30, -1}, {-1, 4}, {0, 4}} {
		g := fetching(t, id)
		require.Empty(t, g.actions(), "%v", id)
		require.Equal(t, NoSnapshot, g.state().Fetching)
		g.tick(g.now + 20)
		require.NotNil(t, g.request(2, Fetch), "it asks again")
	}
	g := newRig(t, logOf(12, EpochStart{1, 0}, EpochStart{3, 4}), nil).follow(5)
	g.answer(g.request(2, Fetch), Message{Epoch: 5, Leader: 2, HighWatermark: 12})
	g.answer(g.request(2, Fetch), Message{Epoch: 5, Leader: 2, SnapshotID: SnapshotID{12, 4}})
	require.Empty(t, g.actions(), "it contradicts what is committed")

	// Chunks that are not what was asked for end the transfer, without an end of us.
	id := SnapshotID{30, 4}
	for _, m := range []Message{
		{SnapshotID: SnapshotID{30, 3}, Position: 2, Size: 5, Chunk: []byte("c")},
		{SnapshotID: id, Position: 1, Size: 5, Chunk: []byte("c")},
		{SnapshotID: id, Position: 2, Size: 6, Chunk: []byte("c")},
		{SnapshotID: id, Position: 2, Size: 5, Chunk: []byte("cdef")},
		{SnapshotID: SnapshotID{-1, -1}},
		{SnapshotID: id, Error: SnapshotNotFound},
		{SnapshotID: id, Error: PositionOutOfRange},
	} {
		g := fetching(t, id)
		g.chunk(g.request(2, FetchSnapshot), 0, 5, "ab")
		m.Epoch, m.Leader = 5, 2
		g.answer(g.request(2, FetchSnapshot), m)
		require.Equal(t, OpAbandonSnapshot, g.out.Ops[0].Kind, "%+v", m)
		require.Equal(t, id, g.out.Ops[0].SnapshotID)
		require.Equal(t, actHandleFetchSnapshotResponse, g.actions()[0])
		require.Equal(t, NoSnapshot, g.state().Fetching)
		if g.request(2, Fetch) == nil {
			g.tick(g.now + 20)
		}
		require.NotNil(t, g.request(2, Fetch))
	}
	for _, size := range []int64{0, -1} {
		g := fetching(t, id)
		g.chunk(g.request(2, FetchSnapshot), 0, size, "")
		require.Equal(t, NoSnapshot, g.state().Fetching)
	}
	// Other errors change nothing.
	for _, code := range []ErrorCode{InvalidRequest, BrokerNotAvailable, UnknownLeaderEpoch} {
		g := fetching(t, id)
		g.answer(g.request(2, FetchSnapshot), Message{Epoch: 5, Leader: 2, Error: code})
		require.Empty(t, g.actions())
		require.Equal(t, id, g.state().Fetching)
	}
}

// A leader whose snapshot is shorter than it said has nothing at the position that its
// follower is at. The follower stays, fetches, is sent to the snapshot again, and asks for
// it from the beginning. Replicas that are what they should be do not come to this: within
// an epoch a snapshot does not change, and a new epoch ends the transfer.
func TestSnapshotPositionOutOfRange(t *testing.T) {
	id := SnapshotID{10, 3}
	leader := newRig(t, held(10), nil).lead()
	leader.flush()
	epoch := leader.state().Epoch
	g := newRig(t, DiskState{}, func(c *Config) { c.ID = 2 })
	require.Equal(t, None, g.ask(1, Message{Kind: BeginQuorumEpoch, Epoch: epoch}).Error)
	asked := func(kind MessageKind) (*Op, Message) {
		o := g.request(1, kind)
		require.NotNil(t, o, "it asks at once")
		answer := leader.ask(2, o.Message)
		require.NotNil(t, answer)
		m := *answer
		m.Chunk = make([]byte, leader.has(OpSendResponse).MaxBytes)
		return o, m
	}
	o, m := asked(Fetch)
	require.Equal(t, id, m.SnapshotID)
	g.answer(o, m)
	o, m = asked(FetchSnapshot)
	m.Size, m.Chunk = 200, make([]byte, 150)
	g.answer(o, m)
	require.Equal(t, int64(150), g.state().Position)

	o, m = asked(FetchSnapshot)
	require.Equal(t, int64(150), o.Message.Position)
	require.Equal(t, PositionOutOfRange, m.Error)
	require.Zero(t, m.Size)
	require.Empty(t, m.Chunk)
	g.answer(o, m)
	require.Equal(t, []string{actHandleFetchSnapshotResponse, actSendFetch}, g.actions())
	require.Equal(t, id, g.has(OpAbandonSnapshot).SnapshotID)
	require.Equal(t, NoSnapshot, g.state().Fetching)
	require.Equal(t, Follower, g.state().Role)

	o, m = asked(Fetch)
	require.Equal(t, id, m.SnapshotID)
	g.answer(o, m)
	o, m = asked(FetchSnapshot)
	require.Zero(t, o.Message.Position)
	require.Len(t, m.Chunk, 100)
	g.answer(o, m)
	require.Zero(t, g.has(OpReceiveSnapshot).Position)
	v := g.has(OpVerifySnapshot)
	require.Equal(t, int64(100), v.Size, "what was said of the size first is forgotten")
	g.step(Input{Kind: InputSnapshotVerified, SnapshotID: id, Transfer: v.Transfer})
	require.Equal(t, Offset(10), g.state().LogStart)
	require.Equal(t, Offset(10), g.state().HighWatermark)
}

// Bytes that are no good, and a new leader, whose snapshot may have other bytes, mean to
// begin again.
func TestSnapshotBeginsAgain(t *testing.T) {
	id := SnapshotID{30, 4}
	g := fetching(t, id)
	g.chunk(g.request(2, FetchSnapshot), 0, 2, "ab")
	v := *g.has(OpVerifySnapshot)
	g.step(Input{Kind: InputSnapshotVerified, SnapshotID: id, Transfer: v.Transfer, Error: InvalidRequest})
	require.Equal(t, []OpKind{OpAbandonSnapshot}, g.kinds())
	require.Equal(t, Offset(12), g.state().LogEnd)
	g.tick(g.now + 20)
	o := g.request(2, Fetch)
	g.answer(o, Message{Epoch: 5, Leader: 2, SnapshotID: id})
	o = g.request(2, FetchSnapshot)
	require.Zero(t, o.Message.Position)
	g.chunk(o, 0, 2, "ab")
	again := *g.has(OpVerifySnapshot)
	require.NotEqual(t, v.Transfer, again.Transfer)
	// The answer about the first transfer says nothing about the second.
	g.step(Input{Kind: InputSnapshotVerified, SnapshotID: id, Transfer: v.Transfer})
	require.Empty(t, g.out.Ops)

	m := g.ask(3, Message{Kind: BeginQuorumEpoch, Epoch: 6})
	require.Equal(t, None, m.Error)
	require.NotNil(t, g.has(OpAbandonSnapshot))
	require.Equal(t, NoSnapshot, g.state().Fetching)
	require.NotNil(t, g.request(3, Fetch))
	g.step(Input{Kind: InputSnapshotVerified, SnapshotID: id, Transfer: again.Transfer})
	require.Empty(t, g.out.Ops)
	require.Equal(t, Offset(12), g.state().LogEnd)
	g.answer(&Op{Peer: 3, Correlation: g.r.peer(3).correlation, Message: Message{Kind: Fetch}},
		Message{Epoch: 6, Leader: 3, SnapshotID: id})
	require.Zero(t, g.request(3, FetchSnapshot).Message.Position)
}

// An observer that lost its leader while it fetched a snapshot asks others who leads,
// and keeps its part.
func TestObserverFetchesSnapshot(t *testing.T) {
	id := SnapshotID{30, 4}
	observer := func(c *Config) { c.ID = 7 }
	g := newRig(t, logOf(12, EpochStart{1, 0}, EpochStart{3, 4}), observer)
	var o *Op
	for _, v := range []ReplicaID{1, 2, 3} {
		if o = g.request(v, Fetch); o != nil {
			break
		}
	}
	leader := o.Peer
	g.answer(o, Message{Epoch: 5, Leader: leader, HighWatermark: 20, SnapshotID: id})
	require.Equal(t, NoSnapshot, g.state().Fetching, "the response to a request of an older epoch says who leads")
	g.answer(g.request(leader, Fetch), Message{Epoch: 5, Leader: leader, HighWatermark: 20, SnapshotID: id})
	o = g.request(leader, FetchSnapshot)
	g.answer(o, Message{Epoch: 5, Leader: leader, SnapshotID: id, Size: 5, Chunk: []byte("ab")})
	o = g.request(leader, FetchSnapshot)
	require.Equal(t, int64(2), o.Message.Position)
	g.step(Input{Kind: InputRequestFailed, Peer: leader, Correlation: o.Correlation, Error: BrokerNotAvailable})
	for n := 0; g.request(leader, FetchSnapshot) == nil; n++ {
		require.Less(t, n, 100)
		for _, v := range []ReplicaID{1, 2, 3} {
			if o := g.request(v, Fetch); o != nil {
				g.answer(o, Message{Epoch: 5, Leader: leader, Error: NotLeaderOrFollower})
			}
		}
		g.tick(g.now + 20)
	}
	require.Equal(t, int64(2), g.request(leader, FetchSnapshot).Message.Position)
}

// A broken invariant says what snapshots there are.
func TestDescribeSnapshots(t *testing.T) {
	g := fetching(t, SnapshotID{30, 4})
	g.chunk(g.request(2, FetchSnapshot), 0, 5, "ab")
	g.step(Input{Kind: InputSnapshotTaken, SnapshotID: SnapshotID{4, 1}, Size: 3})
	text := g.r.describe()
	require.Contains(t, text, "fetching 30-4 position 2")
	require.Contains(t, text, "SnapshotTaken snapshot 4-1 size 3")
	h := newRig(t, held(10), nil)
	require.Contains(t, h.r.describe(), "log start 10")
	require.Contains(t, h.r.describe(), "snapshot 10-3")
}
