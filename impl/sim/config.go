package sim

import (
	"fmt"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/traces/event"
)

// Choice is a switch that the seed may set.
type Choice uint8

// Choices.
const (
	Drawn Choice = iota
	On
	Off
)

// Config of a run. What is zero is drawn from the seed, unless it says otherwise.
type Config struct {
	Seed uint64
	// Voters is 1 to 9; Observers is up to 9, -1 for none.
	Voters, Observers int
	PreVote           Choice
	// Duration is how long, in virtual time, there are faults and clients. Steps
	// ends that earlier, after so many steps of cores; 0: no limit.
	Duration Time
	Steps    int64
	Clients  int
	// NoFaults: nothing is lost, late, crashed or slow.
	NoFaults bool
	// LoseDisks: a crash may take the disk with it. A voter that comes back empty
	// under its old id can break safety, so a run may end with an error then.
	LoseDisks bool
	// Snapshots: replicas take snapshots, logs start late, and the disks of observers are
	// lost. Not drawn.
	Snapshots bool
	// Attach is when the first node begins to record, the others soon after: Sinks.Event
	// takes nothing before. Detach is when they begin to end it; 0: never. Not drawn.
	Attach, Detach Time
	// Pauses: processes stop for a while and go on, and partitions come and go quickly. Not
	// drawn.
	Pauses bool
	// Members: the voters are in the log, and change (KIP-853). Not drawn; with Pre-Vote,
	// since without it a voter that was removed may raise the epoch for ever.
	Members bool
	// Without leaves kinds of faults out, Skip single faults, by their number (see
	// Happening): how a run that failed is made smaller. Not drawn.
	Without Knobs
	Skip    Ranges
	// Heals is how often, in between, all faults stop until the cluster has made
	// progress. Not drawn.
	Heals int
	// GrantPreVoteAfterEnd: see core.Config. Not drawn.
	GrantPreVoteAfterEnd bool

	// wrap lets a test replace a core, and swap the disk that a crash left.
	wrap func(id core.ReplicaID, r replica) replica
	swap func(id core.ReplicaID, disk *fs.Double) *fs.Double
}

// Sinks take what a run gives. Each may be nil. An error ends the run.
type Sinks struct {
	// Event takes the events of all nodes, in order for each; the event may be kept.
	Event func(e *event.Event) error
	// Fault takes what goes wrong, as it does; what it is given is used once.
	Fault func(h *Happening)
	// Clock is told the virtual time before each event.
	Clock func(now Time)
	// Invoke and Return take the operations of clients, in order of time. Invoked
	// with no Return: the run ended with an error before.
	Invoke, Return func(op Operation) error
	// Committed takes every data record of the log at the end of a run, in order.
	Committed func(offset int64, value []byte) error
}

// OperationKind is what a client does.
type OperationKind uint8

// Kinds of operations.
const (
	Append OperationKind = iota + 1
	Read
)

// Outcome of an operation.
type Outcome uint8

// Outcomes. After Unknown an append may yet take effect; after Failed it never
// will.
const (
	Pending Outcome = iota
	OK
	Failed
	Unknown
)

// Operation of a client. A client has one at a time. It may be tried at several
// nodes, but an append again only if it has certainly failed.
type Operation struct {
	Client int
	// ID is unique in the run.
	ID   int64
	Kind OperationKind
	// Value is what is appended, unique in the run; of a read that was answered the
	// last value below Offset.
	Value    []byte
	Invoked  Time
	Returned Time
	Outcome  Outcome
	// Offset of the record appended, or the offset up to which a read sees all.
	Offset int64
	// Error is the last Kafka error code.
	Error core.ErrorCode
}

