package main

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCommands(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{nil, 2, "Usage"},
		{[]string{"help"}, 0, "start"},
		{[]string{"stop"}, 2, `unknown command "stop"`},
		{[]string{"start", "-what"}, 2, "-what"},
	} {
		var b bytes.Buffer
		require.Equal(t, c.code, run(c.args, &b, &b))
		require.Contains(t, b.String(), c.says)
	}
}

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
