package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/checker"
)

func TestWhy(t *testing.T) {
	for _, c := range []struct {
		args string
		code int
		says []string
	}{
		{"why -model commit Resign", exitViolated, []string{"never enabled in commit: the model allows no resignations"}},
		{"why -model commit BecomeLeader", exitHolds, []string{"enabled in 11 of 11,707 states of commit, first after 4 steps", "HasMajority  in 11,707 states  alone in 16"}},
		{"why -model commit LeaveResigned", exitViolated, []string{"never enabled in the 11,707 states", "IsResigned", "in no state is it one condition short", "a bound of the model"}},
		// Nobody leads without votes: the guard alone refuses, nearest where one stands.
		{"why -model commit -set silent=Vote,BeginQuorumEpoch BecomeLeader", exitViolated, []string{"alone in", "only HasMajority refuses it, after 1 step\n", "A: BecomeCandidate"}},
		{"why -model commit -set silent=Vote HandleVoteResponse", exitViolated, []string{"loses every answer to Vote"}},
		{"why -model commit HandleEndQuorumEpochRequest", exitViolated, []string{"nobody who could take it: no message"}},
		{"why -model vote-restart BecomeLeader -at any(replicas,.role==\"Candidate\")", exitViolated, []string{
			": BecomeLeader: refused by HasMajority\n", "B: BecomeLeader: refused by IsCandidate, then HasMajority"}},
		{"why -model vote-restart HandleVoteRequest -at any(messages,.kind==\"Vote\")", exitHolds, []string{"HandleVoteRequest  <- Vote ", "is enabled"}},
		{"why -model commit Append -at any(replicas,.end==2)", exitViolated, []string{"budget of client records (a bound of the model)"}},
		{"why -model four-epochs -max-states 1000 Resign", exitViolated, []string{"allows no resignations"}},
		{"why -model four-epochs -max-states 1000 LeaveResigned", exitLimit, []string{"in none of the", "that were looked at (states)"}},
		{"why -model commit -drop-guard BecomeLeader.HasMajority BecomeLeader", exitHolds, []string{"first after 1 step\n"}},
		{"why -model commit BecomeLeder", exitUsage, []string{`no action "BecomeLeder"; it has`}},
		{"why -model elect3_2 BecomeLeader", exitUsage, []string{"does not say why steps are refused"}},
		{"why -model commit BecomeLeader -at exposd==1", exitUsage, []string{"unknown name exposd"}},
		{"why -model commit BecomeLeader -at exposed==9", exitUsage, []string{"no state of commit answers"}},
		{"why BecomeLeader", exitUsage, []string{"which model?"}},
		{"why -model commit", exitUsage, []string{"1 arg"}},
	} {
		code, stdout, stderr := quorate(strings.Fields(c.args)...)
		assert.Equal(t, c.code, code, "%s\n%s%s", c.args, stdout, stderr)
		for _, s := range c.says {
			assert.Contains(t, stdout+stderr, s, c.args)
		}
	}
}

// In how many states an action is enabled, and refused, is counted the same by any
// number of workers.
func TestWhyWritesJSON(t *testing.T) {
	var first *checker.WhyResult
	for _, workers := range []string{"1", "3"} {
		code, stdout, _ := quorate("why", "-json", "-workers", workers, "-model", "flush", "SendFetch")
		require.Zero(t, code)
		var w checker.WhyResult
		require.NoError(t, json.Unmarshal([]byte(stdout), &w))
		assert.EqualValues(t, 97909, w.Distinct)
		assert.NotZero(t, w.Enabled)
		for i := range w.Conditions {
			assert.LessOrEqual(t, w.Conditions[i].Alone, w.Conditions[i].States)
			assert.LessOrEqual(t, w.Conditions[i].Alone, w.Conditions[i].Instances)
			assert.Equal(t, w.Conditions[i].Alone > 0, len(w.Conditions[i].Nearest) > 0)
			w.Conditions[i].Nearest = nil // of several equally near states any
		}
		w.Nearest = nil
		if first == nil {
			first = &w
		}
		assert.Equal(t, first, &w)
	}
}
