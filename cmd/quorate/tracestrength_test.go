package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/traces"
)

func TestTraceStrength(t *testing.T) {
	dir := "../../traces/recorded/seed-19"
	code, out, errs := quorate("trace", "strength", dir)
	require.Equal(t, exitHolds, code, errs)
	require.Regexp(t, `(?m)^  KAFKA-12619 +told apart at node-`, out)
	code, out, errs = quorate("trace", "strength", "-json", dir)
	require.Equal(t, exitHolds, code, errs)
	var s traces.Strength
	require.NoError(t, json.Unmarshal([]byte(out), &s))
	apart, all := s.Score()
	require.Positive(t, apart)
	require.Less(t, apart, all)

	code, _, _ = quorate("trace", "strength")
	require.Equal(t, exitUsage, code)
	code, _, errs = quorate("trace", "strength", "nowhere")
	require.Equal(t, exitUsage, code)
	require.Contains(t, errs, "nowhere")
}
