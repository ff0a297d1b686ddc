package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/checker"
)

func TestSizes(t *testing.T) {
	for text, want := range map[string]uint64{
		"4096": 4 << 10, "64K": 64 << 10, "64k": 64 << 10, "500M": 500 << 20, "4G": 4 << 30, "1T": 1 << 40, "1000": 1000,
	} {
		var s size
		require.NoError(t, s.Set(text), text)
		assert.EqualValues(t, want, s, text)
		var again size
		require.NoError(t, again.Set(s.String()))
		assert.Equal(t, s, again)
	}
	for _, text := range []string{"", "0", "G", "4GB", "-1", "1.5G", "99999999999999T", "4 G", "0K"} {
		var s size
		assert.Error(t, s.Set(text), text)
	}
}

func TestStoreFlags(t *testing.T) {
	assert.Error(t, (&storeFlags{parents: "tape"}).check())
	assert.Error(t, (&storeFlags{parents: "memory", mem: 1}).check())
	assert.Error(t, (&storeFlags{every: -1}).check())
	assert.NoError(t, (&storeFlags{parents: "disk", mem: 1}).check())
}

// TestCheckpointsOfSeveralModels: each has a directory of its own, and those without
// a checkpoint begin.
func TestCheckpointsOfSeveralModels(t *testing.T) {
	dir := t.TempDir()
	f := storeFlags{checkpoint: dir, resume: dir}
	require.ErrorContains(t, f.checkResume([]string{"a", "b"}), "none of the 2 models")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "a"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a", "MANIFEST"), nil, 0o644))
	require.NoError(t, f.checkResume([]string{"a", "b"}))
	var a, b, one checker.Options
	f.forModel(&a, "a", 2)
	assert.Equal(t, []string{filepath.Join(dir, "a"), filepath.Join(dir, "a")}, []string{a.Checkpoint, a.Resume})
	f.forModel(&b, "b", 2)
	assert.Equal(t, []string{filepath.Join(dir, "b"), ""}, []string{b.Checkpoint, b.Resume})
	f.forModel(&one, "a", 1)
	assert.Equal(t, []string{dir, dir}, []string{one.Checkpoint, one.Resume})
	none := storeFlags{}
	none.forModel(&one, "a", 2)
	assert.Empty(t, one.Checkpoint+one.Resume)
	require.NoError(t, none.checkResume([]string{"a", "b"}))
}

// TestCheckpointsNeedBreadthFirst: a search that takes no checkpoints refuses to be
// asked for them, rather than begin anew and say nothing.
func TestCheckpointsNeedBreadthFirst(t *testing.T) {
	for _, search := range [][]string{{"-order", "dfs"}, {"-counterexamples", "2"}} {
		for _, flag := range []string{"-checkpoint", "-resume"} {
			code, out, errs := quorate(append([]string{"check", "-model", "lease", flag, t.TempDir()}, search...)...)
			assert.Equal(t, exitUsage, code, "%v %s", search, flag)
			assert.Empty(t, out)
			assert.Contains(t, errs, "in memory")
		}
	}
}
