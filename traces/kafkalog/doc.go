// Package kafkalog reads what Apache Kafka's raft layer logs at TRACE as a trace.
//
// Read [Read] first. A line is one observation of one node, in the order in which its
// single thread worked:
//
//	Received inbound message InboundRequest(…)   an action begins that handles it
//	Completed transition to … from …             role, epoch, leader and vote after it
//	High watermark set to …                      the high watermark after it
//	Sent response … to inbound request …         what it answers
//
// So the lines between two that begin an action are one event ([node]). What no line says
// is left out of the events, and the run says so ([traces.Unlogged]): flushes, what records
// hold and how many a response has, files. Requests are matched between nodes by what they
// say ([match]), since Kafka's correlation ids are those of one node.
//
// A line that cannot be read, although it is of a kind that has to be, is an error that
// names file and line. Lines of kinds that say nothing of the protocol are passed over;
// those of unknown kinds are counted ([Log].Unknown).
package kafkalog
