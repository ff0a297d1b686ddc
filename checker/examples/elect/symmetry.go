package elect

import "math/bits"

// permutations has, for each number of servers, all ways to rename them.
var permutations = func() (all [MaxServers + 1][][MaxServers]uint8) {
	all[0] = [][MaxServers]uint8{{}}
	for n := range MaxServers {
		for _, p := range all[n] {
			for at := range n + 1 {
				q := p
				copy(q[at+1:], p[at:n])
				q[at] = uint8(n)
				all[n+1] = append(all[n+1], q)
			}
		}
	}
	return all
}()

// Canonical implements [checker.SymmetricSpec]: servers may be exchanged. Of the
// images in which they are in the order of their marks, it takes the least.
func (m *Spec) Canonical(s *State) {
	var marks [MaxServers]uint64
	for i := range m.Servers {
		marks[i] = m.mark(s, i)
	}
	best, found := *s, false
	for _, p := range permutations[m.Servers] {
		if !m.sorts(&p, &marks) {
			continue
		}
		if t := m.Rename(s, p); !found || less(&t, &best) {
			best, found = t, true
		}
	}
	*s = best
}

// mark is what is known of server i, without the name of any.
func (m *Spec) mark(s *State, i int) uint64 {
	k := uint64(s.Role[i])<<8 | uint64(s.Term[i])<<4 | uint64(bits.OnesCount8(s.Votes[i]))
	if s.Voted[i] != 0 {
		k |= 1 << 12
	}
	for n := range m.Terms {
		sent := s.VoteResponses[n]
		column := sent >> i & 0x1111 // who answered candidate i
		row := sent >> (i * MaxServers) & 0xf
		k = k<<8 | uint64(s.VoteRequests[n]>>i&1)<<7 | uint64(s.BeginEpochs[n]>>i&1)<<6 |
			uint64(bits.OnesCount16(column))<<3 | uint64(bits.OnesCount16(row))
	}
	return k
}

func (m *Spec) sorts(p *[MaxServers]uint8, marks *[MaxServers]uint64) bool {
	for i := range m.Servers {
		for j := range m.Servers {
			if marks[i] < marks[j] && p[i] > p[j] {
				return false
			}
		}
	}
	return true
}

// Rename is s with server i called p[i].
func (m *Spec) Rename(s *State, p [MaxServers]uint8) State {
	set := func(x uint8) (y uint8) {
		for i := range m.Servers {
			y |= x >> i & 1 << p[i]
		}
		return y
	}
	var t State
	for i := range m.Servers {
		j := p[i]
		t.Role[j], t.Term[j], t.Votes[j] = s.Role[i], s.Term[i], set(s.Votes[i])
		if s.Voted[i] != 0 {
			t.Voted[j] = p[s.Voted[i]-1] + 1
		}
	}
	for n := range m.Terms {
		t.VoteRequests[n], t.BeginEpochs[n] = set(s.VoteRequests[n]), set(s.BeginEpochs[n])
		for v := range m.Servers {
			for c := range m.Servers {
				t.VoteResponses[n] |= s.VoteResponses[n] >> (v*MaxServers + c) & 1 << (p[v]*MaxServers + p[c])
			}
		}
	}
	return t
}

// less orders images of one state, field by field.
func less(a, b *State) bool {
	for i := range a.Voted {
		if a.Voted[i] != b.Voted[i] {
			return a.Voted[i] < b.Voted[i]
		}
		if a.Votes[i] != b.Votes[i] {
			return a.Votes[i] < b.Votes[i]
		}
		if a.Role[i] != b.Role[i] {
			return a.Role[i] < b.Role[i]
		}
		if a.Term[i] != b.Term[i] {
			return a.Term[i] < b.Term[i]
		}
	}
	for n := range a.VoteRequests {
		if a.VoteRequests[n] != b.VoteRequests[n] {
			return a.VoteRequests[n] < b.VoteRequests[n]
		}
		if a.BeginEpochs[n] != b.BeginEpochs[n] {
			return a.BeginEpochs[n] < b.BeginEpochs[n]
		}
		if a.VoteResponses[n] != b.VoteResponses[n] {
			return a.VoteResponses[n] < b.VoteResponses[n]
		}
	}
	return false
}
