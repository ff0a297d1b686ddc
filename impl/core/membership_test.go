package core

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/traces/event"
)

// newDynamicRig is replica 1 of the voters of a zero checkpoint.
func newDynamicRig(t *testing.T, ids ...ReplicaID) *rig {
	var set []Voter
	for _, id := range ids {
		set = append(set, testVoter(id, 1))
	}
	return newRig(t, DiskState{VoterSets: []VoterSet{{ZeroCheckpoint, set}}}, func(c *Config) {
		c.Voters, c.Directory, c.Info = nil, testVoter(1, 1).Key.Directory, "host1"
	})
}

// fetch is a fetch of a replica from an offset of the epoch so far.
func (g *rig) fetch(v Voter, offset Offset) *Message {
	last := g.state().Epoch
	if offset == 0 {
		last = 0
	}
	g.conn++
	m := Message{Kind: Fetch, Epoch: g.state().Epoch, From: v.Key, To: NoKey, Offset: offset, LastEpoch: last, HighWatermark: UnknownOffset}
	for i := range g.step(Input{Kind: InputRequest, Conn: g.conn, Correlation: 9, Message: &m}) {
		if o := &g.out.Ops[i]; o.Kind == OpSendResponse && o.Conn == g.conn {
			return &o.Message
		}
	}
	return nil
}

// commit has a voter fetch all that there is.
func (g *rig) commit(v Voter) {
	g.flush()
	g.fetch(v, g.state().LogEnd)
}

func (g *rig) result(client ClientID) *Result {
	for i := range g.out.Ops {
		if o := &g.out.Ops[i]; o.Kind == OpComplete && o.Client == client {
			return &o.Result
		}
	}
	return nil
}

// ask gives an input that changes the voter set, and returns how it ended, nil if not yet.
func (g *rig) change(kind InputKind, v Voter) *Result {
	g.step(Input{Kind: kind, Client: 7, Voter: v, Epoch: g.state().Epoch})
	return g.result(7)
}

func (g *rig) refuses(kind InputKind, v Voter, want ErrorCode) {
	g.t.Helper()
	r := g.change(kind, v)
	require.NotNil(g.t, r)
	require.NotEmpty(g.t, r.Reason)
	require.Equal(g.t, Result{Error: want, Reason: r.Reason}, *r)
	require.Equal(g.t, []OpKind{OpComplete}, g.kinds(), "a change that is refused does something")
}

// The first leader after a zero checkpoint writes its voters into the log, in the batch
// of the LeaderChange record; later leaders do not.
func TestFirstLeaderWritesVoters(t *testing.T) {
	g := newDynamicRig(t, 1, 2, 3).lead()
	o := g.has(OpAppendLeaderChange)
	require.Equal(t, []Voter{testVoter(1, 1), testVoter(2, 1), testVoter(3, 1)}, o.VoterSet)
	require.Equal(t, [2]Offset{0, 3}, [2]Offset{o.Base, o.End})
	var e *event.Event
	for i := range g.out.Ops {
		if x := g.out.Ops[i].Event; x != nil && x.Action == actAppendLeaderChange {
			e = x
		}
	}
	nodes := []event.Node{testVoter(1, 1).Key.event(), testVoter(2, 1).Key.event(), testVoter(3, 1).Key.event()}
	require.Equal(t, []event.Run{{Epoch: 1, Kind: event.LeaderChange, Count: 1}, {Epoch: 1, Kind: event.KRaftVersion, Count: 1},
		{Epoch: 1, Kind: event.KRaftVoters, Count: 1, Voters: nodes}}, e.Log.Appended)
	require.Equal(t, nodes, e.State.Voters)
	require.Equal(t, Offset(2), g.r.VoterSet().Offset)

	set := VoterSet{2, o.VoterSet}
	disk := logOf(3, EpochStart{1, 0})
	disk.VoterSets = []VoterSet{{ZeroCheckpoint, o.VoterSet}, set}
	again := newRig(t, disk, func(c *Config) { c.Voters, c.Directory, c.Info = nil, testVoter(1, 1).Key.Directory, "host1" }).lead()
	require.Nil(t, again.has(OpAppendLeaderChange).VoterSet)
	// But one that listens elsewhere says so.
	moved := newRig(t, disk, func(c *Config) { c.Voters, c.Directory, c.Info = nil, testVoter(1, 1).Key.Directory, "elsewhere" }).lead()
	require.Equal(t, "elsewhere", moved.has(OpAppendLeaderChange).VoterSet[0].Info)
	require.Equal(t, Offset(5), moved.r.VoterSet().Offset)
}

