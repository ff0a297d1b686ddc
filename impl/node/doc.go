// Package node is a replica as a process, or a part of one: the core with its
// driver, sockets, timers and clients around it.
//
// Read [Start], [Config] and [Node] first. One goroutine owns the core, the log
// and everything that is not a socket:
//
//	accepted connections ─┐                   ┌─► driver: log, quorum-state
//	connections to peers ─┤   one bounded     │
//	flusher ──────────────┼──► queue ──► loop ┼─► trace, event by event
//	clients ──────────────┤                   │
//	timer ────────────────┘                   └─► then requests, responses, results
//
// What a step sends is kept back until its events have been given to the operating
// system, so that nobody receives what a trace does not know of.
//
// An accepted connection has a goroutine that reads and one that writes, whatever
// waits on it: a fetch that is parked is a value in the core. A connection to a
// peer has one goroutine and one request in flight; a request that is given up
// takes its connection with it, so that no late answer can be mistaken for
// another.
//
// Who connects is known by his certificate, if there is TLS ([TLS], [Caller]), and may ask
// for what super.users allows him. What he may use of the node is bounded (limits), with
// places kept for voters (places).
//
// An error of the storage or of the trace stops the node (see [Node.Done]); nothing
// is retried. So does a broken invariant of the core, with an error that tells its
// last inputs.
//
// What is replicated is a [Machine]. Beside the loop one goroutine brings it what is
// committed, another writes its snapshots, a third moves the log start. [Node.Propose]
// and [Node.Read] are how a program that embeds a node uses it: see the example, and
// examples/counter and examples/kv. A [Service] answers Kafka's requests that are not the
// replica's; impl/controller is one.
//
// Provisional: the client protocol of clientapi.go, for histories of whole logs, with
// [Values] for a machine, which keeps every value and grows without bound.
package node
