package checker

import (
	"bytes"
	"fmt"
	"sync/atomic"
)

const (
	pageBits = 10
	pageLen  = 1 << pageBits
	maxPages = 1 << 14
	maxIDs   = pageLen*maxPages - 1
)

// pages is an array that grows without moving: who knows an id may read its
// entry without a lock, since the entry was written before the id was passed on.
type pages[T any] struct {
	page [maxPages]*[pageLen]T
}

func (p *pages[T]) at(id uint32) *T { return &p.page[id>>pageBits][id%pageLen] }

// grow makes room for id. Only the holder of the lock may call it.
func (p *pages[T]) grow(id uint32) *T {
	if p.page[id>>pageBits] == nil {
		p.page[id>>pageBits] = new([pageLen]T)
	}
	return p.at(id)
}

// interner numbers the distinct values of a type, from 1 on. Look-ups take no
// lock; put needs one.
type interner[T any] struct {
	values pages[T]
	hashes pages[uint64]
	index  atomic.Pointer[[]uint32] // open addressing; 0 is free
	n      uint32
}

func newInterner[T any]() *interner[T] {
	t := &interner[T]{}
	index := make([]uint32, 1<<8)
	t.index.Store(&index)
	return t
}

// find returns the id of a value with hash h, or 0.
func (t *interner[T]) find(h uint64, x *T) uint32 {
	index := *t.index.Load()
	mask := uint64(len(index) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		id := atomic.LoadUint32(&index[i])
		if id == 0 {
			return 0
		}
		if *t.hashes.at(id) == h && bytes.Equal(bytesOf(t.values.at(id)), bytesOf(x)) {
			return id
		}
	}
}

// intern returns the id of a value with hash h, which may be new.
func (t *interner[T]) intern(h uint64, x *T) uint32 {
	if id := t.find(h, x); id != 0 {
		return id
	}
	return t.put(h, x)
}

// room makes sure that n more values fit.
func (t *interner[T]) room(n int) {
	if int(t.n)+n > maxIDs {
		panic(fmt.Errorf("checker: more than %d distinct values of one component", maxIDs))
	}
}

// put numbers a value that find does not know.
func (t *interner[T]) put(h uint64, x *T) uint32 {
	t.room(1)
	id := t.n + 1
	*t.values.grow(id) = *x
	*t.hashes.grow(id) = h
	t.n = id
	index := *t.index.Load()
	if 2*int(id) > len(index) {
		larger := make([]uint32, 2*len(index))
		for k := uint32(1); k < id; k++ {
			place(larger, *t.hashes.at(k), k)
		}
		place(larger, h, id)
		t.index.Store(&larger)
		return id
	}
	place(index, h, id)
	return id
}

func place(index []uint32, h uint64, id uint32) {
	mask := uint64(len(index) - 1)
	i := h & mask
	for index[i] != 0 {
		i = (i + 1) & mask
	}
	atomic.StoreUint32(&index[i], id)
}
