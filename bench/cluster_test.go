package bench

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/driver"
	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/log"
	"github.com/quorate/quorate/impl/quorumstate"
	"github.com/quorate/quorate/traces/event"
)

// voters of a cluster; replicas with a higher id are observers.
const voters = 3

// cluster is replicas in one goroutine: cores, drivers and logs without sockets.
// Time stands still while there is work, and jumps to the next timer when there is
// none. Disks are flushed when no message is under way, so one flush serves all that
// was written since the last.
type cluster struct {
	tb    testing.TB
	disk  fs.FS
	dir   string
	all   []*member // by id - 1
	now   core.Ticks
	queue []packet
	next  int      // in queue
	spare [][]byte // memory of records that have arrived

	steps, flushes, jumps int64
	// fetches counts responses with records that have arrived.
	fetches int64

	// Of a client.
	outstanding int
	ops         core.ClientID
	completed   int64
	last        core.Offset // acknowledged
}

// packet is a message on its way.
type packet struct {
	from, to    *member
	correlation int32
	message     core.Message
}

// member is one replica. It implements driver.Hooks.
type member struct {
	c       *cluster
	id      core.ReplicaID
	dir     string
	replica *core.Replica
	driver  *driver.Driver
	out     core.Effects
	batches []core.BatchInfo
	fetches int64

	// What a response does not say, of the request in flight to each replica.
	asked map[core.ReplicaID]core.Message

	flush    bool
	flushID  core.FlushID
	flushEnd core.Offset
}

var _ driver.Hooks = (*member)(nil)

// stores are where a cluster may keep its files.
var stores = []struct {
	name string
	open func(testing.TB) (fs.FS, string)
}{
	{"memory", func(testing.TB) (fs.FS, string) { return newMemory(), "/" }},
	{"disk", func(tb testing.TB) (fs.FS, string) { return fs.OS{}, tb.TempDir() }},
}

// newCluster starts the voters and elects a leader.
func newCluster(tb testing.TB, disk fs.FS, dir string) *cluster {
	c := &cluster{tb: tb, disk: disk, dir: dir, now: 1000}
	for range voters {
		c.open(fmt.Sprintf("replica-%d", len(c.all)+1))
	}
	for _, m := range c.all {
		m.start()
	}
	c.until(func() bool { return c.leader() != nil && c.leader().state().HighWatermark > 0 })
	tb.Cleanup(func() {
		for _, m := range c.all {
			require.NoError(tb, m.driver.Close())
		}
	})
	return c
}

// open adds a replica, with its files in a directory.
func (c *cluster) open(dir string) *member {
	id := core.ReplicaID(len(c.all) + 1)
	cfg := core.Config{ID: id, PreVote: true, Seed: uint64(id)}
	for v := range core.ReplicaID(voters) {
		cfg.Voters = append(cfg.Voters, core.ReplicaKey{ID: v + 1})
	}
	if id > voters {
		cfg.MaxFetchBytes = 1 // one batch
	}
	dir = filepath.Join(c.dir, dir)
	d, err := driver.Open(c.disk, dir, driver.Config{
		Core: cfg, Log: log.Config{}, QuorumState: quorumstate.Config{Version: 1}, Incarnation: 1,
	})
	require.NoError(c.tb, err)
	m := &member{c: c, id: id, dir: dir, driver: d, asked: map[core.ReplicaID]core.Message{}}
	m.replica, err = core.New(cfg, d.Disk(), c.now, &m.out)
	require.NoError(c.tb, err)
	c.all = append(c.all, m)
	return m
}

// start carries out what a replica does first.
func (m *member) start() *member {
	require.NoError(m.c.tb, m.driver.Apply(nil, driver.Link{}, m.out.Ops, m))
	return m
}

// discard takes away the replica that was started last, with its files and with what
// is under way to it.
func (c *cluster) discard() {
	m := c.all[len(c.all)-1]
	c.all = c.all[:len(c.all)-1]
	kept := c.queue[:0]
	for _, p := range c.queue[c.next:] {
		if p.to != m && p.from != m {
			kept = append(kept, p)
		}
	}
	clear(c.queue[len(kept):])
	c.queue, c.next = kept, 0
	for _, o := range c.all {
		o.step(&core.Input{Kind: core.InputDisconnected, Conn: core.ConnID(m.id)})
	}
	require.NoError(c.tb, m.driver.Close())
	names, err := c.disk.List(m.dir)
	require.NoError(c.tb, err)
	for _, name := range names {
		require.NoError(c.tb, c.disk.Remove(filepath.Join(m.dir, name)))
	}
}

// leader is the replica that leads, nil if none does.
func (c *cluster) leader() *member {
	for _, m := range c.all {
		if m.state().Role == core.Leader {
			return m
		}
	}
	return nil
}

func (m *member) state() core.State { return m.replica.State() }

func (c *cluster) until(done func() bool) {
	for range 1_000_000 {
		if done() {
			return
		}
		c.turn()
	}
	c.tb.Fatal("the cluster does not get there")
}

