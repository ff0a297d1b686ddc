// Command witness holds the specification against the public ones of KRaft in TLA+
// (Vanlightly/kafka-tlaplus, kip_853 and kip_996), which others wrote from Kafka's code.
// They differ in what a state is, so states are projected to role, epoch, vote and the
// epochs of the log of each replica; what TLC reaches there and what we reach must be
// the same, but for differences that have a name and a reason (docs/divergence.md).
//
//	go run ./bench/witness -jar tla2tools.jar -community CommunityModules.jar -specs kafka-tlaplus/kraft
//
// Read [runs] first. It exits with 1 if there is a difference without a name, and 2 if it
// cannot run.
package main
