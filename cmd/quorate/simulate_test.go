package main

import (
	"bytes"
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func simulateCommand(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = run(context.Background(), append([]string{"simulate"}, args...), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

// The command that a counterexample ends with gives the same counterexample.
func TestSimulateReproduces(t *testing.T) {
	for _, args := range [][]string{
		{"-model", "figure8", "-mutate", "KAFKA-12619", "-seed", "5", "-seconds", "60"},
		{"-model", "vote-restart", "-mutate", "vote-forgotten", "-seed", "5", "-swarm", "-depth", "60", "-swarm-states", "5000", "-seconds", "60"},
	} {
		code, out, errs := simulateCommand(t, args...)
		require.Equal(t, exitViolated, code, errs)
		again := regexp.MustCompile(`reproduce with: quorate simulate (.*)\n`).FindStringSubmatch(out)
		require.NotNil(t, again, out)
		code, once, _ := simulateCommand(t, strings.Fields(again[1])...)
		require.Equal(t, exitViolated, code)
		story := func(s string) string {
			before, _, _ := strings.Cut(s, "reproduce with")
			return before
		}
		assert.Equal(t, story(out), story(once))
	}
}

func TestSimulateAnswers(t *testing.T) {
	code, out, _ := simulateCommand(t, "-model", "commit", "-behaviours", "50", "-json")
	assert.Equal(t, exitHolds, code)
	var r struct {
		Model      string
		Status     string
		Behaviours int
	}
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	assert.Equal(t, "commit", r.Model)
	assert.Equal(t, "no violation seen", r.Status)
	assert.Equal(t, 50, r.Behaviours)

	code, out, _ = simulateCommand(t, "-model", "commit", "-behaviour", "3", "-depth", "5")
	assert.Equal(t, exitHolds, code)
	assert.Contains(t, out, "    5  ", "the steps of the behaviour")

	for want, args := range map[string][]string{
		"which model?":          {},
		"-depth 0":              {"-model", "commit", "-depth", "0"},
		"want Action=number":    {"-model", "commit", "-weight", "Crash"},
		`no action "Crush"`:     {"-model", "commit", "-weight", "Crush=2"},
		"want one of them":      {"-model", "commit", "-behaviour", "1", "-behaviours", "2"},
		"goes with -swarm":      {"-model", "commit", "-swarm-states", "9"},
		"numbered from 0":       {"-model", "commit", "-behaviour", "-4"},
		"-seconds -1":           {"-model", "commit", "-seconds", "-1"},
		`unknown mutation "no"`: {"-model", "commit", "-mutate", "no"},
	} {
		code, _, errs := simulateCommand(t, args...)
		assert.Equal(t, exitUsage, code, want)
		assert.Contains(t, errs, want)
	}
}

// TestSimulateJSONNamesTheVariant as the reports of the other commands do.
func TestSimulateJSONNamesTheVariant(t *testing.T) {
	for _, mutation := range []string{"", "no-fencing"} {
		_, out, errs := simulateCommand(t, "-model", "lease", "-mutate", mutation, "-behaviours", "1", "-json")
		var r map[string]any
		require.NoError(t, json.Unmarshal([]byte(out), &r), errs)
		got, said := r["mutation"]
		assert.Equal(t, mutation != "", said)
		if said {
			assert.Equal(t, mutation, got)
		}
		assert.NotContains(t, r, "Mutation")
		assert.NotContains(t, r, "DropGuard")
	}
}
