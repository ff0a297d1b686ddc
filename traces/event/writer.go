package event

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// Writer writes the events of one node, a line for each or in the binary form. Of lines
// it holds events back until Flush, which hands them to the operating system by one
// write: after it they survive the process, and what the events send may leave the node.
//
//	w.Write(&a)   // the events of one step
//	w.Write(&b)
//	w.Flush()     // then send
//
// In the binary form each survives the process when Write returns, without a system call,
// and Flush has nothing to do.
//
// A Writer is not safe for concurrent use. After an error it writes no more.
type Writer struct {
	w    io.Writer
	bin  *binaryFile // nil: lines
	name string
	buf  []byte
	seq  sequence
	err  error
}

// NewWriter writes the events of a node to w, as lines, from the beginning of a file.
func NewWriter(w io.Writer, node Node) *Writer {
	return &Writer{w: w, name: fmt.Sprintf("trace of node %d", node.ID), seq: sequence{node: node, known: true}}
}

// Create makes a new file for the events of a node, in the form that its name says: binary
// if it ends in [BinaryExt]. It refuses a file that exists.
func Create(path string, node Node) (*Writer, error) {
	if strings.HasSuffix(path, BinaryExt) {
		bin, err := createBinary(path, os.O_EXCL, node)
		if err != nil {
			return nil, err
		}
		w := NewWriter(nil, node)
		w.name, w.bin = path, bin
		return w, nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	w := NewWriter(f, node)
	w.name = path
	return w, nil
}

// OpenAppend opens the file of a node for one more incarnation, and makes it if
// it is not there, in the form that its name says. If the last line was torn by a crash,
// it stays and the next event begins on a line of its own. Only a new incarnation can be
// written, one after [Writer.LastIncarnation].
func OpenAppend(path string, node Node) (*Writer, error) {
	if binary, err := isBinary(path); err != nil {
		return nil, err
	} else if binary {
		return appendBinary(path, node)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	w := NewWriter(f, node)
	w.name = path
	if err := w.resume(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return w, nil
}

func appendBinary(path string, node Node) (*Writer, error) {
	w := NewWriter(nil, node)
	w.name = path
	var last Event
	var found bool
	var err error
	if w.bin, found, err = openBinary(path, node, &last); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if found {
		if last.Detach != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", path, errDetached), w.bin.close())
		}
		// As if a line were torn: nothing of that incarnation may follow.
		w.seq.inc, w.seq.tornInc, w.seq.torn = last.Inc, last.Inc, true
	}
	return w, nil
}

var errDetached = errors.New("recording has ended in it")

// resume finds the last event of a file, and ends a torn line.
func (w *Writer) resume(f *os.File) error {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil || size == 0 {
		return err
	}
	tail := make([]byte, 0, 1<<14)
	for want := int64(1 << 14); ; want *= 2 {
		want = min(want, size)
		tail = append(tail[:0], make([]byte, want)...)
		if _, err := f.ReadAt(tail, size-want); err != nil {
			return err
		}
		whole := want == size
		var last Event
		found, torn, err := lastEvent(tail, whole, &last)
		if err != nil {
			return err
		}
		if found {
			if last.Node != w.seq.node {
				return otherNode(last.Node, w.seq.node)
			}
			if last.Detach != nil {
				return errDetached
			}
			w.seq.inc, w.seq.tornInc, w.seq.torn = last.Inc, last.Inc, len(torn) == 0
		}
		if found || whole {
			for i := len(torn) - 1; i >= 0; i-- {
				if err := w.seq.tear(torn[i]); err != nil {
					return fmt.Errorf("not a trace that can be continued: %w", err)
				}
			}
		}
		if found || whole {
			break
		}
	}
	if tail[len(tail)-1] != '\n' {
		_, err = f.Write([]byte{'\n'})
	}
	return err
}

// lastEvent decodes the last line of tail that is not torn; torn are the incarnations
// of the lines after it, the last first, 0 if unknown. Unless whole, the first line
// of tail may lack its beginning.
func lastEvent(tail []byte, whole bool, e *Event) (found bool, torn []int32, err error) {
	end := len(bytes.TrimSuffix(tail, []byte{'\n'}))
	for end > 0 {
		start := bytes.LastIndexByte(tail[:end], '\n') + 1
		if start == 0 && !whole {
			return false, nil, nil
		}
		err := Decode(tail[start:end], e)
		if err == nil {
			return true, torn, nil
		}
		if !isTorn(err) {
			return false, nil, fmt.Errorf("not a trace that can be continued: %w", err)
		}
		torn = append(torn, tornInc(err, e))
		end = start - 1
	}
	return false, torn, nil
}

// LastIncarnation is the incarnation last written to the file, 0 if none: of an
// event or, at least, of a torn line.
func (w *Writer) LastIncarnation() int32 { return max(w.seq.inc, w.seq.tornInc) }

// Name is the path of the file.
func (w *Writer) Name() string { return w.name }

// Begun says whether the file has an event.
func (w *Writer) Begun() bool { return w.seq.inc > 0 }

// Write adds an event, to be written by the next Flush. It refuses an event that
// is not the next: of another node, of an earlier incarnation, with a gap in
// Seq, with a Step that goes back.
func (w *Writer) Write(e *Event) error {
	if w.err != nil {
		return w.err
	}
	if err := w.seq.admit(e); err != nil {
		w.err = fmt.Errorf("%s: refused: %w", w.name, err)
		return w.err
	}
	if w.bin != nil {
		if err := w.bin.append(e); err != nil {
			w.err = fmt.Errorf("%s: %w", w.name, err)
		}
		return w.err
	}
	w.buf = append(AppendJSON(w.buf, e), '\n')
	return nil
}

// Flush hands what was written to the operating system, by one write.
func (w *Writer) Flush() error {
	if w.err != nil || len(w.buf) == 0 {
		return w.err
	}
	if _, err := w.w.Write(w.buf); err != nil {
		w.err = fmt.Errorf("%s: %w", w.name, err)
		return w.err
	}
	w.buf = w.buf[:0]
	return nil
}

// WriteGroup writes and flushes the events of one step.
func (w *Writer) WriteGroup(events []Event) error {
	for i := range events {
		if err := w.Write(&events[i]); err != nil {
			return err
		}
	}
	return w.Flush()
}

// Close flushes, and closes the file if Create or OpenAppend opened it or the
// io.Writer is an io.Closer.
func (w *Writer) Close() error {
	err := w.Flush()
	if w.bin != nil {
		err = errors.Join(err, w.bin.close())
		w.bin = nil
	}
	if c, ok := w.w.(io.Closer); ok {
		err = errors.Join(err, c.Close())
	}
	if w.err == nil {
		w.err = fmt.Errorf("%s: %w", w.name, os.ErrClosed)
	}
	return err
}
