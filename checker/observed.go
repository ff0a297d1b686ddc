package checker

import (
	"fmt"
	"slices"
	"strings"
)

// lookout says what is observed of states and steps.
type lookout struct {
	names   []string // of fields: whole paths, or their last parts
	actions []string
	seen    map[string]bool // names that some state had
	known   map[string]bool // names that states have, for an error
}

// of hashes the observed fields of a state, or of a part of one: the whole is the sum
// of its parts.
func (l *lookout) of(fields []Field) uint64 {
	sum := uint64(0)
	for i := range fields {
		if f := &fields[i]; l.observes(f.Path) {
			sum += hashBytes([]byte(f.Path+"\x00"+f.Value), hashK1)
		}
	}
	return sum
}

// parted is implemented by specifications whose states have parts that recur: the
// fields of a part depend on its key.
type parted[S any] interface {
	eachPart(s *S, part func(key uint64, fields func() []Field))
}

// eachPart leaves out messages, which have no names.
func (s *interned[R, M, G]) eachPart(t *Tuple, part func(key uint64, fields func() []Field)) {
	for i := range s.processes {
		part(uint64(i+1)<<32|uint64(t[i]), func() []Field {
			return prefixedFields(s.info.processName(i), s.sys.DescribeProcess(s.procs.values.at(t[i])))
		})
	}
	part(uint64(MaxProcesses+1)<<32|uint64(t.ghost()), func() []Field { return prefixedFields("ghost", s.sys.DescribeGhost(s.ghosts.values.at(t.ghost()))) })
	for b := 1; b < len(s.info.Budgets); b++ {
		if s.limits[b] > 0 {
			n := t.budget(Budget(b))
			part(uint64(MaxProcesses+2)<<32|uint64(b)<<8|uint64(n), func() []Field { return []Field{budgetField(s.info, Budget(b), n)} })
		}
	}
}

func prefixedFields(part string, fields []Field) []Field {
	list := make([]Field, len(fields))
	for i, f := range fields {
		list[i] = Field{part + "." + f.Path, f.Value}
	}
	return list
}

func (l *lookout) observes(path string) bool {
	name := lastPart(path)
	if name == "" {
		return false
	}
	for _, n := range l.names {
		if n == path || n == name {
			l.seen[n] = true
			return true
		}
	}
	return false
}

// lastPart is the name of a field. That of a message is its text, and no name.
func lastPart(path string) string {
	part, name, ok := strings.Cut(path, ".")
	switch {
	case !ok:
		return path
	case part == "network":
		return ""
	}
	return name
}

// missing is the error for a name that no field has.
func (l *lookout) missing(info *Info) error {
	for _, n := range l.names {
		if !l.seen[n] {
			var known []string
			for k := range l.known {
				known = append(known, k)
			}
			slices.Sort(known)
			if len(known) == 0 {
				return fmt.Errorf("no state of %s has a field %q, or any", info.Name, n)
			}
			return fmt.Errorf("no state of %s has a field %q; there are %s%s", info.Name, n, strings.Join(known, ", "), nearestOf(n, known))
		}
	}
	return nil
}

// move is a step of a side, from one numbered state to another.
type move struct {
	event uint64 // what is seen of it; 0: nothing
	to    int32
	edge  uint32
}

// observable is a side of a comparison on fields. It numbers its states as they are
// found, and remembers their moves.
type observable interface {
	Info() *Info
	observe(l *lookout) error
	initial() []int32
	view(id int32) uint64
	moves(id int32) []move
	size() int
	// trace is the behaviour that begins with a state of initial and takes moves.
	trace(start int32, moves []move) ([]TraceStep, error)
	// blame says what keeps the side, in one of the given states, from the last step
	// of a behaviour.
	blame(v *Divergence, l *lookout, among []int32)
}

func (e erased[S]) side() observable { return &observedSide[S]{Spec: e.spec} }

type observedSide[S any] struct {
	Spec[S]
	look   *lookout
	finger func(*S) uint64
	number map[uint64]int32
	states []S
	views  []uint64
	parts  map[uint64]uint64 // views of parts
	steps  [][]move
	starts []int32
	// startEdges are the numbers of the initial states as Init emits them.
	startEdges map[int32]uint32
	actions    []bool
	take       *Sink[S] // hands each successor to taken
	taken      func(successor[S])
}

