package node

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quorate/quorate/impl/core"
)

// BenchmarkCommits appends through the leader of three nodes in this process, over
// loopback, with flushes to the disk that holds the temporary directory.
func BenchmarkCommits(b *testing.B) {
	for _, run := range []struct {
		clients, size int
		trace         bool
	}{{1, 100, false}, {64, 100, false}, {512, 100, false}, {64, 10_000, false}, {64, 100, true}} {
		b.Run(fmt.Sprintf("clients=%d/bytes=%d/trace=%t", run.clients, run.size, run.trace), func(b *testing.B) {
			c := newCluster(b, 3, run.trace, func(cfg *Config) {
				cfg.Core = core.Config{}
			})
			n := c.nodes[c.leader()]
			value := make([]byte, run.size)
			var left atomic.Int64
			left.Store(int64(b.N))
			done := make(chan error, run.clients)
			b.SetBytes(int64(run.size))
			b.ResetTimer()
			began := time.Now()
			for range run.clients {
				go func() {
					for left.Add(-1) >= 0 {
						if _, err := propose(context.Background(), n, value); err != nil {
							done <- err
							return
						}
					}
					done <- nil
				}()
			}
			for range run.clients {
				if err := <-done; err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)/time.Since(began).Seconds(), "commits/s")
		})
	}
}

// BenchmarkReads makes linearizable reads, each a round of BeginQuorumEpoch shared by
// all that wait.
func BenchmarkReads(b *testing.B) {
	c := newCluster(b, 3, false, func(cfg *Config) { cfg.Core = core.Config{} })
	c.append("a")
	n := c.nodes[c.leader()]
	b.SetParallelism(32)
	b.ResetTimer()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if _, err := n.Read(context.Background()); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
