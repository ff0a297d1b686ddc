package checker

import (
	"errors"
	"slices"
	"time"
)

// A comparison on fields asks whether every sequence of observed changes of one side
// is one of the other. Steps that change nothing that is observed are not seen, and
// the same may be seen of many behaviours. So each side is followed as the set of
// states that it may be in after what was seen (the subset construction), and the
// pairs of such sets are searched breadth first: a change that only one of the two
// can show ends a shortest sequence that only this side has. This is exact, as long
// as the sets fit.

// Limits of a comparison on fields if the options have none.
const (
	maxObservedStates = 10_000_000 // of both sides
	maxMembers        = 100_000_000
)

// outOfBudget ends a comparison.
type outOfBudget string

func compareOn(a, b observable, c *Comparison, opt *DiffOptions) (err error) {
	began := time.Now()
	l := &lookout{names: opt.On, actions: opt.Actions, seen: map[string]bool{}, known: map[string]bool{}}
	c.On, c.Actions = opt.On, opt.Actions
	f := &follower{opt: opt, c: c, sides: [2]*sets{newSets(a), newSets(b)}}
	defer func() {
		c.Seconds = time.Since(began).Seconds()
		if p := recover(); p != nil {
			why, ok := p.(outOfBudget)
			if !ok {
				panic(p)
			}
			c.LimitedBy = string(why)
			f.conclude()
		}
	}()
	// A field that is asked for by name may be one that only one side ever shows.
	named := !slices.Equal(opt.On, opt.Default)
	for _, s := range f.sides {
		s.charge = f.charge
		if err := s.side.observe(l); err != nil {
			return err
		}
		if err := l.missing(s.side.Info()); err != nil && !named {
			return err
		}
		if !named {
			clear(l.seen)
		}
	}
	if err := l.missing(b.Info()); err != nil && named {
		return err
	}
	f.look = l
	if err := f.search(); err != nil {
		return err
	}
	f.conclude()
	return nil
}

// follower searches the pairs of sets.
type follower struct {
	opt     *DiffOptions
	c       *Comparison
	look    *lookout
	sides   [2]*sets
	pairs   []followed
	known   map[[2]int32]bool
	members int
	only    [2]bool // a difference is found
}

// followed is what the sides may be in after one sequence of observed changes, and
// the last of them.
type followed struct {
	set    [2]int32
	parent int32
	event  uint64
}

func (f *follower) charge(members int) {
	f.members += members
	states := f.sides[0].side.size() + f.sides[1].side.size()
	switch {
	case f.opt.context().Err() != nil:
		panic(outOfBudget("canceled"))
	case f.opt.MaxDistinct > 0 && uint64(states) > f.opt.MaxDistinct || states > maxObservedStates:
		panic(outOfBudget("states"))
	case f.members > maxMembers:
		panic(outOfBudget("sets of states"))
	}
}

func (f *follower) search() error {
	f.known = map[[2]int32]bool{}
	begin := [2]map[uint64]int32{f.sides[0].begin(), f.sides[1].begin()}
	if err := f.expand(-1, begin); err != nil {
		return err
	}
	depth, level := 0, len(f.pairs)
	for i := 0; i < len(f.pairs); i++ {
		if f.only[0] && f.only[1] || f.opt.First && (f.only[0] || f.only[1]) {
			return nil
		}
		if i == level {
			depth, level = depth+1, len(f.pairs)
		}
		if f.opt.MaxDepth > 0 && depth >= f.opt.MaxDepth {
			panic(outOfBudget("depth"))
		}
		p := f.pairs[i]
		next := [2]map[uint64]int32{f.sides[0].next(p.set[0]), f.sides[1].next(p.set[1])}
		if err := f.expand(int32(i), next); err != nil {
			return err
		}
	}
	return nil
}

// expand looks at the changes that either side may show next.
func (f *follower) expand(from int32, next [2]map[uint64]int32) error {
	var events []uint64
	for e := range next[0] {
		events = append(events, e)
	}
	for e := range next[1] {
		if _, ok := next[0][e]; !ok {
			events = append(events, e)
		}
	}
	slices.Sort(events) // so that equally short differences are always the same
	for _, e := range events {
		a, okA := next[0][e]
		b, okB := next[1][e]
		switch {
		case okA && okB:
			if key := [2]int32{a, b}; !f.known[key] {
				f.known[key] = true
				f.pairs = append(f.pairs, followed{key, from, e})
			}
		case okA:
			if err := f.found(0, from, e); err != nil {
				return err
			}
		default:
			if err := f.found(1, from, e); err != nil {
				return err
			}
		}
	}
	return nil
}

// found notes a sequence of changes that only one side has: up to pair from, and then
// the event.
func (f *follower) found(side int, from int32, event uint64) error {
	if f.only[side] {
		return nil
	}
	f.only[side] = true
	events := []uint64{event}
	for i := from; i >= 0; i = f.pairs[i].parent {
		events = append(events, f.pairs[i].event)
	}
	slices.Reverse(events)
	v := &Divergence{}
	var err error
	if v.Trace, err = behaviourThat(f.sides[side].side, events); err != nil {
		return err
	}
	v.Observed = f.look.told(v.Trace)
	if from >= 0 {
		other := 1 - side
		f.sides[other].side.blame(v, f.look, f.sides[other].list[f.pairs[from].set[other]].members)
	}
	if side == 0 {
		f.c.OnlyA = v
	} else {
		f.c.OnlyB = v
	}
	return nil
}

