package checker

import (
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"strings"

	"gonum.org/v1/gonum/graph"
	"gonum.org/v1/gonum/graph/encoding"
	"gonum.org/v1/gonum/graph/encoding/dot"
	"gonum.org/v1/gonum/graph/multi"
)

// StateGraph is all reachable states of a small model and the steps between
// them, as a graph of gonum: nodes are *StateNode, lines *StepLine.
type StateGraph struct {
	*multi.DirectedGraph
	Name  string
	Nodes []*StateNode
	Steps []*StepLine
}

// StateNode is a state. Nodes are numbered in the order of their discovery,
// breadth first.
type StateNode struct {
	Number  int64   `json:"id"`
	Initial bool    `json:"initial,omitempty"`
	Depth   int     `json:"depth"`
	Fields  []Field `json:"fields"`
	// Violates names the invariants that do not hold in it.
	Violates []string `json:"violates,omitempty"`

	changes string // what the step that found it changed
	leaves  bool   // it has a step
}

// ID implements graph.Node.
func (n *StateNode) ID() int64 { return n.Number }

// Attributes implements encoding.Attributer.
func (n *StateNode) Attributes() []encoding.Attribute {
	text := n.changes
	if n.Initial {
		text = n.whole()
	}
	for _, v := range n.Violates {
		text += "violates " + v + "\n"
	}
	a := []encoding.Attribute{
		{Key: "label", Value: label(fmt.Sprint(n.Number), text)},
		{Key: "tooltip", Value: quote(n.whole())},
	}
	switch {
	case len(n.Violates) > 0:
		a = append(a, encoding.Attribute{Key: "fillcolor", Value: quote("#ffcdd2")}, encoding.Attribute{Key: "color", Value: quote("#b71c1c")})
	case n.Initial:
		a = append(a, encoding.Attribute{Key: "fillcolor", Value: quote("#e3f2fd")})
	case !n.leaves:
		a = append(a, encoding.Attribute{Key: "fillcolor", Value: quote("#eeeeee")})
	}
	if n.Initial {
		a = append(a, encoding.Attribute{Key: "peripheries", Value: "2"})
	}
	return a
}

// whole is the state, a line for each part.
func (n *StateNode) whole() string {
	var b strings.Builder
	p := &printer{w: &b}
	p.whole(n.Fields)
	return strings.ReplaceAll(b.String(), "         ", "")
}

// StepLine is a step.
type StepLine struct {
	graph.Line `json:"-"`
	Source     int64  `json:"from"`
	Target     int64  `json:"to"`
	Actor      string `json:"actor"`
	Action     string `json:"action"`
	Step       string `json:"step"`
	Message    string `json:"message,omitempty"`
}

// Attributes implements encoding.Attributer.
func (l *StepLine) Attributes() []encoding.Attribute {
	return []encoding.Attribute{{Key: "label", Value: quote(l.Actor + ": " + l.Step)}}
}

// label is a line in the middle, in bold, and below it lines that are set to the left,
// in the HTML of DOT.
func label(head, text string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<<b>%s</b><br/>", html.EscapeString(head))
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		fmt.Fprintf(&b, `%s<br align="left"/>`, html.EscapeString(line))
	}
	b.WriteByte('>')
	return b.String()
}

func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}

// ErrTooManyStates is what Graph returns for a model beyond its limit.
var ErrTooManyStates = errors.New("too many states for a graph")

// Graph builds the graph of the reachable states of spec, which must not be
// more than limit.
func Graph[S any](spec Spec[S], limit int) (_ *StateGraph, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = modelError(p)
		}
	}()
	info := spec.Info()
	if err := checkInfo(info); err != nil {
		return nil, err
	}
	g := &StateGraph{DirectedGraph: multi.NewDirectedGraph(), Name: info.Name}
	b := &graphBuilder[S]{graph: g, spec: spec, limit: limit, known: map[uint64]*StateNode{}}
	b.finger, _ = spec.(Fingerprinter[S])
	spec.Init(newCollector(func(c successor[S]) { b.node(c.state, nil) }))
	for i := 0; i < len(b.states) && !b.full; i++ {
		from, state := g.Nodes[i], b.states[i]
		spec.Next(&state, newCollector(func(c successor[S]) {
			to := b.node(c.state, from)
			if b.full {
				return
			}
			line := &StepLine{
				Line: g.NewLine(from, to), Source: from.Number, Target: to.Number,
				Actor: info.processName(c.process), Action: info.Actions[c.instance.Action],
				Step: info.stepText(c.process, c.instance), Message: c.detail.message,
			}
			g.SetLine(line)
			from.leaves = true
			g.Steps = append(g.Steps, line)
		}))
	}
	if b.full {
		return nil, fmt.Errorf("%s has more than %d: %w", info.Name, limit, ErrTooManyStates)
	}
	return g, nil
}

type graphBuilder[S any] struct {
	graph  *StateGraph
	spec   Spec[S]
	finger Fingerprinter[S]
	limit  int
	full   bool
	known  map[uint64]*StateNode
	states []S // of graph.Nodes
}

func (b *graphBuilder[S]) node(s *S, from *StateNode) *StateNode {
	var fp uint64
	if b.finger != nil {
		fp = b.finger.Fingerprint(s)
	} else {
		fp = hashBytes(bytesOf(s), 0)
	}
	if n := b.known[fp]; n != nil {
		return n
	}
	if len(b.states) == b.limit || b.full {
		b.full = true
		return nil
	}
	n := &StateNode{Number: int64(len(b.states)), Initial: from == nil, Fields: b.spec.Describe(s)}
	violated, _ := b.spec.Check(s)
	for i, p := range b.spec.Info().Properties {
		if violated>>i&1 == 1 {
			n.Violates = append(n.Violates, p.Name)
		}
	}
	if from != nil {
		n.Depth = from.Depth + 1
		for _, c := range Changes(from.Fields, n.Fields) {
			n.changes += c.String() + "\n"
		}
	}
	b.known[fp] = n
	b.states = append(b.states, *s)
	b.graph.Nodes = append(b.graph.Nodes, n)
	b.graph.AddNode(n)
	return n
}

// DOT encodes the graph for Graphviz: initial states have a double edge, those that
// violate an invariant are red, those without a step grey. Pointing at a state shows
// all of it, in formats that can.
func (g *StateGraph) DOT() ([]byte, error) {
	return dot.MarshalMulti(dotGraph{g.DirectedGraph}, quote(g.Name), "", "\t")
}

// dotGraph adds attributes for all nodes and edges.
type dotGraph struct{ *multi.DirectedGraph }

// DOTAttributers implements dot.Attributers.
func (dotGraph) DOTAttributers() (g, node, edge encoding.Attributer) {
	return attributes{{Key: "ranksep", Value: "0.6"}},
		attributes{
			{Key: "shape", Value: "box"}, {Key: "style", Value: quote("rounded,filled")}, {Key: "fillcolor", Value: quote("#ffffff")},
			{Key: "fontname", Value: "monospace"}, {Key: "fontsize", Value: "10"},
		},
		attributes{{Key: "fontname", Value: "monospace"}, {Key: "fontsize", Value: "10"}, {Key: "color", Value: quote("#607d8b")}}
}

type attributes []encoding.Attribute

// Attributes implements encoding.Attributer.
func (a attributes) Attributes() []encoding.Attribute { return a }

// MarshalJSON gives the states with all their fields, and the steps.
func (g *StateGraph) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Name   string       `json:"name"`
		States []*StateNode `json:"states"`
		Steps  []*StepLine  `json:"steps"`
	}{g.Name, g.Nodes, g.Steps})
}
