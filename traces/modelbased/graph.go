package modelbased

import (
	"fmt"
	"slices"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/spec"
)

const maxBudgets = checker.MaxBudgets

// State is a state of a model: numbers of values that [Graph] has.
type State struct {
	// Replicas in the order of their ids, Network in that of the numbers, without
	// order otherwise.
	Replicas [checker.MaxProcesses]int32
	Network  [checker.MaxMessages]int32
	Messages uint8
	spent    [maxBudgets]uint8
	ghost    int32
}

// Step is what one action of a replica does.
type Step struct {
	Action spec.ActionID
	Args   spec.Args
	// Next is the replica afterwards, Sends the messages that it sends.
	Next  int32
	Sends []int32
	// Keep leaves the message in flight.
	Keep bool

	observe bool
}

// Link is one of the steps that follow within a step, where messages are delivered at
// once: Replica takes Step with Message, or, if Step is nil, Message is lost.
type Link struct {
	Replica int8
	Message int32
	Step    *Step
}

// Edge is a step from one state to another.
type Edge struct {
	From, To int32
	// Replica that acts, -1: the environment. Message is what it handles, or what the
	// environment does something to; -1: none.
	Replica int8
	Message int32
	Step    *Step
	Chain   []Link
}

// Graph is all reachable states of a model, and the steps between them.
type Graph struct {
	Model    *spec.Model
	Replicas []spec.Replica
	Messages []spec.Msg
	States   []State
	Edges    []Edge

	sys    *spec.System
	info   *checker.Info
	first  []int32 // of the edges of a state
	names  map[State]int32
	ids    map[spec.Replica]int32
	mids   map[spec.Msg]int32
	gids   map[spec.Ghost]int32
	ghosts []spec.Ghost
	local  map[[2]int32][]Step // by replica and budget
	taken  map[[2]int32][]Step // by replica and message
	fates  map[int32][]fate
	limit  int
}

type fate struct {
	step   Step
	budget checker.Budget
}

// Explore makes the graph of a model of at most so many states.
func Explore(m *spec.Model, limit int) (*Graph, error) {
	g := &Graph{
		Model: m, sys: spec.NewSystem(m, spec.Variant{}), limit: limit,
		names: map[State]int32{}, ids: map[spec.Replica]int32{}, mids: map[spec.Msg]int32{}, gids: map[spec.Ghost]int32{},
		local: map[[2]int32][]Step{}, taken: map[[2]int32][]Step{}, fates: map[int32][]fate{},
	}
	g.info = g.sys.Info()
	g.sys.Init(func(replicas []spec.Replica, _ []spec.Msg, ghost spec.Ghost) {
		s := State{ghost: number(g.gids, &g.ghosts, ghost)}
		for i, r := range replicas {
			s.Replicas[i] = number(g.ids, &g.Replicas, r)
		}
		g.state(s)
	})
	for i := 0; i < len(g.States); i++ {
		if len(g.States) > limit {
			return nil, fmt.Errorf("model %s has more than %d states", m.Name, limit)
		}
		g.first = append(g.first, int32(len(g.Edges)))
		g.expand(int32(i))
	}
	g.first = append(g.first, int32(len(g.Edges)))
	return g, nil
}

// number is the number of a value, a new one if it is new.
func number[T comparable](ids map[T]int32, list *[]T, v T) int32 {
	id, ok := ids[v]
	if !ok {
		id = int32(len(*list))
		ids[v] = id
		*list = append(*list, v)
	}
	return id
}

func (g *Graph) state(s State) int32 { return number(g.names, &g.States, s) }

// Size is how many replicas there are.
func (g *Graph) Size() int { return len(g.info.Processes) }

// From are the numbers of the edges that leave a state.
func (g *Graph) From(s int32) (first, end int32) { return g.first[s], g.first[s+1] }

// InFlight are the messages of a state.
func (s *State) InFlight() []int32 { return s.Network[:s.Messages] }

