// Package bench measures what the project claims to be fast: the model checker, the
// validator, the simulator, and the replica from the core to three nodes over
// loopback. README.md says what each number means.
//
// Everything is in tests. A benchmark checks what it measures: states against the
// pinned count of the model, verdicts, committed offsets, and logs against each
// other.
package bench
