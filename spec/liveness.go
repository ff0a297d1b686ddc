package spec

import "github.com/quorate/quorate/checker"

// LiveModel is a model in which it is asked what comes about in the end.
//
// # How a finite model says something of endless elections
//
// Epochs have no limit, and every election raises one, so no finite model has all
// behaviours, and in one that merely ends at some epoch a leader is elected, or is
// not, because of the bound. What is true of Kafka is true under assumptions anyhow:
// somebody's election timer fires first, is first again and again, and nothing is lost
// from some time on. These assumptions make the model finite:
//
//   - Until some state, anything may happen that the model offers: whoever it is
//     stands in epochs up to Prefix, answers are lost, replicas crash, leaders resign,
//     timers fire too early.
//   - From then on, what [checker.Finally] says: no answer is lost, nobody crashes, and
//     of the replicas that are up only one, First, stands. That is the one whose
//     timer is the shortest; of it we also assume that it can win at all, which is that
//     the logs of a majority that is up are not ahead of its own. Its timer is longer
//     than an exchange: it does not fire while First hears from its leader, or has not
//     asked all. The others notice as well that their leader is gone, and ask for
//     pre-votes, but do not come to stand; a leader gives up by check-quorum if it
//     has lost a majority, and not otherwise.
//   - Epochs up to Epochs leave First room to win. The engine sees to it: if in any state
//     of that suffix an epoch were wanted that the model does not have, the run is
//     refused ([checker.LimitError]), and proves nothing.
//
// Where the suffix begins is not said, so it begins wherever it may. That one replica is
// First is no loss: replicas are alike, and who crashes, leads or falls behind before
// that is open. What it does leave out: behaviours in which more than Prefix epochs pass
// before the faults stop, and those in which whose timer is first changes for ever.
//
// Exchanges happen at once (Immediate), so nothing is in flight between steps, and
// writes are flushed at once unless the model says otherwise.
type LiveModel struct {
	Model
	// Prefix is the highest epoch in which anybody may stand; Stand has who, if not
	// all.
	Prefix Epoch
	// First is who stands in the end, and before in any epoch.
	First ID
	// CutOff: in the end a majority is down for good, and nobody else is assumed
	// to be able to win.
	CutOff bool
	// Claims names the properties of LiveProperties that the model is for.
	Claims []string
	// Pin is what the clean model must give: states, those in which the assumptions
	// may hold, and fair components.
	Pin LivePin
}

// LivePin is the pinned result of a live model.
type LivePin struct{ Distinct, Suffix, Fair uint64 }

// LiveReplica is a replica, and what its timers depend on.
type LiveReplica struct {
	Replica
	// Asked are those whom a nominee has asked since it became one, and whom a
	// resigned leader has told. Nobody is asked or told twice: in Kafka too, whoever
	// has answered is not (unrecordedVoters, unackedVoters).
	Asked Set
	//lint:ignore U1000 what is interned has no padding
	spare [7]uint8
}

// LiveSystem is a live model as the checker explores it. There is no history: no
// safety property is judged.
type LiveSystem struct {
	live  *LiveModel
	inner *System
	info  checker.Info
	list  steps
}

// NewLiveSystem is a live model under a variant of the protocol.
func NewLiveSystem(m *LiveModel, v Variant) *LiveSystem {
	s := &LiveSystem{live: m, inner: NewSystem(&m.Model, v)}
	s.info = *s.inner.info
	s.info.Properties, s.info.Bounds = nil, nil
	s.info.Legend = "[L1A 2Cx3] is a log: the LeaderChange record of A's epoch 1, three client records of C's epoch 2; asked is whom a nominee has asked, or a resigned leader has told"
	for _, p := range s.info.Processes {
		s.info.Bounds = append(s.info.Bounds, boundOf(p))
	}
	return s
}

func boundOf(process string) string { return "epochs of " + process }

// Info implements checker.System.
func (s *LiveSystem) Info() *checker.Info { return &s.info }

// Init implements checker.System.
func (s *LiveSystem) Init(yield func([]LiveReplica, []Msg, uint64)) {
	s.inner.Init(func(replicas []Replica, network []Msg, _ Ghost) {
		var all []LiveReplica
		for _, r := range replicas {
			all = append(all, LiveReplica{Replica: r})
		}
		yield(all, network, 0)
	})
}

type liveSteps = checker.Steps[LiveReplica, Msg]

// try lists an action of a copy of r.
func (s *LiveSystem) try(r *LiveReplica, m *Msg, a ActionID, args Args, out *liveSteps) {
	s.list.List = s.list.List[:0]
	if s.inner.try(&r.Replica, m, a, args, &s.list) {
		s.pass(r, a, args, out)
	}
}

