package main

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// quorate runs the command and returns its exit code and outputs.
func quorate(args ...string) (code int, stdout, stderr string) {
	var out, errors bytes.Buffer
	code = run(context.Background(), args, &out, &errors)
	return code, out.String(), errors.String()
}

func TestExitCodes(t *testing.T) {
	for _, row := range []struct {
		args string
		code int
		says string // on either output
	}{
		{"check -model elect3_2", exitHolds, "elect3_2: holds"},
		{"check --model elect3_2 --model 2pc3", exitHolds, "2pc3: holds"},
		{"check -model=elect3_2 -mutate=vote-twice", exitViolated, "violates OneLeaderPerTerm"},
		{"check -mutate vote-twice", exitViolated, "with mutation vote-twice, elect3_2: violated"},
		{"check -model elect3_3 -max-states 100", exitLimit, "elect3_3: limit (states"},
		{"check -model elect3_3 -max-depth 3", exitLimit, "elect3_3: limit (depth)"},
		{"check -model elect3_2 -mutate vote-twice -max-depth 2", exitLimit, "limit"},
		{"check -model elct3_3", exitUsage, `did you mean "elect3_3"? Known: `},
		{"check -mutate vote-twise", exitUsage, `did you mean "vote-twice"`},
		{"check -model 2pc3 -mutate vote-twice", exitUsage, "no such variant"},
		{"check -drop-guard Nothing.Here", exitUsage, "Nothing"},
		{"check -model 2pc3 -property Inconsistent", exitUsage, `"Consistent"`},
		{"check -no-such-flag", exitUsage, "unknown flag"},
		{"check 2pc3", exitUsage, "unknown command"},
		{"chekc", exitUsage, "unknown command"},
		{"trace chekc x", exitUsage, `unknown command "chekc", did you mean "check"?`},
		{"trace chekc -hidden 1 x", exitUsage, `unknown command "chekc", did you mean "check"?`},
		{"completion bsah", exitUsage, `unknown command "bsah", did you mean "bash"?`},
		{"help chekc", exitUsage, `there is no command "chekc"`},
		{"help trace chekc", exitUsage, `there is no command "trace chekc"`},
		{"help trace check", exitHolds, "quorate trace check DIR|FILE..."},
		{"trace import kafka-lgo x", exitUsage, `unknown command "kafka-lgo", did you mean "kafka-log"?`},
		{"history chekc", exitUsage, `unknown command "chekc", did you mean "check"?`},
		{"bugs show", exitUsage, "bugs show: which bug?"},
		{"simulate -seed x", exitUsage, `invalid argument "x" for "--seed" flag: want a whole number from 0`},
		{"simulate -seed=-1", exitUsage, "flag: want a whole number from 0"},
		{"simulate -seed 99999999999999999999", exitUsage, "not so large"},
		{"check -max-depth x", exitUsage, "flag: want a whole number"},
		{"check -json=maybe", exitUsage, "flag: want true or false"},
		{"bugs shwo KAFKA-12619", exitUsage, "unknown command"},
		{"trace", exitUsage, "quorate trace: which command? Known: check, "},
		{"trace import", exitUsage, "which command?"},
		{"history", exitUsage, "which command?"},
		{"trace -help", exitHolds, "Available Commands:"},
		{"check -model 2pc3 -profile gpu", exitUsage, "unknown profile"},
		{"find -model elect3_2 leaders==1", exitHolds, "BecomeLeader"},
		{"find -model elect3_2 leaders==3", exitViolated, "absent"},
		{"find -model elect3_2 leader==3", exitUsage, "unknown name leader"},
		{"find -model kafkasql-t ready", exitUsage, "There are: commits (image, offset, usable), instances (id, phase, offset,"},
		{"find -model elect3_3 -max-depth 2 leaders==1", exitLimit, "limit"},
		{"find leaders==1", exitUsage, "which model?"},
		{"find -model elect3_2", exitUsage, "which question?"},
		{"find -model elect3_2 leaders == 1", exitUsage, "in quotes"},
		{"find -model commit any(replicas,.role==\"Leadr\")", exitUsage, `unknown role "Leadr", did you mean "Leader"?`},
		{"find -model commit action==\"BecomeLeadr\"", exitUsage, `did you mean "BecomeLeader"?`},
		{"find -model commit any(messages,.kind==\"fetch\")", exitUsage, `did you mean "Fetch"?`},
		{"find -model commit any(replicas,.id==\"D\")", exitUsage, `unknown id "D"`},
		{"check -model 2pc3 -resume=", exitUsage, "-resume wants the name of a directory"},
		{"check -model 2pc3 -checkpoint=", exitUsage, "-checkpoint wants the name of a directory"},
		{"check -model commit -set epochs=", exitUsage, "-set epochs=: want"},
		{"graph -model 2pc3 -format dot", exitHolds, "digraph"},
		{"graph -model 2pc3 -format svg", exitUsage, "known: dot, json"},
		{"graph -model elect3_3", exitLimit, "too many states"},
		{"models", exitHolds, "elect3_4"},
	} {
		t.Run(row.args, func(t *testing.T) {
			code, stdout, stderr := quorate(strings.Fields(row.args)...)
			assert.Equal(t, row.code, code, stdout+stderr)
			assert.Contains(t, stdout+stderr, row.says)
			if row.code == exitUsage {
				assert.Empty(t, stdout, "errors go to the other output")
			}
		})
	}
}

