package checker

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

// table is the set of fingerprints seen: open addressing over an array outside
// the heap, inserted into by compare-and-swap.
//
// It may grow while workers insert. Each worker inserts in batches, and holds
// the lock of its own handle meanwhile, which nobody else wants except who
// grows the table: that one takes all of them. A worker never inserts more than
// the quota it has claimed from the table, so no schedule can overfill it.
//
// The slot of a fingerprint is given by the high bits of its product with an
// odd constant. Doubling the table keeps that order, so growing is one pass
// from left to right through both arrays.
type table struct {
	slots   []uint64
	shift   uint
	mask    uint64
	handles []*handle
	grow    sync.Mutex
	claimed atomic.Int64
	limit   atomic.Int64
	peak    uint64 // bytes, both arrays while growing
	// key gives the fingerprint of what a slot holds; nil: it holds that.
	key func(slot uint64) uint64
}

// handle is one worker's right to insert.
type handle struct {
	mu    sync.Mutex
	quota int
	_     [6]uint64 // keeps handles of different workers on different cache lines
}

const (
	spread     = 0x9e3779b97f4a7c15
	quotaBlock = 256
	batchMax   = 64
)

func newTable(bitCount uint) *table {
	t := &table{}
	t.resize(max(bitCount, 12))
	return t
}

func (t *table) handle() *handle {
	h := &handle{}
	t.handles = append(t.handles, h)
	return h
}

// insert adds fingerprints, none of them 0, and gives a bit for each that is new.
func (t *table) insert(h *handle, fps []uint64) (fresh uint64) {
	t.enter(h, fps)
	for i, fp := range fps {
		if t.add(fp) {
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
		got := t.claim()
		h.mu.Lock()
		h.quota += got
	}
	// Touch every slot first: the misses of a batch then overlap.
	for _, fp := range fps {
		atomic.LoadUint64(&t.slots[fp*spread>>t.shift])
	}
}

// leave gives the right back, after those of fresh were inserted.
func (t *table) leave(h *handle, fresh uint64) {
	h.quota -= bits.OnesCount64(fresh)
	h.mu.Unlock()
}

func (t *table) add(fp uint64) bool {
	i := fp * spread >> t.shift
	for {
		v := atomic.LoadUint64(&t.slots[i])
		if v == fp {
			return false
		}
		if v == 0 {
			if atomic.CompareAndSwapUint64(&t.slots[i], 0, fp) {
				return true
			}
			continue
		}
		i = (i + 1) & t.mask
	}
}

// claim takes a block of free slots, and makes the table larger when none is left.
func (t *table) claim() int {
	for {
		c := t.claimed.Load()
		if c+quotaBlock > t.limit.Load() {
			t.enlarge()
		} else if t.claimed.CompareAndSwap(c, c+quotaBlock) {
			return quotaBlock
		}
	}
}

func (t *table) enlarge() {
	t.grow.Lock()
	defer t.grow.Unlock()
	if t.claimed.Load()+quotaBlock <= t.limit.Load() {
		return // somebody else was first
	}
	for _, h := range t.handles {
		h.mu.Lock()
		defer h.mu.Unlock()
	}
	more := uint(1)
	if len(t.slots) < 1<<22 {
		more = 2
	}
	t.resize(64 - t.shift + more)
}

// resize moves everything into an array of 1<<bitCount slots. The caller is
// the only user of the table.
func (t *table) resize(bitCount uint) {
	old := t.slots
	t.slots = allocWords(1 << bitCount)
	t.shift, t.mask = 64-bitCount, 1<<bitCount-1
	t.limit.Store(int64(len(t.slots)) * 6 / 10)
	t.peak = max(t.peak, uint64(len(old)+len(t.slots))*8)
	const part = 1 << 16
	var next atomic.Int64
	move := func() {
		for {
			from := int(next.Add(part)) - part
			if from >= len(old) {
				return
			}
			for _, v := range old[from:min(from+part, len(old))] {
				if v != 0 {
					t.move(v)
				}
			}
		}
	}
	var wg sync.WaitGroup
	for range min(len(t.handles), len(old)/part) - 1 {
		wg.Go(move)
	}
	move()
	wg.Wait()
	freeWords(old)
}

// move puts what a slot of the old array held at its place in the new one.
func (t *table) move(v uint64) {
	fp := v
	if t.key != nil {
		fp = t.key(v)
	}
	for i := fp * spread >> t.shift; ; i = (i + 1) & t.mask {
		if atomic.LoadUint64(&t.slots[i]) == 0 && atomic.CompareAndSwapUint64(&t.slots[i], 0, v) {
			return
		}
	}
}

func (t *table) free() {
	freeWords(t.slots)
	t.slots = nil
}
