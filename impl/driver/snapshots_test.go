package driver

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/snapshot"
	"github.com/quorate/quorate/traces/event"
)

// snapshotBytes are the bytes of a snapshot that another replica has.
func snapshotBytes(t *testing.T, id core.SnapshotID) []byte {
	disk := fs.NewDouble()
	require.NoError(t, disk.Mkdir("d"))
	write(t, disk, "d", id)
	b, err := fs.ReadFile(disk, "d/"+stored(id).FileName())
	require.NoError(t, err)
	return b
}

func write(t *testing.T, disk fs.FS, dir string, id core.SnapshotID) { put(t, disk, dir, id) }

func put(t testing.TB, disk fs.FS, dir string, id core.SnapshotID) {
	w, err := snapshot.Create(disk, dir, stored(id), 5)
	require.NoError(t, err)
	require.NoError(t, w.Append([][]byte{[]byte("state of "), []byte(stored(id).String())}))
	require.NoError(t, w.Freeze())
}

func state(start, end int64) func(*event.Event) {
	return func(e *event.Event) {
		e.State.Has |= event.HasLogStart
		e.State.LogStart, e.State.LogEnd = start, end
	}
}

var received = core.SnapshotID{End: 9, Epoch: 4}

// install are the ops of a follower that receives a snapshot in two chunks and installs
// it; between the two comes VerifySnapshot.
func install(raw []byte) (chunks, install []core.Op) {
	chunks = []core.Op{
		{Kind: core.OpReceiveSnapshot, SnapshotID: received, Epoch: 4, Raw: raw[:50]},
		{Kind: core.OpReceiveSnapshot, SnapshotID: received, Epoch: 4, Position: 50, Raw: raw[50:]},
		{Kind: core.OpVerifySnapshot, SnapshotID: received, Size: int64(len(raw)), Transfer: 1},
	}
	install = []core.Op{
		{Kind: core.OpInstallSnapshot, SnapshotID: received},
		happened("InstallSnapshot", 9, func(e *event.Event) {
			state(9, 9)(e)
			changed(e)
			e.Durable = &event.Durable{LogEnd: 9, Snapshot: event.SnapshotID{End: 9, Epoch: 4}}
		}),
		{Kind: core.OpComplete, Client: 1},
	}
	return chunks, install
}

