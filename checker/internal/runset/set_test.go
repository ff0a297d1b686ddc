package runset

import (
	"errors"
	"fmt"
	"maps"
	"math"
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

func options() Options { return Options{Filter: make([]uint64, 1<<12)} }

func sorted(keys map[uint64]bool) []uint64 { return slices.Sorted(maps.Keys(keys)) }

// batch draws keys: dense and sparse ones, neighbours, and both ends.
func batch(r *rand.Rand, n int) map[uint64]bool {
	keys := map[uint64]bool{}
	base, spread := r.Uint64(), r.IntN(63)+1
	for range n {
		switch r.IntN(20) {
		case 0:
			keys[r.Uint64()] = true
		case 1:
			keys[[]uint64{0, 1, math.MaxUint64, math.MaxUint64 - 1}[r.IntN(4)]] = true
		default:
			keys[base+r.Uint64()>>spread] = true
		}
	}
	return keys
}

func lookup(t *testing.T, s *Set, keys []uint64) []bool {
	found := make([]bool, len(keys))
	require.NoError(t, s.Lookup(keys, found))
	return found
}

func TestSetKeepsWhatItWasGiven(t *testing.T) {
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 1))
		dir := t.TempDir()
		opt := options()
		opt.MaxRuns = 3
		s, err := Create(dir, opt)
		require.NoError(t, err)
		all := map[uint64]bool{}
		for range 6 {
			more := batch(r, r.IntN(20_000)+1)
			maps.Copy(all, more)
			require.NoError(t, s.Add(slices.Values(sorted(more))))

			ask := batch(r, 1000)
			for key := range all {
				if r.IntN(10) == 0 {
					ask[key], ask[key+1] = true, true
				}
			}
			keys := sorted(ask)
			found := lookup(t, s, keys)
			for i, key := range keys {
				require.Equal(t, all[key], found[i], "seed %d key %#x", seed, key)
				require.True(t, !all[key] || s.MayContain(key), "the filter forgot %#x", key)
			}
		}
		runs, err := s.Sync()
		require.NoError(t, err)
		require.NoError(t, s.Close())

		again, err := Open(dir, runs, options())
		require.NoError(t, err)
		keys := sorted(all)
		for i, ok := range lookup(t, again, keys) {
			require.True(t, ok && again.MayContain(keys[i]), "seed %d: %#x is gone after opening", seed, keys[i])
		}
		require.NoError(t, again.Close())
	}
}

func TestAddRefusesDisorder(t *testing.T) {
	s, err := Create(t.TempDir(), options())
	require.NoError(t, err)
	assert.ErrorContains(t, s.Add(slices.Values([]uint64{1, 3, 3, 2})), "comes after")
	assert.Zero(t, s.Len())
	require.NoError(t, s.Add(slices.Values([]uint64{1, 3, 3, 4})))
	assert.EqualValues(t, 3, s.Len())
	require.NoError(t, s.Add(slices.Values([]uint64{})))
	files, _ := filepath.Glob(filepath.Join(s.dir, "*"))
	assert.Len(t, files, 1, "an empty batch or a failed one leaves no file")
}

func TestFilterLetsFewPass(t *testing.T) {
	const keys = 100_000
	for _, c := range []struct {
		bits int
		most float64
	}{{10, 0.016}, {5, 0.13}} {
		f := filter{make([]uint64, keys*c.bits/64)}
		r := rand.New(rand.NewPCG(1, 1))
		for range keys {
			f.add(r.Uint64())
		}
		passed := 0
		for range keys {
			if f.has(r.Uint64()) {
				passed++
			}
		}
		rate := float64(passed) / keys
		t.Logf("%d bits a key: %.2f %% of absent keys pass", c.bits, 100*rate)
		assert.Less(t, rate, c.most, "%d bits a key", c.bits)
	}
}

