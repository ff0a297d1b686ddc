package composed

import (
	"errors"
	"fmt"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/spec"
	"github.com/quorate/quorate/spec/bootstrap"
	"github.com/quorate/quorate/spec/clusterid"
	"github.com/quorate/quorate/spec/concern"
)

var errTooManyHeld = errors.New("more snapshots than fit")

// Action numbers the actions: those of package spec, and behind them those of controllers
// and nodes.
type Action uint8

// Actions of controllers and nodes.
const (
	Replay Action = iota + Action(spec.NumActions)
	Claim
	StepDown
	Activate
	AppendChunk
	DeleteZero
	WriteMeta
	FlushMeta
	SetMemory
	Adopt
	UpgradeFeatures
	Refuse
)

var ownNames = []string{
	"Replay", "Claim", "StepDown", "Activate", "AppendChunk", "DeleteZero", "WriteMeta", "FlushMeta", "SetMemory", "Adopt", "UpgradeFeatures", "Refuse",
}

var actionNames = func() (list []string) {
	for a := range spec.NumActions {
		list = append(list, a.String())
	}
	return append(list, ownNames...)
}()

// String is the name of the action.
func (a Action) String() string { return actionNames[a] }

type (
	stepList     = checker.Steps[Process, Msg]
	replicaSteps = checker.Steps[spec.Replica, spec.Msg]
)

// System is a model as the checker explores it.
type System struct {
	model    *Model
	rules    *Rules
	info     checker.Info
	replicas *spec.System
	boot     bootstrap.Ctx
	ids      clusterid.Ctx
	list     replicaSteps
}

// newSystem is a model under rules.
func newSystem(m *Model, r *Rules, _ concern.Drop) *System {
	m = m.without()
	s := &System{model: m, rules: r, boot: bootstrap.Ctx{Rules: r.Bootstrap, Transactions: m.Transactions}, ids: clusterid.Ctx{Rules: r.ClusterID}}
	s.replicas = spec.NewSystem(&m.Model, spec.Variant{Mutation: &spec.Mutation{Override: func(to *spec.Rules) { *to = *r.Spec }}})
	s.info = *s.replicas.Info()
	s.info.Actions, s.info.Properties = actionNames, Properties
	s.info.Constants = []checker.Constant{{Name: "model", Value: m.constants()}}
	s.info.Legend = "[L1A begin1A version1A(zero)] is a log: the LeaderChange of A's epoch 1, then records of it, with the source of bootstrap records; V2(A, dir 1) is meta.properties of version 2 with cluster id A and directory id 1"
	s.info.Hides = append(append([]string(nil), s.info.Hides...), hides...)
	format := s.info.FormatStep
	s.info.FormatStep = func(who int, i checker.Instance) string {
		a := Action(i.Action)
		switch {
		case a < Replay:
			return format(who, i)
		case a == WriteMeta || a == FlushMeta:
			return fmt.Sprintf("%s(%s)", a, []string{"metadata directory", "data directory"}[i.Args])
		}
		return a.String()
	}
	return s
}

var hides = []string{
	"an answer of INCONSISTENT_CLUSTER_ID changes nothing at who gets it, so it is not sent: the request is consumed",
	"format, bootstrap.checkpoint's deletion, registrations, deadlines and lost disks are in the models of bootstrap and clusterid",
	"while a node writes its cluster id its replica rests",
}

// Info implements checker.System.
func (s *System) Info() *checker.Info { return &s.info }

// Init implements checker.System.
func (s *System) Init(yield func([]Process, []Msg, spec.Ghost)) {
	s.replicas.Init(func(replicas []spec.Replica, _ []spec.Msg, g spec.Ghost) {
		all := make([]Process, len(replicas))
		for i := range replicas {
			all[i].Replica = replicas[i]
			s.begin(&all[i], i)
		}
		if s.model.NoElection || s.model.NoCommit {
			was := replicas[0]
			leads(&all[0].Replica)
			list := make([]*spec.Replica, len(all))
			for i := range all {
				list[i] = &all[i].Replica
			}
			g.Observe(spec.Quorum{Voters: s.model.ours()}, list, 0, &was)
		}
		yield(all, nil, g)
	})
}

// leads makes a replica leader of epoch 1, as if it had been elected.
func leads(r *spec.Replica) {
	r.Role = spec.Leader
	r.Election = spec.Election{Epoch: 1, Leader: r.ID, Voted: r.ID}
	r.Stored = r.Election
	for i := range r.End {
		r.End[i] = spec.Unknown
	}
}