func TestInstallSnapshot(t *testing.T) {
	disk := fs.NewDouble()
	d := open(t, disk)
	h := &hooks{}
	require.NoError(t, d.Apply(nil, Link{}, lead(), h))
	require.NoError(t, d.Flush())
	write(t, disk, "metadata", core.SnapshotID{End: 3, Epoch: 4})
	raw := snapshotBytes(t, received)
	chunks, ops := install(raw)
	require.NoError(t, d.Apply(nil, Link{}, chunks, h))
	require.Equal(t, "verify", h.calls[len(h.calls)-1])
	require.NoError(t, d.VerifySnapshot(received))
	ids, err := snapshot.List(disk, "metadata")
	require.NoError(t, err)
	require.Len(t, ids, 1, "it has no name before it is installed")
	require.NoError(t, d.Apply(nil, Link{}, ops, h))
	require.Equal(t, "complete", h.calls[len(h.calls)-1])
	e := h.events[len(h.events)-1]
	require.Equal(t, &event.LogChange{Truncated: -1, Reset: 9, Base: 9, NoDigest: true}, e.Log)
	require.Zero(t, e.State.Has&event.HasDigest, "nobody told it")
	ids, err = snapshot.List(disk, "metadata")
	require.NoError(t, err)
	require.Equal(t, []snapshot.ID{stored(received)}, ids, "the older one is gone")

	// A leader serves it: exactly what the core asks for.
	for _, c := range [][2]int{{0, 10}, {10, len(raw) - 10}, {len(raw) - 1, 1}} {
		m := core.Message{Kind: core.FetchSnapshot, Response: true, SnapshotID: received, Position: int64(c[0]), Size: int64(len(raw))}
		require.NoError(t, d.Apply(nil, Link{}, []core.Op{{Kind: core.OpSendResponse, Message: m, MaxBytes: int32(c[1])}}, h))
		require.Equal(t, raw[c[0]:c[0]+c[1]], h.answers[len(h.answers)-1].Chunk)
	}
	m := core.Message{Kind: core.FetchSnapshot, Response: true, SnapshotID: received, Position: 5, Size: int64(len(raw))}
	require.NoError(t, d.Apply(nil, Link{}, []core.Op{{Kind: core.OpSendResponse, Message: m}}, h))
	require.Empty(t, h.answers[len(h.answers)-1].Chunk, "errors, and who asks for nothing")
	require.Error(t, d.Apply(nil, Link{}, []core.Op{{Kind: core.OpSendResponse, Message: m, MaxBytes: int32(len(raw))}}, h))
	m.SnapshotID.End++
	require.ErrorIs(t, d.Apply(nil, Link{}, []core.Op{{Kind: core.OpSendResponse, Message: m, MaxBytes: 1}}, h), fs.ErrNotExist)

	// The log goes on after it, also after a crash.
	require.NoError(t, d.Apply(nil, Link{}, []core.Op{
		{Kind: core.OpAppendData, Base: 9, End: 10, Epoch: 4, Records: [][]byte{{1}}}, happened("Append", 10, changed),
	}, h))
	require.NoError(t, d.Flush())
	require.Error(t, d.Apply(nil, Link{}, []core.Op{happened("Append", 10, state(0, 10))}, h), "the start is checked")
	again := open(t, disk.Crash(fs.KeepNone))
	want := core.DiskState{Election: core.Election{Epoch: 4, Leader: 1, Voted: core.NoKey}, HasElection: true,
		LogStart: 9, LogEnd: 10, Epochs: []core.EpochStart{{Epoch: 4, Start: 9}},
		Snapshots: []core.Snapshot{{ID: received, Size: int64(len(raw))}}}
	require.Equal(t, want, again.Disk())
	require.True(t, again.rebased)
}

// Whoever knows the digest of a snapshot keeps the digests of the log going.
func TestInstallSnapshotWithDigest(t *testing.T) {
	disk := fs.NewDouble()
	cfg := config()
	cfg.SnapshotDigest = func(id core.SnapshotID) (uint64, error) {
		require.Equal(t, received, id)
		return 77, nil
	}
	d, err := Open(disk, "metadata", cfg)
	require.NoError(t, err)
	chunks, ops := install(snapshotBytes(t, received))
	h := &hooks{}
	require.NoError(t, d.Apply(nil, Link{}, append(append([]core.Op{election(4)}, chunks...), func() core.Op {
		return happened("HandleFetchSnapshotResponse", 0, func(e *event.Event) { e.Durable = &event.Durable{Election: true, LogEnd: -1} })
	}()), h))
	require.NoError(t, d.VerifySnapshot(received))
	require.NoError(t, d.Apply(nil, Link{}, ops, h))
	e := h.events[len(h.events)-1]
	require.EqualValues(t, 77, e.Log.Digest)
	require.EqualValues(t, 77, e.State.Digest)
	again, err := Open(disk.Crash(fs.KeepNone), "metadata", cfg)
	require.NoError(t, err)
	require.False(t, again.rebased)
}

