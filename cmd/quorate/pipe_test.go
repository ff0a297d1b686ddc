package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A reader that goes away ends a run early, but for one that writes a file: that has
// to be whole, and the exit code that of the verdict.
func TestNobodyReads(t *testing.T) {
	survivePipes()
	file := filepath.Join(t.TempDir(), "trace.itf.json")
	for args, want := range map[string]int{
		"check -model elect3_2 -mutate vote-twice -format itf -o " + file: exitViolated,
		"check -model 2pc3,elect3_2":                                      exitHolds, // 2pc3 holds; the rest is not run
	} {
		r, w, err := os.Pipe()
		require.NoError(t, err)
		require.NoError(t, r.Close())
		var stderr bytes.Buffer
		code := run(context.Background(), strings.Fields(args), w, &stderr)
		assert.Equal(t, want, code, "%s: %s", args, stderr.String())
		assert.Empty(t, stderr.String(), args)
		w.Close()
	}
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Contains(t, string(text), `"#meta"`)
}
