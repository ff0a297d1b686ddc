package checker

import "math"

// walker takes the steps of one state after the other, for searches that have an
// order of their own. It counts what Run counts, and belongs to one goroutine.
type walker[S any] struct {
	info     *Info
	spec     Spec[S]
	finger   Fingerprinter[S]
	hinted   hinted[S]
	sink     *Sink[S]
	selected Props
	// restating are the properties that restate a guard: they end no search.
	restating Props
	// kids are the successors of the state that was expanded last.
	kids []kid[S]

	generated, stuck, stopped uint64
	bits                      [boundBits]uint64
	fired                     [math.MaxUint8 + 1]uint64
	reached                   Props
}

// kid is a successor: the state, and the step that leads to it.
type kid[S any] struct {
	state             S
	fp                uint64
	violated, reached Props
	instance          Instance
	process           int32
	edge, hint        uint32
}

func newWalker[S any](spec Spec[S], properties []string) (*walker[S], error) {
	info := spec.Info()
	if err := checkInfo(info); err != nil {
		return nil, err
	}
	opt := Options{Properties: properties}
	selected, err := opt.selected(info)
	if err != nil {
		return nil, err
	}
	if _, ok := spec.(Fingerprinter[S]); !ok {
		if err := checkPlain[S](); err != nil {
			return nil, err
		}
	}
	w := &walker[S]{info: info, spec: spec, selected: selected}
	if f, ok := spec.(forker[S]); ok {
		w.spec = f.fork()
	}
	w.finger, _ = w.spec.(Fingerprinter[S])
	w.hinted, _ = w.spec.(hinted[S])
	for i, p := range info.Properties {
		if p.Restates != "" {
			w.restating |= 1 << i
		}
	}
	w.sink = newCollector(w.add)
	w.sink.plain = true
	return w, nil
}

func (w *walker[S]) add(c successor[S]) {
	fp := c.fp
	if fp == 0 {
		fp = w.fingerprint(c.state)
	}
	w.kids = append(w.kids, kid[S]{
		state: *c.state, fp: max(fp, 1), violated: c.violated & w.selected, reached: c.reached,
		instance: c.instance, process: int32(c.process), edge: c.edge, hint: c.hint,
	})
}

func (w *walker[S]) fingerprint(s *S) uint64 {
	if w.finger != nil {
		return w.finger.Fingerprint(s)
	}
	return hashWords(wordsOf(s))
}

// begin sets kids to the initial states.
func (w *walker[S]) begin() {
	w.kids, w.sink.edge = w.kids[:0], 0
	w.spec.Init(w.sink)
	for i := range w.kids {
		w.kids[i].hint = everything
	}
}

// expand sets kids to the successors of s, and counts them.
func (w *walker[S]) expand(s *S) {
	w.enumerate(s)
	k := w.sink
	w.generated += uint64(len(w.kids))
	if len(w.kids) == 0 {
		if k.bounded == 0 {
			w.stuck++
		} else {
			w.stopped++
		}
	}
	for b, set := 0, k.bounded; set != 0; b, set = b+1, set>>1 {
		w.bits[b] += set & 1
	}
	for i := range w.kids {
		w.fired[w.kids[i].instance.Action]++
		w.reached |= w.kids[i].reached
	}
}

// enumerate is expand without counting.
func (w *walker[S]) enumerate(s *S) {
	k := w.sink
	w.kids, k.edge, k.bounded = w.kids[:0], 0, 0
	w.spec.Next(s, k)
	if k.edge > maxEdge {
		panic("checker: a state has more successors than an edge number can hold")
	}
}

// check judges the state of a kid, whose parent was judged before.
func (w *walker[S]) check(c *kid[S]) (violated, reached Props) {
	if w.hinted != nil {
		violated, reached = w.hinted.checkChanged(&c.state, c.hint)
	} else {
		violated, reached = w.spec.Check(&c.state)
	}
	w.reached |= reached
	return violated & w.selected, reached
}

// tell fills a result with what was counted.
func (w *walker[S]) tell(r *Result) {
	r.Spec, r.Legend, r.Processes, r.Workers = w.info.Name, w.info.Legend, w.info.Processes, 1
	r.Generated, r.Stuck, r.Stopped = w.generated, w.stuck, w.stopped
	for i, name := range w.info.Actions {
		r.Actions = append(r.Actions, ActionCount{Name: name, Fired: w.fired[i], Within: w.sink.within[i]})
	}
	r.Bounds = boundCounts(w.info, &w.bits)
	r.Omission = omissions(r.Distinct, r.Generated)
}

// violation is a violated property with the behaviour of these edges.
func (w *walker[S]) violation(property int, edges []uint32) (Violation, error) {
	trace, err := retrace(w.spec, w.info, edges)
	if err != nil {
		return Violation{}, err
	}
	p := w.info.Properties[property]
	return Violation{Property: p.Name, Kind: p.Kind.String(), Doc: p.Doc, Restates: p.Restates, Trace: trace, Because: accuse(w.spec, property, trace)}, nil
}
