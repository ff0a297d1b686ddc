package bootstrap

import "github.com/quorate/quorate/spec/concern"

// Ctx is what the actions of one controller are given besides it: the rules, and what
// the bootstrap is like. A guard of them may be taken away.
type Ctx struct {
	Rules *Rules
	// Transactions: the bootstrap's metadata.version allows them. Dynamic: the voters are
	// in the log.
	Transactions, Dynamic bool
	Drop                  concern.Drop
}

// Require is a guard: a condition of an action with a name. All are asked before
// anything is changed.
func (x *Ctx) Require(a Action, g concern.Guard, cond bool) bool {
	return cond || x.Drop.Takes(uint8(a), g)
}

// Guards.
const (
	IsUp concern.Guard = iota + 1
	IsDown
	IsRunning
	IsFormatted
	NotFormatted
	NotFormatting
	ZeroReadable
	HasFile
	FileReplaced
	IsLeader
	NotLeading
	IsStandby
	IsClaimed
	IsWriting
	IsActive
	EpochCommitted
	HasMore
	SnapshotIsLater
	StateIsStable
	VoterIsUp
	LogUpToDate
	LeaderChangeMissing
	LeaderLeads
	NotStale
	NotBelowLog
	BelowLog
	LogMatches
	ZeroIsSent
	HasMajority
)

// GuardName is the name of a guard.
func GuardName(g concern.Guard) string { return guardNames[g] }

var guardNames = []string{
	"", "IsUp", "IsDown", "IsRunning", "IsFormatted", "NotFormatted", "NotFormatting", "ZeroReadable", "HasFile", "FileReplaced",
	"IsLeader", "NotLeading", "IsStandby", "IsClaimed", "IsWriting", "IsActive", "EpochCommitted", "HasMore", "SnapshotIsLater", "StateIsStable",
	"VoterIsUp", "LogUpToDate", "LeaderChangeMissing", "LeaderLeads", "NotStale", "NotBelowLog", "BelowLog", "LogMatches", "ZeroIsSent", "HasMajority",
}

// guardsOf are the guards that an action asks for, in order; a test compares them with
// the text of the actions.
var guardsOf = map[Action][]concern.Guard{
	BeginFormat:        {IsDown, NotFormatted, NotFormatting},
	WriteZeroPart:      {IsDown},
	FlushZeroPart:      {IsDown},
	RenameZero:         {IsDown},
	FlushZeroDirectory: {IsDown},
	WriteMetaTemp:      {IsDown},
	FlushMetaTemp:      {IsDown},
	RenameMeta:         {IsDown},
	FlushMetaDirectory: {IsDown},
	Start:              {IsDown, NotFormatting, IsFormatted, ZeroReadable},
	Elect:              {IsUp, VoterIsUp, NotLeading, LogUpToDate},
	AppendLeaderChange: {IsLeader, LeaderChangeMissing},
	Claim:              {IsUp, IsLeader, IsStandby, EpochCommitted},
	Activate:           {IsClaimed},
	AppendChunk:        {IsWriting},
	AppendOrdinary:     {IsUp, IsLeader, IsActive},
	Truncate:           {IsUp, LeaderLeads, NotStale, NotBelowLog},
	Replicate:          {IsUp, LeaderLeads, NotStale, NotBelowLog, LogMatches},
	InstallSnapshot:    {IsUp, LeaderLeads, NotStale, BelowLog},
	InstallZero:        {IsUp, LeaderLeads, NotStale, ZeroIsSent},
	Commit:             {IsLeader, EpochCommitted, HasMajority},
	Replay:             {IsUp, HasMore},
	TakeSnapshot:       {IsUp, SnapshotIsLater, StateIsStable},
	AdvanceLogStart:    {IsUp, SnapshotIsLater},
	DeleteZero:         {IsUp, HasFile, FileReplaced},
	DeleteLegacy:       {IsUp, HasFile, FileReplaced},
	Crash:              {IsRunning},
	Reformat:           {IsDown, NotFormatting, IsFormatted},
}
