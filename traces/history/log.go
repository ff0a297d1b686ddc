package history

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/quorate/quorate/traces/event/ndjson"
)

// LogFile is the name, without extension, of the file beside a history that holds
// the committed log at the end of the run: a line for each offset from 0, as
// {"value":"1-7"} for a record of a client and {"internal":true} for any other.
const LogFile = "committed"

type logLine struct {
	Value    string `json:"value,omitempty"`
	Internal bool   `json:"internal,omitempty"`
}

// WriteLog writes a committed log, compressed if the name ends in .zst. It does not
// overwrite a file.
func WriteLog(path string, log []Record) (err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriter(f)
	var out io.Writer = w
	if strings.HasSuffix(path, ".zst") {
		z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
		if err != nil {
			return err
		}
		out = z
		defer func() { err = errors.Join(err, z.Close(), w.Flush()) }()
	} else {
		defer func() { err = errors.Join(err, w.Flush()) }()
	}
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	for _, r := range log {
		if err := enc.Encode(logLine(r)); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// ReadLog reads what WriteLog wrote. Errors name file, line and byte. A log without
// records is not nil.
func ReadLog(path string) ([]Record, error) {
	lines, err := ndjson.Open(path)
	if err != nil {
		return nil, err
	}
	defer lines.Close()
	log := []Record{}
	for {
		text, err := lines.Next()
		if err == io.EOF {
			return log, nil
		}
		if err != nil {
			return nil, err
		}
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.DisallowUnknownFields()
		var l logLine
		if err := dec.Decode(&l); err != nil {
			return nil, lines.Wrap(err)
		}
		if dec.More() {
			return nil, lines.Wrap(errors.New("more than one value in a line"))
		}
		if l.Internal == (l.Value != "") {
			return nil, lines.Wrap(errors.New("want either a value or internal"))
		}
		log = append(log, Record(l))
	}
}
