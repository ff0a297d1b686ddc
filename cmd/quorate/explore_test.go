package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestExploring(t *testing.T) {
	for _, row := range []struct {
		args string
		code int
		says string
	}{
		{"check -model commit -order dfs", exitHolds, "longest behaviour followed"},
		{"check -model vote-restart -mutate vote-forgotten -order dfs", exitViolated, "a counterexample is the stack"},
		{"check -model commit -order dfs -workers 2", exitUsage, "has one worker"},
		{"check -model commit -order sideways", exitUsage, `unknown order "sideways"`},
		{"check -model commit -witness ClientRecordCommitted", exitHolds, "a shortest way to ClientRecordCommitted, "},
		{"check -model commit -witness all", exitViolated, "ReadServed is never reached"},
		{"check -model commit -witness ReadServed -max-depth 5", exitLimit, "limit (depth)"},
		{"check -model commit -witness ElectionSafety", exitUsage, "is to hold in every step"},
		{"check -model commit -witness all -counterexamples 2", exitUsage, "two questions"},
		{"check -model flush -mutate KAFKA-10533 -counterexamples 3", exitViolated, "counterexample to CommittedStable, 12 steps"},
		{"check -model flush -counterexamples 0", exitUsage, "want a number from 1"},
		{"check -order dfs", exitUsage, "go with -model"},
	} {
		t.Run(row.args, func(t *testing.T) {
			code, stdout, stderr := quorate(strings.Fields(row.args)...)
			assert.Equal(t, row.code, code, stdout+stderr)
			assert.Contains(t, stdout+stderr, row.says)
		})
	}
}
