package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/checker/linear"
	"github.com/quorate/quorate/traces/history"
)

// aHistory is two clients of a log that begins with a control record. One append
// has no answer, and is read later.
var aHistory = []string{
	`{"v":1,"type":"history","run":"seed 7","clock":"tick"}`,
	`{"type":"append","client":1,"call":10,"return":14,"outcome":"ok","value":"1-1","offset":1}`,
	`{"type":"read","client":2,"call":12,"return":16,"outcome":"ok","offset":2,"value":"1-1"}`,
	`{"type":"append","client":1,"call":20,"return":30,"outcome":"unknown","value":"1-2"}`,
	`{"type":"read","client":2,"call":32,"return":36,"outcome":"ok","offset":3,"value":"1-2"}`,
	`{"type":"append","client":1,"call":40,"return":44,"outcome":"ok","value":"1-3","offset":4}`,
	`{"type":"read","client":2,"call":50,"return":52,"outcome":"ok","offset":5,"value":"1-3"}`,
	`{"type":"mark","what":"leader change","from":22,"to":31}`,
}

// tampered changes one thing in a line of aHistory.
func tampered(line int, old, changed string) []string {
	lines := append([]string{}, aHistory...)
	lines[line] = strings.Replace(lines[line], old, changed, 1)
	return lines
}

func writeHistory(t *testing.T, lines ...string) string {
	dir := filepath.Join(t.TempDir(), "seed-7")
	require.NoError(t, os.Mkdir(dir, 0o700))
	text := ""
	if len(lines) > 0 {
		text = strings.Join(lines, "\n") + "\n"
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "history.ndjson"), []byte(text), 0o600))
	return dir
}

func TestHistoryCheck(t *testing.T) {
	for _, row := range []struct {
		name  string
		lines []string
		code  int
		says  []string
	}{
		{"linearizable", aHistory, exitHolds, []string{"6", "linearizable"}},
		{"a stale read", tampered(6, `"offset":5,"value":"1-3"`, `"offset":3,"value":"1-2"`), exitViolated, []string{`not linearizable`, `the append of "1-3" at offset 4`, "the read of end offset 3", "register: "}},
		{"a lost append", tampered(6, `"offset":5,"value":"1-3"`, `"offset":5,"value":"1-2"`), exitViolated, []string{"not linearizable", `"1-3"`}},
		{"an append over another", tampered(5, `"offset":4`, `"offset":1`), exitViolated, []string{"not linearizable", "offset 1"}},
		{"a value of nobody", tampered(2, `"value":"1-1"`, `"value":"9-9"`), exitViolated, []string{"not linearizable", `"9-9"`}},
		{"no JSON", tampered(3, `{`, `[`), exitUsage, []string{"history.ndjson:4"}},
		{"an unknown field", tampered(1, `"offset"`, `"offzet"`), exitUsage, []string{"history.ndjson:2", "offzet"}},
		{"a value twice", tampered(5, "1-3", "1-1"), exitUsage, []string{"history.ndjson:6", "line 2"}},
		{"no header", aHistory[1:], exitUsage, []string{"history.ndjson:1", "header"}},
		{"empty", nil, exitUsage, []string{"history.ndjson", "empty"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			code, stdout, stderr := quorate("history", "check", writeHistory(t, row.lines...))
			require.Equal(t, row.code, code, stdout+stderr)
			if row.code == exitUsage {
				require.Empty(t, stdout, "no head of a table without a row")
			}
			for _, text := range row.says {
				require.Contains(t, stdout+stderr, text)
			}
		})
	}
}

