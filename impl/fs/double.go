package fs

import (
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
)

// SectorSize is the unit in bytes that [Double] writes to disk as a whole.
const SectorSize = 512

// Double is a disk in memory for tests. It knows which operations were flushed;
// [Double.Crash] gives the disk as a restarted machine could find it, and
// [Double.FailAt] makes one operation fail. What it does depends only on how it
// is called: no clock, no randomness of its own, no order of a map.
//
// A process that dies while its machine lives is a Double that goes on being
// used without a Crash: what was not flushed is still there, and still not
// flushed.
//
// The zero value is not usable; see [NewDouble]. All methods may be called from
// several goroutines.
type Double struct {
	mu     sync.Mutex
	root   *node
	ops    int
	reads  int
	fault  func(Op) Fault
	rfault func(n int, name string) Fault
	watch  func(op Op, now func() *Double)
	dead   bool
	full   bool
}

var _ FS = (*Double)(nil)

// node is a file or a directory.
type node struct {
	dir bool

	data    []byte   // as the process sees it
	disk    []byte   // as it is on disk
	pending []dataOp // changes between the two

	names        map[string]*node
	diskNames    map[string]*node
	pendingNames []nameOp
}

type dataOp struct {
	op   Op
	data []byte // of a write
}

type nameOp struct {
	op       Op
	name, to string // to: of a rename
	node     *node  // what name (of a rename: to) leads to afterwards, nil if removed
}

func newDir() *node {
	return &node{dir: true, names: map[string]*node{}, diskNames: map[string]*node{}}
}

// NewDouble returns an empty disk with a root directory.
func NewDouble() *Double {
	return &Double{root: newDir()}
}

// clean is a path without anything superfluous, relative to the root, which is "". Most
// are so already: this is what the simulator does most with a disk.
func clean(name string) string {
	odd := strings.HasPrefix(name, "/") || strings.HasSuffix(name, "/") || strings.HasPrefix(name, ".") ||
		strings.Contains(name, "//") || strings.Contains(name, "/.")
	if !odd {
		return name
	}
	return strings.Trim(path.Clean("/"+name), "/")
}

// find returns the node of a path, nil if there is none.
func (d *Double) find(name string) *node { return d.walk(clean(name)) }

func (d *Double) walk(name string) *node {
	n := d.root
	for name != "" && n != nil {
		var part string
		part, name, _ = strings.Cut(name, "/")
		n = n.names[part]
	}
	return n
}

// parent returns the directory of a path and the last element.
func (d *Double) parent(name string) (*node, string, error) {
	name = clean(name)
	if name == "" {
		return nil, "", fmt.Errorf("%q: not a file name", name)
	}
	at := strings.LastIndexByte(name, '/')
	dir := d.walk(name[:max(at, 0)])
	if dir == nil || !dir.dir {
		return nil, "", fmt.Errorf("directory of %s: %w", name, ErrNotExist)
	}
	return dir, name[at+1:], nil
}

// Create implements [FS].
func (d *Double) Create(name string) (File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	dir, base, err := d.parent(name)
	if err != nil {
		return nil, err
	}
	old := dir.names[base]
	if old != nil && old.dir {
		return nil, fmt.Errorf("create %s: is a directory", name)
	}
	op, fault, err := d.begin(Op{Kind: OpCreate, Path: name})
	if err != nil {
		return nil, err
	}
	n := old
	if old == nil {
		n = &node{}
		dir.names[base] = n
		dir.pendingNames = append(dir.pendingNames, nameOp{op: op, name: base, node: n})
	} else if len(old.data) > 0 {
		old.truncate(op, 0)
	}
	if err := d.end(op, fault); err != nil {
		return nil, err
	}
	return &doubleFile{d: d, n: n, name: name}, nil
}

// Open implements [FS].
func (d *Double) Open(name string) (File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dead {
		return nil, ErrCrashed
	}
	n := d.find(name)
	if n == nil {
		return nil, fmt.Errorf("open %s: %w", name, ErrNotExist)
	}
	if n.dir {
		return nil, fmt.Errorf("open %s: is a directory", name)
	}
	return &doubleFile{d: d, n: n, name: name}, nil
}

// Rename implements [FS].
func (d *Double) Rename(from, to string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	dir, base, err := d.parent(from)
	if err != nil {
		return err
	}
	dir2, base2, err := d.parent(to)
	if err != nil {
		return err
	}
	if dir != dir2 {
		return fmt.Errorf("rename %s to %s: not in one directory", from, to)
	}
	n := dir.names[base]
	if n == nil {
		return fmt.Errorf("rename %s: %w", from, ErrNotExist)
	}
	op, fault, err := d.begin(Op{Kind: OpRename, Path: to})
	if err != nil {
		return err
	}
	change := nameOp{op: op, name: base, to: base2, node: n}
	change.apply(dir.names)
	dir.pendingNames = append(dir.pendingNames, change)
	return d.end(op, fault)
}

