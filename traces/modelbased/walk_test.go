package modelbased_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/quorate/quorate/spec"
	"github.com/quorate/quorate/traces/modelbased"
)

// walk goes along all edges of a graph that the code takes.
type walk struct {
	g    *modelbased.Graph
	wrap func(replica) replica

	covered []bool
	why     []reason // of edges that were tried and not taken
	tries   []uint8
	// come says how a state was reached by cores between two steps, in some ways: from
	// which one, by which edge.
	come  [][]came
	queue []int32 // states with edges that were not tried, in the order in which they were reached
	paths int
	steps int64
	moved int64
	// later are states with edges that were not taken, visits how often cores were sent there
	// for that; missed is how often cores did not get to a state, astray the sum.
	later          []int32
	visits, missed []int32
	astray         int
}

// came is a way to a state: the last edge, or, for all ways but the first, all edges.
type came struct {
	from, edge int32
	depth      int32
	all        []int32
}

// maxTries is how often an edge is tried that the code did not take: whether it does
// may depend on how the state was reached.
const maxTries = 6

func newWalk(g *modelbased.Graph, wrap func(replica) replica) *walk {
	w := &walk{
		g: g, wrap: wrap, covered: make([]bool, len(g.Edges)), why: make([]reason, len(g.Edges)), tries: make([]uint8, len(g.Edges)),
		come: make([][]came, len(g.States)), visits: make([]int32, len(g.States)), missed: make([]int32, len(g.States)),
	}
	return w
}

// failure is a difference between specification and implementation, with the path to it.
type failure struct {
	g    *modelbased.Graph
	path []int32
	edge int32
	err  error
}

func (f *failure) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "model %s: %v\nafter\n", f.g.Model.Name, f.err)
	for _, k := range f.path {
		fmt.Fprintf(&b, "  %s\n", f.g.Text(&f.g.Edges[k]))
	}
	if f.edge >= 0 {
		fmt.Fprintf(&b, "then\n  %s\n", f.g.Text(&f.g.Edges[f.edge]))
	}
	return b.String()
}

// all walks until every edge was taken, or tried often enough, in states that were reached
// in different ways.
func (w *walk) all() error {
	c, err := w.begin()
	if err != nil {
		return err
	}
	for {
		if err := w.onward(c); err != nil {
			return err
		}
		target, way, again := w.next()
		if target < 0 {
			return nil
		}
		if c, err = w.begin(); err != nil {
			return err
		}
		if err := w.follow(c, w.route(target, way)); err != nil {
			return err
		}
		if c.over || c.at != target {
			w.astray++
			w.missed[target]++
		} else if again {
			if err := w.again(c); err != nil {
				return err
			}
		}
	}
}

func (w *walk) begin() (*cluster, error) {
	w.paths++
	c, err := newCluster(w.g, w.wrap, func(k int32) { w.covered[k] = true; w.moved++ })
	if err != nil {
		return nil, &failure{w.g, nil, -1, err}
	}
	w.reach(c.at, -1, -1, nil)
	return c, nil
}

// reach notes that cores have come to a state.
func (w *walk) reach(s, from, edge int32, route []int32) {
	depth := int32(0)
	if from >= 0 {
		depth = w.come[from][0].depth + 1
	}
	one, ways := came{from: from, edge: edge, depth: depth}, w.come[s]
	switch {
	case len(ways) == 0:
		w.queue = append(w.queue, s)
		w.come[s] = []came{one}
	case depth < ways[0].depth:
		ways[0] = one
	case len(ways) < maxTries && depth > 0 && !slices.ContainsFunc(ways, func(o came) bool { return o.edge == edge }):
		one.all = slices.Clone(route)
		w.come[s] = append(ways, one)
	}
}

// open says whether an edge is still to be tried.
func (w *walk) open(k int32) bool { return !w.covered[k] && w.tries[k] == 0 }

func (w *walk) anyOpen(s int32) bool {
	first, end := w.g.From(s)
	for k := first; k < end; k++ {
		if w.open(k) {
			return true
		}
	}
	return false
}

