package runset

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"sort"
)

// A run is a file of pages, then the first key of each page, then the trailer:
//
//	[0:8]    the number of keys
//	[8:16]   the number of pages
//	[16:20]  CRC-32C of the first keys and of the 16 bytes above
//	[20:28]  "QRUNSET1"
const (
	trailerSize = 28
	magic       = "QRUNSET1"
)

// Run names a run in a manifest.
type Run struct {
	File     string `json:"file"` // within the directory of the set
	Keys     uint64 `json:"keys"`
	Bytes    int64  `json:"bytes"`
	Checksum uint32 `json:"checksum"` // of its index, which has those of its pages below it
}

// CorruptError says that a file is not what was written.
type CorruptError struct {
	File   string
	Page   int // -1: the index
	Damage string
}

func (e *CorruptError) Error() string {
	if e.Page < 0 {
		return fmt.Sprintf("%s is damaged: %s", e.File, e.Damage)
	}
	return fmt.Sprintf("%s is damaged: page %d at byte %d: %s", e.File, e.Page, e.Page*pageSize, e.Damage)
}

// file is what a set needs of an open file; tests put failures in between.
type file interface {
	io.Writer
	io.ReaderAt
	io.Closer
	Sync() error
}

// run is an open run.
type run struct {
	Run
	f      file
	first  []uint64 // first key of each page
	synced bool
}

// runWriter writes one.
type runWriter struct {
	path  string
	f     file
	out   *bufio.Writer
	page  pageBuilder
	first []uint64
	keys  uint64
	last  uint64
}

func newRunWriter(path string, f file) *runWriter {
	return &runWriter{path: path, f: f, out: bufio.NewWriterSize(f, 1<<20)}
}

// add takes the next key, not smaller than the one before it. Equal ones are one.
func (w *runWriter) add(key uint64) error {
	if w.keys > 0 {
		if key == w.last {
			return nil
		}
		if key < w.last {
			return fmt.Errorf("runset: key %#x comes after %#x", key, w.last)
		}
	}
	if !w.page.fits(key) {
		if err := w.flush(); err != nil {
			return err
		}
	}
	w.page.add(key)
	w.last = key
	w.keys++
	return nil
}

func (w *runWriter) flush() error {
	w.first = append(w.first, w.page.keys[0])
	_, err := w.out.Write(w.page.finish())
	return named("write", w.path, err)
}

// finish writes the index.
func (w *runWriter) finish() (*run, error) {
	if len(w.page.keys) > 0 {
		if err := w.flush(); err != nil {
			return nil, err
		}
	}
	index := make([]byte, 0, len(w.first)*8+trailerSize)
	for _, key := range w.first {
		index = binary.LittleEndian.AppendUint64(index, key)
	}
	index = binary.LittleEndian.AppendUint64(index, w.keys)
	index = binary.LittleEndian.AppendUint64(index, uint64(len(w.first)))
	sum := crc32.Checksum(index, castagnoli)
	index = append(binary.LittleEndian.AppendUint32(index, sum), magic...)
	if _, err := w.out.Write(index); err != nil {
		return nil, named("write", w.path, err)
	}
	if err := w.out.Flush(); err != nil {
		return nil, named("write", w.path, err)
	}
	return &run{f: w.f, first: w.first, Run: Run{
		File: filepath.Base(w.path), Keys: w.keys, Checksum: sum,
		Bytes: int64(len(w.first))*pageSize + int64(len(index)),
	}}, nil
}

