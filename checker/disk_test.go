package checker

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// loops is a graph in which most steps lead to states seen long ago: numbers below
// size, and from each to several others. In so many states the least budgets are
// used up several times over.
type loops struct{ size, back uint64 }

type loopState struct{ N uint64 }

func (l *loops) Info() *Info {
	return &Info{Name: "loops", Actions: []string{"Ahead", "Back"}, Properties: []Property{{Name: "Small", Kind: Invariant}}}
}

func (l *loops) Init(out *Sink[loopState]) {
	*out.Slot() = loopState{1}
	out.Commit(-1, Instance{}, 0, 0)
}

func (l *loops) Next(s *loopState, out *Sink[loopState]) {
	for a := range uint64(4) {
		n := 4*s.N + a
		if n >= l.size {
			n = mix(s.N, hashK1+a) % l.size
		}
		*out.Slot() = loopState{n}
		out.Commit(-1, Instance{ActionID(a & 1), uint32(a)}, 0, 0)
	}
}

func (l *loops) Check(s *loopState) (violated, reached Props) {
	if s.N == l.back {
		return 1, 0
	}
	return 0, 0
}

func (l *loops) Describe(s *loopState) []Field { return nil }

// figures leaves out of a result what may differ from run to run.
func figures(r *Result) Result {
	c := *r
	c.Seconds, c.TableBytes, c.Memory, c.Workers, c.Witness = 0, 0, Memory{}, 0, nil
	c.Violations = nil
	for _, v := range r.Violations {
		c.Violations = append(c.Violations, Violation{Property: v.Property, Kind: v.Kind, Trace: make([]TraceStep, len(v.Trace))})
	}
	return c
}

// leastMem is the smallest budget that is taken.
func leastMem[S any](t *testing.T, workers int) uint64 {
	var c codec[S]
	low, high := uint64(0), uint64(1<<30)
	for low+1 < high {
		mid := (low + high) / 2
		if _, err := newBudget(mid, workers, chunkRoom(c.most())); err != nil {
			low = mid
		} else {
			high = mid
		}
	}
	require.Less(t, high, uint64(8<<20))
	return high
}

// TestDiskGivesTheSameCounts explores within budgets that are much too small for
// memory alone.
func TestDiskGivesTheSameCounts(t *testing.T) {
	t.Run("loops", func(t *testing.T) {
		sameCounts(t, func() Spec[loopState] { return &loops{size: 120_000} })
	})
	t.Run("relay", func(t *testing.T) {
		lost := uint8(1)
		if testing.Short() {
			lost = 0
		}
		sameCounts(t, func() Spec[Tuple] {
			return Interned(&relay{processes: 3, conn: true, inFlight: 2, maxSeq: 1, budgets: [4]uint8{0, 0, lost, 1}})
		})
	})
}

func sameCounts[S comparable](t *testing.T, spec func() Spec[S]) {
	want, err := Run(spec(), Options{Workers: 2, KeepGoing: true})
	require.NoError(t, err)
	several := []int{1, 2, 8}
	if testing.Short() {
		several = []int{2}
	}
	for _, workers := range several {
		least := leastMem[S](t, workers)
		_, err := Run(spec(), Options{Workers: workers, Mem: least - 1})
		require.ErrorContains(t, err, "too small")
		budgets := []uint64{3 * least, 1 << 30}
		if workers == 1 {
			budgets = append(budgets, least)
		}
		for _, mem := range budgets {
			dir := t.TempDir()
			model := spec()
			got, err := Run(model, Options{Workers: workers, KeepGoing: true, Mem: mem, Dir: dir})
			require.NoError(t, err)
			assert.Equal(t, figures(want), figures(got), "%d workers, %d bytes", workers, mem)
			assert.LessOrEqual(t, got.Memory.Total()-got.Memory.Parents, mem+mem/4)
			if mem == least {
				t.Logf("%d workers, %d bytes of %d: %+v", workers, mem, want.Memory.Total(), got.Memory)
				assert.Greater(t, got.Memory.Disk, want.Distinct, "the test needs a disk that is used")
			}
			for _, v := range got.Violations {
				checkTrace(t, model, v.Trace)
			}
			left, err := os.ReadDir(dir)
			require.NoError(t, err)
			assert.Empty(t, left, "files are removed at the end")
		}
	}
}

