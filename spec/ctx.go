package spec

import "github.com/quorate/quorate/checker"

// Args are the parameters of an action.
type Args struct {
	// Dst is whom a message is sent to.
	Dst ID
	// Count is how many records are appended or answered, how much of a snapshot is
	// answered, and the offset up to which Flush flushes, where a snapshot ends that is
	// taken, and where the log is to start.
	Count int64
	// Size is that of the snapshot of which a part is answered.
	Size int64
	// Kind of the records that are appended; Data if it is 0.
	Kind RecordKind
	// Park leaves a fetch with the leader, to be answered later.
	Park bool
	// Keep chooses what a crash leaves of the log, see Survivors.
	Keep int
	// Voter is who joins or leaves the voter set, or is described anew in it.
	Voter ID
	// WithVoters: a leader writes the voter set with its LeaderChange though the log has one.
	WithVoters bool
}

// Action is something that one replica does by itself: it returns false, with
// the replica as it was, where a guard fails.
type Action func(c *Ctx, r *Replica, a Args, out *Outbox) bool

// Handler is what one replica does with a message.
type Handler func(c *Ctx, r *Replica, m *Msg, a Args, out *Outbox) bool

// Ctx is what an action is given besides its replica: the constants of the
// model, the rules, and somewhere to note which guards were tried.
type Ctx struct {
	Rules *Rules
	// Voters are those with which the cluster begins: all there ever are, unless the quorum
	// is Dynamic (kraft.version 1, KIP-853).
	Voters  Set
	Dynamic bool
	// Old are replicas whose software does not know pre-votes. Whoever opens a
	// connection to one learns it (ApiVersions), which is not modelled.
	Old Set

	// Trial, if not nil, is told of every guard and may overrule it.
	Trial *Trial
	// Reached collects the sometimes properties that the action reached.
	Reached checker.Props

	action ActionID
}

// Require is a guard: a condition with a name. An action asks for its guards before
// it changes the replica; a handler that first adopts a newer epoch goes on to ask
// what holds in that one.
func (c *Ctx) Require(g Guard, cond bool) bool {
	if c.Trial != nil {
		return c.Trial.note(c.action, g, cond)
	}
	return cond
}

// sometimes notes that a branch worth reaching was reached.
func (c *Ctx) sometimes(p checker.Props) { c.Reached |= p }

// Quorum is what history has to know of the constants: the voters at the beginning, and
// whether they may change.
type Quorum struct {
	Voters  Set
	Dynamic bool
}

// Quorum of the model.
func (c *Ctx) Quorum() Quorum { return Quorum{c.Voters, c.Dynamic} }

// voters is the voter set in force at r.
func (c *Ctx) voters(r *Replica) Set {
	if r.Voters != 0 {
		return r.Voters
	}
	return c.Voters
}

// VotersOf is the voter set in force at r.
func (c *Ctx) VotersOf(r *Replica) Set { return c.voters(r) }

func (c *Ctx) isVoter(r *Replica) bool { return c.voters(r).Has(r.ID) }

// Trial watches guards, or drops one.
type Trial struct {
	// Counts has, for each action and guard, how often it was false and true.
	Counts [NumActions][NumGuards][2]uint64
	// Drop, if DropGuard is not NoGuard, is a guard taken as true.
	DropAction ActionID
	DropGuard  Guard
	// Granted are guards taken as true in whatever action asks for them.
	Granted GuardSet
	// Refused is the last guard that failed, by a run of one action.
	Refused Guard
	// Held are the guards tried and found true in that run.
	Tried []Guard
	// Record keeps Tried.
	Record bool
}

func (t *Trial) note(a ActionID, g Guard, cond bool) bool {
	if t.DropGuard == g && t.DropAction == a || t.Granted.has(g) {
		cond = true
	}
	if cond {
		t.Counts[a][g][1]++
	} else {
		t.Counts[a][g][0]++
		t.Refused = g
	}
	if t.Record {
		t.Tried = append(t.Tried, g)
	}
	return cond
}