func (g *Graph) expand(from int32) {
	s := g.States[from]
	for i := range g.info.Processes {
		for b := range g.info.Budgets {
			if b > 0 && s.spent[b] >= g.info.Budgets[b].Limit {
				continue
			}
			t := s
			if b > 0 {
				t.spent[b]++
			}
			list := g.steps(s.Replicas[i], checker.Budget(b))
			for k := range list {
				g.start(Edge{From: from, Replica: int8(i), Message: -1, Step: &list[k]}, t)
			}
		}
	}
	for x, m := range s.InFlight() {
		if x > 0 && m == s.Network[x-1] {
			continue
		}
		rest := s
		rest.remove(x)
		dst := g.Messages[m].Dst - 1
		list := g.handled(s.Replicas[dst], m)
		for k := range list {
			t := rest
			if list[k].Keep {
				t = s
			}
			g.start(Edge{From: from, Replica: int8(dst), Message: m, Step: &list[k]}, t)
		}
		for k := range g.environment(m) {
			f := &g.fates[m][k]
			t := rest
			if f.budget > 0 {
				if t.spent[f.budget] >= g.info.Budgets[f.budget].Limit {
					continue
				}
				t.spent[f.budget]++
			}
			if !g.connectionsFree(&t, f.step.Sends) || !t.add(f.step.Sends, g.info.MaxInFlight) {
				continue
			}
			g.Edges = append(g.Edges, Edge{From: from, To: g.state(t), Replica: -1, Message: m, Step: &f.step})
		}
	}
}

func (s *State) remove(x int) {
	copy(s.Network[x:], s.Network[x+1:s.Messages])
	s.Messages--
	s.Network[s.Messages] = 0
}

func (s *State) add(sends []int32, most int) bool {
	if int(s.Messages)+len(sends) > most {
		return false
	}
	for _, m := range sends {
		s.Network[s.Messages] = m
		s.Messages++
	}
	slices.Sort(s.InFlight())
	return true
}

// steps are those that a replica may take by itself, at the cost of a budget.
func (g *Graph) steps(r int32, b checker.Budget) []Step {
	key := [2]int32{r, int32(b)}
	list, ok := g.local[key]
	if !ok {
		var out checker.Steps[spec.Replica, spec.Msg]
		replica := g.Replicas[r]
		g.sys.Local(&replica, b, &out)
		list = g.keep(&out)
		g.local[key] = list
	}
	return list
}

// handled are the ways in which a replica may handle a message.
func (g *Graph) handled(r, m int32) []Step {
	key := [2]int32{r, m}
	list, ok := g.taken[key]
	if !ok {
		var out checker.Steps[spec.Replica, spec.Msg]
		replica, message := g.Replicas[r], g.Messages[m]
		g.sys.Deliver(&replica, &message, &out)
		list = g.keep(&out)
		g.taken[key] = list
	}
	return list
}

func (g *Graph) keep(out *checker.Steps[spec.Replica, spec.Msg]) []Step {
	list := []Step{}
	for i := range out.List {
		e := &out.List[i]
		s := Step{
			Action: spec.ActionID(e.Instance.Action), Args: spec.UnpackArgs(e.Instance),
			Next: number(g.ids, &g.Replicas, e.Next), Keep: e.Keep, observe: e.Observe,
		}
		for _, m := range e.Sends[:e.SendN] {
			s.Sends = append(s.Sends, number(g.mids, &g.Messages, m))
		}
		list = append(list, s)
	}
	return list
}

func (g *Graph) environment(m int32) []fate {
	list, ok := g.fates[m]
	if !ok {
		var out checker.Fates[spec.Msg]
		message := g.Messages[m]
		g.sys.Network(&message, &out)
		for _, f := range out.List {
			one := fate{step: Step{Action: spec.ActionID(f.Instance.Action)}, budget: f.Budget}
			for _, b := range f.Becomes[:f.N] {
				one.step.Sends = append(one.step.Sends, number(g.mids, &g.Messages, b))
			}
			list = append(list, one)
		}
		g.fates[m] = list
	}
	return list
}

