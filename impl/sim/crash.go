package sim

import (
	"fmt"
	"slices"

	"github.com/quorate/quorate/impl/driver"
	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/quorumstate"
)

// crash ends the process, and mostly the machine: then the disk keeps some of
// what was not flushed.
func (n *node) crash() error {
	c := n.c
	if n.up {
		c.stats.Crashes++
		n.wasLeader = c.check.nodes[n.index].role == "Leader"
	}
	switch {
	case n.burnt && n.faultKind == fs.BitFlip:
		c.met(BitFlipped)
	case n.burnt && n.faultKind != fs.Crash && (!n.killed || n.fullUntil > 0):
		c.met(StorageFailed)
	}
	if n.driver != nil && n.driver.Interrupted() {
		n.interrupted = n.driver
		n.scratch = n.disk.Crash(fs.KeepAll)
	}
	n.disk.Fail(nil)
	n.disk.FailRead(nil)
	if !n.killed || !n.alive() {
		n.disk = n.disk.Crash(n.chooser())
	}
	if c.cfg.swap != nil {
		n.disk = c.cfg.swap(n.id, n.disk)
	}
	lost := c.cfg.Snapshots && !c.cfg.Members && n.index >= c.knobs.voters && !c.calm && c.snapRNG.chance(c.knobs.wipe) && c.happens(Wipe, n, nil)
	if c.cfg.LoseDisks && n.rng.chance(100) || lost {
		n.machine, n.last = machine{}, nil
		n.disk, n.interrupted = fs.NewDouble(), nil
		h := c.check.nodes[n.index]
		*h = history{id: h.id, voter: h.voter, leader: -1, voted: -1, highest: -1, votedFor: -1}
	}
	n.up, n.driver, n.core, n.paused = false, nil, nil, 0
	n.fuse, n.burnt, n.killed, n.faultKind = 0, false, false, fs.Crash
	n.wakeAt, n.wakeQueued = -1, -1
	n.flushing, n.flushWants = false, false
	c.check.crashed(n.index)
	c.dropConns(n)
	if !slices.ContainsFunc(c.nodes, func(n *node) bool { return n.up }) {
		c.met(AllDown)
	}
	if !c.calm && n.rng.chance(c.knobs.again) {
		if fuse := 1 + n.rng.below(25); c.happens(CrashAgain, n, nil) { // while it starts or soon after
			n.fuse = fuse
		}
	}
	delay := n.rng.between(0, c.knobs.downMax)
	if c.calm {
		delay = 10 * millisecond
	}
	c.after(delay, item{kind: restarts, node: n.index})
	return nil
}

// alive: the disk still works, as it does when only the process has died.
func (n *node) alive() bool {
	_, err := n.disk.List("")
	return err == nil
}

func (n *node) chooser() fs.Chooser {
	r := &n.rng
	switch r.below(8) {
	case 0:
		return fs.KeepAll
	case 1, 2:
		return fs.KeepNone
	case 3:
		return fs.KeepBelow(n.disk.Ops() - r.below(6))
	case 4:
		return fs.LoseOnly(n.disk.Ops() - r.below(6))
	case 5:
		return fs.KeepOnly(n.disk.Ops() - r.below(6))
	}
	return fs.KeepRandom(r.next())
}

// recovered holds the disk of a process that starts against what the events said
// is durable: all of that must be there, and nothing that was never written. An
// action whose event was not recorded, but whose effect survived, gets its event
// now, or the trace would not explain the disk.
func (n *node) recovered(d *driver.Driver) error {
	h := n.c.check.nodes[n.index]
	old := n.interrupted
	n.interrupted = nil
	if d.Disk().LogEnd == 0 && h.incarnation == 0 && !d.Disk().HasElection && old == nil {
		return nil
	}
	var un *driver.Unrecorded
	var unErr error
	if old != nil {
		un, unErr = old.Unrecorded(n.scratch)
	}
	problem := explain(h, d)
	if problem == "" {
		n.note(h, d, un)
		if err := n.recoveredSnapshots(h, d); err != nil {
			return err
		}
		h.keep(d)
		return nil
	}
	if unErr != nil {
		return violated("Durability", "%s; and of what was not recorded: %v", problem, unErr)
	}
	if un == nil {
		return violated("Durability", "%s", problem)
	}
	if un.Event.Action != "Restart" {
		// A process that died before its first event has done nothing that counts.
		if err := n.c.emit(n, un.Event, boundaries(un.Log, un.Event.Log)); err != nil {
			return err
		}
		n.noteKept(un)
	} else {
		h.seen = true
		h.epoch, h.leader, h.voted = un.Event.State.Epoch, un.Event.State.Leader, un.Event.State.Voted
	}
	if problem := explain(h, d); problem != "" {
		return violated("Durability", "%s; with what was not recorded (%s)", problem, un.Event.Action)
	}
	if err := n.recoveredSnapshots(h, d); err != nil {
		return err
	}
	h.keep(d)
	return nil
}

