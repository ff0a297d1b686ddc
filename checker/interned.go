package checker

import (
	"fmt"
	"reflect"
	"sync"
)

// Interned turns a System into a specification whose states are tuples of
// numbers. Each distinct process, message and ghost gets a number when it is
// first seen; what a process may do is asked once and remembered. A step is
// then a look-up, and the size of a process hardly matters.
//
// R, M and G must have no padding; they may have pointers, which must be nil
// whenever the engine sees the value. Interned panics if that or Info is wrong,
// since no model can make it right.
func Interned[R, M, G comparable](sys System[R, M, G]) Spec[Tuple] { return intern(sys) }

func intern[R, M, G comparable](sys System[R, M, G]) *interned[R, M, G] {
	info := sys.Info()
	if err := systemError[R, M, G](info); err != nil {
		panic(err)
	}
	s := &store[R, M, G]{
		sys: sys, procs: newInterner[R](), messages: newInterner[M](), ghosts: newInterner[G](),
		propIndex: map[judged]uint16{},
	}
	s.info, s.processes, s.maxFlight = info, len(info.Processes), info.MaxInFlight
	s.ghostHash = &s.ghosts.hashes
	s.outlines = s.procs
	if s.outliner, _ = sys.(Outliner[R]); s.outliner != nil {
		s.outlines = newInterner[R]()
	}
	s.deliver = newMemo()
	s.budgets = len(info.Budgets)
	for b, budget := range info.Budgets {
		s.limits[b] = budget.Limit
		if b > 0 && budget.Limit > 0 {
			s.counters = append(s.counters, Budget(b))
		}
		for n := 1; n < len(s.spent[b]); n++ {
			s.spent[b][n] = hashWords([]uint64{seedBudget, uint64(b), uint64(n)})
		}
	}
	spec := &interned[R, M, G]{store: s}
	spec.idle.New = func() any { return spec.fork() }
	return spec
}

func systemError[R, M, G comparable](info *Info) error {
	if err := checkInfo(info); err != nil {
		return err
	}
	if n := len(info.Processes); n == 0 || n > MaxProcesses {
		return fmt.Errorf("%s has %d processes, at least 1 and at most %d fit", info.Name, n, MaxProcesses)
	}
	if n := info.MaxInFlight; n < 0 || n > MaxMessages {
		return fmt.Errorf("%s allows %d messages in flight, the limit is %d", info.Name, n, MaxMessages)
	}
	for _, t := range []reflect.Type{reflect.TypeFor[R](), reflect.TypeFor[M](), reflect.TypeFor[G]()} {
		if err := plainType(t, true); err != nil {
			return fmt.Errorf("%s: component type %s: %w", info.Name, t, err)
		}
	}
	return nil
}

// interned is a System as a Spec. It may be used by several workers; each does
// better with a fork.
type interned[R, M, G comparable] struct {
	*store[R, M, G]
	idle  sync.Pool
	tried sync.Map // attemptKey: []remembered, for questions
	cut   sync.Map // cutKey: []cuttable
}

func (s *interned[R, M, G]) fork() Spec[Tuple] {
	return &internedWorker[R, M, G]{
		interned: s, w: newTupleWorker(&s.tuples, s.store, &eyes[R, M, G]{store: s.store}),
	}
}

// Info implements Spec.
func (s *interned[R, M, G]) Info() *Info { return s.info }

// Init implements Spec.
func (s *interned[R, M, G]) Init(out *Sink[Tuple]) {
	var list []Tuple
	s.mu.Lock()
	s.sys.Init(func(processes []R, network []M, ghost G) {
		if len(processes) != s.processes || len(network) > s.maxFlight {
			panic(fmt.Errorf("initial state with %d processes and %d messages, for %d and at most %d",
				len(processes), len(network), s.processes, s.maxFlight))
		}
		var t Tuple
		for i := range processes {
			t[i] = s.internProcess(i, &processes[i])
		}
		for i := range network {
			t.insert(i, s.internMessage(&network[i]))
		}
		t[tupleGhost] = s.internGhostLocked(&ghost)
		list = append(list, t)
	})
	s.mu.Unlock()
	for _, t := range list {
		*out.Slot() = t
		out.Commit(-1, Instance{}, 0, 0)
	}
}

// Next implements Spec.
func (s *interned[R, M, G]) Next(t *Tuple, out *Sink[Tuple]) {
	w := s.idle.Get().(*internedWorker[R, M, G])
	w.Next(t, out)
	s.idle.Put(w)
}

// Check implements Spec.
func (s *interned[R, M, G]) Check(t *Tuple) (violated, reached Props) {
	w := s.idle.Get().(*internedWorker[R, M, G])
	defer s.idle.Put(w)
	return w.Check(t)
}

// Fingerprint implements Fingerprinter. It depends on what the numbers stand
// for, not on the numbers, which depend on the order of discovery.
func (s *interned[R, M, G]) Fingerprint(t *Tuple) uint64 { return s.sum(t) }

// FingerprintWithoutBudgets implements Projector.
func (s *interned[R, M, G]) FingerprintWithoutBudgets(t *Tuple) uint64 {
	return s.sumWithoutBudgets(t)
}

// Describe implements Spec.
func (s *interned[R, M, G]) Describe(t *Tuple) []Field {
	processes, network, ghost := s.parts(t)
	return describe(s.sys, processes, network, ghost, func(b Budget) uint8 { return t.budget(b) })
}

// GuardCounts implements GuardCounter, if the System does.
func (s *interned[R, M, G]) GuardCounts() []GuardCount {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g, ok := s.sys.(GuardCounter); ok {
		return g.GuardCounts()
	}
	return nil
}

// Env implements Environment.
func (s *interned[R, M, G]) Env(t *Tuple) map[string]any {
	return s.sys.Env(s.parts(t))
}

func (s *store[R, M, G]) parts(t *Tuple) (processes []*R, network []*M, ghost *G) {
	for i := range s.processes {
		processes = append(processes, s.procs.values.at(t[i]))
	}
	for x := range t.messages() {
		network = append(network, s.messages.values.at(t[tupleNet+x]))
	}
	return processes, network, s.ghosts.values.at(t.ghost())
}

// internedWorker is a fork for one worker.
type internedWorker[R, M, G comparable] struct {
	*interned[R, M, G]
	w        *tupleWorker
	stoodFor uint64
}

// Next implements Spec.
func (s *internedWorker[R, M, G]) Next(t *Tuple, out *Sink[Tuple]) { s.w.next(t, out) }

// Check implements Spec.
func (s *internedWorker[R, M, G]) Check(t *Tuple) (violated, reached Props) {
	return s.w.check(t, everything), 0
}

func (s *internedWorker[R, M, G]) checkChanged(t *Tuple, hint uint32) (violated, reached Props) {
	if s.sym != nil {
		s.stoodFor += uint64(s.w.stands(t, hint))
	}
	return s.w.check(t, hint), 0
}

// Canonical implements SymmetricSpec, in a search up to symmetry.
func (s *internedWorker[R, M, G]) Canonical(t *Tuple) { s.w.turn(t) }
