package core

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// dynamic is a cluster whose first voters stand in a zero checkpoint; the others are
// observers that may become voters.
func dynamic(t *testing.T, voters, observers int, seed uint64, change func(*Config)) *cluster {
	c := emptyCluster(t, seed)
	var zero []Voter
	var all []ReplicaID
	for i := range voters + observers {
		all = append(all, ReplicaID(i))
		if i < voters {
			zero = append(zero, testVoter(ReplicaID(i), 1))
		}
	}
	for _, id := range all {
		v := testVoter(id, 1)
		cfg := Config{ID: id, Directory: v.Key.Directory, Info: v.Info, Bootstrap: all, PreVote: true, Trace: true}
		if change != nil {
			change(&cfg)
		}
		n := &testNode{id: id, cfg: cfg}
		if int(id) < voters {
			n.zero = zero
		}
		c.nodes = append(c.nodes, n)
	}
	for _, n := range c.nodes {
		c.start(n)
	}
	return c
}

func testVoter(id ReplicaID, directory byte) Voter {
	return Voter{Key: ReplicaKey{id, DirectoryID{directory, byte(id)}}, Info: fmt.Sprint("host", id)}
}

func votersRecord(epoch Epoch, set []Voter) testRecord {
	return testRecord{epoch: epoch, control: true, value: fmt.Sprint("voters ", set), voters: slices.Clone(set)}
}

func (r testRecord) summary() ControlRecord {
	switch {
	case r.voters != nil:
		return ControlRecord{KRaftVotersRecord, r.voters}
	case r.value == "version":
		return ControlRecord{Kind: KRaftVersionRecord}
	}
	return ControlRecord{}
}

func lastVoters(records []testRecord) []Voter {
	for _, r := range slices.Backward(records) {
		if r.voters != nil {
			return r.voters
		}
	}
	return nil
}

// voterSets are what a disk has: the sets of the snapshot at the log start, and of records.
func (n *testNode) voterSets() (sets []VoterSet) {
	if before := lastVoters(n.snaps.base); before != nil {
		sets = append(sets, VoterSet{n.start() - 1, before})
	} else if n.zero != nil && n.start() == 0 {
		sets = append(sets, VoterSet{ZeroCheckpoint, n.zero})
	}
	for _, b := range n.log {
		for i, r := range b.records {
			if r.voters != nil {
				sets = append(sets, VoterSet{b.Base + Offset(i), r.voters})
			}
		}
	}
	return sets
}

// checkVoters: the voter set in force is the last of the log, committed or not.
func (c *cluster) checkVoters(n *testNode) {
	in := n.r.VoterSet()
	if !in.Dynamic() {
		require.Empty(c.t, n.voterSets())
		return
	}
	sets := n.voterSets()
	require.NotEmpty(c.t, sets)
	last := sets[len(sets)-1]
	require.Equal(c.t, last.Voters, in.Voters, "the voter set in force is not the last of the log")
	require.Equal(c.t, last.Offset, max(in.Offset, min(n.start()-1, last.Offset))) // a disk knows only that it is below the log start
	if s := n.r.State(); s.Role == Leader && n.r.VoterSetAt(s.LogEnd).Offset >= s.HighWatermark {
		uncommitted := 0
		for _, set := range sets {
			if set.Offset > s.EpochStart+2 && set.Offset >= s.HighWatermark {
				uncommitted++
			}
		}
		require.LessOrEqual(c.t, uncommitted, 1, "two voter sets are uncommitted")
	}
}

func (c *cluster) change(n *testNode, in Input) ClientID {
	c.client++
	in.Client = c.client
	c.changes[c.client] = !in.Early && in.Kind != InputUpdateVoter
	c.step(n, in)
	return in.Client
}

// changeVoters asks some replica for a change that may or may not be allowed.
func (c *cluster) changeVoters() {
	n := c.leader()
	if n == nil || c.rng.IntN(6) == 0 {
		n = c.nodes[c.rng.IntN(len(c.nodes))]
	}
	if !n.up {
		return
	}
	v := testVoter(c.nodes[c.rng.IntN(len(c.nodes))].id, 1)
	in := Input{Voter: v, Epoch: n.r.State().Epoch, Early: c.rng.IntN(4) == 0}
	switch _, is := n.r.VoterSet().Find(v.Key.ID); {
	case c.rng.IntN(8) == 0:
		in.Kind, in.Voter.Info = InputUpdateVoter, fmt.Sprint(v.Info, "-", c.rng.IntN(3))
	case is:
		in.Kind = InputRemoveVoter
	default:
		in.Kind = InputAddVoter
	}
	c.change(n, in)
}