// Stats counts what happened in a run.
type Stats struct {
	Steps, Events                     int64
	Faults                            int64 // those skipped too
	Elections, Truncations            int64
	Crashes, CrashesInStep            int64
	CrashesInStart, Restarts          int64
	Partitions, Resignations          int64
	Sent, Dropped, Duplicated, Resets int64
	AppendsAcked, AppendsFailed       int64
	AppendsUnknown                    int64
	Reads, ReadsFailed                int64
	Batches, Records, Committed       int64 // of the log at the end; records committed
	VirtualTime                       Time
	// Slowest is how long, in thousandths of a round, it took at most to elect a leader
	// after the faults, then to commit, then to agree.
	Slowest   [3]int64
	Sometimes [numSometimes]int64
}

// Sometimes is something that a run should meet now and then, or what depends
// on it is not tested.
type Sometimes int

// Things that should happen sometimes.
const (
	// TruncatedDivergence: a follower cut off records that its leader does not have.
	TruncatedDivergence Sometimes = iota
	// UnflushedTailLost: a crash lost records that were written and not flushed.
	UnflushedTailLost
	// LeaderTailLost: the same, of a leader.
	LeaderTailLost
	// UnrecordedElectionKept: a crash before the event kept the new quorum-state file.
	UnrecordedElectionKept
	// UnrecordedElectionLost: it did not, so a vote or an epoch was never there.
	UnrecordedElectionLost
	// UnrecordedAppendKept: a crash before the event kept records.
	UnrecordedAppendKept
	// UnrecordedTruncationKept: a crash before the event kept a truncation.
	UnrecordedTruncationKept
	// OldTailBack: a crash undid a truncation that was not flushed.
	OldTailBack
	// TornTailCut: recovery cut off a torn batch.
	TornTailCut
	// CrashInRecovery: a process died while it opened its log.
	CrashInRecovery
	// LateCopyHandled: a copy of a request came after its connection was closed.
	LateCopyHandled
	// AckLost: an append was acknowledged and the client did not hear of it.
	AckLost
	// ElectionSplit: two candidates stood in one epoch.
	ElectionSplit
	// LateLeader: a leader was elected in an epoch below that of another replica.
	LateLeader
	// AllDown: no replica was running.
	AllDown
	// ReadRetried: a read succeeded at a second node.
	ReadRetried
	// StorageFailed: a write or flush failed and stopped a replica.
	StorageFailed
	// BitFlipped: so did what was read.
	BitFlipped
	// SnapshotTaken: a state machine wrote a snapshot. This and what follows only
	// happens with Config.Snapshots.
	SnapshotTaken
	// SnapshotInstalled: one took the place of a log.
	SnapshotInstalled
	// SnapshotOverRecords: that log had records that were not in the snapshot's log.
	SnapshotOverRecords
	// SnapshotLoaded: a state machine began with one.
	SnapshotLoaded
	// SnapshotDamaged: one was damaged on its way, and refused.
	SnapshotDamaged
	// LogStartAdvanced: a log forgot its beginning.
	LogStartAdvanced
	// UnrecordedSnapshotKept: a crash before the event kept a snapshot.
	UnrecordedSnapshotKept
	// UnrecordedInstallKept: a crash before the event kept a snapshot and the empty log.
	UnrecordedInstallKept
	// Paused: a process stopped, and went on. This and what follows only happens with
	// Config.Pauses.
	Paused
	// LeaderPaused: it led.
	LeaderPaused
	// PausedLeaderReplaced: another led by the time at which it went on.
	PausedLeaderReplaced
	// PartitionFlapped: a partition came and went quickly.
	PartitionFlapped
	// VoterChangeDone: a change of the voter set was answered with success. This and what
	// follows only happens with Config.Members.
	VoterChangeDone
	// VoterAdded: a replica became a voter.
	VoterAdded
	// LeaderRemoved: a leader removed itself.
	LeaderRemoved
	// VotersTruncated: a truncation took a voter set back.
	VotersTruncated
	// VotersInstalled: a voter set came with a snapshot.
	VotersInstalled
	// DiskStayedFull: a process started and found its disk full still. This and what
	// follows may happen in every run.
	DiskStayedFull
	// ClockApart: two clocks of a cluster run at rates that are a tenth apart.
	ClockApart
	// HealedWithin: a cluster was healed in the midst of a run, and made progress.
	HealedWithin

	numSometimes
)

