package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/spec"
)

func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "m.toml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o666))
	return file
}

// Whatever is wrong in a file is named, with its line, before anything is explored.
func TestModelFilesThatAreWrong(t *testing.T) {
	for _, c := range []struct{ text, says string }{
		{``, `m.toml:1: no [[model]]`},
		{"\n[[model]\nname = 'a'", `m.toml:2:`},
		{"voters = 3\n[[model]]\nname = 'a'", `m.toml:1: "voters" stands outside of a [[model]]`},
		{"[[modle]]\nname = 'a'", `m.toml:1: "modle" stands outside`},
		{"model = [1, 2]", `something else than tables`},
		{"\n[[model]]\nepochs = 1", `m.toml:2: name is ""`},
		{"[[model]]\nname = 'a,b'", `m.toml:2: name is "a,b"; want letters`},
		{"[[model]]\nname = 3", `m.toml:2: name is 3; want a text`},
		{"[[model]]\nname = 'a'\nname = 'b'", `m.toml:3:`},
		{"[[model]]\nname = 'a'\n[[model]]\n# two\nname = 'a'", `m.toml:5: there is a model "a" above`},
		{"[[model]]\nname = 'a'\n\nepoch = 2", `m.toml:4: unknown key "epoch", did you mean "epochs"?`},
		{"[[model]]\nname = 'a'\nin_flight = 7", `m.toml:3: in-flight=7: want a number from 1 to 6`},
		{"[[model]]\nname = 'a'\nin_flight = 1\nin-flight = 1", `m.toml:4: in-flight is in_flight once more`},
		{"[[model]]\nname = 'a'\nrecords = 256", `m.toml:3: records=256: want a number from 0 to 255`},
		{"[[model]]\nname = 'a'\nvoters = 7", `m.toml:3: voters=7: want a number from 1 to 6`},
		{"[[model]]\nname = 'a'\nvoters = 'many'", `m.toml:3: voters=many: want a number`},
		{"[[model]]\nname = 'a'\nvoters = 1.5", `m.toml:3: voters: 1.5 is neither a number`},
		{"[[model]]\nname = 'a'\nvoters = 4\nobservers = 3", `m.toml:1: a voters=4 observers=3: 4 voters and 3 observers; 6 replicas fit`},
		{"[[model]]\nname = 'a'\nstand = [['A'], 'B']", `a list of lists and of other things`},
		{"[[model]]\nname = 'a'\nstand = [['A'], ['F']]\nepochs = 2", `m.toml:3: stand=A/F: no replica "F"`},
		{"[[model]]\nname = 'a'\nstand = [['A']]\nepochs = 2", `m.toml:1: `},
		{"[[model]]\nname = 'a'\nmerge_flush = true\ncrashes = 1", `merge-flush hides what a crash takes`},
		{"[[model]]\nname = 'a'\nmerge_flush = 1", `m.toml:3: merge-flush=1: "1" is neither true nor false`},
		{"[[model]]\nname = 'a'\nimmediate = ['Vote', 'Ping']", `m.toml:3: immediate=Vote,Ping: no kind of message "Ping"`},
		{"[[model]]\nname = 'a'\nlike = 'figure9'", `m.toml:3: like: unknown model "figure9", did you mean "figure8"?`},
		{"[[model]]\nname = 'a'\nlike = 'figure8'\nmodule = 'election'", `m.toml:4: module says what like says already`},
		{"[[model]]\nname = 'a'\nmodule = 'elections'", `m.toml:3: unknown module "elections"`},
		{"[[model]]\nname = 'a'\nmutation = 'KAFKA-1'", `m.toml:3: unknown mutation "KAFKA-1"`},
		{"[[model]]\nname = 'a'\ndrop_guard = 'BecomeLeader'", `m.toml:3: a guard is named Action.Guard`},
		{"[[model]]\nname = 'a'\nexpect = 'fails'", `m.toml:3: expect is "fails"; want "holds"`},
		{"[[model]]\nname = 'a'\nexpect = 'violates Safety'", `m.toml:3: expect: unknown property "Safety"`},
		{"[[model]]\nname = 'a'\nexpect = 'never ElectionSafety'", `m.toml:3: ElectionSafety is of the kind always`},
		{"[[model]]\nname = 'a'\ndistinct = 'many'", `m.toml:3: distinct is many; want a number from 1`},
		{"[[model]]\nname = 'a'\nmodule = 'examples/elect'\nservers = 9", `m.toml:4: servers is 9; want a number from 1 to 4`},
		{"[[model]]\nname = 'a'\nmodule = 'examples/twophase'\nepochs = 2", `m.toml:4: unknown key "epochs"`},
	} {
		code, stdout, stderr := quorate("check", "-file", write(t, c.text))
		assert.Equal(t, exitUsage, code, c.text)
		assert.Empty(t, stdout, c.text)
		assert.Contains(t, stderr, c.says, c.text)
		assert.Contains(t, stderr, "m.toml", c.text)
	}
	code, _, stderr := quorate("check", "-file", filepath.Join(t.TempDir(), "none.toml"))
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, stderr, "none.toml")
}

