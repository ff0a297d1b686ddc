// Package bootstrap specifies how the first metadata of a cluster comes into its log
// (KIP-1170): formatting as a protocol of disk steps, the zero checkpoint and
// bootstrap.checkpoint as sources, activation of the first leader with a transaction or
// one atomic batch, failover at each point of it, and the deletion of both files.
//
// Read [Controller] first, then activation.go. What a controller decides is in rules.go,
// and sees one controller. The log is abstract (raft.go): elections, replication and
// commits happen in one step each, and take what they need from everybody. Package spec
// has them with messages.
package bootstrap
