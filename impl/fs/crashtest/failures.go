package crashtest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/quorate/quorate/impl/fs"
)

// faults are the ways in which an operation fails.
var faults = []struct {
	fault fs.Fault
	name  string
	err   error
}{
	{fs.Error, "EIO", fs.ErrInjected}, {fs.TornWrite, "EIO in the middle", fs.ErrInjected},
	{fs.DiskFull, "ENOSPC", fs.ErrNoSpace}, {fs.ReadOnly, "EROFS", fs.ErrReadOnly},
}

// Failures makes each operation and each read fail, of Do and of the start after it, in
// every way: an I/O error, one in the middle of a write, a full disk, a disk that is
// read-only from then on. Whatever fails must be an error that names the operation and
// the file. The next process must find what it may, on the disk as it was left and on
// what the loss of power can make of that. It returns how many failures there were.
func Failures[S any](t *testing.T, cases []Case[S]) (total int) {
	t.Helper()
	disks := 0
	for i := range cases {
		t.Run(cases[i].Name, func(t *testing.T) {
			f := failures[S]{sweep[S]{t: t, c: &cases[i], seen: map[string]bool{}, outcomes: map[string]bool{}}, 0}
			if err := f.run(); err != nil {
				t.Fatal(err)
			}
			total += f.n
			disks += f.Disks
		})
	}
	t.Logf("TOTAL %d cases: %d failures, %d disks", len(cases), total, disks)
	return total
}

type failures[S any] struct {
	sweep[S]
	n int
}

func (f *failures[S]) run() error {
	for _, fault := range faults {
		for k, failed := 1, true; failed; k++ {
			what := fmt.Sprintf("%s at operation %d", fault.name, k)
			d, known, err := f.c.begin(f.t)
			if err != nil {
				return err
			}
			failed, err = f.fail(d, k, fault.fault, func() (err error) {
				known, err = f.c.do(f.t, d, known)
				return err
			}, fault.err)
			if err != nil {
				return fmt.Errorf("%s: %w", what, err)
			}
			if err := f.next(d, known, what); err != nil {
				return err
			}
			// A start that fails, on the disk that the first left.
			for j, failed := 1, k == 1; failed; j++ {
				again := d.Clone()
				what := fmt.Sprintf("%s; %s at operation %d of the start", what, fault.name, j)
				failed, err = f.fail(again, j, fault.fault, func() error {
					_, err := f.c.recover(f.t, again, known)
					return err
				}, fault.err)
				if err != nil {
					return fmt.Errorf("%s: %w", what, err)
				}
				if err := f.next(again, known, what); err != nil {
					return err
				}
			}
		}
	}
	return f.reads()
}

// fail calls do with a disk whose k-th operation fails; failed is false if there are
// fewer.
func (f *failures[S]) fail(d *fs.Double, k int, fault fs.Fault, do func() error, want error) (failed bool, err error) {
	at := d.Ops() + k
	var hit fs.Op
	d.Fail(func(op fs.Op) fs.Fault {
		if op.N == at {
			hit, failed = op, true
		}
		if op.N == at || fault == fs.ReadOnly && op.N > at {
			return fault
		}
		return fs.None
	})
	err = do()
	d.Fail(nil)
	switch {
	case !failed && err != nil:
		return false, fmt.Errorf("without a failure: %w", err)
	case !failed:
		return false, nil
	case err == nil:
		return true, fmt.Errorf("nobody says that %v failed", hit)
	}
	f.n++
	return true, named(err, want, hit.Kind.String(), hit.Path)
}

// named wants an error that says what failed, and of which file.
func named(err, want error, kind, path string) error {
	switch {
	case strings.HasPrefix(err.Error(), "panic:"):
		return err
	// What fails a testing.TB is text only.
	case !errors.Is(err, want) && !strings.Contains(err.Error(), want.Error()):
		return fmt.Errorf("error is not that of %s %s: %w", kind, path, err)
	case !strings.Contains(err.Error(), kind) || !strings.Contains(err.Error(), path):
		return fmt.Errorf("error does not name %s and %s: %w", kind, path, err)
	}
	return nil
}

// next starts a process on a disk that works again, and on what a loss of power leaves
// of it.
func (f *failures[S]) next(d *fs.Double, known S, what string) error {
	h := &how{what: what}
	d.Restart()
	f.crash(d, known, h)
	if err := f.recover(d.Clone(), known, h, 0); err != nil {
		return err
	}
	for len(f.todo) > 0 {
		last := f.todo[len(f.todo)-1]
		f.todo = f.todo[:len(f.todo)-1]
		if _, err := f.c.recover(f.t, last.disk, last.s); err != nil {
			return fmt.Errorf("%s; start: %w", last.how, err)
		}
	}
	return nil
}

// reads makes each read fail, of Do and of the start after it.
func (f *failures[S]) reads() error {
	for k, failed := 1, true; failed; k++ {
		d, known, err := f.c.begin(f.t)
		if err != nil {
			return err
		}
		before := d.Reads()
		file := f.failRead(d, before+k)
		known, err = f.c.do(f.t, d, known)
		if *file == "" { // fewer reads than that: those of the start
			if err != nil {
				return fmt.Errorf("without a failure: %w", err)
			}
			done := d.Reads() - before
			file = f.failRead(d, d.Reads()+k-done)
			_, err = f.c.recover(f.t, d, known)
		}
		d.FailRead(nil)
		if failed = *file != ""; failed {
			f.n++
			if err == nil {
				return fmt.Errorf("nobody says that read %d failed, of %s", k, *file)
			}
			if err := named(err, fs.ErrInjected, "read", *file); err != nil {
				return err
			}
		}
		if err := f.next(d, known, fmt.Sprintf("failed read %d of %s", k, *file)); err != nil {
			return err
		}
	}
	return nil
}

// failRead makes read n fail, and says later of which file it was.
func (f *failures[S]) failRead(d *fs.Double, n int) *string {
	file := new(string)
	d.FailRead(func(at int, name string) fs.Fault {
		if at == n {
			*file = name
			return fs.Error
		}
		return fs.None
	})
	return file
}
