package checker

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Replayed says whether a behaviour that was read is one of a specification.
type Replayed struct {
	Spec      string   `json:"spec"`
	Processes []string `json:"processes,omitempty"`
	Legend    string   `json:"legend,omitempty"`
	Accepted  bool     `json:"accepted"`
	// Fitting is the number of states of the specification that fit what the
	// behaviour says of a state, for each of its states.
	Fitting []int `json:"fitting"`
	// Trace is one behaviour of the specification that fits, whole or up to where
	// none does; Loop as in Behaviour.
	Trace []TraceStep `json:"trace"`
	Loop  *int        `json:"loop,omitempty"`
	// Violated lists properties that Trace violates, and where first.
	Violated []ReplayViolation `json:"violated,omitempty"`
	// Rejection says why it is none.
	Rejection *Rejection `json:"rejection,omitempty"`
}

// ReplayViolation is a property and the first state, or step to a state, that
// violates it.
type ReplayViolation struct {
	Property string `json:"property"`
	State    int    `json:"state"`
}

// Rejection is the first state of a behaviour that cannot be.
type Rejection struct {
	// State cannot be, after those before it. If Loop is set all states can be, and
	// what cannot is that the last is followed by that one.
	State int  `json:"state"`
	Loop  bool `json:"loop,omitempty"`
	// Nearest are the steps, or initial states, that differ least from what the
	// behaviour says.
	Nearest []NearStep `json:"nearest"`
}

// NearStep is a step that the specification has, and how what it leads to differs.
type NearStep struct {
	Actor   string     `json:"actor,omitempty"`
	Step    string     `json:"step"`
	Message string     `json:"message,omitempty"`
	Differs []Mismatch `json:"differs"`
}

// Mismatch is a value that a behaviour states, and what the specification has there;
// empty for nothing.
type Mismatch struct {
	Path string `json:"path"`
	Want string `json:"want"`
	Got  string `json:"got"`
}

func (m Mismatch) String() string {
	switch {
	case m.Got == "":
		return m.Path + ": the trace has " + m.Want + ", the model nothing"
	case m.Want == "":
		return m.Path + ": the model has " + m.Got + ", the trace nothing"
	}
	return m.Path + ": the trace has " + m.Want + ", the model " + m.Got
}

// nearest is how many near steps a rejection lists.
const nearest = 3

// Replay looks for a behaviour of spec, step by step, whose states are as f says. What
// f does not say of a state may be anything. Unknown variables are an error, as is it
// if more than limit states fit one state of f.
func Replay[S any](ctx context.Context, spec Spec[S], f *ITF, limit int) (_ *Replayed, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = modelError(p)
		}
	}()
	info := spec.Info()
	if err := checkInfo(info); err != nil {
		return nil, err
	}
	r := &replay[S]{ctx: ctx, spec: spec, info: info, f: f, limit: limit}
	r.finger, _ = spec.(Fingerprinter[S])
	if r.finger == nil {
		if err := checkPlain[S](); err != nil {
			return nil, err
		}
	}
	return r.run()
}

type replay[S any] struct {
	ctx    context.Context
	spec   Spec[S]
	finger Fingerprinter[S]
	info   *Info
	f      *ITF
	limit  int
	layers [][]replayNode[S] // states of the specification that fit state i
}

type replayNode[S any] struct {
	state   S
	fp      uint64
	parents []replayParent
}

// replayParent is a state of the layer before, and which of its successors a state is.
type replayParent struct {
	index int
	edge  uint32
}

func (r *replay[S]) fingerprint(s *S) uint64 {
	if r.finger != nil {
		return r.finger.Fingerprint(s)
	}
	return hashBytes(bytesOf(s), 0)
}

func (r *replay[S]) run() (*Replayed, error) {
	out := &Replayed{Spec: r.info.Name, Processes: r.info.Processes, Legend: r.info.Legend}
	for i := range r.f.States {
		if err := r.ctx.Err(); err != nil {
			return nil, err
		}
		near, err := r.layer(i)
		if err != nil {
			return nil, err
		}
		n := len(r.layers[i])
		out.Fitting = append(out.Fitting, n)
		if n == 0 {
			out.Rejection = &Rejection{State: i, Nearest: near}
			if i > 0 {
				r.layers = r.layers[:i]
				out.Trace, err = retrace(r.spec, r.info, r.edges(i-1, 0))
			}
			return out, err
		}
	}
	last := len(r.layers) - 1
	edges := r.edges(last, 0)
	if l := r.f.Loop; l != nil {
		closing, ok := r.close(*l)
		if !ok {
			out.Rejection = &Rejection{State: last, Loop: true}
			trace, err := retrace(r.spec, r.info, edges)
			out.Trace = trace
			return out, err
		}
		edges, out.Loop = closing, l
	}
	trace, err := retrace(r.spec, r.info, edges)
	if err != nil {
		return nil, err
	}
	out.Accepted, out.Trace, out.Violated = true, trace, r.violated(edges)
	return out, nil
}

