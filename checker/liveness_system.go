package checker

// InternedLive is Interned for a System with liveness properties.
func InternedLive[R, M, G comparable](sys LiveSystem[R, M, G]) LiveSpec[Tuple] {
	return &internedLive[R, M, G]{Interned[R, M, G](sys), sys}
}

type internedLive[R, M, G comparable] struct {
	Spec[Tuple]
	sys LiveSystem[R, M, G]
}

// Liveness implements LiveSpec.
func (s *internedLive[R, M, G]) Liveness() *Liveness { return s.sys.Liveness() }

// Atoms implements LiveSpec.
func (s *internedLive[R, M, G]) Atoms(t *Tuple) Atoms {
	return s.sys.Atoms(s.Spec.(interface {
		parts(*Tuple) ([]*R, []*M, *G)
	}).parts(t))
}

// Fingerprint implements Fingerprinter.
func (s *internedLive[R, M, G]) Fingerprint(t *Tuple) uint64 {
	return s.Spec.(Fingerprinter[Tuple]).Fingerprint(t)
}

// spentOf implements budgeted.
func (s *internedLive[R, M, G]) spentOf(t *Tuple, b Budget) uint8 { return t.budget(b) }

// FlatLive is Flat for a System with liveness properties.
func FlatLive[R, M, G comparable](sys LiveSystem[R, M, G]) LiveSpec[FlatState[R, M, G]] {
	return &flatLive[R, M, G]{Flat[R, M, G](sys), sys}
}

type flatLive[R, M, G comparable] struct {
	Spec[FlatState[R, M, G]]
	sys LiveSystem[R, M, G]
}

// Liveness implements LiveSpec.
func (s *flatLive[R, M, G]) Liveness() *Liveness { return s.sys.Liveness() }

// Atoms implements LiveSpec.
func (s *flatLive[R, M, G]) Atoms(t *FlatState[R, M, G]) Atoms {
	return s.sys.Atoms(s.Spec.(*flat[R, M, G]).components(t))
}

// Fingerprint implements Fingerprinter.
func (s *flatLive[R, M, G]) Fingerprint(t *FlatState[R, M, G]) uint64 {
	return s.Spec.(Fingerprinter[FlatState[R, M, G]]).Fingerprint(t)
}

// spentOf implements budgeted.
func (s *flatLive[R, M, G]) spentOf(t *FlatState[R, M, G], b Budget) uint8 { return t.Spent[b] }

// components are all parts of a state.
func (f *flat[R, M, G]) components(s *FlatState[R, M, G]) ([]*R, []*M, *G) {
	processes, network := f.parts(s)
	return processes, network, &s.Ghost
}