// What is refused, in Kafka's order, and what it takes to be added.
func TestAddVoter(t *testing.T) {
	static := newRig(t, DiskState{}, nil).lead()
	static.refuses(InputAddVoter, testVoter(4, 1), RequestTimedOut) // no record of the epoch is committed
	static.flush()
	static.fetch(Voter{Key: ReplicaKey{ID: 2}}, 1)
	static.refuses(InputAddVoter, testVoter(4, 1), UnsupportedVersion)

	g := newDynamicRig(t, 1, 2, 3)
	g.refuses(InputAddVoter, testVoter(4, 1), NotLeaderOrFollower)
	g.lead()
	g.refuses(InputAddVoter, Voter{Key: ReplicaKey{ID: 4}, Info: "x"}, InvalidRequest)
	g.refuses(InputAddVoter, Voter{Key: testVoter(-1, 1).Key, Info: "x"}, InvalidRequest)
	g.refuses(InputAddVoter, Voter{Key: testVoter(4, 1).Key}, InvalidRequest)
	g.refuses(InputAddVoter, testVoter(2, 1), RequestTimedOut) // before it is looked at who is asked for
	g.commit(testVoter(2, 1))
	require.Equal(t, Offset(3), g.state().HighWatermark)
	g.refuses(InputAddVoter, testVoter(2, 9), DuplicateVoter)

	require.Nil(t, g.change(InputAddVoter, testVoter(4, 1)))
	require.NotNil(t, g.has(OpCheckVoter))
	g.step(Input{Kind: InputAddVoter, Client: 8, Voter: testVoter(5, 1)})
	require.Equal(t, RequestTimedOut, g.result(8).Error, "another one is looked at")
	g.step(Input{Kind: InputVoterChecked, Client: 7, Error: InvalidRequest})
	require.Equal(t, InvalidRequest, g.result(7).Error)
	require.Nil(t, g.change(InputAddVoter, testVoter(4, 1)))
	g.step(Input{Kind: InputVoterChecked, Client: 7})
	require.Equal(t, RequestTimedOut, g.result(7).Error, "it has not caught up")
	g.fetch(testVoter(4, 2), 3) // another disk
	require.Nil(t, g.change(InputAddVoter, testVoter(4, 1)))
	g.step(Input{Kind: InputVoterChecked, Client: 7})
	require.Equal(t, RequestTimedOut, g.result(7).Error, "another disk of it has caught up")

	g.fetch(testVoter(4, 1), 3)
	require.Nil(t, g.change(InputAddVoter, testVoter(4, 1)))
	g.step(Input{Kind: InputVoterChecked, Client: 7})
	require.Nil(t, g.result(7))
	require.Equal(t, actAddVoter, g.actions()[0])
	require.Len(t, g.r.voters, 4)
	require.Equal(t, Offset(3), g.r.lead.voters[3].end, "what it had as an observer is forgotten")
	g.refuses(InputRemoveVoter, testVoter(2, 1), RequestTimedOut) // one change at a time
	g.flush()
	g.fetch(testVoter(2, 1), 4)
	require.Equal(t, Offset(3), g.state().HighWatermark, "two of four are no majority")
	g.fetch(testVoter(4, 1), 4)
	require.Equal(t, Offset(4), g.state().HighWatermark)
	require.Equal(t, Result{Offset: 3}, *g.result(7))
}

// KIP-1186: an answer before the record is committed, and still one change at a time.
func TestAddVoterWithoutWaiting(t *testing.T) {
	g := newDynamicRig(t, 1)
	g.tick(g.now + 10)
	g.flush()
	g.fetch(testVoter(2, 1), 3)
	g.step(Input{Kind: InputAddVoter, Client: 7, Voter: testVoter(2, 1), Early: true})
	g.step(Input{Kind: InputVoterChecked, Client: 7})
	require.Equal(t, Result{Offset: 3}, *g.result(7))
	g.refuses(InputAddVoter, testVoter(3, 1), RequestTimedOut)
	g.commit(testVoter(2, 1))
	require.Nil(t, g.result(7), "answered twice")
	g.refuses(InputAddVoter, testVoter(2, 1), DuplicateVoter)
}

