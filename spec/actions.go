package spec

// ActionID numbers the actions; the names are those of traces, stories and docs.
type ActionID uint8

// Actions.
const (
	ActionBecomeProspective ActionID = iota
	ActionBecomeCandidate
	ActionAbandonPreVote
	ActionSendVoteRequest
	ActionBecomeLeader
	ActionAppendLeaderChange
	ActionSendBeginQuorumEpoch
	ActionAppend
	ActionFlush
	ActionSendFetch
	ActionCheckQuorumResign
	ActionResign
	ActionSendEndQuorumEpoch
	ActionLeaveResigned
	ActionStartRead
	ActionServeRead
	ActionTakeSnapshot
	ActionAdvanceLogStart
	ActionSendFetchSnapshot
	ActionInstallSnapshot
	ActionAbandonSnapshot
	ActionAddVoter
	ActionRemoveVoter
	ActionUpdateVoter
	ActionCrash
	ActionLoseDisk
	ActionRestart
	ActionHandleVoteRequest
	ActionHandleVoteResponse
	ActionHandleBeginQuorumEpochRequest
	ActionHandleBeginQuorumEpochResponse
	ActionHandleEndQuorumEpochRequest
	ActionHandleEndQuorumEpochResponse
	ActionHandleFetchRequest
	ActionHandleFetchResponse
	ActionHandleFetchSnapshotRequest
	ActionHandleFetchSnapshotResponse
	NumReplicaActions

	// What the environment does to messages follows.
	ActionDrop            = NumReplicaActions + ActionID(Drop)
	ActionDuplicate       = NumReplicaActions + ActionID(Duplicate)
	ActionCloseConnection = NumReplicaActions + ActionID(CloseConnection)
	NumActions            = ActionCloseConnection + 1
)

type actionInfo struct {
	name    string
	local   Action
	handler Handler
	kind    Kind // of the message that the handler handles
	answer  bool // which is a response
}

