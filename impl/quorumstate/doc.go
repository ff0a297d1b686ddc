// Package quorumstate keeps Kafka's quorum-state file: the epoch, the leader
// and the vote of a replica, which must be durable before the replica acts on
// them.
//
// Read [Election] and [Store]. The file is one line of JSON, of data_version 0
// or 1 as Apache Kafka writes them (FileQuorumStateStore, QuorumStateData.json),
// and is replaced as a whole: a crash leaves the old state or the new.
//
// A save that failed is never retried: every later call returns its error.
package quorumstate
