package bench

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/node"
	"github.com/quorate/quorate/impl/node/daemon"
	"github.com/quorate/quorate/impl/snapshot"
)

// nodeVariable in the environment makes the test binary one node. It ends with its
// standard input, which is when the benchmark is gone, however that came about.
const nodeVariable = "QUORATE_BENCH_NODE"

func init() {
	if os.Getenv(nodeVariable) == "" {
		return
	}
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(1)
	}()
	os.Exit(daemon.Start("node", os.Args[1:], os.Stdout, os.Stderr))
}

// BenchmarkIdle starts three processes with Kafka's timeouts and leaves them alone: CPU
// in percent of a core and resident memory of the average node, over five seconds.
func BenchmarkIdle(b *testing.B) {
	for b.Loop() {
		cpu, memory := idle(b)
		b.ReportMetric(cpu, "%cpu/node")
		b.ReportMetric(memory, "MiB/node")
	}
}

func idle(b *testing.B) (cpu, memory float64) {
	var voters []string
	var held []net.Listener // all until the end, so that they differ
	for id := range 3 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(b, err)
		held = append(held, l)
		voters = append(voters, fmt.Sprintf("%d@%s", id+1, l.Addr()))
	}
	for _, l := range held {
		require.NoError(b, l.Close())
	}
	dir := b.TempDir()
	var pids []int
	for id := range 3 {
		cmd := exec.Command(os.Args[0], "-id", fmt.Sprint(id+1), "-dir", filepath.Join(dir, fmt.Sprint(id)), "-voters", strings.Join(voters, ","))
		cmd.Env = append(os.Environ(), nodeVariable+"=1")
		in, err := cmd.StdinPipe()
		require.NoError(b, err)
		require.NoError(b, cmd.Start())
		defer func() {
			in.Close()
			cmd.Wait()
		}()
		pids = append(pids, cmd.Process.Pid)
	}
	time.Sleep(4 * time.Second) // they elect
	const span = 5 * time.Second
	before := ticksOf(b, pids)
	time.Sleep(span)
	used := ticksOf(b, pids) - before
	for _, pid := range pids {
		memory += resident(b, pid) / float64(len(pids))
	}
	const perSecond = 100 // USER_HZ of Linux
	return 100 * float64(used) / perSecond / span.Seconds() / float64(len(pids)), memory
}

// ticksOf is the time that processes have used, in clock ticks.
func ticksOf(b *testing.B, pids []int) (sum int64) {
	for _, pid := range pids {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		require.NoError(b, err)
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		for _, at := range []int{11, 12} { // utime, stime
			n, err := strconv.ParseInt(fields[at], 10, 64)
			require.NoError(b, err)
			sum += n
		}
	}
	return sum
}

// resident is the resident memory of a process, in MiB.
func resident(b *testing.B, pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	require.NoError(b, err)
	n, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	require.NoError(b, err)
	return float64(n) * float64(os.Getpagesize()) / (1 << 20)
}

// cells is a state machine of a fixed size: a record sets one of a thousand cells.
type cells struct{ of [1000][]byte }

func (c *cells) Apply(b node.Batch) error {
	for _, r := range b.Records {
		i := binary.BigEndian.Uint64(r.Value) % uint64(len(c.of))
		c.of[i] = append(c.of[i][:0], r.Value...)
	}
	return nil
}

func (c *cells) Snapshot() (func(node.SnapshotWriter) error, error) {
	var cut [][]byte
	for _, v := range c.of {
		if v != nil {
			cut = append(cut, append([]byte{}, v...))
		}
	}
	return func(w node.SnapshotWriter) error { return w.Append(cut) }, nil
}

func (c *cells) Load(r node.SnapshotReader) error {
	return r.Records(func(v []byte) error { return c.Apply(node.Batch{Records: []node.Record{{Value: v}}}) })
}

func (c *cells) LeaderChange(node.Leadership) {}

