package checker

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"time"
	"unsafe"

	"github.com/quorate/quorate/checker/internal/runset"
)

// A checkpoint is a directory with all that a search knows between two levels, in
// files of their own, and beside it a manifest that names them with their sizes and
// checksums. The manifest is written last and put in place by renaming it, so it
// always names a checkpoint that is whole; only then is the one before removed.
const (
	checkpointFormat = 1
	manifestName     = "MANIFEST"
	claimFile        = "LOCK"
)

// durable is what the order of writing a checkpoint is about. Tests watch it, and
// have it fail.
var durable = struct {
	sync   func(f *os.File) error
	rename func(from, to string) error
	remove func(path string) error
}{(*os.File).Sync, os.Rename, os.RemoveAll}

// manifest is a checkpoint but for what grows with the number of states.
type manifest struct {
	Format   int      `json:"format"`
	Model    identity `json:"model"`
	Number   int      `json:"number"`
	Files    []part   `json:"files"`
	Runs     []runset.Run
	Workers  int           `json:"workers"` // whose logs there are
	Elapsed  time.Duration `json:"elapsed"`
	Distinct uint64        `json:"distinct"`

	Initial, Generated, Projected, Stuck, Stopped, Widest uint64

	Depth               int
	Levels              []uint64
	Known, Reached      Props
	Found               [64]storedFinding
	Fired, Within, Bits []uint64
	Chunks              int
	ArchivePages        uint64
}

type storedFinding struct{ FP, Tie, Ref uint64 }

// part is a file of a checkpoint.
type part struct {
	File string `json:"file"`
	Size int64  `json:"size"`
	Sum  uint32 `json:"sum"`
}

// identity is what must be the same to go on from a checkpoint.
type identity struct {
	Spec      string     `json:"spec"`
	Variant   string     `json:"variant"`
	Constants []Constant `json:"constants"`
	State     string     `json:"state"`  // type and size
	Digest    uint32     `json:"digest"` // of names and limits
	Exact     bool       `json:"exact"`
	Symmetry  bool       `json:"symmetry"`
	Projected bool       `json:"projected"`
	KeepGoing bool       `json:"keep_going"`
	Selected  Props      `json:"selected"`
	Machine   string     `json:"machine"` // order and size of numbers
}

func (s *search[S]) identity() identity {
	info := s.info
	var state S
	names, _ := json.Marshal([]any{info.Actions, info.Properties, info.Budgets, info.Bounds, info.Processes, info.MaxInFlight})
	return identity{
		Spec: info.Name, Variant: s.opt.Variant, Constants: info.Constants,
		State: fmt.Sprintf("%s, %d bytes", reflect.TypeFor[S](), unsafe.Sizeof(state)), Digest: sumOf(names),
		Exact: s.opt.Exact, Symmetry: s.opt.Symmetry, Projected: s.opt.Projected, KeepGoing: s.opt.KeepGoing, Selected: s.selected,
		Machine: fmt.Sprintf("%d bits, %v", 8*unsafe.Sizeof(uintptr(0)), binary.NativeEndian),
	}
}

// differs says in words how a search is not that of a checkpoint.
func (id identity) differs(of identity) string {
	if reflect.DeepEqual(id, of) {
		return ""
	}
	if id.Spec != of.Spec {
		return fmt.Sprintf("spec is %s there and %s here", of.Spec, id.Spec)
	}
	a, b := reflect.ValueOf(id), reflect.ValueOf(of)
	var list []string
	for i := range a.NumField() {
		x, y := a.Field(i).Interface(), b.Field(i).Interface()
		switch name := a.Type().Field(i).Name; {
		case reflect.DeepEqual(x, y):
		case name == "Digest":
			list = append(list, "actions, properties or limits are others")
		default:
			list = append(list, fmt.Sprintf("%s is %v there and %v here", strings.ToLower(name), y, x))
		}
	}
	return strings.Join(list, ", ")
}

// claimCheckpoints makes the directory for checkpoints, and keeps other runs from it.
func (s *search[S]) claimCheckpoints() error {
	root := s.opt.Checkpoint
	if s.goal != nil && (root != "" || s.opt.Resume != "") { // no checkpoint can tell functions apart
		return fmt.Errorf("only a search that judges properties has checkpoints")
	}
	if root == "" {
		return nil
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		return fmt.Errorf("directory for checkpoints: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(root, claimFile), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return fmt.Errorf("directory for checkpoints: %w", err)
	}
	if !tryLock(f) {
		f.Close()
		return fmt.Errorf("%s: another run writes its checkpoints there", root)
	}
	s.claim = f
	if root != s.opt.Resume && HasCheckpoint(root) {
		return fmt.Errorf("%s: there is a checkpoint already: resume it, or remove it", filepath.Join(root, manifestName))
	}
	return nil
}

// HasCheckpoint says whether there is a checkpoint in a directory.
func HasCheckpoint(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, manifestName))
	return dir != "" && err == nil
}

