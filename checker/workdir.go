package checker

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/quorate/quorate/checker/internal/runset"
)

// workDir is a directory for the files of one run. A file in it is locked as long as
// the process lives; a directory whose file is not locked is of one that was killed.
type workDir struct {
	path  string
	owner *os.File
	files []*os.File
	open  func(path string) (*os.File, error)
}

const (
	workDirs  = "quorate-"
	ownerFile = "OWNER"
)

func (o *Options) newWorkDir() (*workDir, error) {
	o.removeStale()
	path, err := os.MkdirTemp(o.Dir, workDirs)
	if err != nil {
		return nil, fmt.Errorf("directory for the files of the run: %w", err)
	}
	d := &workDir{path: path, open: o.openFile}
	if d.owner, err = own(path); err != nil {
		d.remove()
		return nil, fmt.Errorf("directory for the files of the run: %w", err)
	}
	if d.open == nil {
		d.open = func(path string) (*os.File, error) {
			return os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
		}
	}
	return d, nil
}

func (d *workDir) file(format string, args ...any) (*spillFile, error) {
	f, err := d.open(filepath.Join(d.path, fmt.Sprintf(format, args...)))
	if err != nil {
		return nil, err
	}
	d.files = append(d.files, f)
	return &spillFile{f: f}, nil
}

// own locks a file in a directory and gives it its name only then, so that nobody
// finds it without its lock.
func own(dir string) (*os.File, error) {
	name := filepath.Join(dir, ownerFile)
	f, err := os.OpenFile(name+".new", os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, err
	}
	if !tryLock(f) {
		f.Close()
		return nil, fmt.Errorf("%s: it cannot be locked", f.Name())
	}
	if err := os.Rename(name+".new", name); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// removeStale removes what runs have left that were killed. What cannot be looked
// at or removed is somebody else's.
func (o *Options) removeStale() {
	if !locks {
		return
	}
	dir := o.Dir
	if dir == "" {
		dir = os.TempDir()
	}
	paths, _ := filepath.Glob(filepath.Join(dir, workDirs+"*", ownerFile))
	for _, path := range paths {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			continue
		}
		stale := filepath.Dir(path)
		if tryLock(f) && os.RemoveAll(stale) == nil && o.Notes != nil {
			fmt.Fprintf(o.Notes, "removed %s, which a run that was killed has left\n", stale)
		}
		f.Close()
	}
}

// remove closes and deletes everything, the lock last.
func (d *workDir) remove() {
	for _, f := range d.files {
		f.Close()
	}
	os.RemoveAll(d.path)
	if d.owner != nil {
		d.owner.Close()
	}
}

// useDisk prepares a search that may have to use the disk.
func (s *search[S]) useDisk() (err error) {
	o := &s.opt
	if s.dir, err = o.newWorkDir(); err != nil {
		return err
	}
	for _, w := range s.workers {
		if w.log.file, err = s.dir.file("parents-%d", w.id); err != nil {
			return err
		}
	}
	if o.Mem == 0 {
		return nil
	}
	s.disk = &disk{}
	d := s.disk
	if d.budget, err = newBudget(o.Mem, len(s.workers), s.chunks.room); err != nil {
		return err
	}
	d.filter = allocWords(d.budget.filter)
	if d.runs, err = runset.Create(s.dir.path, runset.Options{Filter: d.filter}); err != nil {
		return err
	}
	s.chunks.most = d.budget.chunks
	s.chunks.slab = min(slabBytes, max(1, d.budget.chunks/8/s.chunks.room)*s.chunks.room)
	s.seen.spill = func(h *handle) { s.rotate(s.workers[h.worker]) }
	for _, w := range s.workers {
		w.suspects.init(d.budget.suspects, s.mostPacked)
		w.reading = make([]byte, s.chunks.room)
		if w.in, err = s.dir.file("frontier-%d-a", w.id); err != nil {
			return err
		}
		if w.out, err = s.dir.file("frontier-%d-b", w.id); err != nil {
			return err
		}
	}
	return nil
}

func (s *search[S]) leaveDisk() {
	if s.disk != nil {
		if s.disk.runs != nil {
			s.disk.runs.Close()
		}
		s.disk.second.free()
		freeWords(s.disk.filter)
	}
	if s.dir != nil {
		s.dir.remove()
	}
}

// checkDisk refuses what cannot be had together.
func (o *Options) checkDisk() error {
	switch {
	case o.Mem > 0 && o.Exact:
		return fmt.Errorf("an exact search keeps all states in memory: it takes no memory budget")
	case o.Mem > 0 && o.Projected:
		return fmt.Errorf("states without budgets are counted in memory: that goes with no memory budget")
	}
	return nil
}
