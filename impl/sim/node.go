package sim

import (
	"errors"
	"fmt"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/driver"
	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/log"
	"github.com/quorate/quorate/impl/quorumstate"
	"github.com/quorate/quorate/impl/snapshot"
	"github.com/quorate/quorate/traces/event"
)

// replica is a core.Replica, or what a test puts in its place.
type replica interface {
	Step(now core.Ticks, in *core.Input, out *core.Effects)
	State() core.State
}

const dataDir = "metadata"

// node is a replica with its machine: a disk, a clock, connections.
type node struct {
	c     *cluster
	index int
	id    core.ReplicaID
	cfg   core.Config
	store quorumstate.Config

	rng        rng // of what happens to it and its disk
	disk       *fs.Double
	fullUntil  Time // its disk is full until then
	clockStart core.Ticks
	clockRate  int64 // millionths of a tick in a microsecond, times 1000

	inc    int32
	up     bool
	paused Time // until then, if that is to come
	core   replica
	raw    *core.Replica // what core wraps, if it does
	driver *driver.Driver
	out    core.Effects

	fuse      int // crash at the so manieth point from here; 0: never
	faultKind fs.Fault
	burnt     bool
	killed    bool // the process dies, the machine lives

	wakeAt, wakeQueued Time // when the core wants an input, and the earliest item for it

	flushing   bool
	flushWants bool
	flushID    core.FlushID
	flushEnd   core.Offset
	doneID     core.FlushID
	doneEnd    core.Offset

	conns     []*conn // to each node
	connCount int64
	standing  int32 // epoch in which it was candidate last
	machine   machine
	last      *event.Event
	silent    bool // nothing is recorded: not yet, or not any more
	attachDue bool // recording begins with the next start

	// Of the crash: what may have been left on disk without an event.
	interrupted *driver.Driver
	scratch     *fs.Double
	wasLeader   bool
}

func newNode(c *cluster, index int, voters []core.ReplicaKey) *node {
	id := core.ReplicaID(index + 1)
	cfg := c.knobs.core
	cfg.ID, cfg.Directory, cfg.Voters = id, c.cfg.Directory(id), voters
	cfg.PreVote, cfg.GrantPreVoteAfterEnd = c.knobs.preVote, c.knobs.grantAfterEnd
	cfg.Trace = true
	n := &node{
		c: c, index: index, id: id, cfg: cfg, disk: fs.NewDouble(), rng: rng{state: c.rng.next()},
		clockStart: core.Ticks(c.rng.below(1_000_000)),
		clockRate:  1_000_000, conns: make([]*conn, c.knobs.voters+c.knobs.observers),
		store:  quorumstate.Config{Version: 1},
		wakeAt: -1, wakeQueued: -1, faultKind: fs.Crash,
	}
	if d := c.knobs.drift; d > 0 {
		n.clockRate += int64(c.rng.below(2*d+1)-d) * 1000
	}
	return n
}

// ticks is the time on the clock of the node.
func (n *node) ticks(t Time) core.Ticks {
	return n.clockStart + core.Ticks(int64(t)*n.clockRate/1_000_000_000)
}

// when is the first moment at which the clock shows a time.
func (n *node) when(ticks core.Ticks) Time {
	t := Time((int64(ticks-n.clockStart)*1_000_000_000 + n.clockRate - 1) / n.clockRate)
	for n.ticks(t) < ticks {
		t++
	}
	return t
}

// start opens the disk and starts a process.
func (n *node) start() error {
	n.c.stepNode = n.index
	n.arm()
	d, err := driver.Open(n.disk, dataDir, n.driverConfig())
	if n.burnt {
		n.c.stats.CrashesInStart++
		n.c.met(CrashInRecovery)
		return n.crash()
	}
	if err != nil {
		return err
	}
	n.inc++
	if d.Recovered().CutBytes > 0 {
		n.c.met(TornTailCut)
	}
	if err := n.recovered(d); err != nil {
		return err
	}
	n.driver, n.up = d, true
	cfg := n.cfg
	cfg.Attach = n.attachDue
	n.silent = n.silent && !n.attachDue
	cfg.Seed = mix(n.c.cfg.Seed ^ uint64(n.index)<<40 ^ uint64(n.inc)<<8)
	r, err := core.New(cfg, d.Disk(), n.ticks(n.c.now), &n.out)
	if err != nil {
		return err
	}
	n.core, n.raw = r, r
	if n.c.cfg.wrap != nil {
		n.core = n.c.cfg.wrap(n.id, r)
	}
	if n.inc > 1 {
		n.c.stats.Restarts++
	}
	return n.apply(nil, driver.Link{})
}

