package checker

import "bytes"

// flatReduced is Flat up to symmetry, in the plainest way: of all images of a
// state the least.
type flatReduced[R, M, G comparable] struct {
	*flat[R, M, G]
	permuter Symmetric[R, M, G]
	group    *symmetry
}

// reduced implements reducible.
func (f *flat[R, M, G]) reduced() (Spec[FlatState[R, M, G]], error) {
	permuter, y, err := symmetryOf(f.sys)
	if err != nil {
		return nil, err
	}
	return &flatReduced[R, M, G]{f, permuter, y}, nil
}

// Canonical implements SymmetricSpec.
func (f *flatReduced[R, M, G]) Canonical(s *FlatState[R, M, G]) {
	best := *s
	for _, p := range f.group.perms {
		t := f.image(p, s)
		if f.less(&t, &best) {
			best = t
		}
	}
	*s = best
}

func (f *flatReduced[R, M, G]) image(p Perm, s *FlatState[R, M, G]) FlatState[R, M, G] {
	t := *s
	for i := range f.info.Processes {
		t.Processes[p[i]] = f.permuter.PermuteProcess(p, &s.Processes[i])
	}
	for i := range s.network() {
		t.Network[i] = f.permuter.PermuteMessage(p, &s.Network[i])
	}
	t.Ghost = f.permuter.PermuteGhost(p, &s.Ghost)
	t.sort()
	return t
}

func (f *flatReduced[R, M, G]) less(a, b *FlatState[R, M, G]) bool {
	for i := range f.info.Processes {
		if c := bytes.Compare(bytesOf(&a.Processes[i]), bytesOf(&b.Processes[i])); c != 0 {
			return c < 0
		}
	}
	for i := range a.network() {
		if c := bytes.Compare(bytesOf(&a.Network[i]), bytesOf(&b.Network[i])); c != 0 {
			return c < 0
		}
	}
	return bytes.Compare(bytesOf(&a.Ghost), bytesOf(&b.Ghost)) < 0
}
