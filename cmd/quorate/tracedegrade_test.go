package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTraceDegrade: what is taken away is not missed, as run.json says what it is.
func TestTraceDegrade(t *testing.T) {
	run := writeTrace(t, aTrace...)
	dir := filepath.Join(t.TempDir(), "less")
	code, stdout, stderr := quorate("trace", "degrade", "-o", dir, "-without", "action,log,durable,hw", run)
	require.Equal(t, exitHolds, code, stderr)
	require.Equal(t, "node 4: 6 of 6 events\n", stdout)
	text, err := os.ReadFile(filepath.Join(dir, "run.json"))
	require.NoError(t, err)
	require.Contains(t, string(text), `"unlogged"`)
	code, out := traceCheck(t, dir)
	require.Equal(t, exitHolds, code, out)

	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"-o", dir, run}, filepath.Join(dir, "run.json")},
		{[]string{run}, "to which directory?"},
		{[]string{"-o", dir}, "which run?"},
		{[]string{"-o", t.TempDir(), "-without", "everything", run}, `"everything" cannot be left out, only action, digest`},
		{[]string{"-o", t.TempDir(), "-lose", "9", run}, "node 9 takes no part"},
	} {
		code, _, stderr := quorate(append([]string{"trace", "degrade"}, c.args...)...)
		require.Equal(t, exitUsage, code)
		require.Contains(t, stderr, c.says)
	}
}
