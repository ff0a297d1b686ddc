package driver

import (
	"errors"
	"fmt"
	"path"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/log"
	"github.com/quorate/quorate/impl/quorumstate"
	"github.com/quorate/quorate/traces/event"
)

// Config of a Driver.
type Config struct {
	Core        core.Config
	Log         log.Config
	QuorumState quorumstate.Config
	// Incarnation numbers the process, from 1; each start has a higher one.
	Incarnation int32
	// SnapshotDigest, if it is there, knows the digest of the log at the end of a frozen
	// snapshot that was received; an error of it ends the replica. Without it the events
	// of such a log have no digests.
	SnapshotDigest func(id core.SnapshotID) (digest uint64, err error)
}

// Link says on which connection a message comes or goes, for the trace.
type Link struct {
	Conn event.Conn
	// External: the other side is a client, not modelled as a replica.
	External bool
}

// Hooks are what a Driver leaves to its user. They are called in the order of
// the Ops, within Apply. An error of any stops the replica.
//
// A message, with its slices, is valid until the hook returns.
type Hooks interface {
	// Time is the timestamp of a batch to be appended, in milliseconds since 1970.
	Time() int64
	// RequestLink is the connection on which the next request to a peer will leave,
	// and ResponseLink the one that was accepted under an id. They are asked for
	// the event before the message is sent.
	RequestLink(peer core.ReplicaID) Link
	ResponseLink(conn core.ConnID) Link
	// Record takes an event. When it returns, the event has reached what survives
	// the process.
	Record(e *event.Event) error
	// Flush is to call [Driver.Flush], now or later, here or in another goroutine,
	// and then to give the core InputFlushed with id and end.
	Flush(id core.FlushID, end core.Offset) error
	// VerifySnapshot is to call [Driver.VerifySnapshot], now or later, here or in another
	// goroutine, and then to give the core InputSnapshotVerified with id and transfer,
	// with VerifiedVoters if it is good, and with an error code if it returned ErrBadSnapshot.
	VerifySnapshot(id core.SnapshotID, transfer int64) error
	// CheckVoter is to ask a replica which levels of kraft.version it can do, now or later,
	// here or in another goroutine, and then to give the core InputVoterChecked.
	CheckVoter(client core.ClientID, v core.Voter) error
	// SendRequest sends a request. One to the same peer that is not answered yet
	// has been given up.
	SendRequest(peer core.ReplicaID, correlation int32, m *core.Message) error
	// SendResponse sends a response. Records of a Fetch response are filled in,
	// Batches are not: see [TakeBatches]. So is the Chunk of a FetchSnapshot response.
	SendResponse(conn core.ConnID, correlation int32, m *core.Message) error
	// Complete ends a client's operation.
	Complete(client core.ClientID, result core.Result) error
}

// Driver is the storage of one replica for one incarnation. Only Flush and
// VerifySnapshot may be called beside another method.
type Driver struct {
	cfg       Config
	dir       string
	log       *log.Log
	recovered log.Recovered
	store     *quorumstate.Store
	disk      core.DiskState
	snap      snapshots
	rebased   bool // see isRebased

	node      event.Node
	seq, step int64
	saved     core.Election // what OpPersist wrote last
	hasSaved  bool
	change    event.LogChange // of the log since the last event
	changed   bool
	ready     bool // span holds the records of the response that comes next
	span      log.Span
	ids       [2][]int32

	// Of the Apply that was stopped, see Unrecorded.
	pending     []core.Op
	pendingLink Link
	recordedEnd int64
	timestamp   int64
}

// Open opens log and quorum state in a directory, made if it is missing (its
// parent must exist), and makes durable what it finds. Both are read and judged
// before anything is changed, so that what it refuses is there to be looked at.
func Open(fsys fs.FS, dir string, cfg Config) (*Driver, error) {
	store := quorumstate.New(fsys, path.Join(dir, quorumstate.FileName), cfg.QuorumState)
	election, found, err := store.Load()
	if err != nil {
		return nil, err
	}
	l, recovered, err := log.OpenChecked(fsys, dir, cfg.Log, func(l *log.Log) error {
		return errors.Join(checkLog(l), covered(fsys, dir, l))
	})
	if err != nil {
		return nil, err
	}
	d := &Driver{
		cfg: cfg, dir: dir, log: l, recovered: recovered, store: store,
		node: event.Node{ID: int32(cfg.Core.ID), Dir: cfg.Core.Directory.String()},
		disk: core.DiskState{Election: fromStored(election), HasElection: found},
		snap: snapshots{fsys: fsys},
	}
	if err := d.openSnapshots(); err != nil {
		return nil, errors.Join(fmt.Errorf("snapshots: %w", err), l.Abandon())
	}
	if err := d.openVoterSets(); err != nil {
		return nil, errors.Join(fmt.Errorf("voter sets: %w", err), l.Abandon())
	}
	d.recordedEnd = l.EndOffset()
	d.disk.Epochs = epochs(l)
	return d, nil
}