func (g *Graph) connectionsFree(s *State, sends []int32) bool {
	for i, m := range sends {
		conn := g.sys.Route(&g.Messages[m]).Conn
		if conn == 0 {
			continue
		}
		busy := func(other int32) bool { return g.sys.Route(&g.Messages[other]).Conn == conn }
		if slices.ContainsFunc(s.InFlight(), busy) || slices.ContainsFunc(sends[:i], busy) {
			return false
		}
	}
	return true
}

// waiting is a message that is to be delivered at once.
type waiting struct {
	message int32
	answer  bool
}

// start carries out a step, and delivers what must be at once, in every way.
func (g *Graph) start(e Edge, s State) {
	if more, ok := g.apply(&s, int(e.Replica), e.Step, false); ok {
		g.finish(e, s, more)
	}
}

func (g *Graph) apply(s *State, i int, step *Step, answer bool) ([]waiting, bool) {
	if !g.connectionsFree(s, step.Sends) {
		return nil, false
	}
	var at []waiting
	var queued []int32
	for _, m := range step.Sends {
		if g.sys.Route(&g.Messages[m]).Immediate {
			at = append(at, waiting{m, answer})
		} else {
			queued = append(queued, m)
		}
	}
	if !s.add(queued, g.info.MaxInFlight) {
		return nil, false
	}
	old := s.Replicas[i]
	s.Replicas[i] = step.Next
	if step.observe {
		v := checker.View[spec.Replica]{N: g.Size(), Actor: i, Old: &g.Replicas[old]}
		for j := range v.N {
			v.P[j] = &g.Replicas[s.Replicas[j]]
		}
		ghost := g.ghosts[s.ghost]
		g.sys.Observe(&ghost, &v)
		s.ghost = number(g.gids, &g.ghosts, ghost)
	}
	return at, true
}

func (g *Graph) finish(e Edge, s State, at []waiting) {
	if len(at) == 0 {
		e.To = g.state(s)
		g.Edges = append(g.Edges, e)
		return
	}
	one, rest := at[0], at[1:]
	dst := int8(g.Messages[one.message].Dst - 1)
	with := func(l Link) Edge {
		next := e
		next.Chain = append(slices.Clone(e.Chain), l)
		return next
	}
	if one.answer {
		g.finish(with(Link{Replica: dst, Message: one.message}), s, rest)
	}
	list := g.handled(s.Replicas[dst], one.message)
	for k := range list {
		t := s
		if more, ok := g.apply(&t, int(dst), &list[k], true); ok {
			g.finish(with(Link{Replica: dst, Message: one.message, Step: &list[k]}), t, append(more, rest...))
		}
	}
}

// Text says what an edge does.
func (g *Graph) Text(e *Edge) string {
	instance := func(s *Step) checker.Instance {
		return checker.Instance{Action: checker.ActionID(s.Action), Args: packed(s.Args)}
	}
	who := "network"
	if e.Replica >= 0 {
		who = g.info.Processes[e.Replica]
	}
	text := who + ": " + g.info.FormatStep(int(e.Replica), instance(e.Step))
	if e.Message >= 0 {
		text += " of " + g.sys.DescribeMessage(&g.Messages[e.Message])
	}
	for _, l := range e.Chain {
		if l.Step == nil {
			text += "; answer lost"
			continue
		}
		text += "; " + g.info.Processes[l.Replica] + ": " + g.info.FormatStep(int(l.Replica), instance(l.Step))
	}
	return text
}

// packed is how a step has its parameters.
func packed(a spec.Args) uint32 {
	p := uint32(a.Dst) | uint32(a.Keep)<<8 | uint32(a.Count)<<16 | uint32(a.Size)<<27
	if a.Park {
		p |= 1 << 31
	}
	return p
}
