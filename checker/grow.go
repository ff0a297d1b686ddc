package checker

import (
	"math/bits"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// A table is filled to four fifths: fuller ones were measured slower, since an
// absent key is then looked for over several cache lines.
const fullTenths = 8

// larger is the size to grow to. Small tables grow fast; large ones by steps that
// leave little unused, as each step costs a pass over memory in order and no more.
func (t *table) larger() int {
	n := len(t.slots)
	switch {
	case n < 1<<20:
		return 4 * n
	case n < 1<<22:
		return 2 * n
	default:
		return n / 2 * 3
	}
}

// growTo makes the table larger. The caller is its only user.
func (t *table) growTo(n int) {
	old := len(t.slots)
	t.extend(n)
	if t.refill != nil {
		clear(t.slots[:old])
		t.refill()
		return
	}
	t.spreadOut(old)
}

// room is how many of n slots may be used.
func room(n int) int64 { return int64(n) / 10 * fullTenths }

func (t *table) extend(n int) {
	slots, err := t.memory.extend(n)
	if err != nil {
		panic(&engineError{err})
	}
	t.limit.Add(room(n) - room(len(t.slots)))
	t.slots = slots
}

// helpers is the number of goroutines that share a pass over the table. Whoever
// has the handles of all workers has their cores too.
func (t *table) helpers(work int) int {
	return max(1, min(len(t.handles), runtime.GOMAXPROCS(0), work/growPart))
}

const growPart = 1 << 16 // slots that a helper takes at once

// spreadOut moves the keys of the first old slots to their places in all of them,
// without a second array. The keys whose new places lie beyond the old array go
// first. They come from its top, which is then free for those whose new places lie
// there, and so on downwards. Each such pass may be shared, since it reads and
// writes different parts of the array. A key that collisions have pushed around the
// end of the array lies among smaller ones, and goes to its place with these.
func (t *table) spreadOut(old int) {
	slots, n := t.slots, len(t.slots)
	var aside []uint64 // keys that are not where such a pass expects them
	var mu sync.Mutex
	put := func(rest []uint64) {
		mu.Lock()
		aside = append(aside, rest...)
		mu.Unlock()
	}
	top := old // from here on every key is at its new place
	for top > leastSlots/4 {
		// The keys from least on have new places from top on.
		least, remainder := bits.Div64(uint64(top), 0, uint64(n))
		if remainder > 0 {
			least++
		}
		from := home(least, old)
		t.share(from, top, func(part []uint64) { put(moveUp(part, slots, least)) })
		top = from
	}
	for i, key := range slots[:top] {
		if key != 0 {
			aside = append(aside, key)
			slots[i] = 0
		}
	}
	for _, key := range aside {
		t.add(key)
	}
}

// moveUp moves the keys of part, which are at least least, to their places in
// slots. It returns those that are less, and those that find no place before the
// end.
func moveUp(part, slots []uint64, least uint64) (rest []uint64) {
next:
	for i, key := range part {
		if key == 0 {
			continue
		}
		part[i] = 0
		if key >= least {
			for j := home(key, len(slots)); j < len(slots); j++ {
				if atomic.LoadUint64(&slots[j]) == 0 && atomic.CompareAndSwapUint64(&slots[j], 0, key) {
					continue next
				}
			}
		}
		rest = append(rest, key)
	}
	return rest
}

// share has helpers work on parts of the slots between from and to.
func (t *table) share(from, to int, work func(part []uint64)) {
	var next atomic.Int64
	next.Store(int64(from))
	all := func() {
		for {
			at := int(next.Add(growPart)) - growPart
			if at >= to {
				return
			}
			work(t.slots[at:min(at+growPart, to)])
		}
	}
	var wg sync.WaitGroup
	for range t.helpers(to-from) - 1 {
		wg.Go(all)
	}
	all()
	wg.Wait()
}

// keys gives all keys in ascending order, for tests and small tables.
func (t *table) keys() []uint64 {
	var keys []uint64
	for _, key := range t.slots {
		if key != 0 {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}
