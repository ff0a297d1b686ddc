package core

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func both(t *testing.T, test func(t *testing.T, change func(*Config))) {
	for _, pre := range []bool{true, false} {
		t.Run(fmt.Sprintf("PreVote=%v", pre), func(t *testing.T) {
			test(t, func(c *Config) { c.PreVote = pre })
		})
	}
}

func TestClusterElectsCommitsAndReads(t *testing.T) {
	both(t, func(t *testing.T, change func(*Config)) {
		for n := 1; n <= 5; n++ {
			c := newCluster(t, n, n%3, uint64(n), change)
			l := c.waitLeader()
			var ids []ClientID
			for i := range 20 {
				ids = append(ids, c.append(l, fmt.Sprint("v", i)))
				c.run(1, nil)
			}
			read := c.readAt(l)
			require.True(t, c.run(3000, func() bool { _, ok := c.results[read]; return ok }))
			c.settle()
			for _, id := range ids {
				require.Equal(t, None, c.results[id].Error)
			}
			require.Equal(t, None, c.results[read].Error)
			require.GreaterOrEqual(t, c.acked, Offset(20))
		}
	})
}

func TestClusterFailsOverAndTruncates(t *testing.T) {
	both(t, func(t *testing.T, change func(*Config)) {
		c := newCluster(t, 3, 1, 7, change)
		old := c.waitLeader()
		c.settle()
		c.isolate(old, true)
		lost := c.append(old, "lost")
		stale := c.readAt(old)
		require.True(t, c.run(30_000, func() bool { return c.leader() != old && c.leader() != nil && old.r.State().Role != Leader }))
		l := c.waitLeader()
		kept := c.append(l, "kept")
		require.True(t, c.run(5000, func() bool { _, ok := c.results[kept]; return ok }))
		require.Equal(t, Result{Error: NotLeaderOrFollower, Unknown: true, Offset: c.results[lost].Offset}, c.results[lost])
		require.Equal(t, Result{Error: NotLeaderOrFollower}, c.results[stale])
		c.isolate(old, false)
		c.settle()
		for _, rec := range old.records(old.end()) {
			require.NotEqual(t, "lost", rec.value)
		}
		require.Equal(t, None, c.results[kept].Error)
		require.Positive(t, c.actions[actCheckQuorumResign])
	})
}

func TestClusterHandsOverOnResign(t *testing.T) {
	both(t, func(t *testing.T, change func(*Config)) {
		c := newCluster(t, 3, 0, 3, change)
		old := c.waitLeader()
		c.settle()
		epoch, at := old.r.State().Epoch, c.now
		c.step(old, Input{Kind: InputResign})
		require.True(t, c.run(10_000, func() bool { l := c.leader(); return l != nil && l.r.State().Epoch > epoch }))
		require.Less(t, c.now-at, Ticks(1990), "faster than the fetch timeout")
		require.Positive(t, c.actions[actHandleEndQuorumEpochResponse])
		c.settle()
	})
}

// With Pre-Vote a replica that was cut off does not disturb the others.
func TestClusterStaysStableWhenOneReturns(t *testing.T) {
	c := newCluster(t, 3, 0, 5, nil)
	l := c.waitLeader()
	c.settle()
	epoch := l.r.State().Epoch
	alone := c.nodes[(l.id+1)%3]
	c.isolate(alone, true)
	c.run(20_000, nil)
	require.Positive(t, c.actions[actAbandonPreVote])
	c.isolate(alone, false)
	c.settle()
	require.Equal(t, epoch, c.leader().r.State().Epoch)
}

// A restarted cluster commits what it had without a client (K-C11).
func TestClusterRecoversAfterAllCrash(t *testing.T) {
	both(t, func(t *testing.T, change func(*Config)) {
		for n := 1; n <= 3; n++ {
			c := newCluster(t, n, 0, uint64(n), change)
			l := c.waitLeader()
			c.append(l, "v")
			c.settle()
			epoch := l.r.State().Epoch
			for _, n := range c.nodes {
				c.crash(n)
			}
			for _, n := range c.nodes {
				c.start(n)
			}
			c.settle()
			require.Contains(t, c.committed, testRecord{epoch: epoch, value: "v"})
		}
	})
}

