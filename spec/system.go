package spec

import (
	"reflect"
	"slices"

	"github.com/quorate/quorate/checker"
)

// System is a model as the checker explores it: the actions, with the bounds of
// the model and the history around them.
type System struct {
	model *Model
	info  *checker.Info
	ctx   Ctx
	trial Trial
	// variant is what differs from the protocol in the replicas of variant.On;
	// changed are its rules, clean those of everybody else.
	variant        Variant
	changed, clean *Rules
	scratch        Outbox
}

// Effect is what an action changes: a field of [Replica] by name, or "send".
type Effect struct {
	Action ActionID
	Field  string
}

// Variant is what a run changes in a model's protocol: nothing, one rule, one
// guard or one effect.
type Variant struct {
	Mutation   *Mutation
	DropAction ActionID
	DropGuard  Guard
	DropEffect Effect
	// On are the replicas whose software is so changed, as in the midst of a
	// rolling upgrade; empty: all of them.
	On Set
}

func (v *Variant) on(id ID) bool { return v.On == 0 || v.On.Has(id) }

// Budgets of a model.
const (
	budgetRecords checker.Budget = iota + 1
	budgetCrashes
	budgetDisks
	budgetReads
	budgetResigns
	budgetLate
	budgetSnapshots
	budgetAdds
	budgetRemoves
	budgetUpdates
	numBudgets
)

// Bounds of a model other than budgets.
const (
	boundEpochs checker.Bound = iota
	boundStand
)

// NewSystem is the model under a variant of the protocol.
func NewSystem(m *Model, v Variant) *System {
	s := &System{model: m, variant: v, changed: CleanRules(), clean: CleanRules()}
	if v.Mutation != nil {
		v.Mutation.Override(s.changed)
	}
	s.ctx = Ctx{Rules: s.changed, Voters: m.voters(), Dynamic: m.Dynamic(), Old: m.old(), Trial: &s.trial}
	s.info = &checker.Info{
		Name:        m.Name,
		Constants:   []checker.Constant{{Name: "model", Value: m.Constants()}},
		Properties:  Properties,
		Bounds:      []string{"epochs", "who may stand"},
		MaxInFlight: m.InFlight,
		Hides:       m.Hides(),
		Legend:      "[L1A 2Cx3] is a log: the LeaderChange record of A's epoch 1, three client records of C's epoch 2; V2C{BC} in it a voter set that C writes; exposed is what any leader's high watermark ever covered, chosen what no later leader may lack",
		FormatStep:  func(who int, i checker.Instance) string { return formatStep(m, who, i) },
		Budgets: []checker.BudgetInfo{
			{}, {Name: "client records", Limit: m.Records}, {Name: "crashes", Limit: m.Crashes}, {Name: "lost disks", Limit: m.Disks},
			{Name: "reads", Limit: m.Reads}, {Name: "resignations", Limit: m.Resigns}, {Name: "late messages", Limit: m.Late},
			{Name: "snapshots", Limit: m.Snapshots}, {Name: "voters added", Limit: m.Adds}, {Name: "voters removed", Limit: m.Removes},
			{Name: "voters updated", Limit: m.Updates},
		},
	}
	for a := ActionID(0); a < NumActions; a++ {
		s.info.Actions = append(s.info.Actions, a.String())
	}
	for i := 0; i < m.size(); i++ {
		s.info.Processes = append(s.info.Processes, ID(i+1).String())
	}
	all := s.info.Processes
	orNone := append(slices.Clone(all), "")
	s.info.Words = map[string][]string{
		"role": roleNames[:], "kind": kindNames[1:], "error": errorNames[:],
		"id": all, "from": all, "to": all, "leader": orNone, "voted": orNone,
	}
	return s
}

// Info implements checker.System.
func (s *System) Info() *checker.Info { return s.info }

// Model is what the system explores.
func (s *System) Model() *Model { return s.model }

// Coverage is how often each guard of each action was false and true, over the
// distinct local states reached.
func (s *System) Coverage() *[NumActions][NumGuards][2]uint64 { return &s.trial.Counts }

// GuardCounts implements checker.GuardCounter.
func (s *System) GuardCounts() []checker.GuardCount {
	var list []checker.GuardCount
	for a := ActionID(0); a < NumReplicaActions; a++ {
		for _, g := range GuardsOf(a) {
			n := s.trial.Counts[a][g]
			list = append(list, checker.GuardCount{Action: a.String(), Guard: g.String(), True: n[1], False: n[0]})
		}
	}
	return list
}