// begin gives a process its files.
func (s *System) begin(p *Process, i int) {
	m := s.model
	if m.Bootstraps && i < m.Controllers {
		c := &p.Controller
		f := m.Files[min(i, len(m.Files)-1)]
		c.Legacy, c.Zero, c.Meta, c.FormatRun = f.Legacy, f.Zero, 1, 1
		if f.Zero != bootstrap.NoZero {
			c.HadZero, c.ZeroRun = 1, 1
		}
		view := p.controller()
		s.boot.Start(&view, 0)
		p.takeController(view)
	}
	if !m.ClusterID {
		return
	}
	n := &p.Node
	n.Role, n.Endpoints, n.Stage, n.Mem = clusterid.StaticVoter, 1, clusterid.Known, clusterid.OfA
	meta := clusterid.Meta{Form: clusterid.V1, ID: clusterid.OfA}
	switch {
	case m.Foreign.Has(p.ID):
		n.Mem, meta.ID = clusterid.OfB, clusterid.OfB
		if m.ForeignLog {
			p.Log.Append(spec.Run{Count: 1, Epoch: 1, Origin: foreigner})
			p.Disk, p.Election.Epoch, p.Stored.Epoch = p.Log, 1, 1
		}
	case i >= m.Controllers:
		n.Role, n.Stage, n.Mem = clusterid.Broker, clusterid.Unknown, clusterid.NoID
		meta = clusterid.Meta{Form: clusterid.V2}
	}
	for d := range clusterid.MaxDirs {
		n.Draws++
		meta.Dir = n.Draws
		n.Meta[d], n.Disk[d] = meta, meta
	}
}

// add lists a step.
func (s *System) add(old, next *Process, a Action, arg int, out *stepList) {
	if next.Snapshots != old.Snapshots {
		next.hold(Contents{})
	}
	step := out.Add()
	step.Instance = checker.Instance{Action: checker.ActionID(a), Args: uint32(arg)}
	step.Next = *next
	step.Violated, step.Reached = s.judge(a, old, next)
}

// pass lists a step of the replica, after which the process is next.
func (s *System) pass(old, next *Process, from *checker.Step[spec.Replica, spec.Msg], out *stepList) {
	s.add(old, next, Action(from.Instance.Action), int(from.Instance.Args), out)
	step := &out.List[len(out.List)-1]
	step.Keep, step.Observe, step.SendN = from.Keep, from.Observe || spec.Concerns(&old.Replica, &next.Replica), from.SendN
	step.Violated |= from.Violated & fromSpec
	if from.Reached&spec.TransferOvertaken != 0 {
		step.Reached |= TransferOvertaken
	}
	for i := range from.SendN {
		m := Msg{Msg: from.Sends[i]}
		if !m.Response && s.model.ClusterID {
			m.ID = s.requestID(old)
		}
		if m.Kind == spec.FetchSnapshot && m.Response && m.Records.End() > 0 {
			for _, c := range old.Held {
				if c.End != 0 && spec.Offset(c.End) == m.Snapshot.End {
					m.Contents = c
				}
			}
		}
		step.Sends[i] = m
	}
}

// Local implements checker.System.
func (s *System) Local(p *Process, b checker.Budget, out *stepList) {
	if b == 0 {
		if p.controls() {
			s.control(p, out)
		}
		if s.model.ClusterID {
			s.discover(p, out)
		}
	}
	if !s.ready(p) && b != budgetCrashes {
		return
	}
	if b == 0 {
		s.upgrade(p, out)
	}
	list := replicaSteps{}
	s.replicas.Local(&p.Replica, b, &list)
	out.Bounded |= list.Bounded
	for i := range list.List {
		from := &list.List[i]
		next := *p
		next.Replica = from.Next
		switch a := spec.ActionID(from.Instance.Action); a {
		case spec.ActionAppend:
			if s.model.Bootstraps && (p.Controller.Phase != bootstrap.Active || !s.rules.MayAppend(p)) {
				continue // clients are served by who is active
			}
		case spec.ActionCrash:
			s.crash(p, from, out)
			continue
		case spec.ActionRestart:
			s.restart(&next)
		case spec.ActionTakeSnapshot:
			s.snapshot(p, from, out)
			continue
		case spec.ActionInstallSnapshot:
			s.install(&next)
		}
		if next.Fetching.Snapshot.End == 0 {
			next.Receiving = Contents{}
		}
		s.pass(p, &next, from, out)
	}
}

// budgetCrashes is that of package spec.
const budgetCrashes checker.Budget = 2

// install puts what was received in the place of what was there.
func (s *System) install(p *Process) {
	got := p.Receiving
	p.Held = [maxHeld]Contents{}
	p.hold(got)
	if !p.controls() {
		return
	}
	c := p.controller()
	c.Loaded = got.End
	c.Image = bootstrap.Image{Version: got.Version, Rest: got.Rest}
	p.takeController(c)
}

