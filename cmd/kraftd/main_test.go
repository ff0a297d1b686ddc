package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The node is made of the implementation alone: no specification, no checker.
func TestImports(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	require.NoError(t, err)
	const module = "github.com/quorate/quorate/"
	for p := range strings.FieldsSeq(string(out)) {
		if rest, ours := strings.CutPrefix(p, module); ours {
			require.True(t, strings.HasPrefix(rest, "impl/") || strings.HasPrefix(rest, "traces/event") || rest == "cmd/kraftd", p)
		}
	}
}
