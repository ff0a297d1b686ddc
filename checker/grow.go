package checker

import (
	"math/bits"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// Shares of a table that may be used, in hundredths. A fuller one is slower, since
// an absent key is then looked for over several cache lines. Where memory is what
// is short, in large tables and those that spill, to save it is worth that.
const (
	fullShare    = 65
	crowdedShare = 80
	largeTable   = 1 << 28 // slots, 2 GiB
)

// room is how many of n slots may be used.
func room(n int) int64 {
	if n < largeTable {
		return int64(n) / 100 * fullShare
	}
	return crowded(n)
}

func crowded(n int) int64 { return int64(n) / 100 * crowdedShare }

// larger is the size to grow to. Small tables grow fast; large ones by steps that
// leave little unused, as each step costs a pass over memory in order and no more.
func (t *table) larger() int {
	n := len(t.slots)
	switch {
	case n < 1<<20:
		return 4 * n
	case n < 1<<22:
		return 2 * n
	case n < largeTable:
		return n / 2 * 3
	default:
		return n / 8 * 9
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
		from := home(leastAt(top, n), old) // keys from there on have places from top on
		t.share(from, top, func(first, end int) {
			// The places that no key of another part has.
			low, high := max(top, home(leastAt(first, old), n)), n
			if end < old {
				high = home(leastAt(end, old), n)
			}
			put(moveUp(slots, first, end, low, high))
		})
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

// leastAt is the least key that has its home in slot i of n, or later.
func leastAt(i, n int) uint64 {
	least, remainder := bits.Div64(uint64(i), 0, uint64(n))
	if remainder > 0 {
		least++
	}
	return least
}

// moveUp moves the keys between first and end to their places, if these are between
// low and high, where nobody else writes. It returns the keys that have no place
// there.
func moveUp(slots []uint64, first, end, low, high int) (rest []uint64) {
	places := slots[:high]
next:
	for i, key := range slots[first:end] {
		if key == 0 {
			continue
		}
		slots[first+i] = 0
		j := home(key, len(slots))
		if j >= low {
			for ; j < len(places); j++ {
				if places[j] == 0 {
					places[j] = key
					continue next
				}
			}
		}
		rest = append(rest, key)
	}
	return rest
}

// share has helpers work on parts of what is between from and to.
func (t *table) share(from, to int, work func(first, end int)) {
	var next atomic.Int64
	next.Store(int64(from))
	all := func() {
		for {
			at := int(next.Add(growPart)) - growPart
			if at >= to {
				return
			}
			work(at, min(at+growPart, to))
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
