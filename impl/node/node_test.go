package node

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/quorumstate"
	"github.com/quorate/quorate/impl/wire"
	"github.com/quorate/quorate/traces/event"
	"github.com/stretchr/testify/require"
)

// cluster is some nodes of one quorum in this process, over loopback.
type cluster struct {
	t      testing.TB
	voters []Voter
	nodes  []*Node // nil: not running
	dir    string
	trace  bool
	adjust func(*Config)
}

func newCluster(t testing.TB, size int, trace bool, adjust func(*Config)) *cluster {
	c := &cluster{t: t, dir: t.TempDir(), trace: trace, nodes: make([]*Node, size), adjust: adjust}
	listeners := make([]net.Listener, size)
	for i := range size {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		listeners[i] = l
		c.voters = append(c.voters, Voter{ID: core.ReplicaID(i + 1), Addr: l.Addr().String()})
	}
	for i := range size {
		c.startOn(i, listeners[i])
	}
	t.Cleanup(func() {
		for i, n := range c.nodes {
			if n != nil {
				n.Kill()
				require.NoError(t, n.Err(), "node %d", i+1)
			}
		}
	})
	return c
}

func (c *cluster) config(i int) Config {
	cfg := Config{
		ID: c.voters[i].ID, Dir: filepath.Join(c.dir, fmt.Sprint(i+1)), Voters: c.voters, ClusterID: "test",
		Core: core.Config{ElectionTimeout: 150, FetchTimeout: 300, ElectionBackoffMax: 100, RequestTimeout: 1000},
	}
	if c.trace {
		cfg.Trace = filepath.Join(c.dir, fmt.Sprintf("%d.ndjson", i+1))
	}
	if c.adjust != nil {
		c.adjust(&cfg)
	}
	return cfg
}

func (c *cluster) startOn(i int, l net.Listener) {
	cfg := c.config(i)
	cfg.Listener = l
	n, err := Start(cfg)
	require.NoError(c.t, err)
	c.nodes[i] = n
}

func (c *cluster) start(i int) {
	l, err := net.Listen("tcp", c.voters[i].Addr)
	require.NoError(c.t, err)
	c.startOn(i, l)
}

func (c *cluster) kill(i int) {
	c.nodes[i].Kill()
	require.NoError(c.t, c.nodes[i].Err())
	c.nodes[i] = nil
}

// leader waits for a node that leads and has committed a record of its epoch.
func (c *cluster) leader() int {
	c.t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		best, epoch := -1, core.Epoch(-1)
		for i, n := range c.nodes {
			if n == nil {
				continue
			}
			if s := n.State(); s.Role == core.Leader && s.HighWatermark >= 0 && s.Epoch > epoch {
				best, epoch = i, s.Epoch
			}
		}
		if best >= 0 {
			return best
		}
	}
	c.t.Fatal("no leader")
	return -1
}

// propose appends one value.
func propose(ctx context.Context, n *Node, value []byte) (int64, error) {
	offset, _, err := n.Propose(ctx, [][]byte{value})
	return offset, err
}

// append appends a value somewhere, again and again until it is known to be committed.
func (c *cluster) append(value string) {
	c.t.Helper()
	for range 100 {
		n := c.nodes[c.leader()]
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		_, err := propose(ctx, n, []byte(value))
		cancel()
		if err == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	c.t.Fatalf("%s was not appended", value)
}

func (c *cluster) converge() {
	c.t.Helper()
	require.Eventually(c.t, func() bool {
		var first *State
		for _, n := range c.nodes {
			if n == nil {
				continue
			}
			s := n.State()
			if first == nil {
				first = &s
			}
			if s.Applied != first.Applied || s.LogEnd != first.LogEnd || core.Offset(s.Applied) != s.LogEnd {
				return false
			}
		}
		return true
	}, 20*time.Second, 2*time.Millisecond)
}

func TestThreeNodes(t *testing.T) {
	c := newCluster(t, 3, true, nil)
	leader := c.leader()
	for i := range 20 {
		c.append(fmt.Sprintf("a%d", i))
	}
	// A follower sends clients away, and tells them where to.
	follower := c.nodes[(leader+1)%3]
	_, err := propose(context.Background(), follower, []byte("x"))
	var failed *OpError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, core.NotLeaderOrFollower, failed.Code)
	require.False(t, failed.Unknown)

	n := c.nodes[c.leader()]
	end, err := n.Read(context.Background())
	require.NoError(t, err)
	require.Equal(t, "a19", string(n.values.below(end).Value))

	leader = c.leader()
	c.kill(leader) // no grace
	for i := range 20 {
		c.append(fmt.Sprintf("b%d", i))
	}
	c.start(leader)
	c.append("c")
	c.converge()
	require.Equal(t, int32(2), c.nodes[leader].State().Incarnation)

	var want []Value
	for i, n := range c.nodes {
		values := n.Values(0)
		if i == 0 {
			want = values
		}
		require.Equal(t, want, values)
	}
	require.GreaterOrEqual(t, len(want), 41)

	for i, n := range c.nodes {
		require.NoError(t, n.Close())
		c.nodes[i] = nil
	}
	c.checkTraces()
}