// next is a state with an edge that was not tried, or was not taken by cores that had come
// there in another way, and the way to take.
func (w *walk) next() (s, way int32, again bool) {
	for len(w.queue) > 0 {
		s, n := w.queue[0], w.missed[w.queue[0]]
		if w.anyOpen(s) && n < maxTries {
			return s, n % int32(len(w.come[s])), false
		}
		w.queue = w.queue[1:]
		if w.anyRefused(s) {
			w.later = append(w.later, s)
		}
	}
	for len(w.later) > 0 {
		s, n := w.later[0], w.visits[w.later[0]]
		if w.visits[s]++; n < int32(len(w.come[s])) && w.anyRefused(s) {
			return s, n, true
		}
		w.later = w.later[1:]
	}
	return -1, 0, false
}

// anyRefused says whether there is an edge that was tried and not taken.
func (w *walk) anyRefused(s int32) bool {
	first, end := w.g.From(s)
	for k := first; k < end; k++ {
		if w.refused(k) {
			return true
		}
	}
	return false
}

func (w *walk) refused(k int32) bool {
	return !w.covered[k] && w.tries[k] > 0 && w.tries[k] < maxTries && w.why[k] != passedThrough
}

// again tries what was not taken here before.
func (w *walk) again(c *cluster) error {
	first, end := w.g.From(c.at)
	for k := first; k < end; k++ {
		if !w.refused(k) {
			continue
		}
		if ok, err := w.try(c, k); ok || err != nil || c.over {
			return err
		}
	}
	return nil
}

// route is the edges with which cores came to a state.
func (w *walk) route(s, way int32) []int32 {
	if all := w.come[s][way].all; all != nil {
		return all
	}
	var path []int32
	for at := w.come[s][way]; at.from >= 0; at = w.come[at.from][0] {
		path = append(path, at.edge)
	}
	slices.Reverse(path)
	return path
}

// follow has the cores go along edges, as far as they do.
func (w *walk) follow(c *cluster, route []int32) error {
	for _, k := range route {
		if c.over || c.at != w.g.Edges[k].From {
			return nil
		}
		if ok, err := w.try(c, k); err != nil || !ok {
			return err
		}
	}
	return nil
}

// try has the cores take an edge.
func (w *walk) try(c *cluster, k int32) (bool, error) {
	from, steps := c.at, c.steps
	why, err := c.take(k)
	w.steps += c.steps - steps
	if err != nil {
		return false, &failure{w.g, c.path, k, err}
	}
	if !c.over && c.at != from {
		c.asked = append(c.asked, k)
		w.reach(c.at, from, k, c.asked)
	}
	if why != taken {
		w.why[k] = why
		w.tries[k]++
	}
	return why == taken, nil
}

// onward takes edges that were not taken, as long as there are any here or one step ahead.
func (w *walk) onward(c *cluster) error {
	for idle := 0; !c.over && idle < 3; {
		k := w.pick(c)
		if k < 0 {
			return nil
		}
		if idle++; w.open(k) {
			idle = 0
		}
		if _, err := w.try(c, k); err != nil {
			return err
		}
	}
	return nil
}

