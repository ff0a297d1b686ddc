package checker

import (
	"bytes"
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"
)

// In an exact search a slot of the table holds the place of a packed state, below
// some bits of its key. Only states that agree in those bits are compared. They
// are low bits, since the high ones gave the slot.
const (
	placeBits = 40
	placeMask = 1<<placeBits - 1
	pageShift = 20
	stateRoom = 1 << pageShift // bytes of a page
)

func exactSlot(key, place uint64) uint64 { return key<<placeBits | place }

// archive has the packed states of an exact search, in pages that do not move, so
// that all workers can read states that a slot of the table has told them of.
// Each page is filled by one worker.
type archive struct {
	mu    sync.Mutex
	dir   [1 << (placeBits - pageShift - 10)]*[1 << 10]*statePage
	pages atomic.Uint64 // in use; number 0 is not, so that no place is 0
	words [][]uint64
}

type statePage struct {
	used  int
	bytes *[stateRoom]byte
}

func (a *archive) page(number uint64) *statePage { return a.dir[number>>10][number&(1<<10-1)] }

// at gives the bytes from a place on.
func (a *archive) at(place uint64) []byte {
	return a.page(place >> pageShift).bytes[place&(stateRoom-1):]
}

// add makes a page, and returns its number.
func (a *archive) add() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	number := a.pages.Load() + 1
	if number >= 1<<(placeBits-pageShift) {
		panic(&engineError{fmt.Errorf("more than %d bytes of packed states", uint64(1)<<placeBits)})
	}
	if a.dir[number>>10] == nil {
		a.dir[number>>10] = new([1 << 10]*statePage)
	}
	words := allocWords(stateRoom / 8)
	a.words = append(a.words, words)
	a.dir[number>>10][number&(1<<10-1)] = &statePage{bytes: (*[stateRoom]byte)(unsafe.Pointer(&words[0]))}
	a.pages.Store(number)
	return number
}

func (a *archive) bytes() uint64 { return a.pages.Load() * stateRoom }

func (a *archive) free() {
	for _, w := range a.words {
		freeWords(w)
	}
	a.words = nil
}

// shelf is where one worker puts the states that it finds.
type shelf struct {
	number uint64 // of its page; 0: none yet
	page   *statePage
	places [ringSize]uint64 // of the new states of a batch
	packed []byte
}

// insertExact is table.insert for the first n states of the ring, compared as a
// whole. A state is written before its slot says where; if another worker was
// faster, the room is used for the next.
func (w *worker[S]) insertExact(n int) (fresh uint64) {
	k, t, shelf := w.sink, w.run.seen, &w.shelf
	t.enter(w.seen, k.fps[:n])
	for i, fp := range k.fps[:n] {
		clear(bytesOf(&w.blank))
		packed := w.codec.pack(shelf.packed[:0], &w.blank, &k.ring[i])
		if shelf.page == nil || shelf.page.used+len(packed) > stateRoom {
			shelf.number = w.run.archive.add()
			shelf.page = w.run.archive.page(shelf.number)
		}
		copy(shelf.page.bytes[shelf.page.used:], packed)
		place := shelf.number<<pageShift | uint64(shelf.page.used)
		if t.addExact(scramble(fp), place, func(other uint64) bool {
			return bytes.HasPrefix(w.run.archive.at(other), packed)
		}) {
			fresh |= 1 << uint(i)
			shelf.places[i] = place
			shelf.page.used += len(packed)
		}
	}
	t.leave(w.seen, fresh)
	return fresh
}

// addExact inserts a place unless there is one of the same state.
func (t *table) addExact(key, place uint64, same func(place uint64) bool) bool {
	slots, slot := t.slots, exactSlot(key, place)
	for i := home(key, len(slots)); ; {
		v := atomic.LoadUint64(&slots[i])
		if v == 0 {
			if atomic.CompareAndSwapUint64(&slots[i], 0, slot) {
				return true
			}
			continue
		}
		if (v^slot)&^placeMask == 0 && same(v&placeMask) {
			return false
		}
		if i++; i == len(slots) {
			i = 0
		}
	}
}

// refill inserts all states again into a table that was cleared. It reads them in
// the order in which they lie, which is much faster than to ask for the key of one
// slot after the other.
func (s *search[S]) refill() {
	last := s.archive.pages.Load()
	var next atomic.Uint64
	work := func() {
		for {
			number := next.Add(1)
			if number > last {
				return
			}
			s.refillPage(number)
		}
	}
	var wg sync.WaitGroup
	for range s.seen.helpers(int(last)*growPart) - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
}

func (s *search[S]) refillPage(number uint64) {
	var keys, places [ringSize]uint64
	page, never := s.archive.page(number), func(uint64) bool { return false }
	for at := 0; at < page.used; {
		n := 0
		for n < ringSize && at < page.used {
			var state S
			rest := codec[S]{}.unpack(page.bytes[at:page.used], &state)
			keys[n], places[n] = scramble(fingerprint(s.finger, &state)), number<<pageShift|uint64(at)
			atomic.LoadUint64(&s.seen.slots[home(keys[n], len(s.seen.slots))]) // as table.enter
			at = page.used - len(rest)
			n++
		}
		for i, key := range keys[:n] {
			s.seen.addExact(key, places[i], never)
		}
	}
}
