package checker

import "fmt"

// A search that loses states, or counts some twice, would not notice: it would end
// a little earlier or later and report a verdict. So it counts the same things in two
// ways, where that costs next to nothing.

// auditLevel compares the states that were expanded with those that the level had.
func (s *search[S]) auditLevel() error {
	had, expanded := s.levels[len(s.levels)-1], uint64(0)
	for _, w := range s.workers {
		expanded += w.expanded
		w.expanded = 0
	}
	if expanded != had && !s.halt.Load() {
		return &engineError{fmt.Errorf("%s: level %d had %d states, and %d were expanded: this is a fault of the checker or of the machine, and no result counts",
			s.info.Name, s.depth, had, expanded)}
	}
	return nil
}

// auditTable compares what is in the table with the states that were counted.
// States on disk are not in it; their runs have checksums, and counts of their own.
func (s *search[S]) auditTable() error {
	distinct := s.others.used()
	for _, w := range s.workers {
		distinct += w.log.used
	}
	if s.disk != nil && (s.disk.old != nil || s.disk.flushed) {
		return nil
	}
	if n := s.seen.count(); n != distinct {
		return &engineError{fmt.Errorf("%s: %d states were counted, and %d are in the table: this is a fault of the checker or of the machine, and no result counts",
			s.info.Name, distinct, n)}
	}
	return nil
}

// count is the number of keys. The caller is the only user of the table.
func (t *table) count() (keys uint64) {
	for _, key := range t.slots {
		if key != 0 {
			keys++
		}
	}
	return keys
}