func (c nameOp) apply(names map[string]*node) {
	switch {
	case c.to != "":
		delete(names, c.name)
		names[c.to] = c.node
	case c.node == nil:
		delete(names, c.name)
	default:
		names[c.name] = c.node
	}
}

// Remove implements [FS].
func (d *Double) Remove(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	dir, base, err := d.parent(name)
	if err != nil {
		return err
	}
	if dir.names[base] == nil {
		return fmt.Errorf("remove %s: %w", name, ErrNotExist)
	}
	op, fault, err := d.begin(Op{Kind: OpRemove, Path: name})
	if err != nil {
		return err
	}
	delete(dir.names, base)
	dir.pendingNames = append(dir.pendingNames, nameOp{op: op, name: base})
	return d.end(op, fault)
}

// List implements [FS].
func (d *Double) List(dir string) ([]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dead {
		return nil, ErrCrashed
	}
	n := d.find(dir)
	if n == nil || !n.dir {
		return nil, fmt.Errorf("list %s: %w", dir, ErrNotExist)
	}
	return slices.Sorted(maps.Keys(n.names)), nil
}

// Mkdir implements [FS].
func (d *Double) Mkdir(dir string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	parent, base, err := d.parent(dir)
	if err != nil {
		return err
	}
	if parent.names[base] != nil {
		return fmt.Errorf("mkdir %s: %w", dir, ErrExist)
	}
	op, fault, err := d.begin(Op{Kind: OpMkdir, Path: dir})
	if err != nil {
		return err
	}
	n := newDir()
	parent.names[base] = n
	parent.pendingNames = append(parent.pendingNames, nameOp{op: op, name: base, node: n})
	return d.end(op, fault)
}

// SyncDir implements [FS]. A failure that was asked for flushes nothing and
// loses nothing.
func (d *Double) SyncDir(dir string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.find(dir)
	if n == nil || !n.dir {
		return fmt.Errorf("flush %s: %w", dir, ErrNotExist)
	}
	op, fault, err := d.begin(Op{Kind: OpSyncDir, Path: dir})
	if err != nil {
		return err
	}
	if fault == None {
		for _, c := range n.pendingNames {
			c.apply(n.diskNames)
		}
		n.pendingNames = nil
	}
	return d.end(op, fault)
}

type doubleFile struct {
	d    *Double
	n    *node
	name string
}

func (f *doubleFile) ReadAt(p []byte, off int64) (int, error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	fault, err := f.d.beginRead(f.name)
	if err != nil {
		return 0, err
	}
	if off < 0 {
		return 0, fmt.Errorf("read %s: negative offset", f.name)
	}
	if off >= int64(len(f.n.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.n.data[off:])
	if fault == BitFlip && n > 0 {
		p[n/2] ^= 0x10
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *doubleFile) WriteAt(p []byte, off int64) (int, error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	op, fault, err := f.d.begin(Op{Kind: OpWrite, Path: f.name, Off: off, Len: int64(len(p))})
	if err != nil {
		return 0, err
	}
	n := len(p)
	switch fault {
	case Error:
		n = 0
	case TornWrite, DiskFull:
		n /= 2
	}
	f.n.write(op, p[:n], off)
	return n, f.d.end(op, fault)
}

func (f *doubleFile) Truncate(size int64) error {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	op, fault, err := f.d.begin(Op{Kind: OpTruncate, Path: f.name, Off: size})
	if err != nil {
		return err
	}
	if fault == None || fault == Crash {
		f.n.truncate(op, size)
	}
	return f.d.end(op, fault)
}

func (f *doubleFile) Sync() error {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	op, fault, err := f.d.begin(Op{Kind: OpSync, Path: f.name})
	if err != nil {
		return err
	}
	switch fault {
	case None:
		for _, c := range f.n.pending {
			f.n.disk = c.apply(f.n.disk)
		}
		f.n.pending = nil
	case Crash, Unflushed:
	default:
		f.n.loseWrites()
	}
	return f.d.end(op, fault)
}

func (f *doubleFile) Size() (int64, error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	if f.d.dead {
		return 0, ErrCrashed
	}
	return int64(len(f.n.data)), nil
}

func (f *doubleFile) Close() error { return nil }