func (n *node) driverConfig() driver.Config {
	cfg := driver.Config{
		Core:        n.cfg,
		Log:         log.Config{SegmentBytes: n.c.knobs.segmentBytes, RecoveryPointBytes: n.c.knobs.pointBytes},
		QuorumState: n.store,
		Incarnation: n.inc + 1,
	}
	if n.c.cfg.Snapshots {
		cfg.SnapshotDigest = n.snapshotDigest
	}
	return cfg
}

// input gives the core one input, and carries out what it asks for.
func (n *node) input(in *core.Input, link driver.Link) error {
	n.c.stepNode = n.index
	n.c.stats.Steps++
	n.core.Step(n.ticks(n.c.now), in, &n.out)
	return n.apply(in, link)
}

func (n *node) apply(in *core.Input, link driver.Link) error {
	n.aim()
	err := n.driver.Apply(in, link, n.out.Ops, n)
	if err == nil && n.c.cfg.Snapshots && !n.burnt {
		err = n.machineStep()
	}
	if n.burnt && (err == nil || storageFault(err)) {
		n.c.stats.CrashesInStep++
		return n.crash()
	}
	if err != nil {
		return err
	}
	if n.out.Wake == core.Never {
		n.wakeAt = -1
		return nil
	}
	n.wakeAt = max(n.when(n.out.Wake), n.c.now)
	if n.wakeQueued < 0 || n.wakeAt < n.wakeQueued {
		n.wakeQueued = n.wakeAt
		n.c.at(n.wakeAt, item{kind: wake, node: n.index})
	}
	return nil
}

func (n *node) woken() error {
	if !n.up || n.c.now != n.wakeQueued {
		return nil
	}
	n.wakeQueued = -1
	switch {
	case n.wakeAt < 0:
		return nil
	case n.wakeAt > n.c.now:
		n.wakeQueued = n.wakeAt
		n.c.at(n.wakeAt, item{kind: wake, node: n.index})
		return nil
	}
	return n.input(&core.Input{Kind: core.InputTick}, driver.Link{})
}

// arm lets the operations of the disk burn the fuse, if there is one.
func (n *node) arm() {
	n.burnt = false
	if n.fullUntil > n.c.now {
		n.disk.Fail(n.full)
		return
	}
	if n.fullUntil > 0 {
		n.roomAgain()
	}
	if n.fuse == 0 {
		n.disk.Fail(nil)
		return
	}
	n.disk.Fail(func(op fs.Op) fs.Fault {
		if !n.burn() {
			return fs.None
		}
		n.killed = false
		if n.faultKind == fs.TornWrite && op.Kind != fs.OpWrite {
			return fs.Crash
		}
		return n.faultKind
	})
}

// full lets nothing more be written. The process stops, and its machine goes on.
func (n *node) full(op fs.Op) fs.Fault {
	if op.Kind != fs.OpWrite && op.Kind != fs.OpCreate {
		return fs.None
	}
	if !n.up {
		n.c.met(DiskStayedFull)
	}
	n.burnt, n.faultKind, n.killed = true, fs.DiskFull, true
	return fs.DiskFull
}

// roomAgain is when somebody has made room on the disk.
func (n *node) roomAgain() {
	n.fullUntil = 0
	n.disk.Restart()
}

