package checker

import (
	"fmt"
	"strings"
)

// Memory is what the store of a search took, in bytes, at the end of that level at
// which it was most. What the engine remembers of a model's steps, and the
// collector's slack, come on top.
type Memory struct {
	// Tables has the fingerprints, or the places of states that are kept.
	Tables uint64 `json:"tables"`
	// Filter is what tells which fingerprints may be on disk, Suspects the states
	// that wait until they are looked up there.
	Filter   uint64 `json:"filter,omitempty"`
	Suspects uint64 `json:"suspects,omitempty"`
	// Frontier has the states to be expanded.
	Frontier uint64 `json:"frontier"`
	// Parents is what counterexamples are rebuilt from.
	Parents uint64 `json:"parents"`
	// States has all states, if the search is exact.
	States uint64 `json:"states,omitempty"`
	// Disk is the size of the files.
	Disk uint64 `json:"disk,omitempty"`
}

// Total is the sum without the disk.
func (m *Memory) Total() uint64 {
	return m.Tables + m.Filter + m.Suspects + m.Frontier + m.Parents + m.States
}

func (s *search[S]) noteMemory() {
	now := Memory{Tables: s.seen.bytes(), Frontier: s.chunks.bytes()}
	if s.seenToo != nil {
		now.Tables += s.seenToo.bytes()
	}
	if s.archive != nil {
		now.States = s.archive.bytes()
	}
	for _, w := range s.workers {
		now.Parents += w.log.bytes()
		if w.log.file != nil {
			now.Disk += uint64(w.log.file.size)
		}
		if w.out != nil {
			now.Suspects += w.suspects.bytes()
			now.Disk += uint64(w.in.size + w.out.size)
		}
	}
	if d := s.disk; d != nil {
		now.Filter = uint64(len(d.filter)) * 8
		now.Tables += uint64(len(d.old)) * 8
		now.Disk += d.runs.Bytes()
	}
	disk := max(s.memory.Disk, now.Disk)
	if now.Total() > s.memory.Total() {
		s.memory = now
	}
	s.memory.Disk = disk
}

// fewStates is up to where the least tables are most of what is held, and what it
// comes to for each state says nothing.
const fewStates = 100_000

// text says what was used, and how much of it for each state.
func (m *Memory) text(distinct uint64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "memory %s", mib(m.Total()))
	if distinct >= fewStates {
		fmt.Fprintf(&b, ", %.1f bytes a state", float64(m.Total())/float64(distinct))
	}
	for _, part := range []struct {
		name  string
		bytes uint64
	}{
		{"tables", m.Tables}, {"filter", m.Filter}, {"suspects", m.Suspects}, {"states", m.States},
		{"frontier", m.Frontier}, {"parents", m.Parents}, {"and on disk", m.Disk},
	} {
		if part.bytes > 0 {
			fmt.Fprintf(&b, ", %s %s", part.name, mib(part.bytes))
		}
	}
	return b.String()
}

func mib(n uint64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }
