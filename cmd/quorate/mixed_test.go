package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// In a rolling upgrade only some replicas run the changed software. A or C stand in
// vote-restart, so it is B whom both ask; and B never stands.
func TestMutationOnSomeReplicas(t *testing.T) {
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"check -model vote-restart -mutate vote-forgotten -on B", exitViolated, "with mutation vote-forgotten on B only"},
		{"check -model vote-restart -mutate vote-forgotten -on A,C -property ElectionSafety", exitHolds, "holds"},
		{"check -model vote-restart -mutate vote-forgotten -on all", exitViolated, "violates ElectionSafety"},
		{"check -model vote-restart -drop-guard BecomeLeader.HasMajority -on A", exitViolated, "without guard BecomeLeader.HasMajority on A only"},
		{"check -model vote-restart -drop-guard BecomeLeader.HasMajority -on B", exitHolds, "holds"},
		{"check -model commit -mutate figure-8 -on D", exitUsage, `no replica "D"; there are {ABC}`},
		{"check -model commit -mutate figure-8 -on none", exitUsage, "on no replica"},
		{"check -model commit -on A", exitUsage, "says which replicas run what"},
		{"check -model elect3_2 -mutate vote-twice -on A", exitUsage, "no such variant"},
	} {
		code, stdout, stderr := quorate(strings.Fields(c.args)...)
		assert.Equal(t, c.code, code, "%s\n%s%s", c.args, stdout, stderr)
		assert.Contains(t, stdout+stderr, c.says, c.args)
	}
}
