package clusterid

import (
	"fmt"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/spec/concern"
)

// pad makes the size of a State a multiple of 8.
const pad = 2

// Action numbers the actions.
type Action uint8

// Actions.
const (
	Start Action = iota
	WriteMeta
	FlushMeta
	FailMeta
	SetMemory
	Fetch
	Adopt
	Register
	AutoJoin
	AddVoter
	Stand
	PeerError
	Timeout
	SecondProcess
	Crash
	LoseDirectory
	LoseDisks
	Format
	AppendNext
	UpgradeFeatures
	DowngradeFeatures
	AdvanceHighWatermark
	ChangeLeader
	Lead
	TakeSnapshot
	numActions
)

var actionNames = []string{
	"Start", "WriteMeta", "FlushMeta", "FailMeta", "SetMemory", "Fetch", "Adopt", "Register", "AutoJoin", "AddVoter", "Stand", "PeerError",
	"Timeout", "SecondProcess", "Crash", "LoseDirectory", "LoseDisks", "Format", "AppendNext", "UpgradeFeatures", "DowngradeFeatures",
	"AdvanceHighWatermark", "ChangeLeader", "Lead", "TakeSnapshot",
}

// String is the name of the action.
func (a Action) String() string { return actionNames[a] }

// Bounds of a model.
const (
	boundEpochs checker.Bound = iota
	boundLog
	boundCrashes
	boundMoves
	boundLosses
	boundFailures
	boundUpgrades
	boundSnapshots
)

var boundNames = []string{"epochs", "log length", "crashes", "changes of endpoints", "lost disks", "failed writes", "upgrades", "snapshots"}

type machine struct {
	Ctx
	model *Model
	info  *checker.Info
}

var _ concern.Spec[State] = (*machine)(nil)

// newMachine is a model under rules, without a guard.
func newMachine(m *Model, r *Rules, d concern.Drop) *machine {
	r.StaticMayDiscover = r.StaticMayDiscover || m.R2
	x := &machine{Ctx: Ctx{Rules: r, Drop: d}, model: m}
	x.info = &checker.Info{
		Name: m.Name, Actions: actionNames, Properties: Properties, Bounds: boundNames,
		Constants:  []checker.Constant{{Name: "model", Value: m.constants()}},
		Legend:     "[L1 begin1 new-version1 id1(A) end1] is a log, with epochs and ids; a record of another cluster than expected has its letter in front; V2(A, dir 1) is meta.properties of version 2 with cluster id A and directory id 1",
		FormatStep: func(_ int, i checker.Instance) string { return formatStep(i) },
		Hides:      hides,
	}
	for i := range m.Nodes {
		x.info.Processes = append(x.info.Processes, nodeName(i))
	}
	for k := range MaxClusters {
		x.info.Processes = append(x.info.Processes, "cluster "+clusterName(k))
	}
	return x
}

var hides = []string{
	"the log of a cluster is abstract: a leader and what it has committed; package spec has elections and fetches with messages",
	"a fetch and its answer are one step, and so is a registration",
	"a node tells the leaders of two clusters apart by their endpoints",
	"node.id, reserved directory ids, and what a log directory holds beside meta.properties",
	"times: a deadline may pass whenever it is set",
}

func nodeName(i int) string    { return fmt.Sprintf("n%d", i+1) }
func clusterName(k int) string { return string(rune('A' + k)) }

func formatStep(i checker.Instance) string {
	a, arg := Action(i.Action), int(i.Args)
	dir := []string{"metadata directory", "data directory"}
	switch a {
	case Start:
		t := ""
		for k := range MaxClusters {
			if arg>>k&1 == 1 {
				t += clusterName(k)
			}
		}
		return fmt.Sprintf("Start(endpoints of %s)", t)
	case WriteMeta, FlushMeta, FailMeta, SecondProcess, LoseDirectory:
		return fmt.Sprintf("%s(%s)", a, dir[arg])
	case Fetch:
		return fmt.Sprintf("Fetch(from %s)", clusterName(arg))
	case Format:
		return fmt.Sprintf("Format(id %s)", ID(arg))
	case ChangeLeader:
		return fmt.Sprintf("ChangeLeader(log end %d)", arg)
	case Lead:
		return fmt.Sprintf("Lead(cluster %s)", clusterName(arg))
	case Crash:
		return []string{"Crash", "Crash(change of the metadata directory lost)", "Crash(change of the data directory lost)", "Crash(changes of both directories lost)"}[arg]
	}
	return a.String()
}

// Info implements concern.Spec.
func (m *machine) Info() *checker.Info { return m.info }

// Init implements concern.Spec.
func (m *machine) Init(yield func(*State)) {
	var s State
	for k, mode := range m.model.Clusters {
		s.K[k] = newCluster(k, mode)
	}
	m.model.Init(&s, func() { t := s; yield(&t) })
}

// own is the id of who leads a cluster.
func (s *State) own(k int) ID {
	switch l := s.K[k].Leader; l {
	case External:
		return idOf(k)
	case Nobody:
		return NoID
	default:
		return s.N[l-1].Mem
	}
}

// leads says which cluster a node leads, -1 for none.
func (s *State) leads(i int) int {
	for k := range s.K {
		if s.K[k].Leader == uint8(i+1) {
			return k
		}
	}
	return -1
}

