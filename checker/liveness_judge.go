package checker

import (
	"math/bits"
	"slices"
	"time"
)

// question is a property as the search asks it: is there a behaviour that violates
// it. All but EventuallyAlways are violated by avoiding something for ever.
type question struct {
	*LivenessProperty
	// constrained: once the premise holds, Q and Steps are avoided, from there on.
	// The other forms avoid them in the cycle only.
	constrained bool
}

func ask(p *LivenessProperty) question {
	return question{p, p.Form == Eventually || p.Form == LeadsTo}
}

// anything is asked to find all behaviours that are judged.
var anything = question{&LivenessProperty{Form: EventuallyAlways}, false}

// satisfied says whether a state is what the property waits for.
func (q question) satisfied(a Atoms) bool { return q.Q != 0 && a&q.Q == q.Q }

// layers is a search through the graph in up to four copies of it: whether the
// premise has come true with nothing of what it leads to since, and whether the
// suffix has begun of which the assumptions hold.
type layers struct {
	seen []uint8 // by state, bit of layer
	// for a way back, if asked for: the node before, and the edge that leads on from
	// it; sameState if the layer changes and not the state
	parent, edge []uint32
	queue        []uint32 // nodes: state*4 + layer
}

const (
	layerPending = 2
	layerSuffix  = 1
	layerJudged  = layerPending | layerSuffix
	sameState    = ^uint32(0)
	noNode       = ^uint32(0)
)

// spreadOut searches all layers, or until the first state of layer judged for which
// goal holds, and returns that state's node. With goal it keeps the way back.
func (l *liveRun[S]) spreadOut(q question, goal func(s uint32) bool) (*layers, uint32) {
	y := &layers{seen: make([]uint8, l.n)}
	if goal != nil {
		y.parent, y.edge = make([]uint32, 4*l.n), make([]uint32, 4*l.n)
	}
	final := l.live.Finally
	hit := noNode
	var arrive func(s uint32, layer uint8, parent, edge uint32)
	arrive = func(s uint32, layer uint8, parent, edge uint32) {
		a := l.atoms[s]
		if hit != noNode || y.seen[s]>>layer&1 == 1 || q.constrained && layer&layerPending != 0 && q.satisfied(a) {
			return
		}
		y.seen[s] |= 1 << layer
		node := s*4 + uint32(layer)
		if goal != nil {
			y.parent[node], y.edge[node] = parent, edge
			if layer == layerJudged && goal(s) {
				hit = node
				return
			}
		}
		y.queue = append(y.queue, node)
		if layer&layerPending == 0 && a&q.P == q.P {
			arrive(s, layer|layerPending, node, sameState)
		}
		if start := final.From | final.Always; layer&layerSuffix == 0 && a&start == start {
			arrive(s, layer|layerSuffix, node, sameState)
		}
	}
	first := uint8(layerPending)
	if q.Form == LeadsTo {
		first = 0
	}
	for i, s := range l.initials {
		arrive(s, first, noNode, uint32(i))
	}
	for at := 0; at < len(y.queue) && hit == noNode; at++ {
		node := y.queue[at]
		s, layer := node/4, uint8(node%4)
		if layer&layerSuffix == 0 && l.past(l.atoms[s]) {
			continue // no suffix begins from here on
		}
		for e := l.first[s]; e < l.first[s+1] && hit == noNode; e++ {
			t := l.to[e]
			if layer&layerSuffix != 0 && (l.never(e) || l.atoms[t]&final.Always != final.Always) {
				continue
			}
			if q.constrained && layer&layerPending != 0 && l.stepIn(s, e, q.Steps) {
				continue
			}
			arrive(t, layer, node, e-l.first[s])
		}
	}
	return y, hit
}

// back gives the numbers of successors that lead to a node, as for retrace.
func (y *layers) back(node uint32) []uint32 {
	var edges []uint32
	for node != noNode {
		if y.edge[node] != sameState {
			edges = append(edges, y.edge[node])
		}
		node = y.parent[node]
	}
	slices.Reverse(edges)
	return edges
}

// judgeAll judges the properties.
func (l *liveRun[S]) judgeAll(r *LiveResult, selected []string) error {
	region, _ := l.spreadOut(anything, nil)
	suffix := region.states(func(uint32) bool { return true })
	r.Suffix = uint64(len(suffix))
	if err := l.checkBounds(suffix); err != nil {
		return err
	}
	all := findFair(&l.liveGraph, suffix, nil)
	r.Components, r.NonTrivial, r.Fair = all.all, all.loops, uint64(len(all.list))
	for _, c := range all.list {
		if all.stutters(c) {
			r.FairEnds++
		}
	}
	r.Hopeless = all.hopeless(func(_, e uint32) bool { return !l.never(e) && region.seen[l.to[e]]>>layerJudged&1 == 1 })
	r.Idle = l.idle(suffix)
	for i := range l.live.Properties {
		p := &l.live.Properties[i]
		if selected != nil && !slices.Contains(selected, p.Name) {
			continue
		}
		if err := l.judge(r, p, all); err != nil {
			return err
		}
	}
	return nil
}

// states are those of the judged layer for which keep holds.
func (y *layers) states(keep func(uint32) bool) []uint32 {
	var list []uint32
	for s, seen := range y.seen {
		if seen>>layerJudged&1 == 1 && keep(uint32(s)) {
			list = append(list, uint32(s))
		}
	}
	return list
}

