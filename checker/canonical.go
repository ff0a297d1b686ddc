package checker

// stateParts is how many components a tuple has at most.
const stateParts = MaxProcesses + MaxMessages + 1

// turned says how a state became the representative of its orbit.
type turned struct {
	fp    uint64
	perm  int // that made it
	fixed int // how many permutations leave it as it is
}

// turn replaces t by the representative of its orbit. Members of a group are put
// in the order of their marks, which are sums over the parts of the state and the
// same whatever the names; where marks are equal, all orders are tried, and the one with the
// least fingerprint is taken. Nothing depends on the numbers of components.
func (w *tupleWorker) turn(t *Tuple) turned {
	y := w.sym
	var parts [stateParts]*orbit
	n := 0
	for i := range w.processes {
		parts[n] = y.processes.at(t[i])
		n++
	}
	for x := tupleNet; x < tupleGhost && t[x] != 0; x++ {
		parts[n] = y.messages.at(t[x])
		n++
	}
	parts[n] = y.ghosts.at(t.ghost())
	n++
	var marks [maxMoved]uint64
	for _, o := range parts[:n] {
		for a := range y.moved {
			marks[a] += o.mark[a]
		}
	}
	k, tied := 0, false
	for i := range y.groups {
		g := &y.groups[i]
		order, bit := 0, 0
		for a := g.from; a < g.to; a++ {
			for b := a + 1; b < g.to; b++ {
				if marks[a] > marks[b] {
					order |= 1 << bit
				}
				tied = tied || marks[a] == marks[b]
				bit++
			}
		}
		k += int(g.byOrder[order]) * g.stride
	}
	var u Tuple
	if tied {
		fixed, all := w.twins(t, parts[:n], &marks)
		if !all {
			return w.least(t, parts[:n], &marks)
		}
		fp := w.image(&u, t, parts[:n], k)
		*t = u
		return turned{fp, k, fixed}
	}
	fp := w.image(&u, t, parts[:n], k)
	*t = u
	return turned{fp, k, 1}
}

// image sets u to what permutation k makes of t, and returns its fingerprint.
func (w *tupleWorker) image(u, t *Tuple, parts []*orbit, k int) uint64 {
	p := w.sym.perms[k]
	*u = Tuple{}
	copy(u[tupleBudgets:], t[tupleBudgets:])
	h := uint64(0)
	for _, b := range w.counters {
		h += w.spent[b][t.budget(b)]
	}
	for i, o := range parts[:w.processes] {
		to := &o.image[k]
		u[p[i]] = to.id
		h += to.hash
	}
	last := len(parts) - 1
	for x, o := range parts[w.processes:last] {
		to := &o.image[k]
		u.insert(x, to.id)
		h += to.hash
	}
	to := &parts[last].image[k]
	u[tupleGhost] = to.id
	return h + to.hash
}

// twins says whether all members with the same marks may be exchanged without any
// change of t, which is the usual reason for their being the same, and how many
// permutations do that.
func (w *tupleWorker) twins(t *Tuple, parts []*orbit, marks *[maxMoved]uint64) (fixed int, all bool) {
	y := w.sym
	fixed = 1
	var u Tuple
	for i := range y.groups {
		g := &y.groups[i]
		for b := g.from; b < g.to; b++ {
			before, last := 0, 0
			for a := g.from; a < b; a++ {
				if marks[a] == marks[b] {
					before++
					last = a
				}
			}
			if before == 0 {
				continue
			}
			w.image(&u, t, parts, y.swaps[last][b])
			if u != *t {
				return 0, false
			}
			fixed *= before + 1
		}
	}
	return fixed, true
}

// least replaces t by the least of all images that have the members in the order
// of their marks.
func (w *tupleWorker) least(t *Tuple, parts []*orbit, marks *[maxMoved]uint64) turned {
	y := w.sym
	var best, u Tuple
	var r turned
	for k, p := range y.perms {
		if !y.sorts(p, marks) {
			continue
		}
		fp := w.image(&u, t, parts, k)
		switch {
		case r.fixed == 0 || fp < r.fp || fp == r.fp && u != best && w.contentLess(&u, &best):
			best, r = u, turned{fp, k, 1}
		case u == best:
			r.fixed++
		}
	}
	*t = best
	return r
}

// sorts says whether p puts the members of each group in the order of their marks.
func (y *symmetry) sorts(p Perm, marks *[maxMoved]uint64) bool {
	for i := range y.groups {
		g := &y.groups[i]
		for a := g.from; a < g.to; a++ {
			for b := g.from; b < g.to; b++ {
				if marks[a] < marks[b] && p[y.moved[a]] > p[y.moved[b]] {
					return false
				}
			}
		}
	}
	return true
}

// turnHint carries a hint over to the representative. Above the hint goes how many
// permutations leave that as it is.
func (w *tupleWorker) turnHint(hint uint32, r turned) uint32 {
	if hint == everything {
		return hint
	}
	to := hint & ghostHint
	for i, j := range w.sym.perms[r.perm][:w.processes] {
		to |= hint >> i & 1 << j
	}
	return to | uint32(r.fixed)<<fixedShift
}

const fixedShift = 8

// commit is Sink.commit, up to symmetry if that is wanted.
func (w *tupleWorker) commit(out *Sink[Tuple], sum uint64, hint uint32, process int, i Instance, violated, reached Props) {
	if w.sym != nil && out.collect == nil {
		r := w.turn(out.Slot())
		sum, hint = r.fp, w.turnHint(hint, r)
	}
	out.commit(sum, hint, process, i, violated, reached)
}

// stands is how many states a representative stands for, whose hint is given.
func (w *tupleWorker) stands(t *Tuple, hint uint32) int {
	fixed := int(hint >> fixedShift)
	if hint == everything {
		u := *t
		fixed = w.turn(&u).fixed
	}
	return len(w.sym.perms) / fixed
}