var sometimesNames = [numSometimes]string{
	"TruncatedDivergence", "UnflushedTailLost", "LeaderTailLost", "UnrecordedElectionKept",
	"UnrecordedElectionLost", "UnrecordedAppendKept", "UnrecordedTruncationKept", "OldTailBack",
	"TornTailCut", "CrashInRecovery", "LateCopyHandled", "AckLost", "ElectionSplit", "LateLeader",
	"AllDown", "ReadRetried", "StorageFailed", "BitFlipped",
	"SnapshotTaken", "SnapshotInstalled", "SnapshotOverRecords", "SnapshotLoaded", "SnapshotDamaged",
	"LogStartAdvanced", "UnrecordedSnapshotKept", "UnrecordedInstallKept",
	"Paused", "LeaderPaused", "PausedLeaderReplaced", "PartitionFlapped",
	"VoterChangeDone", "VoterAdded", "LeaderRemoved", "VotersTruncated", "VotersInstalled",
	"DiskStayedFull", "ClockApart", "HealedWithin",
}

// String returns the name.
func (s Sometimes) String() string { return sometimesNames[s] }

// May says whether runs of this configuration can meet something, as far as that depends on
// what they have at all.
func (c Config) May(s Sometimes) bool {
	switch {
	case s >= SnapshotTaken && s < Paused:
		return c.Snapshots
	case s >= Paused && s < VoterChangeDone:
		return c.Pauses
	case s >= VoterChangeDone && s < DiskStayedFull:
		return c.Members
	case s == HealedWithin:
		return c.Heals > 0
	}
	return true
}

// Add adds the counts of another run.
func (s *Stats) Add(o *Stats) {
	for _, p := range [...][2]*int64{
		{&s.Steps, &o.Steps}, {&s.Events, &o.Events}, {&s.Faults, &o.Faults}, {&s.Elections, &o.Elections},
		{&s.Truncations, &o.Truncations}, {&s.Crashes, &o.Crashes}, {&s.CrashesInStep, &o.CrashesInStep},
		{&s.CrashesInStart, &o.CrashesInStart}, {&s.Restarts, &o.Restarts}, {&s.Partitions, &o.Partitions},
		{&s.Resignations, &o.Resignations}, {&s.Sent, &o.Sent}, {&s.Dropped, &o.Dropped},
		{&s.Duplicated, &o.Duplicated}, {&s.Resets, &o.Resets}, {&s.AppendsAcked, &o.AppendsAcked},
		{&s.AppendsFailed, &o.AppendsFailed}, {&s.AppendsUnknown, &o.AppendsUnknown}, {&s.Reads, &o.Reads},
		{&s.ReadsFailed, &o.ReadsFailed}, {&s.Batches, &o.Batches}, {&s.Records, &o.Records},
		{&s.Committed, &o.Committed},
	} {
		*p[0] += *p[1]
	}
	s.VirtualTime += o.VirtualTime
	for i := range s.Slowest {
		s.Slowest[i] = max(s.Slowest[i], o.Slowest[i])
	}
	for i := range s.Sometimes {
		s.Sometimes[i] += o.Sometimes[i]
	}
}

// Setup is what a run is made of, after drawing.
type Setup struct {
	Voters, Observers int
	PreVote           bool
}

// Setup returns what the seed and the rest of the configuration give.
func (c Config) Setup() (Setup, error) {
	k, err := c.draw()
	return Setup{Voters: k.voters, Observers: k.observers, PreVote: k.preVote}, err
}

// Directory is the directory id of a replica, the same in all runs of a seed.
func (c Config) Directory(id core.ReplicaID) core.DirectoryID {
	var d core.DirectoryID
	a, b := mix(c.Seed+uint64(id)), mix(c.Seed^uint64(id)<<32^0xd1)
	for i := range 8 {
		d[i], d[8+i] = byte(a>>(8*i)), byte(b>>(8*i))
	}
	return d
}

