package checker

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sync"
)

// A question about time is judged on finite behaviours. What is left of it after a
// step is a question again (its progression), and there are finitely many: each is a
// choice of sets of obligations for the rest of the behaviour. These are the states
// of a deterministic automaton, which is built as far as behaviours need it.

// formula is a node of a question in negation normal form. Nodes are numbered, and
// equal ones are one.
type formula struct {
	kind formulaKind
	atom int // predicate, of atoms
	a, b int // nodes
	text string
}

type formulaKind uint8

const (
	formulaTrue formulaKind = iota
	formulaFalse
	formulaAtom
	formulaNotAtom
	formulaAnd
	formulaOr
	formulaNext     // there is a next state, and a holds there
	formulaWeakNext // if there is a next state, a holds there
	formulaUntil    // b holds at some time, and a until then
	formulaRelease  // b holds up to when a does too, or to the end
)

// obligation is what must hold of the next state: strong, if there must be one.
type obligation struct {
	node   int
	strong bool
}

// choice is a set of sets of obligations, one of which must be met: sorted, and none
// within another.
type choice []uint64

// automaton progresses one question.
type automaton struct {
	nodes  []formula
	index  map[formula]int
	number map[obligation]int
	oblige []obligation
	strong uint64 // obligations for which there must be a next state
	memo   map[int]choice
	built  int

	mu     sync.RWMutex
	states []choice // 0: no continuation answers the question
	known  map[string]uint32
	next   map[transitionKey]uint32
}

type transitionKey struct {
	state uint32
	atoms uint64
}

// Limits of a question.
const (
	maxObligations = 64
	maxAtoms       = 64
	maxChoice      = 128
	maxProgress    = 1 << 16
)

func newAutomaton() *automaton {
	m := &automaton{index: map[formula]int{}, number: map[obligation]int{}, known: map[string]uint32{}, next: map[transitionKey]uint32{}, memo: map[int]choice{}}
	m.node(formula{kind: formulaTrue})
	m.node(formula{kind: formulaFalse})
	m.state(nil)
	return m
}

func (m *automaton) node(f formula) int {
	key := f
	key.text = ""
	if i, ok := m.index[key]; ok {
		return i
	}
	i := len(m.nodes)
	m.index[key] = i
	m.nodes = append(m.nodes, f)
	return i
}

