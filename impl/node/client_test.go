package node

import (
	"context"
	"sync"
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
		n := &Node{ops: make(chan *clientOp, room), ended: make(chan struct{}), waiting: map[core.ClientID][]*clientOp{}}
		n.ctx, n.cancel = context.WithCancel(context.Background())
		n.applier = newApplier(n, nil)
		return n
	}
	taking := func(end func(*Node)) *Node { // one whose loop takes all, and answers nothing
		n := idle(0)
		t.Cleanup(n.cancel)
		go func() {
			for {
				select {
				case op := <-n.ops:
					op.taken.Store(true)
					end(n)
				case <-n.ctx.Done():
					return
				}
			}
		}()
		return n
	}
	do := func(n *Node, ctx context.Context) (appended, read bool) {
		_, err := propose(ctx, n, []byte("a"))
		appended = outcome(t, err)
		_, err = n.Read(ctx)
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
	check(true, taking(func(*Node) {}), soon)
	check(false, idle(2), canceled) // taken back
	ended := idle(2)
	close(ended.ended)
	check(false, ended, context.Background())
	var once sync.Once
	check(true, taking(func(n *Node) { once.Do(func() { close(n.ended) }) }), context.Background())

	// What waits when the node stops: with the core, and in the queue.
	op := func(values ...string) *clientOp {
		o := &clientOp{done: make(chan clientResult, 1)}
		for _, v := range values {
			o.records = append(o.records, []byte(v))
		}
		return o
	}
	ops := []*clientOp{op("a"), op("b"), op(), op("c"), op()}
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
