package checker

import (
	"cmp"
	"math/bits"
	"slices"
)

// maxSwarm bounds the states of one search of a swarm, and so the memory of a worker.
const maxSwarm = 1 << 26

// SwarmCounts are what the searches of a swarm came by, in all.
type SwarmCounts struct {
	// States is how many states a search expands at most.
	States int `json:"states"`
	// Expanded counts states that were expanded, by several searches perhaps.
	Expanded uint64 `json:"expanded"`
	// Exhausted counts searches that saw all of their part of the model, as far as
	// its depth; the others ended at States.
	Exhausted uint64 `json:"exhausted"`
	// Forgotten counts fingerprints that had to make room for others: their states
	// may have been expanded twice. Nothing is taken for seen that was not, but for
	// collisions of fingerprints.
	Forgotten uint64 `json:"forgotten"`
	// Off counts actions switched off, over all searches.
	Off uint64 `json:"switched_off"`
	// Bytes is what each worker remembers fingerprints in.
	Bytes uint64 `json:"bytes"`
}

func (c *SwarmCounts) add(o *SwarmCounts) {
	c.Expanded += o.Expanded
	c.Exhausted += o.Exhausted
	c.Forgotten += o.Forgotten
	c.Off += o.Off
	c.Bytes = o.Bytes
}

// swarm is the memory of a worker for one search after the other.
type swarm[S any] struct {
	memory bounded
	stack  stack[S]
	states int
	list   []entry[S] // scratch
}

func newSwarm[S any](states int) *swarm[S] {
	return &swarm[S]{memory: newBounded(states), states: states}
}

func (s *swarm[S]) free() { s.memory.free() }

// search is a depth-first search of at most so many states, with a depth, an order
// and some actions switched off that are drawn from its number; nil if interrupted.
// Narrow searches that differ reach more than a wide one that does not end.
func (w *simulator[S]) search(k uint64) *outcome {
	o := w.run.newOutcome()
	s := w.swarm
	s.memory.clear()
	s.stack.n = 0
	o.swarm.Bytes = s.memory.bytes()
	random := chance(w.run.opt.Seed^hashK2, k)
	w.character = random
	o.swarm.Off = w.switchOff(random)
	depth := w.searchDepth(random)

	w.begin()
	if w.judge(o, nil) {
		return o
	}
	w.pushKids(&o.swarm, 1, random)
	for s.stack.n > 0 {
		top := s.stack.top()
		if top.expanded || int(top.depth) > depth {
			s.stack.pop()
			continue
		}
		if int(o.swarm.Expanded) == s.states {
			return o
		}
		if o.swarm.Expanded%64 == 0 && w.run.ctx.Err() != nil {
			return nil
		}
		top.expanded = true
		o.swarm.Expanded++
		o.length = max(o.length, int(top.depth)-1)
		w.enumerate(&top.state)
		if len(w.kids) == 0 {
			continue
		}
		if w.judgeOnPath(o) {
			return o
		}
		for i := range w.kids {
			if w.liking(w.kids[i].instance.Action) > 0 {
				o.fired[w.kids[i].instance.Action]++
				o.steps++
			}
		}
		w.pushKids(&o.swarm, top.depth+1, random)
	}
	o.swarm.Exhausted = 1
	return o
}

// judgeOnPath is judge with the stack as the behaviour so far, which is only put
// together if it is needed.
func (w *simulator[S]) judgeOnPath(o *outcome) (end bool) {
	before := o.violated
	end = w.judge(o, nil)
	for p := range o.edges {
		if before>>p&1 == 0 {
			o.edges[p] = append(w.swarm.stack.path(), o.edges[p]...)
		}
	}
	return end
}

// switchOff draws the actions that a search does without, and says how many.
func (w *simulator[S]) switchOff(random uint64) (n uint64) {
	share := random >> 8 % 4 // of 10
	for a := range w.info.Actions {
		if w.off[a] = chance(random^hashK3, uint64(a))%10 < share; w.off[a] {
			n++
		}
	}
	return n
}

func (w *simulator[S]) searchDepth(random uint64) int {
	quarter := max(1, w.run.opt.Depth/4)
	return min(w.run.opt.Depth, quarter*int(1+random>>16%4))
}

// pushKids puts those kids on the stack that are not remembered, in a random order in
// which actions that are liked come first more often. The order is made before the
// memory is asked, which may forget and so must be asked in the same order each time.
func (w *simulator[S]) pushKids(c *SwarmCounts, depth uint32, random uint64) {
	s := w.swarm
	s.list = s.list[:0]
	for i := range w.kids {
		k := &w.kids[i]
		if depth > 1 && w.liking(k.instance.Action) == 0 {
			continue
		}
		s.list = append(s.list, entry[S]{state: k.state, fp: k.fp, edge: k.edge, depth: depth, lot: w.shuffle(k, random, depth)})
	}
	slices.SortFunc(s.list, func(a, b entry[S]) int {
		if a.lot != b.lot {
			return cmp.Compare(a.lot, b.lot)
		}
		return cmp.Compare(a.fp, b.fp)
	})
	for i := range s.list {
		fresh, forgot := s.memory.add(s.list[i].fp)
		if forgot {
			c.Forgotten++
		}
		if fresh {
			s.stack.push(s.list[i])
		}
	}
}

// shuffle is the place of a kid among its siblings; the greatest is on top.
func (w *simulator[S]) shuffle(k *kid[S], random uint64, depth uint32) float32 {
	h := w.lot(k, chance(random, uint64(depth)))
	if depth == 1 {
		return float32(h >> 40)
	}
	return float32(h>>40) * float32(w.liking(k.instance.Action))
}

// bounded remembers fingerprints in a fixed space: buckets of a cache line, in which
// a new one takes the place of another when all eight are taken.
type bounded struct {
	slots []uint64
	shift uint
}

func newBounded(states int) bounded {
	bitCount := max(uint(bits.Len(uint(states))), 6)
	return bounded{slots: allocWords(1 << bitCount), shift: 64 - (bitCount - 3)}
}

func (b *bounded) add(fp uint64) (fresh, forgot bool) {
	at := fp * spread >> b.shift << 3
	bucket := b.slots[at : at+8]
	for i, v := range bucket {
		if v == fp {
			return false, false
		}
		if v == 0 {
			bucket[i] = fp
			return true, false
		}
	}
	bucket[fp>>7&7] = fp
	return true, true
}

func (b *bounded) clear()        { clear(b.slots) }
func (b *bounded) bytes() uint64 { return uint64(len(b.slots)) * 8 }
func (b *bounded) free()         { freeWords(b.slots); b.slots = nil }
