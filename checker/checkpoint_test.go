package checker

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func checkpointRelay() Spec[Tuple] {
	sys := &relay{processes: 3, countTwice: true, conn: true, inFlight: 2, maxSeq: 1, budgets: [4]uint8{0, 0, 1, 1}}
	if testing.Short() {
		sys.budgets[2] = 0
	}
	return Interned(sys)
}

// TestResumeGivesTheSameCounts stops runs of several kinds at a level, and goes on
// with other numbers of workers.
func TestResumeGivesTheSameCounts(t *testing.T) {
	kinds := map[string]Options{
		"fingerprints": {}, "exact": {Exact: true}, "parents on disk": {ParentsOnDisk: true},
		"budget": {Mem: 3 * leastMem[Tuple](t, 8)}, "projected": {Projected: true},
	}
	for name, opt := range kinds {
		t.Run(name, func(t *testing.T) {
			resumed(t, checkpointRelay, opt, []int{8})
		})
	}
	t.Run("plain states, little memory", func(t *testing.T) {
		resumed(t, func() Spec[loopState] { return &loops{size: 100_000, back: 99_990} }, Options{Mem: 3 * leastMem[loopState](t, 3)}, []int{9})
	})
}

func resumed[S comparable](t *testing.T, spec func() Spec[S], opt Options, depths []int) {
	hasty(t)
	opt.KeepGoing, opt.Workers = true, 2
	want, err := Run(spec(), opt)
	require.NoError(t, err)
	require.NotEmpty(t, want.Violations, "the test needs counterexamples")
	pairs := [][2]int{{1, 3}, {3, 1}}
	if testing.Short() {
		pairs = pairs[:1]
	}
	for _, depth := range depths {
		for _, workers := range pairs {
			first := opt
			first.Workers, first.Checkpoint, first.MaxDepth = workers[0], t.TempDir(), depth
			r, err := Run(spec(), first)
			require.NoError(t, err)
			require.Equal(t, "depth", r.LimitedBy)
			// Twice, since the second run's checkpoints have to be good too.
			second := opt
			second.Workers, second.Checkpoint, second.Resume, second.MaxDepth = workers[1], first.Checkpoint, first.Checkpoint, depth+3
			_, err = Run(spec(), second)
			require.NoError(t, err)
			left, err := os.ReadDir(first.Checkpoint)
			require.NoError(t, err)
			assert.Len(t, left, 3, "one checkpoint, the manifest and the lock")
			second.MaxDepth, second.Workers, second.Checkpoint = 0, workers[0], ""
			model := spec()
			got, err := Run(model, second)
			require.NoError(t, err)
			assert.Equal(t, figures(want), figures(got), "%v workers, from level %d on", workers, depth)
			for _, v := range got.Violations {
				checkTrace(t, model, v.Trace)
			}
		}
	}
}

func TestResumeRefusesAnotherSearch(t *testing.T) {
	dir := t.TempDir()
	_, err := Run(&grid{side: 100}, Options{Checkpoint: dir, MaxDepth: 20})
	require.NoError(t, err)
	for want, run := range map[string]func() error{
		"exact is false there and true here": func() error {
			_, err := Run(&grid{side: 100}, Options{Resume: dir, Exact: true})
			return err
		},
		"spec is grid there and loops here": func() error { _, err := Run(&loops{size: 10}, Options{Resume: dir}); return err },
		"actions, properties or limits are others": func() error {
			_, err := Run(&grid{side: 100, properties: []Property{{Name: "More"}}}, Options{Resume: dir})
			return err
		},
		"variant is  there and KAFKA-1 here": func() error {
			_, err := Run(&grid{side: 100}, Options{Resume: dir, Variant: "KAFKA-1"})
			return err
		},
		"there is a checkpoint already": func() error {
			_, err := Run(&grid{side: 100}, Options{Checkpoint: dir})
			return err
		},
		"no such file": func() error {
			_, err := Run(&grid{side: 100}, Options{Resume: t.TempDir()})
			return err
		},
		"the model has changed": func() error {
			_, err := Run(&blurredGrid{grid{side: 100}}, Options{Resume: dir})
			return err
		},
	} {
		assert.ErrorContains(t, run(), want)
	}
}

// blurredGrid has other fingerprints, and is a grid in everything else.
type blurredGrid struct{ grid }

func (b *blurredGrid) Fingerprint(s *gridState) uint64 { return uint64(s.X)<<32 | uint64(s.Y) + 1 }

// TestDamagedCheckpoints damages each file of a checkpoint in several ways.
func TestDamagedCheckpoints(t *testing.T) {
	dir := t.TempDir()
	opt := Options{Checkpoint: dir, MaxDepth: 10, Workers: 2, Mem: leastMem[loopState](t, 2)}
	_, err := Run(&loops{size: 100_000}, opt)
	require.NoError(t, err)
	opt.Checkpoint, opt.MaxDepth = "", 0
	opt.Resume = dir
	files, err := filepath.Glob(filepath.Join(dir, "checkpoint-*", "*"))
	require.NoError(t, err)
	runs, err := filepath.Glob(filepath.Join(dir, "checkpoint-*", "run-*"))
	require.NoError(t, err)
	require.NotEmpty(t, runs, "the test needs runs")
	for _, path := range append(files, filepath.Join(dir, manifestName)) {
		good, err := os.ReadFile(path)
		require.NoError(t, err)
		ways := map[string]func() error{
			"missing": func() error { return os.Remove(path) },
			"short":   func() error { return os.WriteFile(path, good[:len(good)-1], 0o644) },
			"long":    func() error { return os.WriteFile(path, append(good[:len(good):len(good)], 0), 0o644) },
		}
		if len(good) > 0 {
			ways["empty"] = func() error { return os.WriteFile(path, nil, 0o644) }
			ways["changed"] = func() error {
				bad := append([]byte(nil), good...)
				bad[len(bad)/2] ^= 4
				return os.WriteFile(path, bad, 0o644)
			}
		} else {
			delete(ways, "short")
		}
		for name, damage := range ways {
			require.NoError(t, damage())
			_, err := Run(&loops{size: 100_000}, opt)
			if assert.Error(t, err, "%s %s", path, name) {
				assert.Contains(t, err.Error(), filepath.Base(path), name)
			}
			require.NoError(t, os.WriteFile(path, good, 0o644))
		}
	}
	_, err = Run(&loops{size: 100_000}, opt)
	require.NoError(t, err, "all is as it was")
	opt.Mem = 0
	_, err = Run(&loops{size: 100_000}, opt)
	require.ErrorContains(t, err, "memory budget")
}