// TestDamageIsNoticed flips a bit of every seventh byte of a set and cuts it in many places: what
// was asked for comes out right, or the damage is told.
func TestDamageIsNoticed(t *testing.T) {
	dir := t.TempDir()
	s, err := Create(dir, options())
	require.NoError(t, err)
	keys := sorted(batch(rand.New(rand.NewPCG(3, 3)), 4000))
	require.NoError(t, s.Add(slices.Values(keys)))
	runs, err := s.Sync()
	require.NoError(t, err)
	require.NoError(t, s.Close())
	path := filepath.Join(dir, runs[0].File)
	good, err := os.ReadFile(path)
	require.NoError(t, err)

	opened := func(bytes []byte) error {
		require.NoError(t, os.WriteFile(path, bytes, 0o644))
		s, err := Open(dir, runs, options())
		if err == nil {
			s.Close()
		}
		return err
	}
	require.NoError(t, opened(good))
	for i := 0; i < len(good); i += 7 {
		bad := slices.Clone(good)
		bad[i] ^= 1 << (i % 8)
		var damage *CorruptError
		require.ErrorAs(t, opened(bad), &damage, "bit flipped in byte %d of %d", i, len(good))
		require.Equal(t, path, damage.File)
		if i%49 == 0 {
			require.ErrorAs(t, opened(good[:i]), &damage, "cut at byte %d", i)
		}
	}

	// Damage after opening is seen by who reads the page.
	require.NoError(t, opened(good))
	s, err = Open(dir, runs, options())
	require.NoError(t, err)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	_, err = f.WriteAt([]byte{^good[100]}, 100)
	require.NoError(t, err)
	err = s.Lookup(keys, make([]bool, len(keys)))
	assert.EqualError(t, err, path+" is damaged: page 0 at byte 0: checksum does not match")
	require.NoError(t, f.Truncate(100))
	assert.ErrorContains(t, s.Lookup(keys, make([]bool, len(keys))), "too short")
	require.NoError(t, os.Remove(path))
	_, err = Open(dir, runs, options())
	assert.ErrorIs(t, err, os.ErrNotExist)
}

// brittle fails to write when its budget is spent.
type brittle struct {
	*os.File
	left *int
}

func (b brittle) Write(p []byte) (int, error) {
	if *b.left -= len(p); *b.left < 0 {
		return 0, syscall.ENOSPC
	}
	return b.File.Write(p)
}

func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	left := 1 << 20
	opt := options()
	opt.MaxRuns = 2
	opt.create = func(path string) (file, error) {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
		return brittle{f, &left}, err
	}
	s, err := Create(dir, opt)
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(4, 4))
	all := map[uint64]bool{}
	for {
		more := batch(r, 9000)
		if err = s.Add(slices.Values(sorted(more))); err != nil {
			break
		}
		maps.Copy(all, more)
	}
	require.ErrorIs(t, err, syscall.ENOSPC)
	assert.ErrorContains(t, err, dir)
	left = 0
	for i, ok := range lookup(t, s, sorted(all)) {
		require.True(t, ok, "key %d of those added before is gone", i)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	assert.Len(t, files, len(s.runs), "what could not be written is removed")
}

func TestMergedFilesAreKeptUntilPruned(t *testing.T) {
	dir := t.TempDir()
	opt := options()
	opt.MaxRuns, opt.KeepMerged = 1, true
	s, err := Create(dir, opt)
	require.NoError(t, err)
	require.NoError(t, s.Add(slices.Values([]uint64{1, 5})))
	before, err := s.Sync()
	require.NoError(t, err)
	require.NoError(t, s.Add(slices.Values([]uint64{2, 5})))
	assert.EqualValues(t, 3, s.Len())
	old, err := Open(t.TempDir(), nil, options())
	require.NoError(t, err)
	require.NoError(t, old.Close())
	assert.FileExists(t, filepath.Join(dir, before[0].File))
	require.NoError(t, s.Prune())
	assert.NoFileExists(t, filepath.Join(dir, before[0].File))
	assert.Equal(t, []bool{true, true, false, true}, lookup(t, s, []uint64{1, 2, 3, 5}))

	// What a manifest does not name was written after it.
	runs, err := s.Sync()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "run-000099"), nil, 0o644))
	again, err := Open(dir, runs, options())
	require.NoError(t, err)
	assert.NoFileExists(t, filepath.Join(dir, "run-000099"))
	require.NoError(t, again.Close())
	_, err = Open(dir, append(runs, runs[0]), options())
	assert.ErrorContains(t, err, "cannot be")
	_, err = Create(dir, options())
	assert.ErrorContains(t, err, "has runs already")
	_, err = Create(t.TempDir(), Options{Filter: make([]uint64, 3)})
	assert.ErrorContains(t, err, "too small")
}

