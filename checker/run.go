package checker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// Run explores the reachable states of spec, breadth first.
//
// The verdict, the counts and the length of counterexamples do not depend on
// the number of workers: a level in which a property is violated is explored to
// its end, and of the states that violate it the one with the least fingerprint
// is reported. Which of several equally short ways to it is shown may differ.
func Run[S any](spec Spec[S], opt Options) (*Result, error) {
	if opt.Counterexamples < 0 {
		return nil, fmt.Errorf("%d counterexamples: want a number from 1", opt.Counterexamples)
	}
	if opt.Coverage && (opt.Order != BreadthFirst || opt.Counterexamples > 1 || opt.Mem > 0 || opt.Resume != "") {
		return nil, fmt.Errorf("coverage goes with a breadth-first search in memory, for one counterexample, from the beginning")
	}
	run := depthFirst[S]
	switch {
	case opt.Counterexamples > 1:
		run = severalCounterexamples[S]
	case opt.Order == BreadthFirst:
		return explore(spec, opt, nil)
	case opt.Order != DepthFirst:
		return nil, fmt.Errorf("unknown order of search %q", opt.Order)
	case opt.Symmetry:
		return nil, fmt.Errorf("%s: only a breadth-first search goes up to symmetry", spec.Info().Name)
	}
	r, err := run(spec, opt)
	if err != nil || !opt.Explain {
		return r, err
	}
	for i := range r.Violations {
		noteOneShort(spec, r.Violations[i].Trace)
	}
	selected, err := opt.selected(spec.Info())
	r.Explanation = explain[S](spec, &opt, selected, r, nil)
	return r, err
}

// search is one run.
type search[S any] struct {
	info       *Info
	opt        Options
	goal       func(*S) Props // of questions: which answers a state is; nil: judge properties
	seen       *table
	seenToo    *table // without budgets
	finger     Fingerprinter[S]
	archive    *archive // nil: only fingerprints are kept
	chunks     *chunkPool
	spec       Spec[S]
	others     logs      // of workers of the run that was resumed, beyond those of this
	before     uint64    // states in them
	number     int       // of the last checkpoint
	last       *SavedAt  // that checkpoint
	saved      time.Time // when that was
	claim      *os.File  // keeps other runs from the directory for checkpoints
	disk       *disk     // nil: everything is in memory
	dir        *workDir
	memory     Memory
	mostPacked int
	workers    []*worker[S]
	selected   Props
	restating  Props
	known      Props // violated on an earlier level
	found      [64]finding
	reached    Props
	initial    uint64
	depth      int
	widest     uint64
	levels     []uint64
	levelsNow  atomic.Pointer[[]uint64] // for the progress report
	began      time.Time
	limitedBy  string
	partial    bool

	level     []*chunk
	shares    [2][]share // of the chunks in memory, and of those on disk
	taken     atomic.Int64
	halt      atomic.Bool
	overfull  atomic.Bool
	levelSize int
	// for stop
	levelBegan, sizeNow atomic.Int64
	// of the level being expanded, for the progress report
	depthNow, widthNow atomic.Uint64
	ended              context.Context
	failure            error
	failed             sync.Once
}

func explore[S any](spec Spec[S], opt Options, goal func(*S) Props) (result *Result, err error) {
	selected, err := opt.selected(spec.Info())
	if err != nil {
		return nil, err
	}
	if spec, err = reduce(spec, &opt, selected, goal != nil); err != nil {
		return nil, err
	}
	defer func() {
		if p := recover(); p != nil {
			result, err = nil, modelError(p)
		}
	}()
	s, err := newSearch(spec, opt, goal)
	if err != nil {
		return nil, err
	}
	defer s.free()
	if err := s.claimCheckpoints(); err != nil {
		return nil, err
	}
	if opt.Mem > 0 || opt.ParentsOnDisk {
		if err := s.useDisk(); err != nil {
			return nil, err
		}
	}
	stopProgress := s.reportProgress()
	defer stopProgress()
	unhook := context.AfterFunc(s.ended, s.stop)
	defer unhook()

	if opt.Resume != "" {
		err = s.resume()
	} else {
		err = s.begin()
	}
	if err != nil {
		return nil, err
	}
	more := true
	if opt.Resume == "" {
		more, err = s.nextLevel()
	} else {
		s.limitedBy = s.limit(s.last.Distinct)
		more = s.limitedBy == ""
	}
	for more && err == nil {
		if err = s.expandLevel(); err != nil {
			return nil, err
		}
		if more, err = s.nextLevel(); err != nil {
			return nil, err
		}
		err = s.checkpoint(more)
	}
	if err != nil {
		return nil, err
	}
	if err := s.auditTable(); err != nil {
		return nil, err
	}
	return s.result()
}

