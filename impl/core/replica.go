package core

import (
	"errors"
	"slices"
)

// Replica is one KRaft replica. It is not safe for concurrent use.
type Replica struct {
	cfg Config
	// The voter set in force, the keys of its members, and the place of this replica among
	// them, -1 if it is an observer.
	history  voterHistory
	voterSet *VoterSet
	voters   []ReplicaKey
	self     int

	now Ticks
	out *Effects // of the Step in progress

	role   Role
	epoch  Epoch
	leader ReplicaID
	voted  ReplicaKey
	// durable is what the quorum-state file holds. At the end of every action it
	// equals (epoch, leader, voted): persist writes it where it does not.
	durable Election
	log     logState
	// hw is the high watermark, UnknownOffset if not known. A new leader does not know
	// it; hwFloor is the highest ever known to this process, below which nothing may
	// be truncated.
	hw, hwFloor Offset

	electionDeadline Ticks // Unattached, Prospective, Candidate, Resigned; observers: Never
	nominee          nomineeState
	lead             leaderState
	change           voterChange
	follow           followerState
	resigned         resignedState

	parked  []fetchRequest // fetches that wait for something new
	clients clientState
	reads   readState
	batch   [][]byte // records of the OpAppendData of this Step
	flush   bool     // something was written in this Step and no flush asked for

	receiving receiving
	received  bool       // a snapshot was received, or begun, by this process
	written   []Snapshot // by the state machine, and not yet taken

	peers       []peer // first the voters, in their order
	correlation int32
	rng         uint64

	// completed is the response in progress, with what its request said.
	completed        Input
	completedMessage Message

	recording recording
	directory string // its id, as events have it
	memory    [remembered]memory
	inputs    uint64
}

// New makes the replica of a process that starts, from what its disk holds
// (QuorumState.initialize). A configuration or a disk that cannot be is an error.
func New(cfg Config, disk DiskState, now Ticks, out *Effects) (*Replica, error) {
	cfg.defaults()
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if err := errors.Join(disk.check(&cfg), disk.checkVoters()); err != nil {
		return nil, err
	}
	out.reset()
	r := &Replica{
		cfg: cfg, now: now, out: out, rng: cfg.Seed,
		leader: NoReplica, voted: NoKey, hw: UnknownOffset, hwFloor: UnknownOffset,
		recording: noRecording, directory: cfg.Directory.String(),
		log: logState{
			start: disk.LogStart, end: disk.LogEnd, flushed: disk.LogEnd,
			epochs: slices.Clone(disk.Epochs), snapshots: slices.Clone(disk.Snapshots),
		},
	}
	if latest := r.log.latest(); latest != NoSnapshot {
		r.hwFloor = latest.End // it is committed; that more is, the leader has to say
	}
	r.history.static = &VoterSet{Offset: StaticVoters}
	for _, key := range cfg.Voters {
		r.history.static.Voters = append(r.history.static.Voters, Voter{Key: key})
	}
	for _, s := range disk.VoterSets {
		r.history.add(s.Offset, s.Voters)
	}
	r.useVoters()
	for _, id := range cfg.Bootstrap {
		r.peer(id)
	}
	r.restart(disk)
	r.poll()
	return r, nil
}

// Step applies one input. It never blocks and reads no clock: what it does is a
// function of the configuration, the disk at the start, and the inputs so far.
func (r *Replica) Step(now Ticks, in *Input, out *Effects) {
	r.now = max(r.now, now)
	r.out = out
	out.reset()
	r.batch = r.batch[:0]
	r.remember(in)
	switch in.Kind {
	case InputRequest:
		r.handleRequest(in)
	case InputResponse:
		r.handleResponse(in)
		r.completed, r.completedMessage = Input{}, Message{}
	case InputRequestFailed:
		r.requestFailed(in)
	case InputDisconnected:
		r.unpark(in.Conn)
	case InputFlushed:
		r.flushed(in)
	case InputAppend:
		r.clientAppend(in)
	case InputRead:
		r.clientRead(in)
	case InputResign:
		if r.role == Leader {
			r.resign(actResign)
		}
	case InputSnapshotTaken:
		r.written = append(r.written, Snapshot{ID: in.SnapshotID, Size: in.Size})
	case InputSnapshotVerified:
		r.snapshotVerified(in)
	case InputAdvanceLogStart:
		r.advanceLogStart(in)
	case InputAddVoter:
		r.addVoter(in)
	case InputVoterChecked:
		r.voterChecked(in)
	case InputRemoveVoter:
		r.removeVoter(in)
	case InputUpdateVoter:
		r.updateVoter(in)
	case InputBootstrap:
		r.addBootstrap(in.Peer)
	}
	r.poll()
}

// State is what can be observed of the replica now.
func (r *Replica) State() State {
	s := State{
		Role: r.role, Epoch: r.epoch, Leader: r.leader, Voted: r.voted, HighWatermark: r.hw,
		LogStart: r.log.start, LogEnd: r.log.end, LastEpoch: r.log.lastEpoch(), Flushed: r.log.flushed,
		EpochStart: UnknownOffset,
		Snapshot:   r.log.latest(), Fetching: r.receiving.id, Position: r.receiving.position,
	}
	if r.role == Leader {
		s.EpochStart = r.lead.epochStart
	}
	return s
}

