package checker

// Ways to leave out steps of states in which every place in flight is taken, so that
// nobody can send; others are always expanded in full.
const (
	WholeSearch = iota
	// OnlyReceivers takes the steps of processes to which a message is in flight, and
	// those of the network.
	OnlyReceivers
	// WithLinks adds processes whose steps, before the next message is handled, may
	// be seen by it: through ghosts, or in exchanges that happen at once.
	WithLinks
	// DropUseless takes only the loss of a message whose handling would change
	// nothing, in any state. A bound of what that can save: no care is taken that the
	// message stays useless.
	DropUseless
)

// Reach is what a search found.
type Reach struct {
	States uint64
	// Roomy are the states with a free place in flight. If each message can be lost at
	// no cost, every state has the processes and ghosts of a roomy one.
	Roomy             uint64
	Violated, Reached Props
}

// ReachOf explores sys to the end, on through violations.
func ReachOf[R, M, G comparable](sys System[R, M, G], way int) (r Reach) {
	w := intern(sys).fork().(*internedWorker[R, M, G])
	seen := newSeen(16, false)
	defer seen.free()
	var queue, next []Tuple
	a := &early{tupleWorker: w.w, way: way, local: map[uint32]reachable{}, handled: map[uint64]bool{}}
	sink := newCollector(func(c successor[Tuple]) {
		r.Violated |= c.violated
		r.Reached |= c.reached
		if _, fresh := seen.add(max(a.sum(c.state), 1)); !fresh {
			return
		}
		r.Violated |= a.check(c.state, everything)
		r.States++
		if c.state.messages() < a.maxFlight {
			r.Roomy++
		}
		next = append(next, *c.state)
	})
	sink.plain = true
	w.Init(sink)
	for len(next) > 0 {
		queue, next = next, queue[:0]
		for i := range queue {
			sink.edge = 0
			a.next(&queue[i], sink)
		}
	}
	return r
}

// early takes part of the steps of a state.
type early struct {
	*tupleWorker
	way     int
	local   map[uint32]reachable
	handled map[uint64]bool
}

// reachable is what a process comes to by local steps that cost nothing and send
// nothing. One that costs something is not followed, and taken for ghostly.
type reachable struct {
	ids       []uint32
	ghostly   bool
	immediate bool
}

func (a *early) reach(i int, id uint32) reachable {
	if r, ok := a.local[id]; ok {
		return r
	}
	var r reachable
	r.ids = []uint32{id}
	known := map[uint32]bool{id: true}
	saved := a.now[i]
	for n := 0; n < len(r.ids); n++ {
		at := r.ids[n]
		a.now[i] = a.persons.at(at)
		for b := 0; b < a.budgets; b++ {
			if b > 0 && a.limits[b] == 0 {
				continue
			}
			list, _ := a.localList(i, at, Budget(b))
			for k := range list {
				e := &list[k]
				if e.flags&(flagImmediate|flagImmediate<<1) != 0 {
					r.immediate = true
				} else if e.out[0] != 0 {
					continue
				}
				r.ghostly = r.ghostly || b > 0 || a.ghostly(at, e)
				if b == 0 && !known[e.next] {
					known[e.next] = true
					r.ids = append(r.ids, e.next)
				}
			}
		}
	}
	a.now[i] = saved
	a.local[id] = r
	return r
}

func (a *early) handlesGhostly(i int, id, m uint32) bool {
	key := uint64(id)<<32 | uint64(m)
	if g, ok := a.handled[key]; ok {
		return g
	}
	g := false
	for _, at := range a.reach(i, id).ids {
		list, _ := a.deliverList(i, at, m)
		for k := range list {
			g = g || a.ghostly(at, &list[k]) || list[k].flags&(flagImmediate|flagImmediate<<1) != 0
		}
	}
	a.handled[key] = g
	return g
}

func (a *early) next(t *Tuple, out *Sink[Tuple]) {
	w := a.tupleWorker
	w.begin(t)
	f := &w.base
	all := uint32(1)<<w.processes - 1
	procs := all
	if a.way == DropUseless {
		for x := range f.n {
			if m := t[tupleNet+x]; a.useless(t, x) {
				f.without(&w.less, x, w.flying[x].hash)
				w.suffer(out, m, w.flying[x])
				return
			}
		}
	}
	if (a.way == OnlyReceivers || a.way == WithLinks) && f.n == w.maxFlight {
		procs = 0
		ghostly := false
		for x := range f.n {
			dst := int(w.flying[x].route.Dst)
			procs |= 1 << dst
			if a.way == WithLinks {
				ghostly = ghostly || a.reach(dst, t[dst]).ghostly || a.handlesGhostly(dst, t[dst], t[tupleNet+x])
			}
		}
		if a.way == WithLinks {
			for i := range w.processes {
				r := a.reach(i, t[i])
				if r.immediate {
					procs = all
				} else if ghostly && r.ghostly {
					procs |= 1 << i
				}
			}
		}
	}
	local := func(f *frame, b Budget) {
		for i := range w.processes {
			if procs>>i&1 == 0 {
				continue
			}
			list, _ := w.localList(i, t[i], b)
			for k := range list {
				w.take(out, f, i, &list[k], 0)
			}
		}
	}
	local(f, 0)
	for _, b := range w.counters {
		if t.budget(b) < w.limits[b] {
			w.paid = w.base
			w.spend(&w.paid, b)
			local(&w.paid, b)
		}
	}
	for x := range f.n {
		m := t[tupleNet+x]
		if x > 0 && m == t[tupleNet+x-1] {
			continue
		}
		f.without(&w.less, x, w.flying[x].hash)
		dst := int(w.flying[x].route.Dst)
		list, _ := w.deliverList(dst, t[dst], m)
		for k := range list {
			if list[k].flags&flagKeep != 0 {
				w.take(out, f, dst, &list[k], m)
			} else {
				w.take(out, &w.less, dst, &list[k], m)
			}
		}
		w.suffer(out, m, w.flying[x])
	}
}

// useless says that handling the message changes nothing.
func (a *early) useless(t *Tuple, x int) bool {
	dst := int(a.flying[x].route.Dst)
	list, _ := a.deliverList(dst, t[dst], t[tupleNet+x])
	for k := range list {
		e := &list[k]
		if e.next != t[dst] || e.out[0] != 0 || e.props != 0 || e.flags != 0 {
			return false
		}
	}
	return true
}

// ghostly says that ghosts may depend on when the step is taken.
func (a *early) ghostly(id uint32, e *transition) bool {
	return e.flags&flagObserve != 0 || a.persons.at(id).outline[SightWatched] != a.persons.at(e.next).outline[SightWatched]
}
