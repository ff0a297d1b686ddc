package spec

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The table of guards is what stands in the actions, and in the methods of Ctx that
// they share. Every guard is asked for somewhere.
func TestGuardsOf(t *testing.T) {
	names, err := filepath.Glob("*.go")
	require.NoError(t, err)
	asked, calls := map[string][]string{}, map[string][]string{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			ast.Inspect(fn, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				sel, ok := call.Fun.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if id, ok := sel.X.(*ast.Ident); !ok || id.Name != "c" {
					return true
				}
				if sel.Sel.Name == "Require" {
					asked[fn.Name.Name] = append(asked[fn.Name.Name], call.Args[0].(*ast.Ident).Name)
				} else {
					calls[fn.Name.Name] = append(calls[fn.Name.Name], sel.Sel.Name)
				}
				return true
			})
		}
	}
	var of func(name string, seen map[string]bool) []string
	of = func(name string, seen map[string]bool) []string {
		if seen[name] {
			return nil
		}
		seen[name] = true
		list := slices.Clone(asked[name])
		for _, callee := range calls[name] {
			list = append(list, of(callee, seen)...)
		}
		return list
	}
	used := map[Guard]bool{}
	for a := ActionID(0); a < NumReplicaActions; a++ {
		want := of(a.String(), map[string]bool{})
		slices.Sort(want)
		want = slices.Compact(want)
		var got []string
		for _, g := range GuardsOf(a) {
			got = append(got, g.String())
			used[g] = true
		}
		slices.Sort(got)
		assert.Equal(t, want, got, a.String())
	}
	for g := NoGuard + 1; g < NumGuards; g++ {
		assert.True(t, used[g], "no action asks for %s", g)
	}
}
