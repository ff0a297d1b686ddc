package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/checker"
)

func explained(t *testing.T, args ...string) *checker.Result {
	_, stdout, stderr := quorate(append([]string{"check", "-explain", "-json"}, args...)...)
	require.Empty(t, stderr)
	var r checker.Result
	require.NoError(t, json.Unmarshal([]byte(stdout), &r))
	require.NotNil(t, r.Explanation)
	return &r
}

// What the bounds of a run cut is what quorate why says of each action: two ways of
// counting, the one beside the run, from the states that met a bound, and the other over
// all states.
func TestExplainCountsAsWhyDoes(t *testing.T) {
	for _, model := range []string{"commit", "flush", "truncation"} {
		r := explained(t, "-model", model, "-workers", "2")
		assert.True(t, r.Explanation.Counted && r.Explanation.Complete)
		counted := map[string]uint64{}
		for _, c := range r.Explanation.Cuts {
			name := c.Name
			switch c.Kind {
			case "budget":
				name = "budget of " + c.Name
			case "in flight":
				name = "messages in flight"
			}
			for _, a := range c.Actions {
				counted[a.Name+", "+name] = a.States
				assert.LessOrEqual(t, a.States, c.States, "%s: %s of %s", model, a.Name, name)
			}
		}
		require.NotEmpty(t, counted, model)
		for _, a := range r.Actions {
			code, stdout, _ := quorate("why", "-json", "-model", model, a.Name)
			require.NotEqual(t, exitUsage, code)
			var w checker.WhyResult
			require.NoError(t, json.Unmarshal([]byte(stdout), &w))
			for _, c := range w.Conditions {
				key := a.Name + ", " + c.Name
				if c.Bound {
					assert.Equal(t, c.Alone, counted[key], "%s: %s", model, key)
				} else {
					assert.NotContains(t, counted, key)
				}
				delete(counted, key)
			}
		}
		for key := range counted { // why knows nothing of what the network does
			assert.Regexp(t, `^(Duplicate|CloseConnection), `, key, model)
		}
	}
}

func TestExplain(t *testing.T) {
	for _, c := range []struct {
		args string
		code int
		says []string
	}{
		{"-model commit", exitHolds, []string{
			"Every state that the model can reach within its bounds was judged, 11,707 of them.",
			`The bound "epochs" kept a step from being taken in 11,706 states; it alone refused BecomeCandidate in 11,706.`,
			"The budget of 1 client records was used up in 9,837 states; it alone refused Append in 9,837.",
			"The model has no crashes, no lost disks,",
			"Never taken, since the model allows no resignations: CheckQuorumResign, Resign.",
			"Silent: no answer to BeginQuorumEpoch ever arrives.", "Stand: only some may become candidates, in epoch 1 {A}.",
			"fingerprints of 64 bits", "Never reached: LogTruncated,"}},
		{"-model commit -exact -property ElectionSafety", exitHolds, []string{"Whole states were compared", "Not judged: LogMatching, "}},
		{"-model election -symmetry", exitHolds, []string{"6 renamings in all", "MergeFlush: what is written is flushed"}},
		{"-model commit -max-depth 4", exitLimit, []string{"ended before its end (depth): behaviours of up to 3 steps"}},
		{"-model commit -order dfs", exitHolds, []string{"Which actions the bounds cut was not counted"}},
		{"-model lease", exitHolds, []string{"was not counted"}},
		{"-model figure8 -mutate KAFKA-12619", exitViolated, []string{
			"one guard short: C: BecomeLeader, of HasMajority", "of NotGranted", // whose vote it was is one of several as short
			"no shorter behaviour violates", "in flight was not met in what was looked at."}},
		{"-model flush -mutate KAFKA-10533 -order dfs", exitViolated, []string{"one guard short: ", "the counterexample is rarely the shortest"}},
	} {
		code, stdout, stderr := quorate(append([]string{"check", "-explain"}, strings.Fields(c.args)...)...)
		assert.Equal(t, c.code, code, "%s\n%s", c.args, stderr)
		text := strings.Join(strings.Fields(stdout), " ") // lines are broken anywhere
		for _, s := range c.says {
			assert.Contains(t, text, s, c.args)
		}
		assert.Contains(t, stdout, "  what was covered, and what was not\n    - ", c.args)
	}
	_, stdout, _ := quorate("check", "-model", "figure8", "-mutate", "KAFKA-12619")
	assert.NotContains(t, stdout, "one guard short")
	assert.NotContains(t, stdout, "what was covered")
	code, _, stderr := quorate("check", "-explain")
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, stderr, "go with -model")
}

