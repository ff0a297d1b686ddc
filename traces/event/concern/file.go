package concern

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/quorate/quorate/traces/event/ndjson"
)

// FileName is what the file of a node is called, beside its trace.
func FileName(node int32) string { return fmt.Sprintf("concerns-%d.ndjson", node) }

// IsFileName says whether it is one, compressed or not, and of which node.
func IsFileName(name string) (node int32, ok bool) {
	text, ok := strings.CutPrefix(strings.TrimSuffix(filepath.Base(name), ".zst"), "concerns-")
	if !ok {
		return 0, false
	}
	if text, ok = strings.CutSuffix(text, ".ndjson"); !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 32)
	return int32(n), err == nil && n >= 0
}

// Writer appends the events of one process to the file of its node. What Write has returned
// from survives the process. It is not safe for concurrent use; after an error it writes no
// more.
type Writer struct {
	f       *os.File
	node    int32
	process int32
	seq     int64
	err     error
}

// Append opens the file of a node for one more process, and makes it if it is not there.
func Append(name string, node int32) (*Writer, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	w := &Writer{f: f, node: node}
	if err := w.resume(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), f.Close())
	}
	return w, nil
}

// resume finds the last process in the file, and ends a torn line, which may be the first of
// a later one.
func (w *Writer) resume() error {
	content, err := io.ReadAll(w.f)
	if err != nil {
		return err
	}
	lines := bytes.Split(content, []byte{'\n'})
	rest := lines[len(lines)-1]
	torn := int32(0)
	if len(rest) > 0 {
		torn = 1
		if _, err := w.f.Write([]byte{'\n'}); err != nil {
			return err
		}
	}
	for i := len(lines) - 2; i >= 0; i-- {
		var last Event
		switch err := Decode(lines[i], &last); {
		case errors.Is(err, ErrTorn):
			torn++
			continue
		case err != nil:
			return fmt.Errorf("line %d: not a trace that can be continued: %w", i+1, err)
		case last.Node != w.node:
			return fmt.Errorf("line %d: of node %d, not of node %d", i+1, last.Node, w.node)
		}
		w.process = last.Process
		break
	}
	w.process += torn + 1
	return nil
}

// Write completes an event with node, process and number, and appends it.
func (w *Writer) Write(e *Event) error {
	if w.err != nil {
		return w.err
	}
	w.seq++
	e.V, e.Node, e.Process, e.Seq = Version, w.node, w.process, w.seq
	if _, w.err = w.f.Write(append(AppendJSON(nil, e), '\n')); w.err != nil {
		w.err = fmt.Errorf("%s: %w", w.f.Name(), w.err)
	}
	return w.err
}

// Close closes the file.
func (w *Writer) Close() error {
	if w.err == nil {
		w.err = os.ErrClosed
	}
	return w.f.Close()
}

// Reader reads the file of one node. Every event must be the next: of the same node, of no
// earlier process, Seq from 1 without gaps in a process. A torn line is a process that was
// killed, if a later one or the end of the file follows: it is skipped. Errors name file,
// line and byte.
type Reader struct {
	lines   *ndjson.Lines
	node    int32
	process int32
	seq     int64
	inc     int32
	after   int64
	torn    error // a torn line that must prove to be a crash
	err     error
}

// Open reads a file.
func Open(name string) (*Reader, error) {
	lines, err := ndjson.Open(name)
	if err != nil {
		return nil, err
	}
	return &Reader{lines: lines, node: -1}, nil
}

// NewReader reads from r; the name is for errors.
func NewReader(r io.Reader, name string) (*Reader, error) {
	lines, err := ndjson.NewLines(r, name)
	if err != nil {
		return nil, err
	}
	return &Reader{lines: lines, node: -1}, nil
}

// Read reads the next event; io.EOF at the end. An error is final.
func (r *Reader) Read(e *Event) error {
	if r.err == nil {
		r.err = r.read(e)
	}
	return r.err
}

func (r *Reader) read(e *Event) error {
	for {
		line, err := r.lines.Next()
		if err != nil {
			return err
		}
		err = Decode(line, e)
		switch {
		case len(line) == 0:
			return r.lines.Wrap(errors.New("an empty line"))
		case errors.Is(err, ErrTorn):
			if r.torn == nil {
				r.torn = r.lines.Wrap(err)
			}
			continue
		case err != nil:
			return r.lines.Wrap(err)
		}
		if err := r.admit(e); err != nil {
			return r.lines.Wrap(err)
		}
		return nil
	}
}

// admit refuses an event that is not the next.
func (r *Reader) admit(e *Event) error {
	if r.node < 0 {
		r.node = e.Node
	}
	switch {
	case e.Node != r.node:
		return fmt.Errorf("an event of node %d among those of node %d", e.Node, r.node)
	case e.Process < r.process:
		return fmt.Errorf("process %d after process %d", e.Process, r.process)
	case e.Process > r.process+1 && r.torn == nil && r.process > 0:
		return fmt.Errorf("process %d after process %d, and no torn line between them", e.Process, r.process)
	case e.Process == r.process && r.torn != nil:
		return fmt.Errorf("%w; and process %d goes on behind it, so it was no crash", r.torn, e.Process)
	case e.Process > r.process:
		r.process, r.seq, r.inc, r.after = e.Process, 0, 0, 0
	}
	if e.Seq != r.seq+1 {
		return fmt.Errorf("event %d of process %d after event %d", e.Seq, e.Process, r.seq)
	}
	if e.Inc < r.inc || e.Inc == r.inc && e.After < r.after {
		return fmt.Errorf("after event %d of incarnation %d, which is before event %d of incarnation %d", e.After, e.Inc, r.after, r.inc)
	}
	r.seq, r.inc, r.after, r.torn = e.Seq, e.Inc, e.After, nil
	return nil
}

// Line is the number of the line last read, from 1.
func (r *Reader) Line() int64 { return r.lines.Line() }

// Close closes what Open opened.
func (r *Reader) Close() error { return r.lines.Close() }
