package checker

import (
	"fmt"
	"math/bits"
	"sync/atomic"
)

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
	run      *search[S]
	id       int
	spec     Spec[S]
	hinted   hinted[S]
	finger   Fingerprinter[S]
	canon    SymmetricSpec[S] // nil: states stand for themselves
	sink     *Sink[S]
	tally    *actionMeter // nil unless coverage is counted
	seen     *handle
	log      parentLog
	codec    codec[S]
	state    S      // that is being expanded
	before   S      // the last one packed into cur
	blank    S      // zero, for codec
	cur      *chunk // to which new states go; nil: none yet
	next     []*chunk
	spare    []*chunk // that it expanded, whose memory its caches still have
	spilled  int      // of next, from its beginning
	spilling []byte
	reading  []byte      // for chunks on disk
	in, out  *spillFile  // chunks of this level and of the next; nil: all in memory
	suspects suspects[S] // used if there is a disk
	shelf    shelf       // filled if the search is exact

	projector    Projector[S]
	projectedFPs [ringSize]uint64
	seenToo      *handle
	projected    uint64

	bits           [boundBits]uint64
	cuts           *cutTally[S] // nil: not counted
	stuck, stopped uint64
	generated      uint64
	expanded       uint64 // of this level
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

func (w *worker[S]) fingerprint(s *S) uint64 { return fingerprint(w.finger, s) }

// fingerprint is never 0, which stands for none.
func fingerprint[S any](f Fingerprinter[S], s *S) uint64 {
	fp := uint64(0)
	if f != nil {
		fp = f.Fingerprint(s)
	} else {
		fp = hashWords(wordsOf(s))
	}
	return max(fp, 1)
}

// expand takes the steps of every state of c.
func (w *worker[S]) expand(c *chunk) {
	data, err := c.load(w.reading)
	if err != nil {
		panic(&engineError{err})
	}
	k := w.sink
	clear(bytesOf(&w.state))
	for i := range c.n {
		if w.run.archive != nil {
			clear(bytesOf(&w.state))
		}
		if data = w.codec.unpack(data, &w.state); data == nil {
			panic(&engineError{fmt.Errorf("state %d of a chunk of the frontier is damaged", i)})
		}
		k.parent, k.edge, k.bounded = c.base+ordinal(i), 0, 0
		k.current = &w.state
		if w.tally == nil {
			w.spec.Next(&w.state, k)
		} else {
			w.tally.begin(w.run.depth)
			w.spec.Next(&w.state, k)
			w.tally.end()
		}
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
		if w.cuts != nil && k.bounded != 0 {
			w.cuts.add(&w.state)
		}
		for b := k.bounded; b != 0; b &= b - 1 {
			w.bits[bits.TrailingZeros64(b)]++
		}
	}
	w.expanded += uint64(c.n)
	w.distinctNow.Store(w.log.used)
	w.generatedNow.Store(w.generated)
	if c.file == nil && len(w.spare) < mostSpare {
		w.spare = append(w.spare, c)
	} else {
		w.run.chunks.put(c)
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
	if w.tally != nil {
		w.tally.beginDrain()
		defer w.tally.endDrain()
	}
	var fresh uint64
	switch {
	case w.run.archive != nil:
		fresh = w.insertExact(n)
	case w.run.disk != nil:
		fresh = w.insertSpilling(n)
	default:
		fresh = w.run.seen.insert(w.seen, k.fps[:n])
	}
	if w.seen.ahead {
		k.near = w.seen.slots
	}
	if w.projector != nil {
		w.project(fresh)
	}
	if w.tally != nil {
		w.tally.inserted(n, fresh)
	}
	for ; fresh != 0; fresh &= fresh - 1 {
		i := bits.TrailingZeros64(fresh)
		w.keep(&k.ring[i], w.shelf.places[i])
		w.log.add(k.refs[i])
		w.check(&k.ring[i], k.fps[i], k.refs[i], k.hints[i])
	}
}

const mostSpare = 64

// keep puts a new state into the next level; place is where the archive has it.
func (w *worker[S]) keep(s *S, place uint64) {
	if w.log.used >= 1<<indexBits {
		panic(&engineError{fmt.Errorf("a worker has more states than the %d that it can number", uint64(1)<<indexBits)})
	}
	if w.run.archive != nil {
		w.point(place)
		return
	}
	if w.cur == nil || w.cur.n == chunkStates || cap(w.cur.data)-len(w.cur.data) < w.run.mostPacked {
		w.openChunk()
		clear(bytesOf(&w.before))
	}
	w.cur.data = w.codec.pack(w.cur.data, &w.before, s)
	w.cur.n++
}

// point is keep for a state that is in the archive. A chunk is a part of a page.
func (w *worker[S]) point(place uint64) {
	if w.cur == nil || w.cur.n == chunkStates || w.cur.place>>pageShift != place>>pageShift {
		w.openChunk()
		w.cur.place = place
		w.cur.data = w.run.archive.at(place)
	}
	w.cur.n++
}

func (w *worker[S]) openChunk() {
	w.closeChunk()
	if n := len(w.spare); n > 0 {
		w.cur, w.spare = w.spare[n-1], w.spare[:n-1]
		w.cur.n, w.cur.data = 0, w.cur.data[:0]
	} else if w.cur = w.run.chunks.get(); w.cur == nil {
		w.spillChunks()
		w.cur = w.run.chunks.must()
	}
	w.cur.base = makeOrdinal(w.id, uint32(w.log.used))
}

func (w *worker[S]) closeChunk() {
	if w.cur != nil {
		w.next = append(w.next, w.cur)
		w.cur = nil
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
	if w.run.goal != nil {
		return // a question judges no properties
	}
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