// knobs are what the seed decides once.
type knobs struct {
	voters, observers, clients int
	preVote                    bool
	grantAfterEnd              bool
	dirsKnown                  bool // the voter set has directory ids
	duration                   Time

	core         core.Config // timeouts and limits
	segmentBytes int64
	pointBytes   int64
	drift        int // clocks run up to so many thousandths fast or slow

	delayMin, delayMax Time
	slow               int // messages in 1000 that take up to slowMax
	slowMax            Time
	loss, reset        int // in 1000
	duplicate          int
	flushMin, flushMax Time
	faultEvery         Time // mean time between faults
	downMax            Time
	aim                int // steps in 1000 that write and crash
	again              int // crashes in 1000 after which the next start may crash
	fullDisk           int // failures of storage in 1000 that are a full disk, for a while
	fullMax            Time
	weights            [numFaults]int

	thinkMax      Time
	clientTimeout Time
	readPermille  int
	clientLoss    int
	valueBytes    int

	// With snapshots.
	snapshotEvery int64 // records
	snapshotPad   int   // records of 100 bytes in a snapshot
	clean         int   // snapshots in 1000 after which the log starts later
	wipe, damage  int   // crashes of observers that lose the disk, chunks that are damaged, in 1000

	changeEvery Time // mean time between changes of the voter set, 0: none

	// With pauses.
	pauseEvery, pauseMax Time // mean time between pauses, 0: none
	flap                 int  // partitions in 1000 that come and go
	flapEvery            Time
}

func (c Config) draw() (knobs, error) {
	if c.Voters < 0 || c.Voters > 9 {
		return knobs{}, fmt.Errorf("sim: %d voters, want 1 to 9", c.Voters)
	}
	if c.Observers < -1 || c.Observers > 9 {
		return knobs{}, fmt.Errorf("sim: %d observers, want up to 9", c.Observers)
	}
	r := &rng{state: mix(c.Seed ^ 0x6b6e6f6273)}
	k := knobs{
		voters:    pick(r, 1, 2, 3, 3, 3, 3, 4, 5, 5),
		observers: pick(r, 0, 0, 0, 1, 1, 2),
		clients:   1 + r.below(8),
		preVote:   r.chance(650),
		dirsKnown: r.chance(500),
		duration:  r.between(4*second, 15*second),
	}
	scale := core.Ticks(pick(r, 1, 1, 2, 4)) // all timeouts shrink alike
	k.core = core.Config{
		ElectionTimeout:    core.Ticks(pick(r, 300, 500, 1000)) / scale,
		FetchTimeout:       core.Ticks(pick(r, 400, 1000, 2000)) / scale,
		ElectionBackoffMax: core.Ticks(pick(r, 100, 500, 1000)) / scale,
		RequestTimeout:     core.Ticks(pick(r, 200, 600, 2000)) / scale,
		RetryBackoff:       core.Ticks(pick(r, 5, 20, 50)),
		MaxFetchWait:       core.Ticks(pick(r, 50, 200, 500)) / scale,
		AppendLinger:       core.Ticks(pick(r, 0, 0, 5, 25)),
		MaxFetchBytes:      int32(pick(r, 1, 200, 1000, 8<<20)),
		MaxBatchRecords:    pick(r, 1, 3, 10_000),
		MaxPendingAppends:  pick(r, 3, 10_000),
	}
	k.segmentBytes = pick(r, int64(300), 2000, 20_000, 1<<30)
	k.pointBytes = pick(r, int64(1), 500, 1<<20)
	k.drift = pick(r, 0, 10, 100)
	k.delayMin = pick(r, 50, 200, millisecond)
	k.delayMax = k.delayMin + pick(r, 200, millisecond, 20*millisecond)
	k.flushMin = pick(r, 100, millisecond)
	k.flushMax = k.flushMin + pick(r, 500, 5*millisecond, 50*millisecond, 300*millisecond)
	// A fetch that waits at the leader must not outlive what it keeps alive.
	k.core.MaxFetchWait = min(k.core.MaxFetchWait, k.core.FetchTimeout/4)
	k.core.RequestTimeout = max(k.core.RequestTimeout, k.core.MaxFetchWait+core.Ticks(4*k.delayMax/millisecond)+20)
	k.thinkMax = pick(r, 5*millisecond, 50*millisecond, 300*millisecond)
	k.clientTimeout = pick(r, 200*millisecond, second)
	k.readPermille = pick(r, 100, 300, 700)
	k.valueBytes = pick(r, 0, 0, 40, 700)
	k.drawFaults(r)
	if c.NoFaults {
		k.loss, k.reset, k.duplicate, k.slow, k.clientLoss, k.faultEvery, k.drift, k.aim = 0, 0, 0, 0, 0, 0, 0, 0
		k.again, k.fullDisk = 0, 0
		k.delayMax, k.flushMax = k.delayMin+millisecond, k.flushMin+millisecond
		k.clientTimeout = 10 * second
		k.core.MaxPendingAppends = 10_000
	}
	if c.Snapshots {
		k.drawSnapshots(c)
	}
	if c.Pauses && !c.NoFaults {
		k.drawPauses(c)
	}
	k.override(c)
	if c.Members {
		r := &rng{state: mix(c.Seed ^ 0x6d656d)}
		k.preVote, k.dirsKnown = true, true
		k.observers = max(k.observers, 1)
		k.changeEvery = pick(r, 100*millisecond, 300*millisecond, second)
	}
	k.without(c.Without)
	return k, nil
}

