package core

import (
	"slices"

	"github.com/quorate/quorate/traces/event"
)

// Changes of the voter set, by one voter at a time (KIP-853): AddRaftVoter, RemoveRaftVoter
// and UpdateRaftVoter. The order of the checks is Kafka's. What it asks for first is that
// the leader has committed a record of its epoch and that no other set is uncommitted:
// without that two leaders could count disjoint majorities.

// caughtUpWithin is how long ago a replica may have fetched that is to become a voter
// (LeaderState.isReplicaCaughtUp).
const caughtUpWithin Ticks = 3_600_000

// voterChange is the addition or removal in progress; there is one at most.
type voterChange struct {
	active  bool
	client  ClientID
	voter   Voter // to be added
	removes bool
	early   bool   // it is answered when the record is written
	record  Offset // of the new set; UnknownOffset: the voter is looked at first
	// answered: only the exclusion of others goes on.
	answered bool
	deadline Ticks
}

// addVoter is AddRaftVoter, as far as the new voter need not be asked. (AddVoterHandler.
// handleAddVoterRequest)
func (r *Replica) addVoter(in *Input) {
	refused := r.checkVoterChange(in)
	if v, is := r.voterSet.Find(in.Voter.Key.ID); refused.Error == None && is {
		refused = Result{Error: DuplicateVoter, Reason: "it is a voter already"}
		if v.Key != in.Voter.Key {
			refused.Reason = "its id is that of a voter with another directory id, which must be removed first"
		}
	}
	if refused.Error != None {
		r.complete(in.Client, refused)
		return
	}
	r.change = voterChange{
		active: true, client: in.Client, voter: in.Voter, early: in.Early,
		record: UnknownOffset, deadline: r.now + r.cfg.RequestTimeout,
	}
	o := r.op(OpCheckVoter)
	o.Client, o.Voter = in.Client, in.Voter
}

// voterChecked goes on when the new voter has said what it can do. It must have caught up:
// else a majority might be one only when it has. (handleApiVersionsResponse)
func (r *Replica) voterChecked(in *Input) {
	c := &r.change
	if !c.active || c.client != in.Client || c.removes || c.record != UnknownOffset {
		return // it was given up
	}
	refused := Result{Error: in.Error, Reason: in.Reason}
	if refused.Error == None {
		refused = r.caughtUp(c.voter.Key)
	}
	if refused.Error != None {
		r.endVoterChange(refused)
		return
	}
	if in.Voter.Info != "" {
		c.voter.Info = in.Voter.Info
	}
	set := append(slices.Clone(r.voterSet.Voters), c.voter)
	slices.SortFunc(set, func(a, b Voter) int { return int(a.Key.ID - b.Key.ID) })
	c.record = r.log.end
	r.appendVoters(actAddVoter, set, c.voter.Key)
	if c.early {
		r.answerVoterChange(Result{Offset: c.record})
	}
}

// caughtUp refuses an observer that has not all that the leader has, nor had lately.
func (r *Replica) caughtUp(key ReplicaKey) Result {
	refused := Result{Error: RequestTimedOut}
	switch p := r.lead.progressOf(key); {
	case p == nil || p.LastFetch == Never:
		refused.Reason = "no replica of this id and this directory id fetches from the leader"
	case r.now-p.LastFetch > caughtUpWithin:
		refused.Reason = "it has not fetched from the leader lately"
	case p.LastCaughtUp == Never:
		refused.Reason = "it has not caught up with the leader yet"
	default:
		return Result{}
	}
	return refused
}

// removeVoter is RemoveRaftVoter. A leader may remove itself. (RemoveVoterHandler)
func (r *Replica) removeVoter(in *Input) {
	refused := r.checkVoterChange(in)
	at := slices.Index(r.voters, in.Voter.Key)
	switch {
	case refused.Error != None:
	case at < 0:
		refused = Result{Error: VoterNotFound, Reason: noSuchVoter}
	case len(r.voters) == 1:
		refused = Result{Error: VoterNotFound, Reason: "it is the only voter"}
	}
	if refused.Error != None {
		r.complete(in.Client, refused)
		return
	}
	r.change = voterChange{
		active: true, client: in.Client, removes: true,
		record: r.log.end, deadline: r.now + r.cfg.RequestTimeout,
	}
	set := slices.Delete(slices.Clone(r.voterSet.Voters), at, at+1)
	r.appendVoters(actRemoveVoter, set, in.Voter.Key)
}

