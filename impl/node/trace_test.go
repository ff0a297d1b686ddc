package node_test

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/node"
	"github.com/quorate/quorate/traces"
	"github.com/stretchr/testify/require"
)

// Three nodes begin to record in their lives, one is killed and comes back, and recording
// ends while two go on: what they recorded is accepted, with nothing hidden.
func TestTraceBeginsLate(t *testing.T) {
	dir := t.TempDir()
	var voters []node.Voter
	var listeners []net.Listener
	for id := range 3 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		listeners = append(listeners, l)
		voters = append(voters, node.Voter{ID: core.ReplicaID(id + 1), Addr: l.Addr().String()})
	}
	nodes := make([]*node.Node, 3)
	start := func(i int, l net.Listener, trace string) {
		n, err := node.Start(node.Config{
			ID: voters[i].ID, Dir: filepath.Join(dir, fmt.Sprint(i+1)), Voters: voters, ClusterID: "late", Listener: l, Trace: trace,
			Core: core.Config{ElectionTimeout: 150, FetchTimeout: 300, ElectionBackoffMax: 100, RequestTimeout: 1000},
		})
		require.NoError(t, err)
		nodes[i] = n
		t.Cleanup(n.Kill)
	}
	for i, l := range listeners {
		start(i, l, "")
	}
	write := func(count int) {
		for range count {
			require.Eventually(t, func() bool {
				for _, n := range nodes {
					ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
					_, _, err := n.Propose(ctx, [][]byte{[]byte("value")})
					cancel()
					if err == nil {
						return true
					}
				}
				return false
			}, time.Minute, time.Millisecond)
		}
	}
	write(50)
	path := func(i int) string { return filepath.Join(dir, fmt.Sprintf("node-%d.ndjson", i+1)) }
	for i, n := range nodes {
		require.ErrorIs(t, n.StopTrace(), node.ErrNotTracing)
		require.NoError(t, n.StartTrace(t.Context(), path(i)))
		require.ErrorIs(t, n.StartTrace(t.Context(), path(i)+"2"), node.ErrTracing)
		write(5)
	}
	write(50)
	killed := int(nodes[0].Leader()) - 1
	for killed < 0 {
		killed = int(nodes[0].Leader()) - 1
	}
	nodes[killed].Kill()
	require.NoError(t, nodes[killed].Err())
	l, err := net.Listen("tcp", voters[killed].Addr)
	require.NoError(t, err)
	start(killed, l, path(killed))
	write(50)
	for i, n := range nodes {
		require.NoError(t, n.StopTrace())
		write(3)
		file, events := n.Tracing()
		require.Empty(t, file)
		require.Greater(t, events, int64(10), "node %d", i+1)
	}
	inputs := []traces.Input{traces.File(path(0)), traces.File(path(1)), traces.File(path(2))}
	res, err := traces.Validate(inputs, traces.Options{})
	require.NoError(t, err)
	if res.Rejection != nil {
		t.Fatal(res.Rejection.Text())
	}
	require.Equal(t, traces.Accepted, res.Verdict)
	require.Len(t, res.Stats.Attached, 3)
	require.Len(t, res.Stats.Detached, 3)
	require.Positive(t, res.Stats.JudgedFrom)
	require.Equal(t, 1, res.Stats.Crashes)
	t.Log(res.Stats.PartialText())
}
