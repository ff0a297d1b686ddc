// Package composed puts bootstrap (KIP-1170) and cluster-id discovery (KIP-1262) on the
// log of package spec, with its elections, fetches, flushes, high watermarks and
// snapshots. A process is a [spec.Replica] with a bootstrap.Controller and a clusterid.Node
// beside it; the actions of all three are those of their packages. What is only here is
// where they meet: rules.go.
//
// Read [Process] first, then controller.go and node.go. Models leave concerns out, so that
// each pair of the five (election, commit, bootstrap, snapshot, cluster ids) has one of
// its own, and a mutation can be held against the same model without the one or the other.
package composed
