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

func logOf(end Offset, epochs ...EpochStart) DiskState { return DiskState{LogEnd: end, Epochs: epochs} }

func file(epoch Epoch, leader, voted ReplicaID) DiskState {
	return DiskState{HasElection: true, Election: Election{Epoch: epoch, Leader: leader, Voted: ReplicaKey{ID: voted}}}
}

func TestStartUpRules(t *testing.T) {
	older := logOf(3, EpochStart{5, 0})
	older.HasElection, older.Election = true, Election{Epoch: 4, Leader: 1, Voted: NoKey}
	for _, c := range []struct {
		name    string
		disk    DiskState
		preVote bool
		want    State
	}{
		{"no file", DiskState{}, true, State{Role: Unattached, Leader: -1, Voted: NoKey}},
		{"log newer than the file", older, true, State{Role: Unattached, Epoch: 5, Leader: -1, Voted: NoKey}},
		{"was leader", file(4, 1, -1), true, State{Role: Resigned, Epoch: 4, Leader: 1, Voted: NoKey}},
		{"voted itself", file(4, -1, 1), true, State{Role: Candidate, Epoch: 4, Leader: -1, Voted: ReplicaKey{ID: 1}}},
		{"voted", file(4, -1, 3), true, State{Role: Unattached, Epoch: 4, Leader: -1, Voted: ReplicaKey{ID: 3}}},
		{"follower", file(4, 2, -1), true, State{Role: Follower, Epoch: 4, Leader: 2, Voted: NoKey}},
		{"follower that voted", file(4, 2, 3), true, State{Role: Follower, Epoch: 4, Leader: 2, Voted: ReplicaKey{ID: 3}}},
		{"voted, before 4.0", file(4, 2, 3), false, State{Role: Unattached, Epoch: 4, Leader: -1, Voted: ReplicaKey{ID: 3}}},
		{"leader unknown", file(4, 8, -1), true, State{Role: Unattached, Epoch: 4, Leader: 8, Voted: NoKey}},
	} {
		g := newRig(t, c.disk, func(cfg *Config) { cfg.PreVote = c.preVote })
		s := g.state()
		require.Equal(t, c.want, State{Role: s.Role, Epoch: s.Epoch, Leader: s.Leader, Voted: s.Voted}, c.name)
		require.Equal(t, []OpKind{OpPersist, OpEvent}, g.kinds()[:2], c.name)
		require.Equal(t, Election{s.Epoch, s.Leader, s.Voted}, g.out.Ops[0].Election, c.name)
		require.Equal(t, UnknownOffset, s.HighWatermark, c.name)
	}
}

func TestVoteIsDurableBeforeTheAnswer(t *testing.T) {
	g := newRig(t, DiskState{}, nil)
	m := g.ask(2, Message{Kind: Vote, Epoch: 3})
	require.True(t, m.Granted)
	require.Equal(t, []OpKind{OpPersist, OpEvent, OpSendResponse}, g.kinds()[:3])
	require.Equal(t, Election{3, NoReplica, ReplicaKey{ID: 2}}, g.out.Ops[0].Election)
	require.True(t, g.ask(2, Message{Kind: Vote, Epoch: 3}).Granted, "asked again")
	require.Nil(t, g.has(OpPersist))
	require.False(t, g.ask(3, Message{Kind: Vote, Epoch: 3}).Granted, "one vote in an epoch")
	m = g.ask(3, Message{Kind: Vote, Epoch: 2})
	require.Equal(t, FencedLeaderEpoch, m.Error)
	require.Equal(t, Epoch(3), m.Epoch)
	require.True(t, g.ask(3, Message{Kind: Vote, Epoch: 4}).Granted, "a new epoch")
}

func TestVoteNeedsLog(t *testing.T) {
	g := newRig(t, logOf(5, EpochStart{2, 0}), nil)
	require.False(t, g.ask(2, Message{Kind: Vote, Epoch: 3, Offset: 4, LastEpoch: 2}).Granted)
	require.Equal(t, Epoch(3), g.state().Epoch, "the epoch is learned even so")
	require.Equal(t, NoKey, g.state().Voted)
	require.True(t, g.ask(3, Message{Kind: Vote, Epoch: 3, Offset: 5, LastEpoch: 2}).Granted)
	for _, bad := range []Message{
		{Epoch: 9, Offset: -1}, {Epoch: 9, LastEpoch: -1}, {Epoch: 9, LastEpoch: 9}, {Epoch: 9, LastEpoch: 10, PreVote: true},
	} {
		bad.Kind = Vote
		require.Equal(t, InvalidRequest, g.ask(2, bad).Error)
		require.Equal(t, Epoch(3), g.state().Epoch)
	}
	require.Equal(t, InvalidRequest, g.ask(-1, Message{Kind: Vote, Epoch: 9}).Error)
	require.Equal(t, InvalidRequest, g.ask(1, Message{Kind: Vote, Epoch: 9}).Error)
}