// Next implements concern.Spec.
func (m *machine) Next(s *State, yield func(concern.Step[State]), bounded func(checker.Bound)) {
	t := *s
	give := func(p int, a Action, arg int) {
		violated, reached := m.judge(a, arg, p, s, &t)
		yield(concern.Step[State]{Process: p, Instance: checker.Instance{Action: checker.ActionID(a), Args: uint32(arg)}, Next: &t, Violated: violated, Reached: reached})
		t = *s
	}
	by := func(p int, a Action, arg int, ok bool) {
		if ok {
			give(p, a, arg)
		} else {
			t = *s
		}
	}
	budget := func(p int, a Action, arg int, used *uint8, limit uint8, b checker.Bound, ok bool) {
		switch {
		case limit == 0 || !ok:
			t = *s
		case *used == limit:
			bounded(b)
			t = *s
		default:
			*used++
			give(p, a, arg)
		}
	}
	for i := range m.model.Nodes {
		n := &t.N[i]
		lead := s.leads(i)
		for _, to := range m.model.Endpoints {
			if now := s.N[i].Endpoints; to == now || now == 0 {
				by(i, Start, int(to), m.Start(n, to))
			} else {
				budget(i, Start, int(to), &t.Moves, m.model.Moves, boundMoves, m.Start(n, to))
			}
		}
		for d := range MaxDirs {
			by(i, WriteMeta, d, m.WriteMeta(n, d))
			by(i, FlushMeta, d, m.FlushMeta(n, d))
			budget(i, FailMeta, d, &t.Failures, m.model.Failures, boundFailures, m.FailMeta(n, d))
			by(i, SecondProcess, d, m.SecondProcess(n, d))
			budget(i, LoseDirectory, d, &t.Losses, m.model.Losses, boundLosses, m.LoseDirectory(n, d))
		}
		by(i, SetMemory, 0, m.SetMemory(n))
		if lead < 0 {
			for k := range m.model.clusters() {
				if s.K[k].Leader != Nobody {
					by(i, Fetch, k, m.Fetch(n, &s.K[k], k, s.own(k)))
				}
			}
			id := NoID
			if n.Leader != 0 {
				id = s.own(int(n.Leader) - 1)
			}
			by(i, Adopt, 0, n.Leader != 0 && m.Adopt(n, &s.N[i].Log, n.HighWatermark, id))
			by(i, Register, 0, n.Leader != 0 && m.Register(n, id))
			if m.model.Voters {
				by(i, AutoJoin, 0, n.Leader != 0 && m.AutoJoin(n, id))
				by(i, AddVoter, 0, m.AddVoter(n))
			}
		} else {
			by(i, Adopt, 0, m.Adopt(n, &s.K[lead].Log, s.K[lead].HighWatermark, NoID))
		}
		if m.model.Voters {
			by(i, Stand, 0, m.Stand(n))
			by(i, PeerError, 0, m.PeerError(n))
		}
		if m.model.Timeouts && lead < 0 {
			by(i, Timeout, 0, m.Timeout(n))
		}
		for keep := range 1 << MaxDirs {
			if lead >= 0 {
				m.unlead(&t, i, lead)
			}
			budget(i, Crash, keep, &t.Crashes, m.model.Crashes, boundCrashes, m.Crash(n, keep))
		}
		budget(i, LoseDisks, 0, &t.Losses, m.model.Losses, boundLosses, m.LoseDisks(n))
		if m.model.Formats {
			for _, id := range []ID{OfA, OfB} {
				by(i, Format, int(id), s.N[i].Draws < 4 && m.Format(n, id))
			}
		}
		if m.model.R2 && lead < 0 {
			if int(s.K[0].Epoch) >= m.model.Epochs {
				if m.lead(&t, i, 0) {
					bounded(boundEpochs)
				}
				t = *s
			} else {
				by(i, Lead, 0, m.lead(&t, i, 0))
			}
		}
	}
	for k := range m.model.clusters() {
		m.cluster(s, &t, k, by, budget, bounded)
	}
}

// cluster lists the steps of a cluster.
func (m *machine) cluster(s, t *State, k int, by func(int, Action, int, bool), budget func(int, Action, int, *uint8, uint8, checker.Bound, bool), bounded func(checker.Bound)) {
	c, p := &t.K[k], m.model.Nodes+k
	if _, ok := m.next(c, k, s.own(k)); ok && c.Log.end() == MaxLog {
		bounded(boundLog)
	}
	ok := m.appendNext(c, k, s.own(k))
	if l := c.Leader; ok && m.Rules.DrawsEarly && l != External && c.Log[c.Log.end()-1].ID() != NoID && t.N[l-1].Mem == NoID {
		if n := &t.N[l-1]; n.Stage == Unknown {
			n.Stage, n.Target = Writing, c.Log[c.Log.end()-1].ID()
		}
	}
	by(p, AppendNext, 0, ok)
	by(p, AdvanceHighWatermark, 0, m.advance(c))
	if m.model.Upgrades > 0 && s.K[k].New == 0 {
		budget(p, UpgradeFeatures, 0, &t.Upgrades, m.model.Upgrades, boundUpgrades, m.upgrade(c, k))
		budget(p, DowngradeFeatures, 0, &t.Upgrades, m.model.Upgrades, boundUpgrades, m.downgrade(c, k))
	}
	budget(p, TakeSnapshot, 0, &t.Snapshots, m.model.Snapshots, boundSnapshots, m.takeSnapshot(c))
	for end := s.K[k].HighWatermark; end <= s.K[k].Log.end(); end++ {
		if int(s.K[k].Epoch) < m.model.Epochs {
			by(p, ChangeLeader, int(end), m.change(c, end))
		} else if m.change(c, end) {
			bounded(boundEpochs)
			*t = *s
		}
	}
}
