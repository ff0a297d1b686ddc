package history

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/quorate/quorate/checker/linear"
	"github.com/quorate/quorate/traces/event/ndjson"
)

// Open reads the history file at path, decompressed if its name ends in .zst.
// Errors in it are [*ndjson.FileError], with file, line and byte.
func Open(path string) (*History, error) {
	lines, err := ndjson.Open(path)
	return closing(lines, err, read)
}

// Read reads a history from r; the name is for errors, and says by .zst at its
// end that r is compressed.
func Read(r io.Reader, name string) (*History, error) {
	lines, err := ndjson.NewLines(r, name)
	return closing(lines, err, read)
}

// closing reads lines that were opened, and closes them.
func closing[H any](lines *ndjson.Lines, err error, read func(*ndjson.Lines) (*H, error)) (*H, error) {
	if err != nil {
		return nil, err
	}
	defer lines.Close()
	return read(lines)
}

func read(lines *ndjson.Lines) (*History, error) {
	h := &History{}
	appended := make(map[string]int64) // value → line
	var s ndjson.Scanner
	var l line
	for {
		text, err := lines.Next()
		if err == io.EOF && lines.Line() == 0 {
			return nil, errors.New("an empty file, want the header of a history")
		} else if err == io.EOF {
			return h, nil
		} else if err != nil {
			return nil, err
		}
		if err := l.decode(&s, text); err != nil {
			return nil, lines.Wrap(err)
		}
		switch first := lines.Line() == 1; {
		case first && l.kind != "history":
			return nil, lines.Wrap(fmt.Errorf("want the header of a history, found a line of type %s", l.kind))
		case !first && l.kind == "history":
			return nil, lines.Wrap(errors.New("a second header"))
		case first:
			h.Header = l.header
		case l.kind == "mark":
			h.Marks = append(h.Marks, l.mark)
		default:
			if l.kind == "append" {
				if at, ok := appended[l.op.Value]; ok {
					return nil, lines.Wrap(fmt.Errorf("line %d appends the value %q too", at, l.op.Value))
				}
				appended[l.op.Value] = lines.Line()
			}
			h.Ops = append(h.Ops, l.op)
		}
	}
}

// Writer writes a history. It is not safe for concurrent use; after an error it
// writes no more.
type Writer struct {
	buf   *bufio.Writer
	close []io.Closer
	line  []byte
	err   error
}

// Create makes the history file at path, compressed if its name ends in .zst.
func Create(path string, h Header) (*Writer, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	var out io.Writer = f
	files := []io.Closer{f}
	if strings.HasSuffix(path, ".zst") {
		z, err := zstd.NewWriter(f)
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		out, files = z, []io.Closer{z, f}
	}
	w := NewWriter(out, h)
	w.close = files
	return w, nil
}

// NewWriter writes a history to w, and its header at once.
func NewWriter(w io.Writer, h Header) *Writer {
	x := &Writer{buf: bufio.NewWriterSize(w, 1<<16)}
	x.write(appendHeader(nil, &h))
	return x
}

// Op adds an operation, whose outcome is known to be one of the three.
func (w *Writer) Op(op *Op) error {
	switch {
	case op.Return < op.Call || op.Call < 0 || op.Client < 0 || op.Offset < 0:
		w.fail(fmt.Errorf("a history cannot hold %+v", *op))
	case op.Kind == linear.Append && op.Value == "":
		w.fail(errors.New("an append of the empty value, which stands for none"))
	}
	w.line = appendOp(w.line[:0], op)
	return w.write(w.line)
}

// Mark adds a mark.
func (w *Writer) Mark(m *Mark) error {
	if m.From < 0 || m.To < m.From {
		w.fail(fmt.Errorf("a history cannot hold %+v", *m))
	}
	w.line = appendMark(w.line[:0], m)
	return w.write(w.line)
}

func (w *Writer) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

func (w *Writer) write(line []byte) error {
	if w.err == nil {
		_, err := w.buf.Write(append(line, '\n'))
		w.fail(err)
	}
	return w.err
}

// Close writes what is left, and closes the file if Create made it.
func (w *Writer) Close() error {
	if w.err == nil {
		w.fail(w.buf.Flush())
	}
	for _, c := range w.close {
		if err := c.Close(); err != nil {
			w.fail(err)
		}
	}
	err := w.err
	w.fail(os.ErrClosed)
	return err
}

// Write writes a whole history.
func (h *History) Write(w *Writer) error {
	for i := range h.Ops {
		w.Op(&h.Ops[i])
	}
	for i := range h.Marks {
		w.Mark(&h.Marks[i])
	}
	return w.err
}
