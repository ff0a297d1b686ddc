package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/traces"
)

// TestRejectionOfTheDocument: the rejection that traces/README.md explains is what the
// commands above it give. A line with nothing but an ellipsis is any number of lines.
func TestRejectionOfTheDocument(t *testing.T) {
	text, err := os.ReadFile("../../traces/README.md")
	require.NoError(t, err)
	_, page, ok := strings.Cut(string(text), "A rejection names the first event that has no explanation.")
	require.True(t, ok)
	blocks := strings.Split(page, "```\n")
	commands, want := strings.Split(blocks[1], "\n"), blocks[3]

	dir := filepath.Join(t.TempDir(), "plain")
	args := strings.Fields(commands[0])
	require.Equal(t, []string{"bin/tracegen", "-out", "out/plain"}, []string{args[0], args[len(args)-2], args[len(args)-1]})
	args[len(args)-1] = dir
	code, _, stderr := tracegen(args[1:]...)
	require.Equal(t, exitOK, code, stderr)

	echo := strings.Split(commands[1], "'")
	require.Equal(t, []string{"echo ", " >out/five.json"}, []string{echo[0], echo[2]})
	file := filepath.Join(t.TempDir(), "five.json")
	require.NoError(t, os.WriteFile(file, []byte(echo[1]), 0o600))
	run, err := traces.ReadRun(file)
	require.NoError(t, err)
	recordings, err := traces.Recordings(dir)
	require.NoError(t, err)
	require.Len(t, recordings, 1)
	res, err := traces.Validate(recordings[0].Inputs, traces.Options{Run: run})
	require.NoError(t, err)
	require.Equal(t, traces.Rejected, res.Verdict)
	shown, _, _ := strings.Cut(want, "         …\n")
	require.True(t, strings.HasPrefix(res.Rejection.Text(), shown), "the page has\n%s\nand this is\n%s", shown, res.Rejection.Text())
}
