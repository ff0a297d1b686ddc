package driver

import (
	"errors"
	"fmt"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/log"
	"github.com/quorate/quorate/impl/snapshot"
)

// The core keeps what a voter set says of a voter besides its key as a text that it does
// not look into: a KRaftVoters record of that voter alone, without its key.

// Info is that text of a voter.
func Info(v log.Voter) string {
	v.ID, v.Directory = 0, [16]byte{}
	return string(log.KRaftVotersControl([]log.Voter{v}).Value)
}

// CoreVoter is a voter as the core has it.
func CoreVoter(v log.Voter) core.Voter {
	return core.Voter{Key: core.ReplicaKey{ID: core.ReplicaID(v.ID), Directory: v.Directory}, Info: Info(v)}
}

// Voter is a voter of the core as a record has it. One without a text (of a static set)
// listens nowhere and can do nothing.
func Voter(v core.Voter) log.Voter {
	var known log.Voter
	if v.Info != "" {
		all, err := log.ParseKRaftVoters([]byte(v.Info))
		if err != nil || len(all) != 1 {
			panic(fmt.Sprintf("driver: the text of voter %d is none of ours: %v", v.Key.ID, err))
		}
		known = all[0]
	}
	known.ID, known.Directory = int32(v.Key.ID), v.Key.Directory
	return known
}

func coreVoters(voters []log.Voter) (set []core.Voter) {
	for _, v := range voters {
		set = append(set, CoreVoter(v))
	}
	return set
}

// Voters are those of a set of the core.
func Voters(set []core.Voter) (voters []log.Voter) {
	for _, v := range set {
		voters = append(voters, Voter(v))
	}
	return voters
}

// SnapshotControls are the records that follow the header of a snapshot that a replica takes:
// the voter set that was in force at its end, if kraft.version was 1.
func SnapshotControls(set *core.VoterSet) []log.ControlRecord {
	if !set.Dynamic() {
		return nil
	}
	return []log.ControlRecord{log.KRaftVersionControl(1), log.KRaftVotersControl(Voters(set.Voters))}
}

// dynamicSet are the records that make a voter set, and kraft.version 1.
func dynamicSet(set []core.Voter) []log.ControlRecord {
	return SnapshotControls(&core.VoterSet{Voters: set})
}

// openVoterSets completes DiskState with the voter sets: that of what is before the log
// start, and those of the log. (KRaftControlRecordStateMachine.updateState)
func (d *Driver) openVoterSets() error {
	before, offset := snapshot.ID{}, core.ZeroCheckpoint
	if d.disk.LogStart > 0 {
		before, offset = stored(d.disk.Snapshots[0].ID), d.disk.LogStart-1
	}
	r, err := snapshot.Open(d.snap.fsys, d.dir, before)
	switch {
	case errors.Is(err, fs.ErrNotExist) && before.End == 0: // no zero checkpoint
	case err != nil:
		return err
	default:
		voters := r.Voters()
		if err := r.Close(); err != nil {
			return err
		}
		if voters != nil {
			d.disk.VoterSets = append(d.disk.VoterSets, core.VoterSet{Offset: offset, Voters: coreVoters(voters)})
		}
	}
	for _, s := range d.log.VoterSets() {
		if s.Offset >= int64(d.disk.LogStart) && s.Offset < int64(d.disk.LogEnd) {
			d.disk.VoterSets = append(d.disk.VoterSets, core.VoterSet{Offset: core.Offset(s.Offset), Voters: coreVoters(s.Voters)})
		}
	}
	return nil
}

// VerifiedVoters are the voters in the header of the snapshot that VerifySnapshot has found
// good, for InputSnapshotVerified; nil if it has none.
func (d *Driver) VerifiedVoters() []core.Voter {
	d.snap.mu.Lock()
	defer d.snap.mu.Unlock()
	if d.snap.part == nil {
		return nil
	}
	return coreVoters(d.snap.part.Voters())
}

// controls are the records of a control batch with more than a LeaderChange.
func controls(b log.Batch) (list []core.ControlRecord, err error) {
	more := false
	err = b.Controls(func(r log.Record, voters []log.Voter) error {
		c := core.ControlRecord{}
		switch r.Control() {
		case log.ControlKRaftVersion:
			c.Kind, more = core.KRaftVersionRecord, true
		case log.ControlKRaftVoters:
			c.Kind, c.Voters, more = core.KRaftVotersRecord, coreVoters(voters), true
		}
		list = append(list, c)
		return nil
	})
	if !more {
		list = nil
	}
	return list, err
}
