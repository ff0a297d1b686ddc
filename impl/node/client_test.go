package node

import (
	"context"
	"testing"
	"time"

	"github.com/quorate/quorate/impl/core"
	"github.com/stretchr/testify/require"
)

// outcome is whether an operation that failed may yet take effect.
func outcome(t *testing.T, err error) bool {
	var failed *OpError
	require.ErrorAs(t, err, &failed)
	return failed.Unknown
}

// An append that the core may have seen is in doubt; a read, or what never left the
// queue, is not.
func TestOutcomes(t *testing.T) {
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	idle := func(room int) *Node { // one whose loop does not look
		n := &Node{ops: make(chan *clientOp, room), done: make(chan struct{}), waiting: map[core.ClientID][]*clientOp{}}
		n.ctx, n.cancel = context.WithCancel(context.Background())
		return n
	}
	do := func(n *Node, ctx context.Context) (appended, read bool) {
		_, err := n.Append(ctx, []byte("a"))
		appended = outcome(t, err)
		_, err = n.ReadIndex(ctx)
		return appended, outcome(t, err)
	}
	check := func(wantAppend bool, n *Node, ctx context.Context) {
		t.Helper()
		appended, read := do(n, ctx)
		require.Equal(t, wantAppend, appended)
		require.False(t, read)
	}
	check(false, idle(0), canceled) // nobody took it
	stopped := idle(0)
	stopped.cancel()
	check(false, stopped, context.Background())
	soon, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	check(true, idle(2), soon)
	ended := idle(2)
	close(ended.done)
	check(true, ended, context.Background())

	// What waits when the node stops: with the core, and in the queue.
	op := func(value []byte) *clientOp { return &clientOp{value: value, done: make(chan clientResult, 1)} }
	ops := []*clientOp{op([]byte("a")), op([]byte("b")), op(nil), op([]byte("c")), op(nil)}
	n := idle(2)
	n.waiting[1], n.waiting[2] = ops[:2], ops[2:3]
	n.ops <- ops[3]
	n.ops <- ops[4]
	n.abandon()
	for i, want := range []bool{true, true, false, false, false} {
		r := <-ops[i].done
		require.ErrorIs(t, r.err, ErrStopped)
		require.Equal(t, want, outcome(t, r.err), "%d", i)
	}

	// What the core says.
	var out core.Effects
	replica, err := core.New(core.Config{ID: 1}, core.DiskState{}, 0, &out)
	require.NoError(t, err)
	n = idle(0)
	n.replica = replica
	for _, unknown := range []bool{true, false} {
		n.waiting[1], n.waiting[2] = ops[:2], ops[2:3]
		for id := core.ClientID(1); id <= 2; id++ {
			n.Complete(id, core.Result{Error: core.NotLeaderOrFollower, Unknown: unknown})
		}
		n.finish()
		for i, want := range []bool{unknown, unknown, false} {
			require.Equal(t, want, outcome(t, (<-ops[i].done).err), "%d", i)
		}
	}
}
