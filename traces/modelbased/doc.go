// Package modelbased has a replica of the implementation take every step of small models
// of the specification.
//
// [Explore] gives the state graph of a model: all reachable states, and the steps between
// them, each with the messages that it takes and sends. The tests of this package walk
// through such graphs with replicas of impl/core, one for each of the model:
//
//	step of the graph                  what a core is given
//	SendFetch, SendVoteRequest, …      the message that it wanted to send leaves now
//	Handle…                            the message in flight
//	Drop                               nothing; the request fails when the next is due
//	BecomeProspective, LeaveResigned … its clock, moved to where its timer fires
//	Flush, Append, StartRead, Resign   the end of a flush, what a client asks for
//	Crash, Restart, LoseDisk           a new core, from what the disk keeps
//
// After each step the core must be in the state that the graph says, and have sent what
// the specification sends. A message that a core sends before the graph has it is held
// back until then, so that all orders of sends are tried. What one step of the code does
// in several actions is walked as one; steps that come between two of those are counted,
// as are others that the code does not take, each with its reason.
//
// Models in which the voter set changes are not walked through.
//
// Simulation (impl/sim) comes far and misses corners; this comes everywhere in a small
// box.
package modelbased
