//go:build unix

package registry_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/node"
	"github.com/quorate/quorate/impl/registry"
	"github.com/quorate/quorate/impl/registry/cli"
	"github.com/quorate/quorate/impl/registry/journal"
	"github.com/quorate/quorate/impl/registry/objects"
	"github.com/quorate/quorate/impl/registry/trace"
	"github.com/stretchr/testify/require"
)

func init() { scenarios[6] = crashSweep }

// What a child of the tests is told.
const (
	childDir     = "REGISTRY_CHILD_DIR"     // its files; it is a child if this is set
	childStore   = "REGISTRY_CHILD_STORE"   // images
	childBrokers = "REGISTRY_CHILD_BROKERS" // of Kafka; none: an embedded journal in its directory
	childSignal  = "REGISTRY_CHILD_SIGNAL"  // to itself
	childPoint   = "REGISTRY_CHILD_POINT"   // where
	childExpect  = "REGISTRY_CHILD_EXPECT"  // versions that it must find when it is ready
	childArgs    = "REGISTRY_CHILD_ARGS"    // or what the command registry is told, a line for each
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		if err := child(dir); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if args := os.Getenv(childArgs); args != "" {
		os.Exit(cli.Main(nil, strings.Split(args, "\n")))
	}
	os.Exit(m.Run())
}