// epochs are where epochs start in what a log has: it may remember one that starts
// before its start, and the epoch of that when it is empty.
func epochs(l *log.Log) (starts []core.EpochStart) {
	all, start, end := l.Epochs(), l.StartOffset(), l.EndOffset()
	for i, e := range all {
		if i+1 < len(all) && all[i+1].StartOffset <= start || start == end {
			continue
		}
		starts = append(starts, core.EpochStart{Epoch: core.Epoch(e.Epoch), Start: core.Offset(max(e.StartOffset, start))})
	}
	return starts
}

// checkLog refuses a log that the core would: epoch 0 has no leader.
func checkLog(l *log.Log) error {
	if epochs := l.Epochs(); len(epochs) > 0 && epochs[0].Epoch <= 0 {
		return l.CorruptAt(epochs[0].StartOffset, fmt.Sprintf("epoch %d has no records", epochs[0].Epoch))
	}
	return nil
}

// Interrupted says whether Apply was stopped in an action that writes, before
// its event was recorded.
func (d *Driver) Interrupted() bool { return len(d.pending) > 0 }

// Disk is what Open found, for core.New.
func (d *Driver) Disk() core.DiskState { return d.disk }

// Log is the log, for reading.
func (d *Driver) Log() *log.Log { return d.log }

// Digest is the chained digest of the log; false: it is not known, as the log began with
// a snapshot of another replica.
func (d *Driver) Digest() (uint64, bool) { return d.log.Digest(), !d.rebased }

// Recovered says what Open had to cut off the log.
func (d *Driver) Recovered() log.Recovered { return d.recovered }

// Events is how many events of this incarnation were recorded.
func (d *Driver) Events() int64 { return d.seq }

// Flush makes the log durable, as OpFlush asks.
func (d *Driver) Flush() error { return d.log.Flush() }

// Close flushes the log, unless it has failed, and closes the files.
func (d *Driver) Close() error { return errors.Join(d.snap.close(), d.log.Close()) }

// Abandon closes the files and flushes nothing, as the end of the process would.
func (d *Driver) Abandon() error { return errors.Join(d.snap.close(), d.log.Abandon()) }

// Apply carries out the effects of one Step (or of core.New, then in is nil), in
// order. link is the connection that a message of in came on. After an error
// nothing further was carried out, and the Driver is of no use any more.
func (d *Driver) Apply(in *core.Input, link Link, ops []core.Op, h Hooks) error {
	d.step++
	d.changed, d.hasSaved = false, false // without a trace no event has taken them
	action := 0                          // where the ops of the action in progress begin
	for i := range ops {
		if err := d.apply(ops, i, link, h); err != nil {
			d.stop(ops[action:], link)
			return fmt.Errorf("replica %d: %w", d.node.ID, err)
		}
		if ops[i].Kind == core.OpEvent {
			action = i + 1
		}
	}
	return nil
}

