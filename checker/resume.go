package checker

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"time"

	"github.com/quorate/quorate/checker/internal/runset"
)

// resume brings back what a checkpoint has, so that the search stands where it
// stood after nextLevel.
func (s *search[S]) resume() error {
	m, err := readManifest(s.opt.Resume)
	if err != nil {
		return fmt.Errorf("resume: %w", err)
	}
	dir := filepath.Join(s.opt.Resume, m.dir())
	if why := s.identity().differs(m.Model); why != "" {
		return fmt.Errorf("resume: %s is of another search: %s", dir, why)
	}
	if len(m.Runs) > 0 && s.disk == nil {
		return fmt.Errorf("resume: %s has states on disk: it needs a memory budget", dir)
	}
	s.count(m)
	read := func(name string, fill func(r *bufio.Reader) error) error {
		path := filepath.Join(dir, name)
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		r := bufio.NewReaderSize(f, 1<<20)
		if err := fill(r); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if _, err := r.ReadByte(); err != io.EOF {
			return fmt.Errorf("%s: there is more in it than was written", path)
		}
		return nil
	}
	if err := s.readParts(m, dir, read); err != nil {
		return fmt.Errorf("resume: %w", err)
	}
	if err := s.line(); err != nil {
		return err
	}
	s.levelSize = len(s.level)
	s.saved = time.Now()
	s.last = &SavedAt{s.opt.Resume, m.Depth, m.Distinct}
	return nil
}

// count takes over what was counted. Worker 0 gets the counts of all.
func (s *search[S]) count(m *manifest) {
	w := s.workers[0]
	s.number, s.initial, s.widest, s.depth, s.levels = m.Number, m.Initial, m.Widest, m.Depth, m.Levels
	s.known, s.reached, s.began = m.Known, m.Reached, time.Now().Add(-m.Elapsed)
	for i, f := range m.Found {
		s.found[i] = finding{fp: f.FP, tie: f.Tie, ref: ref(f.Ref)}
	}
	w.generated, w.projected, w.stuck, w.stopped = m.Generated, m.Projected, m.Stuck, m.Stopped
	copy(w.sink.fired[:], m.Fired)
	copy(w.sink.within[:], m.Within)
	copy(w.bits[:], m.Bits)
	w.generatedNow.Store(w.generated)
	s.depthNow.Store(uint64(m.Depth))
}

func (s *search[S]) readParts(m *manifest, dir string, read func(string, func(r *bufio.Reader) error) error) error {
	if p, ok := s.spec.(persistent); ok {
		if err := read("components", func(r *bufio.Reader) error { return p.restore(r) }); err != nil {
			return err
		}
	}
	for id := len(s.workers); id < m.Workers; id++ {
		l := &parentLog{}
		if s.dir != nil {
			var err error
			if l.file, err = s.dir.file("parents-%d", id); err != nil {
				return err
			}
		}
		s.others = append(s.others, l)
	}
	for id := range m.Workers {
		if err := read(fmt.Sprintf("parents-%d", id), s.log(id).restore); err != nil {
			return err
		}
	}
	s.before = s.others.used()
	for _, w := range s.workers {
		w.distinctNow.Store(w.log.used)
	}
	if s.disk != nil {
		if err := s.restoreRuns(m, dir); err != nil {
			return err
		}
	}
	switch {
	case s.archive != nil:
		if err := read("states", func(r *bufio.Reader) error { return s.archive.restore(r, m.ArchivePages) }); err != nil {
			return err
		}
		s.seen.makeRoom(m.Distinct)
		s.seen.refill()
	case s.disk != nil:
		if err := read("keys", s.disk.restore); err != nil {
			return err
		}
	default:
		if err := read("keys", func(r *bufio.Reader) error { return s.seen.restore(r, m.Distinct) }); err != nil {
			return err
		}
	}
	if s.seenToo != nil {
		if err := read("keys-without-budgets", func(r *bufio.Reader) error { return s.seenToo.restore(r, m.Projected) }); err != nil {
			return err
		}
	}
	return read("frontier", func(r *bufio.Reader) error { return s.restoreLevel(r, m.Chunks) })
}

// restoreRuns takes the runs of a checkpoint as those of this run.
func (s *search[S]) restoreRuns(m *manifest, dir string) error {
	for _, r := range m.Runs {
		if filepath.Base(r.File) != r.File {
			return fmt.Errorf("%s: a run cannot be named %q", dir, r.File)
		}
		if err := linkOrCopy(filepath.Join(dir, r.File), filepath.Join(s.dir.path, r.File)); err != nil {
			return err
		}
	}
	s.disk.runs.Close()
	clear(s.disk.filter)
	runs, err := runset.Open(s.dir.path, m.Runs, runset.Options{Filter: s.disk.filter})
	if err != nil {
		return err
	}
	s.disk.runs, s.disk.flushed = runs, len(m.Runs) > 0
	return nil
}