// build translates a phrase, or its negation. The predicates of it are numbered by
// atom.
func (m *automaton) build(p *phrase, negated bool, atom func(*phrase) int) int {
	if m.built++; m.built > maxProgress {
		panic(&predicateError{errors.New("the question is too large")})
	}
	const yes, no = 0, 1
	sub := func(i int) int { return m.build(p.parts[i], negated, atom) }
	pick := func(positive, negative formulaKind) formulaKind {
		if negated {
			return negative
		}
		return positive
	}
	not := func(p *phrase) *phrase { return &phrase{op: "not", parts: []*phrase{p}, text: p.text} }
	and := func(a, b *phrase) *phrase { return &phrase{op: "and", parts: []*phrase{a, b}, text: a.text} }
	switch p.op {
	case "":
		return m.node(formula{kind: pick(formulaAtom, formulaNotAtom), atom: atom(p), text: p.text})
	case "not":
		return m.build(p.parts[0], !negated, atom)
	case "and", "or":
		kind := pick(formulaAnd, formulaOr)
		if p.op == "or" {
			kind = pick(formulaOr, formulaAnd)
		}
		n := sub(0)
		for i := 1; i < len(p.parts); i++ {
			n = m.node(formula{kind: kind, a: n, b: sub(i)})
		}
		return n
	case "next":
		return m.node(formula{kind: pick(formulaNext, formulaWeakNext), a: sub(0)})
	case "eventually": // its negation: never
		if negated {
			return m.node(formula{kind: formulaRelease, a: no, b: sub(0)})
		}
		return m.node(formula{kind: formulaUntil, a: yes, b: sub(0), text: p.parts[0].text})
	case "always":
		return m.build(&phrase{op: "eventually", parts: []*phrase{not(p.parts[0])}, text: p.text}, !negated, atom)
	case "never":
		return m.build(&phrase{op: "eventually", parts: p.parts, text: p.text}, !negated, atom)
	case "finally":
		last := m.node(formula{kind: formulaWeakNext, a: no})
		if negated { // at every state that is the last
			n := m.node(formula{kind: formulaOr, a: m.node(formula{kind: formulaNext, a: yes}), b: sub(0)})
			return m.node(formula{kind: formulaRelease, a: no, b: n})
		}
		n := m.node(formula{kind: formulaAnd, a: last, b: sub(0)})
		return m.node(formula{kind: formulaUntil, a: yes, b: n, text: p.parts[0].text + " in the last state"})
	case "until":
		return m.node(formula{kind: pick(formulaUntil, formulaRelease), a: sub(0), b: sub(1), text: p.parts[1].text})
	case "before": // P, while Q has not been
		q := not(p.parts[1])
		return m.build(&phrase{op: "until", parts: []*phrase{q, and(p.parts[0], q)}, text: p.text}, negated, atom)
	case "since": // Q, and from the next state on P
		rest := m.build(&phrase{op: "always", parts: p.parts[:1]}, negated, atom)
		n := m.node(formula{kind: pick(formulaWeakNext, formulaNext), a: rest})
		if negated {
			n = m.node(formula{kind: formulaOr, a: sub(1), b: n})
			return m.node(formula{kind: formulaRelease, a: no, b: n})
		}
		n = m.node(formula{kind: formulaAnd, a: sub(1), b: n})
		return m.node(formula{kind: formulaUntil, a: yes, b: n, text: p.parts[1].text})
	case "then":
		n := -1
		for i := len(p.parts) - 1; i >= 0; i-- {
			here := sub(i)
			if n >= 0 {
				here = m.node(formula{kind: pick(formulaAnd, formulaOr), a: here, b: m.node(formula{kind: pick(formulaNext, formulaWeakNext), a: n})})
			}
			holding := yes
			if negated {
				holding = no
			}
			if h := p.holding[i]; h != nil {
				holding = m.build(h, negated, atom)
			}
			n = m.node(formula{kind: pick(formulaUntil, formulaRelease), a: holding, b: here, text: p.parts[i].text})
		}
		return n
	}
	panic(fmt.Sprintf("unknown operator %q", p.op))
}

func (m *automaton) must(node int, strong bool) choice {
	o := obligation{node, strong}
	i, ok := m.number[o]
	if !ok {
		i = len(m.oblige)
		if i == maxObligations {
			panic(&predicateError{fmt.Errorf("the question is too large: it has more than %d things to wait for", maxObligations)})
		}
		m.number[o] = i
		m.oblige = append(m.oblige, o)
		if strong {
			m.strong |= 1 << i
		}
	}
	return choice{1 << i}
}

// expand is what must hold of the rest of a behaviour for a node to hold now. The
// caller clears memo where atoms change.
func (m *automaton) expand(node int, atoms uint64) choice {
	c, ok := m.memo[node]
	if !ok {
		c = m.expanded(node, atoms)
		m.memo[node] = c
	}
	return c
}

func (m *automaton) expanded(node int, atoms uint64) choice {
	f := m.nodes[node]
	holds := func(yes bool) choice {
		if yes {
			return choice{0}
		}
		return nil
	}
	switch f.kind {
	case formulaTrue:
		return holds(true)
	case formulaFalse:
		return holds(false)
	case formulaAtom:
		return holds(atoms>>f.atom&1 == 1)
	case formulaNotAtom:
		return holds(atoms>>f.atom&1 == 0)
	case formulaAnd:
		return bothOf(m.expand(f.a, atoms), m.expand(f.b, atoms))
	case formulaOr:
		return eitherOf(m.expand(f.a, atoms), m.expand(f.b, atoms))
	case formulaNext:
		return m.must(f.a, true)
	case formulaWeakNext:
		return m.must(f.a, false)
	case formulaUntil:
		return eitherOf(m.expand(f.b, atoms), bothOf(m.expand(f.a, atoms), m.must(node, true)))
	default: // formulaRelease
		return bothOf(m.expand(f.b, atoms), eitherOf(m.expand(f.a, atoms), m.must(node, false)))
	}
}

