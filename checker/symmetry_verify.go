package checker

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
)

// VerifySymmetry holds what a System declares of its symmetry against all states
// of a small model, by brute force: renaming is a group action, carries initial
// states, steps and verdicts over, and a search up to symmetry finds as many
// states and steps as there are orbits. More states than limit are an error. It
// returns the number of orbits.
func VerifySymmetry[R, M, G comparable](sys System[R, M, G], limit int) (orbits int, err error) {
	f := Flat(sys).(*flat[R, M, G])
	permuter, y, err := symmetryOf(sys)
	if err != nil {
		return 0, err
	}
	plain := &flatReduced[R, M, G]{f, permuter, y}
	v := verification[FlatState[R, M, G]]{
		spec: f, canon: plain, limit: limit,
		key: func(s *FlatState[R, M, G]) string {
			all := bytes.Clone(s.Spent[:])
			for i := range f.info.Processes {
				all = append(all, bytesOf(&s.Processes[i])...)
			}
			for i := range s.network() {
				all = append(all, bytesOf(&s.Network[i])...)
			}
			return string(append(all, bytesOf(&s.Ghost)...))
		},
	}
	for _, p := range y.perms {
		v.images = append(v.images, func(s *FlatState[R, M, G]) FlatState[R, M, G] { return plain.image(p, s) })
		v.names = append(v.names, fmt.Sprint("permutation ", p))
	}
	if err := v.run(); err != nil {
		return 0, err
	}
	for k, p := range y.perms {
		for _, q := range y.generators() {
			both := y.index(q.after(p))
			for _, s := range v.states {
				t := v.images[k](s)
				twice, once := plain.image(q, &t), v.images[both](s)
				if v.key(&twice) != v.key(&once) {
					return 0, fmt.Errorf("%s: %v and then %v is not %v", f.info.Name, p, q, y.perms[both])
				}
			}
		}
	}
	return v.orbits, verifiedBy(&v, Interned(sys), true)
}

// generators are permutations of which all others are made.
func (y *symmetry) generators() []Perm {
	var list []Perm
	for _, g := range y.groups {
		for a := g.from + 1; a < g.to; a++ {
			list = append(list, y.perms[y.swaps[a-1][a]])
		}
	}
	return list
}

// VerifySymmetricSpec is VerifySymmetry for a plain specification, whose images
// under each permutation are given.
func VerifySymmetricSpec[S any](spec Spec[S], images []func(*S) S, limit int) (orbits int, err error) {
	canon, ok := spec.(SymmetricSpec[S])
	if !ok {
		return 0, fmt.Errorf("%s declares no symmetry", spec.Info().Name)
	}
	v := verification[S]{
		spec: spec, canon: canon, images: images, limit: limit,
		key: func(s *S) string { return string(bytesOf(s)) },
	}
	for k := range images {
		v.names = append(v.names, fmt.Sprint("image ", k))
	}
	if err := v.run(); err != nil {
		return 0, err
	}
	return v.orbits, verifiedBy(&v, spec, false)
}

// verification is one brute-force comparison.
type verification[S any] struct {
	spec   Spec[S]
	canon  SymmetricSpec[S]
	images []func(*S) S
	names  []string
	key    func(*S) string
	limit  int

	states  map[string]*S
	after   map[string][]verifiedStep[S]
	initial []string
	orbits  int
	steps   uint64 // from one state of each orbit
}

type verifiedStep[S any] struct {
	state             *S
	key               string
	action            ActionID
	violated, reached Props
}

func (v *verification[S]) run() error {
	if err := v.explore(); err != nil {
		return err
	}
	closed := map[string]bool{}
	for _, k := range v.initial {
		closed[k] = true
	}
	for _, k := range v.initial {
		for p, image := range v.images {
			if t := image(v.states[k]); !closed[v.key(&t)] {
				return fmt.Errorf("%s: %s of an initial state is not initial", v.spec.Info().Name, v.names[p])
			}
		}
	}
	canonical := map[string]bool{}
	for key, s := range v.states {
		if err := v.state(key, s); err != nil {
			return err
		}
		t := *s
		v.canon.Canonical(&t)
		if k := v.key(&t); !canonical[k] {
			canonical[k] = true
			v.steps += uint64(len(v.after[key]))
		}
	}
	v.orbits = len(canonical)
	return nil
}