// A leader that removes itself does not count itself, leads until that is committed, and
// then asks the others to elect.
func TestLeaderRemovesItself(t *testing.T) {
	g := newDynamicRig(t, 1, 2, 3).lead()
	g.refuses(InputRemoveVoter, testVoter(9, 1), RequestTimedOut)
	g.commit(testVoter(2, 1))
	g.refuses(InputRemoveVoter, testVoter(9, 1), VoterNotFound)
	g.refuses(InputRemoveVoter, testVoter(3, 2), VoterNotFound)
	require.Nil(t, g.change(InputRemoveVoter, testVoter(1, 1)))
	require.Equal(t, Leader, g.state().Role)
	g.flush()
	g.fetch(testVoter(2, 1), 4)
	require.Equal(t, Offset(3), g.state().HighWatermark, "it counts itself")
	g.fetch(testVoter(3, 1), 4)
	require.Equal(t, Resigned, g.state().Role)
	require.Equal(t, Result{Offset: 3}, *g.result(7))
	require.NotNil(t, g.request(2, EndQuorumEpoch))
	require.NotNil(t, g.request(3, EndQuorumEpoch))
	require.Contains(t, g.actions(), actResign)
	for range 8 { // it never stands again
		g.tick(g.now + 3000)
		require.NotContains(t, []Role{Prospective, Candidate}, g.state().Role)
	}
}

// Of two voters the leader has removed itself, and goes before the other knows: only it has
// the whole log, so it stands, and leads until the removal is committed.
func TestRemovedLeaderStandsOnceMore(t *testing.T) {
	g := newDynamicRig(t, 1, 2).lead()
	g.commit(testVoter(2, 1))
	require.Nil(t, g.change(InputRemoveVoter, testVoter(1, 1)))
	g.flush()
	g.step(Input{Kind: InputResign})
	require.Equal(t, Result{Error: NotLeaderOrFollower, Unknown: true, Reason: "the leader is none any more"}, *g.result(7))
	require.Negative(t, g.r.self)
	for until := g.now + 9000; g.now < until && g.state().Role != Leader; {
		g.tick(g.now + 1)
		for o := g.request(2, Vote); o != nil; o = g.request(2, Vote) {
			require.Equal(t, Offset(4), o.Message.Offset)
			g.answer(o, Message{Epoch: o.Message.Epoch, Leader: NoReplica, Granted: true})
		}
	}
	require.Equal(t, Leader, g.state().Role)
	require.Equal(t, Offset(4), g.state().EpochStart)
	g.flush()
	g.fetch(testVoter(2, 1), 5)
	require.Equal(t, Resigned, g.state().Role)
}

func TestLastVoterStays(t *testing.T) {
	g := newDynamicRig(t, 1)
	g.tick(g.now + 10)
	g.flush()
	require.Equal(t, Offset(3), g.state().HighWatermark)
	g.refuses(InputRemoveVoter, testVoter(1, 1), VoterNotFound)
}

func TestUpdateVoter(t *testing.T) {
	g := newDynamicRig(t, 1, 2, 3).lead()
	g.commit(testVoter(2, 1))
	moved := testVoter(2, 1)
	moved.Info = "elsewhere"
	for _, c := range []struct {
		in   Input
		want ErrorCode
	}{
		{Input{Epoch: 0, Voter: moved}, FencedLeaderEpoch},
		{Input{Epoch: 2, Voter: moved}, UnknownLeaderEpoch},
		{Input{Epoch: 1, Voter: Voter{Key: moved.Key}}, InvalidRequest},
		{Input{Epoch: 1, Voter: moved, Error: InvalidRequest, Reason: "so it is"}, InvalidRequest},
		{Input{Epoch: 1, Voter: testVoter(4, 1)}, VoterNotFound},
		{Input{Epoch: 1, Voter: testVoter(2, 2)}, VoterNotFound},
	} {
		c.in.Kind, c.in.Client = InputUpdateVoter, 7
		g.step(c.in)
		r := g.result(7)
		require.NotEmpty(t, r.Reason)
		require.Equal(t, Result{Error: c.want, Reason: r.Reason}, *r, "%+v", c.in)
	}
	r := g.change(InputUpdateVoter, moved)
	require.Equal(t, Result{Offset: 3}, *r, "it is answered at once: the voter has to fetch")
	found, _ := g.r.VoterSet().Find(2)
	require.Equal(t, moved, found)
	g.refuses(InputUpdateVoter, testVoter(3, 1), RequestTimedOut) // uncommitted
	g.commit(testVoter(3, 1))
	require.Equal(t, Offset(4), g.state().HighWatermark)
}

// A change that takes too long ends, and its record still shuts out others.
func TestVoterChangeTimesOut(t *testing.T) {
	g := newDynamicRig(t, 1, 2, 3).lead()
	g.commit(testVoter(2, 1))
	require.Nil(t, g.change(InputRemoveVoter, testVoter(3, 1)))
	for until := g.now + 2000; g.now < until && g.result(7) == nil; {
		g.tick(g.now + 1)
	}
	require.Equal(t, Result{Error: RequestTimedOut, Unknown: true, Reason: "no majority of the new set had it in time"}, *g.result(7))
	g.refuses(InputAddVoter, testVoter(4, 1), RequestTimedOut)
	require.Len(t, g.r.voters, 2)
	g.commit(testVoter(2, 1))
	require.Equal(t, Offset(4), g.state().HighWatermark)
	g.refuses(InputAddVoter, testVoter(2, 1), DuplicateVoter)
}

