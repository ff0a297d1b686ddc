// Package clusterid specifies how a node that nobody has formatted learns the id of its
// cluster from the log (KIP-1262): the table of starts, auto-format, discovery by Fetch
// and by FetchSnapshot, persistence in several directories before memory, endpoints of
// a wrong cluster, lost disks, and where the id comes from: a bootstrap, an upgrade, or,
// in the later revision (R2), the first leader.
//
// Read [Node] first, then node.go. What a node or a leader decides is in rules.go. The
// logs of the clusters are abstract (cluster.go): one leader, which may be replaced by
// one that lacks what was not committed.
package clusterid
