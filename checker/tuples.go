package checker

import (
	"math"
	"sync/atomic"
)

// tuples is the half of an interned System that knows only numbers: which steps
// a state has and what they lead to. It is shared by all workers. What the
// numbers stand for is known to components, which is asked on misses.
type tuples struct {
	info      *Info
	processes int
	maxFlight int
	budgets   int
	limits    [MaxBudgets]uint8

	// spent[b][n] is the hash of a counter. A counter at 0 adds nothing.
	spent [MaxBudgets][math.MaxUint8 + 1]uint64

	// counters are the budgets that a state can spend of.
	counters []Budget

	persons   pages[person]
	ways      pages[way]
	ghostHash *pages[uint64]
	deliver   *memo
	lists     arena
	props     pages[judged]
	sym       *orbits // nil: states stand for themselves
}

// person is what the engine must know of a process state, by number.
type person struct {
	hash uint64
	// outline numbers what there is to see of it.
	outline [numSights]uint32
	_       uint32
	local   [MaxBudgets]listing
}

// way is what the engine must know of a message, by number.
type way struct {
	hash  uint64
	route Route
	asked atomic.Bool // whether fates is filled
	fates []fate
}

// fate is a Fate in numbers.
type fate struct {
	instance Instance
	becomes  [2]uint32
	n        int
	budget   Budget
	delta    uint64 // the hashes of what it becomes
}

// judged are the properties that a step violates and reaches.
type judged struct{ violated, reached Props }

// components computes what the memos do not have yet.
type components interface {
	fillLocal(process int, id uint32, b Budget) listing
	fillDeliver(process int, id, message uint32) listing
	fillFates(message uint32)
}

// observer is the part of components that works on what differs from state to
// state, with scratch memory for one worker.
type observer interface {
	observe(t *Tuple, actor int, old uint32) (ghost uint32, violated Props)
	checkOne(outline, ghost uint32) Props
	checkPair(a, b uint32) Props
	describeMessage(id uint32) string
	contentLess(a, b *Tuple) bool
}

// sum is the hash of a state: the sum of those of its parts, so that a step
// changes it by a number that is known before. The hash of a process contains
// its position.
func (e *tuples) sum(t *Tuple) uint64 {
	h := e.sumWithoutBudgets(t)
	for b := 1; b < e.budgets; b++ {
		h += e.spent[b][t.budget(Budget(b))]
	}
	return h
}

func (e *tuples) sumWithoutBudgets(t *Tuple) uint64 {
	h := *e.ghostHash.at(t.ghost())
	for _, id := range t[:e.processes] {
		h += e.persons.at(id).hash
	}
	for x := tupleNet; x < tupleGhost && t[x] != 0; x++ {
		h += e.ways.at(t[x]).hash
	}
	return h
}

// frame is a state from which steps are taken, with what they all need: the sum
// of its hashes, and the connections that are in use.
type frame struct {
	t    Tuple
	sum  uint64
	n    int // messages in flight
	conn [MaxMessages]uint16
}

// without sets g to f without its message x, whose hash is h.
func (f *frame) without(g *frame, x int, h uint64) {
	*g = *f
	g.sum -= h
	g.t.remove(f.n, x)
	copy(g.conn[x:f.n], f.conn[x+1:f.n])
	g.n--
}

// spend counts a step of budget b.
func (e *tuples) spend(f *frame, b Budget) {
	f.sum -= e.spent[b][f.t.budget(b)]
	f.t.spend(b)
	f.sum += e.spent[b][f.t.budget(b)]
}

// busy says that a message may not be sent: another of its connection is in
// flight.
func (f *frame) busy(conn uint16) bool {
	if conn == 0 {
		return false
	}
	for _, c := range f.conn[:f.n] {
		if c == conn {
			return true
		}
	}
	return false
}

// add puts a message in flight. Its hash is the caller's matter.
func (f *frame) add(message uint32, conn uint16) {
	f.t.insert(f.n, message)
	for x := f.n; ; x-- { // keep conn in the order of the messages
		if f.t[tupleNet+x] == message {
			copy(f.conn[x+1:], f.conn[x:f.n])
			f.conn[x] = conn
			break
		}
	}
	f.n++
}

// tupleWorker takes steps for one worker.
type tupleWorker struct {
	*tuples
	components
	observer
	clean   clean
	glances glances
	// of the state that is expanded
	base    frame
	now     [MaxProcesses]*person
	watched [MaxProcesses]uint32 // numbers of what SightWatched shows of them
	flying  [MaxMessages]*way

	less  frame
	paid  frame
	stack [maxInner + 2]level
}

func newTupleWorker(e *tuples, c components, o observer) *tupleWorker {
	return &tupleWorker{tuples: e, components: c, observer: o}
}

// begin makes t the state that is expanded.
func (w *tupleWorker) begin(t *Tuple) {
	f := &w.base
	f.t = *t
	h := *w.ghostHash.at(t.ghost())
	for i := range w.processes {
		p := w.persons.at(t[i])
		w.now[i], w.watched[i] = p, p.outline[SightWatched]
		h += p.hash
	}
	n := 0
	for ; n < MaxMessages && t[tupleNet+n] != 0; n++ {
		m := w.ways.at(t[tupleNet+n])
		w.flying[n] = m
		h += m.hash
		f.conn[n] = m.route.Conn
	}
	for _, b := range w.counters {
		h += w.spent[b][t.budget(b)]
	}
	f.sum, f.n = h, n
}