// idle names fairness conditions that are never enabled in the suffix: they ask for
// nothing, and may be a mistake.
func (l *liveRun[S]) idle(suffix []uint32) []string {
	var ever uint64
	for _, s := range suffix {
		ever |= l.enabled[s]
	}
	var names []string
	for i, f := range l.live.Fair {
		if ever>>i&1 == 0 {
			names = append(names, f.Name)
		}
	}
	return names
}

func (l *liveRun[S]) judge(r *LiveResult, p *LivenessProperty, all *fairComponents) error {
	q := ask(p)
	verdict := LivePropertyResult{Name: p.Name, Form: p.Form.String(), Doc: p.Doc, Verdict: "holds"}
	defer func() { r.Properties = append(r.Properties, verdict) }()
	if l.vacuous(q, all) {
		verdict.Verdict = "vacuous"
		if r.Status == Holds {
			r.Status = Vacuous
		}
		return nil
	}
	reach, _ := l.spreadOut(q, nil)
	avoids := p.Form != EventuallyAlways
	states := reach.states(func(s uint32) bool { return !avoids || !q.satisfied(l.atoms[s]) })
	var cut func(s, e uint32) bool
	if avoids && len(p.Steps) > 0 {
		cut = func(s, e uint32) bool { return l.stepIn(s, e, p.Steps) }
	}
	fair := findFair(&l.liveGraph, states, cut)
	bad := map[uint32]bool{} // parts
	for _, c := range fair.list {
		if avoids || slices.ContainsFunc(c, func(s uint32) bool { return !q.satisfied(l.atoms[s]) }) {
			bad[fair.scc.part[c[0]]] = true
		}
	}
	if len(bad) == 0 {
		return nil
	}
	verdict.Verdict, r.Status = "violated", Violated
	way, hit := l.spreadOut(q, func(s uint32) bool { return bad[fair.scc.part[s]] })
	entry := hit / 4
	stem := way.back(hit)
	cycle := l.cycle(fair.scc, entry, !avoids, q)
	trace, err := retrace[S](l.spec, l.info, append(slices.Clone(stem), cycle...))
	if err != nil {
		return err
	}
	loop := len(stem) - 1
	verdict.Stem, verdict.Cycle = loop, len(cycle)
	r.Violations = append(r.Violations, Violation{
		Property: p.Name, Kind: p.Form.String(), Doc: p.Doc, Trace: trace, Loop: &loop,
	})
	return nil
}

// vacuous says that no behaviour is judged, or that the premise is true in none.
func (l *liveRun[S]) vacuous(q question, all *fairComponents) bool {
	if len(all.list) == 0 || q.Form != LeadsTo {
		return len(all.list) == 0
	}
	premise := question{&LivenessProperty{Form: LeadsTo, P: q.P}, false}
	reach, _ := l.spreadOut(premise, nil)
	return !slices.ContainsFunc(all.list, func(c []uint32) bool { return reach.seen[c[0]]>>layerJudged&1 == 1 })
}

// checkBounds refuses a bound that is met in the suffix, unless it stops only what
// the assumptions rule out, and a budget that a step of the suffix spends.
func (l *liveRun[S]) checkBounds(suffix []uint32) error {
	var met [boundBits]uint64
	for _, s := range suffix {
		for m := l.masks[l.bounded[s]]; m != 0; m &= m - 1 {
			met[bits.TrailingZeros64(m)]++
		}
	}
	for bit, states := range met {
		if states == 0 {
			continue
		}
		if !l.excused(bit) {
			e := &LimitError{Spec: l.info.Name, Bound: l.boundName(bit), States: states}
			way, hit := l.spreadOut(anything, func(s uint32) bool { return l.masks[l.bounded[s]]>>bit&1 == 1 })
			var err error
			if e.Trace, err = retrace[S](l.spec, l.info, way.back(hit)); err != nil {
				return err
			}
			return e
		}
		if bit >= budgetBit && bit < inFlightBit && l.spent != nil {
			if err := l.checkSpending(suffix, Budget(bit-budgetBit)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *liveRun[S]) checkSpending(suffix []uint32, b Budget) error {
	for _, s := range suffix {
		for e := l.first[s]; e < l.first[s+1]; e++ {
			if l.never(e) || l.spent(l.states.at(s), b) == l.spent(l.states.at(l.to[e]), b) {
				continue
			}
			trace, err := retrace[S](l.spec, l.info, l.wayTo(s, e))
			if err != nil {
				return err
			}
			return &LimitError{
				Spec: l.info.Name, Bound: l.boundName(budgetBit + int(b)), Trace: trace,
				Spends: trace[len(trace)-1].Step,
			}
		}
	}
	return nil
}

// wayTo is a shortest way to state s of the suffix, and then edge e.
func (l *liveRun[S]) wayTo(s, e uint32) []uint32 {
	way, hit := l.spreadOut(anything, func(t uint32) bool { return t == s })
	return append(way.back(hit), e-l.first[s])
}

func (l *liveRun[S]) finish(r *LiveResult) *LiveResult {
	r.Bytes = l.bytes()
	r.Seconds = time.Since(l.began).Seconds()
	return r
}