var actionTable = [NumActions]actionInfo{
	ActionBecomeProspective:              {name: "BecomeProspective", local: BecomeProspective},
	ActionBecomeCandidate:                {name: "BecomeCandidate", local: BecomeCandidate},
	ActionAbandonPreVote:                 {name: "AbandonPreVote", local: AbandonPreVote},
	ActionSendVoteRequest:                {name: "SendVoteRequest", local: SendVoteRequest},
	ActionBecomeLeader:                   {name: "BecomeLeader", local: BecomeLeader},
	ActionAppendLeaderChange:             {name: "AppendLeaderChange", local: AppendLeaderChange},
	ActionSendBeginQuorumEpoch:           {name: "SendBeginQuorumEpoch", local: SendBeginQuorumEpoch},
	ActionAppend:                         {name: "Append", local: Append},
	ActionFlush:                          {name: "Flush", local: Flush},
	ActionSendFetch:                      {name: "SendFetch", local: SendFetch},
	ActionCheckQuorumResign:              {name: "CheckQuorumResign", local: CheckQuorumResign},
	ActionResign:                         {name: "Resign", local: Resign},
	ActionSendEndQuorumEpoch:             {name: "SendEndQuorumEpoch", local: SendEndQuorumEpoch},
	ActionLeaveResigned:                  {name: "LeaveResigned", local: LeaveResigned},
	ActionStartRead:                      {name: "StartRead", local: StartRead},
	ActionServeRead:                      {name: "ServeRead", local: ServeRead},
	ActionTakeSnapshot:                   {name: "TakeSnapshot", local: TakeSnapshot},
	ActionAdvanceLogStart:                {name: "AdvanceLogStart", local: AdvanceLogStart},
	ActionSendFetchSnapshot:              {name: "SendFetchSnapshot", local: SendFetchSnapshot},
	ActionInstallSnapshot:                {name: "InstallSnapshot", local: InstallSnapshot},
	ActionAbandonSnapshot:                {name: "AbandonSnapshot", local: AbandonSnapshot},
	ActionAddVoter:                       {name: "AddVoter", local: AddVoter},
	ActionRemoveVoter:                    {name: "RemoveVoter", local: RemoveVoter},
	ActionUpdateVoter:                    {name: "UpdateVoter", local: UpdateVoter},
	ActionCrash:                          {name: "Crash", local: Crash},
	ActionLoseDisk:                       {name: "LoseDisk", local: LoseDisk},
	ActionRestart:                        {name: "Restart", local: Restart},
	ActionHandleVoteRequest:              {name: "HandleVoteRequest", handler: HandleVoteRequest, kind: Vote},
	ActionHandleVoteResponse:             {name: "HandleVoteResponse", handler: HandleVoteResponse, kind: Vote, answer: true},
	ActionHandleBeginQuorumEpochRequest:  {name: "HandleBeginQuorumEpochRequest", handler: HandleBeginQuorumEpochRequest, kind: BeginQuorumEpoch},
	ActionHandleBeginQuorumEpochResponse: {name: "HandleBeginQuorumEpochResponse", handler: HandleBeginQuorumEpochResponse, kind: BeginQuorumEpoch, answer: true},
	ActionHandleEndQuorumEpochRequest:    {name: "HandleEndQuorumEpochRequest", handler: HandleEndQuorumEpochRequest, kind: EndQuorumEpoch},
	ActionHandleEndQuorumEpochResponse:   {name: "HandleEndQuorumEpochResponse", handler: HandleEndQuorumEpochResponse, kind: EndQuorumEpoch, answer: true},
	ActionHandleFetchRequest:             {name: "HandleFetchRequest", handler: HandleFetchRequest, kind: Fetch},
	ActionHandleFetchResponse:            {name: "HandleFetchResponse", handler: HandleFetchResponse, kind: Fetch, answer: true},
	ActionHandleFetchSnapshotRequest:     {name: "HandleFetchSnapshotRequest", handler: HandleFetchSnapshotRequest, kind: FetchSnapshot},
	ActionHandleFetchSnapshotResponse:    {name: "HandleFetchSnapshotResponse", handler: HandleFetchSnapshotResponse, kind: FetchSnapshot, answer: true},
	ActionDrop:                           {name: "Drop"},
	ActionDuplicate:                      {name: "Duplicate"},
	ActionCloseConnection:                {name: "CloseConnection"},
}

// String is the name of the action.
func (a ActionID) String() string { return actionTable[a].name }

// ActionNamed finds an action of a replica by its name.
func ActionNamed(name string) (ActionID, bool) {
	for a := ActionID(0); a < NumReplicaActions; a++ {
		if actionTable[a].name == name {
			return a, true
		}
	}
	return 0, false
}

// AboutSnapshots says whether an action happens only where there are snapshots.
func (a ActionID) AboutSnapshots() bool {
	switch a {
	case ActionTakeSnapshot, ActionAdvanceLogStart, ActionSendFetchSnapshot, ActionInstallSnapshot, ActionAbandonSnapshot,
		ActionHandleFetchSnapshotRequest, ActionHandleFetchSnapshotResponse:
		return true
	}
	return false
}

// AboutMembership says whether an action happens only where the voter set may change.
func (a ActionID) AboutMembership() bool {
	return a == ActionAddVoter || a == ActionRemoveVoter || a == ActionUpdateVoter
}

// Handles says whether the action handles a message.
func (a ActionID) Handles() bool { return actionTable[a].handler != nil }

// HandlerOf is the action that handles m.
func HandlerOf(m *Msg) ActionID {
	for a := ActionHandleVoteRequest; a < NumReplicaActions; a++ {
		if t := &actionTable[a]; t.kind == m.Kind && t.answer == m.Response {
			return a
		}
	}
	panic(modelError("no action handles %v", m.Kind))
}

// Take runs one action of r, with m if the action handles a message. It returns
// whether the action was enabled; if not, r is unchanged.
func (c *Ctx) Take(a ActionID, r *Replica, m *Msg, args Args, out *Outbox) bool {
	out.Reset()
	c.action = a
	c.Reached = 0
	if t := &actionTable[a]; t.handler != nil {
		return t.handler(c, r, m, args, out)
	}
	return actionTable[a].local(c, r, args, out)
}
