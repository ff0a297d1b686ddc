package checker

import "sync"

// chunk is a piece of a level, packed. Its states follow each other in the log of
// the worker that found them, from base on. In an exact search the bytes are
// those of the states that the worker keeps, each packed by itself; otherwise
// each state is packed against the one before it.
type chunk struct {
	base ordinal
	n    int
	data []byte
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

// chunkPool has the chunks that are not in use. One that was expanded goes back to
// it at once, so that a level gives its memory to the next while it shrinks.
type chunkPool struct {
	mu    sync.Mutex
	room  int // bytes of a chunk; 0: chunks only refer to bytes that are elsewhere
	free  []*chunk
	slabs [][]uint64
}

func newChunkPool(mostPacked int) *chunkPool {
	return &chunkPool{room: min(max(chunkBytes, 4*mostPacked+7)&^7, slabBytes)}
}

func (p *chunkPool) get() *chunk {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.free) == 0 {
		p.more()
	}
	c := p.free[len(p.free)-1]
	p.free = p.free[:len(p.free)-1]
	c.n, c.data = 0, c.data[:0]
	return c
}

func (p *chunkPool) put(c *chunk) {
	p.mu.Lock()
	p.free = append(p.free, c)
	p.mu.Unlock()
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
	words := allocWords(slabBytes / 8)
	p.slabs = append(p.slabs, words)
	slab := bytesOfWords(words)
	list := make([]chunk, slabBytes/p.room)
	for i := range list {
		list[i].data = slab[i*p.room : i*p.room : (i+1)*p.room]
		p.free = append(p.free, &list[i])
	}
}

// bytes is the memory of all chunks.
func (p *chunkPool) bytes() uint64 { return uint64(len(p.slabs)) * slabBytes }

func (p *chunkPool) release() {
	for _, s := range p.slabs {
		freeWords(s)
	}
	p.slabs, p.free = nil, nil
}
