package checker

import "slices"

// fairComponents finds the largest sets of states, within the given ones, through
// which a fair behaviour may go for ever, visiting all of each. They are strongly
// connected, or a single state in which stuttering for ever is fair.
//
// A component in which a weakly fair condition is always enabled and never taken has
// no fair behaviour, nor has any part of it. Where a strongly fair one is enabled in
// some state and never taken, a fair behaviour must keep away from such states in the
// end: they are taken out, and what is left falls into components again. That is the
// algorithm of Emerson and Lei for Streett conditions, with a list of work in place
// of recursion.
type fairComponents struct {
	scc *sccFinder
	// list has the states of each fair component; their part in scc is its own.
	list [][]uint32
	// all counts the strongly connected components of the given states, before any
	// is taken apart, and loops those with a step inside.
	all, loops uint64
	next       uint32
	// order has the given states by component, what a component leads to before it;
	// ends has where each component ends in it.
	order, ends []uint32
}

// find looks at the given states; steps for which cut holds do not count.
func findFair(g *liveGraph, states []uint32, cut func(s, e uint32) bool) *fairComponents {
	f := &fairComponents{scc: newSCCFinder(g), next: 1}
	f.scc.cut = cut
	for _, s := range states {
		f.scc.part[s] = 1
	}
	work := [][]uint32{states}
	for whole := true; len(work) > 0; whole = false {
		part := work[len(work)-1]
		work = work[:len(work)-1]
		f.scc.components(part, func(c []uint32) {
			always, ever, taken, loop := f.look(c)
			if whole {
				f.all++
				f.order = append(f.order, c...)
				f.ends = append(f.ends, uint32(len(f.order)))
				if loop {
					f.loops++
				}
			}
			switch {
			case always&^taken&g.weak != 0:
				f.name(c, 0)
			case ever&^taken&g.strong != 0:
				bad := ever &^ taken & g.strong
				f.next++
				var rest []uint32
				for _, s := range c {
					f.scc.part[s] = 0
					if g.enabled[s]&bad == 0 {
						f.scc.part[s] = f.next
						rest = append(rest, s)
					}
				}
				if len(rest) > 0 {
					work = append(work, rest)
				}
			default:
				f.next++
				f.name(c, f.next)
				f.list = append(f.list, slices.Clone(c))
			}
		})
	}
	return f
}

func (f *fairComponents) name(c []uint32, part uint32) {
	for _, s := range c {
		f.scc.part[s] = part
	}
}

// look returns the conditions enabled in every state of c and in some, those of
// which a step within c is taken, and whether there is a step within c at all.
func (f *fairComponents) look(c []uint32) (always, ever, taken uint64, loop bool) {
	g := f.scc.g
	always = ^uint64(0)
	// A step out of c leads to a component that was found before, and that has got
	// another part by now.
	for _, s := range c {
		always &= g.enabled[s]
		ever |= g.enabled[s]
		for e := g.first[s]; e < g.first[s+1]; e++ {
			if f.scc.inside(s, e) {
				loop = true
				if g.enabled[s] != 0 {
					taken |= g.conditions(s, e)
				}
			}
		}
	}
	return always, ever, taken, loop
}

// hopeless counts the states from which no fair component can be reached: whoever
// comes there has not satisfied the assumptions, or will not be fair.
func (f *fairComponents) hopeless(suffix func(s, e uint32) bool) uint64 {
	g := f.scc.g
	hope := make([]bool, g.n)
	for _, c := range f.list {
		for _, s := range c {
			hope[s] = true
		}
	}
	count, from := uint64(0), uint32(0)
	for _, end := range f.ends {
		component := f.order[from:end]
		from = end
		some := slices.ContainsFunc(component, func(s uint32) bool {
			if hope[s] {
				return true
			}
			for e := g.first[s]; e < g.first[s+1]; e++ {
				if suffix(s, e) && hope[g.to[e]] {
					return true
				}
			}
			return false
		})
		if !some {
			count += uint64(len(component))
			continue
		}
		for _, s := range component {
			hope[s] = true
		}
	}
	return count
}

// stutters says that a fair component has no step: its behaviour has ended.
func (f *fairComponents) stutters(c []uint32) bool {
	if len(c) > 1 {
		return false
	}
	g := f.scc.g
	for e := g.first[c[0]]; e < g.first[c[0]+1]; e++ {
		if f.scc.inside(c[0], e) {
			return false
		}
	}
	return true
}
