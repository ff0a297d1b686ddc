package modelbased_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/spec"
	"github.com/quorate/quorate/traces/event"
	"github.com/quorate/quorate/traces/modelbased"
)

// Timeouts of the cores, in ticks: so long that a timer fires only where a step of the
// graph makes it fire, and that only one does.
const (
	longTimeout = 1_000_000
	never       = 1_000_000_000_000
)

// partBytes is how many bytes of a snapshot a part of the specification is.
const partBytes = 1

// replica is a core, or what a test puts in its place.
type replica interface {
	Step(now core.Ticks, in *core.Input, out *core.Effects)
	State() core.State
}

// cluster has cores that are where a graph is.
type cluster struct {
	g       *modelbased.Graph
	ctx     spec.Ctx
	out     spec.Outbox
	at      int32
	members []*member
	network []*wire
	conn    core.ConnID
	// wrap, if not nil, is put around cores.
	wrap func(replica) replica

	// over: the code has gone where the model does not go.
	over  bool
	path  []int32 // edges taken
	asked []int32 // those of them with which a step of a core began
	steps int64   // of cores
	hit   func(edge int32)
}

// member is a replica: of the specification, where it has come to within a step, and of
// the implementation, with its clock and its disk.
type member struct {
	id        spec.ID
	spec      spec.Replica
	core      replica // nil: down
	now       core.Ticks
	log, disk spec.Log
	stored    core.Election
	found     bool
	flush     *core.Op // the last flush that was asked for
	verify    *core.Op // a snapshot that is to be verified
	snapshots []core.Snapshot
	logStart  core.Offset
	received  spec.Log // what the snapshot holds that is being received
	// life counts its processes, gen what it has been: with each change it forgets what
	// it has asked.
	life, gen int
	was       core.State
	// appends are those of clients that were not answered, by client: the offset of the
	// record; read is what the read under way must see. client counts.
	appends map[core.ClientID]core.Offset
	read    core.Offset
	client  core.ClientID
	// heartbeats is how many it may yet let pass as leader before it gives up.
	heartbeats int
	// held are the requests that it has sent and the graph has not, by receiver.
	held [spec.MaxReplicas]*wire
	// waits are the correlations of the latest requests, 0: none.
	waits [spec.MaxReplicas]int32
	out   core.Effects
}

// wire is a message on its way.
type wire struct {
	msg              spec.Msg // as the specification has it
	opener, acceptor spec.ID
	life, gen        int // of the opener
	conn             core.ConnID
	correlation      int32
	message          core.Message
	request          spec.Msg // that it answers, or that it is
	records          spec.Log // of a response
	parked           bool
}

// action is something that a core did, with what it sent, and whom it answered after that.
type action struct {
	event    *event.Event
	send     *core.Op
	complete []core.Op
}