// Init implements checker.System: all replicas have empty disks and are up, or have
// formed a quorum.
func (s *System) Init(yield func([]Replica, []Msg, Ghost)) {
	var all []Replica
	for i := 0; i < s.model.size(); i++ {
		id := ID(i + 1)
		v := Version(0)
		if s.model.PreVote.Has(id) {
			v = PreVote
		}
		all = append(all, NewReplica(id, v))
	}
	if s.model.Formed {
		yield(all, nil, s.formed(all))
		return
	}
	yield(all, nil, Ghost{})
}

type steps = checker.Steps[Replica, Msg]

// try runs one action of a copy of r, and the steps that the model merges with
// it, and lists the result.
func (s *System) try(r *Replica, m *Msg, a ActionID, args Args, out *steps) bool {
	next := *r
	if !s.take(a, &next, m, args) {
		return false
	}
	var sends [1]Msg
	sent := copy(sends[:], s.scratch.Messages())
	reached := s.ctx.Reached
	violated := CheckStep(a, r, &next)
	reached |= ReachStep(a, r, &next)
	if a == ActionCrash && !s.model.StaysDown || a == ActionLoseDisk && !s.model.StaysDown {
		down := next
		s.take(ActionRestart, &next, nil, Args{})
		reached |= s.ctx.Reached | ReachStep(ActionRestart, &down, &next)
		violated |= CheckStep(ActionRestart, &down, &next)
	}
	if s.model.MergeFlush && next.Role != Down && !next.Flushed() {
		dirty := next
		s.take(ActionFlush, &next, nil, Args{Count: int64(next.Log.End())})
		reached |= s.ctx.Reached | ReachStep(ActionFlush, &dirty, &next)
		violated |= CheckStep(ActionFlush, &dirty, &next)
	}
	step := out.Add()
	step.Instance = checker.Instance{Action: checker.ActionID(a), Args: pack(args)}
	step.Next = next
	for _, m := range sends[:sent] {
		if m.Response && s.model.silences(m.Kind) {
			continue
		}
		step.Sends[step.SendN] = m
		step.SendN++
	}
	step.Keep = args.Park
	step.Violated, step.Reached = violated, reached
	step.Observe = Concerns(r, &next)
	return true
}

// Offer lists what comes of an action that r takes by itself, for a system that is made
// of more than replicas.
func (s *System) Offer(r *Replica, a ActionID, args Args, out *checker.Steps[Replica, Msg]) bool {
	return s.try(r, nil, a, args, out)
}

// Mixed says whether some replicas run other software than the rest, so that they
// cannot take each other's place.
func (s *System) Mixed() bool {
	all := All(s.model.size())
	v := &s.variant
	varied := v.Mutation != nil || v.DropGuard != NoGuard || v.DropEffect.Field != ""
	return s.ctx.Old != 0 || varied && v.On&all != 0 && v.On&all != all
}

// software lets c run the software of a replica.
func (s *System) software(c *Ctx, id ID) {
	action, guard := ActionID(0), NoGuard
	c.Rules = s.clean
	if s.variant.on(id) {
		c.Rules, action, guard = s.changed, s.variant.DropAction, s.variant.DropGuard
	}
	if c.Trial != nil {
		c.Trial.DropAction, c.Trial.DropGuard = action, guard
	}
}

// take runs one action and takes the dropped effect back.
func (s *System) take(a ActionID, r *Replica, m *Msg, args Args) bool {
	s.software(&s.ctx, r.ID)
	drop := s.variant.DropEffect
	if drop.Field == "" || drop.Action != a || !s.variant.on(r.ID) {
		return s.ctx.Take(a, r, m, args, &s.scratch)
	}
	before := *r
	if !s.ctx.Take(a, r, m, args, &s.scratch) {
		return false
	}
	if drop.Field == "send" {
		s.scratch.Reset()
		return true
	}
	old, now := reflect.ValueOf(&before).Elem(), reflect.ValueOf(r).Elem()
	now.FieldByName(drop.Field).Set(old.FieldByName(drop.Field))
	return true
}

