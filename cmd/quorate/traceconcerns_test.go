package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What nodes recorded of bootstrap and cluster ids is judged with their traces.
func TestTraceConcerns(t *testing.T) {
	const name = "concerns-4.ndjson"
	for _, c := range []struct {
		what, old, new string
		code           int
		says           []string
	}{
		{"accepted", "", "", exitHolds, []string{"accepted: 75 events of bootstrap and 108 of cluster ids"}},
		{"rejected", `"action":"Adopt","clusterId":"A"`, `"action":"Adopt","clusterId":"B"`, exitViolated, []string{
			name + ":11: node 4, process 1, event 11: Adopt (cluster-id)\n", "clusterId: specification A, recorded B\n",
		}},
		{"malformed", `"seq":3,`, `"seq":4,`, exitUsage, []string{name + ":3: byte ", "event 4 of process 1 after event 2"}},
		{"torn", "", `{"v":1,"node":4,"proc`, exitHolds, []string{"accepted: 75 events"}},
	} {
		t.Run(c.what, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.CopyFS(dir, os.DirFS("../../traces/recorded/five-1")))
			b, err := os.ReadFile(filepath.Join(dir, name))
			require.NoError(t, err)
			text := strings.Replace(string(b), c.old, c.new, 1)
			if c.old == "" {
				text = string(b) + c.new
			}
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
			code, out := traceCheck(t, dir)
			require.Equal(t, c.code, code, out)
			for _, says := range c.says {
				require.Contains(t, out, says)
			}
			code, out = traceCheck(t, filepath.Join(dir, name))
			require.Equal(t, exitUsage, code)
			require.Contains(t, out, "is judged with the run beside it")
		})
	}
}
