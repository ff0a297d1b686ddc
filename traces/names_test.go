package traces_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/spec"
)

// One action, one name: what the replica records is called as in the specification,
// and each action of the specification that a replica takes by itself is recorded.
func TestActionNames(t *testing.T) {
	files, err := filepath.Glob("../impl/core/*.go")
	require.NoError(t, err)
	var recorded []string
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		ast.Inspect(f, func(n ast.Node) bool {
			v, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			for i, id := range v.Names {
				if !strings.HasPrefix(id.Name, "act") || i >= len(v.Values) {
					continue
				}
				if text, ok := v.Values[i].(*ast.BasicLit); ok && text.Kind == token.STRING {
					action, err := strconv.Unquote(text.Value)
					require.NoError(t, err)
					recorded = append(recorded, action)
				}
			}
			return true
		})
	}
	// What happens to a process from outside leaves no event of its own, nor does that a
	// snapshot proved to be damaged.
	outside := []string{"Crash", "LoseDisk", "AbandonSnapshot"}
	var specified []string
	for a := spec.ActionID(0); a < spec.NumReplicaActions; a++ {
		if !slices.Contains(outside, a.String()) {
			specified = append(specified, a.String())
		}
	}
	assert.ElementsMatch(t, specified, recorded)
}