func (f *follower) conclude() {
	c := f.c
	c.Compared = uint64(len(f.pairs))
	open := c.LimitedBy != "" || f.opt.First && (f.only[0] || f.only[1])
	c.OnlyAOpen, c.OnlyBOpen = open && !f.only[0], open && !f.only[1]
	switch {
	case f.only[0] || f.only[1]:
		c.Status = Differ
	case c.LimitedBy != "":
		c.Status = Limit
	default:
		c.Status = Same
	}
}

// told lists what is observed of a behaviour, as a reader would.
func (l *lookout) told(trace []TraceStep) []string {
	var list []string
	for i := 1; i < len(trace); i++ {
		for _, c := range Changes(l.fields(trace[i-1].Fields), l.fields(trace[i].Fields)) {
			list = append(list, c.String())
		}
	}
	return list
}

// behaviourThat is the shortest behaviour of a side that shows just these events,
// the first of which is an initial state.
func behaviourThat(o observable, events []uint64) ([]TraceStep, error) {
	type place struct {
		state int32
		at    int32 // events shown
	}
	type way struct {
		from int32 // in places
		by   move
	}
	var places []place
	var ways []way
	known := map[place]bool{}
	add := func(p place, w way) {
		if !known[p] {
			known[p] = true
			places, ways = append(places, p), append(ways, w)
		}
	}
	for _, id := range o.initial() {
		if o.view(id) == events[0] {
			add(place{id, 1}, way{from: -1})
		}
	}
	for i := 0; i < len(places); i++ {
		p := places[i]
		if int(p.at) == len(events) {
			var moves []move
			at := i
			for ; ways[at].from >= 0; at = int(ways[at].from) {
				moves = append(moves, ways[at].by)
			}
			slices.Reverse(moves)
			return o.trace(places[at].state, moves)
		}
		for _, m := range o.moves(p.state) {
			switch m.event {
			case 0:
				add(place{m.to, p.at}, way{int32(i), m})
			case events[p.at]:
				add(place{m.to, p.at + 1}, way{int32(i), m})
			}
		}
	}
	return nil, errors.New("what was seen of a side cannot be seen again")
}

// sets are the sets of states that a side may be in, numbered as they are found.
type sets struct {
	side   observable
	charge func(members int)
	list   []set
	number map[uint64][]int32 // by hash
	// stamps has, for each state, the number of the last closure that it was in.
	stamps []uint32
	stamp  uint32
}

// set is closed: what unseen steps lead to is in it.
type set struct {
	members []int32 // ascending
	next    map[uint64]int32
}

func newSets(o observable) *sets { return &sets{side: o, number: map[uint64][]int32{}} }

// begin has the sets of initial states, by what is seen of them.
func (s *sets) begin() map[uint64]int32 {
	groups := map[uint64][]int32{}
	for _, id := range s.side.initial() {
		groups[s.side.view(id)] = append(groups[s.side.view(id)], id)
	}
	return s.closed(groups)
}

// next has the sets that a set leads to, by what is seen.
func (s *sets) next(id int32) map[uint64]int32 {
	if n := s.list[id].next; n != nil {
		return n
	}
	groups := map[uint64][]int32{}
	for _, member := range s.list[id].members {
		for _, m := range s.side.moves(member) {
			if m.event != 0 {
				groups[m.event] = append(groups[m.event], m.to)
			}
		}
	}
	n := s.closed(groups)
	s.list[id].next = n
	return n
}

func (s *sets) closed(groups map[uint64][]int32) map[uint64]int32 {
	out := make(map[uint64]int32, len(groups))
	for e, list := range groups {
		out[e] = s.closure(list)
	}
	return out
}

func (s *sets) closure(list []int32) int32 {
	s.stamp++
	var members []int32
	add := func(id int32) {
		for int(id) >= len(s.stamps) {
			s.stamps = append(s.stamps, make([]uint32, s.side.size()+1024)...)
		}
		if s.stamps[id] != s.stamp {
			s.stamps[id] = s.stamp
			members = append(members, id)
		}
	}
	for _, id := range list {
		add(id)
	}
	for i := 0; i < len(members); i++ {
		for _, m := range s.side.moves(members[i]) {
			if m.event == 0 {
				add(m.to)
			}
		}
		if i&0xfff == 0 {
			s.charge(0)
		}
	}
	slices.Sort(members)
	h := uint64(hashK1)
	for _, id := range members {
		h = mix(h^uint64(id), hashK2)
	}
	for _, n := range s.number[h] {
		if slices.Equal(s.list[n].members, members) {
			return n
		}
	}
	s.charge(len(members))
	n := int32(len(s.list))
	s.number[h] = append(s.number[h], n)
	s.list = append(s.list, set{members: slices.Clip(members)})
	return n
}