// Local implements checker.System.
func (s *System) Local(r *Replica, b checker.Budget, out *steps) {
	m := s.model
	switch b {
	case 0:
		s.free(r, out)
	case budgetRecords:
		s.try(r, nil, ActionAppend, Args{Count: 1}, out)
	case budgetCrashes:
		for k := range Survivors(r) {
			s.try(r, nil, ActionCrash, Args{Keep: k}, out)
		}
	case budgetDisks:
		s.try(r, nil, ActionLoseDisk, Args{}, out)
	case budgetReads:
		s.try(r, nil, ActionStartRead, Args{}, out)
	case budgetSnapshots:
		for end := int64(1); end <= int64(r.Log.End()); end++ {
			if !r.Log.cutsBatch(Offset(end)) {
				s.try(r, nil, ActionTakeSnapshot, Args{Count: end}, out)
			}
		}
	case budgetAdds, budgetRemoves, budgetUpdates:
		for i := range m.size() {
			if id := ID(i + 1); m.changing().Has(id) {
				s.try(r, nil, changes[b-budgetAdds], Args{Voter: id}, out)
			}
		}
	case budgetResigns:
		if m.CheckQuorum {
			s.try(r, nil, ActionCheckQuorumResign, Args{}, out)
		} else {
			s.try(r, nil, ActionResign, Args{}, out)
		}
	}
}

// changes of the voter set, in the order of their budgets.
var changes = [...]ActionID{ActionAddVoter, ActionRemoveVoter, ActionUpdateVoter}

// leaves says whether a leader has to give up: it is no voter, and that is committed.
func (s *System) leaves(r *Replica) bool {
	return s.ctx.Dynamic && r.Role == Leader && !s.ctx.isVoter(r) && r.HighWatermark != Unknown && s.clean.ChangeCommitted(r)
}

// free lists what costs no budget.
func (s *System) free(r *Replica, out *steps) {
	m := s.model
	s.try(r, nil, ActionBecomeProspective, Args{}, out)
	s.raiseEpoch(r, ActionBecomeCandidate, out)
	s.try(r, nil, ActionAbandonPreVote, Args{}, out)
	s.try(r, nil, ActionBecomeLeader, Args{}, out)
	s.try(r, nil, ActionAppendLeaderChange, Args{}, out)
	if !m.MergeFlush {
		s.try(r, nil, ActionFlush, Args{Count: int64(r.Log.End())}, out)
	}
	s.raiseEpoch(r, ActionLeaveResigned, out)
	s.try(r, nil, ActionServeRead, Args{}, out)
	s.try(r, nil, ActionRestart, Args{}, out)
	for i := 0; i < m.size(); i++ {
		dst := ID(i + 1)
		s.try(r, nil, ActionSendVoteRequest, Args{Dst: dst}, out)
		if s.announces(r, dst) {
			s.try(r, nil, ActionSendBeginQuorumEpoch, Args{Dst: dst}, out)
		}
		s.try(r, nil, ActionSendEndQuorumEpoch, Args{Dst: dst}, out)
		if s.asks(r, dst) {
			s.try(r, nil, ActionSendFetch, Args{Dst: dst}, out)
		}
	}
	if m.Snapshots > 0 {
		s.snapshots(r, out)
	}
	if s.leaves(r) {
		s.try(r, nil, ActionResign, Args{}, out)
	}
}

// snapshots lists what else replicas do with snapshots.
func (s *System) snapshots(r *Replica, out *steps) {
	for to := int64(1); to <= int64(r.Log.End()); to++ {
		if !r.Log.cutsBatch(Offset(to)) {
			s.try(r, nil, ActionAdvanceLogStart, Args{Count: to}, out)
		}
	}
	if r.Fetching.Snapshot.End > 0 {
		s.try(r, nil, ActionSendFetchSnapshot, Args{Dst: r.Election.Leader}, out)
		s.try(r, nil, ActionInstallSnapshot, Args{}, out)
		s.try(r, nil, ActionAbandonSnapshot, Args{}, out)
	}
}

// announces bounds to whom a leader says that it leads: whoever has not fetched yet,
// or has not confirmed the read under way.
func (s *System) announces(r *Replica, dst ID) bool {
	return r.End[dst.index()] == Unknown || r.Reading && !r.Confirmed.Has(dst)
}

// asks bounds whom a replica without a leader asks.
func (s *System) asks(r *Replica, dst ID) bool {
	if r.Role == Follower {
		return dst == r.Election.Leader && r.Fetching.Snapshot.End == 0 // else SendFetchSnapshot
	}
	return s.model.Bootstrap || !s.ctx.isVoter(r)
}

