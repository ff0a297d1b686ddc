package checker

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/expr-lang/expr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// meaning is what a phrase says of a behaviour at its state i, by the definitions in
// the comment of Find and without an automaton. A predicate is a letter, and a state
// the letters that hold in it.
func meaning(p *phrase, trace []string, i int) bool {
	some := func(from int, holds func(j int) bool) bool {
		for j := from; j < len(trace); j++ {
			if holds(j) {
				return true
			}
		}
		return false
	}
	all := func(from, to int, p *phrase) bool {
		for j := from; j < to; j++ {
			if !meaning(p, trace, j) {
				return false
			}
		}
		return true
	}
	part := func(k, j int) bool { return meaning(p.parts[k], trace, j) }
	switch p.op {
	case "":
		return letters(p.text, trace[i])
	case "not":
		return !part(0, i)
	case "and":
		for k := range p.parts {
			if !part(k, i) {
				return false
			}
		}
		return true
	case "or":
		for k := range p.parts {
			if part(k, i) {
				return true
			}
		}
		return false
	case "eventually":
		return some(i, func(j int) bool { return part(0, j) })
	case "always":
		return all(i, len(trace), p.parts[0])
	case "never":
		return !some(i, func(j int) bool { return part(0, j) })
	case "next":
		return i+1 < len(trace) && part(0, i+1)
	case "finally":
		return part(0, len(trace)-1)
	case "until":
		return some(i, func(j int) bool { return part(1, j) && all(i, j, p.parts[0]) })
	case "before":
		return some(i, func(j int) bool {
			return part(0, j) && !some(i, func(k int) bool { return k <= j && part(1, k) })
		})
	case "since":
		return some(i, func(j int) bool { return part(1, j) && all(j+1, len(trace), p.parts[0]) })
	case "then":
		var from func(k, begin int) bool
		from = func(k, begin int) bool {
			if k == len(p.parts) {
				return true
			}
			return some(begin, func(j int) bool {
				between := k == 0 || p.holding[k] == nil || all(begin, j, p.holding[k])
				return between && part(k, j) && from(k+1, j+1)
			})
		}
		return from(0, i)
	}
	panic(p.op)
}

var judgedLetters = map[[2]string]bool{}

// letters judges a predicate over the letters that hold in a state.
func letters(text, state string) bool {
	key := [2]string{text, state}
	holds, ok := judgedLetters[key]
	if !ok {
		env := map[string]any{"a": strings.Contains(state, "a"), "b": strings.Contains(state, "b"), "c": strings.Contains(state, "c")}
		out, err := expr.Eval(text, env)
		if err != nil {
			panic(err)
		}
		holds = out.(bool)
		judgedLetters[key] = holds
	}
	return holds
}

// randomQuestion writes a question over the predicates a, b and c.
func randomQuestion(rng *rand.Rand, deep int) string {
	sub := func() string { return "(" + randomQuestion(rng, deep-1) + ")" }
	if deep == 0 {
		return string("abc"[rng.IntN(3)])
	}
	switch rng.IntN(13) {
	case 0:
		return "not " + sub()
	case 1:
		return sub() + " and " + sub()
	case 2:
		return sub() + " or " + sub()
	case 3:
		return "eventually " + sub()
	case 4:
		return "always " + sub()
	case 5:
		return "never " + sub()
	case 6:
		return "next " + sub()
	case 7:
		return "finally " + sub()
	case 8:
		return sub() + " until " + sub()
	case 9:
		return sub() + " before " + sub()
	case 10:
		return sub() + " since " + sub()
	case 11:
		return sub() + " then " + sub() + " while " + sub()
	default:
		return sub() + " then " + sub()
	}
}

// The automaton accepts what the definitions say, whatever the question.
func TestAutomatonIsTheMeaning(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	yes := 0
	for range 3000 {
		text := randomQuestion(rng, 1+rng.IntN(3))
		p, err := parseQuestion(text)
		require.NoError(t, err, text)
		m := newAutomaton()
		var texts []string
		root := m.build(p, false, func(p *phrase) int {
			if !slices.Contains(texts, p.text) {
				texts = append(texts, p.text)
			}
			return slices.Index(texts, p.text)
		})
		for range 20 {
			var trace []string
			q := uint32(0)
			for i := range 1 + rng.IntN(6) {
				state := []string{"", "a", "b", "c", "ab", "ac", "bc", "abc"}[rng.IntN(8)]
				trace = append(trace, state)
				atoms := uint64(0)
				for k, text := range texts {
					if letters(text, state) {
						atoms |= 1 << k
					}
				}
				if i == 0 {
					q = m.begin(root, atoms)
				} else {
					q = m.step(q, atoms)
				}
				want := meaning(p, trace, 0)
				require.Equal(t, want, m.accepts(q), "%s of %q", text, trace)
				if want {
					yes++
				}
				require.Equal(t, want, len(m.waits(q)) == 0 && q != 0, "what %s waits for after %q: %q", text, trace, m.waits(q))
			}
		}
	}
	assert.Greater(t, yes, 10000)
}