// updateVoter is UpdateRaftVoter: a voter listens elsewhere, or can do other levels. It is
// answered before the record is committed, since the voter, which waits for the answer,
// must fetch for that. (UpdateVoterHandler)
func (r *Replica) updateVoter(in *Input) {
	refused := r.checkVoterChange(in)
	at := slices.IndexFunc(r.voters, func(k ReplicaKey) bool { return k.matches(in.Voter.Key) })
	switch {
	case refused.Error != None:
	case in.Error != None:
		refused = Result{Error: in.Error, Reason: in.Reason}
	case at < 0:
		refused = Result{Error: VoterNotFound, Reason: noSuchVoter}
	}
	if refused.Error != None {
		r.complete(in.Client, refused)
		return
	}
	set := slices.Clone(r.voterSet.Voters)
	set[at] = in.Voter
	record := r.log.end
	r.appendVoters(actUpdateVoter, set, in.Voter.Key)
	r.complete(in.Client, Result{Offset: record})
}

const noSuchVoter = "no voter has this id and this directory id"

// checkVoterChange is what all changes have to pass; Error None if one does.
func (r *Replica) checkVoterChange(in *Input) Result {
	key := in.Voter.Key
	switch {
	case in.Kind == InputUpdateVoter && in.Epoch < r.epoch:
		return Result{Error: FencedLeaderEpoch, Reason: "the epoch has passed"}
	case in.Kind == InputUpdateVoter && in.Epoch > r.epoch:
		return Result{Error: UnknownLeaderEpoch, Reason: "the epoch is not known here"}
	case r.role != Leader:
		return Result{Error: NotLeaderOrFollower, Reason: "only the leader changes the voter set"}
	case key.ID < 0:
		return Result{Error: InvalidRequest, Reason: "an id of a voter is not negative"}
	case key.Directory == DirectoryID{}:
		return Result{Error: InvalidRequest, Reason: "the directory id of the voter is missing"}
	case in.Voter.Info == "" && in.Reason != "":
		return Result{Error: InvalidRequest, Reason: in.Reason}
	case in.Kind != InputRemoveVoter && in.Voter.Info == "":
		return Result{Error: InvalidRequest, Reason: "it does not listen where the others would look for it: by the listener of the quorum"}
	}
	r.expireVoterChange()
	switch {
	case r.change.active:
		return Result{Error: RequestTimedOut, Reason: "another change is under way"}
	case r.hw == UnknownOffset:
		return Result{Error: RequestTimedOut, Reason: "the leader has not committed a record of its epoch yet"}
	case !r.voterSet.Dynamic():
		return Result{Error: UnsupportedVersion, Reason: "the voter set is static: controller.quorum.voters of the configuration"}
	case r.voterSet.Offset < 0, r.voterSet.Offset >= r.hw:
		return Result{Error: RequestTimedOut, Reason: "the change before this one is not committed yet"}
	}
	return Result{}
}

// appendVoters writes a KRaftVoters record, with which its set takes effect.
func (r *Replica) appendVoters(action string, set []Voter, about ReplicaKey) {
	r.assert(r.role == Leader, "only a Leader changes the voter set")
	r.assert(r.hw > r.lead.epochStart, "a voter set before a record of the epoch is committed")
	r.assert(r.voterSet.Offset < r.hw, "two voter sets are uncommitted")
	r.assert(r.history.mayFollow(set), "a voter set that differs by more than one voter")
	base := r.log.end
	r.grow(base + 1)
	o := r.op(OpAppendVoters)
	o.Base, o.End, o.Epoch, o.VoterSet = base, r.log.end, r.epoch, set
	r.history.add(base, set)
	r.recordVoters(base, r.epoch, r.history.last())
	r.takeEffect()
	node := about.event()
	r.finish(action, event.Args{Voter: &node}, nil, nil)
}

// completeVoterChange ends a change whose record is committed, or one that takes too long:
// its record may still be committed.
func (r *Replica) completeVoterChange() {
	if c := &r.change; c.active && c.record != UnknownOffset && c.record < r.hw {
		r.endVoterChange(Result{Offset: c.record})
	}
	r.expireVoterChange()
}

func (r *Replica) expireVoterChange() {
	if c := &r.change; c.active && r.now >= c.deadline {
		late := Result{Error: RequestTimedOut, Unknown: c.record != UnknownOffset, Reason: "the voter did not say in time what it can do"}
		if late.Unknown {
			late.Reason = "no majority of the new set had it in time"
		}
		r.endVoterChange(late)
	}
}

// failVoterChange ends a change on the loss of leadership.
func (r *Replica) failVoterChange() {
	if r.change.active {
		r.endVoterChange(Result{Error: NotLeaderOrFollower, Unknown: r.change.record != UnknownOffset, Reason: "the leader is none any more"})
	}
}

func (r *Replica) endVoterChange(result Result) {
	r.answerVoterChange(result)
	r.change = voterChange{}
}

func (r *Replica) answerVoterChange(result Result) {
	if c := &r.change; !c.answered {
		c.answered = true
		r.complete(c.client, result)
	}
}

// leaves says whether a leader is not in the voter set any more, and that is committed: then
// the others choose among themselves.
func (r *Replica) leaves() bool {
	return r.self < 0 && r.voterSet.Offset < r.hw
}