const childDir = "QUORATE_TEST_CHECKPOINT"

// TestKilledRuns kills a process that writes checkpoints all the time, at random
// moments, until one has come to the end.
func TestKilledRuns(t *testing.T) {
	spec := func() Spec[loopState] { return &loops{size: 60_000, back: 59_990} }
	opt := Options{Workers: 2, Mem: leastMem[loopState](t, 2), KeepGoing: true}
	if dir := os.Getenv(childDir); dir != "" {
		opt.Checkpoint, opt.Dir = dir, filepath.Dir(dir)
		if _, err := os.Stat(filepath.Join(dir, manifestName)); err == nil {
			opt.Resume = dir
		}
		r, err := Run(spec(), opt)
		require.NoError(t, err)
		c := figures(r)
		fmt.Printf("RESULT %+v\n", c)
		return
	}
	want, err := Run(spec(), opt)
	require.NoError(t, err)
	text := fmt.Sprintf("RESULT %+v\n", figures(want))
	r := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	dir := filepath.Join(t.TempDir(), "checkpoint")
	resumed := 0
	for kills := 0; ; kills++ {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilledRuns$")
		cmd.Env = append(os.Environ(), childDir+"="+dir)
		var printed bytes.Buffer
		cmd.Stdout, cmd.Stderr = &printed, &printed
		require.NoError(t, cmd.Start())
		if kills < 12 {
			timer := time.AfterFunc(time.Duration(20+r.IntN(60*(kills+1)))*time.Millisecond, func() { cmd.Process.Kill() })
			defer timer.Stop()
		}
		err := cmd.Wait()
		out := printed.Bytes()
		if err == nil {
			require.Contains(t, string(out), text)
			break
		}
		require.Contains(t, err.Error(), "killed", "%s", out)
		if _, err := os.Stat(filepath.Join(dir, manifestName)); err == nil {
			resumed++
			_, err := readManifest(dir)
			require.NoError(t, err)
		}
	}
	t.Logf("killed runs that left a checkpoint: %d", resumed)
}

// TestCanceledRunsSayWhereToGoOn ends a run within a level. It finishes the level, if
// that does not take long, and writes a checkpoint; or says which was the last.
func TestCanceledRunsSayWhereToGoOn(t *testing.T) {
	hasty(t)
	spec := &loops{size: 30_000, back: 29_990}
	want, err := Run(spec, Options{KeepGoing: true})
	require.NoError(t, err)
	for _, impatient := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		opt := Options{Context: ctx, Checkpoint: t.TempDir(), CheckpointEvery: time.Hour, KeepGoing: true, Workers: 1, impatient: impatient}
		if impatient {
			opt.CheckpointEvery = 0
		}
		r, err := Run(&hurting{loops: spec, at: 9000, hurt: func() bool {
			cancel()
			time.Sleep(10 * time.Millisecond) // stop is called by a goroutine of its own
			return true
		}}, opt)
		require.NoError(t, err)
		require.Equal(t, "canceled", r.LimitedBy)
		require.Equal(t, impatient, r.Partial)
		require.NotNil(t, r.Checkpoint)
		assert.Equal(t, opt.Checkpoint, r.Checkpoint.Dir)
		assert.Equal(t, r.Depth-r.partLevels(), r.Checkpoint.Depth)
		var text strings.Builder
		require.NoError(t, r.WriteText(&text))
		assert.Contains(t, text.String(), fmt.Sprintf("resume %s to go on from depth %d, with %s states\n", opt.Checkpoint, r.Checkpoint.Depth, thousands(r.Checkpoint.Distinct)))
		got, err := Run(spec, Options{Resume: opt.Checkpoint, KeepGoing: true})
		require.NoError(t, err)
		assert.Equal(t, figures(want), figures(got))
		assert.Nil(t, got.Checkpoint)
	}
}

// partLevels is how many levels at the end are not whole.
func (r *Result) partLevels() int {
	if r.Partial {
		return 1
	}
	return 0
}

// TestLimitsOfResumedRuns: a run that has come to its limit does not go beyond it
// when it is resumed.
func TestLimitsOfResumedRuns(t *testing.T) {
	hasty(t)
	opt := Options{Checkpoint: t.TempDir(), MaxDepth: 20}
	want, err := Run(&grid{side: 100}, opt)
	require.NoError(t, err)
	require.Equal(t, 20, want.Checkpoint.Depth)
	opt.Resume = opt.Checkpoint
	got, err := Run(&grid{side: 100}, opt)
	require.NoError(t, err)
	assert.Equal(t, figures(want), figures(got))
}
