package core

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// rig is one replica, 1 of the voters 1, 2, 3, whose peers are the test.
type rig struct {
	t    *testing.T
	r    *Replica
	out  Effects
	now  Ticks
	conn ConnID
}

func voters(ids ...ReplicaID) (set []ReplicaKey) {
	for _, id := range ids {
		set = append(set, ReplicaKey{ID: id})
	}
	return set
}

func newRig(t *testing.T, disk DiskState, change func(*Config)) *rig {
	g := &rig{t: t, now: 1000}
	cfg := Config{ID: 1, Voters: voters(1, 2, 3), PreVote: true, Trace: true, Seed: 4}
	if change != nil {
		change(&cfg)
	}
	r, err := New(cfg, disk, g.now, &g.out)
	require.NoError(t, err)
	g.r = r
	return g
}

func (g *rig) step(in Input) []Op {
	g.r.Step(g.now, &in, &g.out)
	return g.out.Ops
}

func (g *rig) ask(from ReplicaID, m Message) *Message {
	g.conn++
	m.From.ID = from
	m.To = NoKey
	for i := range g.step(Input{Kind: InputRequest, Conn: g.conn, Correlation: 9, Message: &m}) {
		if o := &g.out.Ops[i]; o.Kind == OpSendResponse && o.Conn == g.conn {
			return &o.Message
		}
	}
	return nil
}

// request is the request in flight to a peer among the last effects.
func (g *rig) request(to ReplicaID, kind MessageKind) *Op {
	for i := range g.out.Ops {
		if o := &g.out.Ops[i]; o.Kind == OpSendRequest && o.Peer == to && o.Message.Kind == kind {
			found := *o
			return &found
		}
	}
	return nil
}

func (g *rig) answer(o *Op, m Message) []Op {
	require.NotNil(g.t, o, "no request to answer")
	m.Kind, m.Response = o.Message.Kind, true
	if m.Kind == Fetch && m.Diverging == (EpochEnd{}) {
		m.Diverging = NoEpochEnd
	}
	return g.step(Input{Kind: InputResponse, Peer: o.Peer, Correlation: o.Correlation, Message: &m})
}

func (g *rig) flush() []Op {
	return g.step(Input{Kind: InputFlushed, Flush: g.r.log.lastFlush, End: g.r.log.end})
}

func (g *rig) tick(now Ticks) []Op {
	for g.now < now {
		g.now = min(now, max(g.out.Wake, g.now+1))
		g.step(Input{})
	}
	return g.out.Ops
}

func (g *rig) kinds() (k []OpKind) {
	for i := range g.out.Ops {
		k = append(k, g.out.Ops[i].Kind)
	}
	return k
}

func (g *rig) actions() (a []string) {
	for i := range g.out.Ops {
		if e := g.out.Ops[i].Event; e != nil {
			a = append(a, e.Action)
		}
	}
	return a
}

func (g *rig) has(kind OpKind) *Op {
	for i := range g.out.Ops {
		if g.out.Ops[i].Kind == kind {
			return &g.out.Ops[i]
		}
	}
	return nil
}

func (g *rig) state() State { return g.r.State() }

// lead makes the replica leader over 2.
func (g *rig) lead() *rig {
	g.tick(g.now + 2100)
	for range 2 { // pre-vote, vote
		if g.state().Role == Prospective || g.state().Role == Candidate {
			// Time has passed since the request: look at it in the replica.
			p := &g.r.peers[1]
			if !p.busy {
				g.tick(g.now + 30)
			}
			g.answer(&Op{Peer: p.id, Correlation: p.correlation, Message: Message{Kind: Vote}},
				Message{Epoch: g.state().Epoch, Leader: NoReplica, Granted: true})
		}
	}
	require.Equal(g.t, Leader, g.state().Role)
	return g
}

// follow makes the replica follower of 2 in an epoch.
func (g *rig) follow(epoch Epoch) *rig {
	m := g.ask(2, Message{Kind: BeginQuorumEpoch, Epoch: epoch})
	require.Equal(g.t, None, m.Error)
	require.Equal(g.t, Follower, g.state().Role)
	return g
}

// logOf is a disk with a log, of a replica that knew no leader.
func logOf(end Offset, epochs ...EpochStart) DiskState {
	disk := file(epochs[len(epochs)-1].Epoch, NoReplica, NoReplica)
	disk.LogEnd, disk.Epochs = end, epochs
	return disk
}

func file(epoch Epoch, leader, voted ReplicaID) DiskState {
	return DiskState{HasElection: true, Election: Election{Epoch: epoch, Leader: leader, Voted: ReplicaKey{ID: voted}}}
}
