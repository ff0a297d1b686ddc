package checker

// accuser is implemented by specifications that can say which part of a violated
// property fails: those of a System that is an Accuser.
type accuser[S any] interface {
	because(property int, before, after *S) []string
}

func (s *interned[R, M, G]) because(property int, before, after *Tuple) []string {
	a, ok := s.sys.(Accuser[R, G])
	if !ok {
		return nil
	}
	old, _, oldGhost := s.parts(before)
	now, _, ghost := s.parts(after)
	return a.Because(property, old, now, oldGhost, ghost)
}

// accuse says which part of a property fails at the end of a behaviour.
func accuse[S any](spec Spec[S], property int, trace []TraceStep) []string {
	a, ok := spec.(accuser[S])
	if !ok || len(trace) == 0 {
		return nil
	}
	after, ok := trace[len(trace)-1].State.(S)
	if !ok {
		return nil
	}
	before := after
	if len(trace) > 1 {
		before = trace[len(trace)-2].State.(S)
	}
	return a.because(property, &before, &after)
}
