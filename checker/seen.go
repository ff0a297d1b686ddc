package checker

// seen is the set of fingerprints that a search of one goroutine has passed, with
// a number for each if that is asked for. It lies outside the heap, like table.
type seen struct {
	slots  []uint64
	values []uint64 // two of 32 bits in a word; nil: none are kept
	shift  uint
	n      int
	peak   uint64 // bytes, both arrays while growing
}

func newSeen(bitCount uint, values bool) *seen {
	s := &seen{slots: allocWords(1 << bitCount), shift: 64 - bitCount}
	if values {
		s.values = allocWords(1 << bitCount / 2)
	}
	s.peak = s.bytes()
	return s
}

func (s *seen) bytes() uint64 { return uint64(len(s.slots)+len(s.values)) * 8 }

// touch loads the places of fps, so that the cache misses of several overlap.
func (s *seen) touch(fp uint64) uint64 { return s.slots[fp*spread>>s.shift] }

// add inserts fp, which is not 0, and says where it is and whether it is new.
// Places hold until the next add.
func (s *seen) add(fp uint64) (place int, fresh bool) {
	if s.n >= len(s.slots)*6/10 {
		s.grow()
	}
	mask := uint64(len(s.slots) - 1)
	for i := fp * spread >> s.shift; ; i = (i + 1) & mask {
		switch s.slots[i] {
		case fp:
			return int(i), false
		case 0:
			s.slots[i] = fp
			s.n++
			return int(i), true
		}
	}
}

func (s *seen) value(place int) uint32 { return uint32(s.values[place/2] >> (place % 2 * 32)) }

func (s *seen) setValue(place int, v uint32) {
	shift := place % 2 * 32
	w := &s.values[place/2]
	*w = *w&^(0xffffffff<<shift) | uint64(v)<<shift
}

func (s *seen) grow() {
	larger := newSeen(64-s.shift+1, s.values != nil)
	larger.peak = max(s.peak, s.bytes()+larger.bytes())
	for i, fp := range s.slots {
		if fp == 0 {
			continue
		}
		place, _ := larger.add(fp)
		if s.values != nil {
			larger.setValue(place, s.value(i))
		}
	}
	s.free()
	*s = *larger
}

func (s *seen) free() {
	freeWords(s.slots)
	freeWords(s.values)
	s.slots, s.values = nil, nil
}
