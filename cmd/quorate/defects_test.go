package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDefectsUsage(t *testing.T) {
	code, _, stderr := quorate("defects", "-only", "(")
	require.Equal(t, exitUsage, code)
	require.Contains(t, stderr, "missing closing")
	code, _, stderr = quorate("defects", "-only", "no such defect")
	require.Equal(t, exitUsage, code)
	require.Contains(t, stderr, `nothing matches "no such defect"`)
}