func eitherOf(a, b choice) choice { return slices.Concat(a, b).least() }

func bothOf(a, b choice) choice {
	var out choice
	for _, x := range a {
		for _, y := range b {
			out = append(out, x|y)
		}
		if len(out) > maxChoice {
			out = out.least()
		}
	}
	return out.least()
}

// least leaves out sets that have another one in them.
func (c choice) least() choice {
	slices.SortFunc(c, func(a, b uint64) int {
		if n := bits.OnesCount64(a) - bits.OnesCount64(b); n != 0 {
			return n
		}
		if a < b {
			return -1
		}
		return 1
	})
	var out choice
	for _, x := range c {
		if !slices.ContainsFunc(out, func(y uint64) bool { return x&y == y }) {
			out = append(out, x)
		}
	}
	if len(out) > maxChoice {
		panic(&predicateError{fmt.Errorf("the question is too large: there are more than %d ways to answer it at once", maxChoice)})
	}
	return out
}

// state numbers a choice.
func (m *automaton) state(c choice) uint32 {
	key := make([]byte, 0, 8*len(c))
	for _, x := range c {
		key = binary.LittleEndian.AppendUint64(key, x)
	}
	if q, ok := m.known[string(key)]; ok {
		return q
	}
	if len(m.states) == maxProgress {
		panic(&predicateError{fmt.Errorf("the question is too large: its automaton has more than %d states", maxProgress)})
	}
	q := uint32(len(m.states))
	m.known[string(key)] = q
	m.states = append(m.states, c)
	return q
}

// begin is the automaton after the first state of a behaviour.
func (m *automaton) begin(root int, atoms uint64) uint32 {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.memo)
	return m.state(m.expand(root, atoms))
}

// step is the automaton after one more state.
func (m *automaton) step(q uint32, atoms uint64) uint32 {
	key := transitionKey{q, atoms}
	m.mu.RLock()
	to, ok := m.next[key]
	m.mu.RUnlock()
	if ok {
		return to
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.memo)
	var out choice
	for _, set := range m.states[q] {
		way := choice{0}
		for rest := set; rest != 0; rest &= rest - 1 {
			way = bothOf(way, m.expand(m.oblige[bits.TrailingZeros64(rest)].node, atoms))
		}
		out = append(out, way...)
	}
	to = m.state(out.least())
	m.next[key] = to
	return to
}

// accepts says whether a behaviour that ends in q answers the question.
func (m *automaton) accepts(q uint32) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return slices.ContainsFunc(m.states[q], func(set uint64) bool { return set&m.strong == 0 })
}

// waits tells what a behaviour that ends in q still needs, in the way that needs
// least.
func (m *automaton) waits(q uint32) []string {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var texts []string
	if len(m.states[q]) == 0 {
		return nil
	}
	// Of several such ways that which has come furthest: what comes later in a
	// sequence was built before.
	latest := func(set uint64) (node int) {
		for rest := set & m.strong; rest != 0; rest &= rest - 1 {
			node = max(node, m.oblige[bits.TrailingZeros64(rest)].node)
		}
		return node
	}
	set := slices.MinFunc(m.states[q], func(a, b uint64) int {
		if n := bits.OnesCount64(a&m.strong) - bits.OnesCount64(b&m.strong); n != 0 {
			return n
		}
		return latest(a) - latest(b)
	})
	for rest := set & m.strong; rest != 0; rest &= rest - 1 {
		n := m.nodes[m.oblige[bits.TrailingZeros64(rest)].node]
		if n.text == "" {
			n.text = "another step"
		}
		if !slices.Contains(texts, n.text) {
			texts = append(texts, n.text)
		}
	}
	return texts
}
