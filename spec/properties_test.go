package spec

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/checker"
)

func logOf(runs ...Run) Log {
	var l Log
	for _, r := range runs {
		l.Append(r)
	}
	return l
}

func wrote(id ID, e Epoch, kind RecordKind, n int64) Run {
	return Run{Count: n, Epoch: e, Origin: id, Kind: kind}
}

// Each property of one replica, or of two, is violated by a state made to violate it
// alone, so that none of them is silent for want of a mutation that reaches it.
func TestPropertiesCanBeViolated(t *testing.T) {
	a := logOf(wrote(replicaA, 1, LeaderChange, 1), wrote(replicaA, 1, Data, 1))
	c := logOf(wrote(replicaC, 2, LeaderChange, 1))
	history := func(exposed Log, in Epoch) *Ghost {
		g := &Ghost{Exposed: exposed, Chosen: exposed}
		g.ExposedIn.Append(Run{Count: int64(exposed.End()), Epoch: in})
		g.ChosenIn.Append(Run{Count: int64(exposed.End()), Epoch: in})
		g.Starts.add(EpochStart{Epoch: 1, Leader: replicaA})
		g.Starts.add(EpochStart{Epoch: 2, Leader: replicaC})
		return g
	}
	replica := func(id ID, role Role, e Epoch, l Log, hw Offset) *Replica {
		r := NewReplica(id, 0)
		r.Role, r.Election.Epoch, r.Stored.Epoch, r.Log, r.Disk, r.HighWatermark = role, e, e, l, l, hw
		return &r
	}
	one := func(want checker.Props, r *Replica, g *Ghost) {
		t.Helper()
		assert.Equal(t, want, CheckOne(r, g))
	}
	exposed := a.Slice(0, 1)
	one(0, replica(replicaB, Follower, 2, a, 1), history(exposed, 1))
	one(StateMachineSafety, replica(replicaB, Follower, 2, c, 1), history(exposed, 1))
	one(CommittedStable, replica(replicaB, Follower, 2, Log{}, 1), history(exposed, 1))
	one(CommittedStable|LeaderCompleteness, replica(replicaC, Leader, 2, c, Unknown), history(exposed, 1))
	one(0, replica(replicaC, Leader, 2, c, Unknown), history(exposed, 3))
	odd := logOf(wrote(replicaC, 2, LeaderChange, 1), wrote(replicaA, 1, Data, 1))
	one(UniqueEpochOffset, replica(replicaB, Follower, 2, odd, Unknown), history(exposed, 1))

	holding := func(start, hw Offset, held ...Snapshot) *Replica {
		r := replica(replicaB, Follower, 2, a, hw)
		r.LogStart = start
		r.Snapshots.set(held)
		return r
	}
	all := history(a, 1)
	one(0, holding(0, 2, Snapshot{End: 1, Epoch: 1}), all)
	one(0, holding(1, 2, Snapshot{End: 1, Epoch: 1}, Snapshot{End: 2, Epoch: 1}), all)
	one(SnapshotCovers, holding(1, 2), all)
	one(SnapshotCovers|SnapshotWhole, holding(1, 2, Snapshot{End: 1, Epoch: 1, Lacks: 1}), all)
	one(SnapshotWhole, holding(1, 2, Snapshot{End: 1, Epoch: 1, Lacks: -1}), all)
	one(SnapshotCommitted, holding(0, 1, Snapshot{End: 2, Epoch: 1}), history(exposed, 1))
	one(LogContiguity, holding(2, 2, Snapshot{End: 1, Epoch: 1}, Snapshot{End: 2, Epoch: 1}), all)
	one(LogContiguity|SnapshotCommitted, holding(0, 2, Snapshot{End: 2, Epoch: 2}), all)
	one(LogContiguity|SnapshotCommitted, holding(0, 2, Snapshot{End: 3, Epoch: 1}), all)
	require.Equal(t, MonotonicLogStart, CheckStep(ActionAdvanceLogStart, holding(1, 2, Snapshot{End: 1, Epoch: 1}), holding(0, 2, Snapshot{End: 1, Epoch: 1})))

	var voters Log
	abc, ab, justC := SetOf(replicaA, replicaB, replicaC), SetOf(replicaA, replicaB), SetOf(replicaC)
	write := func(sets ...Set) {
		voters = logOf(wrote(replicaA, 1, LeaderChange, 1))
		for _, s := range sets {
			run := wrote(replicaA, 1, KRaftVoters, 1)
			run.Voters = s
			voters.Append(run)
		}
	}
	knows := func(set Set) *Replica {
		r := replica(replicaB, Follower, 1, voters, Unknown)
		r.Voters = set
		return r
	}
	write(abc, ab)
	one(0, knows(ab), history(exposed, 1))
	one(VoterSetFromLog, knows(abc), history(exposed, 1))
	one(VoterSetFromLog, knows(0), history(exposed, 1))
	write(abc, ab, abc)
	one(OneChange, knows(abc), history(exposed, 1))
	one(0, knows(abc), history(voters.Slice(0, 3), 1))
	write(abc, ab, ab) // described anew
	one(0, knows(ab), history(exposed, 1))
	write(abc, justC)
	one(QuorumOverlap, knows(justC), history(exposed, 1))
	write(abc, 0)
	one(QuorumOverlap, knows(0), history(exposed, 1))

	pair := func(want checker.Props, x, y *Replica) {
		t.Helper()
		assert.Equal(t, want, CheckPair(x, y))
	}
	pair(0, replica(replicaA, Follower, 2, a, 1), replica(replicaB, Follower, 2, exposed, 1))
	pair(StateMachineSafety, replica(replicaA, Follower, 2, a, 1), replica(replicaB, Follower, 2, c, 1))
	pair(LogMatching, replica(replicaA, Follower, 2, a, Unknown),
		replica(replicaB, Follower, 2, logOf(wrote(replicaC, 1, LeaderChange, 1), wrote(replicaA, 1, Data, 1)), Unknown))

	leader := replica(replicaA, Leader, 1, a, 1)
	shorter := *leader
	shorter.Log = exposed
	require.Equal(t, LeaderAppendOnly, CheckStep(ActionHandleFetchResponse, leader, &shorter))
	back := *leader
	back.HighWatermark = 0
	require.Equal(t, MonotonicHighWatermark, CheckStep(ActionFlush, leader, &back))
	older := *leader
	older.Election.Epoch = 0
	require.Equal(t, MonotonicEpoch, CheckStep(ActionFlush, leader, &older))
	voted, other := *leader, *leader
	voted.Election.Voted, other.Election.Voted = replicaA, replicaB
	require.Equal(t, VoteOnce, CheckStep(ActionHandleVoteRequest, &voted, &other))
	left := *leader
	left.EpochStart, left.Role = 1, Follower
	require.Equal(t, RoleFieldsClear, CheckStep(ActionHandleVoteRequest, leader, &left))
}
