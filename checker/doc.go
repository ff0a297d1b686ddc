// Package checker explores every reachable state of a specification and says
// which properties hold, with the shortest counterexample where one does not.
//
// Read [Spec] first: it is all that a specification of any kind must give. A
// specification of processes that exchange messages gives a [System] instead,
// and [Interned] turns that into a Spec whose states are short tuples of
// numbers; [Flat] turns the same System into a Spec over plain structs, slower,
// and is there so that tests can demand equal counts. [Run] explores either.
//
// The search is breadth first, level by level:
//
//	level n ── workers take chunks ──► Next ──► fingerprint ──► table
//	                                                  │ new
//	level n+1 ◄── chunks ◄── properties ◄─────────────┘
//
// so counterexamples are shortest, and the counts of distinct and generated
// states, the depth and the counts per action do not depend on how many workers
// took part.
//
// The package knows nothing of Kafka. It does not parse specifications: they
// are Go.
package checker
