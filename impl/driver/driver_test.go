package driver

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/log"
	"github.com/quorate/quorate/impl/quorumstate"
	"github.com/quorate/quorate/traces/event"
)

var errStop = errors.New("stop")

// hooks note what they are called with, and fail at a call.
type hooks struct {
	calls    []string
	events   []event.Event
	requests []core.Message
	answers  []core.Message
	failAt   int
}

func (h *hooks) call(name string) error {
	h.calls = append(h.calls, name)
	if len(h.calls) == h.failAt {
		return errStop
	}
	return nil
}

func (h *hooks) Time() int64 { return 1000 }
func (h *hooks) RequestLink(peer core.ReplicaID) Link {
	return Link{Conn: event.Conn{From: 1, To: int32(peer), Inc: 3, N: 1}}
}
func (h *hooks) ResponseLink(conn core.ConnID) Link {
	return Link{Conn: event.Conn{From: 2, To: 1, Inc: 5, N: int64(conn)}}
}
func (h *hooks) Record(e *event.Event) error {
	h.events = append(h.events, *e)
	return h.call("event " + e.Action)
}
func (h *hooks) Flush(core.FlushID, core.Offset) error { return h.call("flush") }
func (h *hooks) VerifySnapshot(core.SnapshotID, int64) error {
	return h.call("verify")
}
func (h *hooks) CheckVoter(core.ClientID, core.Voter) error { return h.call("check voter") }
func (h *hooks) SendRequest(_ core.ReplicaID, _ int32, m *core.Message) error {
	h.requests = append(h.requests, *m)
	return h.call("request")
}
func (h *hooks) SendResponse(_ core.ConnID, _ int32, m *core.Message) error {
	c := *m
	c.Records = append([]byte(nil), m.Records...)
	c.Chunk = append([]byte(nil), m.Chunk...)
	h.answers = append(h.answers, c)
	return h.call("response")
}
func (h *hooks) Complete(core.ClientID, core.Result) error { return h.call("complete") }

func config() Config {
	return Config{
		Core:        core.Config{ID: 1, Directory: core.DirectoryID{7}},
		QuorumState: quorumstate.Config{Version: 1}, Incarnation: 3,
	}
}

func open(t *testing.T, disk fs.FS) *Driver {
	d, err := Open(disk, "metadata", config())
	require.NoError(t, err)
	return d
}

// ops of a leader that takes over epoch 4 and appends two records.
func election(epoch core.Epoch) core.Op {
	return core.Op{Kind: core.OpPersist, Election: core.Election{Epoch: epoch, Leader: 1, Voted: core.NoKey}}
}

func happened(action string, end int64, edit func(*event.Event)) core.Op {
	e := &event.Event{Action: action}
	e.State = event.State{Has: event.HasLogEnd, Epoch: 4, Leader: 1, Voted: -1, LogEnd: end}
	if edit != nil {
		edit(e)
	}
	return core.Op{Kind: core.OpEvent, Event: e}
}

func changed(e *event.Event) { e.Log = &event.LogChange{Truncated: -1} }

func lead() []core.Op {
	return []core.Op{
		election(4),
		happened("BecomeLeader", 0, func(e *event.Event) { e.Durable = &event.Durable{Election: true, LogEnd: -1} }),
		{Kind: core.OpAppendLeaderChange, Base: 0, End: 1, Epoch: 4, Voters: []core.ReplicaID{1, 2, 3}, Granting: []core.ReplicaID{1, 2}},
		happened("AppendLeaderChange", 1, changed),
		{Kind: core.OpAppendData, Base: 1, End: 3, Epoch: 4, Records: [][]byte{[]byte("a"), []byte("b")}},
		happened("Append", 3, changed),
		{Kind: core.OpFlush, Flush: 1, End: 3},
	}
}

