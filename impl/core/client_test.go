package core

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReads(t *testing.T) {
	g := newRig(t, DiskState{}, nil).lead()
	epoch := g.state().Epoch
	ok := Message{Epoch: epoch, Leader: 2}
	ok.Leader = 1
	before := &Op{Peer: 2, Correlation: g.r.peers[1].correlation, Message: Message{Kind: BeginQuorumEpoch}}
	g.step(Input{Kind: InputRead, Client: 1})
	require.Empty(t, g.out.Ops, "no record of the epoch is committed yet (K-Q01)")
	g.flush()
	g.ask(2, Message{Kind: Fetch, Epoch: epoch, Offset: 1, LastEpoch: epoch})
	require.Contains(t, g.actions(), actStartRead)
	require.Equal(t, Offset(1), g.r.reads.offset)
	// The answer to what was sent before the round proves nothing (K-Q02).
	g.answer(before, ok)
	require.Equal(t, []string{actHandleBeginQuorumEpochResponse, actSendBeginQuorumEpoch}, g.actions())
	require.Nil(t, g.has(OpComplete))
	o := g.request(2, BeginQuorumEpoch)
	require.Equal(t, int64(1), o.Message.Read)
	// A read that comes now waits for the next round, though this one is not over.
	g.step(Input{Kind: InputRead, Client: 2})
	// Errors confirm nothing.
	g.answer(o, Message{Epoch: epoch, Leader: 1, Error: InvalidVoterKey})
	require.Nil(t, g.has(OpComplete))
	g.tick(g.now + 20)
	o = g.request(2, BeginQuorumEpoch)
	require.NotNil(t, o, "asked again")
	g.answer(o, ok)
	require.Equal(t, []string{actHandleBeginQuorumEpochResponse, actServeRead, actStartRead, actSendBeginQuorumEpoch}, g.actions())
	require.Equal(t, int64(1), g.out.Ops[0].Event.Recv.Read, "known by the correlation")
	done := g.has(OpComplete)
	require.Equal(t, ClientID(1), done.Client)
	require.Equal(t, Result{Offset: 1}, done.Result)
	g.answer(g.request(2, BeginQuorumEpoch), ok)
	require.Equal(t, ClientID(2), g.has(OpComplete).Client)

	// One voter counts once, however often it answers.
	g = newRig(t, file(4, -1, 1), func(c *Config) { c.Voters = voters(1, 2, 3, 4, 5) })
	o = g.request(3, Vote)
	g.answer(g.request(2, Vote), Message{Epoch: 4, Leader: -1, Granted: true})
	g.answer(o, Message{Epoch: 4, Leader: -1, Granted: true})
	g.flush()
	g.r.resetConnections()
	g.ask(2, Message{Kind: Fetch, Epoch: 4, Offset: 1, LastEpoch: 4})
	g.ask(3, Message{Kind: Fetch, Epoch: 4, Offset: 1, LastEpoch: 4})
	g.step(Input{Kind: InputRead, Client: 1})
	for range 3 {
		p := &g.r.peers[1]
		g.answer(&Op{Peer: 2, Correlation: p.correlation, Message: Message{Kind: BeginQuorumEpoch}}, Message{Epoch: 4, Leader: 1})
		require.Nil(t, g.has(OpComplete))
		g.tick(g.now + 1000)
	}

	f := newRig(t, DiskState{}, nil).follow(4)
	f.step(Input{Kind: InputRead, Client: 1})
	require.Equal(t, Result{Error: NotLeaderOrFollower}, f.has(OpComplete).Result)
}

