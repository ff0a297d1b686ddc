package checker

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
)

// ref says how a state was first reached: the ordinal of the state before it,
// and which of that state's successors it is, counted from 0 in the order in
// which Next emits them. Running Next again then finds the step, so that a ref a
// state is enough for counterexamples of any length.
type ref uint64

// ordinal numbers a distinct state: the worker that found it and its position
// in that worker's log.
type ordinal uint64

const (
	edgeBits   = 24
	indexBits  = 32
	maxWorkers = 1 << (64 - edgeBits - indexBits)
	maxEdge    = 1<<edgeBits - 1

	// initial stands for the state before an initial state.
	initial ordinal = 1<<(64-edgeBits) - 1
)

func makeRef(parent ordinal, edge uint32) ref { return ref(parent)<<edgeBits | ref(edge) }
func (r ref) parent() ordinal                 { return ordinal(r >> edgeBits) }
func (r ref) edge() uint32                    { return uint32(r & maxEdge) }

func makeOrdinal(worker int, index uint32) ordinal {
	return ordinal(worker)<<indexBits | ordinal(index)
}
func (o ordinal) worker() int   { return int(o >> indexBits) }
func (o ordinal) index() uint32 { return uint32(o) }

// parentLog has the ref of every state that one worker found first. A worker
// expands states in the order of their ordinals, a chunk at a time, so that most
// parents follow the one before closely; such a ref takes one byte.
//
// The bytes are in pages, in memory or, but for the last, in a file.
type parentLog struct {
	used   uint64 // refs
	size   int64  // bytes
	blocks []int64
	parent ordinal // of the last ref
	page   []byte  // the last one, as far as it is filled
	ended  []piece // the others
	full   [][]byte
	file   *spillFile // nil: in memory
}

const (
	logPage  = 1 << 16 // bytes
	logBlock = 256     // refs; a block can be read without those before it

	// A ref begins with a byte: how far its parent is from the one before, in the
	// low bits, and its edge. The last value of each says that a varint follows.
	stepBits    = 3
	farStep     = 1<<stepBits - 1
	farEdge     = 1<<(8-stepBits) - 1
	maxRefBytes = 1 + 2*binary.MaxVarintLen64
)

func (l *parentLog) add(r ref) {
	if l.used%logBlock == 0 {
		l.blocks = append(l.blocks, l.size)
		l.parent = 0
	}
	l.used++
	step, edge := uint64(r.parent()-l.parent), r.edge()
	l.parent = r.parent()
	if len(l.page)+maxRefBytes > cap(l.page) {
		l.turn()
	}
	n := len(l.page)
	if step < farStep && edge < farEdge {
		l.page = append(l.page, byte(edge<<stepBits)|byte(step))
	} else {
		l.page = appendFar(l.page, step, edge)
	}
	l.size += int64(len(l.page) - n)
}

func appendFar(b []byte, step uint64, edge uint32) []byte {
	head := byte(min(edge, farEdge)<<stepBits) | byte(min(step, farStep))
	b = append(b, head)
	if step >= farStep {
		b = binary.AppendVarint(b, int64(step))
	}
	if edge >= farEdge {
		b = binary.AppendUvarint(b, uint64(edge))
	}
	return b
}

// turn begins a page.
func (l *parentLog) turn() {
	if l.page != nil {
		l.ended = append(l.ended, piece{l.size - int64(len(l.page)), uint32(len(l.page)), sumOf(l.page)})
	}
	if l.page != nil && l.file != nil {
		if err := l.file.write(l.page); err != nil {
			panic(&engineError{err})
		}
		l.page = l.page[:0]
		return
	}
	if l.page != nil {
		l.full = append(l.full, l.page)
	}
	l.page = bytesOfWords(allocWords(logPage / 8))[:0]
}

// at is the ref of the state with this index.
func (l *parentLog) at(index uint32) (ref, error) {
	block := int(index / logBlock)
	end := l.size
	if block+1 < len(l.blocks) {
		end = l.blocks[block+1]
	}
	b, err := l.read(l.blocks[block], end)
	if err != nil {
		return 0, err
	}
	parent := ordinal(0)
	for i := uint32(0); ; i++ {
		step, edge, n := refAt(b)
		if n == 0 {
			return 0, fmt.Errorf("the log of parents is damaged at byte %d", end-int64(len(b)))
		}
		b = b[n:]
		parent += ordinal(step)
		if i == index%logBlock {
			return makeRef(parent, edge), nil
		}
	}
}

// refAt decodes a ref, of so many bytes, 0 if there is none.
func refAt(b []byte) (step uint64, edge uint32, n int) {
	if len(b) == 0 {
		return 0, 0, 0
	}
	step, edge, n = uint64(b[0]&farStep), uint32(b[0]>>stepBits), 1
	if step == farStep {
		v, k := binary.Varint(b[n:])
		if k <= 0 {
			return 0, 0, 0
		}
		step, n = uint64(v), n+k
	}
	if edge == farEdge {
		v, k := binary.Uvarint(b[n:])
		if k <= 0 || v > maxEdge {
			return 0, 0, 0
		}
		edge, n = uint32(v), n+k
	}
	return step, edge, n
}

// read gives the bytes between two places of the log.
func (l *parentLog) read(from, to int64) ([]byte, error) {
	b := make([]byte, 0, to-from)
	take := func(page []byte, at int64) {
		if end := at + int64(len(page)); at < to && end > from {
			b = append(b, page[max(from-at, 0):min(to-at, int64(len(page)))]...)
		}
	}
	first, _ := slices.BinarySearchFunc(l.ended, from, func(p piece, from int64) int {
		return cmp.Compare(p.at+int64(p.size), from+1)
	})
	for i := first; i < len(l.ended) && l.ended[i].at < to; i++ {
		page := []byte(nil)
		if l.file == nil {
			page = l.full[i]
		} else {
			var err error
			if page, err = l.file.read(nil, l.ended[i]); err != nil {
				return nil, err
			}
		}
		take(page, l.ended[i].at)
	}
	take(l.page, l.size-int64(len(l.page)))
	return b, nil
}

// bytes is the memory that the log takes.
func (l *parentLog) bytes() uint64 {
	n := uint64(cap(l.page) + 8*cap(l.blocks) + 16*cap(l.ended))
	for _, p := range l.full {
		n += uint64(cap(p))
	}
	return n
}

func (l *parentLog) free() {
	for _, p := range append(l.full, l.page) {
		freeWords(wordsOfBytes(p[:cap(p)]))
	}
	l.full, l.page = nil, nil
}