// begin makes the initial states the first level.
func (s *search[S]) begin() error {
	w := s.workers[0]
	w.sink.parent = initial
	w.spec.Init(w.sink)
	w.sink.current = nil
	w.drain()
	clear(w.sink.fired[:])
	if err := s.settleLevel(); err != nil {
		return err
	}
	s.initial = w.log.used
	if s.initial == 0 {
		return fmt.Errorf("%s has no initial state", s.info.Name)
	}
	return nil
}

func newSearch[S any](spec Spec[S], opt Options, goal func(*S) Props) (*search[S], error) {
	info := spec.Info()
	if err := checkInfo(info); err != nil {
		return nil, err
	}
	s := &search[S]{info: info, opt: opt, goal: goal, began: time.Now(), ended: opt.context(), spec: spec}
	var err error
	if s.selected, err = opt.selected(info); err != nil {
		return nil, err
	}
	for i, p := range info.Properties {
		if p.Restates != "" {
			s.restating |= 1 << i
		}
	}
	s.finger, _ = spec.(Fingerprinter[S])
	if s.finger == nil {
		if err := checkPlain[S](); err != nil {
			return nil, err
		}
	}
	if err := checkPackable[S](); err != nil {
		return nil, err
	}
	if err := opt.checkDisk(); err != nil {
		return nil, err
	}
	s.saved = s.began
	projector, _ := spec.(Projector[S])
	if opt.Projected && projector == nil {
		return nil, fmt.Errorf("%s cannot leave budgets out of a fingerprint", info.Name)
	}
	first := 1 << 18
	if opt.tableBits != 0 {
		first = 1 << opt.tableBits
	}
	s.mostPacked = codec[S]{}.most()
	s.chunks = newChunkPool(chunkRoom(s.mostPacked))
	if opt.Mem > 0 {
		budget, err := newBudget(opt.Mem, opt.workers(), s.chunks.room)
		if err != nil {
			return nil, err
		}
		first = min(first, budget.slots)
	}
	if opt.Exact {
		if err := checkPlain[S](); err != nil {
			return nil, err
		}
		s.archive = &archive{}
		s.chunks.room = 0
	}
	s.seen = newTable(first)
	if opt.Exact {
		s.seen.refill = s.refill
	}
	if opt.Projected {
		s.seenToo = newTable(first)
	}
	for id := range opt.workers() {
		w := &worker[S]{run: s, id: id, spec: spec, sink: new(Sink[S])}
		if f, ok := spec.(forker[S]); ok {
			w.spec = f.fork()
		}
		w.finger, _ = w.spec.(Fingerprinter[S])
		if opt.Symmetry {
			w.canon, _ = w.spec.(SymmetricSpec[S])
		}
		w.hinted, _ = w.spec.(hinted[S])
		if opt.Explain && goal == nil && opt.Resume == "" {
			w.cuts = newCutTally(w.spec)
		}
		w.sink.w = w
		if opt.Coverage {
			w.tally = &actionMeter{}
			w.sink.tally, w.sink.aside = w.tally, true
		}
		w.seen = s.seen.handle()
		w.seen.ahead = canPrefetch
		if opt.Projected {
			w.projector, _ = w.spec.(Projector[S])
			w.seenToo = s.seenToo.handle()
		}
		w.shelf.packed = make([]byte, s.mostPacked)
		s.workers = append(s.workers, w)
	}
	return s, nil
}

func (s *search[S]) free() {
	if s.claim != nil {
		s.claim.Close()
	}
	s.seen.free()
	if s.seenToo != nil {
		s.seenToo.free()
	}
	for _, l := range s.others {
		l.free()
	}
	for _, w := range s.workers {
		w.log.free()
	}
	s.chunks.release()
	s.leaveDisk()
	if s.archive != nil {
		s.archive.free()
	}
}

// nextLevel collects what the workers found, and says whether to expand it.
func (s *search[S]) nextLevel() (bool, error) {
	s.level = s.level[:0]
	width, distinct := uint64(0), s.others.used()
	for _, w := range s.workers {
		w.closeChunk()
		for _, c := range w.next {
			width += uint64(c.n)
		}
		distinct += w.log.used
		s.reached |= w.sink.reached
	}
	if err := s.line(); err != nil {
		return false, err
	}
	s.noteMemory()
	s.collectFindings()
	if width > 0 {
		s.depth++
		s.widest = max(s.widest, width)
		s.levels = append(s.levels, width)
		levels := s.levels
		s.levelsNow.Store(&levels)
		s.depthNow.Store(uint64(s.depth))
		s.widthNow.Store(width)
	}
	if s.halt.Load() && s.taken.Load() < int64(s.levelSize) {
		s.partial = true
		s.limitedBy = "canceled"
		if s.overfull.Load() {
			s.limitedBy = "states"
		}
	}
	s.levelSize = len(s.level)
	switch {
	case s.partial:
		return false, nil
	case s.known&^s.restating != 0 && !s.opt.KeepGoing:
		return false, nil
	case width == 0:
		return false, nil
	}
	s.limitedBy = s.limit(distinct)
	return s.limitedBy == "", nil
}