func TestClientAppends(t *testing.T) {
	g := newRig(t, DiskState{}, func(c *Config) {
		c.Voters = voters(1)
		c.AppendLinger, c.MaxBatchRecords, c.MaxBatchBytes, c.MaxPendingAppends = 10, 4, 8, 4
	})
	g.flush()
	put := func(id ClientID, sizes ...int) *Op {
		in := Input{Kind: InputAppend, Client: id}
		for _, n := range sizes {
			in.Records = append(in.Records, make([]byte, n))
		}
		g.step(in)
		return g.has(OpComplete)
	}
	require.Equal(t, InvalidRequest, put(1).Result.Error)
	require.Equal(t, MessageTooLarge, put(1, 1, 1, 1, 1, 1).Result.Error)
	require.Equal(t, MessageTooLarge, put(1, 9).Result.Error)
	// They linger, and share a batch and a flush.
	require.Nil(t, put(1, 1))
	require.Equal(t, g.now+10, g.out.Wake)
	g.now += 4
	require.Nil(t, put(2, 1, 1))
	require.Empty(t, g.out.Ops)
	g.tick(g.now + 6)
	require.Equal(t, []OpKind{OpAppendData, OpEvent, OpFlush}, g.kinds())
	o := g.has(OpAppendData)
	require.Equal(t, []Offset{1, 4}, []Offset{o.Base, o.End})
	require.Len(t, o.Records, 3)
	g.flush()
	require.Equal(t, Result{Offset: 1}, g.out.Ops[1].Result)
	require.Equal(t, Result{Offset: 2}, g.out.Ops[2].Result)
	// A full batch does not linger; an append is never split (KAFKA-14204).
	put(3, 1, 1)
	put(4, 1, 1, 1)
	require.Equal(t, []OpKind{OpAppendData, OpEvent, OpAppendData, OpEvent, OpFlush}, g.kinds())
	require.Len(t, g.out.Ops[0].Records, 2)
	require.Len(t, g.out.Ops[2].Records, 3)
	put(5, 1)
	put(6, 1)
	require.Equal(t, Result{Error: ThrottlingQuotaExceeded}, put(7, 1).Result)
}

func TestConfigAndDiskAreChecked(t *testing.T) {
	var out Effects
	for _, c := range []struct {
		cfg  Config
		disk DiskState
	}{
		{Config{ElectionTimeout: -1}, DiskState{}},
		{Config{MaxBatchBytes: -1}, DiskState{}},
		{Config{ID: -2}, DiskState{}},
		{Config{Voters: voters(1, 1)}, DiskState{}},
		{Config{Voters: voters(-1)}, DiskState{}},
		{Config{}, DiskState{HasElection: true, LogStart: 1, LogEnd: 2, Epochs: []EpochStart{{1, 1}}}},
		{Config{}, DiskState{HasElection: true, LogEnd: 2}},
		{Config{}, logOf(-1, EpochStart{1, 0})},
		{Config{}, logOf(2, EpochStart{0, 0})},
		{Config{}, logOf(2, EpochStart{1, 1})},
		{Config{}, logOf(2, EpochStart{1, 0}, EpochStart{1, 1})},
		{Config{}, logOf(2, EpochStart{1, 0}, EpochStart{2, 2})},
		{Config{ID: -1}, file(1, -1, 3)},
		{Config{}, file(-1, -1, -1)},
		{Config{}, file(math.MaxInt32, -1, -1)},
		{Config{}, DiskState{
			HasElection: true, Election: Election{Epoch: 1, Leader: NoReplica, Voted: NoKey},
			LogEnd: 2, Epochs: []EpochStart{{math.MaxInt32, 0}},
		}},
	} {
		_, err := New(c.cfg, c.disk, 0, &out)
		require.Error(t, err, "%+v", c)
	}
	_, err := New(Config{}, logOf(2, EpochStart{1, 0}, EpochStart{2, 1}), 0, &out)
	require.NoError(t, err)
	_, err = New(Config{}, DiskState{LogEnd: 2, Epochs: []EpochStart{{1, 0}}}, 0, &out)
	require.EqualError(t, err, "core: no quorum-state beside a log that ends at 2: the vote and the epoch are lost")
}