// TestHistoryCheckFiles: what is not a history is an error, and one violation
// among several runs is what counts.
func TestHistoryCheckFiles(t *testing.T) {
	code, _, stderr := quorate("history", "check", t.TempDir())
	require.Equal(t, exitUsage, code)
	require.Contains(t, stderr, "no file named history*.ndjson")
	code, _, stderr = quorate("history", "check", filepath.Join(t.TempDir(), "absent"))
	require.Equal(t, exitUsage, code)
	require.Contains(t, stderr, "absent")

	good := writeHistory(t, aHistory...)
	bad := writeHistory(t, tampered(6, `"offset":5,"value":"1-3"`, `"offset":3,"value":"1-2"`)...)
	code, stdout, _ := quorate("history", "check", bad, filepath.Join(good, "history.ndjson"))
	require.Equal(t, exitViolated, code, stdout)
	require.Contains(t, stdout, filepath.Join(good, "history.ndjson")+" ")

	// A compressed one is found as well.
	dir := t.TempDir()
	w, err := history.Create(filepath.Join(dir, "history.ndjson.zst"), history.Header{Run: "z", Clock: "tick"})
	require.NoError(t, err)
	require.NoError(t, w.Op(&history.Op{Kind: linear.Append, Call: 1, Return: 2, Value: "a", Offset: 1}))
	require.NoError(t, w.Close())
	code, stdout, stderr = quorate("history", "check", dir)
	require.Equal(t, exitHolds, code, stdout+stderr)
}

func TestHistoryCheckPicture(t *testing.T) {
	pictures := filepath.Join(t.TempDir(), "new", "pictures")
	bad := writeHistory(t, tampered(6, `"offset":5,"value":"1-3"`, `"offset":3,"value":"1-2"`)...)
	code, stdout, stderr := quorate("history", "check", "-picture", pictures, writeHistory(t, aHistory...), bad)
	require.Equal(t, exitViolated, code, stdout+stderr)
	page := filepath.Join(pictures, "2-seed-7.html")
	require.Contains(t, stdout, "picture: "+page)
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Contains(t, string(text), "<html")
	all, err := os.ReadDir(pictures)
	require.NoError(t, err)
	require.Len(t, all, 1, "none of a run that is linearizable")

	// A picture that cannot be written costs no verdict.
	require.NoError(t, os.Mkdir(filepath.Join(pictures, "1-seed-7.html"), 0o700))
	code, stdout, _ = quorate("history", "check", "-picture", pictures, bad)
	require.Equal(t, exitViolated, code)
	require.Contains(t, stdout, "no picture: ")
}

func TestHistoryCheckJSON(t *testing.T) {
	code, stdout, stderr := quorate("history", "check", "-json", writeHistory(t, aHistory...))
	require.Equal(t, exitHolds, code, stdout+stderr)
	var r historyReport
	require.NoError(t, json.Unmarshal([]byte(stdout), &r))
	require.Equal(t, "seed 7", r.Run)
	require.Equal(t, "linearizable", r.Verdict)
	require.Equal(t, []int{6, 2, 3, 3, 5, 1, 0}, []int{r.Operations, r.Clients, r.Appends, r.Reads, r.Known, r.Unknown, r.Failed})
	require.Equal(t, []int{1, 1, 3}, []int{r.LeaderChanges, r.InFailover, r.ConcurrentReads})
	require.Equal(t, "linearizable", r.Register.Verdict)
}

// TestHistoryCheckLimit: a second opinion that is undecided is said to be, and
// changes no verdict.
func TestHistoryCheckLimit(t *testing.T) {
	code, stdout, _ := quorate("history", "check", "-register-ops", "2", writeHistory(t, aHistory...))
	require.Equal(t, exitHolds, code, stdout)
	require.Contains(t, stdout, "undecided (2 of 6 searched)")
}

func TestHistoryExitCodes(t *testing.T) {
	require.EqualValues(t, []verdict{exitHolds, exitViolated, exitLimit},
		[]verdict{exitOf(linear.Linearizable), exitOf(linear.NotLinearizable), exitOf(linear.Undecided)})
	for _, row := range []struct{ a, b, both verdict }{
		{exitHolds, exitHolds, exitHolds}, {exitHolds, exitLimit, exitLimit}, {exitHolds, exitViolated, exitViolated},
		{exitLimit, exitViolated, exitViolated}, {exitLimit, exitLimit, exitLimit},
	} {
		require.Equal(t, row.both, worse(row.a, row.b), fmt.Sprint(row))
		require.Equal(t, row.both, worse(row.b, row.a), fmt.Sprint(row))
	}
}
