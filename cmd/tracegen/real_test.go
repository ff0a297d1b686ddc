package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/quorate/quorate/checker/linear"
	"github.com/quorate/quorate/traces"
	"github.com/quorate/quorate/traces/history"
	"github.com/stretchr/testify/require"
)

// A real run with crashes is a behaviour of the specification, and nothing in it is
// hidden: what a process did before kill -9 is in its file.
func TestRealRun(t *testing.T) {
	out := t.TempDir()
	var stdout, stderr bytes.Buffer
	code := run([]string{"-nodes", "3", "-crashes", "2", "-seconds", "3", "-snapshot-bytes", "3000", "-out", out}, &stdout, &stderr)
	require.Equal(t, exitOK, code, "%s%s", stdout.String(), stderr.String())
	require.Contains(t, stdout.String(), "linearizable")
	require.Regexp(t, `snapshots taken [1-9]\d* installed \d+, log starts moved [1-9]`, stdout.String())

	dir := filepath.Join(out, "real-1")
	h, err := history.Open(filepath.Join(dir, "history.ndjson.zst"))
	require.NoError(t, err)
	acked := 0
	for _, op := range h.Ops {
		if op.Kind == linear.Append && op.Outcome == linear.Known {
			acked++
		}
	}
	require.Greater(t, acked, 20)

	who, err := traces.ReadRun(filepath.Join(dir, traces.RunFile))
	require.NoError(t, err)
	var inputs []traces.Input
	for _, name := range []string{"node-1.events.zst", "node-2.events.zst", "node-3.events.zst"} {
		inputs = append(inputs, traces.File(filepath.Join(dir, name)))
	}
	result, err := traces.Validate(inputs, traces.Options{Run: who, Hidden: 0})
	require.NoError(t, err)
	require.Equal(t, traces.Accepted, result.Verdict)

	// A run is not overwritten.
	require.Equal(t, exitUsage, run([]string{"-nodes", "3", "-out", out}, &stdout, &stderr))
}

func TestRealUsage(t *testing.T) {
	out := t.TempDir()
	for _, bad := range [][]string{{"-nodes", "-1"}, {"-nodes", "9"}, {"-crashes", "-1"}, {"-seconds", "0"}, {"-workers", "0"}, {"-snapshot-bytes", "-1"}, {"-faults", "fire"}, {"-sim"}} {
		var stdout, stderr bytes.Buffer
		args := append([]string{"-nodes", "3", "-out", out}, bad...)
		require.Equal(t, exitUsage, run(args, &stdout, &stderr), "%v", bad)
		require.NotEmpty(t, stderr.String())
	}
	entries, err := os.ReadDir(out)
	require.NoError(t, err)
	require.Empty(t, entries)
}
