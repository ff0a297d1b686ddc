package lease_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/checker/examples/lease"
)

func TestFencing(t *testing.T) {
	for _, workers := range []int{1, 8} {
		m, err := lease.New(3, 5)
		require.NoError(t, err)
		r, err := checker.Run(m, checker.Options{Workers: workers})
		require.NoError(t, err)
		assert.Equal(t, checker.Holds, r.Status)
		assert.Empty(t, r.Never(), "two clients think that they have the lock, and it does no harm")
		m.NoFencing = true
		r, err = checker.Run(m, checker.Options{Workers: workers})
		require.NoError(t, err)
		assert.Equal(t, checker.Violated, r.Status)
		assert.Len(t, r.Violations[0].Trace, 6)
	}
	_, err := lease.New(5, 1)
	assert.Error(t, err)
}

// What docs/checker.md shows of this package is what is here.
func TestDocument(t *testing.T) {
	text, err := os.ReadFile("../../../docs/checker.md")
	require.NoError(t, err)
	source := ""
	for _, file := range []string{"lease.go", "example_test.go", "lease_test.go", "../jugs/main.go"} {
		code, err := os.ReadFile(file)
		require.NoError(t, err)
		source += string(code)
	}
	blocks := strings.Split(string(text), "```go\n")[1:]
	require.NotEmpty(t, blocks)
	shown := 0
	for _, block := range blocks {
		code, _, ok := strings.Cut(block, "```")
		require.True(t, ok, "a block without an end")
		for part := range strings.SplitSeq(code, "\n…\n") { // what is left out
			part = strings.Trim(part, "\n…")
			shown++
			assert.Contains(t, source, part, "docs/checker.md shows what is not in checker/examples")
		}
	}
	assert.Greater(t, shown, 4)
}
