package checker

// ghostHint is the bit of a hint that says that the ghosts changed; those below
// it are the processes.
const ghostHint = 1 << MaxProcesses

// clean remembers pairs of components that violate nothing. It forgets when two
// pairs want the same place, and then asks again.
type clean struct {
	pairs [1 << 14]uint64
	ones  [1 << 12]uint64
}

// check returns the invariants that t violates in the parts that hint names.
// The others are as in the state before, where they were checked.
func (w *tupleWorker) check(t *Tuple, hint uint32) (violated Props) {
	if hint == 0 {
		return 0
	}
	var seen [MaxProcesses]uint32
	for i := range w.processes {
		seen[i] = w.persons.at(t[i]).outline[SightChecked]
	}
	for i := range w.processes {
		if hint&(1<<i|ghostHint) == 0 {
			continue
		}
		key := uint64(seen[i])<<32 | uint64(t.ghost())
		slot := &w.clean.ones[key*spread>>(64-12)]
		if *slot != key {
			p := w.checkOne(seen[i], t.ghost())
			if violated |= p; p == 0 {
				*slot = key
			}
		}
	}
	for i := range w.processes {
		for j := i + 1; j < w.processes; j++ {
			if hint&(1<<i|1<<j) == 0 {
				continue
			}
			key := uint64(seen[i])<<32 | uint64(seen[j])
			slot := &w.clean.pairs[key*spread>>(64-14)]
			if *slot != key {
				p := w.checkPair(seen[i], seen[j])
				if violated |= p; p == 0 {
					*slot = key
				}
			}
		}
	}
	return violated
}
