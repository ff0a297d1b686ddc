package spec

import "github.com/quorate/quorate/checker"

// lesser are guards that say who a replica is or what a message is for. That they
// refuse is seldom news: whoever does not lead cannot resign.
var lesser = Guards(IsUp, IsDown, IsVoter, SupportsPreVote, MayStand, IsProspective, IsNominee,
	IsCandidate, IsLeader, IsResigned, IsFetcher, IsReading, ToOtherVoter, ToOther, ToPreVoter,
	IsFollower, IsReceiving, PartInRange, SomethingToFlush, FlushInRange, PrefixInRange, KeepInRange)

// Attempts implements checker.Explainer.
func (s *System) Attempts(action checker.ActionID, r *Replica, m *Msg, yield func(checker.Attempt)) {
	a := ActionID(action)
	if a >= NumReplicaActions || s.Unoffered(action) != "" {
		return
	}
	trial := new(Trial)
	c := &Ctx{Voters: s.ctx.Voters, Dynamic: s.ctx.Dynamic, Old: s.ctx.Old, Trial: trial}
	s.software(c, r.ID)
	s.instances(a, r, m, func(args Args, b checker.Budget) {
		at := checker.Attempt{Instance: checker.Instance{Action: action, Args: pack(args)}, Budget: b}
		for _, g := range refusals(c, a, r, m, args) {
			at.Refused = append(at.Refused, checker.Refusal{Name: g.String(), Lesser: lesser.has(g)})
		}
		at.Refused = append(at.Refused, s.beyond(a, r)...)
		if args.Park && len(at.Refused) == 0 && parkedAlready(c, r, m, args) {
			at.Refused = []checker.Refusal{{Name: "parked already", Lesser: true}}
		}
		yield(at)
	})
}

// parkedAlready: to park a fetch once more would change nothing, and is no step.
func parkedAlready(c *Ctx, r *Replica, m *Msg, args Args) bool {
	next := *r
	var out Outbox
	c.Trial.Granted = GuardSet{}
	return c.Take(ActionHandleFetchRequest, &next, m, args, &out) && next == *r
}

// refusals are the guards that keep r from an action: the first that refuses, then,
// that one granted, the next, and so on.
func refusals(c *Ctx, a ActionID, r *Replica, m *Msg, args Args) (list []Guard) {
	c.Trial.Granted = GuardSet{}
	defer func() {
		// An action may rely on a guard that it was granted wrongly.
		_ = recover()
	}()
	for {
		next := *r
		var out Outbox
		if c.Take(a, &next, m, args, &out) {
			return list
		}
		g := c.Trial.Refused
		if c.Trial.Granted.has(g) {
			return list // refused by what has no name
		}
		list = append(list, g)
		c.Trial.Granted.add(g)
	}
}

// beyond are the bounds of the model that keep r from an action.
func (s *System) beyond(a ActionID, r *Replica) []checker.Refusal {
	if a != ActionBecomeCandidate && a != ActionLeaveResigned {
		return nil
	}
	next := r.Election.Epoch + 1
	switch {
	case next > s.model.Epochs:
		return []checker.Refusal{{Name: s.info.Bounds[boundEpochs], Bound: true}}
	case a == ActionBecomeCandidate && !s.model.mayStand(next, r.ID):
		return []checker.Refusal{{Name: s.info.Bounds[boundStand], Bound: true}}
	}
	return nil
}

// budgetOf is what an action costs.
func budgetOf(a ActionID) checker.Budget {
	switch a {
	case ActionAppend:
		return budgetRecords
	case ActionTakeSnapshot:
		return budgetSnapshots
	case ActionCrash:
		return budgetCrashes
	case ActionLoseDisk:
		return budgetDisks
	case ActionStartRead:
		return budgetReads
	case ActionResign, ActionCheckQuorumResign:
		return budgetResigns
	case ActionAddVoter:
		return budgetAdds
	case ActionRemoveVoter:
		return budgetRemoves
	case ActionUpdateVoter:
		return budgetUpdates
	}
	return 0
}

// Unoffered implements checker.Explainer.
func (s *System) Unoffered(action checker.ActionID) string {
	m := s.model
	a := ActionID(action)
	if b := budgetOf(a); b != 0 && s.info.Budgets[b].Limit == 0 && !(a == ActionResign && m.Dynamic()) {
		return "the model allows no " + s.info.Budgets[b].Name
	}
	switch {
	case m.Snapshots == 0 && a.AboutSnapshots():
		return "the model has no snapshots"
	case a == ActionFlush && m.MergeFlush:
		return "the model flushes in the step that writes (MergeFlush)"
	case a == ActionResign && m.CheckQuorum && !m.Dynamic():
		return "leaders of the model give up by check-quorum only"
	case a == ActionCheckQuorumResign && !m.CheckQuorum:
		return "leaders of the model give up on request only"
	case a == ActionRestart && m.Crashes == 0 && m.Disks == 0:
		return "nothing crashes in the model"
	case a == ActionRestart && !m.StaysDown:
		return "the model restarts a replica in the step that crashes it"
	}
	if k := actionTable[a]; k.handler != nil && k.answer && m.silences(k.kind) {
		return "the model loses every answer to " + k.kind.String() + " (Silent)"
	}
	return ""
}

// instances lists the parameters with which the model offers an action to r.
func (s *System) instances(a ActionID, r *Replica, m *Msg, yield func(Args, checker.Budget)) {
	if a.Handles() != (m != nil) || m != nil && HandlerOf(m) != a {
		return
	}
	b := budgetOf(a)
	if a == ActionResign && s.leaves(r) {
		b = 0
	}
	switch a {
	case ActionHandleFetchRequest:
		for k := int64(0); k <= int64(r.Log.End()); k++ {
			if !r.Log.cutsBatch(m.Offset + Offset(k)) {
				yield(Args{Count: k}, b)
			}
		}
		if s.model.Park {
			yield(Args{Park: true}, b)
		}
	case ActionHandleFetchSnapshotRequest:
		for k := range s.model.parts() + 1 {
			yield(Args{Count: k, Size: s.model.parts()}, b)
		}
	case ActionTakeSnapshot, ActionAdvanceLogStart:
		for end := int64(1); end <= int64(r.Log.End()); end++ {
			if !r.Log.cutsBatch(Offset(end)) {
				yield(Args{Count: end}, b)
			}
		}
	case ActionSendFetchSnapshot:
		yield(Args{Dst: r.Election.Leader}, b)
	case ActionFlush:
		yield(Args{Count: int64(r.Log.End())}, b)
	case ActionAppend:
		yield(Args{Count: 1}, b)
	case ActionAddVoter, ActionRemoveVoter, ActionUpdateVoter:
		for i := range s.model.size() {
			if id := ID(i + 1); s.model.changing().Has(id) {
				yield(Args{Voter: id}, b)
			}
		}
	case ActionCrash:
		for k := range Survivors(r) {
			yield(Args{Keep: k}, b)
		}
	case ActionSendVoteRequest, ActionSendBeginQuorumEpoch, ActionSendEndQuorumEpoch, ActionSendFetch:
		for i := range s.model.size() {
			dst := ID(i + 1)
			if a == ActionSendBeginQuorumEpoch && !s.announces(r, dst) || a == ActionSendFetch && !s.asks(r, dst) {
				continue
			}
			yield(Args{Dst: dst}, b)
		}
	default:
		yield(Args{}, b)
	}
}
