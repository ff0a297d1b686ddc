package event

import (
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/quorate/quorate/traces/event/ndjson"
)

// Reader reads the file of one node, of lines or in the binary form, in constant memory. A
// file whose name ends in .zst is decompressed.
//
// Every event must be the next: same node, no earlier incarnation, Seq from 1
// without gaps in an incarnation, Step not going back. A line that ends too soon
// is a crash if it is the last of its incarnation: it is counted and skipped.
// Errors are [*ndjson.FileError], with file, line and byte.
type Reader struct {
	lines *ndjson.Lines
	bin   *binaryReader // nil: lines
	dec   decoder
	seq   sequence
	torn  int
	tear  error // the fault of a torn line that must prove to be a crash
	err   error
}

// Open reads the trace file at path.
func Open(path string) (*Reader, error) {
	lines, err := ndjson.Open(path)
	if err != nil {
		return nil, err
	}
	return newReader(lines, path), nil
}

func newReader(lines *ndjson.Lines, name string) *Reader {
	r := &Reader{lines: lines}
	if head, err := lines.Peek(len(binaryMagic)); err == nil && begunBinary(head) {
		r.bin = &binaryReader{in: lines, name: name}
	} else if err == nil && damagedMagic(head, name) {
		r.err = &ndjson.FileError{Name: name, Line: 1, Err: fmt.Errorf("the head is damaged: a trace in the binary form begins with %q, and this file with %q", binaryMagic, head)}
	}
	return r // what is wrong with a shorter file shows when it is read
}

// NewReader reads a trace from r; the name is for errors, and says by .zst at
// its end that r is compressed.
func NewReader(r io.Reader, name string) (*Reader, error) {
	lines, err := ndjson.NewLines(r, name)
	if err != nil {
		return nil, err
	}
	return newReader(lines, name), nil
}

// Read reads the next event into e and replaces all of it; see [Decode] for what
// may be kept. It returns io.EOF at the end of the file. An error is final.
func (r *Reader) Read(e *Event) error {
	if r.err == nil {
		r.err = r.read(e)
	}
	return r.err
}

func (r *Reader) read(e *Event) error {
	if r.bin != nil {
		if err := r.bin.read(e); err != nil {
			return err
		}
		if err := r.seq.admit(e); err != nil {
			return r.bin.fault("%w", err)
		}
		return nil
	}
	for {
		line, err := r.lines.Next()
		if err != nil {
			return err // of the file, or io.EOF: a tear in the last line is a crash
		}
		err = r.dec.decode(line, e)
		switch {
		case err != nil && isTorn(err) && len(line) > 0:
			if err := r.seq.tear(tornInc(err, e)); err != nil {
				return r.lines.Wrap(err)
			}
			r.torn++
			if r.tear == nil {
				r.tear = r.lines.Wrap(err)
			}
			continue
		case err != nil && len(line) == 0:
			return r.lines.Wrap(errors.New("an empty line"))
		case err != nil && line[0] != '{':
			return r.lines.Wrap(fmt.Errorf("not a line of a trace: %w", err))
		case err != nil:
			return r.lines.Wrap(err)
		}
		if err := r.seq.admit(e); err != nil {
			if r.tear != nil && e.Inc == r.seq.inc {
				return fmt.Errorf("%w; and line %d goes on with incarnation %d, so it was no crash", r.tear, r.lines.Line(), e.Inc)
			}
			return r.lines.Wrap(err)
		}
		r.tear = nil
		return nil
	}
}

// All gives every event that is left. The event is only valid within the loop,
// its parts for ever. After an error it ends.
func (r *Reader) All() iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) {
		var e Event
		for {
			switch err := r.Read(&e); {
			case err == io.EOF:
				return
			case err != nil:
				yield(nil, err)
				return
			}
			if !yield(&e, nil) {
				return
			}
		}
	}
}

// Line is the number of the line of the event last read, from 1; in the binary form that
// of the event.
func (r *Reader) Line() int64 {
	if r.bin != nil {
		return r.bin.n
	}
	return r.lines.Line()
}

// Offset is the position of that line or event in the file, in bytes, after
// decompression.
func (r *Reader) Offset() int64 {
	if r.bin != nil {
		return r.bin.start
	}
	return r.lines.Offset()
}

// Torn is the number of torn lines so far, each the end of an incarnation.
func (r *Reader) Torn() int { return r.torn }

// Close closes what Open opened.
func (r *Reader) Close() error { return r.lines.Close() }

// tornInc is the incarnation of a torn line, 0 if the line does not get so far.
func tornInc(err error, e *Event) int32 {
	var at *ndjson.Error
	if errors.As(err, &at) && at.Field == "inc" {
		return 0 // a part of the number
	}
	return e.Inc
}

func isTorn(err error) bool {
	var e *ndjson.Error
	return errors.As(err, &e) && e.Torn
}
