// Package spec is the specification of KRaft that Quorate checks: Kafka's Raft,
// election, fetch and commit, as a set of actions.
//
// Read [Replica] and [Msg] first, then election.go: an action is a function of
// one replica and at most one message, with its guards before its changes.
//
//	timers, clients ──► action(replica) ──────────► replica'
//	                          │
//	network ──► handler(replica, message) ──► replica', message'
//
// An action cannot see other replicas, the network or the ghosts, as a real
// replica cannot. What a model leaves out (bounds), what the environment does
// (environment.go) and what properties remember (history.go) wrap the actions
// from outside. A mutation overrides one named rule (rules.go); no action knows
// of any.
//
// The specification follows Apache Kafka 4.x, with Pre-Vote (KIP-996) or, for a
// replica of an older version, without. Offsets count from 0; log end offset and
// high watermark are exclusive. It knows no time: a timer may fire whenever its
// action is enabled.
package spec
