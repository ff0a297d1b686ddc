package audit_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/spec/audit"
)

var (
	asked      = regexp.MustCompile(`Require\((\w+), (\w+),`)
	askFollows = regexp.MustCompile(`m\.follows\((\w+), `)
)

// TestConcernGuardsAreListed compares the guards that a concern lists with those that the
// text of its actions asks for.
func TestConcernGuardsAreListed(t *testing.T) {
	for _, c := range audit.Concerns {
		t.Run(c.Name, func(t *testing.T) {
			files, err := filepath.Glob(filepath.Join("..", c.Name, "*.go"))
			require.NoError(t, err)
			var texts strings.Builder
			for _, f := range files {
				text, err := os.ReadFile(f)
				require.NoError(t, err)
				texts.Write(text)
			}
			found := map[string]bool{}
			for _, m := range asked.FindAllStringSubmatch(texts.String(), -1) {
				found[m[1]+"."+m[2]] = true
			}
			for _, m := range askFollows.FindAllStringSubmatch(texts.String(), -1) {
				for _, g := range []string{"IsUp", "LeaderLeads", "NotStale"} {
					found[m[1]+"."+g] = true
				}
			}
			for _, g := range c.Guards {
				// The steps of format ask for theirs under the name of the next step.
				_, guard, _ := strings.Cut(g, ".")
				assert.True(t, found[g] || found["a."+guard], "%s is listed, and no action asks for it", g)
			}
			for g := range found {
				if action, _, _ := strings.Cut(g, "."); slices.Contains(c.Actions, action) {
					assert.Contains(t, c.Guards, g)
				}
			}
		})
	}
}