// turn does one thing: a message, else flushes, else the passing of time.
func (c *cluster) turn() {
	if c.next < len(c.queue) {
		p := c.queue[c.next]
		c.queue[c.next] = packet{}
		if c.next++; c.next == len(c.queue) {
			c.queue, c.next = c.queue[:0], 0
		}
		c.deliver(&p)
		return
	}
	flushed := false
	for _, m := range c.all {
		if m.flush {
			m.flush, flushed = false, true
			if err := m.driver.Flush(); err != nil {
				c.tb.Fatal(err)
			}
			c.flushes++
			m.step(&core.Input{Kind: core.InputFlushed, Flush: m.flushID, End: m.flushEnd})
		}
	}
	if !flushed {
		c.jump()
	}
}

func (c *cluster) jump() {
	c.jumps++
	wake := core.Never
	for _, m := range c.all {
		wake = min(wake, m.out.Wake)
	}
	if wake == core.Never {
		c.tb.Fatal("nothing will ever happen")
	}
	c.now = max(c.now, wake)
	for _, m := range c.all {
		if m.out.Wake <= c.now {
			m.step(&core.Input{Kind: core.InputTick})
		}
	}
}

func (c *cluster) deliver(p *packet) {
	m := &p.message
	if !m.Response {
		p.to.step(&core.Input{Kind: core.InputRequest, Conn: core.ConnID(p.from.id), Correlation: p.correlation, Message: m})
		return
	}
	// What a socket would have between: the receiver checks what it got.
	m.Batches = p.to.batches
	if err := driver.TakeBatches(m); err != nil {
		c.tb.Fatal(err)
	}
	p.to.batches = m.Batches
	if len(m.Batches) > 0 {
		c.fetches++
		p.to.fetches++
	}
	asked := p.to.asked[p.from.id]
	m.PreVote, m.Read = asked.PreVote, asked.Read
	p.to.step(&core.Input{Kind: core.InputResponse, Peer: p.from.id, Correlation: p.correlation, Message: m})
	if m.Records != nil {
		c.spare = append(c.spare, m.Records[:0])
	}
}

func (m *member) step(in *core.Input) {
	m.c.steps++
	m.replica.Step(m.c.now, in, &m.out)
	if err := m.driver.Apply(in, driver.Link{}, m.out.Ops, m); err != nil {
		m.c.tb.Fatal(err)
	}
}

func (c *cluster) send(from, to *member, correlation int32, m *core.Message) {
	p := packet{from, to, correlation, *m}
	p.message.Batches = nil
	p.message.Preferred = append([]core.ReplicaKey(nil), m.Preferred...)
	if len(m.Records) > 0 {
		var buf []byte
		if n := len(c.spare); n > 0 {
			buf, c.spare = c.spare[n-1], c.spare[:n-1]
		}
		p.message.Records = append(buf, m.Records...)
	}
	c.queue = append(c.queue, p)
}

// append is one more append of a client to the leader.
func (c *cluster) append(leader *member, records [][]byte) {
	c.ops++
	c.outstanding++
	leader.step(&core.Input{Kind: core.InputAppend, Client: c.ops, Records: records})
}

// Time implements driver.Hooks.
func (m *member) Time() int64 { return 1_700_000_000_000 + int64(m.c.now) }

// RequestLink implements driver.Hooks.
func (m *member) RequestLink(core.ReplicaID) driver.Link { return driver.Link{} }

// ResponseLink implements driver.Hooks.
func (m *member) ResponseLink(core.ConnID) driver.Link { return driver.Link{} }

// Record implements driver.Hooks.
func (m *member) Record(*event.Event) error { return nil }

// Flush implements driver.Hooks.
func (m *member) Flush(id core.FlushID, end core.Offset) error {
	m.flush, m.flushID, m.flushEnd = true, id, end
	return nil
}

// VerifySnapshot implements driver.Hooks. Nobody takes snapshots here.
func (m *member) VerifySnapshot(core.SnapshotID, int64) error {
	return errors.New("a snapshot was received")
}

// CheckVoter implements driver.Hooks.
func (m *member) CheckVoter(core.ClientID, core.Voter) error {
	return errors.New("a voter is to be added")
}

// SendRequest implements driver.Hooks.
func (m *member) SendRequest(peer core.ReplicaID, correlation int32, q *core.Message) error {
	m.asked[peer] = core.Message{PreVote: q.PreVote, Read: q.Read}
	m.c.send(m, m.c.all[peer-1], correlation, q)
	return nil
}

// SendResponse implements driver.Hooks.
func (m *member) SendResponse(conn core.ConnID, correlation int32, p *core.Message) error {
	m.c.send(m, m.c.all[conn-1], correlation, p)
	return nil
}

// Complete implements driver.Hooks.
func (m *member) Complete(client core.ClientID, result core.Result) error {
	c := m.c
	if result.Error != core.None || result.Unknown || result.Offset <= c.last && c.completed > 0 {
		return fmt.Errorf("append %d: %+v after offset %d", client, result, c.last)
	}
	c.outstanding--
	c.completed++
	c.last = result.Offset
	return nil
}
