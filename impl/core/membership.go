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
	if _, is := r.voterSet.Find(in.Voter.Key.ID); refused == None && is {
		refused = DuplicateVoter
	}
	if refused != None {
		r.complete(in.Client, Result{Error: refused})
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
	refused := in.Error
	if refused == None && !r.caughtUp(c.voter.Key) {
		refused = RequestTimedOut
	}
	if refused != None {
		r.endVoterChange(Result{Error: refused})
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

// caughtUp says whether an observer has all that the leader has, or had lately.
func (r *Replica) caughtUp(key ReplicaKey) bool {
	p := r.lead.progressOf(key)
	return p != nil && p.LastCaughtUp != Never && p.LastFetch != Never && r.now-p.LastFetch <= caughtUpWithin
}

// removeVoter is RemoveRaftVoter. A leader may remove itself. (RemoveVoterHandler)
func (r *Replica) removeVoter(in *Input) {
	refused := r.checkVoterChange(in)
	at := slices.Index(r.voters, in.Voter.Key)
	if refused == None && (at < 0 || len(r.voters) == 1) {
		refused = VoterNotFound
	}
	if refused != None {
		r.complete(in.Client, Result{Error: refused})
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
	case refused != None:
	case in.Error != None:
		refused = in.Error
	case at < 0:
		refused = VoterNotFound
	}
	if refused != None {
		r.complete(in.Client, Result{Error: refused})
		return
	}
	set := slices.Clone(r.voterSet.Voters)
	set[at] = in.Voter
	record := r.log.end
	r.appendVoters(actUpdateVoter, set, in.Voter.Key)
	r.complete(in.Client, Result{Offset: record})
}

// checkVoterChange is what all changes have to pass.
func (r *Replica) checkVoterChange(in *Input) ErrorCode {
	key := in.Voter.Key
	switch {
	case in.Kind == InputUpdateVoter && in.Epoch < r.epoch:
		return FencedLeaderEpoch
	case in.Kind == InputUpdateVoter && in.Epoch > r.epoch:
		return UnknownLeaderEpoch
	case r.role != Leader:
		return NotLeaderOrFollower
	case key.ID < 0, key.Directory == DirectoryID{}:
		return InvalidRequest
	case in.Kind != InputRemoveVoter && in.Voter.Info == "":
		return InvalidRequest // it does not listen where the others would look for it
	}
	r.expireVoterChange()
	switch {
	case r.change.active:
		return RequestTimedOut
	case r.hw == UnknownOffset:
		return RequestTimedOut // no record of this epoch is committed
	case !r.voterSet.Dynamic():
		return UnsupportedVersion
	case r.voterSet.Offset < 0, r.voterSet.Offset >= r.hw:
		return RequestTimedOut
	}
	return None
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
		r.endVoterChange(Result{Error: RequestTimedOut, Unknown: c.record != UnknownOffset})
	}
}

// failVoterChange ends a change on the loss of leadership.
func (r *Replica) failVoterChange() {
	if r.change.active {
		r.endVoterChange(Result{Error: NotLeaderOrFollower, Unknown: r.change.record != UnknownOffset})
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