func (d *Driver) apply(ops []core.Op, i int, link Link, h Hooks) error {
	op := &ops[i]
	switch op.Kind {
	case core.OpPersist:
		return d.persist(op)
	case core.OpAppendLeaderChange, core.OpAppendVoters, core.OpAppendData, core.OpAppendRaw:
		d.timestamp = h.Time()
		return d.append(op)
	case core.OpTruncate:
		return d.truncate(op)
	case core.OpFlush:
		return h.Flush(op.Flush, op.End)
	case core.OpEvent:
		return d.record(ops, i, link, h)
	case core.OpSendRequest:
		return h.SendRequest(op.Peer, op.Correlation, &op.Message)
	case core.OpSendResponse:
		if err := errors.Join(d.fill(op), d.fillChunk(op)); err != nil {
			return err
		}
		d.ready = false
		return h.SendResponse(op.Conn, op.Correlation, &op.Message)
	case core.OpComplete:
		return h.Complete(op.Client, op.Result)
	case core.OpReceiveSnapshot:
		return d.receive(op)
	case core.OpVerifySnapshot:
		return h.VerifySnapshot(op.SnapshotID, op.Transfer)
	case core.OpInstallSnapshot:
		return d.install(op)
	case core.OpAbandonSnapshot:
		return d.abandon()
	case core.OpAdvanceLogStart:
		return d.advance(op)
	case core.OpDeleteSnapshot:
		return d.deleteSnapshot(stored(op.SnapshotID))
	case core.OpCheckVoter:
		return h.CheckVoter(op.Client, op.Voter)
	}
	return fmt.Errorf("op of unknown kind %d", op.Kind)
}

func (d *Driver) persist(op *core.Op) error {
	e := op.Election
	d.store.UseVersion(d.dataVersion(op.Dynamic))
	if err := d.store.Save(toStored(e)); err != nil {
		return err
	}
	d.saved, d.hasSaved = e, true
	return nil
}

func (d *Driver) append(op *core.Op) error {
	if have := d.log.EndOffset(); have != int64(op.Base) {
		return fmt.Errorf("append at offset %d to a log that ends at %d", op.Base, have)
	}
	var done log.Appended
	var err error
	switch op.Kind {
	case core.OpAppendLeaderChange:
		d.ids[0], d.ids[1] = ids(d.ids[0], op.Voters), ids(d.ids[1], op.Granting)
		var more []log.ControlRecord
		if op.VoterSet != nil {
			more = dynamicSet(op.VoterSet)
		}
		done, err = d.log.AppendLeaderChange(int32(op.Epoch), d.node.ID, d.ids[0], d.ids[1], d.timestamp, more...)
	case core.OpAppendVoters:
		done, err = d.log.AppendControl(int32(op.Epoch), d.timestamp, log.KRaftVotersControl(Voters(op.VoterSet)))
	case core.OpAppendData:
		done, err = d.log.AppendData(int32(op.Epoch), op.Records, d.timestamp)
	case core.OpAppendRaw:
		done, err = d.log.AppendRaw(op.Raw)
	}
	if err != nil {
		return err
	}
	if !d.changed {
		d.changed = true
		d.change = event.LogChange{Truncated: -1, Base: done.Base}
	}
	d.change.Appended = append(d.change.Appended, done.Runs...)
	d.change.Digest = done.Digest
	return nil
}

func ids(dst []int32, src []core.ReplicaID) []int32 {
	dst = dst[:0]
	for _, id := range src {
		dst = append(dst, int32(id))
	}
	return dst
}

func (d *Driver) truncate(op *core.Op) error {
	end, err := d.log.TruncateTo(int64(op.End))
	if err != nil {
		return err
	}
	if end != int64(op.End) {
		return fmt.Errorf("truncation to offset %d cut the log to %d", op.End, end)
	}
	d.changed = true
	d.change = event.LogChange{Truncated: end, Base: end, Digest: d.log.Digest()}
	return nil
}

// fill reads the records of a Fetch response, once.
func (d *Driver) fill(op *core.Op) error {
	m := &op.Message
	if op.ReadTo <= m.Offset || d.ready {
		return nil
	}
	if err := d.log.Read(&d.span, int64(m.Offset), int(op.MaxBytes), int64(op.ReadTo)); err != nil {
		return err
	}
	if d.span.Base != int64(m.Offset) || d.span.End <= d.span.Base {
		return fmt.Errorf("read from offset %d up to %d gave [%d, %d)", m.Offset, op.ReadTo, d.span.Base, d.span.End)
	}
	m.Records = d.span.Bytes
	d.ready = true
	return nil
}

// record completes an event and hands it over.
func (d *Driver) record(ops []core.Op, i int, link Link, h Hooks) error {
	e := ops[i].Event
	if len(e.Send) > 0 {
		sent, err := d.completeSend(e, ops[i+1:], h)
		if err != nil {
			return err
		}
		if e.Send[0].Response {
			link = sent // also of a request that had been parked
		}
	}
	if err := d.complete(e, link); err != nil {
		return err
	}
	if e.Attach != nil {
		if err := d.tellRecords(e, Records{}); err != nil {
			return err
		}
	}
	if err := h.Record(e); err != nil {
		return err
	}
	d.seq++
	d.changed, d.hasSaved = false, false
	d.recordedEnd = e.State.LogEnd
	return nil
}

