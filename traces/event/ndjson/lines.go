package ndjson

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// MaxLine is the longest line that a file may have, in bytes.
const MaxLine = 16 << 20

// FileError is a fault in a file: where, and what.
type FileError struct {
	// Name is the name of the file.
	Name string
	// Line is the number of the line, from 1.
	Line int64
	// Offset is the position of the fault in the file, in bytes from 0, after
	// decompression.
	Offset int64
	Err    error
}

// Error gives file:line, the byte offset and the fault.
func (e *FileError) Error() string {
	return fmt.Sprintf("%s:%d: byte %d: %v", e.Name, e.Line, e.Offset, e.Err)
}

// Unwrap returns the fault.
func (e *FileError) Unwrap() error { return e.Err }

// Lines reads a file line by line in constant memory. A file whose name ends in
// .zst is decompressed.
type Lines struct {
	name       string
	in         *bufio.Reader
	close      []func() error
	long       []byte
	line       int64
	start      int64 // of the current line
	next       int64
	ending     bool // the current line ended in a newline
	compressed bool
}

// Open opens a file.
func Open(path string) (*Lines, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	l, err := NewLines(f, path)
	if err != nil {
		f.Close()
		return nil, err
	}
	l.close = append(l.close, f.Close)
	return l, nil
}

// Peek shows the next bytes of a file, of which nothing counts as read. There are fewer
// and an error if the file has fewer.
func (l *Lines) Peek(n int) ([]byte, error) { return l.in.Peek(n) }

// Read reads bytes of a file that proves to have no lines. It and Next exclude each other.
func (l *Lines) Read(b []byte) (int, error) { return l.in.Read(b) }

// NewLines reads from r; the name is for errors, and says by .zst at its end
// that r is compressed.
func NewLines(r io.Reader, name string) (*Lines, error) {
	l := &Lines{name: name}
	if strings.HasSuffix(name, ".zst") {
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		l.close = append(l.close, func() error { z.Close(); return nil })
		r, l.compressed = z, true
	}
	l.in = bufio.NewReaderSize(r, 1<<16)
	return l, nil
}

// Next returns the next line without its newline, valid until the next call;
// io.EOF at the end of the file.
func (l *Lines) Next() ([]byte, error) {
	b, err := l.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		l.long = l.long[:0]
		for errors.Is(err, bufio.ErrBufferFull) && len(l.long) <= MaxLine {
			l.long = append(l.long, b...)
			b, err = l.in.ReadSlice('\n')
		}
		l.long = append(l.long, b...)
		b = l.long
	}
	if len(b) == 0 && err == io.EOF {
		return nil, io.EOF
	}
	l.line++
	l.start = l.next
	l.next += int64(len(b))
	switch {
	case len(b) > MaxLine:
		return nil, l.Wrap(fmt.Errorf("a line of more than %d bytes", MaxLine))
	case err != nil && err != io.EOF && l.compressed:
		l.start = l.next
		return nil, l.Wrap(fmt.Errorf("the compressed stream is damaged after line %d: %w", l.line-1, err))
	case err != nil && err != io.EOF:
		l.start = l.next
		return nil, l.Wrap(err)
	}
	if l.ending = err == nil; l.ending {
		b = b[:len(b)-1]
	}
	return b, nil
}

// Line is the number of the line last returned, from 1.
func (l *Lines) Line() int64 { return l.line }

// Offset is the position of the line last returned, in bytes from 0.
func (l *Lines) Offset() int64 { return l.start }

// Terminated says whether the line last returned ended in a newline.
func (l *Lines) Terminated() bool { return l.ending }

// Wrap adds file, line and byte to a fault of the line last returned.
func (l *Lines) Wrap(err error) error {
	at := l.start
	var e *Error
	if errors.As(err, &e) {
		at += int64(e.Offset)
	}
	return &FileError{Name: l.name, Line: l.line, Offset: at, Err: err}
}

// Close closes what Open opened.
func (l *Lines) Close() error {
	var err error
	for _, f := range l.close {
		err = errors.Join(err, f())
	}
	l.close = nil
	return err
}
