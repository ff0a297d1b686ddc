package spec

import (
	"slices"

	"github.com/quorate/quorate/checker"
)

// LiveProperties are what live models may claim, but for those of each replica,
// which Liveness adds under the name NotProspectiveForEver.
var LiveProperties = []checker.LivenessProperty{
	{
		Name: "LeaderElectedAndStays", Form: checker.EventuallyAlways, Q: atom(atomSettled),
		Doc: "in the end a majority follows one leader, for ever",
	},
	{
		Name: "AppendEnds", Form: checker.LeadsTo, P: atom(atomUnfinished), Q: atom(atomFinished),
		Doc: "what a leader has taken is committed in the end, or the leader gives up, which tells the client",
	},
	{
		Name: "CatchesUp", Form: checker.EventuallyAlways, Q: atom(atomCaughtUp),
		Doc: "in the end everybody who is up follows the leader, with its whole log and its high watermark",
	},
	{
		Name: "StaleLeaderGivesUp", Form: checker.LeadsTo, P: atom(atomStale), Q: atom(atomNoStale),
		Doc: "a leader that a majority cannot follow any more gives up",
	},
	{
		Name: "CutOffLeaderGivesUp", Form: checker.LeadsTo, P: atom(atomLed), Q: atom(atomUnled),
		Doc: "a leader gives up in the end if a majority is down for good",
	},
	{
		Name: "PreVoteEnds", Form: checker.LeadsTo, P: atom(atomAsking), Q: atom(atomSettled),
		Doc: "once First asks for pre-votes, a majority follows a leader in the end: pre-votes do not go on for ever",
	},
}

const notProspective = "NotProspectiveForEver"

// Liveness implements checker.LiveSystem.
func (s *LiveSystem) Liveness() *checker.Liveness {
	m := s.live
	l := &checker.Liveness{Atoms: m.atomNames(), Finally: m.finally(), Assumes: m.assumes()}
	for i := range m.size() {
		l.Fair = append(l.Fair, m.fairness(ID(i+1))...)
		if id := ID(i + 1); id != m.First {
			l.Limits = append(l.Limits, checker.StepLimit{
				Bound: boundOf(id.String()), Steps: stepsOfReplica(id, ActionBecomeCandidate, ActionLeaveResigned),
			})
		}
	}
	l.Limits = append(l.Limits,
		checker.StepLimit{Bound: s.info.Budgets[budgetRecords].Name, Steps: stepsOfAll(ActionAppend)},
		checker.StepLimit{Bound: s.info.Budgets[budgetCrashes].Name, Steps: stepsOfAll(ActionCrash)},
	)
	for _, p := range LiveProperties {
		if slices.Contains(m.Claims, p.Name) {
			l.Properties = append(l.Properties, p)
		}
	}
	if slices.Contains(m.Claims, notProspective) {
		for i := range m.size() {
			id := ID(i + 1)
			l.Properties = append(l.Properties, checker.LivenessProperty{
				Name: notProspective + "." + id.String(), Form: checker.LeadsTo,
				P: m.of(groupProspective, id), Q: m.of(groupCalm, id),
				Doc: "a replica that asks for pre-votes stands or goes back in the end",
			})
		}
	}
	return l
}

func stepsOfAll(actions ...ActionID) checker.StepSet {
	var s checker.StepSet
	for _, a := range actions {
		s.Actions = append(s.Actions, checker.ActionID(a))
	}
	return s
}

func stepsOfReplica(i ID, actions ...ActionID) checker.StepSet {
	s := stepsOfAll(actions...)
	s.Processes = []int{i.index()}
	return s
}

// finally is what is assumed in the end.
func (m *LiveModel) finally() checker.Finally {
	f := checker.Finally{From: atom(atomEarly), Always: atom(atomSound), FromEnds: true}
	f.Never = []checker.StepSet{
		{Lost: true},
		stepsOfAll(ActionCrash, ActionAppend, ActionDrop),
	}
	if m.CutOff {
		f.Always = atom(atomCutOff)
		f.Never = append(f.Never, stepsOfAll(ActionRestart))
	}
	timers := stepsOfReplica(m.First, ActionBecomeProspective, ActionAbandonPreVote)
	if !m.PreVote.Has(m.First) {
		timers = stepsOfReplica(m.First, ActionBecomeCandidate)
	}
	timers.When = atom(atomBusy)
	f.Never = append(f.Never, timers)
	for i := range m.size() {
		id := ID(i + 1)
		resigns := stepsOfReplica(id, ActionCheckQuorumResign)
		resigns.When = m.of(groupKeeps, id)
		f.Never = append(f.Never, resigns)
		if id == m.First {
			continue
		}
		notices := stepsOfReplica(id, ActionBecomeProspective)
		notices.Unless = m.of(groupDeserted, id)
		f.Never = append(f.Never, stepsOfReplica(id, ActionBecomeCandidate, ActionLeaveResigned), notices)
	}
	return f
}

// fairness: what a replica may go on to do, it does, and so does each exchange with
// each other one.
func (m *LiveModel) fairness(id ID) []checker.Fairness {
	var list []checker.Fairness
	add := func(name string, s checker.StepSet) {
		list = append(list, checker.Fairness{Name: id.String() + ": " + name, Steps: []checker.StepSet{s}})
	}
	actions := []ActionID{
		ActionSendVoteRequest, ActionBecomeLeader, ActionAppendLeaderChange, ActionCheckQuorumResign,
		ActionAbandonPreVote, ActionBecomeProspective, ActionBecomeCandidate, ActionLeaveResigned,
	}
	if !m.voters().Has(id) {
		actions = nil
	}
	if !m.MergeFlush {
		actions = append(actions, ActionFlush)
	}
	for _, a := range actions {
		add(a.String(), stepsOfReplica(id, a))
	}
	for i := range m.size() {
		dst := ID(i + 1)
		if dst == id {
			continue
		}
		for _, a := range []ActionID{ActionSendFetch, ActionSendBeginQuorumEpoch} {
			s := stepsOfReplica(id, a)
			s.Mask, s.Args = 0xff, uint32(dst) // as pack has it
			if a == ActionSendFetch || m.voters().Has(id) && m.voters().Has(dst) {
				add(a.String()+" to "+dst.String(), s)
			}
		}
	}
	return list
}

// assumes says in words what is assumed.
func (m *LiveModel) assumes() string {
	if m.CutOff {
		return "in the end a majority is down for good, no answer is lost and nobody crashes; each step that stays possible is taken"
	}
	return "in the end no answer is lost, nobody crashes and no client writes; only " + m.First.String() +
		" stands, whose log is not behind those of a majority that is up, and its timer waits while it hears a leader or has yet to ask; " +
		"each step that stays possible is taken"
}
