// Package scenarios plays acceptance scenarios of bootstrap (KIP-1170) and of cluster-id
// discovery (KIP-1262) with real directories and processes of kraftd.
//
// There is nothing but tests. Read scenario_test.go first: a scenario says what is in the
// directories, what is run, and what is in them then, byte by byte where that is determined.
// Each has a number, by which docs/kip-1170.md and docs/kip-1262.md refer to it:
//
//	go test -v -run TestScenario/07 ./cmd/kraftd/scenarios
//
// The test of all prints a table of what has passed.
package scenarios