// A crash at any operation of receive and install, with any of what was not flushed
// kept, leaves the old log or the new one, and a snapshot that is whole.
func TestCrashInInstall(t *testing.T) {
	raw := snapshotBytes(t, received)
	chunks, ops := install(raw)
	before := core.DiskState{Election: core.Election{Epoch: 4, Leader: 1, Voted: core.NoKey}, HasElection: true,
		LogEnd: 3, Epochs: []core.EpochStart{{Epoch: 4, Start: 0}},
		Snapshots: []core.Snapshot{{ID: core.SnapshotID{End: 3, Epoch: 4}, Size: int64(len(snapshotBytes(t, core.SnapshotID{End: 3, Epoch: 4})))}}}
	after := before
	after.LogStart, after.LogEnd, after.Epochs = 9, 9, nil
	after.Snapshots = []core.Snapshot{{ID: received, Size: int64(len(raw))}}
	points, disks, installed := 0, 0, 0
	for done := false; !done; points++ {
		disk := fs.NewDouble()
		d := open(t, disk)
		require.NoError(t, d.Apply(nil, Link{}, lead(), &hooks{}))
		require.NoError(t, d.Flush())
		write(t, disk, "metadata", before.Snapshots[0].ID)
		disk.FailAt(disk.Ops()+points+1, fs.Crash)
		err := d.Apply(nil, Link{}, chunks, &hooks{})
		if err == nil {
			err = d.VerifySnapshot(received)
		}
		h := &hooks{}
		if err == nil {
			err = d.Apply(nil, Link{}, ops, h)
		}
		done = err == nil
		if !done {
			require.NotContains(t, h.calls, "complete")
		}
		for _, crashed := range disk.Crashes() {
			disks++
			again := open(t, crashed())
			if len(h.events) > 0 {
				require.Equal(t, after, again.Disk(), "point %d: the event said so", points)
			} else if again.Disk().LogStart > 0 {
				installed++
				require.Equal(t, after, again.Disk(), "point %d", points)
			} else {
				require.Equal(t, before, again.Disk(), "point %d", points)
			}
			_, err := core.New(core.Config{ID: 1, Voters: []core.ReplicaKey{{ID: 1}}}, again.Disk(), 0, &core.Effects{})
			require.NoError(t, err)
			require.NoError(t, again.Abandon())
		}
		if u, err := d.Unrecorded(disk.Crash(fs.KeepAll)); err == nil && u != nil {
			require.Equal(t, "InstallSnapshot", u.Event.Action)
			require.EqualValues(t, 9, u.Log.StartOffset())
			require.EqualValues(t, 9, u.Event.Log.Reset)
		}
	}
	t.Logf("%d points, %d disks, installed without its event on %d", points, disks, installed)
	require.NotZero(t, installed)
}

// The same for the log start.
func TestCrashInAdvanceLogStart(t *testing.T) {
	id := core.SnapshotID{End: 3, Epoch: 4}
	points, moved := 0, 0
	for done := false; !done; points++ {
		disk := fs.NewDouble()
		d := open(t, disk)
		require.NoError(t, d.Apply(nil, Link{}, lead(), &hooks{}))
		require.NoError(t, d.Flush())
		write(t, disk, "metadata", core.SnapshotID{End: 1, Epoch: 4})
		write(t, disk, "metadata", id)
		disk.FailAt(disk.Ops()+points+1, fs.Crash)
		h := &hooks{}
		err := d.Apply(nil, Link{}, []core.Op{{Kind: core.OpAdvanceLogStart, SnapshotID: id},
			happened("AdvanceLogStart", 3, state(3, 3))}, h)
		done = err == nil
		for _, crashed := range disk.Crashes() {
			again := open(t, crashed())
			switch s := again.Disk(); s.LogStart {
			case 0:
				require.Empty(t, h.events)
				require.Len(t, s.Snapshots, 2)
				require.Len(t, s.Epochs, 1)
			case 3:
				moved++
				require.Len(t, s.Snapshots, 1)
				require.Empty(t, s.Epochs)
			default:
				require.Failf(t, "log start", "%d", s.LogStart)
			}
			require.EqualValues(t, 3, again.Disk().LogEnd)
			require.False(t, again.rebased, "its own digest is known")
		}
		if d.Interrupted() {
			u, err := d.Unrecorded(disk.Crash(fs.KeepAll))
			require.NoError(t, err)
			require.EqualValues(t, 3, u.Log.StartOffset())
		}
	}
	t.Logf("%d points, moved on %d disks", points, moved)
	require.Greater(t, points, 3)
}

