package checker

import (
	"bytes"
	"fmt"
	"math"
	"slices"
)

// liveGraph is a state graph in flat arrays without pointers. States are numbered
// breadth first; the edges of state s are those from first[s] to first[s+1], in the
// order in which the specification gives its steps.
type liveGraph struct {
	n     int
	atoms []Atoms
	// enabled has the fairness conditions of which a step is enabled.
	enabled []uint64
	bounded []uint16 // index into masks
	masks   []uint64
	first   []uint32
	to      []uint32
	// label is the number of what the step is, with neverBit. A step of no suffix
	// that leads to a state that was left out has that bit too, and leads back.
	label  []uint16
	labels []liveLabel
	steps  []liveStep // by label
	ids    map[liveStep]uint16
	args   uint32 // the bits of parameters that any set looks at

	weak, strong uint64
	initials     []uint32 // by number of the initial state
}

const (
	neverBit  = 1 << 15 // the step is one of Finally.Never
	maxLabels = neverBit
	maxLive   = math.MaxUint32 / 4 // states: a node of a layered search fits 32 bits
)

// liveStep is what sets of steps can tell of a step, but for the state before it.
type liveStep struct {
	process int
	action  ActionID
	lost    bool
	args    uint32
}

// liveLabel has what a step of a kind is in, if the atoms of the state allow it.
type liveLabel struct {
	never []StepSet
	fair  []liveFair
}

type liveFair struct {
	condition    int
	when, unless Atoms
}

func (s *StepSet) has(e liveStep) bool {
	return (s.Actions == nil || slices.Contains(s.Actions, e.action)) &&
		(s.Processes == nil || slices.Contains(s.Processes, e.process)) &&
		e.args&s.Mask == s.Args && (!s.Lost || e.lost)
}

func (s *StepSet) from(a Atoms) bool { return a&s.When == s.When && a&s.Unless == 0 }

// compile notes which bits of parameters matter.
func (l *liveRun[S]) compile() {
	note := func(sets []StepSet) {
		for _, s := range sets {
			l.args |= s.Mask
		}
	}
	note(l.live.Finally.Never)
	for i, f := range l.live.Fair {
		note(f.Steps)
		if f.Strong {
			l.strong |= 1 << i
		} else {
			l.weak |= 1 << i
		}
	}
	for _, p := range l.live.Properties {
		note(p.Steps)
	}
	l.ids = map[liveStep]uint16{}
}

// labelOf numbers what a step is.
func (l *liveRun[S]) labelOf(process int, i Instance, lost bool) uint16 {
	e := liveStep{process, i.Action, lost, i.Args & l.args}
	if id, ok := l.ids[e]; ok {
		return id
	}
	if len(l.labels) == maxLabels {
		panic(fmt.Errorf("checker: liveness: more than %d kinds of steps", maxLabels))
	}
	var label liveLabel
	for _, s := range l.live.Finally.Never {
		if s.has(e) {
			label.never = append(label.never, s)
		}
	}
	for c, f := range l.live.Fair {
		for _, s := range f.Steps {
			if s.has(e) {
				label.fair = append(label.fair, liveFair{c, s.When, s.Unless})
			}
		}
	}
	id := uint16(len(l.labels))
	l.ids[e] = id
	l.labels = append(l.labels, label)
	l.steps = append(l.steps, e)
	return id
}

// conditions are the fairness conditions that edge e from state s is a step of.
func (g *liveGraph) conditions(s, e uint32) uint64 {
	if g.label[e]&neverBit != 0 {
		return 0
	}
	var set uint64
	a := g.atoms[s]
	for _, f := range g.labels[g.label[e]].fair {
		if a&f.when == f.when && a&f.unless == 0 {
			set |= 1 << f.condition
		}
	}
	return set
}

// stepIn says whether edge e from state s is in one of the sets.
func (g *liveGraph) stepIn(s, e uint32, sets []StepSet) bool {
	step := g.steps[g.label[e]&^neverBit]
	for i := range sets {
		if sets[i].has(step) && sets[i].from(g.atoms[s]) {
			return true
		}
	}
	return false
}

func (g *liveGraph) never(e uint32) bool { return g.label[e]&neverBit != 0 }

// pagedStates keeps values in pages that do not move.
type pagedStates[S any] struct{ page [][]S }

const livePage = 1 << 12

func (p *pagedStates[S]) at(i uint32) *S { return &p.page[i/livePage][i%livePage] }

func (p *pagedStates[S]) add(i uint32, s *S) {
	if i%livePage == 0 {
		p.page = append(p.page, make([]S, livePage))
	}
	*p.at(i) = *s
}

// budgeted is implemented by specifications whose states have budget counters.
type budgeted[S any] interface {
	spentOf(s *S, b Budget) uint8
}

// liveTable finds states by fingerprint, and compares them if their bytes are
// their value.
type liveTable[S any] struct {
	run   *liveRun[S]
	index []uint32 // state + 1
	fps   []uint64
}

