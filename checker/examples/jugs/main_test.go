package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// docs/checker.md shows this program, what goes with it to be a module of its own, and
// what that prints.
func TestModuleOfItsOwn(t *testing.T) {
	source, err := os.ReadFile("main.go")
	require.NoError(t, err)
	text, err := os.ReadFile("../../../docs/checker.md")
	require.NoError(t, err)
	_, section, ok := strings.Cut(string(text), "## 5. In a module of your own\n")
	require.True(t, ok)
	section, _, _ = strings.Cut(section, "\n## ")
	assert.Contains(t, section, "```go\n"+string(source)+"```\n")
	blocks := strings.Split(section, "```\n")
	require.Len(t, blocks, 6, "go.mod, main.go and what it prints")

	root, err := filepath.Abs("../../..")
	require.NoError(t, err)
	dir := t.TempDir()
	mod := blocks[1] + "\nrequire github.com/quorate/quorate v0.0.0\n\nreplace github.com/quorate/quorate => " + root + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte(mod), 0o666))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), source, 0o666))
	cmd := exec.CommandContext(t.Context(), "go", "run", ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	for part := range strings.SplitSeq(blocks[4], "…\n") {
		assert.Contains(t, string(out), part)
	}
}