func TestApply(t *testing.T) {
	disk := fs.NewDouble()
	d := open(t, disk)
	require.Equal(t, core.DiskState{Election: core.Election{Leader: core.NoReplica, Voted: core.NoKey}}, d.Disk())
	h := &hooks{}
	require.NoError(t, d.Apply(nil, Link{}, lead(), h))
	require.Equal(t, []string{"event BecomeLeader", "event AppendLeaderChange", "event Append", "flush"}, h.calls)
	for i, e := range h.events {
		require.Equal(t, event.Node{ID: 1, Dir: core.DirectoryID{7}.String()}, e.Node)
		require.EqualValues(t, []int64{3, int64(i) + 1, 1}, []int64{int64(e.Inc), e.Seq, e.Step})
		require.NotZero(t, e.State.Has&event.HasDigest)
	}
	require.Nil(t, h.events[0].Log)
	one, two := h.events[1].Log, h.events[2].Log
	require.Equal(t, &event.LogChange{Truncated: -1, Base: 0, Appended: []event.Run{{Epoch: 4, Kind: event.LeaderChange, Count: 1}}, Digest: one.Digest}, one)
	require.Equal(t, &event.LogChange{Truncated: -1, Base: 1, Appended: []event.Run{{Epoch: 4, Kind: event.Data, Count: 2}}, Digest: d.Log().Digest()}, two)
	require.NotEqual(t, one.Digest, two.Digest)
	require.Equal(t, two.Digest, h.events[2].State.Digest)

	// A response: the records are read for the event, and sent once.
	recv := &event.Message{Kind: event.Fetch}
	answer := core.Op{Kind: core.OpSendResponse, Conn: 9, Message: core.Message{Kind: core.Fetch, Response: true, Offset: 1}, ReadTo: 3, MaxBytes: 1}
	require.NoError(t, d.Apply(&core.Input{}, Link{Conn: event.Conn{N: 77}}, []core.Op{
		happened("HandleFetchRequest", 3, func(e *event.Event) { e.Recv, e.Send = recv, []event.Message{{Kind: event.Fetch, Response: true}} }),
		answer,
	}, h))
	sent := h.events[3].Send[0]
	require.Equal(t, []event.Run{{Epoch: 4, Kind: event.Data, Count: 2}}, sent.Records)
	require.Equal(t, event.Conn{From: 2, To: 1, Inc: 5, N: 9}, sent.Conn)
	require.Equal(t, sent.Conn, recv.Conn, "a parked request came on the connection of its answer")
	m := h.answers[0]
	require.NoError(t, TakeBatches(&m))
	require.Equal(t, []core.BatchInfo{{Base: 1, End: 3, Epoch: 4, Count: 2, Size: len(m.Records)}}, m.Batches)

	// Without events too.
	require.NoError(t, d.Apply(nil, Link{}, []core.Op{answer}, h))
	require.Equal(t, h.answers[0].Records, h.answers[1].Records)

	// A request, and a truncation.
	require.NoError(t, d.Flush())
	require.NoError(t, d.Apply(&core.Input{}, Link{Conn: event.Conn{N: 5}}, []core.Op{
		happened("SendFetch", 3, func(e *event.Event) { e.Send = []event.Message{{Kind: event.Fetch}} }),
		{Kind: core.OpSendRequest, Peer: 2, Message: core.Message{Kind: core.Fetch}},
		{Kind: core.OpTruncate, End: 1},
		happened("HandleFetchResponse", 1, func(e *event.Event) { changed(e); e.Recv = &event.Message{} }),
		{Kind: core.OpComplete, Client: 3},
	}, h))
	require.EqualValues(t, 2, h.events[4].Send[0].Conn.To)
	require.Equal(t, &event.LogChange{Truncated: 1, Base: 1, Digest: one.Digest}, h.events[5].Log)
	require.EqualValues(t, 5, h.events[5].Recv.Conn.N)
	require.Equal(t, "complete", h.calls[len(h.calls)-1])
	require.NoError(t, d.Flush())

	again := open(t, disk.Crash(fs.KeepNone))
	require.Equal(t, core.DiskState{
		Election: core.Election{Epoch: 4, Leader: 1, Voted: core.NoKey}, HasElection: true,
		LogEnd: 1, Epochs: []core.EpochStart{{Epoch: 4, Start: 0}},
	}, again.Disk())
}