// checkTraces reads the traces: well-formed, and whatever a node received of another
// was sent by it, with the same content and on the same connection.
func (c *cluster) checkTraces() {
	type identity struct {
		conn        event.Conn
		correlation int32
		response    bool
	}
	sent := map[identity]event.Message{}
	var received []event.Message
	for i := range c.voters {
		r, err := event.Open(filepath.Join(c.dir, fmt.Sprintf("%d.ndjson", i+1)))
		require.NoError(c.t, err)
		for e, err := range r.All() {
			require.NoError(c.t, err)
			for _, m := range e.Send {
				id := identity{m.Conn, m.Correlation, m.Response}
				require.NotContains(c.t, sent, id)
				sent[id] = m
			}
			if e.Recv != nil && !e.Recv.External {
				received = append(received, *e.Recv)
			}
		}
		require.NoError(c.t, r.Close())
	}
	require.NotEmpty(c.t, received)
	for _, m := range received {
		m.Read = 0 // not on the wire: each end has its own idea of it
		s, ok := sent[identity{m.Conn, m.Correlation, m.Response}]
		require.True(c.t, ok, "received but not sent: %+v", m)
		s.Read = 0
		require.Equal(c.t, s, m)
	}
}

func TestGracefulClose(t *testing.T) {
	// Without the fix of KAFKA-20895 a follower may refuse the pre-vote of the one that
	// is to follow, and both then wait for their fetch timeout.
	c := newCluster(t, 3, false, func(cfg *Config) { cfg.Core.FetchTimeout, cfg.Core.GrantPreVoteAfterEnd = 5000, true })
	c.append("a")
	c.converge()
	leader := c.leader()
	began := time.Now()
	require.NoError(t, c.nodes[leader].Close())
	c.nodes[leader] = nil
	c.append("b")
	// The others were told: they did not have to wait for their fetch timeout.
	require.Less(t, time.Since(began), 4*time.Second)
}

func TestSingleVoter(t *testing.T) {
	c := newCluster(t, 1, true, nil)
	c.append("a")
	c.kill(0)
	c.start(0)
	c.append("b")
	values := c.nodes[0].Values(0)
	require.Len(t, values, 2)
	require.Equal(t, "b", string(values[1].Value))
	require.NoError(t, c.nodes[0].Close())
	_, err := propose(context.Background(), c.nodes[0], []byte("c"))
	require.ErrorIs(t, err, ErrStopped)
	c.nodes[0] = nil
}

// requestLog notes the requests that come in, as they are on the wire.
type requestLog struct {
	mu  sync.Mutex
	all []noted // guarded by mu
}

type noted struct {
	from, to core.ReplicaID
	wire.Request
}

type notingListener struct {
	net.Listener
	to  core.ReplicaID
	log *requestLog
}

type notingConn struct {
	net.Conn
	l   *notingListener
	buf []byte
}

func (l *notingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &notingConn{Conn: c, l: l}, nil
}

func (c *notingConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.buf = append(c.buf, b[:n]...)
	codec := wire.Codec{PreVote: true} // it is to read what should not be there
	for len(c.buf) >= 4 && len(c.buf) >= 4+int(binary.BigEndian.Uint32(c.buf)) {
		size := 4 + int(binary.BigEndian.Uint32(c.buf))
		q := noted{to: c.l.to}
		if err := codec.ReadRequest(c.buf[4:size], &q.Request); err != nil {
			return n, err
		}
		q.from = q.Message.From.ID
		c.buf = c.buf[size:]
		c.l.log.mu.Lock()
		c.l.log.all = append(c.l.log.all, q)
		c.l.log.mu.Unlock()
	}
	return n, err
}

