package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Commands in documents print what the documents say. A line with nothing but an
// ellipsis is any number of lines.
func TestCommandsOfTheDocuments(t *testing.T) {
	for _, file := range []string{"../../docs/checker.md"} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		blocks := strings.Split(string(text), "```console\n")[1:]
		require.NotEmpty(t, blocks, file)
		for _, block := range blocks {
			block, _, _ = strings.Cut(block, "```")
			line, want, ok := strings.Cut(block, "\n")
			require.True(t, ok && strings.HasPrefix(line, "$ quorate "), "%s: %q", file, line)
			_, stdout, stderr := quorate(words(line)[2:]...)
			assert.Empty(t, stderr, line)
			assert.Regexp(t, pattern(want), stdout, line)
		}
	}
}

// pattern is what matches a text in which some lines are left out.
func pattern(text string) string {
	var b strings.Builder
	b.WriteString(`(?s)^`)
	parts := strings.Split(text, "…\n")
	for i, part := range parts {
		if i > 0 {
			b.WriteString(`(.*\n)?`)
		}
		b.WriteString(regexp.QuoteMeta(part))
	}
	b.WriteString(`$`)
	return b.String()
}

func TestPattern(t *testing.T) {
	assert.Regexp(t, pattern("a\n…\nd\n"), "a\nb\nc\nd\n")
	assert.Regexp(t, pattern("a\n…\n"), "a\n")
	assert.NotRegexp(t, pattern("a\n…\nd\n"), "a\nb\nc\n")
	assert.NotRegexp(t, pattern("a\n"), "a\nb\n")
}
