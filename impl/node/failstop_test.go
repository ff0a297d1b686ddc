package node

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/fs"
	"github.com/stretchr/testify/require"
)

// A node whose storage fails stops, says why, and leaves its clients in no doubt
// that it does not know.
func TestStorageFailureStopsTheNode(t *testing.T) {
	for _, kind := range []fs.Kind{fs.OpWrite, fs.OpSync} {
		t.Run(kind.String(), func(t *testing.T) {
			disk := fs.NewDouble()
			var armed atomic.Bool
			disk.Fail(func(op fs.Op) fs.Fault {
				if armed.Load() && op.Kind == kind && strings.HasSuffix(op.Path, ".log") {
					return fs.Error
				}
				return fs.None
			})
			c := newCluster(t, 1, false, func(cfg *Config) { cfg.FS, cfg.Dir = disk, "/d" })
			c.append("a")
			armed.Store(true)
			n := c.nodes[0]
			_, err := propose(context.Background(), n, []byte("b"))
			var failed *OpError
			require.ErrorAs(t, err, &failed)
			require.True(t, failed.Unknown)
			select {
			case <-n.Done():
			case <-time.After(10 * time.Second):
				t.Fatal("it goes on")
			}
			require.ErrorIs(t, n.Err(), fs.ErrInjected)
			c.nodes[0] = nil
			_, err = n.Read(context.Background())
			require.ErrorIs(t, err, ErrStopped)

			armed.Store(false)
			c.start(0) // what was acknowledged is there
			c.append("c")
			require.Equal(t, "a", string(c.nodes[0].Values(0)[0].Value))
			require.Equal(t, int32(2), c.nodes[0].State().Incarnation)
		})
	}
}

// A broken invariant of the core ends the replica, not its process, and says what
// led to it. Nothing of the step is carried out.
func TestBrokenInvariantStopsTheNode(t *testing.T) {
	c := newCluster(t, 1, true, nil)
	for name, broken := range map[string]struct {
		in   input
		says []string
	}{
		"assertion": {
			input{Input: core.Input{Kind: core.InputFlushed, Flush: 1 << 40}},
			[]string{"replica 1: core: a flush that was never asked for\nreplica 1 Leader epoch ", "\nlast inputs, from number ", " Flushed flush 1099511627776"},
		},
		"runtime error": {
			input{Input: core.Input{Kind: core.InputRequest}, accepted: &inConn{}}, // without a message
			[]string{"replica 1: core: runtime error: ", "impl/core.(*Replica).handleRequest"},
		},
	} {
		c.append(name)
		n := c.nodes[0]
		c.nodes[0] = nil
		n.give(broken.in)
		select {
		case <-n.Done():
		case <-time.After(10 * time.Second):
			t.Fatal("it goes on")
		}
		for _, text := range broken.says {
			require.ErrorContains(t, n.Err(), text)
		}
		_, err := propose(context.Background(), n, []byte("b"))
		require.ErrorIs(t, err, ErrStopped)
		require.Equal(t, n.Err(), n.Close())
		c.start(0) // what was acknowledged is there, and nobody holds the lock
		c.append("after it")
		require.Equal(t, name, string(c.nodes[0].Values(0)[len(c.nodes[0].Values(0))-2].Value))
	}
}
