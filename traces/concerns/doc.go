// Package concerns holds what nodes recorded of bootstrap (KIP-1170) and of their cluster ids
// (KIP-1262) against the specification, as package traces does for elections, commits and
// snapshots.
//
// Read [Validate], [Result] and [Rejection] first. How it works:
//
//	concerns-1.ndjson ─► Controller and Node of spec/composed ─► compare: files, image, what is written
//	      │                    ▲          ▲
//	      │    epochs, high watermark     records that matter, by offset and epoch
//	      ▼                    │          │
//	  each by itself       node-1.ndjson  all nodes together
//
// Actions of both concerns are local, so that each node is held against them by itself: an
// event is a call of the action of that name, in spec/bootstrap or spec/clusterid, with the
// rules of spec/composed. What these actions ask of the log is taken from the replica's trace,
// as far as that had come when the event was written: in which epochs the replica has led, how
// far it knew the log to be committed, where its log starts. Without such a trace the event is
// taken at its word. What records say is told by who hands them over and by everybody who
// applies them, and must be the same for all at an offset: the records that take effect are
// then held against the properties of spec/bootstrap.
//
// To the specification's controllers a log is a list of few records. A view of the real one
// has the records that matter, one record in the place of those between them, and an effect in
// the place of what a snapshot holds.
//
// A process that ends has crashed: what the next one finds must be what the specification
// says that a crash can leave. What a process did and had no time to record is a hidden step,
// of which [Options] says how many there may be at each crash.
package concerns
