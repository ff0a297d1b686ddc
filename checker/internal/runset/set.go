package runset

import (
	"container/heap"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
)

// Options of a set.
type Options struct {
	// Filter is zeroed memory for the Bloom filter, at least eight words. Ten bits a
	// key let about 1 of 100 absent keys pass; five, 1 of 10.
	Filter []uint64
	// MaxRuns is how many runs there may be before they are merged into one. 0: 16.
	MaxRuns int
	// KeepMerged leaves files that were merged into others until Prune, since an
	// older manifest may name them.
	KeepMerged bool

	create func(path string) (file, error) // for tests
}

// Set is a set of keys on disk. Add must not run beside any other method; MayContain,
// Touch and Lookup may run beside each other.
type Set struct {
	dir    string
	opt    Options
	filter filter
	runs   []*run
	next   int      // number of the next file
	merged []string // files to prune
}

// Create makes an empty set in a directory, which exists and has no runs.
func Create(dir string, opt Options) (*Set, error) {
	if old, _ := filepath.Glob(filepath.Join(dir, "run-*")); len(old) > 0 {
		return nil, fmt.Errorf("%s has runs already, as %s", dir, filepath.Base(old[0]))
	}
	return newSet(dir, opt)
}

func newSet(dir string, opt Options) (*Set, error) {
	if len(opt.Filter) < lineWords {
		return nil, fmt.Errorf("runset: a filter of %d bytes is too small", len(opt.Filter)*8)
	}
	if opt.MaxRuns <= 0 {
		opt.MaxRuns = 16
	}
	if opt.create == nil {
		opt.create = func(path string) (file, error) {
			return os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
		}
	}
	return &Set{dir: dir, opt: opt, filter: filter{opt.Filter}, next: 1}, nil
}

// Open opens the runs of a manifest, reads them once to fill the filter, and deletes
// runs that the manifest does not name.
func Open(dir string, runs []Run, opt Options) (*Set, error) {
	s, err := newSet(dir, opt)
	if err != nil {
		return nil, err
	}
	if err := s.open(runs); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Set) open(runs []Run) error {
	known := map[string]bool{}
	for _, want := range runs {
		var number int
		if _, err := fmt.Sscanf(want.File, "run-%d", &number); err != nil || want.File != fileName(number) || known[want.File] {
			return fmt.Errorf("%s: the manifest names run %q, which cannot be", s.dir, want.File)
		}
		known[want.File] = true
		s.next = max(s.next, number+1)
		r, err := openRun(s.dir, want)
		if err != nil {
			return err
		}
		s.runs = append(s.runs, r)
		keys := uint64(0)
		err = r.all(s.path(r), func(key uint64) bool {
			s.filter.add(key)
			keys++
			return true
		})
		if err == nil && keys != want.Keys {
			err = &CorruptError{s.path(r), -1, fmt.Sprintf("its pages have %d keys, its index says %d", keys, want.Keys)}
		}
		if err != nil {
			return err
		}
	}
	old, _ := filepath.Glob(filepath.Join(s.dir, "run-*"))
	for _, path := range old {
		if !known[filepath.Base(path)] {
			if err := os.Remove(path); err != nil {
				return err
			}
		}
	}
	return nil
}

func fileName(number int) string { return fmt.Sprintf("run-%06d", number) }

func (s *Set) path(r *run) string { return filepath.Join(s.dir, r.File) }

