package defects

import (
	"bytes"
	"errors"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func root(t *testing.T) string {
	r, err := Root()
	require.NoError(t, err)
	return r
}

// TestTexts: what the tables change is there, once.
func TestTexts(t *testing.T) {
	root := root(t)
	require.NoError(t, sources{}.apply(root, blind))
	names := map[string]bool{}
	for _, d := range Core {
		require.False(t, names[d.Name], d.Name)
		names[d.Name] = true
		s := sources{}
		require.NoError(t, s.apply(root, d.Edits), d.Name)
		for file, text := range s {
			_, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution)
			require.NoError(t, err, d.Name)
		}
	}
}

// TestSites: every flush of impl is in the table, and the table has no other.
func TestSites(t *testing.T) {
	root := root(t)
	sites, err := Sites(root)
	require.NoError(t, err)
	pairs, err := Match(sites)
	require.NoError(t, err)
	require.NotEmpty(t, pairs)
	for _, p := range pairs {
		s, err := p.without(root)
		require.NoError(t, err)
		_, err = parser.ParseFile(token.NewFileSet(), p.File, s[p.File], parser.SkipObjectResolution)
		require.NoError(t, err, p.Key())
	}

	_, err = Match(sites[1:])
	require.ErrorContains(t, err, "not in the source: "+sites[0].Key())
	_, err = Match(append(slices.Clone(sites), sites[0]))
	require.ErrorContains(t, err, "twice")
}

// TestApply: a text that is not there, is there twice, or is not changed is an error.
func TestApply(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.go"), []byte("one two two"), 0o644))
	require.ErrorContains(t, sources{}.apply(dir, []Edit{{"a.go", "three", "3"}}), "0 times")
	require.ErrorContains(t, sources{}.apply(dir, []Edit{{"a.go", "two", "2"}}), "2 times")
	require.ErrorContains(t, sources{}.apply(dir, []Edit{{"a.go", "one", "one"}}), "nothing")
	require.ErrorIs(t, sources{}.apply(dir, []Edit{{"b.go", "one", "1"}}), os.ErrNotExist)
	s := sources{}
	require.NoError(t, s.apply(dir, []Edit{{"a.go", "one", "1 two"}, {"a.go", "1", "2"}}))
	require.Equal(t, "2 two two two", s["a.go"])
}

// TestTables: what is printed, and what counts as found.
func TestTables(t *testing.T) {
	found := Report{Seeds: 9, Found: []Finding{{Trace, 3, "Append: IsLeader"}, {Simulation, 2, "ElectionSafety"}, {Tests, 0, "TestVote"}, {History, 9, "op 3"}}}
	require.Equal(t, Simulation, found.First().By)
	core := []CoreResult{
		{Defect: &Defect{Name: "a", Wrong: "b"}, Report: found},
		{Defect: &Defect{Name: "c", Wrong: "d"}, Report: Report{Seeds: 200}},
		{Defect: &Defect{Name: "e", Wrong: "f"}, Error: errors.New("no\ncompiler")},
	}
	var b bytes.Buffer
	missed, err := WriteCore(&b, core)
	require.NoError(t, err)
	require.Equal(t, 2, missed)
	require.Regexp(t, `a +b +simulation +2 +2: ElectionSafety +3: Append: IsLeader +9: not linearizable +TestVote`, b.String())
	require.Regexp(t, `c +d +NOTHING +200`, b.String())
	require.Contains(t, b.String(), "NOT TRIED: no ")
	require.Contains(t, b.String(), "defects: 1 of 3 found; 1 by simulation, 1 by trace, 1 by history, 1 by tests")

	b.Reset()
	flushes := []FlushResult{
		{Site: &Site{File: "f.go", Line: 7}, Flush: &Flush{What: "x"}, Report: Report{Found: []Finding{{Tests, 0, "TestF"}}}},
		{Site: &Site{File: "g.go", Line: 8}, Flush: &Flush{What: "y"}},
	}
	missed, err = WriteFlushes(&b, flushes)
	require.NoError(t, err)
	require.Equal(t, 1, missed)
	require.Regexp(t, `f.go:7 +x +TestF`, b.String())
	require.Contains(t, b.String(), "flushes: 1 of 2 noticed when left out; 0 by simulation, 0 by trace, 0 by history, 1 by tests")
}

// TestSample tries a few; all of them take minutes (quorate defects).
func TestSample(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the module several times")
	}
	root, o := root(t), Options{Seeds: 20, More: 6, FlushSeeds: 3}
	clean, err := Clean(t.Context(), root, 3, o)
	require.NoError(t, err)
	require.Equal(t, Report{Seeds: 3}, *clean)

	var list []Defect
	for _, d := range Core {
		if d.Name == "commit-minority" {
			list = append(list, d)
		}
	}
	r := RunCore(t.Context(), root, list, o, nil)[0]
	require.NoError(t, r.Error)
	require.NotNil(t, r.By(Simulation))
	require.NotNil(t, r.By(Trace))
	require.NotNil(t, r.By(Tests))

	sites, err := Sites(root)
	require.NoError(t, err)
	pairs, err := Match(sites)
	require.NoError(t, err)
	pairs = slices.DeleteFunc(pairs, func(p FlushResult) bool {
		return p.Key() != "impl/quorumstate/store.go: fs.WriteFile(s.fsys, s.name, b)"
	})
	RunFlushes(t.Context(), root, pairs, o, nil)
	require.NoError(t, pairs[0].Error)
	require.NotNil(t, pairs[0].By(Tests))
	require.NotNil(t, pairs[0].By(Simulation))
}
