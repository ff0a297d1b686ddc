// Package quorate has no code: this test of the whole module holds who may import
// whom, and what the specification and the replica core may reach. The reasons are
// in docs/architecture.md.
package quorate

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const module = "github.com/quorate/quorate"

// row says which packages of the project those under a folder may import: a name
// ending in /... means a package and all below it. The longest folder that fits a
// package counts.
type row struct {
	folder string
	may    []string
	why    string
}

var table = []row{
	{"checker", []string{"checker/internal/..."}, "the engine knows nothing of Kafka, and serves any specification"},
	{"checker/internal/runset", nil, "a set of numbers on disk, and nothing more"},
	{"checker/linear", nil, "linearizability is judged without knowing the system"},
	{"checker/examples", []string{"checker"}, "an example is what a user of the engine would write"},
	{"checker/checkertest", []string{"checker"}, "help for tests of specifications of any kind"},
	{"spec", []string{"checker"}, "spec and impl are two independent writings of the protocol, and meet only in traces and in tests"},
	{"spec/concern", []string{"checker"}, "how specifications of single concerns are listed"},
	{"spec/bootstrap", []string{"spec/concern", "checker"}, "a concern over an abstract log, which knows nothing of the real one"},
	{"spec/clusterid", []string{"spec/concern", "checker"}, "a concern over an abstract log, which knows nothing of the real one"},
	{"spec/composed", []string{"spec", "spec/bootstrap", "spec/clusterid", "spec/concern", "checker"}, "the two concerns on the real log, which is theirs to use and not to change"},
	{"spec/kafkasql", []string{"spec/concern", "checker"}, "a system of its own: its journal is a log that does not fail"},
	{"spec/kafkasqlc", []string{"spec/concern", "checker"}, "another protocol than those of spec/kafkasql, with a state of its own"},
	{"spec/audit", []string{"spec/...", "checker"}, "it judges the specification, and so stands on this side"},
	{"impl", []string{"impl/...", "traces/event", "traces/event/concern", "traces/event/mapped"}, "spec and impl are two independent writings of the protocol, and a replica does not judge itself"},
	{"impl/core", []string{"traces/event"}, "the core is a function: who performs its effects is not its business"},
	{"traces/event", []string{"traces/event/..."}, "the schema is a leaf, so that recorder and judge need not know each other"},
	{"traces", []string{"traces/...", "spec/...", "checker/..."}, "the judge must not depend on what it judges: implementations are handed to it"},
	{"cmd", []string{"..."}, "commands put everything together"},
	{"cmd/kraftd", []string{"impl/...", "traces/event", "traces/event/concern"}, "the node ships without specification, checker and judge"},
	{"examples", []string{"impl/...", "traces/event"}, "an example is what a user of the node would write"},
	{"bench", []string{"..."}, "benchmarks measure everything"},
	{"interop", []string{"impl/..."}, "Kafka is held against the implementation, and knows no model"},
}

func TestImports(t *testing.T) {
	for _, f := range sources(t, ".", parser.ImportsOnly) {
		r := rowOf(f.pkg)
		if r == nil {
			t.Errorf("%s: no row of the table says what %s may import", f.name, f.pkg)
			continue
		}
		for _, imported := range f.imports() {
			to, ours := strings.CutPrefix(imported, module+"/")
			if ours && to != f.pkg && !covers(r.may, to) {
				t.Errorf("%s imports %s, but %s imports %s: %s", f.name, to, r.folder, only(r.may), r.why)
			}
		}
	}
}

// TestDependencies holds the same of whole programs, as the go command sees them.
func TestDependencies(t *testing.T) {
	apart := []row{ // here may lists what must not be reached
		{"spec", []string{"impl/...", "traces/...", "cmd/...", "bench/..."}, "the specification stands alone"},
		{"impl", []string{"spec/...", "checker/..."}, "the implementation is not derived from the specification"},
		{"checker", []string{"spec/...", "impl/...", "traces/..."}, "the engine knows nothing of Kafka"},
		{"cmd/kraftd", []string{"spec/...", "checker/..."}, "the node ships without specification and checker"},
	}
	out, err := exec.Command("go", "list", "-e", "-deps", "-json=ImportPath,Deps", "./...").Output()
	require.NoError(t, err)
	seen := 0
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath string
			Deps       []string
		}
		err := d.Decode(&p)
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		from, ours := strings.CutPrefix(p.ImportPath, module+"/")
		if !ours {
			continue
		}
		seen++
		for _, a := range apart {
			if !under(a.folder, from) {
				continue
			}
			for _, dep := range p.Deps {
				if to, ours := strings.CutPrefix(dep, module+"/"); ours && covers(a.may, to) {
					t.Errorf("%s depends on %s: %s", from, to, a.why)
				}
			}
		}
	}
	assert.NotZero(t, seen, "go list found no package of the project")
}

// pure are the folders whose packages are functions: no clock, randomness, file,
// socket, goroutine or lock, directly or through what they import of the project.
var pure = []struct {
	folder string
	// contract is the file of the project whose declarations they may use: data and
	// interfaces, nothing that acts.
	contract string
	// but is a folder below that is not meant.
	but string
}{
	{"spec", "checker/contract.go", "spec/audit"}, // which runs the checker, and which spec cannot import
	{"impl/core", "traces/event/event.go", ""},
}

