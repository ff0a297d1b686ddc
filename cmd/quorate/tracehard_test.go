package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTraceHard(t *testing.T) {
	code, out, errs := quorate("trace", "hard", "-seeds", "3-6", "-each")
	require.Equal(t, exitHolds, code, errs)
	require.Regexp(t, `(?m)^as it was +4 +4 +0 +0 `, out)
	for _, seeds := range []string{"", "x", "3-", "5-3", "1-2-3", "-1"} {
		code, _, errs = quorate("trace", "hard", "-seeds="+seeds)
		require.Equal(t, exitUsage, code, seeds)
		require.Contains(t, errs, "a number, or two with a dash", seeds)
	}
}
