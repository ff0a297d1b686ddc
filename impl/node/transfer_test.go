package node

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quorate/quorate/impl/snapshot"
	"github.com/quorate/quorate/traces/event"
	"github.com/stretchr/testify/require"
)

// cutter is a listener that hands connections on, and cuts each after some bytes of what
// comes back.
func cutter(t testing.TB, to string, after int64) (addr string, cuts *atomic.Int64) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	cuts = new(atomic.Int64)
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				in.Close()
				continue
			}
			go func() {
				io.Copy(out, in)
				out.Close()
			}()
			go func() {
				if n, _ := io.CopyN(in, out, after); n == after {
					cuts.Add(1)
				}
				in.Close()
				out.Close()
			}()
		}
	}()
	return l.Addr().String(), cuts
}

// A follower that has lost its disk, or is far behind, comes back by the leader's
// snapshot, whatever the size of the chunks and of the snapshot, and goes on with the log
// behind it. If its connections are cut all the time it goes on where it was.
func TestFetchSnapshot(t *testing.T) {
	for _, test := range []struct {
		name  string
		value int // bytes
		chunk int32
		cut   int64 // connections after so many bytes; 0: never
		wiped bool
	}{
		{"in one chunk", 100, 8 << 20, 0, true},
		{"in many chunks", 100, 97, 0, true},
		{"of many batches", 30_000, 70_001, 0, true},
		{"far behind", 1000, 1777, 0, false},
		{"over connections that are cut", 3000, 1777, 50_000, true},
	} {
		if testing.Short() && test.chunk != 97 && test.cut == 0 {
			continue
		}
		t.Run(test.name, func(t *testing.T) { fetchSnapshot(t, test.value, test.chunk, test.cut, test.wiped) })
	}
}

func fetchSnapshot(t *testing.T, value int, chunk int32, cut int64, wiped bool) {
	const lost = 2 // its place in the cluster
	var proxies []Voter
	of, adjust := journals(3, func(cfg *Config) {
		cfg.Core.MaxSnapshotBytes = chunk
		cfg.Core.ElectionTimeout, cfg.Core.FetchTimeout = 400, 800 // slow machines
		cfg.Snapshots = snapshot.Policy{MaxBytes: int64(8 * value)}
		cfg.Retention = snapshot.Retention{MaxBytes: 1, MaxMs: -1}
		if cfg.ID == lost+1 && proxies != nil {
			cfg.Voters = proxies
		}
	})
	c := newCluster(t, 3, true, adjust)
	for c.leader() == lost { // another leads
		c.kill(lost)
		c.start(lost)
	}
	var want []string
	add := func(n int) {
		for range n {
			want = append(want, fmt.Sprintf("%d %s", len(want), strings.Repeat("x", value)))
			c.append(want[len(want)-1])
		}
	}
	add(3)
	c.kill(lost)
	add(40)
	require.Eventually(t, func() bool { return c.nodes[c.leader()].State().LogStart > 10 }, 20*time.Second, time.Millisecond)
	if wiped {
		require.NoError(t, os.RemoveAll(filepath.Join(c.dir, fmt.Sprint(lost+1))))
	}
	var cuts []*atomic.Int64
	if cut > 0 {
		for i, v := range c.voters {
			addr, count := v.Addr, new(atomic.Int64)
			if i != lost {
				addr, count = cutter(t, v.Addr, cut)
			}
			proxies, cuts = append(proxies, Voter{ID: v.ID, Addr: addr}), append(cuts, count)
		}
	}
	c.start(lost)
	require.Eventually(t, func() bool { return slices.Equal(want, of[lost].texts()) }, 20*time.Second, time.Millisecond)
	require.NotEmpty(t, of[lost].loaded())
	require.Positive(t, c.nodes[lost].State().LogStart)
	add(2)
	require.Eventually(t, func() bool { return slices.Equal(want, of[lost].texts()) }, 20*time.Second, time.Millisecond)
	if cut > 0 {
		require.Positive(t, cuts[0].Load()+cuts[1].Load())
	}
	for i := range c.nodes {
		c.kill(i)
	}
	c.checkTraces()

	// How it went is in the trace: position by position to the end, and then the install.
	r, err := event.Open(filepath.Join(c.dir, fmt.Sprintf("%d.ndjson", lost+1)))
	require.NoError(t, err)
	defer r.Close()
	var received, size, again int64
	chunks, installed := 0, false
	for e, err := range r.All() {
		require.NoError(t, err)
		switch e.Action {
		case "SendFetchSnapshot":
			if e.Send[0].Position < received {
				again++ // of another leader, or of a later snapshot
			}
		case "HandleFetchSnapshotResponse":
			if m := e.Recv; m.Error == 0 && !installed {
				require.LessOrEqual(t, m.Bytes, int64(chunk))
				received, size = m.Position+m.Bytes, m.Size
				chunks++
			}
		case "InstallSnapshot":
			require.Equal(t, size, received)
			installed = true
		}
	}
	require.True(t, installed)
	require.LessOrEqual(t, again, int64(1), "the transfer goes on where it was")
	require.GreaterOrEqual(t, int64(chunks), (size+int64(chunk)-1)/int64(chunk))
}