// aim lets a step that writes crash more often than chance alone would.
func (n *node) aim() {
	c := n.c
	if c.calm || c.knobs.aim == 0 || n.fuse > 0 || n.fullUntil > 0 {
		return
	}
	for i := range n.out.Ops {
		often, r := 0, &n.rng
		switch n.out.Ops[i].Kind {
		case core.OpPersist, core.OpAppendRaw, core.OpAppendLeaderChange, core.OpAppendVoters:
			often = c.knobs.aim
		case core.OpInstallSnapshot, core.OpAdvanceLogStart:
			often = 40 * c.knobs.aim
		case core.OpTruncate:
			often = 40 * c.knobs.aim
			if r.chance(often/2) && c.happens(Aim, n, nil) { // later, perhaps before it is flushed
				c.after(r.between(0, c.knobs.flushMax), item{kind: crashes, node: n.index})
			}
		}
		if r.chance(often) && c.happens(Aim, n, nil) {
			n.fuse, n.faultKind = 1+r.below(8), fs.Crash
			n.killed = r.chance(300)
			n.arm()
			return
		}
	}
}

// burn is called at each point where a crash may happen.
func (n *node) burn() bool {
	if n.fuse == 0 {
		return false
	}
	n.fuse--
	n.burnt = n.fuse == 0
	return n.burnt
}

func (n *node) point() error {
	if n.burn() {
		return errCrash
	}
	return nil
}

// Time implements [driver.Hooks].
func (n *node) Time() int64 { return 1_700_000_000_000 + int64(n.c.now/millisecond) }

// Record implements [driver.Hooks].
func (n *node) Record(e *event.Event) error {
	if e.Action == "" { // recording begins or ends, and nothing happens
		return n.c.give(n, e)
	}
	if err := n.point(); err != nil {
		return err
	}
	return n.c.emit(n, e, boundaries(n.driver.Log(), e.Log))
}

// boundaries are the ends of the batches that a change appended.
func boundaries(l *log.Log, change *event.LogChange) []boundary {
	if change == nil || len(change.Appended) == 0 {
		return nil
	}
	var found []boundary
	end := change.Base
	for _, run := range change.Appended {
		for range run.Count {
			end++
			if digest, ok := l.DigestAt(end); ok {
				found = append(found, boundary{end: end, digest: digest, epoch: run.Epoch})
			}
		}
	}
	return found
}

// Flush implements [driver.Hooks].
func (n *node) Flush(id core.FlushID, end core.Offset) error {
	if err := n.point(); err != nil {
		return err
	}
	n.flushID, n.flushEnd, n.flushWants = id, end, true
	n.startFlush()
	return nil
}

// startFlush: one flush at a time, as in a real process; those asked for
// meanwhile become one.
func (n *node) startFlush() {
	if n.flushing || !n.flushWants {
		return
	}
	n.flushing = true
	n.c.after(n.flushDelay(), item{kind: flushes, node: n.index, inc: n.inc})
}

func (n *node) flush(inc int32) error {
	if !n.up || inc != n.inc {
		return nil
	}
	n.c.stepNode = n.index
	n.doneID, n.doneEnd, n.flushWants = n.flushID, n.flushEnd, false
	err := n.driver.Flush()
	if n.burnt {
		return n.crash()
	}
	if err != nil {
		return err
	}
	n.c.after(n.flushDelay(), item{kind: flushed, node: n.index, inc: n.inc})
	return nil
}

func (n *node) flushDone(inc int32) error {
	if !n.up || inc != n.inc {
		return nil
	}
	n.flushing = false
	n.startFlush()
	return n.input(&core.Input{Kind: core.InputFlushed, Flush: n.doneID, End: n.doneEnd}, driver.Link{})
}

func (n *node) flushDelay() Time {
	if n.c.calm {
		return n.rng.between(50, millisecond)
	}
	return n.rng.between(n.c.knobs.flushMin, n.c.knobs.flushMax) / 2
}

// Complete implements [driver.Hooks].
func (n *node) Complete(id core.ClientID, result core.Result) error {
	if err := n.point(); err != nil {
		return err
	}
	return n.c.completed(n, id, result)
}

// storageFault says whether an error is one that was asked for.
func storageFault(err error) bool {
	var corrupt *log.CorruptError
	var damaged *snapshot.CorruptError
	return errors.As(err, &corrupt) || errors.As(err, &damaged) || errors.Is(err, errCrash) || errors.Is(err, fs.ErrCrashed) || errors.Is(err, fs.ErrInjected) || errors.Is(err, fs.ErrNoSpace)
}

func (n *node) String() string { return fmt.Sprintf("replica %d", n.id) }
