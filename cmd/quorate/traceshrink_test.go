package main

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/traces"
)

// TestTraceShrink: what is left of a rejected run is rejected by the command that is printed.
func TestTraceShrink(t *testing.T) {
	list, err := traces.Recordings("../../traces/recorded/seed-19")
	require.NoError(t, err)
	events, err := readEvents(list[0].Inputs)
	require.NoError(t, err)
	e := &events[1][40]
	e.State.Epoch++
	bad := filepath.Join(t.TempDir(), "bad")
	require.NoError(t, writeRecording(bad, "changed", list[0].Run, events))

	out := filepath.Join(t.TempDir(), "less")
	code, text, errs := quorate("trace", "shrink", "-o", out, "-tries", "60", bad)
	require.Equal(t, exitHolds, code, errs)
	lines := strings.Split(strings.TrimSpace(text), "\n")
	check := strings.Fields(lines[len(lines)-1])
	require.Equal(t, []string{"quorate", "trace", "check"}, check[:3])
	code, text, errs = quorate(check[1:]...)
	require.Equal(t, exitViolated, code, errs)
	require.Contains(t, text, "state.epoch")

	// An interrupt ends it with what was found.
	ctx, interrupt := context.WithCancel(context.Background())
	interrupt()
	var stdout, stderr bytes.Buffer
	require.Equal(t, exitLimit, run(ctx, []string{"trace", "shrink", "-o", out + "3", bad}, &stdout, &stderr))
	require.Contains(t, stderr.String(), "interrupted")
	require.Contains(t, stdout.String(), "after 1 runs")
	code, _, errs = quorate("trace", "check", out+"3")
	require.Equal(t, exitViolated, code, errs)

	code, text, _ = quorate("trace", "shrink", "-o", out+"2", "../../traces/recorded/seed-19")
	require.Equal(t, exitViolated, code)
	require.Contains(t, text, "nothing to shrink")
	for _, args := range [][]string{{"-o", out}, {bad}, {"-o", out, "-most", "0", bad}, {"-o", out, "-tries", "0", bad}, {"-o", out, "-hidden", "-1", bad}, {"-o", out, bad}} {
		code, _, errs = quorate(append([]string{"trace", "shrink"}, args...)...)
		require.Equal(t, exitUsage, code, args)
		require.NotEmpty(t, errs, args)
	}
}
