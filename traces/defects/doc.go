// Package defects puts defects into the implementation and says which check finds
// each: it judges the judges. A check that has never failed has not been tested.
//
// A defect is a change of a few lines of a source file of impl. The file in the tree
// stays as it is: the Go tool is told to compile a changed copy in its place
// (go build -overlay). There are two tables:
//
//   - [Flushes]: every call in impl that makes something durable is left out in
//     turn. They are found by parsing the source, so that none can be forgotten.
//   - [Core]: rules that core, snapshots and controllers break, one at a time.
//
// Each defect is compiled into the test of package judge, which runs seeds of the
// simulator in order and holds each run against three checks that know nothing of
// each other: the properties of the cluster that the simulator checks while it runs,
// with the assertions of the core; the validation of the recorded events against the
// specification; and the history of the clients against a log without replicas. When
// the first has stopped a run, the run is repeated with nobody watching, for the
// other two. How a cluster begins is judged by simulated controllers over an abstract log,
// with the properties of spec/bootstrap and spec/clusterid, and by what each node has recorded
// of it (package concerns). And the unit tests of the package that holds the defect are run.
//
// The go command is needed at run time.
package defects
