package core

import (
	"errors"
	"strconv"
)

// check refuses a disk that cannot be: an error of the driver, or files that do not
// belong together.
func (d *DiskState) check(c *Config) error {
	switch {
	case d.HasElection && (d.Election.Epoch < 0 || d.Election.Epoch > MaxEpoch):
		return errors.New("core: the epoch " + strconv.Itoa(int(d.Election.Epoch)) + " of the quorum state is none")
	case d.LogEnd < 0:
		return errors.New("core: the log end is negative")
	case d.LogStart < 0 || d.LogStart > d.LogEnd:
		return errors.New("core: the log starts at " + strconv.FormatInt(int64(d.LogStart), 10) +
			" and ends at " + strconv.FormatInt(int64(d.LogEnd), 10))
	case d.LogEnd > 0 && !d.HasElection:
		// The election is durable before anything is appended.
		return errors.New("core: no quorum-state beside a log that ends at " +
			strconv.FormatInt(int64(d.LogEnd), 10) + ": the vote and the epoch are lost")
	case d.LogEnd > d.LogStart && len(d.Epochs) == 0:
		return errors.New("core: the log has records and no epochs")
	case d.HasElection && d.Election.Voted.ID != NoReplica && c.ID == NoReplica:
		return errors.New("core: there is a vote and the replica has no id")
	}
	for i, e := range d.Epochs {
		if e.Epoch > MaxEpoch {
			return errors.New("core: the epoch " + strconv.Itoa(int(e.Epoch)) + " of the log is none")
		}
		if e.Epoch <= 0 || e.Start < 0 || e.Start >= d.LogEnd {
			return errors.New("core: an epoch of the log has no records")
		}
		if i == 0 && e.Start != d.LogStart || i > 0 && (e.Epoch <= d.Epochs[i-1].Epoch || e.Start <= d.Epochs[i-1].Start) {
			return errors.New("core: the epochs of the log do not ascend")
		}
	}
	return d.checkSnapshots()
}

// checkSnapshots: each snapshot is of what the log has, or had before its start.
func (d *DiskState) checkSnapshots() error {
	if d.LogStart > 0 && (len(d.Snapshots) == 0 || d.Snapshots[0].ID.End != d.LogStart) {
		return errors.New("core: the log starts at " + strconv.FormatInt(int64(d.LogStart), 10) +
			", and no snapshot ends there")
	}
	log := logState{start: d.LogStart, end: d.LogEnd, epochs: d.Epochs, snapshots: d.Snapshots}
	for i, s := range d.Snapshots {
		name := "core: the snapshot that ends at " + strconv.FormatInt(int64(s.ID.End), 10) +
			" in epoch " + strconv.Itoa(int(s.ID.Epoch))
		switch {
		case s.ID.End <= 0 || s.ID.Epoch <= 0 || s.ID.Epoch > MaxEpoch || s.Size <= 0:
			return errors.New(name + " is none")
		case i > 0 && s.ID.End <= d.Snapshots[i-1].ID.End:
			return errors.New(name + " does not ascend")
		case !log.contains(s.ID):
			return errors.New(name + " is not of this log")
		}
	}
	if len(d.Snapshots) > 0 && len(d.Epochs) > 0 && d.LogStart > 0 && d.Snapshots[0].ID.Epoch > d.Epochs[0].Epoch {
		return errors.New("core: the log starts in an epoch before that of its snapshot")
	}
	return nil
}
