// Package sim runs a cluster of replica cores on one seeded scheduler, with a
// bad network, disks that forget what was not flushed, and clocks that drift.
//
// Read [Run], [Config] and [Sinks] first. Everything is a function of the seed:
//
//	         ┌──────────── queue of (virtual time, number) ───────────┐
//	         ▼                                                        │
//	messages, timers, flushes, clients, faults ──► core.Step ──► driver.Apply
//	                                                                  │
//	                        disk (fs.Double), events ──► checks ──► sinks
//
// A replica may crash at any moment, also within Apply: between two Ops or in
// an operation of the disk. What a crash leaves is then held against what the
// events said is durable. After each event the cluster as a whole is checked
// (check.go). At the end, and with [Config].Heals in between, all faults stop, and the
// cluster must make progress within bounds, and in the end agree (finish.go).
//
// Faults have numbers, and can be left out by kind or one by one (script.go). [Shrink]
// so makes of a run that fails a smaller one. Each link, node, client and fault draws
// from numbers of its own, so that what is left out changes little else.
//
// With [Config].Pauses processes also stop and go on (pause.go).
//
// With [Config].Snapshots every replica has a state machine (machine.go) that takes
// snapshots, and what is installed is held against what others have applied.
//
// There is one goroutine, no real clock, and no iteration over a map that could
// show. The package knows no specification: whoever takes the events may.
package sim