// explore finds all states.
func (v *verification[S]) explore() error {
	v.states, v.after = map[string]*S{}, map[string][]verifiedStep[S]{}
	var todo []string
	successors := func(of *S) []verifiedStep[S] {
		var list []verifiedStep[S]
		sink := newCollector(func(c successor[S]) {
			t := *c.state
			list = append(list, verifiedStep[S]{&t, v.key(&t), c.instance.Action, c.violated, c.reached})
		})
		sink.plain = true
		if of == nil {
			v.spec.Init(sink)
		} else {
			v.spec.Next(of, sink)
		}
		for _, n := range list {
			if v.states[n.key] == nil {
				v.states[n.key] = n.state
				todo = append(todo, n.key)
			}
		}
		return list
	}
	for _, n := range successors(nil) {
		v.initial = append(v.initial, n.key)
	}
	for len(todo) > 0 {
		key := todo[0]
		todo = todo[1:]
		v.after[key] = successors(v.states[key])
		if len(v.states) > v.limit {
			return fmt.Errorf("%s: more than %d states", v.spec.Info().Name, v.limit)
		}
	}
	return nil
}

// state holds the images of one state against it.
func (v *verification[S]) state(key string, s *S) error {
	info := v.spec.Info()
	var symmetric Props
	for i, p := range info.Properties {
		if !p.Asymmetric {
			symmetric |= 1 << i
		}
	}
	canonical := *s
	v.canon.Canonical(&canonical)
	inOrbit := false
	for p, image := range v.images {
		fail := func(what string) error {
			return fmt.Errorf("%s: %s of a state %s (state %v)", info.Name, v.names[p], what, v.spec.Describe(s))
		}
		t := image(s)
		k := v.key(&t)
		if v.states[k] == nil {
			return fail("is not reachable")
		}
		inOrbit = inOrbit || k == v.key(&canonical)
		violated, reached := v.spec.Check(s)
		violatedThere, reachedThere := v.spec.Check(&t)
		if (violated^violatedThere|reached^reachedThere)&symmetric != 0 {
			return fail("has another verdict; is a property asymmetric?")
		}
		other := t
		v.canon.Canonical(&other)
		if v.key(&other) != v.key(&canonical) {
			return fail("has another representative")
		}
		var want []verifiedStep[S]
		for _, n := range v.after[key] {
			u := image(n.state)
			n.key = v.key(&u)
			want = append(want, n)
		}
		if !sameSteps(want, v.after[k], symmetric) {
			return fail("has other steps")
		}
	}
	if !inOrbit {
		return fmt.Errorf("%s: the representative of a state is none of its images (state %v)", info.Name, v.spec.Describe(s))
	}
	return nil
}

func sameSteps[S any](a, b []verifiedStep[S], symmetric Props) bool {
	order := func(x, y verifiedStep[S]) int {
		return cmp.Or(cmp.Compare(x.key, y.key), cmp.Compare(x.action, y.action),
			cmp.Compare(x.violated&symmetric, y.violated&symmetric), cmp.Compare(x.reached&symmetric, y.reached&symmetric))
	}
	slices.SortFunc(a, order)
	b = slices.SortedFunc(slices.Values(b), order)
	return slices.EqualFunc(a, b, func(x, y verifiedStep[S]) bool { return order(x, y) == 0 })
}

// verifiedBy holds a search up to symmetry against what was counted.
func verifiedBy[S, T any](v *verification[S], spec Spec[T], counts bool) error {
	opt := Options{Symmetry: true, KeepGoing: true, Exact: true}
	for _, p := range spec.Info().Properties {
		if !p.Asymmetric {
			opt.Properties = append(opt.Properties, p.Name)
		}
	}
	r, err := Run(spec, opt)
	switch {
	case err != nil:
		return err
	case r.Distinct != uint64(v.orbits) || r.Generated != v.steps:
		return fmt.Errorf("%s: %d states and %d steps up to symmetry, but %d orbits, with %d steps from one state of each",
			r.Spec, r.Distinct, r.Generated, v.orbits, v.steps)
	case counts && r.Unreduced != uint64(len(v.states)):
		return fmt.Errorf("%s: orbits of %d states altogether, but %d are reachable", r.Spec, r.Unreduced, len(v.states))
	}
	return nil
}
