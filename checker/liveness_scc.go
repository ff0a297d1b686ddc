package checker

// sccFinder finds strongly connected components of parts of a state graph, by
// Tarjan's algorithm with its own stack: a path through millions of states would
// overflow that of a recursive one.
type sccFinder struct {
	g *liveGraph
	// part has, for each state, the part of the graph that it belongs to; 0: none.
	// Edges between parts do not count.
	part []uint32
	// cut says of an edge from a state that it does not count.
	cut func(s, e uint32) bool

	index, low []uint32 // 0: not visited; done: in a component
	next       uint32
	stack      []uint32
	path       []sccFrame
}

type sccFrame struct{ state, edge uint32 }

const sccDone = ^uint32(0)

func newSCCFinder(g *liveGraph) *sccFinder {
	return &sccFinder{g: g, part: make([]uint32, g.n), index: make([]uint32, g.n), low: make([]uint32, g.n)}
}

// inside says whether an edge stays in the part of its state.
func (f *sccFinder) inside(s, e uint32) bool {
	return f.part[f.g.to[e]] == f.part[s] && !f.g.never(e) && (f.cut == nil || !f.cut(s, e))
}

// components calls yield for each component of the part that the given states
// make up. The slice is used again; yield may change the parts of its states, and
// not those of others.
func (f *sccFinder) components(states []uint32, yield func(component []uint32)) {
	for _, s := range states {
		f.index[s] = 0
	}
	f.next = 1
	for _, root := range states {
		if f.index[root] == 0 {
			f.walk(root, yield)
		}
	}
}

func (f *sccFinder) enter(s uint32) {
	f.index[s], f.low[s] = f.next, f.next
	f.next++
	f.stack = append(f.stack, s)
	f.path = append(f.path, sccFrame{s, f.g.first[s]})
}

func (f *sccFinder) walk(root uint32, yield func([]uint32)) {
	f.enter(root)
	for len(f.path) > 0 {
		top := &f.path[len(f.path)-1]
		s := top.state
		if top.edge < f.g.first[s+1] {
			e := top.edge
			top.edge++
			if !f.inside(s, e) {
				continue
			}
			switch t := f.g.to[e]; f.index[t] {
			case 0:
				f.enter(t)
			case sccDone:
			default:
				f.low[s] = min(f.low[s], f.index[t])
			}
			continue
		}
		f.path = f.path[:len(f.path)-1]
		if n := len(f.path); n > 0 {
			above := f.path[n-1].state
			f.low[above] = min(f.low[above], f.low[s])
		}
		if f.low[s] != f.index[s] {
			continue
		}
		from := len(f.stack)
		for {
			from--
			t := f.stack[from]
			f.index[t] = sccDone
			if t == s {
				break
			}
		}
		component := f.stack[from:]
		f.stack = f.stack[:from]
		yield(component)
	}
}
