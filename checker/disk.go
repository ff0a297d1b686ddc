package checker

import (
	"iter"
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/quorate/quorate/checker/internal/runset"
)

// disk lets a search see more states than fit in memory.
//
// There are two tables: a new one, search.seen, and an old one. When the new one is
// full, the keys of the old one are written to disk as a sorted run, the new one
// becomes the old one, and an empty one takes its place. So the states of the last
// levels, which are those that steps lead back to, are in memory. Of a state that
// is in neither, a filter says that it was not written, so it is new, or that it
// may have been; then it is put aside (suspects.go).
type disk struct {
	budget  budget
	runs    *runset.Set
	filter  []uint64
	old     []uint64 // slots of the old table; nil: none yet
	second  region
	flushed bool // there are runs
	settled atomic.Uint64
}

// unscramble is the inverse of scramble.
func unscramble(key uint64) uint64 {
	const inverse = 0xf1de83e19937733d
	fp := key * inverse
	return fp ^ fp>>32
}

// insertSpilling is table.insert with a disk behind the table. States that may be
// there are put aside.
func (w *worker[S]) insertSpilling(n int) (fresh uint64) {
	k, t, d := w.sink, w.run.seen, w.run.disk
	for t.enter(w.seen, k.fps[:n]); w.suspects.full(); t.enter(w.seen, k.fps[:n]) {
		t.leave(w.seen, 0) // who settles takes all handles, this one too
		w.settleNow()
	}
	old := d.old
	if old != nil {
		for _, fp := range k.fps[:n] {
			atomic.LoadUint64(&old[home(scramble(fp), len(old))])
		}
	}
	var added uint64
	for i, fp := range k.fps[:n] {
		key := scramble(fp)
		if old != nil && holdsKey(old, key) || !t.add(key) {
			continue
		}
		added |= 1 << uint(i)
		if d.flushed {
			d.runs.Touch(key) // the misses of those that are added overlap too
		}
	}
	if !d.flushed {
		t.leave(w.seen, added)
		return added
	}
	// Still with the handle: no key may reach the disk before it is a suspect.
	for rest := added; rest != 0; rest &= rest - 1 {
		i := bits.TrailingZeros64(rest)
		if key := scramble(k.fps[i]); d.runs.MayContain(key) {
			w.suspects.add(key, &k.ring[i], k.refs[i], k.hints[i])
		} else {
			fresh |= 1 << uint(i)
		}
	}
	t.leave(w.seen, added)
	return fresh
}

// holdsKey looks for a key in slots that do not change.
func holdsKey(slots []uint64, key uint64) bool {
	for i := home(key, len(slots)); ; {
		if v := slots[i]; v == key || v == 0 {
			return v == key
		}
		if i++; i == len(slots) {
			i = 0
		}
	}
}

// settleNow decides about suspects because there is no room for more.
func (w *worker[S]) settleNow() {
	w.run.seen.alone(func() {
		if w.suspects.full() { // nobody else was first
			w.run.settle(w)
		}
	})
}

// rotate makes room in the new table, which is full. The caller has the handles of
// all workers.
func (s *search[S]) rotate(by *worker[S]) {
	d, t := s.disk, s.seen
	if len(t.slots) < d.budget.slots {
		t.growTo(min(t.larger(), d.budget.slots))
		return
	}
	if d.old == nil {
		slots, err := d.second.extend(d.budget.slots)
		if err != nil {
			panic(&engineError{err})
		}
		t.replace(slots, &d.old)
		return
	}
	// Suspects must be decided about before their keys, which are in the tables,
	// come to be on disk.
	s.settle(by)
	if err := d.runs.Add(ascending(d.old)); err != nil {
		panic(&engineError{err})
	}
	d.flushed = true
	clear(d.old)
	t.replace(d.old, &d.old)
}

// replace puts empty slots in the place of those in use, which become old. Quotas
// that were claimed before are still good, so there must be room for them too.
func (t *table) replace(slots []uint64, old *[]uint64) {
	*old, t.slots = t.slots, slots
	owed := int64(len(t.handles) * quotaBlock)
	for _, h := range t.handles {
		owed += int64(h.quota)
	}
	t.limit.Store(t.claimed.Load() + crowded(len(slots)) - owed)
}

// ascending gives the keys of a table in order. Keys are out of order only within
// a row of used slots, or if the row at the end has gone on at the beginning.
func ascending(slots []uint64) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		var row, around []uint64
		end := func() bool {
			slices.Sort(row)
			for _, key := range row {
				if !yield(key) {
					return false
				}
			}
			row = row[:0]
			return true
		}
		first := true // the row at the beginning
		for i, key := range slots {
			switch {
			case key == 0:
				first = false
				if !end() {
					return
				}
			case first && home(key, len(slots)) > i:
				around = append(around, key)
			default:
				row = append(row, key)
			}
		}
		row = append(row, around...)
		end()
	}
}
