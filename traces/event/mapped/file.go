package mapped

import (
	"encoding/binary"
	"fmt"
	"os"
	"runtime/debug"
)

const (
	// Head is how many bytes at the start of a file stay mapped: those of its numbers.
	Head = 4096
	// window is how much of a file is mapped at least.
	window = 1 << 18
)

// File is a file of which the head and a window that moves forward are mapped. It is not
// safe for concurrent use.
//
//	f.Store(record, end, 8, newEnd)
//
// stores first what is to be there, and then that it is: a process that is killed in
// between has stored some of the record's bytes, or all, and the old end.
type File struct {
	f    *os.File
	size int64
	head []byte // nil: nothing is mapped, all is written
	win  []byte // mapped at position at, nil before the first Store
	at   int64
}

// Open maps the head of a file, which becomes as long as that at least. flag and perm are
// those of [os.OpenFile]; the file is opened for reading and writing.
func Open(path string, flag int, perm os.FileMode) (*File, error) {
	f, err := os.OpenFile(path, flag|os.O_RDWR, perm)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Size() < Head {
		err = f.Truncate(Head)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	m := &File{f: f, size: max(Head, info.Size())}
	if m.head, err = mapFile(f, 0, Head); err != nil {
		m.head = nil
	}
	return m, nil
}

// ReadAt reads from the file, as [os.File.ReadAt].
func (m *File) ReadAt(b []byte, pos int64) (int, error) { return m.f.ReadAt(b, pos) }

// Size is how long the file is, of which the end may never have been stored.
func (m *File) Size() int64 { return m.size }

// Store puts bytes at a position, and then a number at a position of the head, a multiple
// of 8: in little-endian order, as a whole, and after the bytes. The error is that of a
// file which cannot grow, or which somebody else has made shorter.
func (m *File) Store(b []byte, pos int64, head int, v uint64) error {
	if err := m.reach(pos, len(b)); err != nil {
		return err
	}
	if m.head == nil {
		return m.write(b, pos, head, v)
	}
	return m.guarded(b, pos, head, v)
}

// Replace is Store of what takes the place of other bytes there: the number is 0 from
// before the first byte is stored until after the last is.
func (m *File) Replace(b []byte, pos int64, head int, v uint64) error {
	if err := m.Store(nil, pos, head, 0); err != nil {
		return err
	}
	return m.Store(b, pos, head, v)
}

// write is Store where nothing is mapped.
func (m *File) write(b []byte, pos int64, head int, v uint64) error {
	if _, err := m.f.WriteAt(b, pos); err != nil {
		return err
	}
	var number [8]byte
	binary.LittleEndian.PutUint64(number[:], v)
	_, err := m.f.WriteAt(number[:], int64(head))
	return err
}

// guarded is Store of bytes that are mapped. A page that the file system cannot give, as
// the disk is full or the file was cut, is an error and not the end of the process.
func (m *File) guarded(b []byte, pos int64, head int, v uint64) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = &os.PathError{Op: "store", Path: m.f.Name(), Err: fmt.Errorf("the file is shorter than it was, or its disk is full: %v", p)}
		}
	}()
	copy(m.win[pos-m.at:], b)
	var number [8]byte
	binary.LittleEndian.PutUint64(number[:], v)
	put(m.head[head:head+8:head+8], binary.NativeEndian.Uint64(number[:]))
	return nil
}

// put is one store, which the compiler moves before no other. No other processor looks,
// and a process ends after the stores that it has made, in their order: so there is no
// need for an atomic one, which waits.
//
//go:noinline
func put(at []byte, v uint64) { binary.NativeEndian.PutUint64(at, v) }

// reach has the window hold so many bytes at a position.
func (m *File) reach(pos int64, n int) error {
	if m.head == nil || pos >= m.at && pos+int64(n) <= m.at+int64(len(m.win)) {
		return nil
	}
	if err := m.unmap(&m.win); err != nil {
		return err
	}
	page := int64(os.Getpagesize())
	m.at = pos &^ (page - 1)
	size := (max(window, pos-m.at+int64(n)) + page - 1) &^ (page - 1)
	if m.at+size > m.size {
		// Not by Truncate: pages are got here by the dozen, which is four times as fast as
		// one by one when they are touched, and where there are none there is an error.
		if _, err := m.f.WriteAt(make([]byte, m.at+size-m.size), m.size); err != nil {
			return err
		}
		m.size = m.at + size
	}
	win, err := mapFile(m.f, m.at, int(size))
	if err != nil {
		return &os.PathError{Op: "mmap", Path: m.f.Name(), Err: err}
	}
	m.win = win
	return nil
}

func (m *File) unmap(b *[]byte) error {
	old := *b
	*b = nil
	if old == nil {
		return nil
	}
	if err := unmapFile(old); err != nil {
		return &os.PathError{Op: "munmap", Path: m.f.Name(), Err: err}
	}
	return nil
}

// Close cuts the file to what was stored, size bytes, and closes it.
func (m *File) Close(size int64) error {
	err := m.unmap(&m.win)
	if headErr := m.unmap(&m.head); err == nil {
		err = headErr
	}
	if err == nil {
		err = m.f.Truncate(size)
	}
	if closeErr := m.f.Close(); err == nil {
		err = closeErr
	}
	return err
}