// harmless are the packages of the standard library that only compute.
var harmless = []string{
	"bytes", "cmp", "encoding/base64", "encoding/binary", "errors", "fmt", "hash/crc32", "iter", "math", "math/bits",
	"slices", "sort", "strconv", "strings",
}

// excepted are imports of single files beyond harmless, each with its reason.
var excepted = map[string]string{
	"spec/system.go reflect": "takes an effect back by the name of a field; it wraps the actions from outside",
}

func TestPurity(t *testing.T) {
	for _, p := range pure {
		contract := path.Dir(p.contract)
		declared := declarations(t, p.contract)
		for _, f := range sources(t, p.folder, parser.SkipObjectResolution) {
			if p.but != "" && under(p.but, f.pkg) {
				continue
			}
			local := f.localName(contract)
			for _, imported := range f.imports() {
				to, ours := strings.CutPrefix(imported, module+"/")
				switch {
				case ours && (to == contract || under(p.folder, to) && (p.but == "" || !under(p.but, to))), slices.Contains(harmless, imported), excepted[f.name+" "+imported] != "":
				case ours:
					t.Errorf("%s imports %s: %s may use %s and nothing else of the project", f.name, to, p.folder, p.contract)
				default:
					t.Errorf("%s imports %s: %s reaches no clock, randomness, file, socket, goroutine or lock, and uses only %v", f.name, imported, p.folder, harmless)
				}
			}
			ast.Inspect(f.file, func(n ast.Node) bool {
				what := ""
				switch n := n.(type) {
				case *ast.GoStmt:
					what = "starts a goroutine"
				case *ast.ChanType:
					what = "has a channel"
				case *ast.SendStmt:
					what = "sends on a channel"
				case *ast.SelectStmt:
					what = "selects"
				case *ast.UnaryExpr:
					if n.Op == token.ARROW {
						what = "receives from a channel"
					}
				case *ast.SelectorExpr:
					if x, ok := n.X.(*ast.Ident); ok && x.Name == local && ast.IsExported(n.Sel.Name) && !slices.Contains(declared, n.Sel.Name) {
						what = fmt.Sprintf("uses %s.%s, which is not among the data and interfaces of %s", contract, n.Sel.Name, p.contract)
					}
				}
				if what != "" {
					t.Errorf("%s %s: a step of %s is a function of its arguments", f.at(n), what, p.folder)
				}
				return true
			})
		}
	}
}

type source struct {
	name, pkg string // relative to the module
	file      *ast.File
	fset      *token.FileSet
}

func (s *source) imports() []string {
	var paths []string
	for _, i := range s.file.Imports {
		p, _ := strconv.Unquote(i.Path.Value)
		paths = append(paths, p)
	}
	return paths
}

// localName is what a package of the project is called in the file.
func (s *source) localName(pkg string) string {
	for i, p := range s.imports() {
		if n := s.file.Imports[i].Name; p == module+"/"+pkg && n != nil {
			return n.Name
		}
	}
	return path.Base(pkg)
}

func (s *source) at(n ast.Node) token.Position { return s.fset.Position(n.Pos()) }

// sources parses the Go files under a folder, but for tests: of all platforms and of
// nested modules too. It reads them itself, so that a cached result of this test does
// not outlive a change of any of them.
func sources(t *testing.T, folder string, mode parser.Mode) []source {
	t.Helper()
	var all []source
	err := filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := d.Name()
		if d.IsDir() {
			skipped := base == "testdata" || base == "tools" || base == "out" || len(base) > 1 && strings.ContainsAny(base[:1], "._")
			if skipped {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(base, ".go") || strings.HasSuffix(base, "_test.go") {
			return nil
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, name, nil, mode)
		name = filepath.ToSlash(name)
		all = append(all, source{name: name, pkg: path.Dir(name), file: f, fset: fset})
		return err
	})
	require.NoError(t, err)
	require.NotEmpty(t, all, "no Go files in %s", folder)
	return all
}

// declarations are the exported names that a file declares, without functions of
// the package.
func declarations(t *testing.T, name string) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), filepath.FromSlash(name), nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	var names []string
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, s := range g.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				names = append(names, s.Name.Name)
			case *ast.ValueSpec:
				for _, n := range s.Names {
					names = append(names, n.Name)
				}
			}
		}
	}
	return names
}

func rowOf(pkg string) *row {
	var best *row
	for i := range table {
		if r := &table[i]; under(r.folder, pkg) && (best == nil || len(r.folder) > len(best.folder)) {
			best = r
		}
	}
	return best
}

func under(folder, pkg string) bool { return pkg == folder || strings.HasPrefix(pkg, folder+"/") }

func covers(patterns []string, pkg string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		folder, below := strings.CutSuffix(p, "/...")
		return p == "..." || p == pkg || below && under(folder, pkg)
	})
}

func only(patterns []string) string {
	if len(patterns) == 0 {
		return "no package of the project"
	}
	return "only " + strings.Join(patterns, ", ")
}
