package checker

import (
	"bytes"
	"fmt"
	"slices"
)

// reduced implements reducible: the same System, with numbers of its own.
func (s *interned[R, M, G]) reduced() (Spec[Tuple], error) {
	permuter, y, err := symmetryOf(s.sys)
	if err != nil {
		return nil, err
	}
	to := intern(s.sys)
	to.permuter, to.sym = permuter, &orbits{symmetry: y}
	return to, nil
}

// symmetryOf is what a System says may be exchanged in it.
func symmetryOf[R, M, G comparable](sys System[R, M, G]) (Symmetric[R, M, G], *symmetry, error) {
	info := sys.Info()
	permuter, ok := sys.(Symmetric[R, M, G])
	if !ok {
		return nil, nil, fmt.Errorf("%s declares no symmetry", info.Name)
	}
	y, err := newSymmetry(len(info.Processes), permuter.Interchangeable())
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", info.Name, err)
	}
	for _, g := range y.groups {
		members := y.moved[g.from:g.to]
		if n := len(info.Processes); int(members[0]) < n && int(members[len(members)-1]) >= n {
			return nil, nil, fmt.Errorf("%s: processes and others in one group %v that may be exchanged", info.Name, members)
		}
	}
	return permuter, y, nil
}

func (s *store[R, M, G]) processFamily(process int) *family[R] {
	return &family[R]{
		name: "process", in: s.procs, orbits: &s.sym.processes, permute: s.permuter.PermuteProcess,
		hash:  func(p Perm, r *R) uint64 { return processHash(int(p[process]), r) },
		enter: func(id uint32, _ Perm, r *R, h uint64) { s.enterProcess(id, r, h) },
	}
}

func (s *store[R, M, G]) messageFamily() *family[M] {
	return &family[M]{
		name: "message", in: s.messages, orbits: &s.sym.messages, permute: s.permuter.PermuteMessage,
		hash:  func(_ Perm, m *M) uint64 { return hashBytes(bytesOf(m), seedMessage) },
		enter: func(id uint32, _ Perm, m *M, h uint64) { s.enterMessage(id, m, h) },
	}
}

func (s *store[R, M, G]) ghostFamily() *family[G] {
	return &family[G]{
		name: "ghost", in: s.ghosts, orbits: &s.sym.ghosts, permute: s.permuter.PermuteGhost,
		hash:  func(_ Perm, g *G) uint64 { return ghostHash(g) },
		enter: func(uint32, Perm, *G, uint64) {},
	}
}

// contentLess orders states by what their numbers stand for.
func (s *store[R, M, G]) contentLess(a, b *Tuple) bool {
	return bytes.Compare(s.content(a), s.content(b)) < 0
}

func (s *store[R, M, G]) content(t *Tuple) []byte {
	processes, network, ghost := s.parts(t)
	var all []byte
	for _, r := range processes {
		all = append(all, bytesOf(r)...)
	}
	all = append(all, bytesOf(ghost)...)
	var messages [][]byte
	for _, m := range network {
		messages = append(messages, bytesOf(m))
	}
	slices.SortFunc(messages, bytes.Compare)
	return append(append(all, bytes.Join(messages, nil)...), bytesOf(t)[tupleBudgets*4:]...)
}

// permutations implements turner.
func (s *internedWorker[R, M, G]) permutations() (order int, stoodFor uint64) {
	return len(s.sym.perms), s.stoodFor
}
