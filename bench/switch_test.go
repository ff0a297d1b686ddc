package bench

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkTraceSwitch appends through the leader of three nodes, by turns while nothing
// is recorded and while all three record, so that what else the machine does weighs on
// both alike.
func BenchmarkTraceSwitch(b *testing.B) {
	for _, clients := range []int{1, 64} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			leader, nodes := startNodes(b)
			value, dir := values(1)[0], b.TempDir()
			each := max(1, 640/clients)
			turn := func() time.Duration {
				began := time.Now()
				var all sync.WaitGroup
				for range clients {
					all.Go(func() {
						for range each {
							if _, _, err := leader.Propose(context.Background(), [][]byte{value}); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				all.Wait()
				return time.Since(began)
			}
			turn()
			var off, on, begin time.Duration
			var events int64
			turns := 0
			for b.Loop() {
				off += turn()
				began := time.Now()
				for i, n := range nodes {
					require.NoError(b, n.StartTrace(context.Background(), filepath.Join(dir, fmt.Sprintf("%d-%d", turns, i))))
				}
				begin += time.Since(began)
				on += turn()
				for _, n := range nodes {
					require.NoError(b, n.StopTrace())
					_, k := n.Tracing()
					events += k
				}
				turns++
			}
			commits := float64(turns * clients * each)
			b.ReportMetric(commits/off.Seconds(), "off-commits/s")
			b.ReportMetric(commits/on.Seconds(), "on-commits/s")
			b.ReportMetric(100*(on.Seconds()/off.Seconds()-1), "%more-time")
			b.ReportMetric(float64(events)/commits, "events/commit")
			b.ReportMetric(float64(begin.Microseconds())/float64(3*turns), "us/begin")
			b.ReportMetric(0, "ns/op")
		})
	}
}