func TestVoterKeyIsCheckedAfterTheEpoch(t *testing.T) {
	g := newRig(t, DiskState{}, func(c *Config) { c.Directory = DirectoryID{1} })
	for _, to := range []ReplicaKey{{ID: 2}, {ID: 1, Directory: DirectoryID{2}}} {
		epoch := g.state().Epoch + 1
		m := Message{Kind: Vote, Epoch: epoch, From: ReplicaKey{ID: 2}, To: to}
		g.step(Input{Kind: InputRequest, Conn: 1, Message: &m})
		require.Equal(t, InvalidVoterKey, g.has(OpSendResponse).Message.Error)
		require.Equal(t, epoch, g.state().Epoch)
		require.Equal(t, NoKey, g.state().Voted)
	}
	m := Message{Kind: Vote, Epoch: 9, From: ReplicaKey{ID: 2}, To: ReplicaKey{ID: 1, Directory: DirectoryID{1}}}
	g.step(Input{Kind: InputRequest, Conn: 1, Message: &m})
	require.True(t, g.has(OpSendResponse).Message.Granted)
}

func TestRestartedLeaderNeverVotesInItsEpoch(t *testing.T) {
	g := newRig(t, file(4, 1, -1), nil)
	require.False(t, g.ask(2, Message{Kind: Vote, Epoch: 4}).Granted)
	require.True(t, g.ask(2, Message{Kind: Vote, Epoch: 4, PreVote: true}).Granted)
	require.True(t, g.ask(2, Message{Kind: Vote, Epoch: 5}).Granted)
}

func TestPreVoteLeavesNoMark(t *testing.T) {
	g := newRig(t, DiskState{}, nil)
	deadline := g.r.electionDeadline
	require.True(t, g.ask(2, Message{Kind: Vote, PreVote: true}).Granted)
	require.Equal(t, NoKey, g.state().Voted)
	require.Equal(t, deadline, g.r.electionDeadline)
	require.Nil(t, g.has(OpPersist))
	// A follower grants it until its leader has answered a fetch.
	g.follow(2)
	require.True(t, g.ask(3, Message{Kind: Vote, Epoch: 2, PreVote: true}).Granted)
	g.follow(3)
	g.answer(g.request(2, Fetch), Message{Epoch: 3, Leader: 2, HighWatermark: UnknownOffset})
	require.False(t, g.ask(3, Message{Kind: Vote, Epoch: 3, PreVote: true}).Granted)
	require.Equal(t, Follower, g.state().Role)
	require.False(t, g.ask(3, Message{Kind: Vote, Epoch: 3}).Granted, "a follower never votes")
	// A leader that resigned: only with the switch.
	g.ask(2, Message{Kind: EndQuorumEpoch, Epoch: 3})
	require.False(t, g.ask(3, Message{Kind: Vote, Epoch: 3, PreVote: true}).Granted)
	g.r.cfg.GrantPreVoteAfterEnd = true
	g.ask(2, Message{Kind: EndQuorumEpoch, Epoch: 3})
	require.True(t, g.ask(3, Message{Kind: Vote, Epoch: 3, PreVote: true}).Granted)
	g.r.cfg.PreVote = false
	require.Equal(t, UnsupportedVersion, g.ask(3, Message{Kind: Vote, Epoch: 9, PreVote: true}).Error)
}

