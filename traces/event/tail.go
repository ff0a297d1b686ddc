package event

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/quorate/quorate/traces/event/mapped"
)

// Last finds the last event of a file; false if there is none, or if the file ends in a
// torn line, after which nothing of that incarnation may follow.
func Last(path string) (last Event, found bool, err error) {
	if binary, err := isBinary(path); err != nil {
		return last, false, err
	} else if binary {
		end, _, begun, err := lastBinary(path, &last)
		if err != nil {
			err = fmt.Errorf("%s: %w", path, err)
		}
		return last, begun && end > mapped.Head, err
	}
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return last, false, nil
	} else if err != nil {
		return last, false, err
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return last, false, err
	}
	for want := int64(1 << 16); ; want *= 4 {
		tail := make([]byte, min(want, size))
		if _, err := f.ReadAt(tail, size-int64(len(tail))); err != nil {
			return last, false, fmt.Errorf("%s: %w", path, err)
		}
		line, ended := bytes.CutSuffix(tail, []byte{'\n'})
		if !ended {
			return last, false, nil
		}
		if i := bytes.LastIndexByte(line, '\n'); i >= 0 || want >= size {
			return last, Decode(line[i+1:], &last) == nil, nil
		}
	}
}

// Amend adds an event to the incarnation that a file ends with: what its process has done
// and was killed before it could tell.
func Amend(path string, e *Event) error {
	binary, err := isBinary(path)
	if err != nil {
		return err
	}
	if binary {
		var last Event
		f, _, err := openBinary(path, e.Node, &last)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		return errors.Join(f.append(e), f.close())
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(append(AppendJSON(nil, e), '\n'))
	return errors.Join(err, f.Close())
}
