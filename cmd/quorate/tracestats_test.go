package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTraceStats: a run of thousands of events is measured at each power of ten that it
// reaches, and at its end; the numbers are the machine's.
func TestTraceStats(t *testing.T) {
	code, out := traceCheck(t, "-stats", "../../traces/recorded/real-1")
	require.Equal(t, exitHolds, code, out)
	require.Regexp(t, `(?s)accepted\n\n\.\./\.\./traces/recorded/real-1\n(after 10000 events: \d+ events/s of CPU time\n)?\d+ events: \d+ events/s of CPU time \(\d+\.\d+ s\), .* MB after \d+ events, \d+ MB at the end\nhidden steps: `, out)
}
