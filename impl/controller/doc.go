// Package controller is the state machine of a controller quorum, as far as it is built:
// how a cluster begins (KIP-1170, KIP-1262), and configurations, written and read with the
// requests of Apache Kafka's controllers (KIP-919), kept in its metadata records.
//
// Read [Controller] and activation.go first. It is what a node applies and asks:
//
//	c := controller.New(cfg)
//	n, err := node.Start(node.Config{…, Machine: c, Service: c})
//	c.Use(n)
//
// IncrementalAlterConfigs becomes ConfigRecords, one batch for all requests that wait, and
// is answered when they are committed and applied. DescribeConfigs is a linearizable
// read. Both are NOT_CONTROLLER unless this node leads and its machine has applied
// everything of earlier epochs.
//
// A node that comes to lead activates before it serves: it ends a transaction that a leader
// before left open, and, if nothing outside of transactions has set a metadata.version,
// writes the bootstrap. What that is was found at the start, in the zero checkpoint or in
// bootstrap.checkpoint, and is no state before it is committed. Records of a transaction
// count when it ends; a snapshot is of the state at such a moment. UpdateFeatures changes
// metadata.version, and with the first one that has it writes the cluster id; a node that
// started without one takes it from there.
//
// Where it is not Kafka: topics and brokers are not known here, so a configuration of
// any is accepted, if the name could be one's; DescribeConfigs of Kafka's controllers
// reads what the node that is asked happens to know; a change whose outcome is not known
// when its leader is deposed is answered REQUEST_TIMED_OUT, where Kafka says
// NOT_CONTROLLER, which reads as if nothing could come of it; and Metadata is answered,
// for clients that know no other way to the nodes of a cluster.
//
// A controller of Kafka is a follower of ours too: its ControllerRegistration becomes a
// RegisterControllerRecord.
//
// A log that Kafka has filled is read too. Records that are not of configurations are
// kept as they are, in order, and go into snapshots.
package controller
