package checker

import "slices"

// attempter is implemented by specifications that can say what keeps processes from
// an action in a state: those of a System that is an Explainer.
type attempter[S any] interface {
	// explains says whether attempts works.
	canExplain() bool
	// unoffered is Explainer.Unoffered.
	unoffered(a ActionID) string
	// attempts calls yield for each instance of an action in s, with the text of the
	// message that it would take.
	attempts(s *S, a ActionID, yield func(process int, message string, at *Attempt))
}

// Names of what keeps a step from being taken that is neither a guard nor a bound of
// the specification.
const (
	refusedInFlight   = "messages in flight"
	refusedConnection = "connection in use"
)

func refusedBudget(b BudgetInfo) string { return "budget of " + b.Name }

func (s *interned[R, M, G]) canExplain() bool {
	_, ok := s.sys.(Explainer[R, M])
	return ok
}

func (s *interned[R, M, G]) unoffered(a ActionID) string {
	return s.sys.(Explainer[R, M]).Unoffered(a)
}

func (s *interned[R, M, G]) attempts(t *Tuple, a ActionID, yield func(process int, message string, at *Attempt)) {
	_, network, _ := s.parts(t)
	conns := make([]uint16, 0, MaxMessages)
	for _, m := range network {
		conns = append(conns, s.sys.Route(m).Conn)
	}
	for i := range s.processes {
		for _, at := range s.attemptsOf(a, t[i], 0) {
			yield(i, "", s.limited(t, conns, &at))
		}
	}
	for x, m := range network {
		id := t[tupleNet+x]
		if x > 0 && id == t[tupleNet+x-1] {
			continue
		}
		dst := int(s.sys.Route(m).Dst)
		list := s.attemptsOf(a, t[dst], id)
		if len(list) == 0 {
			continue
		}
		text := s.sys.DescribeMessage(m)
		for _, at := range list {
			others := slices.Clone(conns)
			if !at.keep {
				others = slices.Delete(others, x, x+1)
			}
			yield(dst, text, s.limited(t, others, &at))
		}
	}
}

// attemptKey is what the attempts of one process depend on.
type attemptKey struct {
	action           ActionID
	process, message uint32
}

// remembered is an attempt, and the ways of what it would send.
type remembered struct {
	Attempt
	sends []Route
	keep  bool
}

// attemptsOf asks the System once for each process and message.
func (s *interned[R, M, G]) attemptsOf(a ActionID, id, message uint32) []remembered {
	key := attemptKey{a, id, message}
	if list, ok := s.tried.Load(key); ok {
		return list.([]remembered)
	}
	r := *s.procs.values.at(id)
	var m *M
	if message != 0 {
		v := *s.messages.values.at(message)
		m = &v
	}
	list := []remembered{}
	s.sys.(Explainer[R, M]).Attempts(a, &r, m, func(at Attempt) { list = append(list, remembered{Attempt: at}) })
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := range list {
		at := &list[k]
		if len(at.Refused) > 0 {
			continue
		}
		var steps Steps[R, M]
		if m != nil {
			s.sys.Deliver(&r, m, &steps)
		} else {
			s.sys.Local(&r, at.Budget, &steps)
		}
		for j := range steps.List {
			if e := &steps.List[j]; e.Instance == at.Instance {
				at.keep = e.Keep
				for n := range e.SendN {
					at.sends = append(at.sends, s.sys.Route(&e.Sends[n]))
				}
				break
			}
		}
	}
	s.tried.Store(key, list)
	return list
}

// limited adds what only the whole state shows: a used-up budget, and, of a step that
// nothing else refuses, a connection in use or too many messages in flight. The
// connections are those of the messages that stay in flight.
func (s *interned[R, M, G]) limited(t *Tuple, conns []uint16, r *remembered) *Attempt {
	at := &r.Attempt
	at.Refused = slices.Clip(at.Refused) // which the memo keeps
	if b := at.Budget; b != 0 && t.budget(b) >= s.limits[b] {
		at.Refused = append(at.Refused, Refusal{Name: refusedBudget(s.info.Budgets[b]), Bound: true})
	}
	if len(at.Refused) > 0 {
		return at
	}
	n := len(conns)
	for _, way := range r.sends {
		if way.Conn != 0 && slices.Contains(conns, way.Conn) {
			at.Refused = []Refusal{{Name: refusedConnection}}
			return at
		}
		if !way.Immediate {
			n++
		}
	}
	if n > s.maxFlight {
		at.Refused = []Refusal{{Name: refusedInFlight, Bound: true}}
	}
	return at
}
