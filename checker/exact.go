package checker

import (
	"bytes"
	"sync/atomic"
	"unsafe"
)

// In an exact search a slot of the table holds the ordinal of a state, plus 1,
// below some bits of its fingerprint. Only states that agree in those bits are
// compared.
const ordinalMask = 1<<(64-edgeBits) - 1

func exactSlot(fp uint64, o ordinal) uint64 { return fp<<(64-edgeBits) | uint64(o+1) }

// stateLog has the states that one worker found first, in the order of its
// parent log. The array of pages does not move, so that other workers can read
// states that a slot of the table has told them of.
type stateLog[S any] struct {
	pages []*[logPage]S
	words [][]uint64
}

const maxStatePages = 1 << (indexBits - 16) // of logPage states each

func (l *stateLog[S]) at(index uint32) *S { return &l.pages[index/logPage][index%logPage] }

// slot is at, for the owner, who may be the first to use it.
func (l *stateLog[S]) slot(index uint32) *S {
	if l.pages == nil {
		l.pages = make([]*[logPage]S, maxStatePages)
	}
	if p := &l.pages[index/logPage]; *p == nil {
		var s S
		words := allocWords(logPage * int(unsafe.Sizeof(s)) / 8)
		l.words = append(l.words, words)
		*p = (*[logPage]S)(unsafe.Pointer(&words[0]))
	}
	return l.at(index)
}

func (l *stateLog[S]) free() {
	for _, w := range l.words {
		freeWords(w)
	}
	l.pages, l.words = nil, nil
}

func (s *search[S]) stateOf(slot uint64) *S {
	o := ordinal(slot&ordinalMask) - 1
	return s.workers[o.worker()].states.at(o.index())
}

// keyOfSlot lets the table grow.
func (s *search[S]) keyOfSlot(slot uint64) uint64 {
	return s.workers[0].fingerprint(s.stateOf(slot))
}

// insertExact is table.insert for the first n states of the ring, compared as a
// whole. A state is written to the log before its slot says that it is there; if
// another worker was faster, its place is used for the next.
func (w *worker[S]) insertExact(n int) (fresh uint64) {
	k, t := w.sink, w.run.seen
	t.enter(w.seen, k.fps[:n])
	next := uint32(w.log.used)
	for i, fp := range k.fps[:n] {
		mine := w.states.slot(next)
		*mine = k.ring[i]
		slot := exactSlot(fp, makeOrdinal(w.id, next))
		if t.addExact(fp, slot, func(other uint64) bool {
			return bytes.Equal(bytesOf(w.run.stateOf(other)), bytesOf(mine))
		}) {
			fresh |= 1 << uint(i)
			next++
		}
	}
	t.leave(w.seen, fresh)
	return fresh
}

// addExact inserts a slot unless there is one for the same state.
func (t *table) addExact(fp, slot uint64, same func(other uint64) bool) bool {
	i := fp * spread >> t.shift
	for {
		v := atomic.LoadUint64(&t.slots[i])
		if v == 0 {
			if atomic.CompareAndSwapUint64(&t.slots[i], 0, slot) {
				return true
			}
			continue
		}
		if (v^slot)&^ordinalMask == 0 && same(v) {
			return false
		}
		i = (i + 1) & t.mask
	}
}