// counter goes up or down between 0 and 4, or stays at 4.
func counter() *graphSpec {
	edges := map[uint64][]graphEdge{}
	for s := range uint64(5) {
		if s < 4 {
			edges[s] = append(edges[s], graphEdge{0, s + 1})
		} else {
			edges[s] = append(edges[s], graphEdge{2, s})
		}
		if s > 0 {
			edges[s] = append(edges[s], graphEdge{1, s - 1})
		}
	}
	return colours(graphOf([]uint64{0}, edges))
}

func TestFindOverTime(t *testing.T) {
	for _, c := range []struct {
		question string
		states   string // of a witness, others may be as short; empty: there is none
	}{
		{"state == 2", "012"},
		{"eventually(state == 2)", "012"},
		{"state == 2 then state == 1", "0121"},
		{"state == 2 then state == 2", "01212"},
		{"state == 1 then state == 3 then state == 0", "0123210"},
		{"state == 3 then state == 3 while state > 3", "012343"},
		{"state == 3 then state == 3 while state != 4 and state != 2", ""},
		{"state == 0 then state == 0 while state > 1", ""},
		{"eventually(state == 1 and eventually(state == 3))", "0123"},
		{"state < 3 until state == 3", "0123"},
		{"state < 2 until state == 3", ""},
		{"state == 2 before state == 1", ""},
		{"state == 1 before state == 2", "01"},
		{"(state == 4 then state == 0) and never(was.state == 4 and state == 4)", "012343210"},
		{"never(state == 0) since state == 2", "012"},
		{"(never(state == 0) since state == 2) and finally(state == 1)", "0121"},
		{"finally(state == 1) and eventually(state == 3)", "012321"},
		{"next next next (state == 1)", "0101"},
		{"always(state < 2) and next next next true", "0101"},
		{"action == \"c\"", "012344"},
		{"action == \"c\" then action == \"b\"", "0123443"},
		{"process == \"P\"", "01"},
		{"was.state > state", "010"},
		{"changed(\"state\") then not changed(\"P.state\")", "012344"},
		{"not changed(\"colour\")", "0"},
		{"next not changed(\"colour\")", ""},
		{"eventually(action == \"c\" or false) or never true", "012344"},
		{"never (state == 0)", ""},
		{`state == 1 then"then" == "then"`, "010"},
	} {
		for _, workers := range []int{1, 3} {
			r, err := Find[uint64](counter(), c.question, Options{Workers: workers})
			require.NoError(t, err, c.question)
			if c.states == "" {
				assert.Equal(t, Absent, r.Status, c.question)
				continue
			}
			require.Equal(t, Found, r.Status, c.question)
			got := ""
			for _, s := range r.Witness {
				got += fmt.Sprint(s.State)
			}
			assert.Equal(t, len(c.states), len(got), "%s: %s, want one as long as %s", c.question, got, c.states)
			assert.Equal(t, c.question, r.Question)
		}
	}
}

// What a question still waits for stands in the states of its witness.
func TestFindSaysWhatItWaitsFor(t *testing.T) {
	r, err := Find[uint64](counter(), "state == 1 then state == 3 then state == 2", Options{})
	require.NoError(t, err)
	var waits []string
	for _, s := range r.Witness {
		last := s.Fields[len(s.Fields)-1]
		if last.Path == "question.waits for 1" {
			waits = append(waits, last.Value)
		} else {
			waits = append(waits, "")
		}
	}
	assert.Equal(t, []string{"state == 1", "state == 3", "state == 3", "state == 2", ""}, waits)
}