// TestApplyRefuses: a core and a disk that do not agree stop the replica.
func TestApplyRefuses(t *testing.T) {
	durable := func(d event.Durable) func(*event.Event) {
		return func(e *event.Event) { e.Durable = &d }
	}
	for name, ops := range map[string][]core.Op{
		"base":              {{Kind: core.OpAppendData, Base: 2, Records: [][]byte{{1}}}},
		"truncate in batch": append(lead()[:6:6], core.Op{Kind: core.OpTruncate, End: 2}),
		"log end":           {happened("Append", 7, nil)},
		"flushed":           append(lead()[:6:6], happened("Flush", 3, durable(event.Durable{LogEnd: 3}))),
		"same election":     append(lead()[:2:2], happened("BecomeLeader", 0, durable(event.Durable{Election: true, LogEnd: -1}))),
		"silent election":   {election(4), happened("BecomeLeader", 0, nil)},
		"election":          {happened("BecomeLeader", 0, durable(event.Durable{Election: true, LogEnd: -1}))},
		"other election":    {election(5), happened("BecomeLeader", 0, durable(event.Durable{Election: true, LogEnd: -1}))},
		"send":              {happened("SendFetch", 0, func(e *event.Event) { e.Send = make([]event.Message, 1) })},
		"send of another":   {happened("SendFetch", 0, func(e *event.Event) { e.Send = make([]event.Message, 1) }), {Kind: core.OpComplete}},
		"raw":               {{Kind: core.OpAppendRaw, Raw: []byte("no batch")}},
		"read":              {{Kind: core.OpSendResponse, ReadTo: 3}},
		"kind":              {{}},
	} {
		h := &hooks{}
		d := open(t, fs.NewDouble())
		require.Error(t, d.Apply(nil, Link{}, append(ops, core.Op{Kind: core.OpComplete}), h), name)
		require.NotContains(t, h.calls, "complete", name)
	}
}

// TestApplyStops: after any error nothing more is carried out.
func TestApplyStops(t *testing.T) {
	for n := 1; n <= 4; n++ {
		h := &hooks{failAt: n}
		d := open(t, fs.NewDouble())
		require.ErrorIs(t, d.Apply(nil, Link{}, lead(), h), errStop)
		require.Len(t, h.calls, n)
	}
	all := 0
	for n := 1; ; n++ {
		disk := fs.NewDouble()
		d := open(t, disk)
		disk.FailAt(disk.Ops()+n, fs.Error)
		h := &hooks{}
		err := d.Apply(nil, Link{}, lead(), h)
		if err == nil {
			break
		}
		require.ErrorIs(t, err, fs.ErrInjected)
		require.NotContains(t, h.calls, "flush")
		all = n
	}
	require.GreaterOrEqual(t, all, 7) // the file, its name, two batches
}

// TestUnrecorded: what an action left on disk can be told after a crash at any
// of its operations.
func TestUnrecorded(t *testing.T) {
	whole := &hooks{}
	require.NoError(t, open(t, fs.NewDouble()).Apply(nil, Link{}, lead(), whole))
	elections, appends := 0, 0
	for n := 1; ; n++ {
		disk := fs.NewDouble()
		d := open(t, disk)
		disk.FailAt(disk.Ops()+n, fs.Crash)
		h := &hooks{}
		if d.Apply(nil, Link{}, lead(), h) == nil {
			break
		}
		require.True(t, d.Interrupted())
		u, err := d.Unrecorded(disk.Crash(fs.KeepAll))
		require.NoError(t, err)
		require.Equal(t, whole.events[len(h.events)], *u.Event, "as it would have been recorded")
		require.Equal(t, u.Event.State.Digest, u.Log.Digest())
		if u.HasElection {
			require.EqualValues(t, 4, u.Election.Epoch)
			elections++
		} else {
			appends++
		}
	}
	require.NotZero(t, elections)
	require.Equal(t, 2, appends)

	// A truncation, before and after it was done.
	for _, done := range []bool{false, true} {
		disk := fs.NewDouble()
		d := open(t, disk)
		require.NoError(t, d.Apply(nil, Link{}, lead(), &hooks{}))
		require.NoError(t, d.Flush())
		cut := []core.Op{{Kind: core.OpTruncate, End: 1}, happened("HandleFetchResponse", 1, changed)}
		h := &hooks{failAt: 1}
		if !done {
			disk.FailAt(disk.Ops()+1, fs.Error)
		}
		require.Error(t, d.Apply(nil, Link{}, cut, h))
		u, err := d.Unrecorded(disk.Crash(fs.KeepAll))
		require.NoError(t, err)
		require.Equal(t, whole.events[1].State.Digest, u.Event.State.Digest)
		require.EqualValues(t, 1, u.Event.Log.Truncated)
	}

	// Nothing written, nothing to tell.
	d := open(t, fs.NewDouble())
	require.Error(t, d.Apply(nil, Link{}, []core.Op{happened("SendFetch", 0, nil)}, &hooks{failAt: 1}))
	require.False(t, d.Interrupted())
}