// An idle cluster does not spin (K-F06), and its observers keep up.
func TestClusterIdles(t *testing.T) {
	c := newCluster(t, 3, 1, 2, nil)
	c.waitLeader()
	c.settle()
	before := c.steps
	c.run(10_000, nil)
	require.Less(t, c.steps-before, 1000)
	// An observer whose leader is gone finds the next (K-F04, K-F05).
	c.crash(c.leader())
	c.settle()
}

// chaos runs a seed with loss, partitions and crashes, then heals it.
func chaos(t *testing.T, seed uint64, voters int, change func(*Config), more ...func(*cluster)) *cluster {
	return rage(newCluster(t, voters, 1, seed, change), more...)
}

// rage does that to a cluster.
func rage(c *cluster, more ...func(*cluster)) *cluster {
	for _, m := range more {
		m(c)
	}
	c.loss, c.jitter, c.flushTime = 0.03, 20, 30
	for i := range 120 {
		c.run(Ticks(c.rng.IntN(400)), nil)
		n := c.nodes[c.rng.IntN(len(c.nodes))]
		if len(c.changes) > 0 || n.zero != nil {
			c.changeVoters()
		}
		switch c.rng.IntN(10) {
		case 0:
			c.isolate(n, true)
		case 1, 2:
			c.isolate(n, false)
		case 3:
			if n.up {
				c.crash(n)
			}
		case 4:
			if n.up {
				c.step(n, Input{Kind: InputResign})
			}
		case 5:
			for _, n := range c.nodes {
				if !n.up {
					c.start(n)
				}
			}
		default:
			for _, n := range c.nodes {
				if n.up && (n.r.State().Role == Leader || c.rng.IntN(8) == 0) {
					c.append(n, fmt.Sprint("v", i, ".", n.id))
					c.readAt(n)
				}
			}
		}
	}
	c.loss = 0
	for _, n := range c.nodes {
		c.isolate(n, false)
		if !n.up {
			c.start(n)
		}
	}
	c.settle()
	return c
}

func TestClusterSurvivesChaos(t *testing.T) {
	both(t, func(t *testing.T, change func(*Config)) {
		seen := map[string]int{}
		for seed := range uint64(12) {
			c := chaos(t, seed, 1+int(seed)%5, change)
			for a, n := range c.actions {
				seen[a] += n
			}
			present := map[string]bool{}
			for _, rec := range c.committed {
				present[rec.value] = true
			}
			for id, v := range c.appends {
				if r, ended := c.results[id]; ended && r.Error == None {
					require.True(t, present[v], "an acknowledged append is gone")
				} else if ended && !r.Unknown {
					require.False(t, present[v], "an append that failed for certain is there")
				}
			}
		}
		for _, action := range []string{
			actRestart, actBecomeCandidate, actSendVoteRequest, actHandleVoteRequest, actHandleVoteResponse,
			actBecomeLeader, actAppendLeaderChange, actSendBeginQuorumEpoch, actHandleBeginQuorumEpochRequest,
			actHandleBeginQuorumEpochResponse, actAppend, actFlush, actSendFetch, actHandleFetchRequest,
			actHandleFetchResponse, actStartRead, actServeRead, actCheckQuorumResign, actResign,
			actSendEndQuorumEpoch, actHandleEndQuorumEpochRequest, actHandleEndQuorumEpochResponse,
		} {
			require.Positive(t, seen[action], action)
		}
		cfg := Config{}
		change(&cfg)
		for _, action := range []string{actBecomeProspective, actAbandonPreVote, actLeaveResigned} {
			require.Equal(t, cfg.PreVote, seen[action] > 0, action)
		}
	})
}

// The same inputs give the same effects, byte by byte.
func TestStepIsAFunction(t *testing.T) {
	c := newCluster(t, 3, 0, 11, nil)
	for _, m := range c.nodes { // from before the first input
		m.dump = &strings.Builder{}
	}
	c.waitLeader()
	for range 30 {
		c.append(c.leader(), "v")
		c.readAt(c.leader())
		c.run(5, nil)
	}
	c.step(c.leader(), Input{Kind: InputResign})
	c.settle()
	for _, n := range c.nodes {
		var out Effects
		again := &strings.Builder{}
		r, err := New(n.cfg, DiskState{}, 0, &out)
		require.NoError(t, err)
		for i := range n.inputs {
			in := cloneInput(n.inputs[i].in)
			r.Step(n.inputs[i].now, &in, &out)
			dumpEffects(again, &out)
		}
		require.True(t, n.dump.String() == again.String(), "the second run differs")
		require.Greater(t, again.Len(), 10_000)
	}
}
