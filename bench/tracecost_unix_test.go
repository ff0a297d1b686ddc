//go:build unix

package bench

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/impl/node"
	"github.com/quorate/quorate/traces/event"
)

// BenchmarkTraceCost says what processor time a commit costs more when all three nodes
// of a quorum record a trace: user and system time of the process of the nodes. Clients
// are connections of another process, or callers in this one, whose commits cost a third.
// Of two quorums one records; they work by turns, short ones, so that what else the
// machine does weighs on both alike, and in the middle they change roles. What is printed
// is the mean over the pairs of turns of the difference, in percent of the mean cost
// without a trace, with its confidence interval of 95 %.
func BenchmarkTraceCost(b *testing.B) {
	slog.SetLogLoggerLevel(slog.LevelWarn)
	defer slog.SetLogLoggerLevel(slog.LevelInfo)
	for _, run := range []struct {
		name string
		load func(b *testing.B, leader *node.Node) turn
	}{{"clients", connections}, {"callers", callers}} {
		b.Run(fmt.Sprintf("%s=%d", run.name, costClients), func(b *testing.B) {
			for range b.N {
				traceCost(b, run.name, run.load)
			}
		})
	}
}

const (
	costPairs   = 240
	costClients = 256
	costAppends = 1 << 12 // of a turn
	// quantile is that of Student's t for 97.5 % and costPairs - 1 degrees of freedom.
	quantile = 1.970
)

// turn has the clients of a quorum make costAppends appends.
type turn func()

func traceCost(b *testing.B, who string, load func(*testing.B, *node.Node) turn) {
	var quorums [2][]*node.Node
	var turns [2]turn
	for i := range quorums {
		var leader *node.Node
		leader, quorums[i] = startNodesWith(b, func(cfg *node.Config) {
			cfg.Machine, cfg.ClientListen = discard{}, "127.0.0.1:0"
		})
		turns[i] = load(b, leader)
		turns[i]()
	}
	cost := func(quorum int) float64 {
		began := processorTime(b)
		turns[quorum]()
		return float64(processorTime(b) - began)
	}
	dir := b.TempDir()
	var off, more []float64
	var events int64
	for half := range 2 {
		silent, traced := half, 1-half
		for i, n := range quorums[traced] {
			require.NoError(b, n.StartTrace(context.Background(), filepath.Join(dir, fmt.Sprintf("%d-%d%s", half, i, event.BinaryExt))))
		}
		for pair := range costPairs / 2 {
			var with, without float64
			if pair%2 == 0 {
				without, with = cost(silent), cost(traced)
			} else {
				with, without = cost(traced), cost(silent)
			}
			off, more = append(off, without), append(more, with-without)
		}
		for _, n := range quorums[traced] {
			_, k := n.Tracing()
			events += k
			require.NoError(b, n.StopTrace())
		}
	}
	base, _ := interval(off)
	mean, half := interval(more)
	perCommit := float64(events) / costAppends / costPairs
	b.Logf("%d %s, %d pairs of turns of %d commits: %.2f µs of CPU a commit without a trace; with one %+.2f %%, of 95 %% [%.2f, %.2f]; %.2f events a commit, %.0f ns a commit",
		costClients, who, costPairs, costAppends, base/costAppends/1e3, 100*mean/base, 100*(mean-half)/base, 100*(mean+half)/base, perCommit, mean/costAppends)
	b.ReportMetric(100*mean/base, "%more-cpu")
	b.ReportMetric(100*half/base, "±%")
	b.ReportMetric(base/costAppends, "off-ns/commit")
	b.ReportMetric(perCommit, "events/commit")
	b.ReportMetric(0, "ns/op")
}

// callers call the leader in this process.
func callers(b *testing.B, leader *node.Node) turn {
	value := values(1)[0]
	return func() {
		var all sync.WaitGroup
		for range costClients {
			all.Go(func() {
				for range costAppends / costClients {
					if _, _, err := leader.Propose(context.Background(), [][]byte{value}); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		all.Wait()
	}
}

// clientsVariable in the environment makes the test binary the clients of a node at this
// address. Each line on standard input is a turn, which a line on standard output ends.
const clientsVariable = "QUORATE_BENCH_CLIENTS"

func init() {
	addr := os.Getenv(clientsVariable)
	if addr == "" {
		return
	}
	if err := serveTurns(addr); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func serveTurns(addr string) error {
	var all [costClients]*node.Client
	for i := range all {
		var err error
		if all[i], err = node.DialClient(context.Background(), addr); err != nil {
			return err
		}
	}
	ask := &node.Request{Op: "append", Value: values(1)[0]}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var wg sync.WaitGroup
		errs := make(chan error, len(all))
		for _, c := range all {
			wg.Go(func() {
				for range costAppends / costClients {
					p, err := c.Do(context.Background(), ask)
					if err == nil {
						err = p.Err()
					}
					if err != nil {
						errs <- err
						return
					}
				}
			})
		}
		wg.Wait()
		select {
		case err := <-errs:
			return err
		default:
			fmt.Println("done")
		}
	}
	return nil
}

// connections are clients in another process, each with a connection to the leader.
func connections(b *testing.B, leader *node.Node) turn {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), clientsVariable+"="+leader.ClientAddr().String())
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(b, err)
	out, err := cmd.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, cmd.Start())
	b.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	lines := bufio.NewReader(out)
	return func() {
		_, err := io.WriteString(in, "turn\n")
		require.NoError(b, err)
		line, err := lines.ReadString('\n')
		require.NoError(b, err)
		require.Equal(b, "done\n", line)
	}
}

// processorTime is what this process has used.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// interval is the mean of costPairs numbers, and half the width of its confidence
// interval of 95 %.
func interval(of []float64) (mean, half float64) {
	for _, x := range of {
		mean += x / float64(len(of))
	}
	var squares float64
	for _, x := range of {
		squares += (x - mean) * (x - mean)
	}
	return mean, quantile * math.Sqrt(squares/float64(len(of)-1)/float64(len(of)))
}

// discard is a state machine that keeps nothing, so that memory does not grow.
type discard struct{}

func (discard) Apply(node.Batch) error                             { return nil }
func (discard) Snapshot() (func(node.SnapshotWriter) error, error) { return nil, node.ErrNoSnapshot }
func (discard) Load(node.SnapshotReader) error                     { return nil }
func (discard) LeaderChange(node.Leadership)                       {}