// BenchmarkMillionAppends makes a million appends of 100 bytes through the leader of
// three nodes in this process, with snapshots of a state that does not grow and a log
// that is cut after them. It prints the resident memory on the way, which must not grow
// with what was appended, and what is left on the disk of a node.
func BenchmarkMillionAppends(b *testing.B) {
	const all, parts, clients, size = 1_000_000, 10, 512, 100
	slog.SetLogLoggerLevel(slog.LevelWarn)
	defer slog.SetLogLoggerLevel(slog.LevelInfo)
	for b.Loop() {
		b.StopTimer()
		dir := b.TempDir()
		leader := startCells(b, dir)
		b.StartTimer()
		var next, failed atomic.Int64
		var sizes []float64
		for part := 1; part <= parts; part++ {
			until := int64(part * all / parts)
			done := make(chan struct{})
			for range clients {
				go func() {
					defer func() { done <- struct{}{} }()
					value := make([]byte, size)
					for n := next.Add(1); n <= until; n = next.Add(1) {
						binary.BigEndian.PutUint64(value, uint64(n))
						// The last buffer was taken over by the log when its append was committed.
						if _, _, err := leader.Propose(context.Background(), [][]byte{value}); err != nil {
							failed.Add(1)
							return
						}
					}
				}()
			}
			for range clients {
				<-done
			}
			next.Store(until)
			sizes = append(sizes, resident(b, os.Getpid()))
		}
		must(b, failed.Load() == 0, "%d appends failed", failed.Load())
		rate(b, all, "commits")
		s := leader.State()
		must(b, int64(s.LogStart) > all/2, "the log starts at %d", s.LogStart)
		var disk int64
		require.NoError(b, filepath.WalkDir(filepath.Join(dir, "1"), func(path string, d os.DirEntry, err error) error {
			if info, statErr := d.Info(); statErr == nil && !d.IsDir() {
				disk += info.Size()
			}
			return err
		}))
		b.Logf("resident after each %d appends, in MiB: %.0f; the log is [%d, %d), on disk %d MiB", all/parts, sizes, s.LogStart, s.LogEnd, disk>>20)
		b.ReportMetric(sizes[2], "MiB@300k")
		b.ReportMetric(sizes[parts-1], "MiB@1M")
		must(b, sizes[parts-1] < 1.5*sizes[2]+32, "memory grows: %v", sizes)
	}
}

// startCells starts three nodes in this process and returns the one that leads.
func startCells(b *testing.B, dir string) *node.Node {
	var listeners []net.Listener
	var quorum []node.Voter
	for id := range core.ReplicaID(voters) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(b, err)
		listeners = append(listeners, l)
		quorum = append(quorum, node.Voter{ID: id + 1, Addr: l.Addr().String()})
	}
	var nodes []*node.Node
	for i, l := range listeners {
		cfg := node.Config{
			ID: quorum[i].ID, Dir: filepath.Join(dir, fmt.Sprint(quorum[i].ID)), Voters: quorum, Listener: l, ClusterID: "bench",
			Machine: new(cells), Snapshots: snapshot.Policy{MaxBytes: 8 << 20}, Retention: snapshot.Retention{MaxBytes: 1, MaxMs: -1},
			Core: core.Config{ElectionTimeout: 300, FetchTimeout: 10_000},
		}
		cfg.Log.SegmentBytes = 8 << 20
		n, err := node.Start(cfg)
		require.NoError(b, err)
		nodes = append(nodes, n)
	}
	b.Cleanup(func() {
		var errs error
		for _, n := range nodes {
			errs = errors.Join(errs, n.Close())
		}
		require.NoError(b, errs)
	})
	var leader *node.Node
	require.Eventually(b, func() bool {
		for _, n := range nodes {
			if s := n.State(); s.Role == core.Leader && s.HighWatermark > 0 {
				leader = n
			}
		}
		return leader != nil
	}, 20*time.Second, 5*time.Millisecond)
	return leader
}