// completeSend adds what the core does not know of a message: the connection,
// and the records of a response.
func (d *Driver) completeSend(e *event.Event, rest []core.Op, h Hooks) (link Link, err error) {
	if len(rest) == 0 || len(e.Send) != 1 {
		return link, fmt.Errorf("%s: event with %d messages, and %d ops after it", e.Action, len(e.Send), len(rest))
	}
	m, op := &e.Send[0], &rest[0]
	switch op.Kind {
	case core.OpSendRequest:
		link = h.RequestLink(op.Peer)
	case core.OpSendResponse:
		link = h.ResponseLink(op.Conn)
		if err := d.fill(op); err != nil {
			return link, err
		}
		if d.ready {
			m.Records = append(m.Records[:0], d.span.Runs...)
		}
	default:
		return link, fmt.Errorf("%s: the send of an event does not follow it", e.Action)
	}
	m.Conn, m.External = link.Conn, link.External
	return link, nil
}

// complete adds what the driver knows of any event.
func (d *Driver) complete(e *event.Event, link Link) error {
	e.Node, e.Inc, e.Seq, e.Step = d.node, d.cfg.Incarnation, d.seq+1, d.step
	if e.Recv != nil {
		e.Recv.Conn, e.Recv.External = link.Conn, link.External
	}
	if !d.changed {
		e.Log = nil
	} else {
		if e.Log == nil {
			e.Log = new(event.LogChange)
		}
		*e.Log = d.change
	}
	start, end, flushed, digest := d.log.Bounds()
	if d.rebased {
		if e.Log != nil {
			e.Log.Digest, e.Log.NoDigest = 0, true
		}
	} else {
		e.State.Has |= event.HasDigest
		e.State.Digest = digest
	}
	return d.check(e, start, end, flushed)
}

// check holds what the core says against the disk: an event must not claim more
// than there is, and claims an election if its action saved one.
func (d *Driver) check(e *event.Event, start, end, flushed int64) error {
	if e.State.LogEnd != end {
		return fmt.Errorf("%s: log ends at %d for the core, at %d on disk", e.Action, e.State.LogEnd, end)
	}
	if e.State.Has&event.HasLogStart != 0 && e.State.LogStart != start {
		return fmt.Errorf("%s: log starts at %d for the core, at %d on disk", e.Action, e.State.LogStart, start)
	}
	if err := d.checkSnapshot(e); err != nil {
		return err
	}
	if claims := e.Durable != nil && e.Durable.Election; claims != d.hasSaved {
		return fmt.Errorf("%s: event says of an election that was saved: %v; it was: %v", e.Action, claims, d.hasSaved)
	}
	if e.Durable == nil {
		return nil
	}
	if e.Durable.LogEnd > flushed {
		return fmt.Errorf("%s: log is flushed up to %d for the core, up to %d on disk", e.Action, e.Durable.LogEnd, flushed)
	}
	s := d.saved
	if e.Durable.Election && (int32(s.Epoch) != e.State.Epoch || int32(s.Leader) != e.State.Leader || int32(s.Voted.ID) != e.State.Voted) {
		return fmt.Errorf("%s: election of the event is not the one that was saved", e.Action)
	}
	return nil
}

// dataVersion is that of the quorum-state file: the voters are in it as long as they are
// not in the log.
func (d *Driver) dataVersion(dynamic bool) int16 {
	if dynamic {
		return 1
	}
	return d.cfg.QuorumState.Version
}

func toStored(e core.Election) quorumstate.Election {
	return quorumstate.Election{
		Epoch: int32(e.Epoch), Leader: int32(e.Leader),
		Voted: int32(e.Voted.ID), VotedDirectory: e.Voted.Directory,
	}
}

func fromStored(e quorumstate.Election) core.Election {
	return core.Election{
		Epoch: core.Epoch(e.Epoch), Leader: core.ReplicaID(e.Leader),
		Voted: core.ReplicaKey{ID: core.ReplicaID(e.Voted), Directory: e.VotedDirectory},
	}
}