// SavedAt says where a checkpoint is, and which level is the next to be expanded.
type SavedAt struct {
	Dir      string `json:"dir"`
	Depth    int    `json:"depth"`
	Distinct uint64 `json:"distinct"`
}

// checkpoint writes one if it is time, or if the search ends before its end, and
// that after a whole level.
func (s *search[S]) checkpoint(more bool) error {
	switch {
	case s.opt.Checkpoint == "", s.partial, !more && s.limitedBy == "":
		return nil
	case more && time.Since(s.saved) < s.opt.CheckpointEvery:
		return nil
	}
	if err := s.writeCheckpoint(); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	s.saved = time.Now()
	return nil
}

func (s *search[S]) writeCheckpoint() error {
	root := s.opt.Checkpoint
	m := s.manifest()
	dir := filepath.Join(root, m.dir())
	if err := os.RemoveAll(dir); err != nil { // of a process that was killed
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	write := func(name string, fill func(w *bufio.Writer) error) error {
		p, err := writePart(filepath.Join(dir, name), fill)
		m.Files = append(m.Files, p)
		return err
	}
	if err := s.writeParts(m, write); err != nil {
		return err
	}
	if s.disk != nil {
		runs, err := s.disk.runs.Sync()
		if err != nil {
			return err
		}
		m.Runs = runs
		for _, r := range runs {
			if err := linkOrCopy(filepath.Join(s.dir.path, r.File), filepath.Join(dir, r.File)); err != nil {
				return err
			}
		}
	}
	if err := syncDir(dir); err != nil {
		return err
	}
	if err := m.write(root); err != nil {
		return err
	}
	s.number, s.last = m.Number, &SavedAt{root, m.Depth, m.Distinct}
	old, _ := filepath.Glob(filepath.Join(root, "checkpoint-*"))
	for _, path := range old {
		if filepath.Base(path) != m.dir() {
			if err := durable.remove(path); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *manifest) dir() string { return fmt.Sprintf("checkpoint-%06d", m.Number) }

// manifest has what is counted.
func (s *search[S]) manifest() *manifest {
	m := &manifest{
		Format: checkpointFormat, Model: s.identity(), Number: s.number + 1, Workers: len(s.workers) + len(s.others),
		Elapsed: time.Since(s.began), Initial: s.initial, Widest: s.widest, Depth: s.depth, Levels: s.levels,
		Known: s.known, Reached: s.reached, Chunks: len(s.level), Distinct: s.others.used(),
		Fired: make([]uint64, 256), Within: make([]uint64, 256), Bits: make([]uint64, boundBits),
	}
	for i, f := range s.found {
		m.Found[i] = storedFinding{f.fp, f.tie, uint64(f.ref)}
	}
	for _, w := range s.workers {
		m.Distinct += w.log.used
		m.Generated += w.generated
		m.Projected += w.projected
		m.Stuck += w.stuck
		m.Stopped += w.stopped
		for i := range m.Fired {
			m.Fired[i] += w.sink.fired[i]
			m.Within[i] += w.sink.within[i]
		}
		for i := range m.Bits {
			m.Bits[i] += w.bits[i]
		}
	}
	if s.archive != nil {
		m.ArchivePages = s.archive.pages.Load()
	}
	return m
}

// logs are those of workers of an earlier run that have no successor in this one.
type logs []*parentLog

func (l logs) used() (n uint64) {
	for _, log := range l {
		n += log.used
	}
	return n
}

func (s *search[S]) log(worker int) *parentLog {
	if worker < len(s.workers) {
		return &s.workers[worker].log
	}
	return s.others[worker-len(s.workers)]
}

// writeParts writes what grows with the states.
func (s *search[S]) writeParts(m *manifest, write func(string, func(w *bufio.Writer) error) error) error {
	if p, ok := s.spec.(persistent); ok {
		if err := write("components", func(w *bufio.Writer) error { return p.save(w) }); err != nil {
			return err
		}
	}
	for id := range m.Workers {
		if err := write(fmt.Sprintf("parents-%d", id), s.log(id).save); err != nil {
			return err
		}
	}
	if err := write("frontier", s.saveLevel); err != nil {
		return err
	}
	if s.archive != nil {
		return write("states", s.archive.save)
	}
	if err := write("keys", func(w *bufio.Writer) error {
		if s.disk == nil {
			return saveKeys(w, ascending(s.seen.slots))
		}
		return saveKeys(w, merged(ascending(s.seen.slots), ascending(s.disk.old)))
	}); err != nil || s.seenToo == nil {
		return err
	}
	return write("keys-without-budgets", func(w *bufio.Writer) error { return saveKeys(w, ascending(s.seenToo.slots)) })
}

func saveKeys(w *bufio.Writer, keys iter.Seq[uint64]) error {
	var b [8]byte
	for key := range keys {
		binary.LittleEndian.PutUint64(b[:], key)
		if _, err := w.Write(b[:]); err != nil {
			return err
		}
	}
	return nil
}

// merged gives the keys of both, which ascend, in order.
func merged(a, b iter.Seq[uint64]) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		next, stop := iter.Pull(b)
		defer stop()
		other, more := next()
		for key := range a {
			for more && other < key {
				if !yield(other) {
					return
				}
				other, more = next()
			}
			if !yield(key) {
				return
			}
		}
		for more && yield(other) {
			other, more = next()
		}
	}
}

// saveLevel writes the chunks of the level that is next to be expanded.
func (s *search[S]) saveLevel(w *bufio.Writer) error {
	var buffer []byte
	for _, c := range s.level {
		var data []byte // of an exact search: none, place says where it is
		if s.archive == nil {
			var err error
			if data, err = c.load(buffer); err != nil {
				return err
			}
			if c.file != nil {
				buffer = data
			}
		}
		if err := binary.Write(w, binary.LittleEndian, []uint64{uint64(c.base), uint64(c.n), c.place, uint64(len(data))}); err != nil {
			return err
		}
		if _, err := w.Write(data); err != nil {
			return err
		}
	}
	return nil
}

func (a *archive) save(w *bufio.Writer) error {
	for number := uint64(1); number <= a.pages.Load(); number++ {
		p := a.page(number)
		if err := binary.Write(w, binary.LittleEndian, uint32(p.used)); err != nil {
			return err
		}
		if _, err := w.Write(p.bytes[:p.used]); err != nil {
			return err
		}
	}
	return nil
}

func (l *parentLog) save(w *bufio.Writer) error {
	head := []uint64{l.used, uint64(l.size), uint64(l.parent), uint64(len(l.blocks)), uint64(len(l.ended))}
	var sizes []uint32
	for _, p := range l.ended {
		sizes = append(sizes, p.size)
	}
	for _, v := range []any{head, l.blocks, sizes} {
		if err := binary.Write(w, binary.LittleEndian, v); err != nil {
			return err
		}
	}
	var buffer []byte
	for i, p := range l.ended {
		page := []byte(nil)
		if l.file == nil {
			page = l.full[i]
		} else {
			var err error
			if page, err = l.file.read(buffer, p); err != nil {
				return err
			}
			buffer = page
		}
		if _, err := w.Write(page); err != nil {
			return err
		}
	}
	_, err := w.Write(l.page)
	return err
}

// writePart writes a file, and flushes it to the disk.
func writePart(path string, fill func(w *bufio.Writer) error) (part, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return part{}, err
	}
	defer f.Close()
	sum := &summing{w: f}
	w := bufio.NewWriterSize(sum, 1<<20)
	err = fill(w)
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = durable.sync(f)
	}
	if err == nil {
		err = f.Close()
	}
	return part{filepath.Base(path), sum.size, sum.sum}, err
}

