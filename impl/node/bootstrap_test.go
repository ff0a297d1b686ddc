package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/snapshot"
	"github.com/stretchr/testify/require"
)

// starter is a journal that takes a bootstrap.
type starter struct {
	journal
	mu        sync.Mutex
	bootstrap []string // guarded by mu
	times     int      // guarded by mu
	late      bool     // it was given after something else; guarded by mu
}

func (s *starter) LoadBootstrap(r SnapshotReader) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.times++
	s.late = s.late || len(s.texts()) > 0 || len(s.loaded()) > 0 || len(s.leads) > 0
	return r.Records(func(b []byte) error {
		s.bootstrap = append(s.bootstrap, string(b))
		return nil
	})
}

func (s *starter) loadedBootstrap() (records []string, times int, late bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.bootstrap), s.times, s.late
}

func writeZero(t *testing.T, dir string, records ...string) string {
	t.Helper()
	dir = filepath.Join(dir, logDir)
	require.NoError(t, os.MkdirAll(dir, 0o755))
	w, err := snapshot.Create(fs.OS{}, dir, snapshot.ID{}, time.Now().UnixMilli())
	require.NoError(t, err)
	for _, r := range records {
		require.NoError(t, w.Append([][]byte{[]byte(r)}))
	}
	require.NoError(t, w.Freeze())
	return filepath.Join(dir, snapshot.ID{}.FileName())
}

// The zero checkpoint is given to the machine as what it is, before all else and never as
// committed, until a snapshot of the log takes its place; and it is deleted by retention,
// not before the log starts after it.
func TestZeroCheckpoint(t *testing.T) {
	var of *starter
	policy, keep := snapshot.Policy{}, snapshot.Retention{MaxBytes: -1, MaxMs: -1}
	zero := ""
	c := newCluster(t, 1, false, func(cfg *Config) {
		if of = new(starter); zero == "" {
			zero = writeZero(t, cfg.Dir, "first", "second")
		}
		cfg.Machine, cfg.Snapshots, cfg.Retention = of, policy, keep
	})
	check := func(times int) {
		t.Helper()
		records, n, late := of.loadedBootstrap()
		require.Equal(t, times, n)
		require.False(t, late)
		if times > 0 {
			require.Equal(t, []string{"first", "second"}, records)
		}
	}
	c.append("a")
	check(1)
	require.Equal(t, []string{"a"}, of.texts())
	c.kill(0)
	policy.MaxBytes = 1
	c.start(0)
	c.append("b")
	check(1)
	require.Eventually(t, func() bool { return c.nodes[0].State().Snapshot != core.NoSnapshot }, 10*time.Second, time.Millisecond)
	c.kill(0)
	c.start(0) // there is a snapshot, and nothing is deleted
	c.append("c")
	check(0)
	require.Len(t, of.loaded(), 1)
	require.FileExists(t, zero)
	c.kill(0)
	keep.MaxBytes = 1
	c.start(0)
	c.append("d")
	require.Eventually(t, func() bool { _, err := os.Stat(zero); return errors.Is(err, os.ErrNotExist) }, 10*time.Second, time.Millisecond)
	check(0)
	require.Eventually(t, func() bool { return c.nodes[0].State().LogStart > 0 }, 10*time.Second, time.Millisecond)
	c.kill(0)

	// A crash between the log start and the deletion is made up for.
	zero = writeZero(t, c.config(0).Dir, "again")
	c.start(0)
	require.NoFileExists(t, zero)
	check(0)
	require.Equal(t, []string{"a", "b", "c", "d"}, func() []string { c.append("e"); return of.texts()[:4] }())
}

// One that is damaged stops the node: what it holds may be all that there is.
func TestZeroCheckpointDamaged(t *testing.T) {
	dir := t.TempDir()
	zero := writeZero(t, dir, "first")
	b, err := os.ReadFile(zero)
	require.NoError(t, err)
	b[len(b)-1] ^= 1
	require.NoError(t, os.Remove(zero))
	require.NoError(t, os.WriteFile(zero, b, 0o644))
	n, err := Start(Config{ID: 1, Dir: dir, Voters: []Voter{{ID: 1, Addr: "127.0.0.1:1"}}, Machine: new(starter)})
	require.NoError(t, err)
	<-n.Done()
	require.ErrorContains(t, n.Err(), zero)
}

// With the rules before KIP-1170 it is a snapshot like any other.
func TestZeroCheckpointBefore(t *testing.T) {
	of := new(starter)
	c := newCluster(t, 1, false, func(cfg *Config) {
		writeZero(t, cfg.Dir, "12345678first")
		cfg.Machine, cfg.LoadsZeroAsSnapshot = of, true
	})
	c.append("a")
	require.Equal(t, []string{"first", "a"}, of.texts())
	_, times, _ := of.loadedBootstrap()
	require.Zero(t, times)
}

// A node that does not know its cluster id follows one leader, and ends rather than follow
// another; once it knows, it follows any.
func TestOneLeaderWhileUnknown(t *testing.T) {
	c := newCluster(t, 3, true, nil)
	leader := c.leader()
	watch := func(id core.ReplicaID) *Node {
		cfg := c.config(0)
		cfg.ID, cfg.Dir, cfg.Trace, cfg.ClusterID, cfg.Discover = id, filepath.Join(c.dir, fmt.Sprint(id)), "", "", true
		n, err := Start(cfg)
		require.NoError(t, err)
		t.Cleanup(n.Kill)
		return n
	}
	observer := watch(9)
	require.Eventually(t, func() bool { return observer.Leader() == core.ReplicaID(leader+1) }, 10*time.Second, time.Millisecond)
	c.append("a")
	require.Eventually(t, func() bool { return len(observer.Values(0)) == 1 }, 10*time.Second, time.Millisecond)
	known := watch(8)
	require.Eventually(t, func() bool { return known.Leader() == core.ReplicaID(leader+1) }, 10*time.Second, time.Millisecond)
	known.LearnClusterID("test")
	require.Equal(t, "test", known.ClusterID())
	c.kill(leader)
	select {
	case <-observer.Done():
	case <-time.After(30 * time.Second):
		require.Fail(t, "it follows another leader")
	}
	require.ErrorIs(t, observer.Err(), ErrOtherLeader)
	c.append("b")
	require.Eventually(t, func() bool { return len(known.Values(0)) == 2 }, 30*time.Second, time.Millisecond)
	require.NoError(t, known.Err())
	_, err := known.Read(context.Background())
	require.ErrorIs(t, err, ErrNotLeader, fmt.Sprint(err))
}