// Voters come and go, the leader among them, while messages are lost, replicas crash and
// snapshots are taken; and nothing that was committed changes. (Without Pre-Vote a voter
// that was removed, and has not heard of it, may raise the epoch for ever where the
// leader does not see it: docs/divergence.md.)
func TestClusterSurvivesVoterChanges(t *testing.T) {
	seen, ended := map[string]int{}, map[ErrorCode]int{}
	for seed := range uint64(24) {
		c := dynamic(t, 1+int(seed)%4, 1+int(seed)%2, seed, func(cfg *Config) { cfg.MaxSnapshotBytes = 900 })
		rage(c, func(c *cluster) {
			if seed%2 == 0 {
				c.snapEvery = 2 + Offset(seed%4)
			}
		})
		for a, n := range c.actions {
			seen[a] += n
		}
		for id := range c.changes {
			if r, ok := c.results[id]; ok {
				ended[r.Error]++
			}
		}
		for id, v := range c.appends {
			if r, ok := c.results[id]; ok && r.Error == None {
				require.True(t, slices.ContainsFunc(c.committed, func(r testRecord) bool { return r.value == v }), "an acknowledged append is gone")
			}
		}
	}
	for _, action := range []string{actAddVoter, actRemoveVoter, actUpdateVoter, actInstallSnapshot, actResign} {
		require.Positive(t, seen[action], action)
	}
	for _, code := range []ErrorCode{None, RequestTimedOut, NotLeaderOrFollower, VoterNotFound} {
		require.Positive(t, ended[code], "error code %d", code)
	}
}

// await asks for a change until it is done.
func (c *cluster) await(in Input) {
	require.True(c.t, c.run(60_000, func() bool {
		l := c.leader()
		if l == nil || l.r.State().HighWatermark < 0 {
			return false
		}
		in.Epoch = l.r.State().Epoch
		id := c.change(l, in)
		c.run(10_000, func() bool { _, done := c.results[id]; return done })
		return c.results[id].Error == None
	}), "the voter set does not change: %+v", in)
}

// One voter becomes three, the leader leaves, a disk is lost and replaced: what an operator
// does (KIP-853).
func TestClusterGrowsAndShrinks(t *testing.T) {
	both(t, func(t *testing.T, change func(*Config)) {
		c := dynamic(t, 1, 2, 4, change)
		first := c.waitLeader()
		require.Equal(t, ReplicaID(0), first.id)
		c.append(first, "one")
		c.await(Input{Kind: InputAddVoter, Voter: testVoter(1, 1)})
		c.await(Input{Kind: InputAddVoter, Voter: testVoter(2, 1)})
		c.append(c.waitLeader(), "two")
		c.settle()
		require.Len(t, c.leader().r.voters, 3)

		c.await(Input{Kind: InputRemoveVoter, Voter: testVoter(0, 1)})
		require.True(t, c.run(30_000, func() bool { l := c.leader(); return l != nil && l.id != 0 }), "no leader of those that stayed")
		c.waitLeader()
		c.append(c.leader(), "three")
		c.settle()
		require.Equal(t, Follower, c.nodes[0].r.State().Role)
		require.Negative(t, c.nodes[0].r.self)

		c.await(Input{Kind: InputAddVoter, Voter: testVoter(0, 1)})
		c.settle()

		// The disk of 1 is lost: what comes back is another replica.
		lost := c.nodes[1]
		c.crash(lost)
		*lost = testNode{id: 1, cfg: lost.cfg, inc: lost.inc}
		lost.cfg.Directory = testVoter(1, 2).Key.Directory
		c.start(lost)
		c.await(Input{Kind: InputRemoveVoter, Voter: testVoter(1, 1)})
		c.await(Input{Kind: InputAddVoter, Voter: testVoter(1, 2)})
		c.append(c.waitLeader(), "four")
		c.settle()
		for _, n := range c.nodes {
			require.Equal(t, []Voter{testVoter(0, 1), testVoter(1, 2), testVoter(2, 1)}, n.r.VoterSet().Voters)
		}
	})
}
