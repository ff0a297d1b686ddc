package checker

import (
	"bytes"
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"
)

// store is the half of an interned System that knows what the numbers stand
// for. It asks the System what the memos do not have, under a lock.
type store[R, M, G comparable] struct {
	tuples
	sys       System[R, M, G]
	mu        sync.Mutex
	procs     *interner[R]
	messages  *interner[M]
	ghosts    *interner[G]
	outliner  Outliner[R]        // nil: outlines are whole
	outlines  *interner[R]       // without an outliner, procs
	permuter  Symmetric[R, M, G] // nil unless explored up to symmetry
	steps     Steps[R, M]
	fateList  Fates[M]
	scratch   []transition
	propIndex map[judged]uint16
}

// Seeds of content hashes. A process is hashed with its position above
// seedProcess, so that two processes may swap their states and be seen to.
const (
	seedMessage uint64 = 1 + iota
	seedGhost
	seedBudget
	seedOutline
	seedProcess
)

func processHash[R any](process int, r *R) uint64 {
	return hashBytes(bytesOf(r), seedProcess+uint64(process))
}

func (s *store[R, M, G]) internProcess(process int, r *R) uint32 {
	h := processHash(process, r)
	if id := s.procs.find(h, r); id != 0 {
		return id
	}
	if s.sym != nil {
		return s.processFamily(process).intern(s.sym.symmetry, r)
	}
	s.enterProcess(s.procs.n+1, r, h)
	return s.procs.put(h, r)
}

// enterProcess writes what the engine must know of process state id.
func (s *store[R, M, G]) enterProcess(id uint32, r *R, h uint64) {
	p := s.persons.grow(id)
	p.hash = h
	for of := range numSights {
		if p.outline[of] = id; s.outliner != nil {
			seen := s.outliner.Outline(r, of)
			p.outline[of] = s.outlines.intern(hashBytes(bytesOf(&seen), seedOutline), &seen)
		}
	}
}

func (s *store[R, M, G]) internMessage(m *M) uint32 {
	h := hashBytes(bytesOf(m), seedMessage)
	if id := s.messages.find(h, m); id != 0 {
		return id
	}
	if s.sym != nil {
		return s.messageFamily().intern(s.sym.symmetry, m)
	}
	s.enterMessage(s.messages.n+1, m, h)
	return s.messages.put(h, m)
}

// enterMessage writes what the engine must know of message id.
func (s *store[R, M, G]) enterMessage(id uint32, m *M, h uint64) {
	way := s.ways.grow(id)
	way.hash, way.route = h, s.sys.Route(m)
	if int(way.route.Dst) >= s.processes {
		panic(fmt.Errorf("message %s goes to process %d of %d", s.sys.DescribeMessage(m), way.route.Dst, s.processes))
	}
}

// fillLocal implements components.
func (s *store[R, M, G]) fillLocal(process int, id uint32, b Budget) listing {
	s.mu.Lock()
	defer s.mu.Unlock()
	cell := (*uint64)(unsafe.Pointer(&s.persons.at(id).local[b]))
	if l := *cell; l != 0 {
		return listing(l)
	}
	r := *s.procs.values.at(id)
	s.reset()
	s.sys.Local(&r, b, &s.steps)
	s.unchanged("Local", id, &r)
	l := s.list(process, id)
	atomic.StoreUint64(cell, uint64(l))
	return l
}

// fillDeliver implements components.
func (s *store[R, M, G]) fillDeliver(process int, id, message uint32) listing {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := uint64(id)<<32 | uint64(message)
	if l := s.deliver.get(key); l != 0 {
		return l
	}
	r, m := *s.procs.values.at(id), *s.messages.values.at(message)
	s.reset()
	s.sys.Deliver(&r, &m, &s.steps)
	s.unchanged("Deliver", id, &r)
	l := s.list(process, id)
	s.deliver.put(key, l)
	return l
}

// fillFates implements components.
func (s *store[R, M, G]) fillFates(message uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	way := s.ways.at(message)
	if way.asked.Load() {
		return
	}
	m := *s.messages.values.at(message)
	s.fateList.List = s.fateList.List[:0]
	s.sys.Network(&m, &s.fateList)
	for _, f := range s.fateList.List {
		to := fate{instance: f.Instance, n: int(f.N), budget: f.Budget}
		s.budgetExists(f.Budget)
		for k := range to.n {
			to.becomes[k] = s.internMessage(&f.Becomes[k])
			to.delta += s.ways.at(to.becomes[k]).hash
		}
		way.fates = append(way.fates, to)
	}
	way.asked.Store(true)
}