func TestProspective(t *testing.T) {
	g := newRig(t, DiskState{}, nil)
	g.tick(3100)
	require.Equal(t, Prospective, g.state().Role)
	require.Equal(t, Epoch(0), g.state().Epoch)
	// It may vote, and stays what it is.
	require.True(t, g.ask(3, Message{Kind: Vote, Epoch: 0, LastEpoch: 0, PreVote: true}).Granted)
	require.Equal(t, Prospective, g.state().Role)
	// It asks again whom it has not heard, and leaves the epoch alone until it has a majority.
	p := &g.r.peers[1]
	require.True(t, p.preVote)
	g.answer(&Op{Peer: 2, Correlation: p.correlation, Message: Message{Kind: Vote}}, Message{Leader: -1, Granted: true})
	require.Equal(t, []string{actHandleVoteResponse, actBecomeCandidate, actSendVoteRequest, actSendVoteRequest}, g.actions())
	require.Equal(t, []OpKind{OpEvent, OpPersist, OpEvent, OpEvent, OpSendRequest, OpEvent, OpSendRequest}, g.kinds())
	require.Equal(t, Election{1, NoReplica, ReplicaKey{ID: 1}}, g.out.Ops[1].Election)
	require.False(t, g.request(2, Vote).Message.PreVote)
	require.Equal(t, Epoch(1), g.request(2, Vote).Message.Epoch)
	g.answer(g.request(3, Vote), Message{Epoch: 1, Leader: -1, Granted: true})
	require.Equal(t, []string{actHandleVoteResponse, actBecomeLeader, actAppendLeaderChange,
		actSendBeginQuorumEpoch, actSendBeginQuorumEpoch}, g.actions())
	require.Equal(t, []OpKind{OpEvent, OpPersist, OpEvent, OpAppendLeaderChange, OpEvent, OpFlush,
		OpEvent, OpSendRequest, OpEvent, OpSendRequest}, g.kinds())
	change := g.has(OpAppendLeaderChange)
	require.Equal(t, []ReplicaID{1, 2, 3}, change.Voters)
	require.Equal(t, []ReplicaID{1, 3}, change.Granting)
}

func TestProspectiveMayVote(t *testing.T) {
	g := newRig(t, file(4, -1, -1), nil)
	g.tick(3100)
	require.Equal(t, Prospective, g.state().Role)
	require.True(t, g.ask(3, Message{Kind: Vote, Epoch: 4}).Granted)
	require.Equal(t, Prospective, g.state().Role)
	require.Equal(t, ReplicaKey{ID: 3}, g.has(OpPersist).Election.Voted)
	require.False(t, g.ask(2, Message{Kind: Vote, Epoch: 4}).Granted)
}

func TestAbandonPreVote(t *testing.T) {
	g := newRig(t, DiskState{}, nil).follow(2)
	g.tick(g.now + 2000)
	require.Equal(t, Prospective, g.state().Role)
	require.Equal(t, ReplicaID(2), g.state().Leader)
	for _, i := range []int{1, 2} { // the other two say no, and name the leader
		p := &g.r.peers[i]
		g.answer(&Op{Peer: p.id, Correlation: p.correlation, Message: Message{Kind: Vote}}, Message{Epoch: 2, Leader: 2})
	}
	require.Equal(t, []string{actHandleVoteResponse, actAbandonPreVote, actSendFetch}, g.actions())
	require.Equal(t, Follower, g.state().Role)
	require.Equal(t, Epoch(2), g.state().Epoch)
	require.Nil(t, g.has(OpPersist))
	// With the timer, and without a leader.
	g = newRig(t, DiskState{}, nil)
	g.tick(3100)
	require.Equal(t, Prospective, g.state().Role)
	g.now = g.r.electionDeadline
	g.step(Input{})
	require.Equal(t, []string{actAbandonPreVote, actBecomeProspective}, g.actions()[:2])
}

// The pre-vote of a replica whose leader is gone is not ended by answers that still
// name that leader.
func TestPreVoteOutlivesTheNameOfTheLeader(t *testing.T) {
	g := newRig(t, DiskState{}, nil).follow(2)
	g.tick(g.now + 2000)
	p := &g.r.peers[2]
	g.answer(&Op{Peer: 3, Correlation: p.correlation, Message: Message{Kind: Vote}}, Message{Epoch: 2, Leader: 2, Granted: true})
	require.Equal(t, Candidate, g.state().Role)
	// The leader itself ends it.
	g = newRig(t, DiskState{}, nil).follow(2)
	g.tick(g.now + 2000)
	g.follow(2)
}

func TestVotesAreASet(t *testing.T) {
	g := newRig(t, file(4, -1, 1), func(c *Config) { c.Voters = voters(1, 2, 3, 4, 5) })
	o := g.request(2, Vote)
	yes := Message{Epoch: 4, Leader: -1, Granted: true}
	g.answer(o, yes)
	g.answer(o, yes)
	require.Equal(t, Candidate, g.state().Role)
	g.answer(&Op{Peer: 3, Correlation: 77, Message: Message{Kind: Vote}}, yes)
	require.Equal(t, Candidate, g.state().Role)
	require.Empty(t, g.out.Ops, "an answer to nothing is dropped")
}