func TestQuestionsThatCannotBeRead(t *testing.T) {
	for _, c := range []struct{ question, says string }{
		{"", "question: a predicate is missing (column 1)"},
		{"state ==", "unexpected token EOF"},
		{"stat == 1", "unknown name stat"},
		{"eventually", `question: a predicate is missing after "eventually" (column 11)`},
		{"state == 1 then", `a predicate is missing after "then" (column 16)`},
		{"then state == 1", "a predicate is missing (column 1)"},
		{"state == 1 then then state == 2", `a predicate is missing after "then" (column 17)`},
		{"state == 1 then stat == 2", "question: unknown name stat (column 17)\n | state == 1 then stat == 2\n | ................^"},
		{"eventually(state == \"x\")", "invalid operation: == (mismatched types int and string) (column 18)"},
		{"eventually(state)", "expected bool, but got int (column 11)"},
		{"eventually(state ==)", "(column 20)"},
		{"state == 1 while state == 2", `"while" says what holds up to what follows a "then"`},
		{"state == 1 while true then state == 2", `"while" says what holds up to what follows a "then"`},
		{"state == 1 then state == 2 while true while false", `one "while" for each "then" (column 39)`},
		{"true until false until true", `which of "until" and "until" comes first? Use parentheses (column 18)`},
		{"true until false since true", `which of "until" and "since"`},
		{"state == eventually(true)", `"eventually" cannot stand within a predicate (column 10)`},
		{"any([1], eventually(# == 1))", `"eventually" cannot stand within a predicate (column 10)`},
		{"state == 1 ? eventually(true) : false", `put what has "?" in it in parentheses`},
		{"eventually(state == 1", `"(" is not closed (column 11)`},
		{"eventually(state == 1))", `")" closes nothing (column 23)`},
		{"eventually([state)", `")" closes "[" (column 18)`},
		{"eventually 'abc", "the string does not end (column 12)"},
		{"eventually /* abc", "the comment does not end (column 12)"},
		{"eventually changed(\"hue\")", `has a field "hue"; there are colour, state (column 12)`},
		{"eventually changed(1)", "(column 20)"},
		{"eventually(\n state == 1\n and stat == 2)", "(line 3, column 6)\n |  and stat == 2"},
		{"eventually\xff", "not UTF-8"},
		{"eventually " + strings.Repeat("(", 300) + "true" + strings.Repeat(")", 300), "brackets within each other"},
		{strings.Repeat("not ", 5000) + "eventually true", "operators within each other"},
		{strings.Repeat("(true before ", 60) + "true" + strings.Repeat(")", 60), "question is too large"},
	} {
		_, err := Find[uint64](counter(), c.question, Options{})
		require.Error(t, err, c.question)
		assert.Contains(t, err.Error(), c.says, c.question)
	}
	var many []string
	for i := range 70 {
		many = append(many, fmt.Sprintf("eventually(state == %d)", i))
	}
	_, err := Find[uint64](counter(), strings.Join(many, " and "), Options{})
	assert.ErrorContains(t, err, "more than 64 predicates")
	r, err := Find[uint64](counter(), "eventually(state / (state - 1) > 0 and [1][state] == 1)", Options{})
	assert.Nil(t, r)
	assert.ErrorContains(t, err, "predicate: ")
	_, err = Find[uint64](counter(), "eventually true", Options{Projected: true})
	assert.Error(t, err)
}

// A word about time is one only where it stands alone.
func TestWordsAboutTimeAsNames(t *testing.T) {
	for _, text := range []string{`"then" == "then"`, "x.until", "x?.next", "'it''s' // then", "`a then b`", "thenceforth", "/* eventually */ true"} {
		p, err := parseQuestion(text)
		require.NoError(t, err, text)
		assert.Empty(t, p.op, text)
	}
}

// FuzzQuestion: whatever is asked, there is an answer or an error that says where.
func FuzzQuestion(f *testing.F) {
	for _, seed := range []string{
		"state == 1 then state == 2 while state > 0", "eventually(a and eventually(b))", "never a since b", "a until (b or c) and not next d",
		"!(x) && finally y || always 'then'", "any(replicas, .role == \"Leader\") before count(x, {# > 1}) == 2", "a ?? b then c ? d : e",
		"((eventually((a))))", "let x = 1; x == 1", "changed(\"state\") then action == \"b\"", "a then b then c then d", "not not not never never a",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 2000 {
			return
		}
		p, err := parseQuestion(text)
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		var walk func(p *phrase)
		walk = func(p *phrase) {
			if p.op == "" {
				require.Equal(t, p.text, text[p.at:p.at+len(p.text)])
			}
			for _, q := range p.parts {
				walk(q)
			}
		}
		walk(p)
		r, err := Find[uint64](counter(), text, Options{MaxDistinct: 200, Workers: 1})
		if err == nil {
			require.NotEmpty(t, r.Status)
		}
	})
}
