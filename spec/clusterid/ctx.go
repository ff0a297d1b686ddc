package clusterid

import "github.com/quorate/quorate/spec/concern"

// Ctx is what the actions of one node are given besides it: the rules. A guard of them
// may be taken away.
type Ctx struct {
	Rules *Rules
	Drop  concern.Drop
}

// Require is a guard: a condition of an action with a name. All are asked before
// anything is changed.
func (x *Ctx) Require(a Action, g concern.Guard, cond bool) bool {
	return cond || x.Drop.Takes(uint8(a), g)
}

// Guards.
const (
	IsDown concern.Guard = iota + 1
	IsWriting
	IsOnline
	NotWritten
	DataFirst
	IsRunning
	SomethingToFlush
	IsPersisted
	IsUnknown
	IDCommitted
	IsReady
	IsEndpoint
	SameCluster
	IsKnown
	IsVoter
	HasLeader
	NotRegistered
	IsObserver
	NotVoter
	HasRecords
	NotStanding
	HasDeadline
	IsWaiting
	NotLocked
	NotDown
	HasFile
	LeaderChangePresent
	OutsideTransaction
	HasVersion
	LogUpToDate
)

// GuardName is the name of a guard.
func GuardName(g concern.Guard) string { return guardNames[g] }

var guardNames = []string{
	"",
	"IsDown", "IsWriting", "IsOnline", "NotWritten", "DataFirst", "IsRunning", "SomethingToFlush", "IsPersisted",
	"IsUnknown", "IDCommitted", "IsReady", "IsEndpoint", "SameCluster", "IsKnown", "IsVoter", "HasLeader",
	"NotRegistered", "IsObserver", "NotVoter", "HasRecords", "NotStanding", "HasDeadline", "IsWaiting", "NotLocked",
	"NotDown", "HasFile", "LeaderChangePresent", "OutsideTransaction", "HasVersion", "LogUpToDate",
}

// guardsOf are the guards that an action asks for, in order; a test compares them with
// the text of the actions.
var guardsOf = map[Action][]concern.Guard{
	Start:                {IsDown},
	WriteMeta:            {IsWriting, IsOnline, NotWritten, DataFirst},
	FlushMeta:            {IsRunning, SomethingToFlush},
	FailMeta:             {IsWriting, IsOnline, NotWritten},
	SetMemory:            {IsWriting, IsPersisted},
	Fetch:                {IsReady, IsEndpoint, SameCluster},
	Adopt:                {IsUnknown, IDCommitted},
	Register:             {IsReady, HasLeader, NotRegistered, IsKnown, SameCluster},
	AutoJoin:             {IsObserver, IsReady, HasLeader, NotVoter, IsKnown, SameCluster},
	AddVoter:             {IsObserver, IsReady, HasLeader, HasRecords, NotVoter},
	Stand:                {IsReady, NotStanding, IsKnown, IsVoter},
	PeerError:            {IsKnown, IsVoter},
	Timeout:              {HasDeadline, IsWaiting},
	SecondProcess:        {IsRunning, NotLocked},
	Crash:                {NotDown},
	LoseDirectory:        {IsDown, HasFile},
	LoseDisks:            {IsDown},
	Format:               {IsDown},
	AppendNext:           {HasLeader},
	UpgradeFeatures:      {HasLeader, LeaderChangePresent, OutsideTransaction, HasVersion},
	DowngradeFeatures:    {HasLeader, LeaderChangePresent, OutsideTransaction, HasVersion},
	AdvanceHighWatermark: {HasLeader, LeaderChangePresent},
	ChangeLeader:         {LogUpToDate},
	Lead:                 {IsVoter, IsReady, LogUpToDate},
	TakeSnapshot:         {OutsideTransaction, HasVersion},
}
