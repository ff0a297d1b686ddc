package checker

import (
	"fmt"
	"slices"
)

// The limits of a group of permutations. Each value of a component of a System
// has an image for each permutation.
const (
	maxExchanged = 6
	maxMoved     = 12
	maxOrder     = 1440
)

// symmetry is a group of permutations: the product of all permutations of each
// group of numbers that may be exchanged.
type symmetry struct {
	perms  []Perm // the identity first
	moved  []uint8
	groups []exchangeable
	swaps  [maxMoved][maxMoved]int // what exchanges two members of one group
}

// exchangeable is one group, as symmetry.moved[from:to]. A permutation is found by
// how it orders the images of the members: bit by bit, for each pair of members,
// whether that of the first is larger.
type exchangeable struct {
	from, to int
	stride   int
	byOrder  []uint16
}

// newSymmetry gives all permutations of n numbers within the groups.
func newSymmetry(n int, groups [][]uint8) (*symmetry, error) {
	for _, g := range groups {
		for _, i := range g {
			n = max(n, int(i)+1)
		}
	}
	identity := make(Perm, n)
	for i := range identity {
		identity[i] = uint8(i)
	}
	y := &symmetry{perms: []Perm{identity}}
	for _, g := range groups {
		if len(g) < 2 {
			continue
		}
		if len(g) > maxExchanged {
			return nil, fmt.Errorf("a group of %d numbers that may be exchanged, the limit is %d", len(g), maxExchanged)
		}
		members := slices.Sorted(slices.Values(g))
		for k, i := range members {
			if slices.Contains(y.moved, i) || k > 0 && members[k-1] == i {
				return nil, fmt.Errorf("number %d is twice among those that may be exchanged", i)
			}
		}
		y.add(members)
		if len(y.perms) > maxOrder || len(y.moved) > maxMoved {
			return nil, fmt.Errorf("groups %v allow more than %d permutations", groups, maxOrder)
		}
	}
	for _, g := range y.groups {
		for a := g.from; a < g.to; a++ {
			for b := g.from; b < g.to; b++ {
				p := slices.Clone(identity)
				p[y.moved[a]], p[y.moved[b]] = p[y.moved[b]], p[y.moved[a]]
				y.swaps[a][b] = y.index(p)
			}
		}
	}
	return y, nil
}

// add multiplies the group by all permutations of the members.
func (y *symmetry) add(members []uint8) {
	g := exchangeable{
		from: len(y.moved), to: len(y.moved) + len(members), stride: len(y.perms),
		byOrder: make([]uint16, 1<<(len(members)*(len(members)-1)/2)),
	}
	y.moved = append(y.moved, members...)
	base := y.perms
	y.perms = nil
	for k, order := range permutations(len(members)) {
		for _, p := range base {
			q := slices.Clone(p)
			for a, i := range members {
				q[i] = members[order[a]]
			}
			y.perms = append(y.perms, q)
		}
		g.byOrder[y.order(&g, y.perms[len(y.perms)-1])] = uint16(k)
	}
	y.groups = append(y.groups, g)
}

// permutations are those of n numbers, the identity first.
func permutations(n int) [][]uint8 {
	if n == 0 {
		return [][]uint8{nil}
	}
	var all [][]uint8
	for at := n - 1; at >= 0; at-- {
		for _, p := range permutations(n - 1) {
			all = append(all, slices.Insert(slices.Clone(p), at, uint8(n-1)))
		}
	}
	return all
}

// order is how p orders the images of the members of g.
func (y *symmetry) order(g *exchangeable, p Perm) int {
	order, bit := 0, 0
	for a := g.from; a < g.to; a++ {
		for b := a + 1; b < g.to; b++ {
			if p[y.moved[a]] > p[y.moved[b]] {
				order |= 1 << bit
			}
			bit++
		}
	}
	return order
}

// index is the place of p in perms.
func (y *symmetry) index(p Perm) int {
	k := 0
	for i := range y.groups {
		g := &y.groups[i]
		k += int(g.byOrder[y.order(g, p)]) * g.stride
	}
	return k
}

// after is the permutation that does p and then q.
func (q Perm) after(p Perm) Perm {
	both := make(Perm, len(p))
	for i := range p {
		both[i] = q[p[i]]
	}
	return both
}

// reducible is implemented by specifications of this package that can be explored
// up to symmetry, if what they were made of can.
type reducible[S any] interface {
	reduced() (Spec[S], error)
}

// reduce is the specification whose states stand for their orbits, if opt asks
// for that.
func reduce[S any](spec Spec[S], opt *Options, selected Props, question bool) (Spec[S], error) {
	if !opt.Symmetry {
		return spec, nil
	}
	info := spec.Info()
	if question {
		return nil, fmt.Errorf("%s: a question may tell processes apart, so symmetry is for properties only", info.Name)
	}
	for i, p := range info.Properties {
		if p.Asymmetric && selected>>i&1 == 1 {
			return nil, fmt.Errorf("%s: property %s tells processes apart; name the others to judge them up to symmetry", info.Name, p.Name)
		}
	}
	if r, ok := spec.(reducible[S]); ok {
		return r.reduced()
	}
	if _, ok := spec.(SymmetricSpec[S]); !ok {
		return nil, fmt.Errorf("%s declares no symmetry", info.Name)
	}
	if opt.Projected {
		return nil, fmt.Errorf("%s: states without budgets cannot be counted up to symmetry", info.Name)
	}
	return spec, nil
}

// realEdges turns numbers of successors of representatives into those of a
// behaviour of the specification: each state of it is some image of the
// representative, and the step to the next is the same image of the step there.
func realEdges[S any](spec Spec[S], canon SymmetricSpec[S], edges []uint32) ([]uint32, error) {
	type step struct {
		state    S
		edge     uint32
		action   ActionID
		violated Props
	}
	successors := func(of *S) []step {
		var list []step
		sink := newCollector(func(c successor[S]) {
			list = append(list, step{*c.state, c.edge, c.instance.Action, c.violated})
		})
		sink.plain = true
		if of == nil {
			spec.Init(sink)
		} else {
			spec.Next(of, sink)
		}
		return list
	}
	missing := func(k int) error {
		return fmt.Errorf("%s: step %d of a counterexample has no counterpart: exchanging processes does not give a behaviour (is a field not permuted?)", spec.Info().Name, k)
	}
	finger, _ := spec.(Fingerprinter[S])
	var representative, real *S
	var out []uint32
	for k, edge := range edges {
		list := successors(representative)
		if int(edge) >= len(list) {
			return nil, missing(k)
		}
		want := list[edge]
		first := want.state
		canon.Canonical(&want.state)
		if k == 0 {
			out = append(out, edge)
			representative, real = &want.state, &first
			continue
		}
		at := slices.IndexFunc(successors(real), func(s step) bool {
			canon.Canonical(&s.state)
			return s.action == want.action && s.violated == want.violated &&
				fingerprint(finger, &s.state) == fingerprint(finger, &want.state)
		})
		if at < 0 {
			return nil, missing(k)
		}
		found := successors(real)[at]
		out = append(out, found.edge)
		representative, real = &want.state, &found.state
	}
	return out, nil
}

// turner is implemented by specifications that know how many states the
// representatives stand for that they have checked.
type turner interface {
	permutations() (order int, stoodFor uint64)
}

// countOrbits fills in what a search up to symmetry has stood for.
func (s *search[S]) countOrbits(r *Result) {
	for _, w := range s.workers {
		if t, ok := w.spec.(turner); ok && w.canon != nil {
			order, stoodFor := t.permutations()
			r.Symmetry = order
			r.Unreduced += stoodFor
		}
	}
}
