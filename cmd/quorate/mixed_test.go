package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// In a rolling upgrade only some replicas run the changed software: a voter that
// forgets its vote breaks the election wherever it is asked twice, and nowhere else.
func TestMutationOnSomeReplicas(t *testing.T) {
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		// A or C stand in vote-restart, so only B is asked by both.
		{"check -model vote-restart -mutate vote-forgotten -on B", exitViolated, "with mutation vote-forgotten on B only"},
		{"check -model vote-restart -mutate vote-forgotten -on A,C", exitHolds, "holds"},
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

// Constants change the box, and leave the model that is known by that name as it is.
func TestConstantsOfAVariant(t *testing.T) {
	e, err := lookUp("vote-restart")
	require.NoError(t, err)
	for constants, says := range map[string]string{
		"crashes=x": "crashes=x: want a number", "epochs": "as name=value", "epochs=2": "who may stand in 1 epochs of 2", "crash=1": "no constant",
	} {
		_, err := e.New(Variant{Constants: constants})
		assert.ErrorContains(t, err, says)
	}
	_, err = e.New(Variant{Constants: "crashes=0+stays-down=false"})
	require.NoError(t, err)
	code, stdout, _ := quorate("check", "-model", "vote-restart")
	assert.Equal(t, exitHolds, code, stdout) // as pinned
}
