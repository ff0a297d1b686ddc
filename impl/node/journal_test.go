package node

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A machine that keeps its state elsewhere reads what is committed at a pace of its own,
// and has the log start where it says; also after a crash, and on a node that was away.
func TestCommittedAndTrimTo(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	of, adjust := journals(3, nil)
	c := newCluster(t, 3, true, adjust)
	var want []string
	for i := range 30 {
		want = append(want, fmt.Sprint("value ", i))
		c.append(want[i])
	}
	read := func(n *Node, from int64) (all []string, end int64) {
		for {
			batches, next, err := n.Committed(from, 100)
			require.NoError(t, err)
			for _, b := range batches {
				for _, r := range b.Records {
					all = append(all, string(r.Value))
				}
			}
			if next == from {
				return all, from
			}
			from = next
		}
	}
	leader := c.nodes[0]
	for _, n := range c.nodes {
		require.Eventually(t, func() bool { return len(of[n.cfg.ID-1].texts()) == len(want) }, 20*time.Second, time.Millisecond)
		got, end := read(n, 0)
		require.Equal(t, want, got)
		require.Equal(t, int64(n.State().HighWatermark), end)
		if n.State().Leader == n.cfg.ID {
			leader = n
		}
	}
	end := int64(leader.State().HighWatermark)
	_, err := leader.TrimTo(ctx, end+1, nil)
	require.ErrorIs(t, err, ErrOffset)
	write := func(w SnapshotWriter) error { return w.Append([][]byte{[]byte("elsewhere")}) }
	start, err := leader.TrimTo(ctx, end-10, write)
	require.NoError(t, err)
	require.Equal(t, end-10, start)
	again, err := leader.TrimTo(ctx, end-12, write)
	require.NoError(t, err)
	require.Equal(t, start, again, "it never moves back")
	_, _, err = leader.Committed(start-1, 100)
	require.ErrorIs(t, err, ErrOffset)
	_, ok := leader.EpochOf(start - 2)
	require.False(t, ok)
	epoch, ok := leader.EpochOf(start - 1)
	require.True(t, ok, "of the record before the log too")
	require.Positive(t, epoch)
	got, _ := read(leader, start)
	require.Equal(t, want[20:], got)
}