// explain says why the disk cannot be what the events left; empty if it can.
func explain(h *history, d *driver.Driver) string {
	disk := d.Disk()
	if e := disk.Election; disk.HasElection != h.seen && (h.seen || e.Epoch != 0) ||
		int32(e.Epoch) != h.epoch || int32(e.Leader) != h.leader || int32(e.Voted.ID) != h.voted {
		return fmt.Sprintf("%s says epoch %d, leader %d, vote %d (exists: %t), the events %d, %d, %d (%t)",
			quorumstate.FileName, e.Epoch, e.Leader, e.Voted.ID, disk.HasElection, h.epoch, h.leader, h.voted, h.seen)
	}
	if int64(disk.LogStart) != h.start {
		return fmt.Sprintf("log starts at %d, by the events at %d", disk.LogStart, h.start)
	}
	end := int64(disk.LogEnd)
	digest := d.Log().Digest()
	if end < h.durable {
		return fmt.Sprintf("log ends at %d, durable up to %d", end, h.durable)
	}
	b, _ := at(h.log, h.durable)
	if have, ok := d.Log().DigestAt(h.durable); !ok || have != b.digest {
		return fmt.Sprintf("log is not what was durable up to %d", h.durable)
	}
	if b, ok := at(h.log, end); ok && b.digest == digest {
		return ""
	}
	if b, ok := at(h.cut, end); ok && b.digest == digest {
		return ""
	}
	return fmt.Sprintf("log ends at %d (digest %016x), and was never so", end, digest)
}

// keep takes over what recovery kept, all of which is durable now.
func (h *history) keep(d *driver.Driver) {
	l := d.Log()
	var kept []boundary // what is before the start it has, as a snapshot
	for _, b := range h.log {
		if b.end <= l.StartOffset() {
			kept = append(kept, b)
		}
	}
	epochs := l.Epochs()
	for end := l.StartOffset() + 1; end <= l.EndOffset(); end++ {
		digest, ok := l.DigestAt(end)
		if !ok {
			continue
		}
		for len(epochs) > 1 && epochs[1].StartOffset < end {
			epochs = epochs[1:]
		}
		kept = append(kept, boundary{end: end, digest: digest, epoch: epochs[0].Epoch})
	}
	h.log, h.cut, h.durable = kept, h.cut[:0], l.EndOffset()
}

func (n *node) note(h *history, d *driver.Driver, un *driver.Unrecorded) {
	end := int64(d.Disk().LogEnd)
	if end < h.end() {
		n.c.met(UnflushedTailLost)
		if n.wasLeader {
			n.c.met(LeaderTailLost)
		}
	}
	if b, ok := at(h.log, end); !ok || b.digest != d.Log().Digest() {
		n.c.met(OldTailBack)
	}
	if un != nil && un.HasElection {
		n.c.met(UnrecordedElectionLost)
	}
}

func (n *node) noteKept(un *driver.Unrecorded) {
	if un.HasElection {
		n.c.met(UnrecordedElectionKept)
	}
	if l := un.Event.Log; l != nil {
		if l.Reset > 0 {
			n.c.met(UnrecordedInstallKept)
		} else if l.Truncated >= 0 {
			n.c.met(UnrecordedTruncationKept)
		} else {
			n.c.met(UnrecordedAppendKept)
		}
	}
}
