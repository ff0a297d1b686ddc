package main

import (
	"encoding/json"
	"encoding/xml"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A counterexample that was written for other tools is a behaviour of the protocol with
// the mutation, and of the clean one up to where it leaves it.
func TestReplayOfCounterexamples(t *testing.T) {
	for _, c := range []struct{ model, mutation, leaves string }{
		{"figure8", "KAFKA-12619", "rejected at state 15"},
		{"vote-restart", "KAFKA-10661", "rejected at state"},
		{"leader-restart", "KAFKA-10527", "rejected at state"},
	} {
		file := filepath.Join(t.TempDir(), "bug.itf.json")
		code, _, stderr := quorate("check", "-model", c.model, "-mutate", c.mutation, "-format", "itf", "-o", file)
		require.Equal(t, exitViolated, code, stderr)
		code, stdout, stderr := quorate("replay", file, "-model", c.model, "-mutate", c.mutation)
		assert.Equal(t, exitHolds, code, stderr)
		assert.Contains(t, stdout, ": accepted, ")
		assert.Regexp(t, `state \d+ violates`, stdout)
		code, stdout, stderr = quorate("replay", file, "-model", c.model)
		assert.Equal(t, exitViolated, code, stderr)
		assert.Contains(t, stdout, c.leaves)
		assert.Contains(t, stdout, "nearest: ")
		code, stdout, _ = quorate("replay", file, "-model", c.model, "-vars", "B", "-format", "svg")
		assert.Contains(t, []int{exitHolds, exitViolated}, code)
		assert.True(t, strings.HasPrefix(strings.TrimSpace(stdout), "<svg"), "a picture and nothing else")
	}
}

func TestReplayRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "t.itf.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"states": [{"r1": "working"}, {}, {"tm": "aborted"}]}`), 0o666))
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"replay", file, "-model", "2pc3"}, exitHolds, "2pc3: accepted, 2 steps"},
		{[]string{"replay", file, "-model", "2pc3", "-max-states", "1"}, exitLimit, "more than 1 states"},
		{[]string{"replay", file, "-model", "2pc3", "-max-states", "0"}, exitUsage, "want a number from 1"},
		{[]string{"replay", file, "-model", "figure8"}, exitUsage, `variable "r1"; figure8 has A, B, C`},
		{[]string{"replay", file, "-model", "2pc3", "-vars", "q"}, exitUsage, `variable "q"`},
		{[]string{"replay", file}, exitUsage, "which model?"},
		{[]string{"replay", file + "x", "-model", "2pc3"}, exitUsage, "no such file"},
	} {
		code, stdout, stderr := quorate(c.args...)
		assert.Equal(t, c.code, code, "%v: %s%s", c.args, stdout, stderr)
		assert.Contains(t, stdout+stderr, c.says, "%v", c.args)
	}
}

