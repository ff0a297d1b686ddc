package core

import (
	"container/heap"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A small deterministic driver: replicas, a network with delay and loss, disks that
// lose what was not flushed. It checks, at every step, what a driver can check.

type testRecord struct {
	epoch   Epoch
	control bool
	value   string
	voters  []Voter // of a KRaftVoters record
}

type testBatch struct {
	BatchInfo
	records []testRecord
	raw     []byte // each value with its length before it
}

type testNode struct {
	id      ReplicaID
	cfg     Config
	r       *Replica
	out     Effects
	up      bool
	inc     int
	log     []testBatch
	durable []testBatch
	file    Election
	hasFile bool
	flushes []flushing
	snaps   testSnapshots
	zero    []Voter // the voters of its zero checkpoint
	dump    *strings.Builder
	inputs  []stepInput
}

type flushing struct {
	id  FlushID
	end Offset
	log []testBatch
}

type stepInput struct {
	now Ticks
	in  Input
}

type delivery struct {
	at  Ticks
	seq int
	to  ReplicaID
	inc int // of the receiver: a restart closes its connections
	run func(*testNode)
}

type deliveries []*delivery

func (d deliveries) Len() int { return len(d) }
func (d deliveries) Less(i, j int) bool {
	return d[i].at < d[j].at || d[i].at == d[j].at && d[i].seq < d[j].seq
}
func (d deliveries) Swap(i, j int) { d[i], d[j] = d[j], d[i] }
func (d *deliveries) Push(x any)   { *d = append(*d, x.(*delivery)) }
func (d *deliveries) Pop() any {
	old := *d
	x := old[len(old)-1]
	*d = old[:len(old)-1]
	return x
}

type asked struct {
	from        ReplicaID
	inc         int
	to          ReplicaID
	correlation int32
	offset      Offset
}

type cluster struct {
	t         *testing.T
	rng       *rand.Rand
	now       Ticks
	seq       int
	nodes     []*testNode
	queue     deliveries
	conns     map[ConnID]asked
	nextConn  ConnID
	loss      float64
	jitter    int
	flushTime Ticks
	cut       map[[2]ReplicaID]bool
	leaders   map[Epoch]ReplicaID
	committed []testRecord // longest prefix that any replica called committed
	appends   map[ClientID]string
	results   map[ClientID]Result
	readFloor map[ClientID]Offset // committed end when the read began
	acked     Offset
	changes   map[ClientID]bool // operations that change the voter set
	client    ClientID
	steps     int
	actions   map[string]int
	snapEvery Offset // a snapshot after so many committed records; 0: never
}

func newCluster(t *testing.T, voters, observers int, seed uint64, change func(*Config)) *cluster {
	c := emptyCluster(t, seed)
	var set []ReplicaKey
	for i := range voters {
		set = append(set, ReplicaKey{ID: ReplicaID(i)})
	}
	for i := range voters + observers {
		cfg := Config{ID: ReplicaID(i), Voters: set, PreVote: true, Trace: true}
		if change != nil {
			change(&cfg)
		}
		c.nodes = append(c.nodes, &testNode{id: cfg.ID, cfg: cfg})
	}
	for _, n := range c.nodes {
		c.start(n)
	}
	return c
}

func emptyCluster(t *testing.T, seed uint64) *cluster {
	return &cluster{
		t: t, rng: rand.New(rand.NewPCG(seed, 1)), conns: map[ConnID]asked{}, jitter: 3, flushTime: 2,
		cut: map[[2]ReplicaID]bool{}, leaders: map[Epoch]ReplicaID{}, appends: map[ClientID]string{},
		results: map[ClientID]Result{}, readFloor: map[ClientID]Offset{}, actions: map[string]int{}, changes: map[ClientID]bool{},
	}
}

func (c *cluster) start(n *testNode) {
	n.up, n.inc = true, n.inc+1
	n.flushes = nil
	n.snaps.restart(n)
	n.log = append([]testBatch(nil), n.durable...)
	n.cfg.Seed = c.rng.Uint64()
	disk := DiskState{Election: n.file, HasElection: n.hasFile, LogStart: n.start(), LogEnd: n.start(), Snapshots: n.snaps.held()}
	disk.VoterSets = n.voterSets()
	for _, b := range n.log {
		if len(disk.Epochs) == 0 || disk.Epochs[len(disk.Epochs)-1].Epoch < b.Epoch {
			disk.Epochs = append(disk.Epochs, EpochStart{Epoch: b.Epoch, Start: b.Base})
		}
		disk.LogEnd = b.End
	}
	r, err := New(n.cfg, disk, c.now, &n.out)
	require.NoError(c.t, err)
	n.r = r
	c.carryOut(n)
}

func (c *cluster) crash(n *testNode) { n.up = false }

// step gives a replica one input and carries out what it asks for.
func (c *cluster) step(n *testNode, in Input) {
	if n.dump != nil {
		n.inputs = append(n.inputs, stepInput{c.now, cloneInput(in)})
	}
	n.r.Step(c.now, &in, &n.out)
	if n.dump != nil {
		dumpEffects(n.dump, &n.out)
	}
	c.carryOut(n)
}

func (c *cluster) after(d Ticks, n *testNode, run func(*testNode)) {
	c.seq++
	heap.Push(&c.queue, &delivery{at: c.now + d, seq: c.seq, to: n.id, inc: n.inc, run: run})
}

func (c *cluster) delay() Ticks { return Ticks(1 + c.rng.IntN(c.jitter)) }

func (c *cluster) lost(a, b ReplicaID) bool {
	return c.cut[[2]ReplicaID{a, b}] || c.cut[[2]ReplicaID{b, a}] || c.rng.Float64() < c.loss
}

// start is where the log starts: records before are in a snapshot.
func (n *testNode) start() Offset { return Offset(len(n.snaps.base)) }

func (n *testNode) end() Offset {
	if len(n.log) == 0 {
		return n.start()
	}
	return n.log[len(n.log)-1].End
}

func (n *testNode) append(c *cluster, base Offset, epoch Epoch, control bool, values []string) {
	var records []testRecord
	for _, v := range values {
		records = append(records, testRecord{epoch: epoch, control: control, value: v})
	}
	n.appendRecords(c, base, epoch, control, records)
}

func (n *testNode) appendRecords(c *cluster, base Offset, epoch Epoch, control bool, records []testRecord) {
	require.Equal(c.t, n.end(), base, "append not at the log end")
	require.LessOrEqual(c.t, epoch, n.file.Epoch, "record of an epoch that is not durable")
	b := testBatch{BatchInfo: BatchInfo{Base: base, End: base + Offset(len(records)), Epoch: epoch,
		Control: control, Count: int64(len(records))}, records: records}
	for _, r := range records {
		b.raw = append(append(b.raw, byte(len(r.value))), r.value...)
		b.Controls = append(b.Controls, r.summary())
	}
	if !control || len(records) == 1 && records[0].voters == nil {
		b.Controls = nil
	}
	b.Size = len(b.raw)
	n.log = append(n.log, b)
}

func (c *cluster) carryOut(n *testNode) {
	c.steps++
	for i := range n.out.Ops {
		o := &n.out.Ops[i]
		switch o.Kind {
		case OpPersist:
			require.GreaterOrEqual(c.t, o.Election.Epoch, n.file.Epoch)
			if n.hasFile && n.file.Epoch == o.Election.Epoch && n.file.Voted.ID != NoReplica && o.Election.Voted.ID != NoReplica {
				require.Equal(c.t, n.file.Voted, o.Election.Voted, "two votes in one epoch")
			}
			n.file, n.hasFile = o.Election, true
		case OpAppendLeaderChange:
			records := []testRecord{{epoch: o.Epoch, control: true, value: fmt.Sprint("leader ", n.id, o.Voters, o.Granting)}}
			if o.VoterSet != nil {
				records = append(records, testRecord{epoch: o.Epoch, control: true, value: "version"}, votersRecord(o.Epoch, o.VoterSet))
			}
			n.appendRecords(c, o.Base, o.Epoch, true, records)
		case OpAppendVoters:
			n.appendRecords(c, o.Base, o.Epoch, true, []testRecord{votersRecord(o.Epoch, o.VoterSet)})
		case OpCheckVoter:
			in := Input{Kind: InputVoterChecked, Client: o.Client}
			if !c.nodes[o.Voter.Key.ID].up {
				in.Error = RequestTimedOut
			}
			c.after(c.delay(), n, func(n *testNode) { c.step(n, in) })
		case OpAppendData:
			var values []string
			for _, v := range o.Records {
				values = append(values, string(v))
			}
			n.append(c, o.Base, o.Epoch, false, values)
		case OpAppendRaw:
			raw := o.Raw
			for _, b := range o.Batches {
				var records []testRecord
				for rest := raw[:b.Size]; len(rest) > 0; rest = rest[1+rest[0]:] {
					r := testRecord{epoch: b.Epoch, control: b.Control, value: string(rest[1 : 1+rest[0]])}
					if b.Controls != nil {
						r.voters = b.Controls[len(records)].Voters
					}
					records = append(records, r)
				}
				require.Len(c.t, records, int(b.Count))
				n.appendRecords(c, b.Base, b.Epoch, b.Control, records)
				raw = raw[b.Size:]
			}
			require.Empty(c.t, raw)
			require.Equal(c.t, o.End, n.end())
		case OpTruncate:
			for len(n.log) > 0 && n.log[len(n.log)-1].Base >= o.End {
				n.log = n.log[:len(n.log)-1]
			}
			require.Equal(c.t, o.End, n.end(), "truncation inside a batch")
		case OpFlush:
			f := flushing{o.Flush, o.End, append([]testBatch(nil), n.log...)}
			require.Equal(c.t, o.End, n.end())
			n.flushes = append(n.flushes, f)
			c.after(Ticks(c.rng.IntN(int(c.flushTime)+1)), n, func(n *testNode) {
				if len(n.flushes) == 0 {
					return
				}
				done := n.flushes[len(n.flushes)-1] // group commit: all of them
				n.flushes = n.flushes[:0]
				n.durable = from(done.log, n.start())
				c.step(n, Input{Kind: InputFlushed, Flush: done.id, End: done.end})
			})
		case OpEvent:
			c.actions[o.Event.Action]++
			for _, m := range o.Event.Send {
				want := messageEvent(&n.out.Ops[i+1].Message, n.out.Ops[i+1].Correlation)
				want.Bytes = m.Bytes // read when it is sent
				require.Equal(c.t, m, want)
			}
			require.Equal(c.t, int32(n.file.Epoch), o.Event.State.Epoch, "an event before its epoch is durable")
			require.Equal(c.t, int32(n.file.Voted.ID), o.Event.State.Voted)
			require.Equal(c.t, int32(n.file.Leader), o.Event.State.Leader)
			require.Equal(c.t, int64(n.end()), o.Event.State.LogEnd)
		case OpSendRequest:
			require.Equal(c.t, n.file.Epoch, o.Message.Epoch, "a request before its epoch is durable")
			if o.Message.Kind == Fetch {
				require.Equal(c.t, len(n.log), len(n.durable), "a fetch claims what is not durable")
				require.Equal(c.t, fmt.Sprint(n.log), fmt.Sprint(n.durable), "a fetch claims what is not durable")
			}
			c.sendRequest(n, o)
		case OpSendResponse:
			require.Equal(c.t, n.file.Epoch, o.Message.Epoch, "a response before its epoch is durable")
			if o.Message.Granted && !o.Message.PreVote {
				require.NotEqual(c.t, NoReplica, n.file.Voted.ID, "a vote that is not durable")
			}
			c.sendResponse(n, o)
		case OpComplete:
			c.complete(n, o)
		default:
			c.carryOutSnapshot(n, o)
		}
	}
	c.check(n)
	if n.up && n.out.Wake != Never {
		wake, inc := n.out.Wake, n.inc
		c.seq++
		heap.Push(&c.queue, &delivery{at: wake, seq: c.seq, to: n.id, inc: inc, run: func(n *testNode) {
			if n.out.Wake == wake { // the latest wish counts
				c.step(n, Input{Kind: InputTick})
			}
		}})
	}
}

func (c *cluster) sendRequest(n *testNode, o *Op) {
	m, peer, corr := o.Message, o.Peer, o.Correlation
	m.Preferred = append([]ReplicaKey(nil), m.Preferred...)
	m.Read = 0 // not on the wire
	target := c.nodes[peer]
	fail := func() {
		c.after(c.delay(), n, func(n *testNode) {
			c.step(n, Input{Kind: InputRequestFailed, Peer: peer, Correlation: corr, Error: BrokerNotAvailable})
		})
	}
	if !target.up {
		fail()
		return
	}
	if c.lost(n.id, peer) {
		return // silence: the request times out
	}
	c.nextConn++
	conn := c.nextConn
	c.conns[conn] = asked{from: n.id, inc: n.inc, to: peer, correlation: corr, offset: m.Offset}
	c.after(c.delay(), target, func(target *testNode) {
		c.step(target, Input{Kind: InputRequest, Conn: conn, Correlation: corr, Message: &m})
	})
}

func (c *cluster) sendResponse(n *testNode, o *Op) {
	a, ok := c.conns[o.Conn]
	require.True(c.t, ok, "a response to nobody")
	delete(c.conns, o.Conn)
	require.Equal(c.t, a.correlation, o.Correlation)
	m := o.Message
	if o.ReadTo > m.Offset {
		require.Equal(c.t, a.offset, m.Offset, "records that were not asked for")
		c.read(n, o, &m)
	}
	if m.Kind == FetchSnapshot && o.MaxBytes > 0 {
		m.Chunk = n.snaps.read(m.SnapshotID)[m.Position : m.Position+int64(o.MaxBytes)]
	}
	from := c.nodes[a.from]
	if from.inc != a.inc || !from.up || c.lost(n.id, a.from) {
		return
	}
	peer, corr := n.id, o.Correlation
	c.after(c.delay(), from, func(from *testNode) {
		c.step(from, Input{Kind: InputResponse, Peer: peer, Correlation: corr, Message: &m})
	})
}

// read fills in a random non-empty prefix of whole batches.
func (c *cluster) read(n *testNode, o *Op, m *Message) {
	require.Equal(c.t, None, m.Error)
	limit := 1 + c.rng.IntN(4)
	for _, b := range n.log {
		if b.Base < m.Offset || b.End > o.ReadTo || len(m.Batches) == limit {
			continue
		}
		m.Batches = append(m.Batches, b.BatchInfo)
		m.Records = append(m.Records, b.raw...)
	}
	require.NotEmpty(c.t, m.Batches, "no records to read")
	require.Equal(c.t, m.Offset, m.Batches[0].Base)
}

func (n *testNode) records(end Offset) []testRecord {
	all := append([]testRecord(nil), n.snaps.base...)
	for _, b := range n.log {
		all = append(all, b.records...)
	}
	return all[:end]
}

// check holds one replica against what every replica has said before.
func (c *cluster) check(n *testNode) {
	s := n.r.State()
	require.Equal(c.t, n.end(), s.LogEnd)
	c.checkSnapshots(n, s)
	c.checkVoters(n)
	if s.Role == Leader {
		if other, ok := c.leaders[s.Epoch]; ok {
			require.Equal(c.t, other, n.id, "two leaders in epoch %d", s.Epoch)
		}
		c.leaders[s.Epoch] = n.id
	}
	if s.HighWatermark > 0 {
		require.LessOrEqual(c.t, s.HighWatermark, s.LogEnd)
		own := n.records(s.HighWatermark)
		common := min(len(own), len(c.committed))
		if common > 0 {
			require.Equal(c.t, c.committed[:common], own[:common], "committed records differ")
		}
		if len(own) > len(c.committed) {
			c.committed = own
		}
	}
}

func (c *cluster) complete(n *testNode, o *Op) {
	_, twice := c.results[o.Client]
	require.False(c.t, twice, "completed twice")
	c.results[o.Client] = o.Result
	if o.Result.Error != None {
		return
	}
	if c.changes[o.Client] {
		require.Greater(c.t, n.r.State().HighWatermark, o.Result.Offset, "a change of the voter set that is not committed")
		return
	}
	if v, ok := c.appends[o.Client]; ok {
		hw := n.r.State().HighWatermark
		require.Greater(c.t, hw, o.Result.Offset)
		require.Equal(c.t, v, n.records(hw)[o.Result.Offset].value)
		c.acked = max(c.acked, o.Result.Offset+1)
	} else {
		require.GreaterOrEqual(c.t, o.Result.Offset, c.readFloor[o.Client], "a read misses an acknowledged append")
	}
}

func (c *cluster) append(n *testNode, value string) ClientID {
	c.client++
	c.appends[c.client] = value
	id := c.client
	c.step(n, Input{Kind: InputAppend, Client: id, Records: [][]byte{[]byte(value)}})
	return id
}

func (c *cluster) readAt(n *testNode) ClientID {
	c.client++
	c.readFloor[c.client] = c.acked
	id := c.client
	c.step(n, Input{Kind: InputRead, Client: id})
	return id
}

// run lets d pass, or less if done says so.
func (c *cluster) run(d Ticks, done func() bool) bool {
	until := c.now + d
	for len(c.queue) > 0 && c.queue[0].at <= until {
		if done != nil && done() {
			return true
		}
		next := heap.Pop(&c.queue).(*delivery)
		c.now = next.at
		if n := c.nodes[next.to]; n.up && next.inc == n.inc {
			next.run(n)
		}
	}
	if done != nil && done() {
		return true
	}
	c.now = until
	return false
}

func (c *cluster) leader() *testNode {
	var best *testNode
	for _, n := range c.nodes {
		if n.up && n.r.State().Role == Leader && (best == nil || n.r.State().Epoch > best.r.State().Epoch) {
			best = n
		}
	}
	return best
}

func (c *cluster) waitLeader() *testNode {
	require.True(c.t, c.run(60_000, func() bool {
		l := c.leader()
		return l != nil && l.r.State().HighWatermark > 0
	}), "no leader")
	return c.leader()
}

// settle waits until all running replicas agree on everything.
func (c *cluster) settle() {
	require.True(c.t, c.run(120_000, func() bool {
		l := c.leader()
		if l == nil || l.r.State().HighWatermark != l.r.State().LogEnd {
			return false
		}
		for _, n := range c.nodes {
			s := n.r.State()
			if n.up && (s.Epoch != l.r.State().Epoch || s.LogEnd != l.r.State().LogEnd ||
				s.HighWatermark != s.LogEnd || s.Leader != l.id) {
				return false
			}
		}
		return true
	}), "the cluster does not settle")
	l := c.leader()
	for _, n := range c.nodes {
		if n.up {
			require.Equal(c.t, l.records(l.end()), n.records(n.end()))
		}
	}
}

func (c *cluster) isolate(n *testNode, cut bool) {
	for _, m := range c.nodes {
		c.cut[[2]ReplicaID{n.id, m.id}] = cut
	}
}

func cloneInput(in Input) Input {
	if in.Message != nil {
		m := *in.Message
		in.Message = &m
	}
	return in
}

func dumpEffects(b *strings.Builder, out *Effects) {
	all, err := json.Marshal(out)
	if err != nil {
		panic(err)
	}
	b.Write(all)
	b.WriteByte('\n')
}
