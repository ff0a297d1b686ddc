package traces

import (
	"cmp"
	"slices"

	"github.com/quorate/quorate/traces/event"
)

// choose finds a node whose next event can be taken: what it receives has been
// sent. It stays with a node as long as it can; a restart waits until nobody else
// can go on, if hidden steps before it may still be asked for.
func (v *validator) choose() int {
	if v.opt.Hidden > 0 && len(v.unlogged) > 0 {
		return v.chooseHidden()
	}
	if v.canTake(v.at) {
		return v.at
	}
	for n := range v.who.ids {
		if v.canTake(n) {
			v.at = n
			return n
		}
	}
	if n := v.ending(); n >= 0 || !v.cut.partial {
		return n
	}
	v.cut.twice = true
	defer func() { v.cut.twice = false }()
	for n := range v.who.ids {
		if v.canTake(n) {
			v.at = n
			return n
		}
	}
	return -1
}

// ending finds a node whose recording ends next. That waits until nobody else can go on,
// since nothing is known of the node from then on.
func (v *validator) ending() int {
	for n := range v.who.ids {
		if d := &v.nodes[n]; d.ready && d.event.Detach != nil {
			return n
		}
	}
	return -1
}

// canTake also assumes the message that the event needs, if it may.
func (v *validator) canTake(n int) bool {
	d := &v.nodes[n]
	if !d.ready || d.event.Detach != nil {
		return false
	}
	if !v.receives(&d.event) {
		return true
	}
	if v.scenes != nil {
		return v.canTakeApart(n)
	}
	id := idOf(d.event.Recv)
	for _, w := range v.worlds {
		for l := w.bag[id]; l != nil; l = l.next {
			// A response that differs may be the one to a copy of the request.
			if !id.response || v.isSame(l, d.event.Recv) {
				return true
			}
		}
	}
	return v.assumed(n, d.event.Recv)
}

// isSame says whether a letter is the message that was recorded.
func (v *validator) isSame(l *letter, m *event.Message) bool {
	var c comparison
	v.message(&c, "", &l.msg, m)
	return c.n == 0
}

// chooseHidden is choose where messages are received that no event sends. What
// sent them is most likely the last thing that a process did, so a node stops
// before it starts again until nobody else can go on.
func (v *validator) chooseHidden() int {
	for {
		for n := range v.who.ids {
			if v.canTake(n) && !v.restarts(n) {
				return n
			}
		}
		if n := v.ending(); n >= 0 {
			return n
		}
		if !v.findHidden(true) && !v.findHidden(false) {
			break
		}
	}
	owing := func(n int) bool {
		for id := range v.unlogged {
			if id.sender() == v.who.ids[n] {
				return true
			}
		}
		return false
	}
	last := -1
	for n := range v.who.ids {
		if v.canTake(n) {
			if !owing(n) {
				return n
			}
			last = n
		}
	}
	return last
}

// restarts says whether the next event of a node begins another incarnation.
func (v *validator) restarts(n int) bool {
	d := &v.nodes[n]
	return d.ready && d.inc != 0 && d.event.Inc != d.inc
}

// findHidden looks for hidden steps that send what somebody waits for; ending:
// only of nodes whose incarnation has no further event.
func (v *validator) findHidden(ending bool) bool {
	var waiting []int
	for n := range v.who.ids {
		d := &v.nodes[n]
		if !d.ready || !v.receives(&d.event) || v.canTake(n) {
			continue
		}
		s := v.who.index(idOf(d.event.Recv).sender())
		if s >= 0 && (!ending || v.nodes[s].ended || v.restarts(s)) {
			waiting = append(waiting, n)
		}
	}
	// Requests have been sent in the order of their correlation ids, if their sender counts
	// them; before them, answers.
	slices.SortStableFunc(waiting, func(a, b int) int {
		x, y := idOf(v.nodes[a].event.Recv), idOf(v.nodes[b].event.Recv)
		if x.response || y.response {
			return 0
		}
		return cmp.Compare(x.corr, y.corr)
	})
	switch {
	case v.scenes != nil:
		return v.anyApart(waiting)
	case v.exhaustive:
		return v.anyHidden(waiting)
	}
	for _, n := range waiting {
		if v.hiddenSend(n) {
			return true
		}
	}
	return false
}

// anyHidden follows whichever of the messages that nodes wait for is sent first.
func (v *validator) anyHidden(waiting []int) bool {
	var all []*world
	before := v.worlds
	for _, n := range waiting {
		if v.worlds = before; v.hiddenSend(n) {
			for _, w := range v.worlds {
				if all = v.join(all, w); len(all) > v.opt.MaxWorlds {
					v.exhausted = true
				}
			}
		}
		if v.exhausted {
			break
		}
	}
	if v.worlds = before; len(all) == 0 || v.exhausted {
		return false
	}
	v.worlds = all
	return true
}
