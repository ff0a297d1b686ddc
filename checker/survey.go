package checker

import "context"

// survey is a breadth-first search by one goroutine that shows every step to whoever
// asked for it, and follows those that it is told to. It answers questions that Run
// cannot stop for: what is nearest in several senses at once, or within a part of
// the model.
type survey[S any] struct {
	*walker[S]
	seen *seen
	log  []ref // how each state was first reached
	// limit is the number of states after which it ends. 0: none.
	limit uint64
	// depthLimit is the number of levels after which it ends. 0: none.
	depthLimit int
	// actions, unless nil, gets the action by which each state was first reached.
	actions   []ActionID
	initials  uint64
	context   context.Context
	levels    []uint64
	limitedBy string
	shown     progress
}

// visit is told of a step to a kid, by which way, and whether its state is new, with
// the invariants that a new state violates and the properties that it reaches. It
// says whether to follow the new state, and whether to go on at all.
type visit[S any] func(k *kid[S], way ref, fresh bool, violated, reached Props) (follow, more bool)

func newSurvey[S any](w *walker[S], ctx context.Context, limit uint64) *survey[S] {
	return &survey[S]{walker: w, seen: newSeen(12, false), limit: limit, context: ctx}
}

func (s *survey[S]) free() { s.seen.free() }

func (s *survey[S]) size() uint64 { return uint64(len(s.log)) }

func (s *survey[S]) run(see visit[S]) {
	var level, next []S
	s.begin()
	next, more := s.take(initial, next, see)
	s.initials = s.size()
	first := uint64(0) // the ordinal of the first state of the level
	for more && len(next) > 0 {
		s.levels = append(s.levels, uint64(len(next)))
		if s.depthLimit > 0 && len(s.levels) >= s.depthLimit {
			s.limitedBy = "depth"
			return
		}
		level, next = next, level[:0]
		s.shown.level.Store(uint64(len(s.levels)))
		s.shown.queue.Store(uint64(len(level)))
		base := first
		first = s.size()
		for i := range level {
			if i%256 == 0 {
				s.shown.distinct.Store(s.size())
				s.shown.generated.Store(s.generated)
				if s.context.Err() != nil {
					s.limitedBy = "canceled"
					return
				}
			}
			if s.limit > 0 && s.size() >= s.limit {
				s.limitedBy = "states"
				return
			}
			s.expand(&level[i])
			if next, more = s.take(ordinal(base)+ordinal(i), next, see); !more {
				return
			}
		}
	}
}

// take shows the kids of a state, and appends those to follow to the next level.
func (s *survey[S]) take(parent ordinal, next []S, see visit[S]) ([]S, bool) {
	for i := range s.kids {
		k := &s.kids[i]
		_, fresh := s.seen.add(k.fp)
		var violated, reached Props
		if fresh {
			violated, reached = s.check(k)
		}
		way := makeRef(parent, k.edge)
		follow, more := see(k, way, fresh, violated, reached)
		if fresh && follow {
			if s.size() >= 1<<indexBits-1 {
				panic("checker: a search by one goroutine has more states than an ordinal can hold")
			}
			s.log = append(s.log, way)
			if s.actions != nil {
				s.actions = append(s.actions, k.instance.Action)
			}
			next = append(next, k.state)
		}
		if !more {
			return next, false
		}
	}
	return next, true
}

// edges is the behaviour that ends with a step.
func (s *survey[S]) edges(way ref) []uint32 {
	n := 1
	for r := way; r.parent() != initial; r = s.log[r.parent()] {
		n++
	}
	edges := make([]uint32, n)
	for r := way; ; r = s.log[r.parent()] {
		n--
		edges[n] = r.edge()
		if r.parent() == initial {
			return edges
		}
	}
}