func TestFormats(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x")
	for _, c := range []struct {
		args, starts string
		code         int
	}{
		{"check -model elect3_2 -mutate vote-twice -format svg", "<svg", exitViolated},
		{"check -model elect3_2 -mutate vote-twice -format html", "<!doctype html>", exitViolated},
		{"check -model elect3_2 -mutate vote-twice -format itf", "{", exitViolated},
		{"check -model elect3_2 -mutate vote-twice -format json", `{"model":"elect3_2"`, exitViolated},
		{"find -model elect3_2 leaders==1 -format svg", "<svg", exitHolds},
		{"bugs show KAFKA-10661 -format html", "<!doctype html>", exitHolds},
		{"check -model 2pc3 -format svg", "", exitHolds},
		{"simulate -model lease -mutate no-fencing -behaviours 100 -format svg", "<svg", exitViolated},
		{"simulate -model lease -behaviour 3 -format itf", "{", exitHolds},
		{"why -model vote-restart BecomeLeader -format html", "<!doctype html>", exitHolds},
		{"diff -model elect3_2 -max-depth 9 elect3_2 elect3_2+mutation=vote-twice -format svg", "<svg", exitViolated},
	} {
		code, stdout, _ := quorate(strings.Fields(c.args)...)
		assert.Equal(t, c.code, code, c.args)
		assert.True(t, strings.HasPrefix(strings.TrimSpace(stdout), c.starts), "%s: %.40s", c.args, stdout)
		if !strings.Contains(c.args, "json") && c.starts != "" {
			code, stdout, _ = quorate(append(strings.Fields(c.args), "-o", file)...)
			assert.Equal(t, c.code, code, c.args)
			assert.NotContains(t, stdout, c.starts+"\n", "the text goes to the screen, and the picture to the file")
			assert.Contains(t, stdout, "steps", c.args)
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			assert.True(t, strings.HasPrefix(strings.TrimSpace(string(text)), c.starts))
			require.NoError(t, os.Remove(file))
		}
	}
	// A file is not left behind when there is nothing to show, nor after a mistake.
	code, _, stderr := quorate("check", "-model", "2pc3", "-format", "svg", "-o", file)
	assert.Equal(t, exitHolds, code)
	assert.Contains(t, stderr, "no behaviour to show")
	assert.NoFileExists(t, file)
	for args, says := range map[string]string{
		"check -model 2pc3 -format png":                   `unknown format "png"`,
		"check -model 2pc3 -format svg -json":             "want one of them",
		"check -model 2pc3 -report junit":                 "to which file?",
		"check -model 2pc3 -report xml -o r":              `unknown report "xml"`,
		"check -model 2pc3 -report json -format svg -o r": "one run writes one file",
		"check -model 2pc3 -o r":                          "-o is for",
		"check -model 2pc3 -format svg -o no/such/dir":    "-o: create no/such/dir: no such file",
		"check -model nothing -format svg -o r":           "unknown model",
	} {
		code, stdout, stderr := quorate(strings.Fields(args)...)
		assert.Equal(t, exitUsage, code, args)
		assert.Empty(t, stdout, args)
		assert.Contains(t, stderr, says, args)
	}
	assert.NoFileExists(t, "r")
}

func TestReports(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report")
	code, stdout, _ := quorate("check", "-model", "2pc3,elect3_2", "-report", "junit", "-o", file)
	require.Equal(t, exitHolds, code)
	assert.Regexp(t, `(?m)^2 runs +2 as they should be`, stdout)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	timeless := regexp.MustCompile(`time="[\d.]+"|"workers" value="\d+"`).ReplaceAllString(string(text), `-`)
	assert.Equal(t, `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="quorate" tests="4" failures="0" skipped="0" -="">
 <testsuite name="2pc3" tests="2" failures="0" skipped="0" -="">
`, strings.Join(strings.SplitAfter(strings.ReplaceAll(timeless, " ->", ` -="">`), "\n")[:3], ""))

	code, _, _ = quorate("check", "-model", "elect3_2", "-model", "elect3_3", "-mutate", "vote-twice", "-report", "junit", "-o", file)
	require.Equal(t, exitViolated, code)
	var suites junitSuites
	text, err = os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, xml.Unmarshal(text, &suites))
	assert.Equal(t, 4, suites.Failures, "of each run, and of the property in it")
	failure := suites.Suites[0].Cases[1].Failure
	require.NotNil(t, failure)
	assert.Equal(t, "OneLeaderPerTerm is violated", failure.Message)
	assert.Contains(t, failure.Text, "BecomeLeader")
	assert.Equal(t, "examples/elect.elect3_2 with mutation vote-twice", suites.Suites[0].Cases[1].Class)

	code, _, _ = quorate("check", "-model", "elect3_2", "-model", "elect3_3", "-max-depth", "3", "-report", "json", "-o", file)
	require.Equal(t, exitLimit, code)
	text, err = os.ReadFile(file)
	require.NoError(t, err)
	var report struct {
		Tool           string
		OK, Cut, Wrong int
		Runs           []struct {
			Model, Status string
			OK, Cut       bool
			Distinct      int
		}
	}
	require.NoError(t, json.Unmarshal(text, &report))
	assert.Equal(t, 2, report.Cut)
	assert.True(t, strings.HasPrefix(report.Tool, "quorate "))
	require.Len(t, report.Runs, 2)
	assert.Equal(t, "limit", report.Runs[1].Status)
	assert.Positive(t, report.Runs[1].Distinct)

	// Before the end there is no verdict, and a reader of JUnit must not see a pass.
	quorate("check", "-model", "elect3_3", "-max-depth", "3", "-report", "junit", "-o", file)
	text, err = os.ReadFile(file)
	require.NoError(t, err)
	suites = junitSuites{}
	require.NoError(t, xml.Unmarshal(text, &suites))
	assert.Equal(t, suites.Tests, suites.Skipped, "%s", text)
}

