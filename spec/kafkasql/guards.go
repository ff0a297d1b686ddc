package kafkasql

import "github.com/quorate/quorate/spec/concern"

// Require is a guard: a condition of an action with a name. One may be taken away, to see
// who notices. What only keeps a step within the sizes of a state, or within what a model
// allows, has none.
func (m *machine) Require(a Action, g concern.Guard, cond bool) bool {
	return cond || m.drop.Takes(uint8(a), g)
}

// Guards.
const (
	NotWaiting concern.Guard = iota + 1
	NotUnsure
	NotCut
	IsReady
	IsDown
	IsChoosing
	IsChosen
	IsFetched
	NotAccepted
	IsAccepted
	NoCandidate
	JournalWhole
	HasHole
	IsReading
	NotFrozen
	NotCapturing
	RecordIsThere
	IsReplaying
	ReachedEnd
	BelowStart
	IsUp
	IsCut
	NoAttempt
	HasApplied
	IsDue
	IsCapturing
	IsUploaded
	IsIntact
	NotIntact
	IsVerified
	LockFree
	NobodyFirst
	IsRequested
	IsFirst
	IsConfirming
	HasReadAll
	NotHolding
	NotOwn
	IsSilent
	IsLocked
	IsGarbage
)

var guardNames = []string{
	"",
	"NotWaiting",
	"NotUnsure",
	"NotCut",
	"IsReady",
	"IsDown",
	"IsChoosing",
	"IsChosen",
	"IsFetched",
	"NotAccepted",
	"IsAccepted",
	"NoCandidate",
	"JournalWhole",
	"HasHole",
	"IsReading",
	"NotFrozen",
	"NotCapturing",
	"RecordIsThere",
	"IsReplaying",
	"ReachedEnd",
	"BelowStart",
	"IsUp",
	"IsCut",
	"NoAttempt",
	"HasApplied",
	"IsDue",
	"IsCapturing",
	"IsUploaded",
	"IsIntact",
	"NotIntact",
	"IsVerified",
	"LockFree",
	"NobodyFirst",
	"IsRequested",
	"IsFirst",
	"IsConfirming",
	"HasReadAll",
	"NotHolding",
	"NotOwn",
	"IsSilent",
	"IsLocked",
	"IsGarbage",
}

// guardsOf are the guards that an action asks for, in order; a test compares them with the
// text of the actions.
var guardsOf = map[Action][]concern.Guard{
	Append:         {NotWaiting, NotUnsure, NotCut, IsReady},
	RetryAppend:    {IsReady, NotCut},
	Start:          {IsDown},
	Choose:         {IsChoosing},
	FetchImage:     {IsChosen},
	RejectImage:    {IsFetched, NotAccepted},
	Install:        {IsFetched, IsAccepted},
	ReplayAll:      {IsChoosing, NoCandidate, JournalWhole},
	GiveUp:         {IsChoosing, HasHole, NoCandidate},
	Apply:          {IsReading, NotCut, NotFrozen, NotCapturing, RecordIsThere},
	BecomeReady:    {IsReplaying, ReachedEnd, RecordIsThere},
	OutOfRange:     {IsReading, NotCut, BelowStart},
	NoticeRewind:   {IsUp, IsCut},
	BeginCapture:   {IsReady, NoAttempt, HasApplied, IsDue},
	FinishCapture:  {IsCapturing},
	VerifyUpload:   {IsUploaded, IsIntact},
	AbandonAttempt: {IsUploaded, NotIntact},
	AppendCommit:   {IsVerified},
	SendRequest:    {IsReady, LockFree, IsDue, HasApplied, NobodyFirst, NoAttempt},
	ConfirmRequest: {IsRequested, IsFirst},
	SendLock:       {IsConfirming, HasReadAll},
	ObserveCoord:   {IsUp},
	LeaseExpires:   {IsReady, NotHolding, NotOwn, HasReadAll, IsSilent},
	NoteOffsets:    {IsLocked},
	SendCommit:     {IsUploaded},
	CollectGarbage: {IsGarbage},
	Crash:          {IsUp},
	LoseDisk:       {IsDown},
	ChangeVersion:  {IsDown},
}