func newCluster(g *modelbased.Graph, wrap func(replica) replica, hit func(int32)) (*cluster, error) {
	m := g.Model
	c := &cluster{g: g, wrap: wrap, hit: hit}
	c.ctx = spec.Ctx{Rules: spec.CleanRules(), Voters: spec.All(m.Voters)}
	if m.PreVote != 0 {
		c.ctx.Old = spec.All(m.Voters+m.Observers) &^ m.PreVote
	}
	for i := range g.Size() {
		n := &member{id: spec.ID(i + 1), spec: g.Replicas[g.States[0].Replicas[i]]}
		n.stored = emptyFile
		c.members = append(c.members, n)
	}
	for _, n := range c.members {
		if err := c.boot(n); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// emptyFile is a quorum-state file that says nothing.
var emptyFile = core.Election{Leader: core.NoReplica, Voted: core.NoKey}

// boot starts a core for the first time, which is no step of a model.
func (c *cluster) boot(n *member) error {
	acts, err := c.restart(n)
	if err != nil {
		return err
	}
	list, err := c.follow(n, acts[1:], nil, spec.Args{})
	if err != nil {
		return err
	}
	return c.goOn(n, list, []*member{n})
}

func (c *cluster) restart(n *member) ([]action, error) {
	m := c.g.Model
	cfg := core.Config{
		ID: core.ReplicaID(n.id), PreVote: m.PreVote.Has(n.id), Trace: true,
		ElectionTimeout: longTimeout, FetchTimeout: longTimeout, RequestTimeout: never, RetryBackoff: 1,
		MaxFetchWait: never, MaxSnapshotBytes: 100, ElectionBackoffMax: longTimeout, Seed: uint64(n.id) + uint64(n.life)<<8,
	}
	for i := range c.g.Size() {
		id := core.ReplicaID(i + 1)
		if i < m.Voters {
			cfg.Voters = append(cfg.Voters, core.ReplicaKey{ID: id})
		}
		if spec.ID(i+1) != n.id {
			cfg.Bootstrap = append(cfg.Bootstrap, id)
		}
	}
	disk := core.DiskState{
		Election: n.stored, HasElection: n.found, LogEnd: core.Offset(n.log.End()), LogStart: n.logStart, Snapshots: n.snapshots,
	}
	at := disk.LogStart
	kept := n.log.Slice(spec.Offset(n.logStart), n.log.End())
	for _, r := range kept.Runs() {
		if k := len(disk.Epochs); k == 0 || disk.Epochs[k-1].Epoch != core.Epoch(r.Epoch) {
			disk.Epochs = append(disk.Epochs, core.EpochStart{Epoch: core.Epoch(r.Epoch), Start: at})
		}
		at += core.Offset(r.Count)
	}
	n.flush, n.verify, n.received = nil, nil, spec.Log{}
	n.appends = map[core.ClientID]core.Offset{}
	n.held, n.waits = [spec.MaxReplicas]*wire{}, [spec.MaxReplicas]int32{}
	n.life++
	r, err := core.New(cfg, disk, n.now, &n.out)
	if err != nil {
		return nil, err
	}
	n.core = r
	if c.wrap != nil {
		n.core = c.wrap(r)
	}
	return c.carryOut(n, nil), nil
}

// note counts what the core has been.
func (n *member) note() {
	s := n.core.State()
	if s.Role != n.was.Role || s.Epoch != n.was.Epoch || s.Leader != n.was.Leader {
		n.gen++
		n.heartbeats = 2
	}
	n.was = s
}

// step gives a core an input, and returns what it did.
func (c *cluster) step(n *member, in core.Input, incoming *wire) (acts []action, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v: %v", n.id, p)
		}
	}()
	c.steps++
	n.core.Step(n.now, &in, &n.out)
	return c.carryOut(n, incoming), nil
}

// carryOut does on the disk what a core asked for, and puts its actions together.
func (c *cluster) carryOut(n *member, incoming *wire) []action {
	n.note()
	var acts []action
	for i := range n.out.Ops {
		op := &n.out.Ops[i]
		switch op.Kind {
		case core.OpEvent:
			acts = append(acts, action{event: op.Event})
		case core.OpPersist:
			n.stored, n.found = op.Election, true
		case core.OpAppendLeaderChange:
			n.log.Append(spec.Run{Count: 1, Epoch: spec.Epoch(op.Epoch), Origin: n.id, Kind: spec.LeaderChange})
		case core.OpAppendData:
			n.log.Append(spec.Run{Count: int64(len(op.Records)), Epoch: spec.Epoch(op.Epoch), Origin: n.id, Kind: spec.Data})
		case core.OpAppendRaw:
			news := incoming.records.Slice(0, spec.Offset(op.End-op.Base))
			n.log.AppendAll(&news)
		case core.OpTruncate:
			n.log.TruncateTo(spec.Offset(op.End))
		case core.OpFlush:
			f := *op
			n.flush = &f
		case core.OpSendRequest, core.OpSendResponse:
			sent := *op
			acts[len(acts)-1].send = &sent
			if op.Kind == core.OpSendRequest {
				n.waits[op.Peer-1] = op.Correlation
			}
		case core.OpComplete:
			if len(acts) == 0 {
				acts = append(acts, action{})
			}
			a := &acts[len(acts)-1]
			a.complete = append(a.complete, *op)
		case core.OpReceiveSnapshot:
			n.received = incoming.records
		case core.OpVerifySnapshot:
			v := *op
			n.verify = &v
		case core.OpAbandonSnapshot:
			n.verify = nil
		case core.OpInstallSnapshot:
			n.snapshots = []core.Snapshot{{ID: op.SnapshotID, Size: int64(max(c.g.Model.Parts, 1)) * partBytes}}
			n.logStart = op.SnapshotID.End
			n.log, n.disk = n.received, n.received
		case core.OpAdvanceLogStart:
			n.logStart = op.SnapshotID.End
			n.snapshots = slices.DeleteFunc(slices.Clone(n.snapshots), func(s core.Snapshot) bool { return s.ID.End < op.SnapshotID.End })
		}
	}
	return acts
}

