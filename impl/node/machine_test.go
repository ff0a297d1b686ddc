package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/snapshot"
	"github.com/stretchr/testify/require"
)

// journal is a machine that keeps what it applied and notes what it is told.
type journal struct {
	Values
	mu     sync.Mutex
	loads  []snapshot.ID
	leads  []Leadership
	before []int // how many values there were at each of leads
	fail   func(call string) error
	gate   chan struct{} // not nil: the writing of a snapshot waits for it
	cut    chan int      // how many values are in a snapshot that was begun
}

func (j *journal) failing(call string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.fail == nil {
		return nil
	}
	return j.fail(call)
}

func (j *journal) Apply(b Batch) error {
	if err := j.failing("apply"); err != nil {
		return err
	}
	for i, r := range b.Records {
		if r.Offset != b.Base+int64(i) {
			return fmt.Errorf("record %d of %v", i, b)
		}
	}
	if b.End != b.Base+int64(len(b.Records)) || b.Epoch < 1 || b.Timestamp == 0 {
		return fmt.Errorf("batch %v", b)
	}
	return j.Values.Apply(b)
}

func (j *journal) Snapshot() (func(SnapshotWriter) error, error) {
	if err := j.failing("snapshot"); err != nil {
		return nil, err
	}
	write, err := j.Values.Snapshot()
	n := len(j.texts())
	return func(w SnapshotWriter) error {
		if j.gate != nil {
			j.cut <- n
			<-j.gate
		}
		if err := j.failing("write"); err != nil {
			return err
		}
		return write(w)
	}, err
}

func (j *journal) Load(r SnapshotReader) error {
	if err := j.failing("load"); err != nil {
		return err
	}
	j.mu.Lock()
	j.loads = append(j.loads, r.ID())
	j.mu.Unlock()
	return j.Values.Load(r)
}