// A model of a file is explored as one of the list is, and held to what it expects.
func TestModelFiles(t *testing.T) {
	file := write(t, `
[[model]]
name = "again"
like = "commit"
distinct = 20

[[model]]
name = "mine"
module = "examples/elect"
terms = 2
distinct = 6140
expect = "holds"

[[model]]
name = "two-votes"
like = "elect3_2"
mutation = "vote-twice"
expect = "violates OneLeaderPerTerm"
`)
	code, stdout, stderr := quorate("check", "-file", file, "-model", "mine", "-model", "two*")
	assert.Equal(t, exitHolds, code, stdout+stderr)
	assert.Contains(t, stdout, "as expected")
	assert.Contains(t, stdout, "2 runs")
	assert.NotContains(t, stdout, "again")

	code, stdout, _ = quorate("check", "-file", file, "-model", "again")
	assert.Equal(t, exitViolated, code)
	assert.Contains(t, stdout, "NOT AS PINNED: 20 distinct")

	// What flags change is not held to what the file expects.
	code, stdout, _ = quorate("check", "-file", file, "-model", "mine", "-mutate", "vote-twice")
	assert.Equal(t, exitViolated, code)
	assert.NotContains(t, stdout, "EXPECTED")

	code, stdout, _ = quorate("check", "-file", strings.Replace(file, "m.toml", "m.toml", 1), "-model", "two-votes", "-max-depth", "2")
	assert.Equal(t, exitLimit, code, "no verdict is not as expected")
	assert.NotContains(t, stdout, "xpected:")
	code, _, stderr = quorate("check", "-file", file, "-model", "figure8")
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, stderr, "Known: again, mine, two-votes")
	code, stdout, _ = quorate("find", "-file", file, "-model", "mine", "leaders == 1")
	assert.Equal(t, exitHolds, code)
	assert.Contains(t, stdout, "BecomeLeader")
	code, _, stderr = quorate("find", "-file", file, "leaders == 1")
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, stderr, "one model at a time, of again, mine, two-votes")
}

// The files of docs/models say what they expect, and get it.
func TestModelsOfTheDocuments(t *testing.T) {
	files, err := filepath.Glob("../../docs/models/*.toml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		if testing.Short() && strings.HasSuffix(file, "election.toml") {
			_, err := readModels(file)
			require.NoError(t, err)
			continue
		}
		code, stdout, stderr := quorate("check", "-file", file)
		assert.Equal(t, exitHolds, code, "%s: %s%s", file, stdout, stderr)
		assert.NotContains(t, stdout, "EXPECTED")
	}
}

// A model with its own constants set once more, all at once, is the same model.
func TestSetIsInverse(t *testing.T) {
	for i := range spec.Models {
		m := &spec.Models[i]
		e, err := lookUp(m.Name)
		require.NoError(t, err)
		var list []setting
		for _, c := range spec.Constants {
			list = append(list, setting{name: c.Name, value: c.Get(m)})
		}
		slices.Reverse(list) // the order does not matter
		again, err := e.With(list)
		require.NoError(t, err, m.Name)
		assert.Equal(t, e.Constants(), again.Constants(), m.Name)
	}
}

func TestSet(t *testing.T) {
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"check -model elect -set servers=2 -set terms=4", exitHolds, "elect2_4: holds"},
		{"check -model 2pc -set managers=4", exitHolds, "2pc4: holds"},
		{"check -model elect3_2 -set terms=1", exitHolds, "elect3_1: holds"},
		{"check -model vote-restart -set crashes=0", exitHolds, "vote-restart crashes=0: holds"},
		{"check -model vote-restart -set stays_down=false -set crashes=1 -max-depth 3", exitLimit, "limit"},
		{"check -model elect -set servers=9", exitUsage, "-set servers=9: servers is 9; want a number from 1 to 4"},
		{"check -model elect -set voters=3", exitUsage, `unknown constant "voters"`},
		{"check -model figure8 -set epochs", exitUsage, "-set epochs: want NAME=VALUE"},
		{"check -model figure8 -set epochs=2 -set epochs=3", exitUsage, "epochs is set already, by -set epochs=2"},
		{"check -model figure8 -set epoch=2", exitUsage, "-set epoch=2: no constant"},
		{"check -set epochs=2", exitUsage, "-set goes with -model or -file"},
		{"check -model nothing*", exitUsage, "unknown model"},
		{"check -model [", exitUsage, "syntax error in pattern"},
		{"graph -model 2pc -set managers=2", exitHolds, "digraph"},
		{"models elect", exitHolds, "1 to 4"},
		{"models figure8", exitHolds, "in-flight"},
		{"models figure9", exitUsage, "figure8"},
	} {
		code, stdout, stderr := quorate(strings.Fields(c.args)...)
		assert.Equal(t, c.code, code, c.args+": "+stdout+stderr)
		assert.Contains(t, stdout+stderr, c.says, c.args)
	}
}

func FuzzModelFile(f *testing.F) {
	f.Add([]byte("[[model]]\nname = 'a'\nstand = [['A'], ['B', 'C']]\nepochs = 2"))
	f.Add([]byte("[[model]]\nname = 'a'\nlike = 'figure8'\nexpect = 'never LogTruncated'\n[[model]]\nname = 'b'"))
	f.Add([]byte("[[model]]\nname = 'a'\nmodule = 'examples/elect'\nservers = 3\ndistinct = 4"))
	f.Fuzz(func(t *testing.T, text []byte) {
		tables, err := parseModels("f.toml", text)
		if err != nil {
			return
		}
		for _, table := range tables {
			if e, err := table.entry(); err == nil && (e.Name == "" || e.New == nil) {
				t.Fatal("a model without a name")
			}
		}
	})
}