func TestLookupsRunSideBySide(t *testing.T) {
	s, err := Create(t.TempDir(), options())
	require.NoError(t, err)
	keys := sorted(batch(rand.New(rand.NewPCG(5, 5)), 50_000))
	require.NoError(t, s.Add(slices.Values(keys)))
	found := make([]bool, len(keys))
	var wg sync.WaitGroup
	errs := make([]error, 4)
	for i := range errs {
		from, to := len(keys)*i/4, len(keys)*(i+1)/4
		wg.Go(func() { errs[i] = s.Lookup(keys[from:to], found[from:to]) })
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	assert.NotContains(t, found, false)
}

func FuzzDecodePage(f *testing.F) {
	var b pageBuilder
	for _, keys := range [][]uint64{{7}, {0, math.MaxUint64}, {1, 2, 3, 1 << 40}, {0, 1 << 60, 1<<60 + 1<<59}} {
		for _, key := range keys {
			b.add(key)
		}
		f.Add(slices.Clone(b.finish()), false)
	}
	f.Fuzz(func(t *testing.T, page []byte, seal bool) {
		p := make([]byte, pageSize)
		copy(p, page)
		if seal { // let it reach what comes after the checksum
			sum := pageSum(p)
			p[12], p[13], p[14], p[15] = byte(sum), byte(sum>>8), byte(sum>>16), byte(sum>>24)
		}
		keys, damage := decodePage(p, nil)
		if damage == "" && len(keys) == 0 {
			t.Error("a page without keys")
		}
	})
}

func FuzzOpen(f *testing.F) {
	dir := f.TempDir()
	s, err := Create(dir, options())
	require.NoError(f, err)
	require.NoError(f, s.Add(slices.Values([]uint64{1, 2, 3})))
	runs, err := s.Sync()
	require.NoError(f, err)
	good, err := os.ReadFile(filepath.Join(dir, runs[0].File))
	require.NoError(f, err)
	f.Add(good[len(good)-trailerSize-8:])
	f.Fuzz(func(t *testing.T, end []byte) {
		dir := t.TempDir()
		bytes := append(slices.Clone(good[:pageSize]), end...)
		require.NoError(t, os.WriteFile(filepath.Join(dir, runs[0].File), bytes, 0o644))
		if s, err := Open(dir, runs, options()); err == nil {
			s.Close()
			assert.Equal(t, good, bytes, "only what was written opens")
		}
	})
}

func BenchmarkSet(b *testing.B) {
	const n = 4 << 20
	r := rand.New(rand.NewPCG(1, 1))
	keys := make([]uint64, n)
	for i := range keys {
		keys[i] = r.Uint64()
	}
	slices.Sort(keys)
	dir := b.TempDir()
	s, err := Create(dir, Options{Filter: make([]uint64, n*10/64)})
	require.NoError(b, err)
	b.Run("Add", func(b *testing.B) {
		for i := range b.N {
			d := filepath.Join(dir, fmt.Sprint(i))
			require.NoError(b, os.Mkdir(d, 0o755))
			s, err := Create(d, Options{Filter: make([]uint64, n*10/64)})
			require.NoError(b, err)
			require.NoError(b, s.Add(slices.Values(keys)))
			b.ReportMetric(float64(s.Bytes())/n, "B/key")
			require.NoError(b, s.Close())
			require.NoError(b, os.RemoveAll(d))
		}
		b.ReportMetric(float64(b.N)*n/b.Elapsed().Seconds()/1e6, "Mkeys/s")
	})
	require.NoError(b, s.Add(slices.Values(keys)))
	for _, every := range []int{1, 100, 10_000} {
		var some []uint64
		for i := 0; i < n; i += every {
			some = append(some, keys[i])
		}
		found := make([]bool, len(some))
		b.Run(fmt.Sprintf("Lookup/1in%d", every), func(b *testing.B) {
			for range b.N {
				require.NoError(b, s.Lookup(some, found))
			}
			b.ReportMetric(float64(b.N)*n/b.Elapsed().Seconds()/1e6, "Mscanned/s")
		})
	}
}