// raiseEpoch lists an action that raises the epoch, if the model has room.
func (s *System) raiseEpoch(r *Replica, a ActionID, out *steps) {
	n := len(out.List)
	if !s.try(r, nil, a, Args{}, out) {
		return
	}
	next := r.Election.Epoch + 1
	switch {
	case next > s.model.Epochs:
		out.List = out.List[:n]
		out.Stopped(boundEpochs)
	case a == ActionBecomeCandidate && !s.model.mayStand(next, r.ID):
		out.List = out.List[:n]
		out.Stopped(boundStand)
	}
}

// Deliver implements checker.System.
func (s *System) Deliver(r *Replica, m *Msg, out *steps) {
	a := HandlerOf(m)
	if a == ActionHandleFetchSnapshotRequest {
		s.parts(r, m, out)
		return
	}
	if a != ActionHandleFetchRequest {
		s.try(r, m, a, Args{}, out)
		return
	}
	for k := int64(0); k <= int64(r.Log.End()); k++ {
		if !r.Log.cutsBatch(m.Offset + Offset(k)) {
			s.try(r, m, a, Args{Count: k}, out)
		}
	}
	if s.model.Park {
		n := len(out.List)
		if s.try(r, m, a, Args{Park: true}, out) && out.List[n].Next == *r {
			out.List = out.List[:n] // parked again: nothing happens
		}
	}
}

// parts lists the answers to a request for a part of a snapshot: any that is not empty, or
// an error.
func (s *System) parts(r *Replica, m *Msg, out *steps) {
	n, size := len(out.List), s.model.parts()
	for k := int64(1); k <= size; k++ {
		s.try(r, m, ActionHandleFetchSnapshotRequest, Args{Count: k, Size: size}, out)
	}
	if len(out.List) == n {
		s.try(r, m, ActionHandleFetchSnapshotRequest, Args{Size: size}, out)
	}
}

// Network implements checker.System.
func (s *System) Network(m *Msg, out *checker.Fates[Msg]) {
	add := func(a ActionID, b checker.Budget, becomes ...Msg) {
		f := checker.Fate[Msg]{Instance: checker.Instance{Action: checker.ActionID(a)}, Budget: b}
		f.N = uint8(copy(f.Becomes[:], becomes))
		out.List = append(out.List, f)
	}
	late := *m
	late.Late = true
	add(ActionDrop, 0)
	add(ActionDuplicate, budgetLate, *m, late)
	if !m.Late {
		add(ActionCloseConnection, budgetLate, late)
	}
}

// Route implements checker.System: one request, or its response, on each
// connection.
func (s *System) Route(m *Msg) checker.Route {
	from, to := m.Src, m.Dst
	if m.Response {
		from, to = to, from
	}
	r := checker.Route{Dst: uint8(m.Dst.index()), Conn: uint16(from)<<4 | uint16(to)}
	if m.Late {
		r.Conn = 0
	}
	r.Immediate = s.model.Immediate.has(m.Kind) && !m.Late
	return r
}

// Observe implements checker.System.
func (s *System) Observe(g *Ghost, v *checker.View[Replica]) checker.Props {
	return g.Observe(s.ctx.Quorum(), v.P[:v.N], v.Actor, v.Old)
}

// Outline implements checker.Outliner.
func (s *System) Outline(r *Replica, of checker.Sight) Replica { return outline(r, of) }

// CheckOne implements checker.System.
func (s *System) CheckOne(r *Replica, g *Ghost) checker.Props { return CheckOne(r, g) }

// CheckPair implements checker.System.
func (s *System) CheckPair(a, b *Replica) checker.Props { return CheckPair(a, b) }

// Refusal is the guard that keeps r from taking an instance, NoGuard if none does.
func (s *System) Refusal(r *Replica, m *Msg, i checker.Instance) Guard {
	trial := Trial{}
	c := Ctx{Voters: s.ctx.Voters, Dynamic: s.ctx.Dynamic, Old: s.ctx.Old, Trial: &trial}
	s.software(&c, r.ID)
	next := *r
	var out Outbox
	if c.Take(ActionID(i.Action), &next, m, UnpackArgs(i), &out) {
		return NoGuard
	}
	return trial.Refused
}