// openRun reads the index of a run, and holds it against the manifest.
func openRun(dir string, want Run) (*run, error) {
	path := filepath.Join(dir, want.File)
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	first, got, err := readIndex(f, path)
	if err == nil {
		if got.File = want.File; got != want {
			err = &CorruptError{path, -1, fmt.Sprintf("it has %d keys, %d bytes and checksum %08x; the manifest says %d, %d and %08x",
				got.Keys, got.Bytes, got.Checksum, want.Keys, want.Bytes, want.Checksum)}
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &run{Run: want, f: f, first: first, synced: true}, nil
}

func readIndex(f *os.File, path string) ([]uint64, Run, error) {
	damaged := func(format string, args ...any) ([]uint64, Run, error) {
		return nil, Run{}, &CorruptError{path, -1, fmt.Sprintf(format, args...)}
	}
	info, err := f.Stat()
	if err != nil {
		return nil, Run{}, err
	}
	size := info.Size()
	if size < trailerSize {
		return damaged("%d bytes are too few", size)
	}
	var trailer [trailerSize]byte
	if _, err := f.ReadAt(trailer[:], size-trailerSize); err != nil {
		return nil, Run{}, named("read", path, err)
	}
	if string(trailer[20:]) != magic {
		return damaged("it does not end as a run does")
	}
	keys, pages := binary.LittleEndian.Uint64(trailer[:]), binary.LittleEndian.Uint64(trailer[8:])
	if pages > uint64(size)/pageSize || int64(pages)*(pageSize+8)+trailerSize != size {
		return damaged("%d pages do not make %d bytes", pages, size)
	}
	index := make([]byte, pages*8+16)
	if _, err := f.ReadAt(index, int64(pages)*pageSize); err != nil {
		return nil, Run{}, named("read", path, err)
	}
	sum := crc32.Checksum(index, castagnoli)
	if sum != binary.LittleEndian.Uint32(trailer[16:]) {
		return damaged("checksum of the index does not match")
	}
	first := make([]uint64, pages)
	for i := range first {
		first[i] = binary.LittleEndian.Uint64(index[i*8:])
	}
	return first, Run{Keys: keys, Bytes: size, Checksum: sum}, nil
}

const (
	// spanPages is how many pages are read at once.
	spanPages = 64
	// gapPages is how many pages without a use are read along rather than skipped.
	gapPages = 3
)

// span is a part of a run in memory.
type span struct {
	r     *run
	path  string
	from  int // page
	pages int
	buf   []byte
	keys  []uint64
}

func (s *span) read(from, pages int) error {
	s.from, s.pages = from, pages
	if s.buf == nil {
		s.buf = make([]byte, spanPages*pageSize)
	}
	_, err := s.r.f.ReadAt(s.buf[:pages*pageSize], int64(from)*pageSize)
	if errors.Is(err, io.EOF) {
		return &CorruptError{s.path, from, "the file is too short"}
	}
	return named("read", s.path, err)
}

// decode gives the keys of a page of the span.
func (s *span) decode(page int) ([]uint64, error) {
	at := (page - s.from) * pageSize
	keys, damage := decodePage(s.buf[at:at+pageSize], s.keys[:0])
	if damage == "" && keys[0] != s.r.first[page] {
		damage = "it is another page than the index says"
	}
	if damage != "" {
		return nil, &CorruptError{s.path, page, damage}
	}
	s.keys = keys
	return keys, nil
}

// lookup sets found[i] for each keys[i] that the run has. keys is sorted.
func (r *run) lookup(path string, keys []uint64, found []bool) error {
	s := span{r: r, path: path}
	page, i := 0, 0
	for i < len(keys) {
		page = r.pageOf(page, keys[i])
		if page < 0 { // before the first key
			i, page = i+1, 0
			continue
		}
		if page >= s.from+s.pages || s.pages == 0 {
			if err := s.read(page, r.worthReading(page, keys[i:])); err != nil {
				return err
			}
		}
		has, err := s.decode(page)
		if err != nil {
			return err
		}
		k := 0
		for ; i < len(keys) && (page+1 == len(r.first) || keys[i] < r.first[page+1]); i++ {
			for k < len(has) && has[k] < keys[i] {
				k++
			}
			if k == len(has) {
				continue // the gap before the next page
			}
			if has[k] == keys[i] {
				found[i] = true
			}
		}
	}
	return nil
}

// pageOf is the page, not before from, that would have key; -1: none.
func (r *run) pageOf(from int, key uint64) int {
	rest := r.first[from:]
	step := 1 // keys are usually dense: look near first
	for step < len(rest) && rest[step] <= key {
		step *= 2
	}
	low := step / 2
	high := min(step, len(rest))
	return from + low + sort.Search(high-low, func(i int) bool { return rest[low+i] > key }) - 1
}

// worthReading is how many pages from page on to read at once.
func (r *run) worthReading(page int, keys []uint64) int {
	limit := min(page+spanPages, len(r.first))
	last := page
	for _, key := range keys {
		next := last
		for next+1 < limit && r.first[next+1] <= key {
			next++
		}
		if next-last > gapPages+1 || next+1 == limit {
			if next-last <= gapPages+1 {
				last = next
			}
			break
		}
		last = next
	}
	return last - page + 1
}

// all yields the keys in order.
func (r *run) all(path string, yield func(uint64) bool) error {
	s := span{r: r, path: path}
	for from := 0; from < len(r.first); from += spanPages {
		if err := s.read(from, min(spanPages, len(r.first)-from)); err != nil {
			return err
		}
		for page := from; page < from+s.pages; page++ {
			keys, err := s.decode(page)
			if err != nil {
				return err
			}
			for _, key := range keys {
				if !yield(key) {
					return nil
				}
			}
		}
	}
	return nil
}

func named(verb, path string, err error) error {
	if err == nil {
		return nil
	}
	var p *os.PathError
	if errors.As(err, &p) {
		return err
	}
	return fmt.Errorf("%s %s: %w", verb, path, err)
}
