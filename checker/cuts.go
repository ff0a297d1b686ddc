package checker

import "slices"

// cutter is implemented by specifications that can say which steps nothing but a limit
// of the model keeps from being taken: those of a System that is an Explainer.
type cutter[S any] interface {
	canExplain() bool
	// cuts calls yield for each such step of s, with the number of the limit, as in
	// Sink.bounded. The same pair may come several times.
	cuts(s *S, yield func(limit int, a ActionID))
}

// cutting is an action that a limit keeps from being taken.
type cutting struct {
	limit  uint8
	action ActionID
}

// cutTally counts, for each limit and action, in how many states it is cut. Each worker
// has one.
type cutTally[S any] struct {
	of     cutter[S]
	states map[cutting]uint64
	now    []cutting // of the state that is looked at
}

func newCutTally[S any](spec Spec[S]) *cutTally[S] {
	of, ok := spec.(cutter[S])
	if !ok || !of.canExplain() {
		return nil
	}
	return &cutTally[S]{of: of, states: map[cutting]uint64{}}
}

func (t *cutTally[S]) add(s *S) {
	t.now = t.now[:0]
	t.of.cuts(s, func(limit int, a ActionID) {
		if c := (cutting{uint8(limit), a}); !slices.Contains(t.now, c) {
			t.now = append(t.now, c)
			t.states[c]++
		}
	})
}

// cuttable is a step of one process, or of the network, that is enabled but for at most
// one bound, and so may be cut.
type cuttable struct {
	action ActionID
	bound  int // that refuses it; -1: none does
	budget Budget
	sends  []Route
	keep   bool
}

// cutKey is what the cuttable steps of one process depend on: itself and a message, or,
// of the network, the message alone.
type cutKey struct{ process, message uint32 }

func (s *interned[R, M, G]) cuts(t *Tuple, yield func(limit int, a ActionID)) {
	var buffer [MaxMessages]uint16
	conns := buffer[:0]
	n := t.messages()
	for x := range n {
		conns = append(conns, s.sys.Route(s.messages.values.at(t[tupleNet+x])).Conn)
	}
	for i := range s.processes {
		s.cutSome(t, s.cuttableBy(t[i], 0), conns, conns, yield)
	}
	for x := range n {
		id := t[tupleNet+x]
		if x > 0 && id == t[tupleNet+x-1] {
			continue
		}
		var rest [MaxMessages]uint16
		others := append(append(rest[:0], conns[:x]...), conns[x+1:]...)
		dst := s.sys.Route(s.messages.values.at(id)).Dst
		s.cutSome(t, s.cuttableBy(t[dst], id), conns, others, yield)
		s.cutSome(t, s.cuttableFates(id), conns, others, yield)
	}
}

// cutSome says which steps of a list are cut in t. The connections in use are those of
// all, for a step that keeps its message, or else of the others.
func (s *interned[R, M, G]) cutSome(t *Tuple, list []cuttable, all, others []uint16, yield func(limit int, a ActionID)) {
	for k := range list {
		c := &list[k]
		spent := c.budget != 0 && t.budget(c.budget) >= s.limits[c.budget]
		switch {
		case spent && c.bound < 0:
			yield(budgetBit+int(c.budget), c.action)
			continue
		case spent:
			continue // two limits refuse it
		case c.bound >= 0:
			yield(c.bound, c.action)
			continue
		}
		conns := others
		if c.keep {
			conns = all
		}
		flying, busy := len(conns), false
		for x, way := range c.sends {
			busy = busy || way.Conn != 0 && (slices.Contains(conns, way.Conn) || x == 1 && way.Conn == c.sends[0].Conn)
			if !way.Immediate {
				flying++
			}
		}
		if !busy && flying > s.maxFlight {
			yield(inFlightBit, c.action)
		}
	}
}

// cuttableBy asks the System once for each process and message.
func (s *interned[R, M, G]) cuttableBy(process, message uint32) []cuttable {
	key := cutKey{process, message}
	if list, ok := s.cut.Load(key); ok {
		return list.([]cuttable)
	}
	list := []cuttable{}
	for a := range s.info.Actions {
		for _, at := range s.attemptsOf(ActionID(a), process, message) {
			c := cuttable{action: ActionID(a), bound: -1, budget: at.Budget, sends: at.sends, keep: at.keep}
			if len(at.Refused) > 0 {
				if c.bound = slices.Index(s.info.Bounds, at.Refused[0].Name); c.bound < 0 || len(at.Refused) > 1 {
					continue
				}
			}
			list = s.addCuttable(list, c)
		}
	}
	s.cut.Store(key, list)
	return list
}

// cuttableFates is the same for what the environment may do to a message.
func (s *interned[R, M, G]) cuttableFates(message uint32) []cuttable {
	key := cutKey{message: message}
	if list, ok := s.cut.Load(key); ok {
		return list.([]cuttable)
	}
	m := *s.messages.values.at(message)
	var fates Fates[M]
	s.mu.Lock()
	s.sys.Network(&m, &fates)
	s.mu.Unlock()
	list := []cuttable{}
	for _, f := range fates.List {
		c := cuttable{action: f.Instance.Action, bound: -1, budget: f.Budget}
		for n := range f.N {
			way := s.sys.Route(&f.Becomes[n])
			way.Immediate = false // what the environment makes of a message is in flight
			c.sends = append(c.sends, way)
		}
		list = s.addCuttable(list, c)
	}
	s.cut.Store(key, list)
	return list
}

// addCuttable leaves out what no limit can cut, and what the model has no budget for.
func (s *interned[R, M, G]) addCuttable(list []cuttable, c cuttable) []cuttable {
	if c.budget != 0 && s.limits[c.budget] == 0 || c.budget == 0 && c.bound < 0 && len(c.sends) == 0 {
		return list
	}
	return append(list, c)
}
