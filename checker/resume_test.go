package checker

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// farthest is how far from its place a key of a table is at most.
func farthest(slots []uint64) (most int) {
	for i, key := range slots {
		if key != 0 {
			d := i - home(key, len(slots))
			if d < 0 {
				d += len(slots)
			}
			most = max(most, d)
		}
	}
	return most
}

// watching calls look before each piece that is read.
type watching struct {
	r    *bytes.Reader
	look func()
}

func (w watching) Read(b []byte) (int, error) {
	w.look()
	return w.r.Read(b)
}

// TestKeysOfACheckpointSpreadOut restores ascending keys into a table that is too
// small for them. They must never pile up at its beginning, where each would be
// inserted behind all others.
func TestKeysOfACheckpointSpreadOut(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	keys := make([]uint64, 50_000)
	for i := range keys {
		keys[i] = r.Uint64() | 1
	}
	slices.Sort(keys)
	var b bytes.Buffer
	require.NoError(t, binary.Write(&b, binary.LittleEndian, keys))
	for _, handles := range []int{1, 8} {
		table := newTable(leastSlots)
		for range handles {
			table.handle()
		}
		in := bufio.NewReaderSize(watching{bytes.NewReader(b.Bytes()), func() {
			require.Less(t, farthest(table.slots), 1000)
		}}, 1<<12)
		require.NoError(t, table.restore(in, uint64(len(keys))))
		require.Equal(t, keys, table.keys())
		h := table.handles[0]
		for n := range uint64(100_000) { // goes on to grow as if they had been inserted
			table.insert(h, []uint64{n*spread + 1})
		}
		assert.LessOrEqual(t, int64(len(table.keys())), room(len(table.slots)))
		table.free()
	}
	for n, want := range map[uint64]string{49_999: "one too many", 50_001: "1 keys are missing"} {
		table := newTable(leastSlots)
		table.handle()
		require.ErrorContains(t, table.restore(bufio.NewReader(bytes.NewReader(b.Bytes())), n), want)
		table.free()
	}
}

// TestResumeWithLittleMemory goes on with tables that do not hold the keys of the
// checkpoint, both of runs that had room for all and of runs that had not.
func TestResumeWithLittleMemory(t *testing.T) {
	hasty(t)
	spec := func() Spec[loopState] { return &loops{size: 60_000, back: 59_990} }
	least := leastMem[loopState](t, 2)
	want, err := Run(spec(), Options{KeepGoing: true, Workers: 2})
	require.NoError(t, err)
	for _, before := range []uint64{0, least} {
		for _, after := range []uint64{0, least} {
			if before != 0 && after == 0 {
				continue // refused
			}
			t.Run(fmt.Sprintf("%d then %d bytes", before, after), func(t *testing.T) {
				dir := t.TempDir()
				_, err := Run(spec(), Options{KeepGoing: true, Workers: 2, Mem: before, Checkpoint: dir, MaxDepth: 10})
				require.NoError(t, err)
				m, err := readManifest(dir)
				require.NoError(t, err)
				require.Greater(t, int64(m.Distinct), 3*room(leastSlots), "the test needs more keys than fit")
				got, err := Run(spec(), Options{KeepGoing: true, Workers: 2, Mem: after, Resume: dir, tableBits: 12})
				require.NoError(t, err)
				assert.Equal(t, figures(want), figures(got))
			})
		}
	}
}

// TestKeysGoToDiskOnResume: within a budget, keys of a checkpoint never come into
// the tables.
func TestKeysGoToDiskOnResume(t *testing.T) {
	dir := t.TempDir()
	spec := &loops{size: 60_000}
	_, err := Run(spec, Options{Checkpoint: dir, MaxDepth: 10})
	require.NoError(t, err)
	s, err := newSearch[loopState](spec, Options{Resume: dir, Mem: leastMem[loopState](t, 1), Workers: 1}, nil)
	require.NoError(t, err)
	defer s.free()
	require.NoError(t, s.useDisk())
	require.NoError(t, s.resume())
	m, err := readManifest(dir)
	require.NoError(t, err)
	assert.Equal(t, m.Distinct, s.disk.runs.Len())
	assert.Empty(t, s.seen.keys())
	assert.Zero(t, s.seen.claimed.Load())
}

// crash has everything fail from the n-th step on that makes a checkpoint durable,
// until it is repaired, and says which steps were taken.
func crash(n int) (steps *[]string, repair func()) {
	was := durable
	steps = new([]string)
	step := func(what, path string) error {
		if len(*steps) >= n {
			return errCrash
		}
		*steps = append(*steps, what+" "+filepath.Base(path))
		return nil
	}
	durable.sync = func(f *os.File) error {
		st, err := f.Stat()
		if err != nil {
			return err
		}
		what := "sync"
		if st.IsDir() {
			what = "sync directory"
		}
		return step(what, f.Name()) // no disk loses power here, and they are slow
	}
	durable.rename = func(from, to string) error {
		if err := step("rename", to); err != nil {
			return err
		}
		return was.rename(from, to)
	}
	durable.remove = func(path string) error {
		if err := step("remove", path); err != nil {
			return err
		}
		return was.remove(path)
	}
	return steps, func() { durable = was }
}