// Guard names a condition.
type Guard uint8

// Guards. NoGuard is none.
const (
	NoGuard Guard = iota
	IsUp
	IsDown
	IsVoter
	SupportsPreVote
	MayStand
	HasPreVotes
	IsProspective
	IsNominee
	IsCandidate
	IsLeader
	IsResigned
	IsFetcher
	HasMajority
	NotGranted
	ToOtherVoter
	ToOther
	ToLeader
	LeaderChangeMissing
	LeaderChangePresent
	TruncationFlushed
	LogFlushed
	SomethingToFlush
	FlushInRange
	OthersVote
	NotReading
	IsReading
	EpochCommitted
	ReadConfirmed
	PrefixInRange
	KeepInRange
	NotStale
	NewerEpoch
	NoError
	NamesLeader
	ToPreVoter
	VoteAllowed
	FirstVote
	Tallying
	WasGranted
	FromReader
	FromLeader
	AnswersFetch
	ServesFetch
	FetchIsValid
	FetchDiverges
	MovesForward
	OfVoter
	IsFollower
	IsReceiving
	SnapshotIsLater
	SnapshotInLog
	BelowHighWatermark
	BelowFlushed
	LogStartIsLater
	SnapshotHeld
	PositionInSnapshot
	PartInRange
	PartFits
	SnapshotReceived
	SnapshotWanted
	NotBelowLog
	NamesSnapshot
	NoUncommittedChange
	NotInVoterSet
	InVoterSet
	NotLastVoter
	NumGuards
)

var guardNames = [NumGuards]string{
	"NoGuard", "IsUp", "IsDown", "IsVoter", "SupportsPreVote", "MayStand", "HasPreVotes", "IsProspective",
	"IsNominee", "IsCandidate", "IsLeader", "IsResigned", "IsFetcher", "HasMajority", "NotGranted", "ToOtherVoter", "ToOther",
	"ToLeader", "LeaderChangeMissing", "LeaderChangePresent", "TruncationFlushed", "LogFlushed", "SomethingToFlush",
	"FlushInRange", "OthersVote", "NotReading", "IsReading", "EpochCommitted", "ReadConfirmed", "PrefixInRange", "KeepInRange",
	"NotStale", "NewerEpoch", "NoError", "NamesLeader", "ToPreVoter", "VoteAllowed", "FirstVote", "Tallying",
	"WasGranted", "FromReader", "FromLeader", "AnswersFetch", "ServesFetch", "FetchIsValid", "FetchDiverges", "MovesForward", "OfVoter",
	"IsFollower", "IsReceiving", "SnapshotIsLater", "SnapshotInLog", "BelowHighWatermark", "BelowFlushed", "LogStartIsLater", "SnapshotHeld",
	"PositionInSnapshot", "PartInRange", "PartFits", "SnapshotReceived", "SnapshotWanted", "NotBelowLog", "NamesSnapshot",
	"NoUncommittedChange", "NotInVoterSet", "InVoterSet", "NotLastVoter",
}

// AboutSnapshots says whether a guard of another action asks for snapshots.
func (g Guard) AboutSnapshots() bool {
	return g == NotBelowLog || g == NamesSnapshot || g == SnapshotWanted
}

func (g Guard) String() string { return guardNames[g] }

// GuardSet is a set of guards.
type GuardSet [2]uint64

// Guards is the set of the given guards.
func Guards(guards ...Guard) GuardSet {
	var s GuardSet
	for _, g := range guards {
		s.add(g)
	}
	return s
}

func (s *GuardSet) add(g Guard) { s[g/64] |= 1 << (g % 64) }

func (s *GuardSet) has(g Guard) bool { return s[g/64]>>(g%64)&1 == 1 }

const _ = uint(128 - NumGuards) // all guards fit a set

// GuardsOf are the guards that an action may ask for, its own and those of what it
// has in common with others, in order.
func GuardsOf(a ActionID) []Guard { return guardsOf[a] }