func (w *tupleWorker) localList(process int, id uint32, b Budget) ([]transition, uint32) {
	l := listing(atomic.LoadUint64((*uint64)(&w.now[process].local[b])))
	if l == 0 {
		l = w.fillLocal(process, id, b)
	}
	return w.lists.list(l)
}

func (w *tupleWorker) deliverList(process int, id, message uint32) ([]transition, uint32) {
	l := w.deliver.get(uint64(id)<<32 | uint64(message))
	if l == 0 {
		l = w.fillDeliver(process, id, message)
	}
	return w.lists.list(l)
}

// next emits every successor of t.
func (w *tupleWorker) next(t *Tuple, out *Sink[Tuple]) {
	w.begin(t)
	f := &w.base
	for i := range w.processes {
		list, bounded := w.localList(i, t[i], 0)
		out.bounded |= uint64(bounded)
		for k := range list {
			w.take(out, f, i, &list[k], 0)
		}
	}
	for _, b := range w.counters {
		if t.budget(b) >= w.limits[b] {
			out.bounded |= 1 << (budgetBit + b)
			continue
		}
		w.pay(t, b, out)
	}
	for x := range f.n {
		m := t[tupleNet+x]
		if x > 0 && m == t[tupleNet+x-1] {
			continue // a second copy: the same steps
		}
		way := w.flying[x]
		f.without(&w.less, x, way.hash)
		dst := int(way.route.Dst)
		list, bounded := w.deliverList(dst, t[dst], m)
		out.bounded |= uint64(bounded)
		for k := range list {
			if list[k].flags&flagKeep != 0 {
				w.take(out, f, dst, &list[k], m)
			} else {
				w.take(out, &w.less, dst, &list[k], m)
			}
		}
		w.suffer(out, m, way)
	}
}

// pay emits the successors that cost budget b, which t has left.
func (w *tupleWorker) pay(t *Tuple, b Budget, out *Sink[Tuple]) {
	w.paid = w.base
	w.spend(&w.paid, b)
	for i := range w.processes {
		list, bounded := w.localList(i, t[i], b)
		out.bounded |= uint64(bounded)
		for k := range list {
			w.take(out, &w.paid, i, &list[k], 0)
		}
	}
}

// take emits the states to which transition e of process i leads from f. The
// message, if any, is the one that it takes.
func (w *tupleWorker) take(out *Sink[Tuple], f *frame, i int, e *transition, message uint32) {
	if e.flags&(flagImmediate|flagImmediate<<1) != 0 || e.out[1] != 0 || out.explains() {
		w.takeSlowly(out, f, i, e, message)
		return
	}
	m := e.out[0]
	if m != 0 {
		if f.busy(e.conn[0]) {
			return
		}
		if f.n >= w.maxFlight {
			out.bounded |= 1 << inFlightBit
			return
		}
	}
	t := out.Slot()
	*t = f.t
	t[i] = e.next
	if m != 0 {
		t.insert(f.n, m)
	}
	var p judged
	if e.props != 0 {
		p = *w.props.at(uint32(e.props))
	}
	sum, hint := f.sum+e.delta, e.hint(i)
	if e.flags&flagObserve != 0 {
		// No other process has changed since begin.
		ghost, violated := w.glance(t, i, f.t[i], w.now[i].outline[SightActing], e.acting, &w.watched)
		p.violated |= violated
		if before := t.ghost(); ghost != before {
			sum += *w.ghostHash.at(ghost) - *w.ghostHash.at(before)
			t[tupleGhost] = ghost
			hint |= ghostHint
		}
	}
	w.commit(out, sum, hint, i, e.instance(), p.violated, p.reached)
}

// suffer emits what the environment may do to message m, without which the
// state is w.less.
func (w *tupleWorker) suffer(out *Sink[Tuple], m uint32, way *way) {
	if !way.asked.Load() {
		w.fillFates(m)
	}
	for k := range way.fates {
		a := &way.fates[k]
		if a.budget != 0 && w.less.t.budget(a.budget) >= w.limits[a.budget] {
			continue
		}
		if a.n == 0 && a.budget == 0 && !out.explains() {
			*out.Slot() = w.less.t
			w.commit(out, w.less.sum, 0, -1, a.instance, 0, 0)
			continue
		}
		g := w.less
		if a.budget != 0 {
			w.spend(&g, a.budget)
		}
		if !w.send(out, &g, a.becomes[:a.n], 0) {
			continue
		}
		g.sum += a.delta
		if out.explains() {
			out.detail.message, out.detail.sends = w.describeMessage(m), w.sent(a.becomes[:a.n])
		}
		*out.Slot() = g.t
		w.commit(out, g.sum, 0, -1, a.instance, 0, 0)
	}
}

// send puts messages in flight, except those that flags call immediate, if all
// of their connections are free and there is room. Hashes are the caller's
// matter.
func (w *tupleWorker) send(out *Sink[Tuple], f *frame, messages []uint32, flags uint8) bool {
	var conns [2]uint16
	n := f.n
	for k, m := range messages {
		conns[k] = w.ways.at(m).route.Conn
		if f.busy(conns[k]) || k == 1 && conns[0] != 0 && conns[0] == conns[1] {
			return false
		}
		if flags&(flagImmediate<<k) == 0 {
			n++
		}
	}
	if n > w.maxFlight {
		out.bounded |= 1 << inFlightBit
		return false
	}
	for k, m := range messages {
		if flags&(flagImmediate<<k) == 0 {
			f.add(m, conns[k])
		}
	}
	return true
}