// summing counts and sums what goes through it.
type summing struct {
	w    io.Writer
	size int64
	sum  uint32
}

func (s *summing) Write(b []byte) (int, error) {
	n, err := s.w.Write(b)
	s.size += int64(n)
	s.sum = crc32.Update(s.sum, castagnoli, b[:n])
	return n, err
}

// write puts the manifest in its place.
func (m *manifest) write(root string) error {
	body, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return err
	}
	temporary := filepath.Join(root, manifestName+".new")
	if err := os.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, err := writePart(temporary, func(w *bufio.Writer) error {
		_, err := fmt.Fprintf(w, "%08x\n%s\n", sumOf(body), body)
		return err
	}); err != nil {
		return err
	}
	if err := durable.rename(temporary, filepath.Join(root, manifestName)); err != nil {
		return err
	}
	return syncDir(root)
}

// readManifest reads the manifest of a directory, and checks all files that it names.
func readManifest(root string) (*manifest, error) {
	path := filepath.Join(root, manifestName)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("no checkpoint in %s: %w", root, err)
	}
	if err != nil {
		return nil, err
	}
	sum, body, _ := strings.Cut(string(text), "\n")
	body, whole := strings.CutSuffix(body, "\n")
	if !whole || sum != fmt.Sprintf("%08x", sumOf([]byte(body))) {
		return nil, fmt.Errorf("%s: it is damaged", path)
	}
	m := &manifest{}
	if err := json.Unmarshal([]byte(body), m); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if m.Format != checkpointFormat {
		return nil, fmt.Errorf("%s: its format is %d, this program knows %d", path, m.Format, checkpointFormat)
	}
	for _, p := range m.Files {
		if err := p.check(filepath.Join(root, m.dir())); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (p part) check(dir string) error {
	path := filepath.Join(dir, p.File)
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	sum := &summing{w: io.Discard}
	if _, err := io.Copy(sum, f); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	switch {
	case sum.size != p.Size:
		return fmt.Errorf("%s: it has %d bytes, and had %d when it was written", path, sum.size, p.Size)
	case sum.sum != p.Sum:
		return fmt.Errorf("%s: it is damaged", path)
	}
	return nil
}

func linkOrCopy(from, to string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	_, err = writePart(to, func(w *bufio.Writer) error { _, err := io.Copy(w, in); return err })
	return err
}

func syncDir(path string) error {
	if runtime.GOOS == "windows" {
		return nil // directories cannot be flushed there
	}
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	return durable.sync(d)
}