// child is a registry that starts, takes ten writes, and makes a checkpoint; at a point of
// which it sends itself a signal.
func child(dir string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var j journal.Journal
	var err error
	if brokers := os.Getenv(childBrokers); brokers != "" {
		j, err = journal.OpenKafka(ctx, journal.KafkaConfig{Brokers: strings.Split(brokers, ","), Topic: "journal", Checkpoints: "checkpoints", Replication: 3})
	} else {
		j, err = openAlone(dir)
	}
	if err != nil {
		return err
	}
	store, err := objects.NewDir(os.Getenv(childStore))
	if err != nil {
		return err
	}
	signal, err := strconv.Atoi(os.Getenv(childSignal))
	if err != nil {
		return err
	}
	lines, err := os.OpenFile(filepath.Join(dir, "trace"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	r, err := registry.Start(registry.Config{
		Dir: filepath.Join(dir, "registry"), Journal: j, Objects: store, Trace: trace.NewRecorder(lines),
		Hook: func(point string) error {
			if point != os.Getenv(childPoint) {
				return nil
			}
			return syscall.Kill(os.Getpid(), syscall.Signal(signal))
		},
	})
	if err != nil {
		return err
	}
	select {
	case <-r.Ready():
	case <-r.Done():
		return r.Err()
	}
	if expect := os.Getenv(childExpect); expect != "" {
		names, err := r.DB().Subjects(ctx, "", false)
		if err != nil || fmt.Sprint(len(names)) != expect {
			return fmt.Errorf("%d subjects are there, and %s should be: %w", len(names), expect, err)
		}
	}
	for i := range 10 {
		name := fmt.Sprint(os.Getenv(childPoint), i, os.Getpid())
		if _, _, err := r.Write(ctx, reg(name, name)); err != nil {
			return err
		}
	}
	_, err = r.Checkpoint(ctx)
	return err
}

// openAlone opens an embedded journal of one node.
func openAlone(dir string) (*journal.KRaft, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return journal.OpenKRaft(node.Config{
		ID: 1, Dir: filepath.Join(dir, "journal"), Listener: l, ClusterID: "child", Voters: []node.Voter{{ID: 1, Addr: l.Addr().String()}},
		Core: core.Config{ElectionTimeout: 50, FetchTimeout: 200},
	}, nil)
}

// spawn starts a child.
func spawn(t tester, env map[string]string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Env = os.Environ()
	for k, v := range env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	cmd.Stdout, cmd.Stderr = os.Stdout, nil
	require.NoError(t, cmd.Start())
	return cmd
}

// 6: a process is killed at every point of a checkpoint, and of a restore; the next one
// has everything that was acknowledged, begins at no image that is not whole, and what
// was left lying about is collected.
func crashSweep(w *world) {
	dir, images := w.t.TempDir(), w.t.TempDir()
	points := []string{
		"before-capture", "mid-copy", "after-copy", "mid-upload", "after-upload", "before-commit", "commit-reply-lost", "after-commit",
		"fetched", "verified", "migrated",
	}
	written := 0
	for _, point := range points {
		cmd := spawn(w.t, map[string]string{
			childDir: dir, childStore: images, childSignal: fmt.Sprint(int(syscall.SIGKILL)), childPoint: point, childExpect: fmt.Sprint(written),
		})
		err := cmd.Wait()
		require.Error(w.t, err, point)
		status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
		require.True(w.t, ok && status.Signaled() && status.Signal() == syscall.SIGKILL, "%s: %s", point, err)
		switch point {
		case "fetched", "verified", "migrated": // it did not come to write
		default:
			written += 10
		}
	}
	k, err := openAlone(dir)
	require.NoError(w.t, err)
	w.t.Cleanup(k.Kill)
	store, err := objects.NewDir(images)
	require.NoError(w.t, err)
	w.journal, w.store.Store = k, store
	a := w.start(filepath.Join(dir, "registry"))
	require.NotNil(w.t, a.Began().From)
	require.True(w.t, a.Began().Cached, "brought here by those that were killed")
	names, err := a.DB().Subjects(w.ctx, "", false)
	require.NoError(w.t, err)
	require.Len(w.t, names, written)
	b := w.start("", func(c *registry.Config) { c.Rules.Usable = notUsable; c.Trace = nil })
	require.Equal(w.t, b.digest(), a.digest())
	for _, name := range []string{"a", "b"} {
		a.fill(name, 1)
		a.checkpoint()
	}
	_, err = a.Collect(w.ctx)
	require.NoError(w.t, err)
	left, err := store.List(w.ctx, "images/")
	require.NoError(w.t, err)
	require.Len(w.t, left, 4)
	f, err := os.Open(filepath.Join(dir, "trace"))
	require.NoError(w.t, err)
	defer f.Close()
	events, err := trace.Read(f)
	require.NoError(w.t, err)
	require.Equal(w.t, len(points), trace.Count(events, trace.Start))
	require.Empty(w.t, trace.Judge(events, 2))
}

// The zombie of scenario 8 as a process that is stopped (SIGSTOP) while it uploads, over a
// journal that is a topic of Kafka.
func TestStoppedProcess(t *testing.T) {
	w := newWorld(t, mutation{})
	c := w.kafka()
	b := w.start("")
	b.fill("a", 10)
	dir := t.TempDir()
	cmd := spawn(t, map[string]string{
		childDir: dir, childStore: w.dir, childSignal: fmt.Sprint(int(syscall.SIGSTOP)), childPoint: "mid-upload", childBrokers: strings.Join(c.ListenAddrs(), ","),
	})
	var status syscall.WaitStatus
	wait := func(options int) {
		for {
			_, err := syscall.Wait4(cmd.Process.Pid, &status, options, nil)
			if err != syscall.EINTR {
				require.NoError(t, err)
				return
			}
		}
	}
	wait(syscall.WUNTRACED)
	require.True(t, status.Stopped(), "%v", status)
	for _, name := range []string{"b", "c"} {
		b.fill(name, 10)
		b.checkpoint()
	}
	b.fill("d", 4)
	trimmed, err := b.Trim(w.ctx, false)
	require.NoError(t, err)
	require.NoError(t, cmd.Process.Signal(syscall.SIGCONT))
	wait(0)
	// It commits late, or has noticed before that the journal no longer has what it would
	// apply next.
	require.True(t, status.Exited(), "%v", status)
	list, err := b.Checkpoints(w.ctx)
	require.NoError(t, err)
	if status.ExitStatus() == 0 {
		require.Len(t, list, 3)
		require.Less(t, list[2].Offset, trimmed.To)
	} else {
		require.Len(t, list, 2)
	}
	d := w.start("", w.each(c))
	require.Equal(t, list[1].ID, d.Began().From.ID)
	require.Equal(t, b.digest(), d.digest())
	w.judge()
}