// pass lists what the inner model listed.
func (s *LiveSystem) pass(r *LiveReplica, a ActionID, args Args, out *liveSteps) {
	for i := range s.list.List {
		from := &s.list.List[i]
		to := out.Add()
		to.Instance, to.Sends, to.SendN, to.Keep = from.Instance, from.Sends, from.SendN, from.Keep
		to.Next.Replica = from.Next
		same := from.Next.Role == r.Role && from.Next.Election.Epoch == r.Election.Epoch
		if asks := r.Role == Candidate || r.Role == Prospective || r.Role == Resigned; same && asks {
			to.Next.Asked = r.Asked
		}
		if a == ActionSendVoteRequest || a == ActionSendEndQuorumEpoch {
			to.Next.Asked = to.Next.Asked.With(args.Dst)
		}
	}
}

// Local implements checker.System.
func (s *LiveSystem) Local(r *LiveReplica, b checker.Budget, out *liveSteps) {
	early := r.Election.Epoch <= s.live.Prefix // nothing is assumed yet
	switch {
	case b == 0:
		s.free(r, out)
	case b == budgetRecords && early:
		s.try(r, nil, ActionAppend, Args{Count: 1}, out)
	case b == budgetCrashes && early:
		for k := range Survivors(&r.Replica) {
			s.try(r, nil, ActionCrash, Args{Keep: k}, out)
		}
	}
}

func (s *LiveSystem) free(r *LiveReplica, out *liveSteps) {
	s.try(r, nil, ActionBecomeProspective, Args{}, out)
	s.raiseEpoch(r, ActionBecomeCandidate, out)
	s.try(r, nil, ActionAbandonPreVote, Args{}, out)
	s.try(r, nil, ActionBecomeLeader, Args{}, out)
	s.try(r, nil, ActionAppendLeaderChange, Args{}, out)
	if !s.live.MergeFlush {
		s.try(r, nil, ActionFlush, Args{Count: int64(r.Log.End())}, out)
	}
	s.try(r, nil, ActionCheckQuorumResign, Args{}, out)
	s.raiseEpoch(r, ActionLeaveResigned, out)
	s.try(r, nil, ActionRestart, Args{}, out)
	for i := range s.live.size() {
		dst := ID(i + 1)
		if !r.Asked.Has(dst) {
			s.try(r, nil, ActionSendVoteRequest, Args{Dst: dst}, out)
			s.try(r, nil, ActionSendEndQuorumEpoch, Args{Dst: dst}, out)
		}
		s.try(r, nil, ActionSendBeginQuorumEpoch, Args{Dst: dst}, out)
		// A voter that follows asks its leader, one that does not waits to be told; an
		// observer asks whom it knows.
		if r.Role == Follower || s.live.Bootstrap || !s.inner.ctx.Voters.Has(r.ID) {
			s.try(r, nil, ActionSendFetch, Args{Dst: dst}, out)
		}
	}
}

// raiseEpoch lists an action that raises the epoch, if the model has room.
func (s *LiveSystem) raiseEpoch(r *LiveReplica, a ActionID, out *liveSteps) {
	n := len(out.List)
	s.try(r, nil, a, Args{}, out)
	next := r.Election.Epoch + 1
	room := next <= s.live.Prefix && s.live.mayStand(next, r.ID)
	if r.ID == s.live.First {
		room = next <= s.live.Epochs
	}
	if len(out.List) > n && !room {
		out.List = out.List[:n]
		out.Stopped(checker.Bound(r.ID.index()))
	}
}

// Deliver implements checker.System.
func (s *LiveSystem) Deliver(r *LiveReplica, m *Msg, out *liveSteps) {
	s.list = steps{List: s.list.List[:0]}
	s.inner.Deliver(&r.Replica, m, &s.list)
	s.pass(r, HandlerOf(m), Args{}, out)
}

// Network implements checker.System.
func (s *LiveSystem) Network(m *Msg, out *checker.Fates[Msg]) { s.inner.Network(m, out) }

// Route implements checker.System.
func (s *LiveSystem) Route(m *Msg) checker.Route { return s.inner.Route(m) }

// Observe implements checker.System.
func (s *LiveSystem) Observe(*uint64, *checker.View[LiveReplica]) checker.Props { return 0 }

// CheckOne implements checker.System.
func (s *LiveSystem) CheckOne(*LiveReplica, *uint64) checker.Props { return 0 }

// CheckPair implements checker.System.
func (s *LiveSystem) CheckPair(_, _ *LiveReplica) checker.Props { return 0 }

// DescribeProcess implements checker.System.
func (s *LiveSystem) DescribeProcess(r *LiveReplica) []checker.Field {
	fields := Describe(&r.Replica)
	if r.Asked != 0 {
		fields = append(fields, checker.Field{Path: "asked", Value: r.Asked.String()})
	}
	return fields
}

// DescribeMessage implements checker.System.
func (s *LiveSystem) DescribeMessage(m *Msg) string { return m.String() }

// DescribeGhost implements checker.System.
func (s *LiveSystem) DescribeGhost(*uint64) []checker.Field { return nil }

// Env implements checker.System.
func (s *LiveSystem) Env(replicas []*LiveReplica, network []*Msg, _ *uint64) map[string]any {
	var all []*Replica
	for _, r := range replicas {
		all = append(all, &r.Replica)
	}
	return s.inner.Env(all, network, &Ghost{})
}
