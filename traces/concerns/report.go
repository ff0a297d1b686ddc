package concerns

import (
	"fmt"
	"strings"

	"github.com/quorate/quorate/spec/bootstrap"
	"github.com/quorate/quorate/spec/clusterid"
)

// Rejection says which event is no step of the specification, and why.
type Rejection struct {
	File    string `json:"file"`
	Line    int64  `json:"line"`
	Node    int32  `json:"node"`
	Process int32  `json:"process"`
	Seq     int64  `json:"seq"`
	Concern string `json:"concern"`
	Action  string `json:"action"`
	// Why in one sentence.
	Why string `json:"why"`
	// Guard that failed, if the action was not enabled.
	Guard string `json:"guard,omitempty"`
	// Properties that do not hold.
	Properties []string `json:"properties,omitempty"`
	// Differences between the step and the event.
	Differences []Difference `json:"differences,omitempty"`
	// Before is the node before the event, as the specification has it.
	Before string `json:"before,omitempty"`
	// Past are the events of the node that led here, the latest first.
	Past []string `json:"past,omitempty"`
}

// Difference is a field that the specification has otherwise.
type Difference struct {
	Field    string `json:"field"`
	Spec     string `json:"spec"`
	Recorded string `json:"recorded"`
}

// refusal is why an event is no step.
type refusal struct {
	why, guard, before string
	properties         []string
	differences        []Difference
}

func because(format string, args ...any) *refusal {
	return &refusal{why: fmt.Sprintf(format, args...)}
}

func violated(properties ...string) *refusal {
	r := because("%s does not hold after it", strings.Join(properties, " and "))
	r.properties = properties
	return r
}

// past is how many events before are shown.
const past = 4

func (v *validator) reject(n *node, i int, r *refusal) *Rejection {
	e := &n.lines[i]
	out := &Rejection{
		File: n.name, Line: e.number, Node: n.id, Process: e.Process, Seq: e.Seq, Concern: e.Concern, Action: e.Action,
		Why: r.why, Guard: r.guard, Properties: r.properties, Differences: r.differences, Before: r.before,
	}
	for j := i - 1; j >= 0 && j >= i-past; j-- {
		p := &n.lines[j]
		out.Past = append(out.Past, fmt.Sprintf("process %d event %d %s (%s) (%s:%d)", p.Process, p.Seq, p.Action, p.Concern, n.name, p.number))
	}
	return out
}

// Text is the rejection in lines.
func (r *Rejection) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d: node %d, process %d, event %d: %s (%s)\n", r.File, r.Line, r.Node, r.Process, r.Seq, r.Action, r.Concern)
	fmt.Fprintf(&b, "  why: %s\n", r.Why)
	for _, d := range r.Differences {
		fmt.Fprintf(&b, "    %s: specification %s, recorded %s\n", d.Field, d.Spec, d.Recorded)
	}
	if len(r.Properties) > 0 {
		fmt.Fprintf(&b, "  properties: %s\n", strings.Join(r.Properties, ", "))
	}
	if r.Before != "" {
		fmt.Fprintf(&b, "  before: %s\n", r.Before)
	}
	for i, p := range r.Past {
		head := "after: "
		if i > 0 {
			head = "       "
		}
		fmt.Fprintf(&b, "  %s%s\n", head, p)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

var stages = [...]string{clusterid.Down: "down", clusterid.Writing: "writing", clusterid.Unknown: "looking for its cluster id", clusterid.Known: "knowing its cluster id", clusterid.Exited: "ended"}

// describe is a node in words.
func (v *validator) describe(s *state) string {
	parts := []string{stages[s.n.Stage]}
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if s.n.Mem != clusterid.NoID {
		add("cluster id %s", v.clusterName(s.n.Mem))
	}
	if s.n.Stage == clusterid.Writing {
		add("cluster id to be written %s", show(v.clusterName(s.n.Target)))
	}
	for i, d := range s.dirs {
		text := v.metaText(s, d.now)
		if !d.known {
			text = "not known"
		}
		if d.now != d.disk {
			text += " (not flushed)"
		}
		if d.offline {
			text += " (offline)"
		}
		add("directory %d %s", i, text)
	}
	if s.c.FormatStep > 0 {
		add("format is to %s", v.rules.Bootstrap.FormatSteps[s.c.FormatStep-1])
	}
	if s.c.Up == 1 {
		add("%s", s.c.Phase)
		m := s.base
		for _, r := range s.log[:s.handed] {
			m, _ = r.apply(m, clusterid.Image{})
		}
		image := fmt.Sprintf("metadata.version %d", v.file(m.Stable().Version).Level)
		if m.Tx != 0 {
			image += ", in a transaction"
		}
		add("applied up to %d, %s", s.loaded, image)
	}
	switch {
	case s.c.Zero == bootstrap.ControlOnly:
		add("zero checkpoint without metadata records")
	case s.c.Zero != bootstrap.NoZero:
		add("zero checkpoint")
	}
	if s.snapshot > 0 {
		add("snapshot %d", s.snapshot)
	}
	return strings.Join(parts, ", ")
}