func TestSnapshotRefusals(t *testing.T) {
	raw := snapshotBytes(t, received)
	op := func(position int64, raw []byte) []core.Op {
		return []core.Op{{Kind: core.OpReceiveSnapshot, SnapshotID: received, Epoch: 4, Position: position, Raw: raw}}
	}
	d := open(t, fs.NewDouble())
	h := &hooks{}
	require.NoError(t, d.Apply(nil, Link{}, op(0, raw[:20]), h))
	require.ErrorIs(t, d.VerifySnapshot(received), ErrBadSnapshot, "a part")
	require.Error(t, d.Apply(nil, Link{}, op(19, raw[19:]), h))
	require.NoError(t, d.Apply(nil, Link{}, op(0, raw[:30]), h), "position 0 begins anew")
	require.NoError(t, d.Apply(nil, Link{}, op(30, raw[30:]), h))
	require.NoError(t, d.VerifySnapshot(received))
	require.ErrorIs(t, d.VerifySnapshot(core.SnapshotID{End: 8, Epoch: 4}), ErrBadSnapshot)
	abandon := []core.Op{{Kind: core.OpAbandonSnapshot, SnapshotID: received}}
	require.NoError(t, d.Apply(nil, Link{}, abandon, h))
	require.NoError(t, d.Apply(nil, Link{}, abandon, h))
	require.ErrorIs(t, d.VerifySnapshot(received), ErrBadSnapshot, "given up")
	require.Error(t, d.Apply(nil, Link{}, op(30, raw[30:]), h))
	_, ops := install(raw)
	require.Error(t, d.Apply(nil, Link{}, ops, h))
	require.Error(t, d.Apply(nil, Link{}, []core.Op{happened("TakeSnapshot", 0, func(e *event.Event) {
		e.Durable = &event.Durable{LogEnd: -1, Snapshot: event.SnapshotID{End: 9, Epoch: 4}}
	})}, h), "it is not there")
	require.NoError(t, d.Apply(nil, Link{}, []core.Op{{Kind: core.OpDeleteSnapshot, SnapshotID: received}}, h), "nor need it be")

	bad := append([]byte(nil), raw...)
	bad[70] ^= 1
	require.NoError(t, d.Apply(nil, Link{}, op(0, bad), h))
	require.ErrorIs(t, d.VerifySnapshot(received), ErrBadSnapshot)

	// What a process before has received is not what this one asked for.
	disk := fs.NewDouble()
	d = open(t, disk)
	require.NoError(t, d.Apply(nil, Link{}, op(0, raw[:200]), h))
	require.NoError(t, d.Close())
	d = open(t, disk)
	require.NoError(t, d.Apply(nil, Link{}, op(0, raw), h))
	require.NoError(t, d.VerifySnapshot(received))
}

// Directories that Kafka would not start with either, or has left so.
func TestOpenWithSnapshots(t *testing.T) {
	disk := fs.NewDouble()
	d := open(t, disk)
	require.NoError(t, d.Apply(nil, Link{}, lead(), &hooks{}))
	require.NoError(t, d.Flush())
	require.NoError(t, d.log.AdvanceStart(1, 4))
	require.NoError(t, d.Abandon())
	_, err := Open(disk.Crash(fs.KeepAll), "metadata", config())
	require.ErrorContains(t, err, "the log starts at offset 1, and none of the snapshots")
	write(t, disk, "metadata", core.SnapshotID{End: 3, Epoch: 4})
	again := open(t, disk.Crash(fs.KeepAll))
	require.EqualValues(t, 3, again.Disk().LogStart, "the log starts where a snapshot ends")
	require.Len(t, again.Disk().Snapshots, 1)
}
