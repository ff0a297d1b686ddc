// Package interop holds this project against Apache Kafka itself: Kafka's tools read
// our files and ask our nodes, Kafka's controller goes on in a directory of ours and
// kraftd in one of Kafka's, both stand in one quorum, and the registry keeps its
// journal in a topic of Kafka's broker.
//
// All of it are tests with the build tag interop, which `make interop` runs. They need
// Java and Maven, which fetches Kafka's jars; docs/interop.md says how, and what is
// shown. Begin with quorum_test.go.
package interop
