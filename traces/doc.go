// Package traces holds recorded runs against the specification: every event of
// every node must be a step of package spec, and the properties of spec must
// hold wherever the run can be cut.
//
// Read [Validate], [Result] and [Rejection] first. How it works:
//
//	node-1.ndjson ─► event ─┐  ready: what it receives    spec action on the     compare: message, state,
//	node-2.ndjson ─► event ─┼─ has been sent, or it    ─► replica of its node ─► log, digest, disk; then the
//	node-3.ndjson ─► event ─┘  receives nothing           (world)                properties of the cut
//
// There are no clocks. Actions are local, so any order that respects "sent
// before received" stands for all; the validator takes the first one that it
// finds. A world is a state of the specification that agrees with all events so
// far. There is nearly always one; where an event can be explained in several
// ways (what a crash left of the log, an action without a name), there are
// several, until an event tells them apart.
//
// What a trace does not show are hidden steps. Loss needs none: a message that
// is never received is lost. With a budget ([Options.Hidden]) the validator
// looks for actions that took effect and died with the process before their
// event was written; without, every action must be there. A search for all ways
// to take them does not follow worlds, but the states of each node for itself
// (scene.go), and a node without a trace at the end (silent.go).
//
// The package knows nothing of the code that was recorded.
package traces