// restoreKeys gives the keys of a checkpoint, which ascend.
func restoreKeys(r *bufio.Reader, failure *error) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		var b [8]byte
		for {
			_, err := io.ReadFull(r, b[:])
			if err != nil {
				if err != io.EOF {
					*failure = err
				}
				return
			}
			if !yield(binary.LittleEndian.Uint64(b[:])) {
				return
			}
		}
	}
}

// restore inserts n keys. Room for all is made first: as they ascend, a table that
// grew meanwhile would have them all at its beginning.
func (t *table) restore(r *bufio.Reader, n uint64) error {
	t.makeRoom(n)
	var failure error
	for key := range restoreKeys(r, &failure) {
		if n == 0 || key == 0 || !t.add(key) {
			return fmt.Errorf("key %x is one too many", key)
		}
		n--
	}
	if failure == nil && n > 0 {
		return fmt.Errorf("%d keys are missing", n)
	}
	return failure
}

// restore takes the keys that were in memory as a run.
func (d *disk) restore(r *bufio.Reader) error {
	var failure error
	if err := d.runs.Add(restoreKeys(r, &failure)); err != nil {
		return err
	}
	d.flushed = true
	return failure
}

// makeRoom makes an empty table large enough for n slots, and claims them.
func (t *table) makeRoom(n uint64) {
	for room(len(t.slots)) < int64(n)+int64(len(t.handles)*quotaBlock) {
		t.extend(t.larger())
	}
	t.claimed.Add(int64(n))
}

func (a *archive) restore(r *bufio.Reader, pages uint64) error {
	for range pages {
		p := a.page(a.add())
		var used uint32
		if err := binary.Read(r, binary.LittleEndian, &used); err != nil {
			return err
		}
		if used > stateRoom {
			return fmt.Errorf("a page of %d bytes, at most %d fit", used, stateRoom)
		}
		p.used = int(used)
		if _, err := io.ReadFull(r, p.bytes[:used]); err != nil {
			return err
		}
	}
	return nil
}

func (l *parentLog) restore(r *bufio.Reader) error {
	head := make([]uint64, 5)
	if err := binary.Read(r, binary.LittleEndian, head); err != nil {
		return err
	}
	l.used, l.parent = head[0], ordinal(head[2])
	l.blocks = make([]int64, head[3])
	sizes := make([]uint32, head[4])
	for _, v := range []any{l.blocks, sizes} {
		if err := binary.Read(r, binary.LittleEndian, v); err != nil {
			return err
		}
	}
	for _, size := range sizes {
		l.turn()
		l.page = l.page[:size]
		if _, err := io.ReadFull(r, l.page); err != nil {
			return err
		}
		l.size += int64(size)
	}
	if rest := int64(head[1]) - l.size; rest > 0 {
		l.turn()
		l.page = l.page[:rest]
		if _, err := io.ReadFull(r, l.page); err != nil {
			return err
		}
		l.size += rest
	}
	return nil
}

// restoreLevel makes chunks for worker 0 to hand on. Each must begin with a state
// that was seen, which it does not if states are packed or numbered otherwise.
func (s *search[S]) restoreLevel(r *bufio.Reader, chunks int) error {
	w := s.workers[0]
	head := make([]uint64, 4)
	for range chunks {
		if err := binary.Read(r, binary.LittleEndian, head); err != nil {
			return err
		}
		w.openChunk()
		c := w.cur
		c.base, c.n, c.place = ordinal(head[0]), int(head[1]), head[2]
		if s.archive != nil {
			c.data = s.archive.at(c.place)
		} else {
			if head[3] > uint64(cap(c.data)) {
				return fmt.Errorf("a chunk of %d bytes, at most %d fit", head[3], cap(c.data))
			}
			c.data = c.data[:head[3]]
			if _, err := io.ReadFull(r, c.data); err != nil {
				return err
			}
		}
		var first S
		if rest := w.codec.unpack(c.data, &first); rest == nil {
			return fmt.Errorf("a chunk does not begin with a state")
		}
		if key := scramble(fingerprint(s.finger, &first)); s.archive == nil && s.disk == nil && !holdsKey(s.seen.slots, key) {
			return fmt.Errorf("a state that is to be expanded was not seen: the model has changed")
		}
	}
	w.closeChunk()
	return nil
}