// verify holds one action of a core against the specification: it must be enabled, and
// lead to what the core says of itself, and to what it sends.
func (c *cluster) verify(n *member, a action, incoming *wire, args spec.Args) error {
	if a.event != nil {
		if err := c.act(n, a, incoming, args); err != nil {
			return err
		}
	}
	for i := range a.complete {
		if err := n.completed(a.complete[i].Client, a.complete[i].Result); err != nil {
			return err
		}
	}
	return nil
}

// readClient is the client of reads; others append.
const readClient core.ClientID = 1

// completed: an append is acknowledged when it is committed, with its offset; it has not
// failed for certain if it was written. A read sees what was committed when it began.
func (n *member) completed(client core.ClientID, r core.Result) error {
	if client == readClient {
		if r.Error == core.None && r.Offset != n.read {
			return fmt.Errorf("%v: a read sees what is below %d, and began when %d was committed", n.id, r.Offset, n.read)
		}
		return nil
	}
	offset, ok := n.appends[client]
	delete(n.appends, client)
	switch {
	case !ok:
		return fmt.Errorf("%v: an append is answered twice", n.id)
	case r.Error == core.None && r.Offset != offset:
		return fmt.Errorf("%v: an append at offset %d is acknowledged at %d", n.id, offset, r.Offset)
	case r.Error == core.None && core.Offset(n.spec.HighWatermark) <= offset:
		return fmt.Errorf("%v: an append at offset %d is acknowledged, and committed is what is below %d", n.id, offset, n.spec.HighWatermark)
	case r.Error != core.None && !r.Unknown:
		return fmt.Errorf("%v: an append at offset %d has failed for certain, and is in the log", n.id, offset)
	}
	return nil
}

// answeredAll demands that only those wait for whom there is no answer yet.
func (n *member) answeredAll() error {
	for _, offset := range n.appends {
		if n.spec.Role != spec.Leader || core.Offset(n.spec.HighWatermark) > offset {
			return fmt.Errorf("%v: an append at offset %d is not answered: %s, high watermark %d", n.id, offset, n.spec.Role, n.spec.HighWatermark)
		}
	}
	return nil
}

// act holds what a core did to its state and sent.
func (c *cluster) act(n *member, a action, incoming *wire, args spec.Args) error {
	id, ok := spec.ActionNamed(a.event.Action)
	if !ok {
		return fmt.Errorf("%v: unknown action %s", n.id, a.event.Action)
	}
	var m *spec.Msg
	switch {
	case id.Handles():
		if incoming == nil {
			return fmt.Errorf("%v: %s of no message", n.id, id)
		}
		m = &incoming.msg
	case a.send != nil:
		args = spec.Args{Dst: spec.ID(a.send.Peer)}
	case id == spec.ActionFlush:
		args = spec.Args{Count: int64(n.spec.Log.End())}
		if a.event.Durable == nil || a.event.Durable.LogEnd != args.Count {
			return fmt.Errorf("%v: a flush of all that the log has is told as %+v", n.id, a.event.Durable)
		}
	case id == spec.ActionAppend:
		args = spec.Args{Count: a.event.Args.Count}
		n.appends[n.client] = core.Offset(n.spec.Log.End())
	case id == spec.ActionTakeSnapshot, id == spec.ActionAdvanceLogStart:
		args = spec.Args{Count: a.event.Args.Snapshot.End}
	}
	if a.send != nil && id == spec.ActionSendVoteRequest && a.send.Message.PreVote && c.ctx.Old.Has(args.Dst) {
		return nil // the driver learns that it cannot be sent, see tooOld
	}
	next := n.spec
	if !c.ctx.Take(id, &next, m, args, &c.out) {
		return fmt.Errorf("%v takes %s, which the specification does not let it, as %s", n.id, id, text(&n.spec))
	}
	n.spec = next
	if id == spec.ActionStartRead {
		n.read = core.Offset(next.ReadOffset)
	}
	if d := differ(&next, &a.event.State); d != "" {
		return fmt.Errorf("%v after %s: %s", n.id, id, d)
	}
	return c.sent(n, a, incoming)
}