func (k *knobs) drawFaults(r *rng) {
	k.slow = pick(r, 0, 5, 50)
	k.slowMax = pick(r, 50*millisecond, 500*millisecond, 3*second)
	k.loss = pick(r, 0, 2, 20, 100)
	k.reset = pick(r, 0, 2, 20)
	k.duplicate = pick(r, 0, 5, 50)
	k.clientLoss = pick(r, 0, 10, 50)
	k.faultEvery = pick(r, 100*millisecond, 300*millisecond, second, 3*second)
	k.aim = pick(r, 0, 1, 5)
	k.again, k.fullDisk, k.fullMax = 200, 300, 2*second
	k.downMax = pick(r, 50*millisecond, 500*millisecond, 2*second)
	for i := range k.weights {
		k.weights[i] = r.below(10)
		if r.chance(200) {
			k.weights[i] = 0
		}
	}
}

// drawSnapshots draws from numbers of its own, so that the rest of a seed stays.
func (k *knobs) drawSnapshots(c Config) {
	r := &rng{state: mix(c.Seed ^ 0x736e61706b)}
	k.snapshotEvery = pick(r, int64(1), 5, 20, 100)
	k.snapshotPad = pick(r, 0, 5, 50)
	k.core.MaxSnapshotBytes = pick(r, int32(100), 1000, 8<<20)
	k.clean = pick(r, 100, 500, 1000)
	k.wipe, k.damage = 300, pick(r, 0, 10)
	if c.NoFaults {
		k.wipe, k.damage = 0, 0
	}
}

// drawPauses draws from numbers of its own, too.
func (k *knobs) drawPauses(c Config) {
	r := &rng{state: mix(c.Seed ^ 0x7061757365)}
	k.pauseEvery = pick(r, 0, 300*millisecond, second, 3*second)
	k.pauseMax = pick(r, 50*millisecond, 500*millisecond, 4*second)
	k.flap = pick(r, 0, 300, 1000)
	k.flapEvery = pick(r, 5*millisecond, 50*millisecond, 300*millisecond)
}

func (k *knobs) override(c Config) {
	if c.Voters > 0 {
		k.voters = c.Voters
	}
	if c.Observers != 0 {
		k.observers = max(c.Observers, 0)
	}
	if c.Clients > 0 {
		k.clients = c.Clients
	}
	if c.PreVote != Drawn {
		k.preVote = c.PreVote == On
	}
	k.grantAfterEnd = c.GrantPreVoteAfterEnd && k.preVote
	if c.Duration > 0 {
		k.duration = c.Duration
	}
}