// layer finds the states that fit state i of the behaviour, and the nearest that do
// not if none does.
func (r *replay[S]) layer(i int) (near []NearStep, err error) {
	var layer []replayNode[S]
	index := map[uint64]int{} // -1 for states that do not fit
	parent := 0
	take := func(c successor[S]) {
		fp := c.fp
		if fp == 0 {
			fp = r.fingerprint(c.state)
		}
		at, seen := index[fp]
		if !seen {
			fields := r.spec.Describe(c.state)
			if i == 0 && len(index) == 0 {
				err = r.unknown(fields)
			}
			at = len(layer)
			if differs := r.mismatches(i, fields); len(differs) > 0 {
				at = -1
				near = keepNearest(near, NearStep{Actor: r.actor(i, c), Step: r.step(i, c), Message: c.detail.message, Differs: differs})
			} else if len(layer) < r.limit {
				layer = append(layer, replayNode[S]{state: *c.state, fp: fp})
			} else if err == nil {
				err = fmt.Errorf("more than %d states of %s fit state %d: %w", r.limit, r.info.Name, i, ErrTooManyStates)
			}
			index[fp] = at
		}
		if at >= 0 && at < len(layer) {
			layer[at].parents = append(layer[at].parents, replayParent{parent, c.edge})
		}
	}
	if i == 0 {
		r.spec.Init(newCollector(take))
	} else {
		for p := range r.layers[i-1] {
			parent = p
			state := r.layers[i-1][p].state
			r.spec.Next(&state, newCollector(take))
			if err != nil || r.ctx.Err() != nil {
				break
			}
		}
		if r.ctx.Err() != nil {
			err = r.ctx.Err()
		}
	}
	r.layers = append(r.layers, layer)
	return near, err
}

func (r *replay[S]) actor(i int, c successor[S]) string {
	if i == 0 {
		return ""
	}
	return r.info.processName(c.process)
}

func (r *replay[S]) step(i int, c successor[S]) string {
	if i == 0 {
		return "initial state"
	}
	return r.info.stepText(c.process, c.instance)
}

// keepNearest adds a step to the nearest, fewest differences first.
func keepNearest(list []NearStep, s NearStep) []NearStep {
	at := len(list)
	for at > 0 && len(list[at-1].Differs) > len(s.Differs) {
		at--
	}
	list = slices.Insert(list, at, s)
	return list[:min(len(list), nearest)]
}

// unknown is an error if the behaviour speaks of variables that the specification,
// one of whose states has these fields, does not have.
func (r *replay[S]) unknown(fields []Field) error {
	var known []string
	add := func(path string) {
		if part, _, _ := strings.Cut(path, "."); !slices.Contains(known, part) {
			known = append(known, part)
		}
	}
	for _, f := range fields {
		add(f.Path)
	}
	if r.info.MaxInFlight > 0 {
		add(networkPart)
	}
	for i, state := range r.f.States {
		for _, f := range state {
			if part, _, _ := strings.Cut(f.Path, "."); !slices.Contains(known, part) {
				return fmt.Errorf("state %d of the trace has variable %q; %s has %s", i, part, r.info.Name, strings.Join(known, ", "))
			}
		}
	}
	return nil
}

// mismatches are what state i of the behaviour says and these fields do not.
func (r *replay[S]) mismatches(i int, fields []Field) []Mismatch {
	has := make(map[string]string, len(fields))
	for _, f := range fields {
		has[f.Path] = f.Value
	}
	var list []Mismatch
	for _, want := range r.f.States[i] {
		if got, ok := has[want.Path]; !ok || got != want.Value {
			list = append(list, Mismatch{want.Path, want.Value, got})
		}
	}
	if network := r.f.Network[i]; network != nil {
		list = append(list, bagMismatches(network, fields)...)
	}
	return list
}

func bagMismatches(want, fields []Field) []Mismatch {
	got, ok := messagesOf(networkPart, fields)
	if !ok {
		return []Mismatch{{networkPart, "messages in flight", "something else"}}
	}
	copies := map[string]int{}
	for _, f := range got {
		copies[f.Path], _ = strconv.Atoi(f.Value)
	}
	text := func(n int) string {
		if n == 0 {
			return ""
		}
		return fmt.Sprintf("%d in flight", n)
	}
	var list []Mismatch
	for _, f := range want {
		n, _ := strconv.Atoi(f.Value)
		if copies[f.Path] != n {
			list = append(list, Mismatch{networkPart + "." + f.Path, text(n), text(copies[f.Path])})
		}
		delete(copies, f.Path)
	}
	for _, f := range got {
		if n := copies[f.Path]; n > 0 {
			list = append(list, Mismatch{networkPart + "." + f.Path, "", text(n)})
		}
	}
	return list
}

// edges is a way to a state of a layer: which initial state, then which successors.
func (r *replay[S]) edges(layer, at int) []uint32 {
	var list []uint32
	for i := layer; i >= 0; i-- {
		p := r.layers[i][at].parents[0]
		list = append(list, p.edge)
		at = p.index
	}
	slices.Reverse(list)
	return list
}

