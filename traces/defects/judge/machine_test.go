//go:build linux

package judge

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/node"
)

// TestKernel: a flush of the operating system's files reaches the kernel. It cannot
// be seen by its effect without cutting the power; but the files of /proc cannot be
// flushed, and the kernel says so when it is asked to.
func TestKernel(t *testing.T) {
	if err := (fs.OS{}).SyncDir("/proc/self"); err == nil {
		t.Error("the kernel was not asked to flush a directory")
	}
	f, err := fs.OS{}.Open("/proc/self/comm")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Sync(); err == nil {
		t.Error("the kernel was not asked to flush a file")
	}
}

// TestNodeDirectory: a node that makes its directory flushes the directory above,
// here one that cannot be.
func TestNodeDirectory(t *testing.T) {
	t.Chdir(t.TempDir())
	cfg := config(t)
	cfg.Dir = "/proc/self/cwd"
	n, err := node.Start(cfg)
	if err == nil {
		n.Kill()
		t.Error("the kernel was not asked to flush the directory above that of the node")
	}
}

// TestNodePowerLoss: what a node has acknowledged outlives its machine, and so does
// the number of its incarnation.
func TestNodePowerLoss(t *testing.T) {
	disk := fs.NewDouble()
	for inc := int32(1); inc <= 3; inc++ {
		cfg := config(t)
		cfg.FS, cfg.Dir = disk, "/d"
		values := &counter{}
		cfg.Machine = values
		n, err := node.Start(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if got := n.State().Incarnation; got != inc {
			t.Errorf("incarnation %d, want %d", got, inc)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		for ctx.Err() == nil && n.State().Role != core.Leader {
			time.Sleep(5 * time.Millisecond)
		}
		if _, _, err := n.Propose(ctx, [][]byte{{byte(inc)}}); err != nil {
			t.Errorf("propose: %v", err)
		}
		if got := values.n.Load(); got != int64(inc) {
			t.Errorf("%d values after incarnation %d", got, inc)
		}
		cancel()
		n.Kill()
		disk = disk.Crash(fs.KeepNone)
		if t.Failed() {
			return
		}
	}
}

// counter is a state machine that counts what is applied.
type counter struct {
	node.Values
	n atomic.Int64
}

func (c *counter) Apply(b node.Batch) error {
	c.n.Add(int64(len(b.Records)))
	return c.Values.Apply(b)
}

func config(t *testing.T) node.Config {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return node.Config{
		ID: 1, Listener: l, Voters: []node.Voter{{ID: 1, Addr: l.Addr().String()}},
		Core: core.Config{ElectionTimeout: 50, FetchTimeout: 100, ElectionBackoffMax: 50, RequestTimeout: 1000},
	}
}
