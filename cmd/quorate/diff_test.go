package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDiff(t *testing.T) {
	for _, c := range []struct {
		args string
		code int
		says []string
	}{
		{"diff -model vote-restart base drop:BecomeLeader.HasMajority -count", exitViolated, []string{
			"A: vote-restart\nB: vote-restart without guard BecomeLeader.HasMajority\nthey differ\n",
			"A has no behaviour that B lacks", "only B has this behaviour of 2 steps; A cannot take the last",
			"BecomeLeader in A: HasMajority", "reachable states: 29,010 common, 0 only of A,",
		}},
		{"diff vote-restart vote-restart+mutation=vote-forgotten -first", exitViolated, []string{
			"A takes", "to another state (there -> here)", "quorumState",
		}},
		{"diff -model vote-restart base mutation=vote-forgotten+on=B -first", exitViolated, []string{"with mutation vote-forgotten on B only"}},
		{"diff -model vote-restart base drop=BecomeLeader.HasMajority+on=B", exitHolds, []string{"the same behaviours", "29,010 common, 0 only of A, 0 only of B"}},
		{"diff -model elect3_2 base mutation=vote-twice", exitViolated, []string{"only B has this behaviour"}},
		{"diff elect3_2 elect3_3", exitViolated, []string{"A: elect3_2", "A has no behaviour that B lacks"}},
		{"diff -model commit records=0 records=1 -first", exitViolated, []string{"A never has A: Append(1 record): the model allows no client records"}},
		{"diff -model commit -set records=0 base drop=SendVoteRequest.NotGranted -fields epoch,leader,log,highWatermark", exitHolds, []string{"the same behaviours on epoch, leader, log, highWatermark", "pairs of what A and B may be in"}},
		{"diff -model upgrade -set epochs=1 pre-vote=none pre-vote=all -actions BecomeProspective", exitViolated, []string{"they differ on epoch, leader, voted, log, highWatermark, BecomeProspective"}},
		{"diff -model four-epochs base base -max-states 1000", exitLimit, []string{"no verdict: out of budget (states)", "whether A has a behaviour that B lacks is open"}},
		{"diff -model commit base base -fields role -max-states 1000", exitLimit, []string{"no verdict: out of budget (states)"}},
		{"diff -model commit base", exitUsage, []string{"want two sides to compare, not 1"}},
		{"diff base base", exitUsage, []string{"which model?"}},
		{"diff -model commit base comit", exitUsage, []string{`comit: unknown model "comit", did you mean "commit"`}},
		{"diff -model commit base mutation=etcd-8243", exitUsage, []string{"etcd-8243 breaks what comes about in the end, which is judged by: quorate live -mutate etcd-8243"}},
		{"diff -model commit base mutation=figure8", exitUsage, []string{`unknown mutation "figure8", did you mean "figure-8"`}},
		{"diff -model commit base mutation=", exitUsage, []string{"want one mutation, as mutation=KAFKA-12619"}},
		{"diff -model commit base drop=BecomeLeader", exitUsage, []string{"named Action.Guard"}},
		{"diff -model commit base on=A", exitUsage, []string{"on=A says which replicas"}},
		{"diff -model commit base epoch=2", exitUsage, []string{`no constant "epoch"`}},
		{"diff -model commit base base+commit", exitUsage, []string{`"commit": want NAME=VALUE`}},
		{"diff -model commit base base -fields rolle", exitUsage, []string{`has a field "rolle"; there are`}},
		{"diff -model commit base base -actions Stand", exitUsage, []string{`no action "Stand"`}},
		{"diff commit elect3_2", exitUsage, []string{`no state of elect3_2 has a field "epoch"`}},
		{"diff -model commit base base -max-depth -1", exitUsage, []string{"-max-depth -1"}},
	} {
		code, stdout, stderr := quorate(strings.Fields(c.args)...)
		assert.Equal(t, c.code, code, "%s\n%s%s", c.args, stdout, stderr)
		for _, s := range c.says {
			assert.Contains(t, stdout+stderr, s, c.args)
		}
		if c.code == exitUsage {
			assert.Empty(t, stdout, c.args)
			assert.NotContains(t, stderr, "goroutine")
		}
	}
}

func TestDiffWritesJSON(t *testing.T) {
	code, stdout, _ := quorate("diff", "-json", "-model", "vote-restart", "base", "drop=BecomeLeader.HasMajority")
	require.Equal(t, exitViolated, code)
	var c struct {
		Status string `json:"status"`
		OnlyA  any    `json:"only_a"`
		OnlyB  struct {
			Trace   []struct{ Step string }
			Refused []struct{ Name string }
		} `json:"only_b"`
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &c))
	assert.Equal(t, "differ", c.Status)
	assert.Nil(t, c.OnlyA)
	require.Len(t, c.OnlyB.Trace, 3)
	assert.Equal(t, "BecomeLeader", c.OnlyB.Trace[2].Step)
	assert.Equal(t, "HasMajority", c.OnlyB.Refused[0].Name)
}