// What is said to be one guard short is in the last three states of a counterexample.
func TestExplainMarksTheLastStates(t *testing.T) {
	r := explained(t, "-model", "figure8", "-mutate", "KAFKA-12619")
	trace := r.Violations[0].Trace
	short := 0
	for n, s := range trace {
		if n < len(trace)-3 {
			assert.Empty(t, s.OneShort)
		}
		short += len(s.OneShort)
	}
	assert.Positive(t, short)
}

func TestCheckWhy(t *testing.T) {
	code, stdout, _ := quorate("check", "-model", "commit", "-why", "LeaveResigned")
	assert.Equal(t, exitViolated, code)
	_, same, _ := quorate("why", "-model", "commit", "LeaveResigned")
	assert.Equal(t, same, stdout)
	code, stdout, _ = quorate("check", "-model", "commit,flush", "-why", "BecomeLeader")
	assert.Equal(t, exitHolds, code)
	assert.Contains(t, stdout, "states of commit")
	assert.Contains(t, stdout, "states of flush")
	for args, says := range map[string]string{
		"check -model commit -why BecomeLeader -explain": "do not go with it",
		"check -model commit -why Becom":                 `no action "Becom"`,
		"check -why BecomeLeader":                        "go with -model",
	} {
		code, _, stderr := quorate(strings.Fields(args)...)
		assert.Equal(t, exitUsage, code, args)
		assert.Contains(t, stderr, says, args)
	}
}

// Why of a state of a counterexample: step 20 of this one is before C has B's vote, and
// in state 21 it has.
func TestWhyStep(t *testing.T) {
	bug := "why -model figure8 -mutate KAFKA-12619 BecomeLeader -step "
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{bug + "20", exitViolated, "C: BecomeLeader: refused by HasMajority\n"},
		{bug + "20", exitViolated, "BecomeLeader of figure8 in state 20 of the counterexample to CommittedStable\n"},
		{bug + "21", exitHolds, "C: BecomeLeader is enabled\n"},
		{bug + "0", exitViolated, "A: BecomeLeader: refused by IsCandidate, then HasMajority\n"},
		{bug + "23", exitUsage, "has states 0 to 22, and no state 23"},
		{bug + "-1", exitUsage, "-step wants the number of a state"},
		{bug + "1 -at exposed==1", exitUsage, "no -at"},
		{"why -model commit BecomeLeader -step 1", exitUsage, "no property of commit is violated"},
		{"why -model figure8 -mutate KAFKA-12619 Append -step 1", exitViolated, "the model allows no client records"},
	} {
		code, stdout, stderr := quorate(strings.Fields(c.args)...)
		assert.Equal(t, c.code, code, "%s\n%s%s", c.args, stdout, stderr)
		assert.Contains(t, stdout+stderr, c.says, c.args)
	}
}

// Pictures tell of the part of a property that fails, as text does.
func TestDiagramsSayWhichPartFails(t *testing.T) {
	because := "C leads epoch 4 and holds [L2C] there"
	for _, format := range []string{"text", "svg", "html"} {
		_, stdout, _ := quorate("check", "-model", "figure8", "-mutate", "KAFKA-12619", "-format", format)
		assert.Contains(t, stdout, because, fmt.Sprint(format))
	}
}
