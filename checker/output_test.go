package checker

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTraceInWords(t *testing.T) {
	sys := &relay{processes: 2, inFlight: 1, maxSeq: 1, countTwice: true, budgets: [4]uint8{0, 1, 0, 0}}
	r, err := Run(Interned(sys), Options{Workers: 1, Properties: []string{"AnswersBounded"}})
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, r.WriteText(&b))
	text := b.String()
	before, rest, found := strings.Cut(text, "    1  ")
	require.True(t, found, text)
	assert.Equal(t, `relay: violated

  counterexample to AnswersBounded, 2 steps

    0  initial state
         A: seq 0, waiting 0, heard [0 0 0]
         B: seq 0, waiting 0, heard [0 0 0]
         network: ping A->B 7 in flight
         ghost: highest [0 0 0]
         budget: forget 0 of 1
`, before)
	steps, counts, found := strings.Cut(rest, "\n\n")
	require.True(t, found)
	assert.Equal(t, `B: HandlePing(0)  <- ping A->B 7
         B.heard: [0 0 0] -> [7 0 0]
         - network.ping A->B 7: in flight
         + network.pong B->A 7: in flight
    2  B: Forget(0)
         B.heard: [7 0 0] -> [0 0 0]
         budget.forget: 0 of 1 -> 1 of 1
       then
         A: seq 0, waiting 0, heard [0 0 0]
         B: seq 0, waiting 0, heard [0 0 0]
         network: pong B->A 7 in flight
         ghost: highest [0 0 0]
         budget: forget 1 of 1`, steps)
	assert.Regexp(t, `(?m)^  violates AnswersBounded \(always\): no more answers than are asked for$`, counts)
	assert.Regexp(t, `(?m)^    messages +in flight +1 +\d+$`, counts)
	assert.Regexp(t, `(?m)^    AnswersBounded +always +violated$`, counts)
	assert.NotContains(t, counts, "Lose", "beside a counterexample only what was taken")

	// A run that holds says what was not covered too.
	held := &relay{processes: 2, inFlight: 1, maxSeq: 1, budgets: [4]uint8{0, 1, 0, 0}}
	r, err = Run(Interned(held), Options{Workers: 1, Properties: []string{}})
	require.NoError(t, err)
	b.Reset()
	require.NoError(t, r.WriteText(&b))
	assert.Regexp(t, `(?m)^    forget +budget +1 +\d+$`, b.String())
	assert.Regexp(t, `(?m)^    Lose +0 +never taken$`, b.String())
}

func TestResultAsJSON(t *testing.T) {
	r, err := Run(&grid{side: 9, wall: 2}, Options{})
	require.NoError(t, err)
	text, err := json.Marshal(r)
	require.NoError(t, err)
	var got map[string]any
	require.NoError(t, json.Unmarshal(text, &got))
	for _, name := range []string{
		"spec", "status", "distinct", "generated", "initial", "depth", "widest", "actions", "bounds",
		"stuck", "stopped", "properties", "violations", "expected_omissions", "workers", "seconds", "table_bytes",
	} {
		assert.Contains(t, got, name)
	}
	steps := got["violations"].([]any)[0].(map[string]any)["trace"].([]any)
	assert.Equal(t, map[string]any{"path": "x", "value": "2"}, steps[4].(map[string]any)["fields"].([]any)[0])
}

func TestFindGivesAShortestWay(t *testing.T) {
	for _, workers := range []int{1, 8} {
		r, err := Find(&grid{side: 100}, "at.x == 3 && at.y >= 2", Options{Workers: workers})
		require.NoError(t, err)
		assert.Equal(t, Found, r.Status)
		require.Len(t, r.Witness, 6)
		assert.Equal(t, gridState{3, 2}, r.Witness[5].State)
		assert.Zero(t, r.Status.ExitCode())
	}
	r, err := Find(&grid{side: 9}, "at.x > 9", Options{})
	require.NoError(t, err)
	assert.Equal(t, Absent, r.Status)
	assert.EqualValues(t, 100, r.Distinct)
	assert.Equal(t, 1, r.Status.ExitCode())

	r, err = Find(&grid{side: 9}, "at.x == 9", Options{MaxDepth: 3})
	require.NoError(t, err)
	assert.Equal(t, Limit, r.Status)

	for _, wrong := range []string{"at.z == 1", "where.x == 1", "at.x +", "at.x"} {
		_, err = Find(&grid{side: 9}, wrong, Options{})
		assert.ErrorContains(t, err, "predicate", wrong)
	}
}

func TestGraphHasEveryStep(t *testing.T) {
	g, err := Graph(&grid{side: 3}, 16)
	require.NoError(t, err)
	assert.Equal(t, 16, g.DirectedGraph.Nodes().Len())
	assert.Len(t, g.Steps, 24)
	assert.Equal(t, 6, g.Nodes[15].Depth)
	assert.Equal(t, 2, g.From(0).Len())
	text, err := g.DOT()
	require.NoError(t, err)
	assert.Contains(t, string(text), `label="0: Right(0)"`)
	assert.Len(t, regexp.MustCompile(`(?m)^\s+\d+ -> \d+ \[`).FindAllString(string(text), -1), 24)
	encoded, err := json.Marshal(g)
	require.NoError(t, err)
	var back struct {
		States []StateNode
		Steps  []struct{ From, To int64 }
	}
	require.NoError(t, json.Unmarshal(encoded, &back))
	assert.Len(t, back.States, 16)
	assert.Len(t, back.Steps, 24)
	assert.True(t, back.States[0].Initial)

	_, err = Graph(&grid{side: 3}, 15)
	assert.ErrorIs(t, err, ErrTooManyStates)
}

func TestChanges(t *testing.T) {
	got := Changes([]Field{{"a", "1"}, {"b", "2"}, {"c", "3"}}, []Field{{"a", "1"}, {"c", "4"}, {"d", "5"}})
	assert.Equal(t, []Change{{"b", "2", ""}, {"c", "3", "4"}, {"d", "", "5"}}, got)
}

// What a state violates shows in a graph, and where it ends.
func TestGraphMarksStates(t *testing.T) {
	g, err := Graph(&grid{side: 2, wall: 2}, 100)
	require.NoError(t, err)
	violating := 0
	for _, n := range g.Nodes {
		if len(n.Violates) > 0 {
			violating++
			assert.Equal(t, g.Nodes[n.Number].Fields[0].Value, "2")
		}
	}
	assert.Positive(t, violating)
	text, err := g.DOT()
	require.NoError(t, err)
	dot := string(text)
	assert.Equal(t, violating, strings.Count(dot, "#ffcdd2"))
	assert.Equal(t, 1, strings.Count(dot, "peripheries=2"))
	assert.Contains(t, dot, `label=<<b>0</b><br/>x: 0<br align="left"/>y: 0<br align="left"/>>`)
}
