package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/traces/event"
)

// A file in the binary form reads as the lines that say the same.
func TestTraceLines(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "node-1"+event.BinaryExt)
	w, err := event.Create(path, event.Node{ID: 1})
	require.NoError(t, err)
	e := event.Event{Node: event.Node{ID: 1}, Inc: 1, Seq: 1, Step: 1, Action: "Restart"}
	require.NoError(t, w.Write(&e))
	require.NoError(t, w.Close())
	code, out, stderr := quorate("trace", "lines", path)
	require.Equal(t, 0, code, stderr)
	require.Equal(t, string(event.AppendJSON(nil, &e))+"\n", out)

	b, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, b[:len(b)-1], 0o600))
	code, _, stderr = quorate("trace", "lines", path)
	require.Equal(t, exitUsage, code)
	require.Contains(t, stderr, "node-1.events:1: byte 4096: the file ends")
	code, _, _ = quorate("trace", "lines", filepath.Join(dir, "none"))
	require.Equal(t, exitUsage, code)
}
