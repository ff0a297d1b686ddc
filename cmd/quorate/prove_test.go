package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestProve(t *testing.T) {
	for _, row := range []struct {
		args string
		code int
		says string // on either output
	}{
		{"prove commit-safety -samples 20000", exitHolds, "commit-safety: every step holds"},
		{"prove commit-safety -mutate KAFKA-12619 -samples 5000", exitViolated, "commit-safety: fails: HighWatermarkIsMajoritys, ExposedIsChosen"},
		{"prove log-matching -drop-guard HandleFetchRequest.ServesFetch -step RecordsGrounded -samples 5000", exitViolated, "counterexample to RecordsGrounded"},
		{"prove -mutate vote-before-leader -step CandidateStands", exitViolated, "log-matching: fails: CandidateStands"},
		{"prove -without EndIsKept -samples 20000", exitHolds, "without EndIsKept of commit-safety, ExposedIsChosen does not hold"},
		{"prove commit-safety -samples 1", exitLimit, "commit-safety: says nothing: "},
		{"prove -list", exitHolds, "leader-completeness: "},
		{"prove -step ExposedIsChosn", exitUsage, `did you mean "ExposedIsChosen"`},
		{"prove election-safety -step ExposedIsChosen", exitUsage, "unknown step"},
		{"prove commitsafety", exitUsage, `did you mean "commit-safety"`},
		{"prove -mutate KAFKA-1", exitUsage, "unknown mutation"},
		{"prove -drop-guard Flush.IsLeader", exitUsage, "unknown guard of Flush"},
		{"prove -samples 0", exitUsage, "-samples 0"},
		{"prove -workers -1", exitUsage, "-workers -1"},
		{"prove -samples 5 -deep", exitUsage, "[deep samples]"},
	} {
		t.Run(row.args, func(t *testing.T) {
			code, stdout, stderr := quorate(strings.Fields(row.args)...)
			assert.Equal(t, row.code, code, stdout+stderr)
			assert.Contains(t, stdout+stderr, row.says)
		})
	}
}

func TestProveJSON(t *testing.T) {
	_, first, _ := quorate("prove", "commit-safety", "-json", "-samples", "3000", "-workers", "1")
	_, second, _ := quorate("prove", "commit-safety", "-json", "-samples", "3000", "-workers", "3")
	results := []map[string]any{{}, {}}
	for i, line := range []string{first, second} {
		require.NoError(t, json.Unmarshal([]byte(line), &results[i]))
		delete(results[i], "seconds")
	}
	assert.Equal(t, results[0], results[1], "what is found does not depend on the workers")
	assert.Equal(t, "commit-safety", results[0]["proof"])
	assert.EqualValues(t, 3000, results[0]["drawn"])
}
