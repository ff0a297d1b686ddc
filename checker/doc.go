// Package checker explores every reachable state of a specification and says
// which properties hold, with the shortest counterexample where one does not.
//
// Read [Spec] first: it is all that a specification of any kind must give. A
// specification of processes that exchange messages gives a [System] instead,
// and [Interned] turns that into a Spec whose states are short tuples of
// numbers; [Flat] turns the same System into a Spec over plain structs, slower,
// and is there so that tests can demand equal counts. [Run] explores either,
// [Find] looks for a state that a predicate describes, [Graph] draws small
// models, and [Erase] hides the type of states from commands that do all three.
//
// The search is breadth first, level by level:
//
//	level n ── workers take chunks ──► Next ──► fingerprint ──► table
//	                                                  │ new
//	level n+1 ◄── chunks ◄── properties ◄─────────────┘
//
// Files follow the picture: run.go (levels), worker.go and sink.go (steps),
// table.go, grow.go and exact.go (states seen), frontier.go and codec.go (states
// to be expanded), parents.go and trace.go (how they were reached), assemble.go
// and result.go (what came of it). Within a memory budget disk.go, suspects.go and
// internal/runset keep on disk what was seen; checkpoint.go, resume.go and
// persist.go let a search go on later. A System adds
// interned.go (the way in), tuples.go and exchange.go (steps, in numbers),
// components.go (what the numbers stand for), memo.go and pages.go (what is
// remembered), clean.go (what was checked).
//
// So counterexamples are shortest, and the counts of distinct and generated
// states, the depth and the counts per action do not depend on how many workers
// took part.
//
// The package knows nothing of Kafka. It does not parse specifications: they
// are Go.
package checker
