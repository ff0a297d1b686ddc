package checker

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

// table is the set of fingerprints seen: open addressing over an array outside
// the heap, inserted into by compare-and-swap.
//
// A slot holds not the fingerprint but its key, scramble(fp), from which it could
// be had back. The place of a key is its share of the array: key/2^64 of the way
// from left to right. So keys lie in ascending order but for collisions, whatever
// the size of the array, which need be no power of two and can grow in place
// (grow.go).
//
// It may grow while workers insert. Each worker inserts in batches, and holds
// the lock of its own handle meanwhile, which nobody else wants except who
// grows the table: that one takes all of them. A worker never inserts more than
// the quota it has claimed from the table, so no schedule can overfill it.
type table struct {
	slots   []uint64
	memory  region
	handles []*handle
	grow    sync.Mutex
	claimed atomic.Int64
	limit   atomic.Int64
	// spill makes room instead of enlarging the table; nil: it is enlarged.
	spill func(h *handle)
	// refill inserts everything again into a table that was cleared, for slots
	// that are not keys; nil: slots are keys, and are moved.
	refill func()
}

// handle is one worker's right to insert.
type handle struct {
	mu     sync.Mutex
	quota  int
	worker int
	slots  []uint64  // of the table when it was last entered
	ahead  bool      // slots are prefetched before, one by one
	_      [1]uint64 // keeps handles of different workers on different cache lines
}

const (
	spread     = 0x9e3779b97f4a7c15
	quotaBlock = 256
	leastSlots = 1 << 12
)

// scramble is a bijection, with scramble(0) = 0, whose high bits depend on all
// bits: fingerprints that a specification makes itself may be small numbers.
func scramble(fp uint64) uint64 {
	return (fp ^ fp>>32) * spread
}

func newTable(slots int) *table {
	t := &table{}
	t.extend(max(slots, leastSlots))
	return t
}

func (t *table) handle() *handle {
	h := &handle{worker: len(t.handles)}
	t.handles = append(t.handles, h)
	return h
}

// home is the place of a key in n slots.
func home(key uint64, n int) int {
	i, _ := bits.Mul64(key, uint64(n))
	return int(i)
}

// insert adds fingerprints, none of them 0, and gives a bit for each that is new.
func (t *table) insert(h *handle, fps []uint64) (fresh uint64) {
	t.enter(h, fps)
	for i, fp := range fps {
		if t.add(scramble(fp)) {
			fresh |= 1 << uint(i)
		}
	}
	t.leave(h, fresh)
	return fresh
}

// enter takes the right to insert fps.
func (t *table) enter(h *handle, fps []uint64) {
	h.mu.Lock()
	for h.quota < len(fps) {
		h.mu.Unlock()
		got := t.claim(h)
		h.mu.Lock()
		h.quota += got
	}
	slots := t.slots
	if h.slots = slots; h.ahead {
		return
	}
	// Touch every slot first: the misses of a batch then overlap.
	for _, fp := range fps {
		atomic.LoadUint64(&slots[home(scramble(fp), len(slots))])
	}
}

// leave gives the right back, after those of fresh were inserted.
func (t *table) leave(h *handle, fresh uint64) {
	h.quota -= bits.OnesCount64(fresh)
	h.mu.Unlock()
}

// add inserts a key, and says whether it is new.
func (t *table) add(key uint64) bool {
	slots := t.slots
	for i := home(key, len(slots)); ; {
		v := atomic.LoadUint64(&slots[i])
		if v == key {
			return false
		}
		if v == 0 {
			if atomic.CompareAndSwapUint64(&slots[i], 0, key) {
				return true
			}
			continue
		}
		if i++; i == len(slots) {
			i = 0
		}
	}
}

// claim takes a block of free slots, and makes the table larger when none is left.
func (t *table) claim(h *handle) int {
	for {
		c := t.claimed.Load()
		if c+quotaBlock > t.limit.Load() {
			t.enlarge(h)
		} else if t.claimed.CompareAndSwap(c, c+quotaBlock) {
			return quotaBlock
		}
	}
}

func (t *table) enlarge(h *handle) {
	t.alone(func() {
		for t.claimed.Load()+quotaBlock > t.limit.Load() { // nobody else was first
			if t.spill != nil {
				t.spill(h)
			} else {
				t.growTo(t.larger())
			}
		}
	})
}

// alone does something while no worker inserts.
func (t *table) alone(do func()) {
	t.grow.Lock()
	defer t.grow.Unlock()
	for _, h := range t.handles {
		h.mu.Lock()
		defer h.mu.Unlock()
	}
	do()
}

// bytes is the memory that the table takes.
func (t *table) bytes() uint64 { return uint64(len(t.slots)) * 8 }

func (t *table) free() {
	t.memory.free()
	t.slots = nil
}