// wander takes edges at random, n paths of up to so many edges.
func (w *walk) wander(seed uint64, n, length int) error {
	rnd := rand.New(rand.NewPCG(seed, 0))
	for range n {
		c, err := w.begin()
		if err != nil {
			return err
		}
		for i := 0; i < length && !c.over; i++ {
			first, end := w.g.From(c.at)
			if first == end {
				break
			}
			if _, err := w.try(c, first+rnd.Int32N(end-first)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *walk) pick(c *cluster) int32 {
	first, end := w.g.From(c.at)
	for k := first; k < end; k++ {
		if w.open(k) {
			return k
		}
	}
	for k := first; k < end; k++ {
		if w.covered[k] && w.tries[k] < maxTries && w.anyOpen(w.g.Edges[k].To) && len(w.come[w.g.Edges[k].To]) > 0 {
			return k
		}
	}
	return -1
}

// tally counts the edges by what became of them.
func (w *walk) tally() (counts [numReasons]int) {
	between, inside := w.reachable()
	for k := range w.g.Edges {
		switch s := w.g.Edges[k].From; {
		case w.covered[k]:
			counts[taken]++
		case w.tries[k] > 0:
			counts[w.why[k]]++
		case between[s]:
			counts[otherwise]++
		case inside[s], within(w.g, s) > 0:
			counts[passedThrough]++
		default:
			counts[unreached]++
		}
	}
	return counts
}

// place is a state, between two steps of the code, or within one of a replica.
type place struct {
	state  int32
	within int8 // its number from 1, 0: between two
}

// reachable are the states to which the edges lead that the code takes, as far as rules say
// which: a replica that has something to do does it at once.
func (w *walk) reachable() (between, inside []bool) {
	between, inside = make([]bool, len(w.g.States)), make([]bool, len(w.g.States))
	seen := map[place]bool{}
	var list []place
	visit := func(s int32, in int8) {
		if in == 0 {
			in = within(w.g, s)
		}
		p := place{s, in}
		if seen[p] {
			return
		}
		seen[p] = true
		list = append(list, p)
		if in > 0 {
			inside[s] = true
		} else {
			between[s] = true
		}
	}
	start := int8(0)
	if w.g.Model.Voters == 1 {
		start = 1 // it stands as soon as it is there
	}
	visit(0, start)
	for len(list) > 0 {
		p := list[len(list)-1]
		list = list[:len(list)-1]
		first, end := w.g.From(p.state)
		for k := first; k < end; k++ {
			e := &w.g.Edges[k]
			switch {
			case w.g.Model.Voters == 1 && e.Step.Action == spec.ActionAbandonPreVote:
				continue // it has its own vote
			case p.within == 0 && (w.tries[k] == 0 || w.covered[k]):
			case p.within > 0 && e.Replica == p.within-1 && goesOn(&w.g.Replicas[w.g.States[p.state].Replicas[e.Replica]], e.Step.Action):
			default:
				continue
			}
			visit(e.To, w.goingOn(e, p.within > 0))
			if m := e.Message; m >= 0 && e.Step.Action == spec.ActionHandleVoteResponse && w.g.Messages[m].PreVote && !w.g.Messages[m].Granted {
				visit(e.To, e.Replica+1) // if that was one refusal too many, it gives up at once
			}
		}
	}
	return between, inside
}

// goesOn says whether it is an action that a replica takes within a step, after another.
func goesOn(r *spec.Replica, a spec.ActionID) bool {
	switch r.Role {
	case spec.Candidate:
		return a == spec.ActionBecomeLeader
	case spec.Prospective:
		return a == spec.ActionBecomeCandidate || a == spec.ActionAbandonPreVote
	case spec.Leader:
		return a == spec.ActionAppendLeaderChange || a == spec.ActionServeRead
	case spec.Resigned:
		return a == spec.ActionLeaveResigned || a == spec.ActionBecomeCandidate
	}
	return a == spec.ActionBecomeProspective || a == spec.ActionBecomeCandidate
}

// goingOn is the replica that goes on after a step, whatever state it is in: the timer that
// let it leave its epoch lets it stand as well, and so does the one that ends a pre-vote; and
// a quorum of one waits for nobody.
func (w *walk) goingOn(e *modelbased.Edge, within bool) int8 {
	switch e.Step.Action {
	case spec.ActionAbandonPreVote:
		if !within && w.g.Replicas[e.Step.Next].Role == spec.Unattached {
			return e.Replica + 1
		}
	case spec.ActionLeaveResigned:
		return e.Replica + 1
	case spec.ActionRestart, spec.ActionBecomeProspective, spec.ActionBecomeCandidate:
		if w.g.Model.Voters == 1 {
			return e.Replica + 1
		}
	}
	return 0
}

// within is the replica that has something to do at once, so that a core is never between
// two steps in this state; 0: none.
func within(g *modelbased.Graph, s int32) int8 {
	voters := spec.All(g.Model.Voters)
	for i := range g.Size() {
		r := &g.Replicas[g.States[s].Replicas[i]]
		switch {
		case (r.Role == spec.Candidate || r.Role == spec.Prospective) && (r.Granted&voters).Len() > g.Model.Voters/2,
			r.Role == spec.Leader && !r.LeaderChangeWritten,
			r.Role == spec.Leader && r.Reading && (r.Confirmed&voters).Len() > g.Model.Voters/2:
			return int8(i + 1)
		}
	}
	return 0
}

func (w *walk) report() string {
	counts := w.tally()
	text := fmt.Sprintf("%-16s %d states; edges covered %d of %d", w.g.Model.Name, len(w.g.States), counts[taken], len(w.g.Edges))
	for r := passedThrough; r < numReasons; r++ {
		if counts[r] > 0 {
			text += fmt.Sprintf("\n  not coverable %d: %s", counts[r], reasons[r])
		}
	}
	return text + fmt.Sprintf("\n  %d paths, %d edges taken, %d steps of cores; astray %d", w.paths, w.moved, w.steps, w.astray)
}
