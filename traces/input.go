package traces

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/quorate/quorate/traces/event"
	"github.com/quorate/quorate/traces/event/ndjson"
)

// Source gives the events of one node in order, io.EOF at the end. What an event
// points to is not changed later. [event.Reader] is one.
type Source interface {
	Read(e *event.Event) error
	// Line is where the event last read stands, from 1.
	Line() int64
}

// Input is the trace of one node.
type Input struct {
	// Name is for reports: a file.
	Name string
	// Open starts reading from the beginning; it may be called several times. A
	// Source that is an io.Closer is closed.
	Open func() (Source, error)
}

// File is an input from a file.
func File(path string) Input {
	return Input{Name: path, Open: func() (Source, error) {
		r, err := event.Open(path)
		if err != nil {
			return nil, err
		}
		return r, nil
	}}
}

// Events is an input from memory.
func Events(name string, events []event.Event) Input {
	return Input{Name: name, Open: func() (Source, error) { return &memory{Events: events}, nil }}
}

type memory = Memory[event.Event]

// Memory gives events that are in memory, as files give theirs.
type Memory[E any] struct {
	Events []E
	at     int
}

// Read implements [Source].
func (m *Memory[E]) Read(e *E) error {
	if m.at == len(m.Events) {
		return io.EOF
	}
	*e = m.Events[m.at]
	m.at++
	return nil
}

// Line implements [Source].
func (m *Memory[E]) Line() int64 { return int64(m.at) }

// MalformedError is a trace that is no trace: what stands where, and why it
// cannot be.
type MalformedError struct {
	Name string
	Line int64 // 0: the whole
	Err  error
}

func (e *MalformedError) Error() string {
	var f *ndjson.FileError
	if errors.As(e.Err, &f) {
		return e.Err.Error() // says where
	}
	if e.Line == 0 {
		return fmt.Sprintf("%s: %v", e.Name, e.Err)
	}
	return fmt.Sprintf("%s:%d: %v", e.Name, e.Line, e.Err)
}

// Unwrap returns the fault.
func (e *MalformedError) Unwrap() error { return e.Err }

// Recording is a run on disk: the files of its nodes.
type Recording struct {
	Name   string
	Inputs []Input
	Run    *Run // nil: there was no run.json
}

func isTraceFile(name string) bool {
	plain := strings.TrimSuffix(name, ".zst")
	return strings.HasPrefix(name, "node-") && (strings.HasSuffix(plain, ".ndjson") || strings.HasSuffix(plain, event.BinaryExt))
}

// runOf reads the run.json of a directory, nil if there is none.
func runOf(dir string) (*Run, error) {
	run, err := ReadRun(filepath.Join(dir, RunFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return run, err
}

// Files is the run of single files. If all of them are in one directory, its
// run.json says who took part.
func Files(paths ...string) (Recording, error) {
	rec := Recording{Name: strings.Join(paths, " ")}
	one := true
	for _, p := range paths {
		rec.Inputs = append(rec.Inputs, File(p))
		one = one && filepath.Dir(p) == filepath.Dir(paths[0])
	}
	if !one || len(paths) == 0 {
		return rec, nil
	}
	var err error
	rec.Run, err = runOf(filepath.Dir(paths[0]))
	return rec, err
}

// Recordings finds the runs at a path: a file, a directory with files named
// node-*.ndjson or node-*.events, or these with .zst, or a directory of such directories.
func Recordings(path string) ([]Recording, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		rec, err := Files(path)
		return []Recording{rec}, err
	}
	byDir := map[string]*Recording{}
	err = filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		dir := filepath.Dir(p)
		switch {
		case !isTraceFile(d.Name()):
			return nil
		case d.IsDir():
			return fmt.Errorf("%s: a directory, with the name of a trace", p)
		}
		rec := byDir[dir]
		if rec == nil {
			rec = &Recording{Name: dir}
			byDir[dir] = rec
			if rec.Run, err = runOf(dir); err != nil {
				return err
			}
		}
		rec.Inputs = append(rec.Inputs, File(p))
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(byDir) == 0 {
		return nil, fmt.Errorf("%s: no file named node-*.ndjson or node-*.events, or these with .zst", path)
	}
	var list []Recording
	for _, r := range byDir {
		list = append(list, *r)
	}
	slices.SortFunc(list, func(a, b Recording) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}
