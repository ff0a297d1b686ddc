package checker

import (
	"fmt"
	"sync/atomic"
)

// transition is what a step of one process does, in numbers.
type transition struct {
	delta  uint64 // what it adds to the sum of hashes
	next   uint32 // id of the process after it
	acting uint32 // number of what SightActing shows of that one
	out    [2]uint32
	conn   [2]uint16 // of out
	args   uint32
	props  uint16 // index into tuples.props, 0: none
	action ActionID
	flags  uint8
}

func (e *transition) instance() Instance { return Instance{e.action, e.args} }

// hint is the part of a state that a step of process i changes for checks.
func (e *transition) hint(i int) uint32 { return uint32(e.flags&flagChecked/flagChecked) << i }

const (
	flagObserve uint8 = 1 << iota
	flagKeep
	// flagChecked: checks see a difference.
	flagChecked
	// flagImmediate+i: out[i] is delivered within the step.
	flagImmediate
	_
)

// listing is a list of transitions that is remembered: where it is, how long
// it is, and whether a mask of bounds precedes it. 0 is a list not asked for.
type listing uint64

const (
	listedBit  listing = 1 << 63
	boundedBit listing = 1 << 62
	// emptyList is a list without transitions and bounds.
	emptyList = listedBit

	arenaBits = 12
	arenaLen  = 1 << arenaBits
)

// arena keeps lists of transitions in pages that do not move.
type arena struct {
	page [1 << 16]*[arenaLen]transition
	last int
	used int
}

// store copies a list into the arena. The caller holds the lock.
func (a *arena) store(list []transition, bounded uint32) listing {
	l := listedBit
	need := len(list)
	if bounded != 0 {
		l |= boundedBit
		need++
	}
	if need == 0 {
		return l
	}
	if need > arenaLen {
		panic(fmt.Errorf("checker: a process has %d steps at once, the limit is %d", len(list), arenaLen-1))
	}
	if a.page[a.last] == nil || a.used+need > arenaLen {
		if a.page[a.last] != nil {
			a.last++
		}
		a.page[a.last] = new([arenaLen]transition)
		a.used = 0
	}
	p := a.page[a.last][a.used:]
	if bounded != 0 {
		p[0].next = bounded
		p = p[1:]
	}
	copy(p, list)
	l |= listing(a.last)<<32 | listing(a.used)<<16 | listing(need)
	a.used += need
	return l
}

// list gives the transitions of l and the bounds that kept others out of it.
func (a *arena) list(l listing) ([]transition, uint32) {
	if l == emptyList {
		return nil, 0
	}
	from, n := int(l>>16&0xffff), int(l&0xffff)
	list := a.page[l>>32&0xffff][from : from+n]
	if l&boundedBit != 0 {
		return list[1:], list[0].next
	}
	return list, 0
}

// memo remembers lists by key. Look-ups take no lock; put needs one.
type memo struct {
	entries atomic.Pointer[[]memoEntry]
	n       int
}

type memoEntry struct {
	key  uint64
	list listing
}

func newMemo() *memo {
	m := &memo{}
	entries := make([]memoEntry, 1<<10)
	m.entries.Store(&entries)
	return m
}

// get returns the list of key, or 0.
func (m *memo) get(key uint64) listing {
	entries := *m.entries.Load()
	mask := uint64(len(entries) - 1)
	for i := mix(key, spread) & mask; ; i = (i + 1) & mask {
		e := &entries[i]
		k := atomic.LoadUint64(&e.key)
		if k == key {
			return e.list
		}
		if k == 0 {
			return 0
		}
	}
}

// put adds a key, not 0, that get does not know.
func (m *memo) put(key uint64, list listing) {
	entries := *m.entries.Load()
	if m.n++; 2*m.n > len(entries) {
		larger := make([]memoEntry, 2*len(entries))
		for _, e := range entries {
			if e.key != 0 {
				putEntry(larger, e.key, e.list)
			}
		}
		putEntry(larger, key, list)
		m.entries.Store(&larger)
		return
	}
	putEntry(entries, key, list)
}

func putEntry(entries []memoEntry, key uint64, list listing) {
	mask := uint64(len(entries) - 1)
	i := mix(key, spread) & mask
	for entries[i].key != 0 {
		i = (i + 1) & mask
	}
	entries[i].list = list
	atomic.StoreUint64(&entries[i].key, key) // the list first: readers take no lock
}