// Every command has examples, and they are ones of commands and flags that exist.
func TestHelp(t *testing.T) {
	root := newCommand()
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		assert.NotEmpty(t, cmd.Short, cmd.CommandPath())
		if cmd.Runnable() {
			assert.NotEmpty(t, cmd.Example, "%s has no example", cmd.CommandPath())
		}
		for _, line := range strings.Split(cmd.Example, "\n") {
			line, _, _ = strings.Cut(line, " | ") // what follows is another program
			words := words(line)
			if len(words) == 0 || words[0] != "quorate" {
				continue
			}
			found, rest, err := root.Find(normalise(words[1:]))
			if !assert.NoError(t, err, line) {
				continue
			}
			assert.NoError(t, found.ParseFlags(rest), line)
			found.Flags().VisitAll(func(f *pflag.Flag) { f.Changed = false })
		}
		for _, sub := range cmd.Commands() {
			if sub.Name() != "help" && sub.Name() != "completion" {
				visit(sub)
			}
		}
	}
	visit(root)
	for _, c := range root.Commands() {
		assert.NotEmpty(t, c.GroupID, c.Name())
	}
	code, stdout, _ := quorate("version")
	assert.Zero(t, code)
	assert.Regexp(t, `^quorate .+, go\d`, stdout)
}

// words splits a line as a shell does, as far as examples go.
func words(line string) []string {
	var list []string
	for _, m := range regexp.MustCompile(`'([^']*)'|(\S+)`).FindAllStringSubmatch(line, -1) {
		list = append(list, m[1]+m[2])
	}
	return list
}

func TestCompletion(t *testing.T) {
	for _, c := range []struct{ args, has string }{
		{"check --model f", "figure8\t"},
		{"check --mutate K", "KAFKA-12619\t"},
		{"check --drop-guard B", "BecomeLeader.HasMajority\n"},
		{"check --set e", "epochs=\t"},
		{"check --format s", "svg\n"},
		{"check --property E", "ElectionSafety\t"},
		{"bugs show K", "KAFKA-10661\t"},
		{"models f", "figure8\t"},
		{"graph --format d", "dot\n"},
	} {
		_, stdout, _ := quorate(append([]string{"__complete"}, strings.Fields(c.args)...)...)
		assert.Contains(t, stdout, c.has, c.args)
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		code, stdout, _ := quorate("completion", shell)
		assert.Zero(t, code)
		assert.Contains(t, stdout, "quorate", shell)
	}
}

// A file that is written anew is whole or as it was, keeps its mode, and is the only one.
func TestWriteWhole(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "x.html")
	require.NoError(t, os.WriteFile(file, []byte("before"), 0o600))
	require.NoError(t, writeWhole(file, []byte("now")))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "now", string(text))
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.EqualValues(t, 0o600, info.Mode().Perm())

	// It goes where a link points to, and the link stays.
	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink("x.html", link))
	require.NoError(t, writeWhole(link, []byte("linked")))
	text, err = os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "linked", string(text))

	// No part of it stays behind.
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "link")))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "full"), 0o700))
	inner := filepath.Join(dir, "full", "y.html")
	noSpace(t, func() { err = writeWhole(inner, make([]byte, 1<<20)) })
	require.ErrorContains(t, err, "write "+inner+": ")
	left, err := os.ReadDir(filepath.Join(dir, "full"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// noSpace has this process write no file of more than some bytes for a time, which fails as
// on a disk that is full.
func noSpace(t *testing.T, do func()) {
	var was syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was))
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 4096, Max: was.Max}))
	do()
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was))
}