func TestTakeBatches(t *testing.T) {
	good := log.AppendDataBatch(nil, 5, 2, [][]byte{{1}, {2}}, 0)
	size := len(good)
	good = log.AppendLeaderChangeBatch(good, 7, 3, log.LeaderChange{Leader: 1}, 0)
	m := core.Message{Offset: 5, Records: good}
	require.NoError(t, TakeBatches(&m))
	want := []core.BatchInfo{
		{Base: 5, End: 7, Epoch: 2, Count: 2, Size: size},
		{Base: 7, End: 8, Epoch: 3, Control: true, Count: 1, Size: len(good) - size},
	}
	require.Equal(t, want, m.Batches)

	bad := append([]byte(nil), good...)
	bad[size+30] ^= 1
	for _, b := range [][]byte{bad, good[:len(good)-1]} {
		m = core.Message{Offset: 5, Records: b, Batches: m.Batches}
		require.Error(t, TakeBatches(&m))
		require.Equal(t, want[:1], m.Batches)
		require.Equal(t, good[:size], m.Records)
	}
	m = core.Message{Offset: 6, Records: good}
	require.Error(t, TakeBatches(&m))
	require.Empty(t, m.Batches)
	require.Empty(t, m.Records)
	m = core.Message{Offset: 6}
	require.NoError(t, TakeBatches(&m))
}

// TestRefusedUntouched: what Open refuses is as it was, whichever file it is about.
func TestRefusedUntouched(t *testing.T) {
	clean := fs.NewDouble()
	d := open(t, clean)
	require.NoError(t, d.Apply(nil, Link{}, lead(), &hooks{}))
	require.NoError(t, d.Flush())
	require.NoError(t, d.Abandon())
	all := func(disk fs.FS) map[string]string {
		names, err := disk.List("metadata")
		require.NoError(t, err)
		content := map[string]string{}
		for _, name := range names {
			b, err := fs.ReadFile(disk, "metadata/"+name)
			require.NoError(t, err)
			content[name] = string(b)
		}
		return content
	}
	segment := "metadata/00000000000000000000.log"
	for what, damage := range map[string]func(*fs.Double) error{
		"quorum-state, with a torn tail": func(disk *fs.Double) error {
			f, err := disk.Open(segment)
			require.NoError(t, err)
			size, err := f.Size()
			require.NoError(t, err)
			_, err = f.WriteAt([]byte("torn"), size)
			return errors.Join(err, disk.Flip("metadata/quorum-state", 0, 1))
		},
		segment + " is corrupt at byte 0 (offset 0)": func(disk *fs.Double) error { return disk.Flip(segment, 15, 4) },
	} {
		disk := clean.Crash(fs.KeepNone)
		require.NoError(t, damage(disk))
		before := all(disk)
		_, err := Open(disk, "metadata", config())
		require.ErrorContains(t, err, strings.Split(what, ",")[0])
		require.Equal(t, before, all(disk), what)
	}

	// A log of an epoch that no leader has.
	disk := fs.NewDouble()
	l, _, err := log.Open(disk, "metadata", log.Config{})
	require.NoError(t, err)
	_, err = l.AppendData(0, [][]byte{{1}}, 0)
	require.NoError(t, err)
	require.NoError(t, l.Abandon())
	before := all(disk)
	_, err = Open(disk, "metadata", config())
	require.ErrorContains(t, err, segment+" is corrupt at byte 0 (offset 0): epoch 0")
	require.Equal(t, before, all(disk))
}

// Without a trace nothing is kept for its events.
func TestWithoutTrace(t *testing.T) {
	d := open(t, fs.NewDouble())
	for end := core.Offset(1); end < 100; end++ {
		op := core.Op{Kind: core.OpAppendData, Base: end - 1, End: end, Epoch: 4, Records: [][]byte{[]byte("a")}}
		require.NoError(t, d.Apply(&core.Input{}, Link{}, []core.Op{op}, &hooks{}))
		require.Len(t, d.change.Appended, 1)
	}
}
