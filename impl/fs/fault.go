package fs

import (
	"errors"
	"fmt"
	"io/fs"
)

// Kind is a kind of operation of a [Double].
type Kind int

// Kinds of operations. OpExtend occurs only in a [Chooser].
const (
	OpCreate Kind = iota
	OpWrite
	OpExtend
	OpTruncate
	OpSync
	OpRename
	OpRemove
	OpMkdir
	OpSyncDir
)

var kindNames = [...]string{"create", "write", "extend", "truncate", "sync", "rename", "remove", "mkdir", "syncdir"}

// String returns the name of the kind.
func (k Kind) String() string { return kindNames[k] }

// Op is one operation that changes the disk or makes a change durable.
type Op struct {
	// N numbers the operations of a disk, from 1.
	N    int
	Kind Kind
	// Path is the file or directory, of a rename the new name.
	Path string
	// Off and Len in bytes belong to writes; Off of a truncation is the size.
	Off, Len int64
}

// String returns the operation on one line.
func (o Op) String() string {
	return fmt.Sprintf("%d %s %s off=%d len=%d", o.N, o.Kind, o.Path, o.Off, o.Len)
}

// Fault is what can be made to happen to one operation.
type Fault int

const (
	// None: the operation succeeds.
	None Fault = iota
	// Crash stops the process in the operation: it may have happened or not (see
	// [Double.Crash]), and it and all later ones return [ErrCrashed].
	Crash
	// Error fails the operation with [ErrInjected]. A failed Sync has lost what
	// was written since the last one, although it is still read and a later Sync
	// succeeds; a failed write has written nothing.
	Error
	// TornWrite fails a write with [ErrInjected] after half of it.
	TornWrite
	// DiskFull fails a write with [ErrNoSpace] after half of it, and all later
	// writes and creations too.
	DiskFull
	// Unflushed: a Sync or SyncDir succeeds and flushes nothing, as if the call were
	// not in the source. It does nothing to other operations.
	Unflushed
	// ReadOnly fails the operation with [ErrReadOnly], as on a file system that was
	// mounted read-only: give it to all.
	ReadOnly
	// BitFlip changes one bit of what is read (see [Double.FailRead]).
	BitFlip
)

// Errors that a Double returns when it was asked to: in a [*fs.PathError] with the kind
// of operation and the path, as the operating system does; ErrCrashed alone.
var (
	ErrCrashed  = errors.New("fs: the process has crashed")
	ErrInjected = errors.New("fs: injected failure")
	ErrNoSpace  = errors.New("fs: no space left on device")
	ErrReadOnly = errors.New("fs: read-only file system")
)

// FailAt makes operation number n fail.
func (d *Double) FailAt(n int, fault Fault) {
	d.Fail(func(op Op) Fault {
		if op.N == n {
			return fault
		}
		return None
	})
}

// Fail asks choose before each operation what shall happen to it. nil: nothing.
// It is called with the disk locked and must not use it.
func (d *Double) Fail(choose func(Op) Fault) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fault = choose
}

// Watch calls see before each operation; now returns the disk as it is then. nil: no
// longer. It is called with the disk locked and must not use it.
func (d *Double) Watch(see func(op Op, now func() *Double)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.watch = see
}

// FailRead asks choose before each read, numbered from 1: None, Error or
// BitFlip. nil: nothing.
func (d *Double) FailRead(choose func(n int, name string) Fault) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rfault = choose
}

// Ops returns how many operations were begun.
func (d *Double) Ops() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ops
}

// Reads returns how many reads were begun.
func (d *Double) Reads() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.reads
}

// Flip changes bits of a byte on disk, durably: the medium has decayed.
func (d *Double) Flip(name string, off int64, mask byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.find(name)
	if n == nil || n.dir || off < 0 || off >= int64(len(n.data)) {
		return fmt.Errorf("flip %s at %d: %w", name, off, ErrNotExist)
	}
	n.data[off] ^= mask
	if off < int64(len(n.disk)) {
		n.disk[off] ^= mask
	}
	return nil
}

func (d *Double) begin(op Op) (Op, Fault, error) {
	if d.dead {
		return op, None, ErrCrashed
	}
	d.ops++
	op.N = d.ops
	if d.watch != nil {
		d.watch(op, d.cloned)
	}
	fault := None
	if d.fault != nil {
		fault = d.fault(op)
	}
	if d.full && fault == None && (op.Kind == OpWrite || op.Kind == OpCreate) {
		fault = DiskFull
	}
	switch {
	case fault == ReadOnly,
		fault == Error && op.Kind != OpWrite && op.Kind != OpSync && op.Kind != OpSyncDir && op.Kind != OpTruncate,
		fault == DiskFull && op.Kind == OpCreate:
		return op, fault, d.end(op, fault)
	case fault == Unflushed && op.Kind != OpSync && op.Kind != OpSyncDir:
		fault = None
	}
	return op, fault, nil
}

func (d *Double) end(op Op, fault Fault) error {
	failed := func(err error) error {
		return &fs.PathError{Op: op.Kind.String(), Path: op.Path, Err: err}
	}
	switch fault {
	case None, Unflushed:
		return nil
	case Crash:
		d.dead = true
		return ErrCrashed
	case DiskFull:
		d.full = true
		return failed(ErrNoSpace)
	case ReadOnly:
		return failed(ErrReadOnly)
	default:
		return failed(ErrInjected)
	}
}

func (d *Double) beginRead(name string) (Fault, error) {
	if d.dead {
		return None, ErrCrashed
	}
	d.reads++
	if d.rfault == nil {
		return None, nil
	}
	fault := d.rfault(d.reads, name)
	if fault == Error {
		return fault, &fs.PathError{Op: "read", Path: name, Err: ErrInjected}
	}
	return fault, nil
}
