// Package audit asks whether the specification would notice if it were wrong.
//
// [Replay] follows the counterexample of a mutation on the clean protocol, step
// by step, to the first step where the two part: that step must be the mutated
// one. [Deletions] takes each guard and each effect of each action away in turn
// and looks whether some property breaks: what nobody misses is redundant, or is
// not checked.
package audit