func (o *observedSide[S]) observe(l *lookout) error {
	o.look, o.finger, o.number, o.startEdges = l, fingerprintOf(o.Spec), map[uint64]int32{}, map[int32]uint32{}
	if _, ok := o.Spec.(Fingerprinter[S]); !ok {
		if err := checkPlain[S](); err != nil {
			return err
		}
	}
	o.parts = map[uint64]uint64{}
	o.take = newCollector(func(c successor[S]) { o.taken(c) })
	o.take.plain = true
	info := o.Info()
	o.actions = make([]bool, len(info.Actions))
	for _, name := range l.actions {
		i := slices.Index(info.Actions, name)
		if i < 0 {
			return fmt.Errorf("%s has no action %q; it has %s", info.Name, name, strings.Join(info.Actions, ", "))
		}
		o.actions[i] = true
	}
	o.Init(newCollector(func(c successor[S]) {
		id := o.add(c.state)
		if _, ok := o.startEdges[id]; !ok {
			o.starts = append(o.starts, id)
			o.startEdges[id] = c.edge
		}
	}))
	// Fields may show in some states only; enough of them have all.
	for id := 0; id < len(o.states) && id < sampleStates; id++ {
		for _, f := range o.Describe(&o.states[id]) {
			if n := lastPart(f.Path); n != "" {
				l.known[n] = true
			}
		}
		o.moves(int32(id))
	}
	return nil
}

// sampleStates is how many states are looked at for names of fields.
const sampleStates = 5000

func (o *observedSide[S]) add(s *S) int32 {
	fp := o.finger(s)
	id, ok := o.number[fp]
	if !ok {
		id = int32(len(o.states))
		o.number[fp] = id
		o.states = append(o.states, *s)
		o.views = append(o.views, o.viewOf(s))
		o.steps = append(o.steps, nil)
	}
	return id
}

func (o *observedSide[S]) viewOf(s *S) uint64 {
	p, ok := o.Spec.(parted[S])
	if !ok {
		return o.look.of(o.Describe(s))
	}
	sum := uint64(0)
	p.eachPart(s, func(key uint64, fields func() []Field) {
		h, ok := o.parts[key]
		if !ok {
			h = o.look.of(fields())
			o.parts[key] = h
		}
		sum += h
	})
	return sum
}

func (o *observedSide[S]) initial() []int32     { return o.starts }
func (o *observedSide[S]) view(id int32) uint64 { return o.views[id] }
func (o *observedSide[S]) size() int            { return len(o.states) }

func (o *observedSide[S]) moves(id int32) []move {
	if o.steps[id] != nil {
		return o.steps[id]
	}
	list := []move{}
	state, from := o.states[id], o.views[id]
	o.taken = func(c successor[S]) {
		m := move{to: o.add(c.state), edge: c.edge}
		to := o.views[m.to]
		if o.actions[c.instance.Action] {
			m.event = mix(to, hashBytes([]byte(o.Info().processName(c.process)+" "+o.Info().Actions[c.instance.Action]), hashK2))
		} else if to != from {
			m.event = mix(to, hashK3)
		}
		if m.to != id || m.event != 0 {
			list = append(list, m)
		}
	}
	o.take.edge = 0
	o.Next(&state, o.take)
	o.steps[id] = slices.Clip(list)
	return o.steps[id]
}

func (o *observedSide[S]) trace(start int32, moves []move) ([]TraceStep, error) {
	edges := []uint32{o.startEdges[start]}
	for _, m := range moves {
		edges = append(edges, m.edge)
	}
	return retrace(o.Spec, o.Info(), edges)
}

// mostBlamed is how many of the states that a side may be in are looked at for what
// refuses a step.
const mostBlamed = 2000

// blame tells of the state in which least is missing.
func (o *observedSide[S]) blame(v *Divergence, l *lookout, among []int32) {
	v.Among = len(among)
	last := &v.Trace[len(v.Trace)-1]
	if e, ok := o.Spec.(attempter[S]); ok && e.canExplain() && last.Process >= 0 {
		if v.Unoffered = e.unoffered(last.Instance.Action); v.Unoffered != "" {
			return
		}
		found := false
		for _, id := range among[:min(len(among), mostBlamed)] {
			e.attempts(&o.states[id], last.Instance.Action, func(process int, _ string, at *Attempt) {
				if process == last.Process && at.Instance == last.Instance && (!found || len(at.Refused) < len(v.Refused)) {
					found, v.Refused = true, slices.Clone(at.Refused)
				}
			})
		}
		if !found || len(v.Refused) > 0 {
			return
		}
	}
	want := l.fields(last.Fields)
	for _, id := range among[:min(len(among), mostBlamed)] {
		o.Next(&o.states[id], newCollector(func(c successor[S]) {
			if c.process == last.Process && c.instance == last.Instance {
				changes := Changes(l.fields(o.Describe(c.state)), want)
				if v.Effect == nil || len(changes) < len(v.Effect) {
					v.Effect = changes
				}
			}
		}))
	}
}

// fields are the observed ones.
func (l *lookout) fields(all []Field) []Field {
	var list []Field
	for _, f := range all {
		if l.observes(f.Path) {
			list = append(list, f)
		}
	}
	return list
}