// close finds a behaviour whose last state is followed by its own state l.
func (r *replay[S]) close(l int) ([]uint32, bool) {
	last := len(r.layers) - 1
	for start := range r.layers[l] {
		// from[i][n] is a parent of state n of layer i through which start reaches it.
		from := make([]map[int]replayParent, last+1)
		from[l] = map[int]replayParent{start: {}}
		for i := l + 1; i <= last; i++ {
			from[i] = map[int]replayParent{}
			for n := range r.layers[i] {
				for _, p := range r.layers[i][n].parents {
					if _, ok := from[i-1][p.index]; ok {
						from[i][n] = p
						break
					}
				}
			}
		}
		for n := range r.layers[last] {
			if _, ok := from[last][n]; !ok {
				continue
			}
			edge, found := uint32(0), false
			state := r.layers[last][n].state
			r.spec.Next(&state, newCollector(func(c successor[S]) {
				if !found && r.fingerprint(c.state) == r.layers[l][start].fp {
					edge, found = c.edge, true
				}
			}))
			if !found {
				continue
			}
			tail := []uint32{edge}
			for i, at := last, n; i > l; i-- {
				p := from[i][at]
				tail = append(tail, p.edge)
				at = p.index
			}
			slices.Reverse(tail)
			return append(r.edges(l, start), tail...), true
		}
	}
	return nil, false
}

// violated lists what the behaviour that takes these edges violates.
func (r *replay[S]) violated(edges []uint32) []ReplayViolation {
	var list []ReplayViolation
	var all Props
	var state S
	for i, want := range edges {
		var now Props
		var after S
		sink := newCollector(func(c successor[S]) {
			if c.edge == want {
				after, now = *c.state, c.violated
			}
		})
		if i == 0 {
			r.spec.Init(sink)
		} else {
			r.spec.Next(&state, sink)
		}
		state = after
		broken, _ := r.spec.Check(&state)
		now |= broken
		for p, property := range r.info.Properties {
			if now&^all>>p&1 == 1 {
				list = append(list, ReplayViolation{property.Name, i})
			}
		}
		all |= now
	}
	return list
}

// WriteText writes the judgement for a reader.
func (r *Replayed) WriteText(w io.Writer) error {
	p := &printer{w: w}
	switch {
	case r.Accepted && r.Loop != nil:
		p.line("%s: accepted, %s and back to state %d for ever", r.Spec, stepsText(len(r.Fitting)-1), *r.Loop)
	case r.Accepted:
		p.line("%s: accepted, %s", r.Spec, stepsText(len(r.Fitting)-1))
	default:
		p.line("%s: rejected at %s", r.Spec, r.Rejection.where())
	}
	p.line("")
	if len(r.Trace) > 0 {
		p.behaviour(r.Trace, r.Loop)
		p.line("")
	}
	if most := slices.Max(r.Fitting); most > 1 {
		p.line("  what the trace does not say may be otherwise: up to %d states of the model fit one of its", most)
	}
	for _, v := range r.Violated {
		p.line("  state %d violates %s", v.State, v.Property)
	}
	if x := r.Rejection; x != nil {
		p.line("  %s", x.why())
		for _, near := range x.Nearest {
			p.line("    nearest: %s%s%s", prefixedBy(near.Actor, ": "), near.Step, prefixed("  <- ", near.Message))
			for _, m := range near.Differs {
				p.line("      %s", m)
			}
		}
	}
	return p.err
}

func prefixedBy(s, after string) string {
	if s == "" {
		return ""
	}
	return s + after
}

func (x *Rejection) where() string {
	if x.Loop {
		return fmt.Sprintf("the way back from state %d", x.State)
	}
	return fmt.Sprintf("state %d", x.State)
}

func (x *Rejection) why() string {
	switch {
	case x.Loop:
		return "no behaviour of the model that is as the trace says goes back from its last state"
	case x.State == 0:
		return "no initial state of the model is as the trace says"
	case len(x.Nearest) == 0:
		return fmt.Sprintf("the model has no step from state %d", x.State-1)
	}
	return fmt.Sprintf("no step of the model leads from state %d to what the trace says of state %d", x.State-1, x.State)
}

// Behaviour is the trace, to be drawn.
func (r *Replayed) Behaviour() Behaviour {
	b := Behaviour{Legend: r.Legend, Processes: r.Processes, Trace: r.Trace, Loop: r.Loop, Bad: !r.Accepted}
	if r.Accepted {
		b.Title = r.Spec + ": a trace that is a behaviour of the model"
	} else {
		b.Title = fmt.Sprintf("%s: a trace, rejected at %s", r.Spec, r.Rejection.where())
		b.Verdict = append(b.Verdict, r.Rejection.why())
	}
	for _, v := range r.Violated {
		b.Bad = true
		b.Verdict = append(b.Verdict, fmt.Sprintf("state %d violates %s", v.State, v.Property))
	}
	return b
}
