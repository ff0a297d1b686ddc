package core

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

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

// A candidate may lose what is not flushed, and be granted the same vote again.
func TestVotesAreAskedForDurableRecordsOnly(t *testing.T) {
	g := newRig(t, DiskState{}, nil).follow(2)
	g.answer(g.request(2, Fetch), fetched(0, 2, 1))
	g.tick(g.now + 2000)
	require.Equal(t, Prospective, g.state().Role)
	require.Nil(t, g.has(OpSendRequest))
	g.flush()
	require.Equal(t, []string{actFlush, actSendVoteRequest, actSendVoteRequest}, g.actions())
}

// One that finds records of the epoch it stands in has lost, and asks nobody.
func TestACandidateThatLostComesBackAsFollower(t *testing.T) {
	disk := logOf(3, EpochStart{4, 0})
	disk.HasElection, disk.Election = true, Election{Epoch: 4, Leader: 2, Voted: ReplicaKey{ID: 1}}
	g := newRig(t, disk, nil)
	require.Equal(t, Follower, g.state().Role)
	require.Nil(t, g.request(2, Vote))
	require.NotNil(t, g.request(2, Fetch))
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
	g := newRig(t, logOf(2, EpochStart{1, 0}), nil).follow(4)
	for range 3 {
		g.tick(g.now + 1500)
		g.follow(g.state().Epoch + 1)
	}
	require.False(t, g.ask(3, Message{Kind: Vote, Epoch: 9}).Granted)
	require.Equal(t, Unattached, g.state().Role)
	require.GreaterOrEqual(t, g.r.electionDeadline, g.now+1000)
	// From Leader too.
	g = newRig(t, logOf(2, EpochStart{1, 0}), nil).lead()
	g.tick(g.now + 2500)
	require.Equal(t, Leader, g.state().Role)
	require.False(t, g.ask(3, Message{Kind: Vote, Epoch: 9}).Granted)
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

// Who knows pre-votes and finds a voter that does not stands without them, or a
// cluster that is half upgraded might never elect anybody (KIP-996).
func TestAPeerWithoutPreVoteIsNotWaitedFor(t *testing.T) {
	g := newRig(t, DiskState{}, nil)
	g.tick(g.r.electionDeadline)
	require.Equal(t, Prospective, g.state().Role)
	op := g.request(2, Vote)
	g.step(Input{Kind: InputRequestFailed, Peer: 2, Correlation: op.Correlation, Error: UnsupportedVersion})
	require.Equal(t, Candidate, g.state().Role)
	require.Equal(t, Epoch(1), g.state().Epoch)
}

// No message makes a replica count past the last epoch.
func TestEpochsEnd(t *testing.T) {
	both(t, func(t *testing.T, change func(*Config)) {
		g := newRig(t, DiskState{}, change)
		before := g.state()
		for _, kind := range []MessageKind{Vote, BeginQuorumEpoch, EndQuorumEpoch, Fetch} {
			require.Equal(t, InvalidRequest, g.ask(2, Message{Kind: kind, Epoch: math.MaxInt32}).Error, "%v", kind)
			require.Equal(t, before.Epoch, g.state().Epoch)
		}
		for _, m := range []Message{
			{Epoch: math.MaxInt32, Leader: NoReplica}, {Epoch: math.MaxInt32, Leader: 2},
			{Epoch: math.MaxInt32, Leader: NoReplica, Error: FencedLeaderEpoch},
		} {
			g = newRig(t, file(4, 2, -1), change)
			before = g.state()
			g.answer(g.request(2, Fetch), m)
			require.Equal(t, before, g.state())
			require.Empty(t, g.actions())
			require.Nil(t, g.request(2, Fetch), "it backs off")
		}

		// In the last epoch a replica keeps its role, whatever time it is.
		for _, c := range []struct {
			disk DiskState
			role Role
		}{
			{file(MaxEpoch, NoReplica, NoReplica), Unattached},
			{file(MaxEpoch, 2, NoReplica), Follower},
			{file(MaxEpoch, 1, NoReplica), Resigned},
			{file(MaxEpoch, NoReplica, 1), Candidate},
		} {
			g = newRig(t, c.disk, change)
			g.tick(g.now + 30_000)
			require.Equal(t, c.role, g.state().Role)
			require.Equal(t, MaxEpoch, g.state().Epoch)
		}
		// One that voted for itself in it may still win it.
		g = newRig(t, file(MaxEpoch, NoReplica, 1), change)
		g.answer(g.request(2, Vote), Message{Epoch: MaxEpoch, Leader: NoReplica, Granted: true})
		require.Equal(t, Leader, g.state().Role)
		g.step(Input{Kind: InputResign})
		g.tick(g.now + 30_000)
		require.Equal(t, Resigned, g.state().Role)
		// The epoch before it is left as any other.
		g = newRig(t, file(MaxEpoch-1, 2, NoReplica), func(c *Config) { c.PreVote = false })
		g.tick(g.now + 30_000)
		require.Equal(t, MaxEpoch, g.state().Epoch)
		require.Equal(t, Candidate, g.state().Role)
		// A single voter too.
		g = newRig(t, file(MaxEpoch, 1, NoReplica), func(c *Config) { change(c); c.Voters = voters(1) })
		g.tick(g.now + 30_000)
		require.Equal(t, MaxEpoch, g.state().Epoch)
	})
}
