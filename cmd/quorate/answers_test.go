package main

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
)

// What is asked wrongly is refused, and what ended early has no verdict.
func TestNoWrongAnswers(t *testing.T) {
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"check -model commit -drop-guard BecomeLeader.IsFetcher", exitUsage, "unknown guard of BecomeLeader"},
		{"check -model commit -workers -1", exitUsage, "-workers -1"},
		{"check -model commit -max-depth -1", exitUsage, "-max-depth -1"},
		{"check -property ElectionSafety", exitUsage, "go with -model"},
		{"check -max-states 1", exitLimit, "no verdict"},
		{"check -mutate no-truncation", exitViolated, "caught: LogTruncated is never reached"},
		{"check -model lost-disk", exitHolds, "as expected"},
		{"find -model commit any(replicas,.rol==\"Leader\")", exitUsage, "no field rol"},
		{"find -model commit any(replicas,.role==3)", exitUsage, "mismatched types"},
		{"find -model commit replicas[9].epoch>0", exitUsage, "out of range"},
		{"find -model commit eventually(replicas[9].epoch>0)", exitUsage, "out of range"},
		{"find -model commit exposed==1||eventually(exposd==2)", exitUsage, "unknown name exposd (column 24)"},
		{"find -model commit eventually(changed(\"rolle\"))", exitUsage, "has a field \"rolle\"; there are"},
		{"find -model commit never(exposed==1)&&finally(chosen==1)", exitHolds, "HandleFetchRequest"},
		{"find -model commit exposed==1&&next(chosen==0)&&eventually(exposed==0)", exitViolated, "absent"},
		{"find -model commit -max-depth 3 finally(chosen==1)", exitLimit, "limit"},
		{"graph -model truncation -max-states 0", exitUsage, "-max-states 0"},
		{"history check -register-ops -1 .", exitUsage, "cannot be negative"},
	} {
		var out, errs bytes.Buffer
		code := run(context.Background(), fields(c.args), &out, &errs)
		assert.Equal(t, c.code, code, c.args)
		assert.Contains(t, out.String()+errs.String(), c.says, c.args)
		assert.NotContains(t, errs.String(), "goroutine", c.args)
	}
}

func fields(text string) []string {
	var list []string
	for _, f := range bytes.Fields([]byte(text)) {
		list = append(list, string(f))
	}
	return list
}

// A run that is interrupted says so, and nothing of what it did not see.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, args := range [][]string{{"check"}, {"bugs"}, {"check", "-model", "figure8"}} {
		var out, errs bytes.Buffer
		assert.Equal(t, exitLimit, run(ctx, args, &out, &errs), args)
		assert.NotContains(t, out.String(), "NOT CAUGHT")
	}
}