// Every command that groups others refuses what is none of them, and does nothing alone.
func TestGroupsRefuseOthers(t *testing.T) {
	groups := 0
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
		if !cmd.HasParent() || !cmd.HasSubCommands() {
			return
		}
		groups++
		path := strings.Fields(cmd.CommandPath())[1:]
		code, stdout, stderr := quorate(append(path, "no-such-command")...)
		assert.Equal(t, exitUsage, code, cmd.CommandPath())
		assert.Empty(t, stdout)
		assert.Contains(t, stderr, `unknown command "no-such-command"`)
	}
	walk(newCommand())
	assert.GreaterOrEqual(t, groups, 4, "trace, trace import, history, bugs")
}

func TestCheckWritesJSON(t *testing.T) {
	code, stdout, _ := quorate("check", "-json", "-model", "2pc3", "-model", "elect3_2")
	require.Zero(t, code)
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	require.Len(t, lines, 2)
	var r map[string]any
	require.NoError(t, json.Unmarshal([]byte(lines[0]), &r))
	assert.Equal(t, "2pc3", r["model"])
	assert.Equal(t, "holds", r["status"])
	assert.EqualValues(t, 288, r["distinct"])
	assert.EqualValues(t, 1145, r["generated"])
}

func TestGraphWritesJSON(t *testing.T) {
	code, stdout, _ := quorate("graph", "-model", "2pc3", "-format", "json")
	require.Zero(t, code)
	var g struct{ States, Steps []any }
	require.NoError(t, json.Unmarshal([]byte(stdout), &g))
	assert.Len(t, g.States, 288)
	assert.Len(t, g.Steps, 1145)
}

// TestNames: what commands know by name they must know once, and be able to make.
func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range registry {
		assert.False(t, seen[e.Name], e.Name)
		seen[e.Name] = true
		spec, err := e.New(Variant{})
		require.NoError(t, err, e.Name)
		assert.NotEmpty(t, spec.Info().Properties, e.Name)
		for _, m := range e.Catches {
			_, err := e.New(Variant{Mutation: m})
			assert.NoError(t, err, "%s says that it catches %s", e.Name, m)
		}
	}
}

func TestNormalise(t *testing.T) {
	assert.Equal(t, []string{"--model", "m", "-h", "--json=true", "--", "-x"},
		normalise([]string{"-model", "m", "-h", "-json=true", "--", "-x"}))
	assert.Equal(t, []string{"find", "-1 < x", "--a-b"}, normalise([]string{"find", "-1 < x", "-a-b"}))
}
