package checker

import "slices"

// cycle finds a short cycle through entry, within its component, that is fair and,
// if unsatisfied is set, has a state that does not satisfy q. It returns the numbers
// of successors, none if the behaviour may stutter in entry for ever.
//
// It is not always the shortest, which is hard to find: of what the cycle so far
// lacks, it goes to the nearest, until nothing is lacking, and then back.
func (l *liveRun[S]) cycle(scc *sccFinder, entry uint32, unsatisfied bool, q question) []uint32 {
	c := &cycleFinder{g: &l.liveGraph, scc: scc, mark: make([]uint32, l.n), parent: make([]uint32, l.n), edge: make([]uint32, l.n)}
	var path []cycleStep
	for {
		at := entry
		if n := len(path); n > 0 {
			at = l.to[path[n-1].edge]
		}
		whole := append(slices.Clone(path), c.search(at, func(s uint32) bool { return s == entry }, nil)...)
		lacks, lacksState := c.lacks(entry, whole), unsatisfied
		if lacksState {
			lacksState = q.satisfied(l.atoms[entry])
			for _, s := range whole {
				lacksState = lacksState && q.satisfied(l.atoms[s.state])
			}
		}
		if lacks == 0 && !lacksState {
			numbers := make([]uint32, len(whole))
			for i, s := range whole {
				numbers[i] = s.edge - l.first[s.state]
			}
			return numbers
		}
		more := c.search(at,
			func(s uint32) bool {
				return lacksState && !q.satisfied(l.atoms[s]) || lacks&l.weak&^l.enabled[s] != 0
			},
			func(s, e uint32) bool { return lacks&l.conditions(s, e) != 0 })
		if len(more) == 0 {
			panic("checker: liveness: a fair component lacks what makes it fair")
		}
		path = append(path, more...)
	}
}

type cycleStep struct{ state, edge uint32 }

// cycleFinder searches within one component.
type cycleFinder struct {
	g            *liveGraph
	scc          *sccFinder
	mark         []uint32
	round        uint32
	parent, edge []uint32
	queue        []uint32
}

// lacks are the fairness conditions that a cycle from entry on does not satisfy.
func (c *cycleFinder) lacks(entry uint32, cycle []cycleStep) uint64 {
	always, ever, taken := c.g.enabled[entry], c.g.enabled[entry], uint64(0)
	for _, s := range cycle {
		always &= c.g.enabled[s.state]
		ever |= c.g.enabled[s.state]
		taken |= c.g.conditions(s.state, s.edge)
	}
	return (always&c.g.weak | ever&c.g.strong) &^ taken
}

// search is a shortest path from a state to one for which goal holds, or that ends
// with a step for which last holds. It is empty if goal holds of from.
func (c *cycleFinder) search(from uint32, goal func(s uint32) bool, last func(s, e uint32) bool) []cycleStep {
	c.round++
	c.queue = append(c.queue[:0], from)
	c.mark[from], c.parent[from] = c.round, noNode
	for at := 0; at < len(c.queue); at++ {
		s := c.queue[at]
		if goal(s) {
			return c.back(s)
		}
		for e := c.g.first[s]; e < c.g.first[s+1]; e++ {
			if !c.scc.inside(s, e) {
				continue
			}
			if last != nil && last(s, e) {
				return append(c.back(s), cycleStep{s, e})
			}
			if t := c.g.to[e]; c.mark[t] != c.round {
				c.mark[t], c.parent[t], c.edge[t] = c.round, s, e
				c.queue = append(c.queue, t)
			}
		}
	}
	return nil
}

func (c *cycleFinder) back(s uint32) []cycleStep {
	var path []cycleStep
	for c.parent[s] != noNode {
		path = append(path, cycleStep{c.parent[s], c.edge[s]})
		s = c.parent[s]
	}
	slices.Reverse(path)
	return path
}
