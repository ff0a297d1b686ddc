package checker

import (
	"context"
	"fmt"
)

// shrinker makes a counterexample that was found at random, or on a stack, one that
// can be read: another behaviour that violates the same property, in fewer steps.
type shrinker[S any] struct {
	w        *walker[S]
	property Props // one
	// near is how many states may be searched for a shorter way, and steps how many
	// may be taken again to see which can be left out.
	near, steps int
}

// nearby is large enough to hold what a handful of actions lead to, and small enough
// to be searched in a second.
const (
	nearby  = 1 << 18
	retaken = 50_000
)

// shrink returns the edges of a behaviour that violates the property, at most as long
// as the one given. Every step is validated by taking it. Same input, same output.
func shrink[S any](spec Spec[S], property int, edges []uint32) ([]uint32, error) {
	w, err := newWalker(spec, nil)
	if err != nil {
		return nil, err
	}
	z := &shrinker[S]{w: w, property: 1 << property, near: nearby, steps: retaken}
	edges, err = z.shortcut(edges)
	if err != nil {
		return nil, err
	}
	if shorter := z.around(edges); shorter != nil {
		return shorter, nil
	}
	if edges, err = z.drop(edges); err != nil {
		return nil, err
	}
	if shorter := z.around(edges); shorter != nil {
		return shorter, nil
	}
	return edges, nil
}

// violates says whether the step to a kid violates the property, or its state does.
func (z *shrinker[S]) violates(k *kid[S]) bool {
	if k.violated&z.property != 0 {
		return true
	}
	c := *k
	c.hint = everything // the kid may be judged apart from its parent
	violated, _ := z.w.check(&c)
	return violated&z.property != 0
}

// kid takes one successor of the walker.
func (z *shrinker[S]) kid(edge uint32) (kid[S], error) {
	for i := range z.w.kids {
		if z.w.kids[i].edge == edge {
			return z.w.kids[i], nil
		}
	}
	return kid[S]{}, fmt.Errorf("%s: successor %d of a state is not there the second time", z.w.info.Name, edge)
}

// along takes the steps of a behaviour.
func (z *shrinker[S]) along(edges []uint32) ([]kid[S], error) {
	var path []kid[S]
	z.w.begin()
	for i, e := range edges {
		k, err := z.kid(e)
		if err != nil {
			return nil, err
		}
		path = append(path, k)
		if i+1 < len(edges) {
			z.w.enumerate(&k.state)
		}
	}
	return path, nil
}

// shortcut ends the behaviour where it first violates, and leaves out what lies
// between a state and the last of the path that one step leads to.
func (z *shrinker[S]) shortcut(edges []uint32) ([]uint32, error) {
	path, err := z.along(edges)
	if err != nil {
		return nil, err
	}
	at := map[uint64]int{}
	for i := range path[:len(path)-1] {
		at[path[i].fp] = i
	}
	out := edges[:1:1]
	z.w.begin()
	k, err := z.kid(edges[0])
	if err != nil || z.violates(&k) {
		return out, err
	}
	for i := at[k.fp]; ; {
		z.w.enumerate(&path[i].state)
		best, far := -1, i
		for j := range z.w.kids {
			c := &z.w.kids[j]
			if z.violates(c) {
				return append(out, c.edge), nil
			}
			if to, on := at[c.fp]; on && to > far {
				best, far = j, to
			}
		}
		if best < 0 {
			return nil, fmt.Errorf("%s: a counterexample does not violate the second time", z.w.info.Name)
		}
		out = append(out, z.w.kids[best].edge)
		i = far
	}
}

// around searches the part of the model in which only the steps of the behaviour are
// taken, by the same processes and with the same parameters, for a shortest way. It
// returns nil if that part is too large.
func (z *shrinker[S]) around(edges []uint32) []uint32 {
	path, err := z.along(edges)
	if err != nil {
		return nil
	}
	allowed := map[Instance]map[int32]bool{}
	for _, k := range path[1:] {
		if allowed[k.instance] == nil {
			allowed[k.instance] = map[int32]bool{}
		}
		allowed[k.instance][k.process] = true
	}
	s := newSurvey(z.w, context.Background(), uint64(z.near))
	defer s.free()
	var found []uint32
	s.run(func(k *kid[S], way ref, fresh bool, violated, _ Props) (follow, more bool) {
		if way.parent() != initial && !allowed[k.instance][k.process] {
			return false, true
		}
		if (violated|k.violated)&z.property != 0 {
			found = s.edges(way)
			return false, false
		}
		return true, true
	})
	return found
}

// stepLabel names a step so that it can be found again from another state.
type stepLabel struct {
	process  int
	instance Instance
	message  string
	inner    string
}

func labelOf[S any](c *successor[S]) stepLabel {
	l := stepLabel{process: c.process, instance: c.instance, message: c.detail.message}
	for _, in := range c.detail.inner {
		l.inner += fmt.Sprint(in.Process, in.Instance, in.Message, in.Lost, ";")
	}
	return l
}

// drop leaves out steps, alone and in runs, as long as what remains violates still. A
// step that is not enabled any more goes with those that it depended on.
func (z *shrinker[S]) drop(edges []uint32) ([]uint32, error) {
	labels, err := z.labels(edges)
	if err != nil {
		return nil, err
	}
	first := edges[0]
	for size := len(labels) / 2; size > 0 && z.steps > 0; {
		shorter := false
		for from := 0; from < len(labels) && z.steps > 0; {
			to := min(from+size, len(labels))
			rest := append(append([]stepLabel{}, labels[:from]...), labels[to:]...)
			taken, after := z.replay(first, rest)
			if after == nil || len(taken) >= len(labels) {
				from = to
				continue
			}
			labels, edges, shorter = taken, after, true
		}
		if !shorter || size > 1 {
			size /= 2
		}
	}
	return edges, nil
}

func (z *shrinker[S]) labels(edges []uint32) ([]stepLabel, error) {
	path, err := z.along(edges)
	if err != nil {
		return nil, err
	}
	var labels []stepLabel
	for i, e := range edges[1:] {
		z.successors(&path[i].state, func(c *successor[S]) {
			if c.edge == e {
				labels = append(labels, labelOf(c))
			}
		})
	}
	return labels, nil
}

func (z *shrinker[S]) successors(s *S, see func(*successor[S])) {
	z.w.spec.Next(s, newCollector(func(c successor[S]) { see(&c) }))
}

// replay takes those of the steps that are enabled, and returns them and the
// behaviour up to where it violates; nil if it does not.
func (z *shrinker[S]) replay(first uint32, labels []stepLabel) ([]stepLabel, []uint32) {
	z.w.begin()
	k, err := z.kid(first)
	if err != nil {
		return nil, nil
	}
	state, edges := k.state, []uint32{first}
	var taken []stepLabel
	for _, want := range labels {
		found := false
		var to kid[S]
		z.steps--
		z.successors(&state, func(c *successor[S]) {
			if !found && labelOf(c) == want {
				found = true
				to = kid[S]{state: *c.state, violated: c.violated, edge: c.edge}
			}
		})
		if !found {
			continue
		}
		state, edges, taken = to.state, append(edges, to.edge), append(taken, want)
		if z.violates(&to) {
			return taken, edges
		}
	}
	return nil, nil
}
