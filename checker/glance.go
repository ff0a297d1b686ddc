package checker

// glances remembers what Observe made of a step, where that violates nothing. It
// forgets when two steps want the same place, and then asks again.
type glances [1 << glanceBits]glance

const glanceBits = 14

// glance is all that Observe sees, in numbers, and the ghosts after it.
type glance struct {
	key   [MaxProcesses/2 + 1]uint64
	after uint32
}

// glance observes the step of process actor from old to t, whose ghosts are still
// those of before. It is given the numbers of what there is to see: of the actor
// before and after, and of all processes, that of the actor apart.
func (w *tupleWorker) glance(t *Tuple, actor int, old, acted, acting uint32, watched *[MaxProcesses]uint32) (ghost uint32, violated Props) {
	seen := *watched
	seen[actor] = acting
	key := [MaxProcesses/2 + 1]uint64{
		// Ids have less than 24 bits.
		uint64(t.ghost())<<32 | uint64(actor)<<24 | uint64(acted),
		uint64(seen[0])<<32 | uint64(seen[1]),
		uint64(seen[2])<<32 | uint64(seen[3]),
		uint64(seen[4])<<32 | uint64(seen[5]),
	}
	h := mix(key[0]^hashK0, key[1]^hashK1) ^ mix(key[2]^hashK2, key[3]^hashK3)
	g := &w.glances[h*spread>>(64-glanceBits)]
	if g.key == key {
		return g.after, 0
	}
	ghost, violated = w.observe(t, actor, old)
	if violated == 0 {
		g.key, g.after = key, ghost
	}
	return ghost, violated
}