// crash is a loss of power of the machine: of each of the three whatever was not flushed
// may be lost. It ends in a restart, as the replica's does.
func (s *System) crash(p *Process, from *checker.Step[spec.Replica, spec.Msg], out *stepList) {
	for way := range bootstrap.Survivors {
		for keep := range 1 << clusterid.MaxDirs {
			next := *p
			next.Replica, next.Receiving, next.Claimed = from.Next, Contents{}, 0
			if s.model.Bootstraps && p.controls() {
				c := p.controller()
				if !s.boot.Crash(&c, way) {
					continue
				}
				next.takeController(c)
			} else if way > 0 {
				continue
			}
			if s.model.ClusterID {
				n := p.node()
				if !s.ids.Crash(&n, keep) {
					continue
				}
				next.takeNode(n)
			} else if keep > 0 {
				continue
			}
			if next.Role != spec.Down {
				s.restart(&next)
			}
			s.pass(p, &next, from, out)
		}
	}
}

// Deliver implements checker.System.
func (s *System) Deliver(p *Process, m *Msg, out *stepList) {
	if !s.ready(p) || p.Role == spec.Down {
		return
	}
	refused := s.model.ClusterID && !m.Response && s.rules.Refuses(p.Node.Mem, m)
	if refused && !s.rules.CountsRefused {
		s.add(p, p, Refuse, 0, out)
		return
	}
	list := replicaSteps{}
	s.replicas.Deliver(&p.Replica, &m.Msg, &list)
	out.Bounded |= list.Bounded
	for i := range list.List {
		from := &list.List[i]
		next := *p
		next.Replica = from.Next
		if refused { // what it counts it counts, and then it is refused
			from.SendN, from.Keep = 0, false
			from.Instance = checker.Instance{Action: checker.ActionID(Refuse)}
			if next.Log != p.Log || next.Election != p.Election {
				next = *p
			}
			s.pass(p, &next, from, out)
			return
		}
		f := &next.Fetching
		switch {
		case f.Snapshot.End == 0:
			next.Receiving = Contents{}
		case m.Response && m.Kind == spec.FetchSnapshot && f.Contents.End() > 0 && p.Fetching.Contents.End() == 0:
			next.Receiving = m.Contents
		case f.Contents.End() == 0:
			next.Receiving = Contents{}
		}
		s.pass(p, &next, from, out)
	}
}

// Network implements checker.System.
func (s *System) Network(m *Msg, out *checker.Fates[Msg]) {
	list := checker.Fates[spec.Msg]{}
	s.replicas.Network(&m.Msg, &list)
	for _, from := range list.List {
		to := checker.Fate[Msg]{Instance: from.Instance, Budget: from.Budget, N: from.N}
		for i := range from.N {
			to.Becomes[i] = *m
			to.Becomes[i].Msg = from.Becomes[i]
		}
		out.List = append(out.List, to)
	}
}

// Route implements checker.System.
func (s *System) Route(m *Msg) checker.Route { return s.replicas.Route(&m.Msg) }

// Observe implements checker.System.
func (s *System) Observe(g *spec.Ghost, v *checker.View[Process]) checker.Props {
	var replicas [checker.MaxProcesses]*spec.Replica
	for i := range v.N {
		replicas[i] = &v.P[i].Replica
	}
	bad := g.Observe(spec.Quorum{Voters: s.model.ours()}, replicas[:v.N], v.Actor, &v.Old.Replica)
	if bad&spec.HwSound != 0 && v.P[v.Actor].HighWatermark > 0 {
		bad |= CommittedByMajority
	}
	return bad & (fromSpec | CommittedByMajority)
}

// DescribeMessage implements checker.System.
func (s *System) DescribeMessage(m *Msg) string {
	t := m.Msg.String()
	if s.model.ClusterID && !m.Response {
		t += " cluster id " + m.ID.String()
	}
	return t
}

// DescribeGhost implements checker.System.
func (s *System) DescribeGhost(g *spec.Ghost) []checker.Field {
	return []checker.Field{{Path: "exposed", Value: logText(&g.Exposed)}, {Path: "chosen", Value: logText(&g.Chosen)}}
}

// Env implements checker.System.
func (s *System) Env(processes []*Process, network []*Msg, g *spec.Ghost) map[string]any {
	var replicas []*spec.Replica
	for _, p := range processes {
		replicas = append(replicas, &p.Replica)
	}
	var messages []*spec.Msg
	for _, m := range network {
		messages = append(messages, &m.Msg)
	}
	env := s.replicas.Env(replicas, messages, g)
	var list []View
	for _, p := range processes {
		image := p.contents(p.known())
		list = append(list, View{
			ID: p.ID.String(), Phase: p.Controller.Phase.String(), Zero: p.Controller.Zero.String(), Version: p.Controller.Image.Version.String(),
			Loaded: int(p.Controller.Loaded), ClusterID: p.Node.Mem.String(), Stage: p.Node.Stage.String(), Committed: image.ID.String(),
		})
	}
	env["processes"] = list
	return env
}

// View is what a process has beside its replica, as a predicate of find sees it.
type View struct {
	ID        string `expr:"id"`
	Phase     string `expr:"phase"`
	Zero      string `expr:"zero"`
	Version   string `expr:"version"`
	Loaded    int    `expr:"loaded"`
	ClusterID string `expr:"clusterId"`
	Stage     string `expr:"stage"`
	Committed string `expr:"committedId"`
}