// hasty has checkpoints not wait for the disk, which takes most of a test's time.
func hasty(t *testing.T) {
	was := durable
	t.Cleanup(func() { durable = was })
	durable.sync = func(*os.File) error { return nil }
}

var errCrash = errors.New("crash")

// TestCheckpointsAreDurableInOrder has a second checkpoint fail at each of its
// steps. There must be a whole one after it, from which a run goes on.
func TestCheckpointsAreDurableInOrder(t *testing.T) {
	hasty(t)
	spec := func() Spec[loopState] { return &loops{size: 30_000, back: 29_990} }
	opt := Options{Workers: 1, KeepGoing: true, Mem: leastMem[loopState](t, 1)}
	want, err := Run(spec(), opt)
	require.NoError(t, err)
	stride := 1
	if testing.Short() {
		stride = 3
	}
	for n := 0; ; n += stride {
		dir := t.TempDir()
		first := opt
		first.Checkpoint, first.MaxDepth = dir, 8
		_, err := Run(spec(), first)
		require.NoError(t, err)
		second := first
		second.Resume, second.MaxDepth = dir, 10
		steps, repair := crash(n)
		_, err = Run(spec(), second)
		repair()
		m, e := readManifest(dir)
		require.NoError(t, e, "after %q", *steps)
		goOn := opt
		goOn.Resume, goOn.Checkpoint = dir, dir
		got, e := Run(spec(), goOn)
		require.NoError(t, e, "after %q", *steps)
		require.Equal(t, figures(want), figures(got), "after %q", *steps)
		left, e := os.ReadDir(dir)
		require.NoError(t, e)
		assert.Len(t, left, 3, "but for the lock nothing of the crash is left after the next checkpoint: %v", left)
		if err == nil {
			inOrder(t, *steps, m)
			break
		}
		require.ErrorIs(t, err, errCrash)
		require.Less(t, n, 100)
	}
}

// inOrder demands that a manifest is put in its place after all that it names, and
// that nothing is removed before.
func inOrder(t *testing.T, steps []string, m *manifest) {
	from := slices.Index(steps, "rename "+manifestName)
	require.GreaterOrEqual(t, from, 0)
	before, after := steps[:from], steps[from+1:]
	for _, want := range []string{"sync frontier", "sync keys", "sync parents-0", "sync " + manifestName + ".new"} {
		assert.Contains(t, before, want)
	}
	assert.Equal(t, "sync "+manifestName+".new", before[len(before)-1])
	assert.True(t, strings.HasPrefix(before[len(before)-2], "sync directory checkpoint-"), "%q", before)
	require.True(t, strings.HasPrefix(after[0], "sync directory "), "%q", after)
	assert.True(t, strings.HasPrefix(after[1], "remove checkpoint-"), "%q", after)
	assert.NotEmpty(t, m.Files)
}

// constants is a grid whose Info names one.
type constants struct {
	grid
	value int
}

func (c *constants) Info() *Info {
	info := *c.grid.Info()
	info.Constants = []Constant{{Name: "Side", Value: fmt.Sprint(c.value)}}
	return &info
}

func TestResumeRefusesOtherConstants(t *testing.T) {
	dir := t.TempDir()
	_, err := Run(&constants{grid{side: 100}, 1}, Options{Checkpoint: dir, MaxDepth: 20})
	require.NoError(t, err)
	_, err = Run(&constants{grid{side: 100}, 2}, Options{Resume: dir})
	require.ErrorContains(t, err, "constants is [{Side 1}] there and [{Side 2}] here")
	_, err = Run(&constants{grid{side: 100}, 1}, Options{Resume: dir})
	require.NoError(t, err)
}

// Two runs that write their checkpoints to one directory would take them from each
// other.
func TestCheckpointsAreOfOneRun(t *testing.T) {
	if !locks {
		return
	}
	dir := t.TempDir()
	claimed := &search[gridState]{opt: Options{Checkpoint: dir}}
	require.NoError(t, claimed.claimCheckpoints())
	opt := Options{Checkpoint: dir, CheckpointEvery: 1}
	_, err := Run(Spec[gridState](&grid{side: 40}), opt)
	require.EqualError(t, err, dir+": another run writes its checkpoints there")
	require.NoError(t, claimed.claim.Close())
	_, err = Run(Spec[gridState](&grid{side: 40}), opt)
	require.NoError(t, err)
}
