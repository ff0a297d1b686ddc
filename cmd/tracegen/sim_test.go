package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/traces/event"
	"github.com/quorate/quorate/traces/history"
)

func tracegen(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = run(args, &out, &errs)
	return code, out.String(), errs.String()
}

// TestSim: the files of a run are there, are well-formed, and are the same the
// next time.
func TestSim(t *testing.T) {
	base := t.TempDir()
	dirs := []string{filepath.Join(base, "a"), filepath.Join(base, "b")}
	for _, dir := range dirs {
		code, stdout, stderr := tracegen("-sim", "-seeds", "3-4,6", "-voters", "3", "-observers", "1", "-prevote", "on", "-ticks", "2000", "-out", dir)
		require.Equal(t, exitOK, code, stderr)
		require.Contains(t, stdout, "seed 6 ")
		require.Contains(t, stdout, "total: ")
	}
	for _, seed := range []string{"seed-3", "seed-4", "seed-6"} {
		run := filepath.Join(dirs[0], seed)
		files, err := os.ReadDir(run)
		require.NoError(t, err)
		require.Len(t, files, 7) // four nodes, the history, the committed log, run.json
		for _, f := range files {
			a, err := os.ReadFile(filepath.Join(run, f.Name()))
			require.NoError(t, err)
			b, err := os.ReadFile(filepath.Join(dirs[1], seed, f.Name()))
			require.NoError(t, err)
			require.Equal(t, a, b, f.Name())
		}
		r, err := event.Open(filepath.Join(run, "node-4.ndjson.zst"))
		require.NoError(t, err)
		n := 0
		var e event.Event
		for err = r.Read(&e); err == nil; err = r.Read(&e) {
			n++
		}
		require.Equal(t, io.EOF, err)
		require.NotZero(t, n)
		require.EqualValues(t, 4, e.Node.ID)
		h, err := history.Open(filepath.Join(run, "history.ndjson.zst"))
		require.NoError(t, err)
		require.NotEmpty(t, h.Ops)
	}
	text, err := os.ReadFile(filepath.Join(dirs[0], "seed-3", "run.json"))
	require.NoError(t, err)
	require.Contains(t, string(text), `"preVote": true`)

	code, _, stderr := tracegen("-sim", "-seeds", "3", "-out", dirs[0])
	require.Equal(t, exitUsage, code)
	require.Contains(t, stderr, "not overwritten")
}

func TestSimPlain(t *testing.T) {
	dir := t.TempDir()
	code, stdout, stderr := tracegen("-sim", "-seeds", "8", "-no-faults", "-steps", "300", "-clients", "2", "-observers", "-1", "-plain", "-quiet", "-out", dir)
	require.Equal(t, exitOK, code, stderr)
	require.NotContains(t, stdout, "seed 8")
	_, err := os.Stat(filepath.Join(dir, "seed-8", "node-1.ndjson"))
	require.NoError(t, err)

	code, _, stderr = tracegen("-sim", "-seeds", "9", "-no-events", "-out", dir)
	require.Equal(t, exitOK, code, stderr)
	_, err = os.Stat(filepath.Join(dir, "seed-9"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// TestSimViolated: a voter that comes back without its disk breaks what the
// simulator checks, sooner or later, and the exit code says so.
func TestSimViolated(t *testing.T) {
	code, _, stderr := tracegen("-sim", "-seeds", "1-60", "-lose-disks", "-no-events", "-quiet", "-out", t.TempDir())
	require.Equal(t, exitViolated, code)
	require.Regexp(t, `sim: seed \d+ .* step \d+`, stderr)
}

func TestSimUsage(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ args, want string }{
		{"-nodes 3 -members -lose-disks -observers 2 -out DIR", "-lose-disks, -members, -observers: not with -nodes"},
		{"-sim -seed 3 -out DIR", "-seed: not with -sim"},
		{"", "nothing to do"},
		{"-sim", "-out is required"},
		{"-sim -out D -seeds x", "-seeds"},
		{"-sim -out D -seeds 5-4", "-seeds"},
		{"-sim -out D -seeds -1", "-seeds"},
		{"-sim -out D -voters 10", "10 voters"},
		{"-sim -out D -observers 10", "10 observers"},
		{"-sim -out D -prevote maybe", "want on or off"},
		{"-sim -out D -ticks -1", "negative"},
		{"-sim -out D -twice 3", "need -check"},
		{"-sim -check -out D -parallel 0", "1 or more"},
		{"-sim -out D extra", "extra"},
		{"-sim -unknown", "unknown"},
	} {
		var args []string
		for _, a := range bytes.Fields([]byte(c.args)) {
			if string(a) == "D" {
				a = []byte(dir)
			}
			args = append(args, string(a))
		}
		code, _, stderr := tracegen(args...)
		require.Equal(t, exitUsage, code, c.args)
		require.Contains(t, stderr, c.want, c.args)
	}
	code, _, stderr := tracegen("-help")
	require.Equal(t, exitOK, code)
	require.Contains(t, stderr, "-seeds")
}

// Why a run does not go on is said if there is no space on a disk.
func TestFullDisks(t *testing.T) {
	c := &processes{dir: t.TempDir(), work: t.TempDir(), all: []*process{{id: 1}, {id: 2}}}
	require.NoError(t, c.fullDisks())
	c.all[1].stderr.WriteString("level=INFO msg=started\nlevel=ERROR msg=\"write x: no space left on device\"\n")
	require.EqualError(t, c.fullDisks(), `node 2 says: level=ERROR msg="write x: no space left on device"`)
}
