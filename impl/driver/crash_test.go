package driver

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/fs/crashtest"
	"github.com/quorate/quorate/traces/event"
)

// disks are the states of which a crash may leave any; d is the driver that is at work.
type disks struct {
	d       *Driver
	allowed []core.DiskState
	zero    bool // there is a zero checkpoint, or was one
}

// led is the state after lead, with the snapshots given.
func led(t testing.TB, ids ...core.SnapshotID) core.DiskState {
	s := core.DiskState{Election: core.Election{Epoch: 4, Leader: 1, Voted: core.NoKey}, HasElection: true,
		LogEnd: 3, Epochs: []core.EpochStart{{Epoch: 4, Start: 0}}}
	for _, id := range ids {
		s.Snapshots = append(s.Snapshots, core.Snapshot{ID: id, Size: int64(len(bytesOf(t, id)))})
	}
	return s
}

func bytesOf(t testing.TB, id core.SnapshotID) []byte {
	disk := fs.NewDouble()
	require.NoError(t, disk.Mkdir("d"))
	put(t, disk, "d", id)
	b, err := fs.ReadFile(disk, "d/"+stored(id).FileName())
	require.NoError(t, err)
	return b
}

// crashCase does something with a driver that has led, over the snapshots given. A crash
// leaves the state before or the one after, and the latter once do has returned nil.
func crashCase(name string, have []core.SnapshotID, before, after func(t testing.TB) core.DiskState, do func(t testing.TB, d *Driver) error) crashtest.Case[disks] {
	return crashtest.Case[disks]{
		Name: name,
		Before: func(t testing.TB, disk *fs.Double) (disks, error) {
			d, err := Open(disk, "metadata", config())
			require.NoError(t, err)
			require.NoError(t, d.Apply(nil, Link{}, lead(), &hooks{}))
			require.NoError(t, d.Flush())
			for _, id := range have {
				put(t, disk, "metadata", id)
			}
			return disks{d, []core.DiskState{before(t)}, slices.Contains(have, core.SnapshotID{})}, nil
		},
		Do: func(t testing.TB, disk *fs.Double, s disks) (disks, error) {
			if err := do(t, s.d); err != nil {
				return disks{allowed: []core.DiskState{before(t), after(t)}, zero: s.zero}, err
			}
			return disks{allowed: []core.DiskState{after(t)}, zero: s.zero}, nil
		},
		Recover: func(t testing.TB, disk *fs.Double, s disks) (disks, error) {
			d, err := Open(disk, "metadata", config())
			if err != nil {
				return s, err
			}
			names, err := disk.List("metadata")
			require.NoError(t, err)
			if s.zero && !slices.Contains(names, stored(core.SnapshotID{}).FileName()) {
				require.Positive(t, d.Disk().LogStart, "no snapshot has replaced the zero checkpoint, and it is gone")
			}
			for _, a := range s.allowed {
				if reflect.DeepEqual(a, d.Disk()) {
					_, err := core.New(core.Config{ID: 1, Voters: []core.ReplicaKey{{ID: 1}}}, d.Disk(), 0, &core.Effects{})
					require.NoError(t, err)
					return disks{allowed: []core.DiskState{a}, zero: s.zero}, d.Abandon()
				}
			}
			return s, fmt.Errorf("found %+v, allowed are %+v", d.Disk(), s.allowed)
		},
		Live: func(t testing.TB, disk *fs.Double, s disks) error {
			d, err := Open(disk, "metadata", config())
			require.NoError(t, err)
			end := s.allowed[0].LogEnd
			require.NoError(t, d.Apply(nil, Link{}, []core.Op{
				{Kind: core.OpAppendData, Base: end, End: end + 1, Epoch: 4, Records: [][]byte{{1}}}, happened("Append", int64(end)+1, changed),
			}, &hooks{}))
			require.NoError(t, d.Flush())
			again, err := Open(disk.Crash(fs.KeepNone), "metadata", config())
			require.NoError(t, err)
			require.Equal(t, end+1, again.Disk().LogEnd)
			return d.Abandon()
		},
		Key: func(s disks) string { return fmt.Sprintf("%+v", s.allowed) },
	}
}

// retention moves the log start to the end of the last snapshot; held are those that a
// start finds before.
func retention(name string, files []core.SnapshotID, held ...core.SnapshotID) crashtest.Case[disks] {
	last := files[len(files)-1]
	return crashCase(name, files,
		func(t testing.TB) core.DiskState { return led(t, held...) },
		func(t testing.TB) core.DiskState {
			s := led(t, last)
			s.LogStart, s.Epochs = last.End, nil
			return s
		},
		func(t testing.TB, d *Driver) error {
			return d.Apply(nil, Link{}, []core.Op{{Kind: core.OpAdvanceLogStart, SnapshotID: last},
				happened("AdvanceLogStart", int64(last.End), state(3, 3))}, &hooks{})
		})
}

func crashCases() []crashtest.Case[disks] {
	first, last := core.SnapshotID{End: 1, Epoch: 4}, core.SnapshotID{End: 3, Epoch: 4}
	return []crashtest.Case[disks]{
		crashCase("install", []core.SnapshotID{last},
			func(t testing.TB) core.DiskState { return led(t, last) },
			func(t testing.TB) core.DiskState {
				s := led(t, received)
				s.LogStart, s.LogEnd, s.Epochs = 9, 9, nil
				return s
			},
			func(t testing.TB, d *Driver) error {
				chunks, ops := install(bytesOf(t, received))
				if err := d.Apply(nil, Link{}, chunks, &hooks{}); err != nil {
					return err
				}
				if err := d.VerifySnapshot(received); err != nil {
					return err
				}
				return d.Apply(nil, Link{}, ops, &hooks{})
			}),
		retention("retention", []core.SnapshotID{first, last}, first, last),
		retention("retention, and with it the zero checkpoint", []core.SnapshotID{{}, last}, last),
		crashCase("a vote", nil,
			func(t testing.TB) core.DiskState { return led(t) },
			func(t testing.TB) core.DiskState {
				s := led(t)
				s.Election.Epoch = 5
				return s
			},
			func(t testing.TB, d *Driver) error {
				return d.Apply(nil, Link{}, []core.Op{election(5), happened("HandleVoteRequest", 3, func(e *event.Event) {
					e.State.Epoch = 5
					e.Durable = &event.Durable{Election: true, LogEnd: -1}
				})}, &hooks{})
			}),
	}
}

// TestEveryCrash: no crash at any operation of installing a snapshot, of moving the log
// start and deleting what it makes useless, and of a vote, leaves anything but what was
// before or what is to be, and not the first once it was said to be done. Which flushes
// that needs is tested where they are, in log, snapshot and quorumstate.
func TestEveryCrash(t *testing.T) { crashtest.Sweep(t, crashCases()) }

// TestEveryFailure: what fails is said, by operation and file, and nothing is lost.
func TestEveryFailure(t *testing.T) { crashtest.Failures(t, crashCases()) }
