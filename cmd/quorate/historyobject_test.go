package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// aStore is two clients of a key-value store, one of whose writes has no answer.
var aStore = []string{
	`{"v":1,"type":"history","object":"key-value","run":"a store","clock":"ns"}`,
	`{"type":"put","client":1,"call":10,"return":14,"outcome":"ok","key":"a","value":"1"}`,
	`{"type":"put","client":2,"call":12,"return":90,"outcome":"unknown","key":"a","value":"2"}`,
	`{"type":"get","client":1,"call":20,"return":24,"outcome":"ok","key":"a","value":"2"}`,
	`{"type":"mark","what":"leader change","from":15,"to":19,"note":"node 1 killed"}`,
}

func TestHistoryCheckObjects(t *testing.T) {
	stale := append(append([]string{}, aStore...), `{"type":"get","client":1,"call":30,"return":34,"outcome":"ok","key":"a","value":"1"}`)
	for _, row := range []struct {
		name  string
		lines []string
		code  int
		says  []string
	}{
		{"linearizable", aStore, exitHolds, []string{"seed-7: key-value, 3 operations of 2 clients (1 reads), 1 of unknown outcome, 0 failed: linearizable"}},
		{"a stale read", stale, exitViolated, []string{"failed: not linearizable", "client 1 (called at 30): a: get 1", "picture: "}},
		{"another object", append([]string{`{"v":1,"type":"history","object":"queue","run":"r","clock":"ns"}`}, aStore[1:]...), exitUsage, []string{`history.ndjson:1: `, `found "queue"`}},
		{"malformed", append(append([]string{}, aStore...), `{"type":"pop"}`), exitUsage, []string{"history.ndjson:6: ", `"pop"`}},
		{"torn", append(append([]string{}, aStore...), `{"type":"get","cl`), exitUsage, []string{"history.ndjson:6: "}},
	} {
		t.Run(row.name, func(t *testing.T) {
			pictures := t.TempDir()
			code, stdout, stderr := quorate("history", "check", "-picture", pictures, writeHistory(t, row.lines...))
			require.Equal(t, row.code, code, stdout+stderr)
			for _, text := range row.says {
				require.Contains(t, stdout+stderr, text)
			}
			page, err := os.ReadFile(filepath.Join(pictures, "1-seed-7.html"))
			if row.code != exitViolated {
				require.ErrorIs(t, err, os.ErrNotExist)
				return
			}
			require.NoError(t, err)
			require.Contains(t, string(page), "node 1 killed", "marks are beside the operations")
		})
	}
}

// TestHistoryCheckRecorded: histories of real runs, and one of a log beside them.
func TestHistoryCheckRecorded(t *testing.T) {
	testdata := filepath.Join("..", "..", "traces", "history", "testdata")
	code, stdout, stderr := quorate("history", "check", filepath.Join(testdata, "registry-kills.ndjson.zst"), writeHistory(t, aHistory...),
		filepath.Join(testdata, "cluster-ids.ndjson.zst"))
	require.Equal(t, exitHolds, code, stdout+stderr)
	require.Contains(t, stdout, "registry-kills.ndjson.zst: registry, ")
	require.Contains(t, stdout, "cluster-ids.ndjson.zst: cluster-id, ")
	code, stdout, stderr = quorate("history", "check", "-json", filepath.Join(testdata, "cluster-ids.ndjson.zst"))
	require.Equal(t, exitHolds, code, stdout+stderr)
	require.Contains(t, stdout, `"object":"cluster-id","verdict":"linearizable"`)
	code, stdout, stderr = quorate("history", "check", "-object-time", "0s", testdata)
	require.Equal(t, exitUsage, code, stdout)
	require.Contains(t, stderr, "-object-time 0s: it must be positive")
	code, stdout, _ = quorate("history", "check", "-object-time", "1ns", filepath.Join(testdata, "registry-kills.ndjson.zst"))
	require.Equal(t, exitLimit, code, stdout)
	require.Contains(t, stdout, "undecided")
}
