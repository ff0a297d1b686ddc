// Package metadata has the metadata records of Kafka's controllers as bytes, the levels
// of metadata.version, and the records that a cluster begins with.
//
// Read [Record], [Decode] and [Bootstrap] first. A record is framed as in Kafka's log; those
// that mean something here are decoded and have an Append, others are kept as bytes by whoever
// reads them. A Bootstrap is what format wrote for the first leader: it is read from the zero
// checkpoint (KIP-1170) or from a legacy bootstrap.checkpoint. What it says has not been
// committed by anybody; the package cannot apply it.
//
// When a leader writes what (activation) is decided in package controller, and what format
// writes in package format.
package metadata