// Add adds keys, which come in order. After an error the set has what it had, and a
// filter that lets more keys pass.
func (s *Set) Add(keys iter.Seq[uint64]) error {
	r, err := s.write(func(w *runWriter) error {
		for key := range keys {
			if err := w.add(key); err != nil {
				return err
			}
			s.filter.add(key)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if r.Keys == 0 {
		r.f.Close()
		return os.Remove(s.path(r))
	}
	s.runs = append(s.runs, r)
	if len(s.runs) > s.opt.MaxRuns {
		return s.merge()
	}
	return nil
}

// write makes a run of what fill adds to it, or leaves no file.
func (s *Set) write(fill func(*runWriter) error) (*run, error) {
	path := filepath.Join(s.dir, fileName(s.next))
	f, err := s.opt.create(path)
	if err != nil {
		return nil, err
	}
	s.next++
	w := newRunWriter(path, f)
	err = fill(w)
	var r *run
	if err == nil {
		r, err = w.finish()
	}
	if err != nil {
		f.Close()
		os.Remove(path)
		return nil, err
	}
	return r, nil
}

// merge makes one run of all.
func (s *Set) merge() error {
	var failed error
	merged, err := s.write(func(w *runWriter) error {
		var h mergeHeap
		for _, r := range s.runs {
			next, stop := iter.Pull(func(yield func(uint64) bool) {
				if err := r.all(s.path(r), yield); err != nil {
					failed = err
				}
			})
			defer stop()
			if key, ok := next(); ok {
				h = append(h, source{key, next})
			}
		}
		heap.Init(&h)
		for len(h) > 0 && failed == nil {
			if err := w.add(h[0].key); err != nil {
				return err
			}
			if key, ok := h[0].next(); ok {
				h[0].key = key
				heap.Fix(&h, 0)
			} else {
				heap.Pop(&h)
			}
		}
		return failed
	})
	if err != nil {
		return err
	}
	old := s.runs
	s.runs = []*run{merged}
	for _, r := range old {
		r.f.Close()
		s.merged = append(s.merged, r.File)
	}
	if !s.opt.KeepMerged {
		return s.Prune()
	}
	return nil
}

type source struct {
	key  uint64
	next func() (uint64, bool)
}

// mergeHeap has the run with the least next key first.
type mergeHeap []source

func (h mergeHeap) Len() int           { return len(h) }
func (h mergeHeap) Less(i, j int) bool { return h[i].key < h[j].key }
func (h mergeHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *mergeHeap) Push(x any)        { *h = append(*h, x.(source)) }
func (h *mergeHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// MayContain says that a key may be in the set; false is certain.
func (s *Set) MayContain(key uint64) bool { return s.filter.has(key) }

// Touch loads what MayContain will look at, so that several cache misses overlap.
func (s *Set) Touch(key uint64) uint64 { return s.filter.line(key)[0] }

// Lookup sets found[i] for each keys[i] that is in the set. keys is sorted.
func (s *Set) Lookup(keys []uint64, found []bool) error {
	for _, r := range s.runs {
		if err := r.lookup(s.path(r), keys, found); err != nil {
			return err
		}
	}
	return nil
}

// Len is the number of keys, those in several runs counted in each.
func (s *Set) Len() (n uint64) {
	for _, r := range s.runs {
		n += r.Keys
	}
	return n
}

// Bytes is the size of the runs on disk.
func (s *Set) Bytes() (n uint64) {
	for _, r := range s.runs {
		n += uint64(r.Bytes)
	}
	return n
}

// Sync makes all runs durable and gives the manifest with which to Open them.
func (s *Set) Sync() ([]Run, error) {
	list := make([]Run, 0, len(s.runs))
	for _, r := range s.runs {
		if !r.synced {
			if err := r.f.Sync(); err != nil {
				return nil, named("sync", s.path(r), err)
			}
			r.synced = true
		}
		list = append(list, r.Run)
	}
	d, err := os.Open(s.dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return list, d.Sync()
}

// Prune deletes files that were merged into others.
func (s *Set) Prune() error {
	for len(s.merged) > 0 {
		if err := os.Remove(filepath.Join(s.dir, s.merged[0])); err != nil {
			return err
		}
		s.merged = s.merged[1:]
	}
	return nil
}

// Close closes the files and leaves them.
func (s *Set) Close() error {
	var errs []error
	for _, r := range s.runs {
		errs = append(errs, r.f.Close())
	}
	s.runs = nil
	return errors.Join(errs...)
}
