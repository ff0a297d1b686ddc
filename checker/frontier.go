package checker

import (
	"sync"
	"sync/atomic"
)

// chunk is a piece of a level, packed. Its states follow each other in the log of
// the worker that found them, from base on. In an exact search the bytes are
// those of the states that the worker keeps, each packed by itself; otherwise
// each state is packed against the one before it.
type chunk struct {
	base ordinal
	n    int
	data []byte
	file *spillFile // nil: data has the bytes
	part piece      // of the file
	// place is where the archive has the first state, in an exact search.
	place uint64
}

const (
	// chunkBytes is the room in a chunk. Small ones waste less at the end of a level,
	// and a level of a few thousand states still has one for each of some workers.
	chunkBytes = 4 << 10
	// chunkStates is how many states a worker takes at once, at most.
	chunkStates = 512
	// maxPacked is the largest packing of a state that a chunk can hold.
	maxPacked = slabBytes
	slabBytes = 1 << 20
)

// load gives the bytes of c, read into dst if they are on disk.
func (c *chunk) load(dst []byte) ([]byte, error) {
	if c.file == nil {
		return c.data, nil
	}
	return c.file.read(dst, c.part)
}

// chunkPool has the chunks that are not in use. One that was expanded goes back to
// it at once, so that a level gives its memory to the next while it shrinks.
type chunkPool struct {
	mu    sync.Mutex
	room  int // bytes of a chunk; 0: chunks only refer to bytes that are elsewhere
	slab  int // bytes to make chunks of at once
	most  int // bytes in memory, if there is a disk; 0: no limit
	held  int
	free  []*chunk
	bare  []*chunk // without memory, for chunks on disk
	slabs [][]uint64
}

// chunkRoom is the bytes of a chunk, for states whose packing has at most so many.
func chunkRoom(mostPacked int) int {
	return min(max(chunkBytes, 4*mostPacked+7)&^7, slabBytes)
}

func newChunkPool(room int) *chunkPool { return &chunkPool{room: room, slab: slabBytes} }

// get returns an empty chunk, or nil if there is none and no memory for more.
func (p *chunkPool) get() *chunk {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.free) == 0 && p.most > 0 && p.held+p.slab > p.most {
		return nil
	}
	return p.take()
}

// must is get, whatever it takes.
func (p *chunkPool) must() *chunk {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.take()
}

func (p *chunkPool) take() *chunk {
	if len(p.free) == 0 {
		p.more()
	}
	c := p.free[len(p.free)-1]
	p.free = p.free[:len(p.free)-1]
	c.n, c.data = 0, c.data[:0]
	return c
}

// put takes back a chunk that is no longer needed.
func (p *chunkPool) put(c *chunk) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.file != nil {
		p.bare = append(p.bare, c)
	} else {
		p.free = append(p.free, c)
	}
}

// moved takes the memory of a chunk whose bytes are on disk now, and returns what
// stands for it.
func (p *chunkPool) moved(c *chunk, file *spillFile, part piece) *chunk {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.bare) == 0 {
		list := make([]chunk, 256)
		for i := range list {
			p.bare = append(p.bare, &list[i])
		}
	}
	d := p.bare[len(p.bare)-1]
	p.bare = p.bare[:len(p.bare)-1]
	*d = chunk{base: c.base, n: c.n, file: file, part: part}
	p.free = append(p.free, c)
	return d
}

// more makes chunks of one slab of memory.
func (p *chunkPool) more() {
	if p.room == 0 {
		list := make([]chunk, 256)
		for i := range list {
			p.free = append(p.free, &list[i])
		}
		return
	}
	words := allocWords(p.slab / 8)
	p.slabs = append(p.slabs, words)
	p.held += p.slab
	slab := bytesOfWords(words)
	list := make([]chunk, p.slab/p.room)
	for i := range list {
		list[i].data = slab[i*p.room : i*p.room : (i+1)*p.room]
		p.free = append(p.free, &list[i])
	}
}

// bytes is the memory of all chunks.
func (p *chunkPool) bytes() uint64 { return uint64(p.held) }

func (p *chunkPool) release() {
	for _, s := range p.slabs {
		freeWords(s)
	}
	p.slabs, p.free, p.bare = nil, nil, nil
}

// spillBytes is how much of the frontier is written at once.
const spillBytes = 256 << 10

// spillChunks writes chunks of the next level to disk, the oldest in memory first.
func (w *worker[S]) spillChunks() {
	from := w.spilled
	n := from
	w.spilling = w.spilling[:0]
	for n < len(w.next) && (n == from || len(w.spilling)+len(w.next[n].data) <= spillBytes) {
		w.spilling = append(w.spilling, w.next[n].data...)
		n++
	}
	at := w.out.size
	if err := w.out.write(w.spilling); err != nil {
		panic(&engineError{err})
	}
	for i, c := range w.next[from:n] {
		part := piece{at, uint32(len(c.data)), sumOf(c.data)}
		at += int64(part.size)
		w.next[from+i] = w.run.chunks.moved(c, w.out, part)
	}
	w.spilled = n
}

// line puts the chunks that the workers found into one line. Those in memory come
// first: what they take is soon wanted for the next level.
func (s *search[S]) line() error {
	for _, onDisk := range []bool{false, true} {
		for _, w := range s.workers {
			for _, c := range w.next {
				if (c.file != nil) == onDisk {
					s.level = append(s.level, c)
				}
			}
		}
	}
	for _, w := range s.workers {
		clear(w.next)
		w.next, w.spilled = w.next[:0], 0
		if w.out == nil {
			continue
		}
		if err := w.in.reset(); err != nil { // the level before is expanded
			return err
		}
		w.in, w.out = w.out, w.in
	}
	return nil
}

// share is a part of a level that one worker takes chunks from first.
type share struct {
	next atomic.Int64
	end  int64
	_    [6]uint64 // shares are on different cache lines
}

// share divides the level among the workers. A worker first takes those states that
// it found itself, by and large: its caches have them, and what is next to them.
func (s *search[S]) share() {
	inMemory := 0
	for inMemory < len(s.level) && s.level[inMemory].file == nil {
		inMemory++
	}
	n := len(s.workers)
	for i, r := range [2][2]int{{0, inMemory}, {inMemory, len(s.level)}} {
		if s.shares[i] == nil {
			s.shares[i] = make([]share, n)
		}
		for k := range n {
			s.shares[i][k].next.Store(int64(r[0] + (r[1]-r[0])*k/n))
			s.shares[i][k].end = int64(r[0] + (r[1]-r[0])*(k+1)/n)
		}
	}
}

// take gives the index of a chunk that nobody has taken, or -1.
func (s *search[S]) take(worker int) int {
	for _, shares := range s.shares {
		for k := range shares {
			h := &shares[(worker+k)%len(shares)]
			if h.next.Load() < h.end {
				if i := h.next.Add(1) - 1; i < h.end {
					return int(i)
				}
			}
		}
	}
	return -1
}
