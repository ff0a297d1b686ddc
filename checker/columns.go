package checker

import (
	"bytes"
	"io"
	"text/tabwriter"
)

// NewColumns returns a writer of text whose columns are separated by tabs. No line
// ends in blanks. It writes when it is flushed.
func NewColumns(w io.Writer) *tabwriter.Writer {
	return tabwriter.NewWriter(&trimmer{w: w}, 0, 0, 2, ' ', 0)
}

// trimmer leaves out blanks before the end of a line.
type trimmer struct {
	w      io.Writer
	blanks int // that may yet turn out not to be at an end
}

// Write implements io.Writer.
func (t *trimmer) Write(b []byte) (int, error) {
	var out bytes.Buffer
	for _, c := range b {
		if c == ' ' {
			t.blanks++
			continue
		}
		if c != '\n' {
			for range t.blanks {
				out.WriteByte(' ')
			}
		}
		t.blanks = 0
		out.WriteByte(c)
	}
	if _, err := t.w.Write(out.Bytes()); err != nil {
		return 0, err
	}
	return len(b), nil
}