// Before Kafka 4.0: Vote version 1, and one voter that knows Fetch version 17 only.
func TestBeforePreVote(t *testing.T) {
	var requests requestLog
	const old = 3
	c := newCluster(t, 3, true, func(cfg *Config) {
		cfg.DisablePreVote, cfg.MaxFetch = true, 18
		if cfg.ID == old {
			cfg.MaxFetch = 17
		}
	})
	// The nodes that newCluster has started have ordinary listeners.
	for i := range c.nodes {
		c.kill(i)
	}
	start := func(i int) {
		l, err := net.Listen("tcp", c.voters[i].Addr)
		require.NoError(t, err)
		c.startOn(i, &notingListener{Listener: l, to: c.voters[i].ID, log: &requests})
	}
	for i := range c.voters {
		start(i)
	}
	c.append("a")
	require.Eventually(t, func() bool { return c.nodes[old-1].State().LogEnd >= 2 }, 20*time.Second, 2*time.Millisecond)
	leader := c.leader()
	c.kill(leader)
	c.append("b")
	start(leader)
	c.kill(old - 1)
	c.append("c") // by two that know Fetch version 18
	c.kill(0)
	c.kill(1)

	requests.mu.Lock()
	defer requests.mu.Unlock()
	seen := map[wire.Header]bool{} // API and version
	for _, q := range requests.all {
		if q.API == wire.ApiVersions {
			continue
		}
		want := map[wire.API]int16{wire.Vote: 1, wire.BeginQuorumEpoch: 1, wire.EndQuorumEpoch: 1, wire.Fetch: 18}[q.API]
		if q.API == wire.Fetch && (q.from == old || q.to == old) {
			want = 17
		}
		require.Equal(t, want, q.Version, "API %d from %d to %d", q.API, q.from, q.to)
		require.False(t, q.Message.PreVote)
		seen[wire.Header{API: q.API, Version: q.Version}] = true
	}
	for _, h := range []wire.Header{{API: wire.Vote, Version: 1}, {API: wire.Fetch, Version: 17}, {API: wire.Fetch, Version: 18}} {
		require.True(t, seen[h], "API %d version %d", h.API, h.Version)
	}
	for i := range c.voters {
		for _, e := range readTrace(t, c.config(i).Trace) {
			require.NotEqual(t, "BecomeProspective", e.Action)
		}
	}
}

func TestConcurrentClients(t *testing.T) {
	c := newCluster(t, 3, true, nil)
	c.leader()
	var wg sync.WaitGroup
	var mu sync.Mutex
	acknowledged := map[string]int64{}
	for w := range 8 {
		wg.Go(func() {
			for i := range 25 {
				n := c.nodes[c.leader()]
				value := fmt.Sprintf("%d-%d", w, i)
				if offset, err := propose(context.Background(), n, []byte(value)); err == nil {
					mu.Lock()
					acknowledged[value] = offset
					mu.Unlock()
				}
				n.Read(context.Background())
			}
		})
	}
	wg.Wait()
	require.NotEmpty(t, acknowledged)
	at := map[int64]string{}
	for _, v := range c.nodes[c.leader()].Values(0) {
		at[v.Offset] = string(v.Value)
	}
	for value, offset := range acknowledged {
		require.Equal(t, value, at[offset])
	}
}

func TestDirectoryIsLocked(t *testing.T) {
	c := newCluster(t, 1, false, nil)
	cfg := c.config(0)
	_, err := Start(cfg)
	require.ErrorContains(t, err, "another process uses it")
}

func TestConfigErrors(t *testing.T) {
	good := Config{ID: 1, Dir: t.TempDir(), Voters: []Voter{{ID: 1, Addr: "127.0.0.1:1"}}}
	for name, break_ := range map[string]func(*Config){
		"negative id": func(c *Config) { c.ID = -1 },
		"no dir":      func(c *Config) { c.Dir = "" },
		"no voters":   func(c *Config) { c.Voters = nil },
		"no port":     func(c *Config) { c.Voters[0].Addr = "127.0.0.1" },
		"port 0":      func(c *Config) { c.Voters[0].Addr = "127.0.0.1:0" },
		"bad fetch":   func(c *Config) { c.MaxFetch = 12 },
		"bad listen":  func(c *Config) { c.Listen = "127.0.0.1:99999" },
		"twice":       func(c *Config) { c.Voters = append(c.Voters, c.Voters[0]) },
	} {
		cfg := good
		cfg.Voters = append([]Voter{}, good.Voters...)
		break_(&cfg)
		_, err := Start(cfg)
		require.Error(t, err, name)
	}
	require.NoError(t, os.WriteFile(filepath.Join(good.Dir, incarnationFile), []byte("x"), 0o644))
	_, err := Start(good)
	require.ErrorContains(t, err, "not an incarnation")
	require.False(t, errors.Is(err, ErrStopped))
}

// Without its quorum-state a replica could vote a second time in an epoch.
func TestQuorumStateIsMissing(t *testing.T) {
	c := newCluster(t, 1, false, nil)
	c.append("a")
	c.kill(0)
	cfg := c.config(0)
	require.NoError(t, os.Remove(filepath.Join(cfg.Dir, logDir, quorumstate.FileName)))
	for range 2 { // and no start makes it good
		_, err := Start(cfg)
		require.ErrorContains(t, err, cfg.Dir)
		require.ErrorContains(t, err, "no quorum-state beside a log that ends at 2: the vote and the epoch are lost")
	}
}