func TestBeforePreVoteACandidateBacksOff(t *testing.T) {
	g := newRig(t, file(4, -1, 1), func(c *Config) { c.PreVote = false })
	p3 := g.request(3, Vote)
	g.answer(g.request(2, Vote), Message{Epoch: 4, Leader: -1})
	require.Equal(t, Epoch(4), g.state().Epoch)
	g.answer(p3, Message{Epoch: 4, Leader: -1})
	g.tick(g.now + 101)
	require.Equal(t, Epoch(5), g.state().Epoch)
	require.Equal(t, Candidate, g.state().Role)
}

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

// Only voters that do not fetch are told who leads.
func TestHeartbeat(t *testing.T) {
	g := newRig(t, DiskState{}, nil).lead()
	require.NotNil(t, g.request(2, BeginQuorumEpoch))
	beats := map[ReplicaID]int{}
	start := g.now
	for g.now < start+5000 {
		g.r.resetConnections()
		g.tick(g.now + 100)
		if g.now < start+3000 {
			g.ask(2, Message{Kind: Fetch, Epoch: g.state().Epoch})
		}
		for _, id := range []ReplicaID{2, 3} {
			if g.r.peers[id-1].busy {
				beats[id]++
			}
		}
	}
	require.Equal(t, Leader, g.state().Role)
	require.Equal(t, map[ReplicaID]int{2: 2, 3: 5}, beats)
}

func TestAVoteOutlivesTheLeader(t *testing.T) {
	for _, pre := range []bool{true, false} {
		g := newRig(t, DiskState{}, func(c *Config) { c.PreVote = pre })
		require.True(t, g.ask(3, Message{Kind: Vote, Epoch: 4}).Granted)
		g.follow(4)
		want := NoKey
		if pre { // it may leave the leader within the epoch
			want = ReplicaKey{ID: 3}
		}
		require.Equal(t, want, g.state().Voted)
		require.Equal(t, Election{4, 2, want}, g.has(OpPersist).Election)
		g.follow(5)
		require.Equal(t, NoKey, g.state().Voted)
	}
}