// find returns the number of a state, or noNode and the place for it.
func (t *liveTable[S]) find(fp uint64, s *S) (place uint64, id uint32) {
	if 2*t.run.n >= len(t.index) {
		t.grow()
	}
	mask := uint64(len(t.index) - 1)
	i := fp * spread & mask
	for ; t.index[i] != 0; i = (i + 1) & mask {
		id := t.index[i] - 1
		if t.fps[id] == fp && (!t.run.exact || bytes.Equal(bytesOf(t.run.states.at(id)), bytesOf(s))) {
			return i, id
		}
	}
	return i, noNode
}

// add numbers a state that find did not know.
func (t *liveTable[S]) add(place, fp uint64, s *S) uint32 {
	if t.run.n >= maxLive {
		panic(fmt.Errorf("checker: liveness: more than %d states", maxLive))
	}
	id := uint32(t.run.n)
	t.index[place] = id + 1
	t.fps = append(t.fps, fp)
	t.run.states.add(id, s)
	t.run.n++
	return id
}

// past says that no suffix begins in a state with these atoms, or later.
func (l *liveRun[S]) past(a Atoms) bool {
	return l.live.Finally.FromEnds && a&l.live.Finally.From != l.live.Finally.From
}

func (t *liveTable[S]) grow() {
	t.index = make([]uint32, max(1<<12, 2*len(t.index)))
	mask := uint64(len(t.index) - 1)
	for id, fp := range t.fps {
		i := fp * spread & mask
		for t.index[i] != 0 {
			i = (i + 1) & mask
		}
		t.index[i] = uint32(id) + 1
	}
}

// build explores the state graph.
func (l *liveRun[S]) build(opt *Options) error {
	finger, _ := l.spec.(Fingerprinter[S])
	plain := checkPlain[S]()
	if finger == nil && plain != nil {
		return plain
	}
	l.exact = plain == nil
	if opt.Exact && !l.exact {
		return plain
	}
	if b, ok := l.spec.(budgeted[S]); ok {
		l.spent = b.spentOf
	}
	table := &liveTable[S]{run: l}
	final := l.live.Finally
	number := func(c *successor[S], wanted func(a Atoms) bool) uint32 {
		fp := c.fp
		switch {
		case fp != 0:
		case finger != nil:
			fp = finger.Fingerprint(c.state)
		default:
			fp = hashWords(wordsOf(c.state))
		}
		place, id := table.find(fp, c.state)
		if id == noNode {
			a := l.spec.Atoms(c.state)
			if !wanted(a) {
				return noNode
			}
			l.atoms = append(l.atoms, a)
			id = table.add(place, fp, c.state)
		}
		return id
	}
	l.spec.Init(newCollector(func(c successor[S]) {
		l.initials = append(l.initials, number(&c, func(Atoms) bool { return true }))
	}))
	if len(l.initials) == 0 {
		return fmt.Errorf("%s has no initial state", l.info.Name)
	}
	masks := map[uint64]uint16{}
	var atoms Atoms
	var enabled uint64
	var from uint32
	sink := newCollector(func(c successor[S]) {
		label := l.labelOf(c.process, c.instance, c.lost)
		for i := range l.labels[label].never {
			if l.labels[label].never[i].from(atoms) {
				label |= neverBit
				break
			}
		}
		if len(l.to) >= math.MaxUint32 {
			panic(fmt.Errorf("checker: liveness: more than %d steps", uint32(math.MaxUint32)))
		}
		l.to = append(l.to, from)
		l.label = append(l.label, label)
		e := len(l.to) - 1
		enabled |= l.conditions(from, uint32(e))
		never := label&neverBit != 0
		to := number(&c, func(a Atoms) bool {
			early := a&final.From == final.From
			if final.FromEnds && early && atoms&final.From != final.From {
				panic(fmt.Errorf("checker: liveness: Finally.From ends, and a step leads to it from a state without it: %s by %s",
					l.info.stepText(c.process, c.instance), l.info.processName(c.process)))
			}
			return !final.FromEnds || early || !never && a&final.Always == final.Always
		})
		if to == noNode || l.past(atoms) && never {
			l.label[e] |= neverBit // it leads to where no suffix is
			return
		}
		l.to[e] = to
	})
	sink.plain = true
	ended := opt.context()
	for from = 0; int(from) < l.n; from++ {
		if from%4096 == 0 && ended.Err() != nil {
			l.canceled = true
			return nil
		}
		l.first = append(l.first, uint32(len(l.to)))
		atoms, enabled = l.atoms[from], 0
		sink.edge, sink.bounded = 0, 0
		state := *l.states.at(from)
		l.spec.Next(&state, sink)
		l.enabled = append(l.enabled, enabled)
		mask, ok := masks[sink.bounded]
		if !ok {
			if len(l.masks) > math.MaxUint16 {
				panic(fmt.Errorf("checker: liveness: more than %d combinations of bounds", math.MaxUint16))
			}
			mask = uint16(len(l.masks))
			masks[sink.bounded] = mask
			l.masks = append(l.masks, sink.bounded)
		}
		l.bounded = append(l.bounded, mask)
	}
	l.first = append(l.first, uint32(len(l.to)))
	return nil
}

// bytes is what the graph holds.
func (l *liveRun[S]) bytes() uint64 {
	size := uint64(len(l.states.page)) * livePage * uint64(len(bytesOf(new(S))))
	return size + uint64(l.n)*(8+8+2+4+8+8) + uint64(len(l.to))*6
}