func (j *journal) LeaderChange(l Leadership) {
	if err := j.failing("leader change"); err != nil {
		panic(err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.leads, j.before = append(j.leads, l), append(j.before, len(j.from(0, 0, applyBytes)))
}

func (j *journal) texts() (all []string) {
	for _, v := range j.from(0, 0, 1<<30) {
		all = append(all, string(v.Value))
	}
	return all
}

func (j *journal) loaded() []snapshot.ID {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.loads)
}

// journals makes nodes with a journal each, anew at each start.
func journals(size int, adjust func(*Config)) (of []*journal, _ func(*Config)) {
	of = make([]*journal, size)
	return of, func(cfg *Config) {
		j := new(journal)
		of[cfg.ID-1], cfg.Machine = j, j
		if adjust != nil {
			adjust(cfg)
		}
	}
}

// A snapshot is taken when it is due, the log starts after it, and the next start loads
// it and applies only what follows.
func TestSnapshots(t *testing.T) {
	of, adjust := journals(1, func(cfg *Config) {
		cfg.Snapshots = snapshot.Policy{MaxBytes: 2000}
		cfg.Retention = snapshot.Retention{MaxBytes: 1, MaxMs: -1}
	})
	c := newCluster(t, 1, true, adjust)
	var want []string
	for i := range 100 {
		want = append(want, fmt.Sprint("value ", i))
		c.append(want[i])
	}
	n := c.nodes[0]
	require.Eventually(t, func() bool { return n.State().LogStart > 0 }, 10*time.Second, time.Millisecond)
	require.Equal(t, want, of[0].texts())
	require.Empty(t, of[0].loaded())
	first := of[0]
	c.kill(0)
	c.start(0)
	require.NotSame(t, first, of[0])
	require.Eventually(t, func() bool { return slices.Equal(want, of[0].texts()) }, 10*time.Second, time.Millisecond)
	loads := of[0].loaded()
	require.Len(t, loads, 1)
	require.Greater(t, loads[0].End, int64(20))
	c.append("after")
	require.Equal(t, append(want, "after"), of[0].texts())
}

// A machine may refuse a snapshot that is due, and is asked again as more is applied.
func TestSnapshotRefused(t *testing.T) {
	var asked atomic.Int64
	of, adjust := journals(1, func(cfg *Config) {
		cfg.Snapshots = snapshot.Policy{MaxBytes: 1}
		j := cfg.Machine.(*journal)
		j.fail = func(call string) error {
			if call != "snapshot" || slices.Contains(j.texts(), "now") {
				return nil
			}
			asked.Add(1)
			return fmt.Errorf("not yet: %w", ErrNoSnapshot)
		}
	})
	c := newCluster(t, 1, true, adjust)
	n := c.nodes[0]
	for i := 0; asked.Load() < 3; i++ {
		c.append(fmt.Sprint("value ", i))
	}
	require.Equal(t, core.NoSnapshot, n.State().Snapshot)
	c.append("now")
	require.Eventually(t, func() bool { return n.State().Snapshot != core.NoSnapshot }, 10*time.Second, time.Millisecond)
	require.Contains(t, of[0].texts(), "now")
	require.NoError(t, n.Err())
}

// While a snapshot is written, more is committed and applied; it has what there was when
// it was cut.
func TestSnapshotIsACut(t *testing.T) {
	of, adjust := journals(1, func(cfg *Config) { cfg.Snapshots = snapshot.Policy{MaxIntervalMs: 50} })
	gated := true
	c := newCluster(t, 1, false, func(cfg *Config) {
		adjust(cfg)
		if gated {
			of[0].gate, of[0].cut = make(chan struct{}), make(chan int, 10)
		}
	})
	c.append("a")
	cut := <-of[0].cut
	for i := range 50 {
		c.append(fmt.Sprint(i))
	}
	require.Equal(t, core.NoSnapshot, c.nodes[0].State().Snapshot)
	close(of[0].gate)
	require.Eventually(t, func() bool { return c.nodes[0].State().Snapshot != core.NoSnapshot }, 10*time.Second, time.Millisecond)
	ids, err := snapshot.List(fs.OS{}, c.nodes[0].logDir())
	require.NoError(t, err)
	first := ids[0]
	r, err := snapshot.Open(fs.OS{}, c.nodes[0].logDir(), first)
	require.NoError(t, err)
	defer r.Close()
	var had Values
	require.NoError(t, had.Load(r))
	require.LessOrEqual(t, first.End, c.nodes[0].State().Applied-50)
	require.Len(t, had.all, cut)
	gated = false
	c.kill(0)
	c.start(0)
	require.Eventually(t, func() bool { return len(of[0].texts()) == 51 }, 10*time.Second, time.Millisecond)
}

// A node that stops does not wait for a snapshot that is being written.
func TestStopWhileSnapshotIsWritten(t *testing.T) {
	of, adjust := journals(1, func(cfg *Config) { cfg.Snapshots = snapshot.Policy{MaxBytes: 1} })
	c := newCluster(t, 1, false, func(cfg *Config) {
		adjust(cfg)
		of[0].gate, of[0].cut = make(chan struct{}), make(chan int, 10)
	})
	c.append("a")
	<-of[0].cut
	closed := make(chan error)
	n := c.nodes[0]
	go func() { closed <- n.Close() }()
	<-n.ctx.Done()
	close(of[0].gate)
	require.NoError(t, <-closed)
	c.nodes[0] = nil
	ids, err := snapshot.List(fs.OS{}, n.logDir())
	require.NoError(t, err)
	require.Empty(t, ids)
}

// A machine that fails ends its node, which says where and why.
func TestMachineFailure(t *testing.T) {
	broken := errors.New("it is broken")
	for call, says := range map[string]string{
		"apply":         "state machine: apply the batch at offset 2: it is broken",
		"snapshot":      "state machine: make snapshot 3-1: it is broken",
		"write":         "state machine: write snapshot 3-1: it is broken",
		"load":          "state machine: load snapshot 3-1: it is broken",
		"leader change": ": panic: it is broken",
	} {
		t.Run(call, func(t *testing.T) {
			of, adjust := journals(1, func(cfg *Config) { cfg.Snapshots = snapshot.Policy{MaxBytes: 200} })
			c := newCluster(t, 1, false, adjust)
			c.append("a")
			fail := func(j *journal) {
				j.mu.Lock()
				defer j.mu.Unlock()
				j.fail = func(called string) error {
					if called == call {
						return broken
					}
					return nil
				}
			}
			n := c.nodes[0]
			if call == "load" || call == "leader change" {
				c.append("b")
				require.Eventually(t, func() bool { return n.State().Snapshot.End == 3 }, 10*time.Second, time.Millisecond)
				c.adjust = func(cfg *Config) { adjust(cfg); fail(of[0]) }
				c.kill(0)
				c.start(0)
				n = c.nodes[0]
			} else {
				fail(of[0])
				propose(context.Background(), n, []byte("b"))
			}
			select {
			case <-n.Done():
			case <-time.After(10 * time.Second):
				t.Fatal("it goes on")
			}
			c.nodes[0] = nil
			require.ErrorContains(t, n.Err(), says)
			require.Equal(t, call == "leader change", strings.Contains(n.Err().Error(), "goroutine "), "with the stack of a panic")
			if call == "load" || call == "leader change" {
				return
			}
			_, err := propose(context.Background(), n, []byte("c"))
			require.ErrorIs(t, err, ErrStopped)
		})
	}
}

// The one that leads is told when it has applied all of earlier epochs; each machine is
// told of each leader that it lives to see once.
func TestLeaderChange(t *testing.T) {
	of, adjust := journals(3, nil)
	c := newCluster(t, 3, false, adjust)
	for i := range 10 {
		c.append(fmt.Sprint(i))
	}
	old := c.leader()
	oldEpoch := int32(c.nodes[old].State().Epoch)
	require.NoError(t, c.nodes[old].Close())
	c.nodes[old] = nil
	c.append("of the next epoch")
	leader := c.leader()
	n, j := c.nodes[leader], of[leader]
	j.mu.Lock()
	defer j.mu.Unlock()
	last := j.leads[len(j.leads)-1]
	require.Equal(t, Leadership{Epoch: int32(n.State().Epoch), Leader: n.State().ID, Self: true}, last)
	require.GreaterOrEqual(t, j.before[len(j.before)-1], 10, "all of the epoch before is applied")
	seen := map[Leadership]bool{}
	epoch := int32(-1)
	for _, l := range j.leads {
		require.False(t, seen[l], "%v twice", l)
		seen[l] = true
		require.GreaterOrEqual(t, l.Epoch, epoch)
		epoch = l.Epoch
	}
	of[old].mu.Lock()
	defer of[old].mu.Unlock()
	was := slices.Index(of[old].leads, Leadership{Epoch: oldEpoch, Leader: core.ReplicaID(old + 1), Self: true})
	require.GreaterOrEqual(t, was, 0)
	require.NotEqual(t, was, len(of[old].leads)-1, "it is told that it has resigned: %v", of[old].leads)
}

// Records of one call are one batch, whose place is told; what cannot be is refused, and
// nothing of it is there.
func TestPropose(t *testing.T) {
	c := newCluster(t, 3, false, func(cfg *Config) { cfg.Core.MaxBatchRecords = 5 })
	c.append("first")
	n := c.nodes[c.leader()]
	ctx := context.Background()
	offset, epoch, err := n.Propose(ctx, [][]byte{[]byte("a"), []byte("b"), []byte("c")})
	require.NoError(t, err)
	require.EqualValues(t, n.State().Epoch, epoch)
	require.GreaterOrEqual(t, n.State().Applied, offset+3)
	values := n.Values(offset)
	require.Len(t, values, 3)
	for i, v := range values {
		require.Equal(t, Value{offset + int64(i), []byte{"abc"[i]}}, v)
	}
	end := n.State().LogEnd
	_, _, err = n.Propose(ctx, make([][]byte, 6))
	require.ErrorContains(t, err, "INVALID_REQUEST")
	_, _, err = n.Propose(ctx, nil)
	require.ErrorContains(t, err, "INVALID_REQUEST")
	_, _, err = n.Propose(ctx, slices.Repeat([][]byte{[]byte("x")}, 6))
	require.ErrorIs(t, err, ErrTooLarge)
	require.NotErrorIs(t, err, ErrUnknown)
	other := c.nodes[c.leader()%3]
	if other == n {
		other = c.nodes[(c.leader()+1)%3]
	}
	require.Equal(t, end, n.State().LogEnd)
	for _, do := range []func() error{
		func() error { _, err := propose(ctx, other, []byte("x")); return err },
		func() error { _, err := other.Read(ctx); return err },
	} {
		err := do()
		require.ErrorIs(t, err, ErrNotLeader)
		require.NotErrorIs(t, err, ErrUnknown)
		var failed *OpError
		require.ErrorAs(t, err, &failed)
		require.Equal(t, other.State().Leader, failed.Leader)
	}
}

// A leader that cannot commit takes so much and refuses the rest; what it took is in
// doubt when it gives up.
func TestBackpressure(t *testing.T) {
	c := newCluster(t, 3, false, func(cfg *Config) { cfg.Core.MaxPendingAppends, cfg.Core.FetchTimeout = 3, 1000 })
	c.append("a")
	leader := c.leader()
	n := c.nodes[leader]
	for i := range c.nodes {
		if i != leader {
			c.kill(i)
		}
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	busy, unknown := 0, 0
	for range 20 {
		time.Sleep(time.Millisecond) // one batch each
		wg.Go(func() {
			_, err := propose(context.Background(), n, []byte("x"))
			mu.Lock()
			defer mu.Unlock()
			switch {
			case errors.Is(err, ErrBusy) && !errors.Is(err, ErrUnknown):
				busy++
			case errors.Is(err, ErrNotLeader) && errors.Is(err, ErrUnknown):
				unknown++
			default:
				t.Errorf("append that cannot be committed: %v", err)
			}
		})
	}
	wg.Wait()
	require.Equal(t, 20, busy+unknown)
	require.Positive(t, busy)
	require.Positive(t, unknown)
}