func (s *store[R, M, G]) reset() { s.steps.List, s.steps.Bounded = s.steps.List[:0], 0 }

func (s *store[R, M, G]) unchanged(method string, id uint32, r *R) {
	if !bytes.Equal(bytesOf(r), bytesOf(s.procs.values.at(id))) {
		panic(fmt.Errorf("%s changed the process that it was given", method))
	}
}

func (s *store[R, M, G]) budgetExists(b Budget) {
	if b != 0 && int(b) >= s.budgets {
		panic(fmt.Errorf("budget %d is not among Info.Budgets", b))
	}
}

// list stores s.steps, which are those of process id.
func (s *store[R, M, G]) list(process int, id uint32) listing {
	s.scratch = s.scratch[:0]
	before := s.persons.at(id)
	for k := range s.steps.List {
		e := &s.steps.List[k]
		to := transition{action: e.Instance.Action, args: e.Instance.Args, next: s.internProcess(process, &e.Next)}
		after := s.persons.at(to.next)
		to.delta = after.hash - before.hash
		to.acting = after.outline[SightActing]
		if after.outline[SightChecked] != before.outline[SightChecked] {
			to.flags |= flagChecked
		}
		for j := range e.SendN {
			to.out[j] = s.internMessage(&e.Sends[j])
			way := s.ways.at(to.out[j])
			to.conn[j] = way.route.Conn
			if way.route.Immediate {
				to.flags |= flagImmediate << j
			} else {
				to.delta += way.hash
			}
		}
		if e.Observe {
			to.flags |= flagObserve
		}
		if e.Keep {
			to.flags |= flagKeep
		}
		to.props = s.internProps(judged{e.Violated, e.Reached})
		s.scratch = append(s.scratch, to)
	}
	return s.lists.store(s.scratch, s.steps.Bounded)
}

func (s *store[R, M, G]) internProps(p judged) uint16 {
	if p == (judged{}) {
		return 0
	}
	id, ok := s.propIndex[p]
	if !ok {
		id = uint16(len(s.propIndex) + 1)
		s.propIndex[p] = id
		*s.props.grow(uint32(id)) = p
	}
	return id
}

// eyes implements observer, with scratch memory for one worker.
type eyes[R, M, G comparable] struct {
	*store[R, M, G]
	view  View[R]
	ghost G
}

func (w *eyes[R, M, G]) observe(t *Tuple, actor int, old uint32) (uint32, Props) {
	s := w.store
	for i := range s.processes {
		w.view.P[i] = s.outlineOf(t[i], SightWatched)
	}
	w.view.P[actor] = s.outlineOf(t[actor], SightActing)
	w.view.N, w.view.Actor, w.view.Old = s.processes, actor, s.outlineOf(old, SightActing)
	before := s.ghosts.values.at(t.ghost())
	w.ghost = *before
	violated := s.sys.Observe(&w.ghost, &w.view)
	if bytes.Equal(bytesOf(&w.ghost), bytesOf(before)) {
		return t.ghost(), violated // the usual case, and cheaper than its hash
	}
	return s.internGhost(&w.ghost), violated
}

func (s *store[R, M, G]) internGhost(g *G) uint32 {
	if id := s.ghosts.find(ghostHash(g), g); id != 0 {
		return id
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.internGhostLocked(g)
}

func (s *store[R, M, G]) internGhostLocked(g *G) uint32 {
	h := ghostHash(g)
	if id := s.ghosts.find(h, g); id != 0 {
		return id
	}
	if s.sym != nil {
		return s.ghostFamily().intern(s.sym.symmetry, g)
	}
	return s.ghosts.put(h, g)
}

func ghostHash[G any](g *G) uint64 { return hashBytes(bytesOf(g), seedGhost) }

func (s *store[R, M, G]) outlineOf(id uint32, of Sight) *R {
	return s.outlines.values.at(s.persons.at(id).outline[of])
}

func (w *eyes[R, M, G]) checkOne(outline, ghost uint32) Props {
	return w.sys.CheckOne(w.outlines.values.at(outline), w.ghosts.values.at(ghost))
}

func (w *eyes[R, M, G]) checkPair(a, b uint32) Props {
	return w.sys.CheckPair(w.outlines.values.at(a), w.outlines.values.at(b))
}

func (w *eyes[R, M, G]) describeMessage(id uint32) string {
	return w.sys.DescribeMessage(w.messages.values.at(id))
}
