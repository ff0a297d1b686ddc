package node_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/checker/linear"
	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/node"
)

// store is a key-value store as a state machine: a record is key=value.
type store struct {
	mu   sync.Mutex
	of   map[string]string // guarded by mu
	stop bool              // it forgets what it applies, to see that the check sees it; guarded by mu
}

func (s *store) Apply(b node.Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range b.Records {
		if key, value, ok := strings.Cut(string(r.Value), "="); ok && !s.stop {
			s.of[key] = value
		}
	}
	return nil
}

func (s *store) Snapshot() (func(node.SnapshotWriter) error, error) { return nil, node.ErrNoSnapshot }
func (s *store) Load(node.SnapshotReader) error                     { return errors.New("there are no snapshots") }
func (s *store) LeaderChange(node.Leadership)                       {}

func (s *store) get(key string) (value string, there bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	value, there = s.of[key]
	return value, there
}

// Clients put and get keys of a store on three nodes, of which the leader is killed twice:
// what they saw is linearizable, key by key. A store that has stopped to apply is not.
func TestKeyValueHistory(t *testing.T) {
	dir := t.TempDir()
	var voters []node.Voter
	var listeners []net.Listener
	for id := range 3 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		listeners = append(listeners, l)
		voters = append(voters, node.Voter{ID: core.ReplicaID(id + 1), Addr: l.Addr().String()})
	}
	var mu sync.Mutex
	nodes, stores := make([]*node.Node, 3), make([]*store, 3) // guarded by mu
	start := func(i int, l net.Listener) {
		s := &store{of: map[string]string{}}
		n, err := node.Start(node.Config{
			ID: voters[i].ID, Dir: filepath.Join(dir, fmt.Sprint(i+1)), Voters: voters, ClusterID: "store", Listener: l, Machine: s,
			Core: core.Config{ElectionTimeout: 150, FetchTimeout: 300, ElectionBackoffMax: 100, RequestTimeout: 1000},
		})
		require.NoError(t, err)
		mu.Lock()
		nodes[i], stores[i] = n, s
		mu.Unlock()
		t.Cleanup(n.Kill)
	}
	for i, l := range listeners {
		start(i, l)
	}
	leader := func() (n *node.Node, s *store, i int) {
		mu.Lock()
		defer mu.Unlock()
		for i, n := range nodes {
			if n.State().Role == core.Leader {
				return n, stores[i], i
			}
		}
		return nil, nil, -1
	}

	began := time.Now()
	var ops []linear.ObjectOp // guarded by mu
	client := func(id, count int) {
		r := rand.New(rand.NewPCG(7, uint64(id)))
		for k := range count {
			n, s, _ := leader()
			if n == nil {
				time.Sleep(5 * time.Millisecond)
				continue
			}
			in := &linear.KeyValueOp{Kind: linear.Get}
			op := linear.ObjectOp{Client: int32(id), Key: string(rune('a' + r.IntN(5))), Input: in, Call: int64(time.Since(began))}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			var err error
			if r.IntN(2) == 0 {
				in.Kind, in.Value = linear.Put, fmt.Sprintf("%d-%d", id, k)
				_, _, err = n.Propose(ctx, [][]byte{[]byte(op.Key + "=" + in.Value)})
			} else {
				op.Reads = true
				if _, err = n.Read(ctx); err == nil {
					in.Value, in.There = s.get(op.Key)
				}
			}
			cancel()
			op.Return = int64(time.Since(began))
			var failed *node.OpError
			switch {
			case errors.As(err, &failed) && failed.Unknown:
				op.Outcome = linear.Unknown
			case err != nil:
				op.Outcome = linear.Failed
			}
			mu.Lock()
			ops = append(ops, op)
			mu.Unlock()
			if err != nil {
				time.Sleep(5 * time.Millisecond)
			}
		}
	}
	round := func() {
		var all sync.WaitGroup
		for id := range 6 {
			all.Go(func() { client(id, 40) })
		}
		all.Wait()
	}
	for range 2 {
		round()
		require.Eventually(t, func() bool { n, _, _ := leader(); return n != nil }, time.Minute, time.Millisecond)
		killed, _, i := leader()
		var all sync.WaitGroup
		all.Go(round) // while it dies
		if killed != nil {
			killed.Kill()
			l, err := net.Listen("tcp", voters[i].Addr)
			require.NoError(t, err)
			start(i, l)
		}
		all.Wait()
	}
	require.Eventually(t, func() bool {
		n, _, _ := leader()
		if n == nil {
			return false
		}
		_, err := n.Read(t.Context())
		return err == nil
	}, time.Minute, time.Millisecond)
	round()
	known := 0
	for _, op := range ops {
		if op.Outcome == linear.Known {
			known++
		}
	}
	require.Greater(t, known, 100)
	check := func() linear.Result {
		res, err := linear.CheckObject(ops, linear.KeyValue(), linear.Limits{Time: time.Minute})
		require.NoError(t, err)
		return res
	}
	res := check()
	require.Equal(t, linear.Linearizable, res.Verdict, "%s %+v", res.Reason, res.Violation)
	t.Logf("%d operations of 6 clients on 5 keys, %d with an answer", len(ops), known)

	for _, s := range stores {
		s.mu.Lock()
		s.stop = true
		s.mu.Unlock()
	}
	require.Eventually(t, func() bool {
		round()
		return check().Verdict == linear.NotLinearizable
	}, time.Minute, time.Millisecond)
}
