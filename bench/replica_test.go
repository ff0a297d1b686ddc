package bench

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/node"
)

// valueBytes is the size of a small metadata record.
const valueBytes = 100

func values(n int) [][]byte {
	list := make([][]byte, n)
	for i := range list {
		list[i] = bytes.Repeat([]byte("m"), valueBytes)
	}
	return list
}

// BenchmarkCommit appends single records to a leader with two followers, in one
// goroutine. At any time so many appends are not acknowledged.
func BenchmarkCommit(b *testing.B) {
	for _, store := range stores {
		for _, window := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s/appends=%d", store.name, window), func(b *testing.B) {
				disk, dir := store.open(b)
				c := newCluster(b, disk, dir)
				leader, records := c.leader(), values(1)
				before := leader.state()
				fetches, flushes, steps, jumps := c.fetches, c.flushes, c.steps, c.jumps
				for b.Loop() {
					for c.outstanding == window {
						c.turn()
					}
					c.append(leader, records)
				}
				rate(b, c.completed, "commits")
				rate(b, c.fetches-fetches, "fetches")
				rate(b, c.flushes-flushes, "flushes")
				rate(b, c.steps-steps, "steps")
				must(b, c.jumps == jumps, "waited %d times for a timer", c.jumps-jumps)

				c.until(func() bool { return c.outstanding == 0 })
				after := leader.state()
				must(b, after.Role == core.Leader && after.Epoch == before.Epoch, "another leader")
				must(b, c.completed == int64(b.N), "%d of %d appends acknowledged", c.completed, b.N)
				must(b, after.HighWatermark == before.HighWatermark+core.Offset(b.N), "committed from %d to %d with %d appends", before.HighWatermark, after.HighWatermark, b.N)
				c.until(func() bool {
					for _, m := range c.all {
						if m.state().Flushed != after.LogEnd {
							return false
						}
					}
					return true
				})
				c.sameLogs(b)
			})
		}
	}
}

// sameLogs holds the logs of all replicas against each other.
func (c *cluster) sameLogs(b *testing.B) {
	want := c.leader().driver.Log()
	for _, m := range c.all {
		l := m.driver.Log()
		must(b, l.EndOffset() == want.EndOffset() && l.Digest() == want.Digest(), "replica %d has another log than the leader", m.id)
	}
}

// BenchmarkFetch lets an observer catch up with a leader, one batch of 100 records a
// fetch: request, read of the leader's log, response, check of the records, append,
// flush. When it has all it begins again with an empty disk, which is not measured.
func BenchmarkFetch(b *testing.B) {
	const batches, records = 500, 100
	for _, store := range stores {
		b.Run(store.name, func(b *testing.B) {
			disk, dir := store.open(b)
			c := newCluster(b, disk, dir)
			leader := c.leader()
			for batch := values(records); c.ops < batches; {
				c.append(leader, batch)
			}
			c.until(func() bool { return c.outstanding == 0 && leader.state().HighWatermark == leader.state().LogEnd })
			end := leader.driver.Log().EndOffset()
			must(b, end >= batches*records, "a log of %d records", end)

			tries := 0
			begin := func() *member {
				tries++
				m := c.open(fmt.Sprintf("observer-%d", tries)).start()
				c.until(func() bool { return m.fetches > 0 })
				c.fetches, c.flushes, c.jumps = 0, 0, 0
				return m
			}
			observer := begin()
			b.SetBytes(records * valueBytes)
			var fetches, received, flushes, jumps int64
			from := observer.driver.Log().EndOffset()
			settle := func() {
				received += observer.driver.Log().EndOffset() - from
				fetches += c.fetches
				flushes += c.flushes
				jumps += c.jumps
			}
			for b.Loop() {
				if observer.driver.Log().EndOffset() == end {
					b.StopTimer()
					settle()
					c.sameLogs(b)
					c.discard()
					observer = begin()
					from = observer.driver.Log().EndOffset()
					b.StartTimer()
				}
				for had := observer.fetches; observer.fetches == had; {
					c.turn()
				}
			}
			settle()
			rate(b, fetches, "fetches")
			rate(b, received, "records")
			rate(b, flushes, "flushes")
			must(b, fetches == int64(b.N), "%d fetches with records, and not %d", fetches, b.N)
			must(b, received == records*fetches, "%d records with %d fetches", received, fetches)
			must(b, jumps == 0, "waited %d times for a timer", jumps)
		})
	}
}

// BenchmarkNodes appends through the leader of three nodes: goroutines, sockets on
// loopback, the wire format of Kafka, and flushes of a temporary directory.
func BenchmarkNodes(b *testing.B) {
	for _, clients := range []int{1, 64} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			leader, _ := startNodes(b)
			value := values(1)[0]
			before := leader.State()
			var begun, done atomic.Int64
			todo, failed := make(chan struct{}), make(chan error, clients)
			for range clients {
				go func() {
					for range todo {
						if _, _, err := leader.Propose(context.Background(), [][]byte{value}); err != nil {
							failed <- err
							return
						}
						done.Add(1)
					}
					failed <- nil
				}()
			}
			for b.Loop() {
				select {
				case todo <- struct{}{}:
					begun.Add(1)
				case err := <-failed:
					b.Fatal(err)
				}
			}
			rate(b, done.Load(), "commits")
			close(todo)
			for range clients {
				require.NoError(b, <-failed)
			}
			after := leader.State()
			must(b, after.Epoch == before.Epoch && after.Role == core.Leader, "another leader")
			must(b, done.Load() == int64(b.N) && begun.Load() == int64(b.N), "%d of %d appends acknowledged", done.Load(), b.N)
			// The state is published after the answers.
			require.Eventually(b, func() bool { return leader.State().HighWatermark == before.LogEnd+core.Offset(b.N) }, 10*time.Second, time.Millisecond)
		})
	}
}

// startNodes starts three nodes in this process and returns the one that leads, and all.
func startNodes(b *testing.B) (leader *node.Node, nodes []*node.Node) {
	return startNodesWith(b, func(*node.Config) {})
}

func startNodesWith(b *testing.B, change func(*node.Config)) (leader *node.Node, nodes []*node.Node) {
	dir := b.TempDir()
	var listeners []net.Listener
	var quorum []node.Voter
	for id := range core.ReplicaID(voters) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(b, err)
		listeners = append(listeners, l)
		quorum = append(quorum, node.Voter{ID: id + 1, Addr: l.Addr().String()})
	}
	for i, l := range listeners {
		cfg := node.Config{
			ID: quorum[i].ID, Dir: filepath.Join(dir, fmt.Sprint(quorum[i].ID)), Voters: quorum, Listener: l, ClusterID: "bench",
			// Elect soon, and then be patient: the machine may be busy.
			Core: core.Config{ElectionTimeout: 100, ElectionBackoffMax: 50, FetchTimeout: 10_000, RequestTimeout: 10_000},
		}
		change(&cfg)
		n, err := node.Start(cfg)
		require.NoError(b, err)
		nodes = append(nodes, n)
		b.Cleanup(func() {
			n.Kill()
			require.NoError(b, n.Err())
		})
	}
	require.Eventually(b, func() bool {
		for _, n := range nodes {
			if s := n.State(); s.Role == core.Leader && s.HighWatermark > 0 && s.HighWatermark == s.LogEnd {
				leader = n
			}
		}
		return leader != nil
	}, 30*time.Second, 2*time.Millisecond, "no leader")
	return leader, nodes
}