// TestDiskFailures has each file fail: the run must end with an error that names
// it.
func TestDiskFailures(t *testing.T) {
	spec := &loops{size: 400_000, back: 399_999}
	mem := leastMem[loopState](t, 2)
	for _, name := range []string{"parents-0", "parents-1", "frontier-0-a", "frontier-1-b"} {
		t.Run("full disk/"+name, func(t *testing.T) {
			_, err := Run(spec, Options{Workers: 2, Mem: mem, Dir: t.TempDir(), openFile: func(path string) (*os.File, error) {
				if filepath.Base(path) == name {
					path = "/dev/full"
				}
				return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
			}})
			require.ErrorIs(t, err, syscall.ENOSPC)
			assert.ErrorContains(t, err, "/dev/full")
			var e *ModelError
			assert.False(t, errors.As(err, &e), "it is not the model's fault")
		})
	}
	for name, damage := range map[string]func(f *os.File) error{
		"short": func(f *os.File) error { return f.Truncate(10) },
		"damaged": func(f *os.File) error {
			st, err := f.Stat()
			if err == nil {
				_, err = f.WriteAt(bytes.Repeat([]byte("damage"), int(st.Size()/6)), 0)
			}
			return err
		},
	} {
		for prefix, at := range map[string]uint64{"frontier-": 1 << 16, "parents-": 130_000} {
			t.Run(name+"/"+prefix, func(t *testing.T) {
				dir := t.TempDir()
				done := false
				hurt := &hurting{loops: spec, at: at, hurt: func() bool {
					files, err := filepath.Glob(filepath.Join(dir, "*", prefix+"*"))
					require.NoError(t, err)
					require.NotEmpty(t, files)
					for _, path := range files {
						f, err := os.OpenFile(path, os.O_RDWR, 0)
						require.NoError(t, err)
						if st, _ := f.Stat(); st.Size() > 200 {
							require.NoError(t, damage(f))
							done = true
						}
						f.Close()
					}
					return done
				}}
				// One worker: then the damaged part has what a counterexample needs.
				_, err := Run[loopState](hurt, Options{Workers: 1, Mem: mem, Dir: dir})
				require.True(t, done, "the test needs to do harm")
				require.ErrorContains(t, err, "/"+prefix)
			})
		}
	}
	_, err := Run(spec, Options{Mem: 1 << 30, Dir: filepath.Join(t.TempDir(), "none")})
	require.ErrorContains(t, err, "/none")
	_, err = Run(spec, Options{Mem: 1 << 30, Exact: true})
	require.ErrorContains(t, err, "exact")
}

// hurting tries to do harm when states from at on are expanded, until it can.
type hurting struct {
	*loops
	at   uint64
	hurt func() (done bool)
	mu   sync.Mutex
	done bool
}

func (h *hurting) Next(s *loopState, out *Sink[loopState]) {
	if s.N >= h.at && s.N%1000 == 0 {
		h.mu.Lock()
		h.done = h.done || h.hurt()
		h.mu.Unlock()
	}
	h.loops.Next(s, out)
}

func TestKeysOfATableAscend(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, high := range []uint64{0, 1<<63 - 1, 0xffffff << 40} { // the last: rows go around the end
		table := newTable(leastSlots)
		for range crowded(leastSlots) {
			table.add(r.Uint64() | high | 1)
		}
		got := slices.Collect(ascending(table.slots))
		require.Equal(t, table.keys(), got)
		for key := range ascending(table.slots) { // may be left early
			require.Equal(t, got[0], key)
			break
		}
		table.free()
	}
}

func TestParentsOnDisk(t *testing.T) {
	for _, workers := range []int{1, 2} {
		spec := &loops{size: 200_000, back: 199_999}
		r, err := Run(spec, Options{Workers: workers, ParentsOnDisk: true, Dir: t.TempDir()})
		require.NoError(t, err)
		require.Len(t, r.Violations, 1)
		checkTrace(t, spec, r.Violations[0].Trace)
		assert.NotZero(t, r.Memory.Disk)
	}
}