// limit says what ends the search between two levels, "" if nothing does.
func (s *search[S]) limit(distinct uint64) string {
	switch {
	case s.ended.Err() != nil:
		return "canceled"
	case s.opt.MaxDistinct > 0 && distinct >= s.opt.MaxDistinct:
		return "states"
	case s.opt.MaxDepth > 0 && s.depth >= s.opt.MaxDepth:
		return "depth"
	}
	return ""
}

// collectFindings keeps, for each property first violated on this level, the
// least finding of all workers.
func (s *search[S]) collectFindings() {
	var now Props
	for _, w := range s.workers {
		for p := range 64 {
			if w.foundNow>>p&1 == 0 {
				continue
			}
			if now>>p&1 == 0 || w.findings[p].less(s.found[p]) {
				s.found[p] = w.findings[p]
			}
			now |= 1 << p
		}
		w.foundNow = 0
	}
	s.known |= now
}

// stop ends the search when its context does: at once, unless there are checkpoints
// and the level will be at its end soon. Then there is one to be written.
func (s *search[S]) stop() {
	if s.opt.Checkpoint != "" {
		taken, size := s.taken.Load(), s.sizeNow.Load()
		spent := time.Since(time.Unix(0, s.levelBegan.Load()))
		if taken > 0 && float64(spent)/float64(taken)*float64(size-taken) < float64(s.opt.patience()) {
			return
		}
	}
	s.halt.Store(true)
}

func (s *search[S]) expandLevel() error {
	s.levelBegan.Store(time.Now().UnixNano())
	s.sizeNow.Store(int64(len(s.level)))
	s.taken.Store(0)
	if s.ended.Err() != nil { // perhaps stop has judged the level before
		s.stop()
	}
	s.share()
	active := s.workers[:min(len(s.workers), len(s.level))]
	var wg sync.WaitGroup
	for _, w := range active[1:] {
		wg.Go(func() { s.expandSome(w) })
	}
	s.expandSome(active[0])
	wg.Wait()
	if s.failure != nil {
		return s.failure
	}
	if err := s.auditLevel(); err != nil {
		return err
	}
	return s.settleLevel()
}

// recoverInto makes a panic the failure of the run.
func (s *search[S]) recoverInto() {
	if p := recover(); p != nil {
		s.failed.Do(func() { s.failure = modelError(p) })
		s.halt.Store(true)
	}
}

func (s *search[S]) expandSome(w *worker[S]) {
	defer s.recoverInto()
	for !s.halt.Load() {
		i := s.take(w.id)
		if i < 0 {
			break
		}
		s.taken.Add(1)
		w.expand(s.level[i])
		s.level[i] = nil
		if s.opt.MaxDistinct > 0 && s.distinctNow() > 2*s.opt.MaxDistinct {
			s.overfull.Store(true)
			s.halt.Store(true)
		}
	}
	w.drain()
}

func (s *search[S]) distinctNow() uint64 {
	n := s.before
	for _, w := range s.workers {
		n += w.distinctNow.Load()
	}
	return n
}

// refOf says how a state was reached.
func (s *search[S]) refOf(o ordinal) (ref, error) {
	return s.log(o.worker()).at(o.index())
}

// engineError is a failure of the machine, or a limit of the engine, and not of
// the model. Workers panic with it.
type engineError struct{ cause error }

func (e *engineError) Error() string { return e.cause.Error() }

func (e *engineError) Unwrap() error { return e.cause }

// modelError turns a panic of a specification into an error with its place.
func modelError(p any) error {
	var e *ModelError
	if err, ok := p.(error); ok && errors.As(err, &e) {
		return e
	}
	switch err := p.(type) {
	case *predicateError:
		return err
	case *engineError:
		return err
	}
	return &ModelError{Cause: p, Stack: string(debug.Stack())}
}

// ModelError is a panic of a specification: a value that does not fit the
// model, or a mistake in it.
type ModelError struct {
	Cause any
	Stack string
}

func (e *ModelError) Error() string { return fmt.Sprintf("model error: %v\n%s", e.Cause, e.Stack) }