// poll does what is due: timers, the leader's work, requests.
func (r *Replica) poll() {
	r.expireRequests()
	for n := 0; r.expireRole(); n++ {
		r.assert(n < 16, "roles change for ever at one time")
	}
	if r.role == Leader {
		r.leaderWork()
		if r.leaves() {
			r.resign(actResign)
		}
	}
	if r.role != Leader {
		r.failWaiting()
	}
	if len(r.written) > 0 {
		r.takeSnapshots()
	}
	r.sendRequests()
	r.out.Wake = r.nextWake()
}

// restart takes the role that the disk asks for. The order of the rules counts.
// Restart is the first event of an incarnation.
func (r *Replica) restart(disk DiskState) {
	e := Election{Leader: NoReplica, Voted: NoKey}
	if disk.HasElection {
		e = disk.Election
	}
	if last := r.log.lastEpoch(); e.Epoch < last {
		// The epoch is durable before a record of it is written: the file is not ours,
		// or an older copy.
		e = Election{Epoch: last, Leader: NoReplica, Voted: NoKey}
	}
	r.epoch, r.leader, r.voted = e.Epoch, e.Leader, e.Voted
	r.restartElectionTimer()
	switch {
	case r.leader != NoReplica && r.leader == r.cfg.ID:
		// Never leader again in this epoch: an unflushed tail may be gone (KAFKA-10527).
		r.role = Resigned
		r.resigned = resignedState{acked: make([]bool, len(r.voters))}
		r.restartElectionTimerAlways()
	case r.voted.ID != NoReplica && r.voted.matches(r.key()) && r.mayStand() && r.leader == NoReplica:
		// One that lost to a leader it has followed since does not stand again: it may
		// hold records of this epoch, and its request would be refused as invalid. Kafka
		// looks at the vote alone (docs/divergence.md).
		r.role = Candidate
		r.nominee.start(r.voters, r.self)
		r.nominee.retries = 1
	case r.voted.ID != NoReplica && !r.cfg.PreVote:
		r.role, r.leader = Unattached, NoReplica
	case r.leader != NoReplica && r.knows(r.leader):
		r.role = Follower
		r.follow = followerState{deadline: r.now + r.cfg.FetchTimeout}
	default:
		r.role = Unattached
	}
	if len(r.voters) == 1 && r.self == 0 {
		r.electionDeadline, r.follow.deadline = r.now, r.now // nobody to wait for
	}
	r.durable.Epoch = -1 // the file is written even if it is there: it may not be durable
	r.recording.flushed, r.recording.voters = r.log.flushed, true
	r.done(actRestart, nil)
}

// persist makes the election durable if it is not, before anything that follows.
func (r *Replica) persist() {
	if r.durable != (Election{Epoch: r.epoch, Leader: r.leader, Voted: r.voted}) {
		r.assert(r.epoch >= r.durable.Epoch, "the epoch goes back")
		r.durable = Election{Epoch: r.epoch, Leader: r.leader, Voted: r.voted}
		r.recording.persisted = true
		o := r.op(OpPersist)
		o.Election, o.Dynamic = r.durable, r.voterSet.Dynamic()
	}
}

// op adds an effect. The pointer is good until the next one.
func (r *Replica) op(kind OpKind) *Op {
	ops := append(r.out.Ops, Op{})
	r.out.Ops = ops
	o := &ops[len(ops)-1]
	o.Kind = kind
	return o
}

func (r *Replica) complete(client ClientID, result Result) {
	o := r.op(OpComplete)
	o.Client, o.Result = client, result
}

func (out *Effects) reset() {
	clear(out.Ops) // keep nothing alive
	out.Ops = out.Ops[:0]
	out.Wake = Never
	out.used = 0
}

func (c *Config) defaults() {
	ticks := func(t *Ticks, d Ticks) {
		if *t == 0 {
			*t = d
		}
	}
	ticks(&c.ElectionTimeout, 1000)
	ticks(&c.FetchTimeout, 2000)
	ticks(&c.ElectionBackoffMax, 1000)
	ticks(&c.RequestTimeout, 2000)
	ticks(&c.RetryBackoff, 20)
	ticks(&c.MaxFetchWait, 500)
	if c.MaxBatchRecords == 0 {
		c.MaxBatchRecords = 10_000
	}
	if c.MaxBatchBytes == 0 {
		c.MaxBatchBytes = 8 << 20
	}
	if c.MaxPendingAppends == 0 {
		c.MaxPendingAppends = 10_000
	}
	if c.MaxFetchBytes == 0 {
		c.MaxFetchBytes = 8 << 20
	}
	if c.MaxSnapshotBytes == 0 {
		c.MaxSnapshotBytes = 8 << 20
	}
	c.Voters, c.Bootstrap = slices.Clone(c.Voters), slices.Clone(c.Bootstrap)
}

func (c *Config) check() error {
	for _, t := range []Ticks{c.ElectionTimeout, c.FetchTimeout, c.ElectionBackoffMax,
		c.RequestTimeout, c.RetryBackoff, c.MaxFetchWait} {
		if t < 0 {
			return errors.New("core: a timeout is negative")
		}
	}
	if c.AppendLinger < 0 || c.MaxBatchRecords < 0 || c.MaxBatchBytes < 0 || c.MaxPendingAppends < 0 ||
		c.MaxFetchBytes < 0 || c.MaxSnapshotBytes < 0 {
		return errors.New("core: a limit is negative")
	}
	if c.ID < NoReplica {
		return errors.New("core: the replica id is negative")
	}
	for i, v := range c.Voters {
		if v.ID < 0 {
			return errors.New("core: the id of a voter is negative")
		}
		for _, w := range c.Voters[:i] {
			if v.ID == w.ID {
				return errors.New("core: two voters have one id")
			}
		}
	}
	return nil
}