// A voter set counts when it is fetched, and truncation takes it back.
func TestFollowerTakesAndDropsVoters(t *testing.T) {
	g := newDynamicRig(t, 1, 2, 3)
	g.follow(4)
	set := []Voter{testVoter(2, 1), testVoter(3, 1)}
	batch := func(base Offset, epoch Epoch, voters []Voter) Message {
		return Message{Epoch: 4, Leader: 2, Offset: base, HighWatermark: 0, Records: make([]byte, 9), Batches: []BatchInfo{
			{Base: base, End: base + 1, Epoch: epoch, Control: true, Count: 1, Size: 9, Controls: []ControlRecord{{KRaftVotersRecord, voters}}}}}
	}
	g.answer(g.request(2, Fetch), batch(0, 3, set))
	require.Equal(t, set, g.r.VoterSet().Voters)
	require.Negative(t, g.r.self)
	g.flush()
	g.answer(g.request(2, Fetch), batch(1, 3, []Voter{testVoter(4, 1), testVoter(5, 1)}))
	require.Equal(t, set, g.r.VoterSet().Voters, "a set that differs by more than one voter is taken")
	require.Equal(t, Offset(1), g.state().LogEnd)
	g.answer(g.request(2, Fetch), Message{Epoch: 4, Leader: 2, Diverging: EpochEnd{Epoch: 2, End: 0}})
	require.Equal(t, Offset(0), g.state().LogEnd)
	require.Equal(t, ZeroCheckpoint, g.r.VoterSet().Offset)
	require.Zero(t, g.r.self)
}

func TestVoterHistory(t *testing.T) {
	h := voterHistory{static: &VoterSet{Offset: StaticVoters}}
	h.add(ZeroCheckpoint, []Voter{testVoter(1, 1)})
	h.add(2, []Voter{testVoter(1, 1)})
	h.add(7, []Voter{testVoter(1, 1), testVoter(2, 1)})
	for end, want := range map[Offset]Offset{0: ZeroCheckpoint, 2: ZeroCheckpoint, 3: 2, 7: 2, 8: 7, 99: 7} {
		require.Equal(t, want, h.at(end).Offset, "end %d", end)
	}
	require.False(t, h.cut(8))
	require.True(t, h.cut(7))
	require.Equal(t, Offset(2), h.last().Offset)
	h.forget(2)
	require.Len(t, h.sets, 2)
	h.forget(3)
	require.Len(t, h.sets, 1)
	require.True(t, h.cut(0))
	require.Equal(t, StaticVoters, h.last().Offset)
}

// Any two sets that may follow each other have a common member in all their majorities.
func TestOverlap(t *testing.T) {
	subsets := func(n int) (all [][]Voter) {
		for bits := 1; bits < 1<<n; bits++ {
			var set []Voter
			for i := range n {
				if bits>>i&1 == 1 {
					set = append(set, testVoter(ReplicaID(i), 1))
				}
			}
			all = append(all, set)
		}
		return all
	}
	sets, n := subsets(5), 0
	for _, a := range sets {
		for _, b := range sets {
			if !overlap(a, b) {
				continue
			}
			n++
			for _, x := range sets {
				for _, y := range sets {
					if outsiders(x, a) == 0 && outsiders(y, b) == 0 && len(x) >= majority(len(a)) && len(y) >= majority(len(b)) {
						require.Less(t, outsiders(x, y), len(x), "%v of %v and %v of %v", x, a, y, b)
					}
				}
			}
		}
	}
	require.Positive(t, n)
	require.False(t, overlap(sets[0b00111-1], sets[0b01011-1]), "one came and one went")
}

func TestNewRefusesVoterSets(t *testing.T) {
	set := []Voter{testVoter(1, 1)}
	for _, sets := range [][]VoterSet{
		{{-2, set}}, {{3, set}}, {{1, set}, {1, set}}, {{1, nil}}, {{1, []Voter{testVoter(1, 1), testVoter(1, 2)}}},
		{{1, set}, {2, []Voter{testVoter(2, 1), testVoter(3, 1)}}},
	} {
		disk := logOf(3, EpochStart{1, 0})
		disk.VoterSets = sets
		_, err := New(Config{ID: 1}, disk, 0, new(Effects))
		require.Error(t, err, "%v", sets)
	}
}
