// Package format prepares the log directories of a node: what kafka-storage format does
// since Kafka 4.4 (KIP-853, KIP-1170), with the cluster id in the bootstrap (KIP-1262).
//
// Read [Options], [New] and [Plan.Run] first. New holds the options to all rules that need no
// disk, and knows then all that is to be written; Check holds them to what the directories
// have; Run writes:
//
//	data directories   make it ── meta.properties
//	metadata directory make it ── of a controller: zero checkpoint ── meta.properties
//
// Each file is written under another name, flushed, renamed, and its directory flushed. The
// metadata directory is the last, and meta.properties the last in it, so a directory is
// formatted when it has that file, and whole. What was cut short is done again from the
// beginning: a zero checkpoint without meta.properties is replaced, never kept, since a
// standalone controller draws another directory id.
//
// The package does not lock directories: who calls it does.
package format