// sent holds what an action sends against what the specification sends. A request is held
// back, a response goes on its way.
func (c *cluster) sent(n *member, a action, incoming *wire) error {
	want := c.out.Messages()
	if (a.send != nil) != (len(want) > 0) {
		return fmt.Errorf("%v: %s sends %d messages, and by the specification %d", n.id, a.event.Action, len(a.event.Send), len(want))
	}
	if a.send == nil {
		return nil
	}
	if readTo := spec.Offset(a.send.ReadTo); readTo > 0 && readTo != n.spec.Log.End() {
		return fmt.Errorf("%v: %s gives records up to %d of a log that ends at %d", n.id, a.event.Action, readTo, n.spec.Log.End())
	}
	w := c.wire(n, a.send, incoming, &want[0])
	if d := differMessages(&want[0], w); d != "" {
		return fmt.Errorf("%v: %s sends %s\nspecification: %s\ncode:          %+v", n.id, a.event.Action, d, want[0].String(), a.send.Message)
	}
	if !w.msg.Response {
		n.held[w.acceptor-1] = w
	} else if incoming != nil {
		if incoming.parked {
			c.remove(incoming)
		}
		c.network = append(c.network, w)
	}
	return nil
}

// wire is what a core sends, on its way.
func (c *cluster) wire(n *member, op *core.Op, incoming *wire, want *spec.Msg) *wire {
	if op.Kind == core.OpSendRequest {
		c.conn++
		return &wire{
			msg: *want, request: *want, opener: n.id, acceptor: spec.ID(op.Peer), life: n.life,
			conn: c.conn, correlation: op.Correlation, message: op.Message, gen: n.gen,
		}
	}
	w := *incoming
	w.msg, w.message, w.parked = *want, op.Message, false
	w.records = spec.Log{}
	if op.Message.Kind == core.FetchSnapshot && op.MaxBytes > 0 {
		w.message.Chunk = make([]byte, op.MaxBytes)
		w.records = n.log.Slice(0, spec.Offset(op.Message.SnapshotID.End))
	}
	if op.Message.Kind == core.Fetch && op.ReadTo > op.Message.Offset {
		// The driver may read less than it is allowed to.
		from := spec.Offset(op.Message.Offset)
		w.records = n.log.Slice(from, min(spec.Offset(op.ReadTo), from+want.Records.End()))
	}
	return &w
}

// batches are the records of a response as batches of one record and one byte each.
func batches(w *wire) ([]core.BatchInfo, []byte) {
	var list []core.BatchInfo
	at := core.Offset(w.message.Offset)
	for _, r := range w.records.Runs() {
		for range r.Count {
			list = append(list, core.BatchInfo{
				Base: at, End: at + 1, Epoch: core.Epoch(r.Epoch), Control: r.Kind == spec.LeaderChange, Count: 1, Size: 1,
			})
			at++
		}
	}
	return list, make([]byte, len(list))
}

// compare holds a core between two steps, and its disk, against the specification.
func (c *cluster) compare(n *member) error {
	r := &n.spec
	if n.core == nil {
		if r.Role != spec.Down {
			return fmt.Errorf("%v is down, by the specification %s", n.id, r.Role)
		}
		return nil
	}
	var d differences
	s := n.core.State()
	d.state(r, &s)
	d.stored(r, n)
	d.logs("log", &r.Log, &n.log)
	d.logs("disk", &r.Disk, &n.disk)
	if len(d) > 0 {
		return fmt.Errorf("%v: %s", n.id, strings.Join(d, "; "))
	}
	return n.answeredAll()
}
