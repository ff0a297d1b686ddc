package twophase

import "slices"

// Canonical implements [checker.SymmetricSpec]: resource managers may be exchanged.
// All that is known is known of each by itself, so sorting them is enough.
func (m *Spec) Canonical(s *State) {
	var columns [MaxManagers]uint8
	for r := range m.Managers {
		columns[r] = s.RM[r]<<2 | uint8(s.Prepared>>r&1)<<1 | uint8(s.PreparedSent>>r&1)
	}
	slices.Sort(columns[:m.Managers])
	s.Prepared, s.PreparedSent = 0, 0
	for r, c := range columns[:m.Managers] {
		s.RM[r] = c >> 2
		s.Prepared |= uint16(c>>1&1) << r
		s.PreparedSent |= uint16(c&1) << r
	}
}