func TestElectionTimers(t *testing.T) {
	// From Follower: a new one, as the old is long gone.
	g := newRig(t, DiskState{}, nil).follow(4)
	for range 3 {
		g.tick(g.now + 1500)
		g.follow(g.state().Epoch + 1)
	}
	g.ask(3, Message{Kind: Vote, Epoch: 9, Offset: 0})
	require.Equal(t, Unattached, g.state().Role)
	require.GreaterOrEqual(t, g.r.electionDeadline, g.now+1000)
	// From Unattached without a vote: the rest of it.
	g = newRig(t, logOf(2, EpochStart{1, 0}), nil)
	deadline := g.r.electionDeadline
	g.now += 500
	g.ask(3, Message{Kind: Vote, Epoch: 9})
	require.Equal(t, deadline, g.r.electionDeadline)
	g.now += 400
	g.ask(3, Message{Kind: Vote, Epoch: 9, Offset: 2, LastEpoch: 1})
	require.NotEqual(t, deadline, g.r.electionDeadline, "a vote given restarts it")
	// An observer that led once leaves its epoch and stays quiet.
	g = newRig(t, file(4, 1, -1), func(c *Config) { c.Voters = voters(2, 3) })
	g.tick(g.now + 10_000)
	require.Equal(t, Unattached, g.state().Role)
	require.Equal(t, Epoch(5), g.state().Epoch)
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
	require.Equal(t, answered(at).ReadTo, Offset(2))
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

func TestNothingIsAppendedBeforeATruncationIsDurable(t *testing.T) {
	g := newRig(t, logOf(6, EpochStart{1, 0}), nil).follow(4)
	g.answer(g.request(2, Fetch), Message{Epoch: 4, Leader: 2, Diverging: EpochEnd{1, 4}})
	require.NotNil(t, g.has(OpTruncate))
	g.lead()
	require.Nil(t, g.has(OpAppendLeaderChange))
	g.step(Input{Kind: InputAppend, Client: 1, Records: [][]byte{{1}}})
	require.Nil(t, g.has(OpAppendData))
	g.flush()
	require.Equal(t, []string{actFlush, actAppendLeaderChange, actAppend}, g.actions())
	require.Equal(t, Offset(4), g.has(OpAppendLeaderChange).Base)
}

func TestTruncationBelowTheHighWatermarkPanics(t *testing.T) {
	g := newRig(t, logOf(6, EpochStart{1, 0}), nil).follow(4)
	m := fetched(6, 4)
	m.HighWatermark = 5
	g.answer(g.request(2, Fetch), m)
	require.Equal(t, Offset(5), g.state().HighWatermark)
	o := g.request(2, Fetch)
	defer func() {
		text := recover().(string)
		require.Contains(t, text, "truncation below the high watermark")
		require.Contains(t, text, "replica 1 Follower epoch 4 leader 2")
		require.Contains(t, text, "diverging 1:4")
	}()
	g.answer(o, Message{Epoch: 4, Leader: 2, Diverging: EpochEnd{1, 4}})
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

func TestEndQuorumEpoch(t *testing.T) {
	g := newRig(t, DiskState{}, nil).follow(4)
	g.ask(2, Message{Kind: EndQuorumEpoch, Epoch: 4, Preferred: voters(3, 1)})
	require.Equal(t, g.now+500, g.r.follow.deadline)
	g.ask(2, Message{Kind: EndQuorumEpoch, Epoch: 4, Preferred: voters(1, 3)})
	require.Equal(t, []string{actHandleEndQuorumEpochRequest, actBecomeProspective}, g.actions()[:2])
	require.Equal(t, InvalidRequest, g.ask(3, Message{Kind: EndQuorumEpoch, Epoch: 4}).Error, "another leader of the epoch")
	require.Equal(t, FencedLeaderEpoch, g.ask(3, Message{Kind: EndQuorumEpoch, Epoch: 3}).Error)
	require.Equal(t, InvalidRequest, g.ask(3, Message{Kind: BeginQuorumEpoch, Epoch: 4}).Error)
}

func TestResign(t *testing.T) {
	g := newRig(t, DiskState{}, nil).lead()
	g.flush()
	g.ask(3, Message{Kind: Fetch, Epoch: g.state().Epoch})
	g.step(Input{Kind: InputAppend, Client: 5, Records: [][]byte{{1}}})
	g.r.cfg.AppendLinger = 10
	g.step(Input{Kind: InputAppend, Client: 6, Records: [][]byte{{1}}})
	g.step(Input{Kind: InputRead, Client: 7})
	g.r.resetConnections() // the heartbeats are answered
	g.step(Input{Kind: InputResign})
	require.Equal(t, voters(3, 2), g.request(2, EndQuorumEpoch).Message.Preferred, "most of the log first")
	require.Nil(t, g.has(OpPersist), "the file still says that we lead")
	results := map[ClientID]Result{}
	for _, o := range g.out.Ops {
		if o.Kind == OpComplete {
			results[o.Client] = o.Result
		}
	}
	require.Equal(t, map[ClientID]Result{
		5: {Error: NotLeaderOrFollower, Unknown: true, Offset: 1}, // in the log
		6: {Error: NotLeaderOrFollower},                           // never written
		7: {Error: NotLeaderOrFollower},
	}, results)
	g.answer(g.request(2, EndQuorumEpoch), Message{Epoch: g.state().Epoch, Leader: 1})
	require.Equal(t, []string{actHandleEndQuorumEpochResponse}, g.actions())
	g.step(Input{Kind: InputAppend, Client: 8, Records: [][]byte{{1}}})
	require.Equal(t, Result{Error: NotLeaderOrFollower}, g.has(OpComplete).Result)
	epoch := g.state().Epoch
	g.now = g.r.electionDeadline
	g.step(Input{})
	require.Equal(t, []string{actLeaveResigned, actBecomeProspective}, g.actions()[:2])
	require.Equal(t, epoch+1, g.state().Epoch)
	require.Equal(t, Election{epoch + 1, NoReplica, NoKey}, g.has(OpPersist).Election)

	g = newRig(t, file(4, 1, -1), func(c *Config) { c.PreVote = false })
	g.now = g.r.electionDeadline
	g.step(Input{})
	require.Equal(t, actBecomeCandidate, g.actions()[0])
}

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
		{Config{}, DiskState{LogStart: 1, LogEnd: 2, Epochs: []EpochStart{{1, 1}}}},
		{Config{}, DiskState{LogEnd: 2}},
		{Config{}, DiskState{LogEnd: 2, Epochs: []EpochStart{{0, 0}}}},
		{Config{}, DiskState{LogEnd: 2, Epochs: []EpochStart{{1, 1}}}},
		{Config{}, DiskState{LogEnd: 2, Epochs: []EpochStart{{1, 0}, {1, 1}}}},
		{Config{}, DiskState{LogEnd: 2, Epochs: []EpochStart{{1, 0}, {2, 2}}}},
		{Config{ID: -1}, file(1, -1, 3)},
	} {
		_, err := New(c.cfg, c.disk, 0, &out)
		require.Error(t, err, "%+v", c)
	}
}
