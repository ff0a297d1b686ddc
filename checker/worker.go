package checker

import (
	"math/bits"
	"sync/atomic"
)

// chunkSize is how many states a worker takes at once. Levels are often
// narrow, so it is not large.
const chunkSize = 256

// chunk is a piece of a level. Its states follow each other in the log of the
// worker that found them, from base on.
type chunk[S any] struct {
	base ordinal
	n    int
	s    [chunkSize]S
}

// forker is implemented by specifications that keep scratch memory, of which
// each worker needs its own.
type forker[S any] interface{ fork() Spec[S] }

// hinted is implemented by specifications that can check less of a state if
// they know what changed in it, by the hint given to Sink.commit.
type hinted[S any] interface {
	checkChanged(s *S, hint uint32) (violated, reached Props)
}

// worker expands states: it owns a sink, the log of the states that it found,
// and the chunks of the next level that hold them.
type worker[S any] struct {
	run    *search[S]
	id     int
	spec   Spec[S]
	hinted hinted[S]
	finger Fingerprinter[S]
	sink   *Sink[S]
	seen   *handle
	log    parentLog
	states stateLog[S] // filled if the search is exact
	cur    *chunk[S]
	next   []*chunk[S]
	free   []*chunk[S]

	projector    Projector[S]
	projectedFPs [ringSize]uint64
	seenToo      *handle
	projected    uint64

	bits           [boundBits]uint64
	stuck, stopped uint64
	generated      uint64
	findings       [64]finding
	foundNow       Props

	// published for the progress report and for limits
	distinctNow, generatedNow atomic.Uint64
}

// finding is a violation: the fingerprint of the state, that of the state
// before it if the step counts too, and how it was reached. Of several in one
// level the least is kept, so that it does not matter who finds which first.
type finding struct {
	fp, tie uint64
	ref     ref
}

func (f finding) less(g finding) bool {
	if f.fp != g.fp {
		return f.fp < g.fp
	}
	return f.tie < g.tie
}

func (w *worker[S]) fingerprint(s *S) uint64 {
	fp := uint64(0)
	if w.finger != nil {
		fp = w.finger.Fingerprint(s)
	} else {
		fp = hashWords(wordsOf(s))
	}
	return max(fp, 1)
}

// expand takes the steps of every state of c.
func (w *worker[S]) expand(c *chunk[S]) {
	k := w.sink
	for i := range c.n {
		k.parent, k.edge, k.bounded = c.base+ordinal(i), 0, 0
		k.current = &c.s[i]
		w.spec.Next(&c.s[i], k)
		w.generated += uint64(k.edge)
		if k.edge > maxEdge {
			panic("checker: a state has more successors than an edge number can hold")
		}
		if k.edge == 0 {
			if k.bounded == 0 {
				w.stuck++
			} else {
				w.stopped++
			}
		}
		for b := k.bounded; b != 0; b &= b - 1 {
			w.bits[bits.TrailingZeros64(b)]++
		}
	}
	w.distinctNow.Store(w.log.used)
	w.generatedNow.Store(w.generated)
	if len(w.free) < 1<<12 {
		w.free = append(w.free, c)
	}
}

// drain empties the ring of the sink: what is new goes to the next level.
func (w *worker[S]) drain() {
	k := w.sink
	n := k.n
	k.n = 0
	if n == 0 {
		return
	}
	var fresh uint64
	if w.run.opt.Exact {
		fresh = w.insertExact(n)
	} else {
		fresh = w.run.seen.insert(w.seen, k.fps[:n])
	}
	if w.projector != nil {
		w.project(fresh)
	}
	for ; fresh != 0; fresh &= fresh - 1 {
		i := bits.TrailingZeros64(fresh)
		if w.cur.n == chunkSize {
			w.closeChunk()
		}
		if w.cur.n == 0 {
			if w.log.used > 1<<indexBits-chunkSize {
				panic("checker: a worker has more states than an ordinal can hold")
			}
			w.cur.base = makeOrdinal(w.id, uint32(w.log.used))
		}
		s := &w.cur.s[w.cur.n]
		*s = k.ring[i]
		w.cur.n++
		w.log.add(k.refs[i])
		w.check(s, k.fps[i], k.refs[i], k.hints[i])
	}
}

func (w *worker[S]) check(s *S, fp uint64, r ref, hint uint32) {
	if w.run.goal != nil {
		if answers := w.run.goal(s); answers != 0 {
			w.note(answers, finding{fp: fp, ref: r})
		}
		return
	}
	var violated, reached Props
	if w.hinted != nil {
		violated, reached = w.hinted.checkChanged(s, hint)
	} else {
		violated, reached = w.spec.Check(s)
	}
	w.sink.reached |= reached
	if violated != 0 {
		w.note(violated, finding{fp: fp, ref: r})
	}
}

// stepViolates records properties violated by the step that is being committed.
func (w *worker[S]) stepViolates(violated Props, fp uint64, process int, i Instance) {
	k := w.sink
	tie := mix(uint64(i.Args)<<8^uint64(i.Action)^hashK1, uint64(process+1)^hashK2)
	if k.current != nil {
		tie = mix(tie^w.fingerprint(k.current), hashK3)
	}
	w.note(violated, finding{fp: fp, tie: tie, ref: makeRef(k.parent, k.edge)})
}

func (w *worker[S]) note(violated Props, f finding) {
	violated &= w.run.selected &^ w.run.known
	for ; violated != 0; violated &= violated - 1 {
		p := bits.TrailingZeros64(uint64(violated))
		if w.foundNow>>p&1 == 0 || f.less(w.findings[p]) {
			w.foundNow |= 1 << p
			w.findings[p] = f
		}
	}
}

// project counts the new states that are new without their budgets too.
func (w *worker[S]) project(fresh uint64) {
	fps := w.projectedFPs[:0]
	for ; fresh != 0; fresh &= fresh - 1 {
		i := bits.TrailingZeros64(fresh)
		fps = append(fps, max(w.projector.FingerprintWithoutBudgets(&w.sink.ring[i]), 1))
	}
	w.projected += uint64(bits.OnesCount64(w.run.seenToo.insert(w.seenToo, fps)))
}

func (w *worker[S]) closeChunk() {
	if w.cur.n > 0 {
		w.next = append(w.next, w.cur)
		w.cur = w.newChunk()
	}
}

func (w *worker[S]) newChunk() *chunk[S] {
	if k := len(w.free); k > 0 {
		c := w.free[k-1]
		w.free = w.free[:k-1]
		c.n = 0
		return c
	}
	return new(chunk[S])
}