// guardsOf is compared with the text of the actions by a test.
var guardsOf = map[ActionID][]Guard{
	ActionBecomeProspective:              {IsVoter, SupportsPreVote, MayStand},
	ActionBecomeCandidate:                {IsVoter, MayStand, HasPreVotes, IsProspective},
	ActionAbandonPreVote:                 {IsProspective},
	ActionSendVoteRequest:                {IsNominee, NotGranted, ToOtherVoter, LogFlushed, ToPreVoter},
	ActionBecomeLeader:                   {IsCandidate, HasMajority},
	ActionAppendLeaderChange:             {IsLeader, LeaderChangeMissing, TruncationFlushed},
	ActionSendBeginQuorumEpoch:           {IsLeader, ToOtherVoter},
	ActionAppend:                         {IsLeader, LeaderChangePresent},
	ActionFlush:                          {IsUp, SomethingToFlush, FlushInRange},
	ActionSendFetch:                      {IsFetcher, ToOther, ToLeader, LogFlushed},
	ActionCheckQuorumResign:              {IsLeader, OthersVote},
	ActionResign:                         {IsLeader},
	ActionSendEndQuorumEpoch:             {IsResigned, ToOtherVoter},
	ActionLeaveResigned:                  {SupportsPreVote, IsResigned},
	ActionStartRead:                      {IsLeader, NotReading, EpochCommitted},
	ActionServeRead:                      {IsLeader, IsReading, ReadConfirmed},
	ActionTakeSnapshot:                   {IsUp, SnapshotIsLater, SnapshotInLog, BelowHighWatermark, BelowFlushed},
	ActionAdvanceLogStart:                {IsUp, LogStartIsLater, SnapshotHeld},
	ActionSendFetchSnapshot:              {IsFollower, ToLeader, IsReceiving, LogFlushed},
	ActionInstallSnapshot:                {IsFollower, SnapshotReceived, SnapshotWanted, LogFlushed},
	ActionAbandonSnapshot:                {IsReceiving},
	ActionAddVoter:                       {IsLeader, EpochCommitted, NoUncommittedChange, NotInVoterSet},
	ActionRemoveVoter:                    {IsLeader, EpochCommitted, NoUncommittedChange, InVoterSet, NotLastVoter},
	ActionUpdateVoter:                    {IsLeader, EpochCommitted, NoUncommittedChange, InVoterSet},
	ActionCrash:                          {IsUp, KeepInRange},
	ActionLoseDisk:                       {IsUp},
	ActionRestart:                        {IsDown},
	ActionHandleVoteRequest:              {IsUp, NotStale, NewerEpoch, VoteAllowed, FirstVote},
	ActionHandleVoteResponse:             {IsUp, NotStale, NewerEpoch, NoError, NamesLeader, Tallying, WasGranted},
	ActionHandleBeginQuorumEpochRequest:  {IsUp, NotStale, NewerEpoch},
	ActionHandleBeginQuorumEpochResponse: {IsUp, NotStale, NewerEpoch, NoError, NamesLeader, FromReader},
	ActionHandleEndQuorumEpochRequest:    {IsUp, NotStale, NewerEpoch},
	ActionHandleEndQuorumEpochResponse:   {IsUp, NotStale, NewerEpoch, NoError, NamesLeader},
	ActionHandleFetchRequest:             {IsUp, PrefixInRange, ServesFetch, NotBelowLog, FetchIsValid, OfVoter},
	ActionHandleFetchResponse:            {IsUp, TruncationFlushed, NotStale, NewerEpoch, NoError, NamesLeader, FromLeader, AnswersFetch, NamesSnapshot, SnapshotWanted, FetchDiverges, MovesForward},
	ActionHandleFetchSnapshotRequest:     {IsUp, ServesFetch, SnapshotHeld, PositionInSnapshot, PartInRange},
	ActionHandleFetchSnapshotResponse:    {IsUp, NotStale, NewerEpoch, NoError, NamesLeader, FromLeader, IsReceiving, PartFits},
}
