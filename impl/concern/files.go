package concern

import (
	"path"
	"strings"
	"sync"

	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/metadata"
	"github.com/quorate/quorate/impl/metaprops"
	"github.com/quorate/quorate/traces/event/concern"
)

// FS is a file system of which the steps on meta.properties of log directories, that of the
// metadata log first, and on the zero checkpoint below the first, are recorded. formats says
// that they are those of format.
func (r *Recorder) FS(fsys fs.FS, dirs []string, formats bool) fs.FS {
	if r == nil {
		return fsys
	}
	f := &files{FS: fsys, r: r, formats: formats}
	for _, dir := range dirs {
		f.dirs = append(f.dirs, path.Clean(dir))
	}
	return f
}

// files records what is done to files.
type files struct {
	fs.FS
	r       *Recorder
	dirs    []string
	formats bool

	mu sync.Mutex
	// zero: format is at work on the metadata directory of a controller, which it begins with
	// the zero checkpoint. Guarded by mu.
	zero bool
	// flushed are files whose bytes are flushed, named the directories in which a file got
	// its name. Guarded by mu.
	flushed map[string]bool
	named   map[int]bool
}

// of finds the log directory of a file: its meta.properties, or a file that becomes it.
func (f *files) of(name string) (dir int, meta, temp bool) {
	for i, d := range f.dirs {
		if path.Clean(path.Dir(name)) == d {
			base := path.Base(name)
			return i, base == metaprops.FileName, base == metaprops.FileName+".tmp"
		}
	}
	return 0, false, false
}

// partition is the directory of the metadata log.
func (f *files) partition() string { return path.Join(f.dirs[0], metadata.LogDir) }

// part says whether a file becomes the zero checkpoint.
func (f *files) part(name string) bool {
	return f.formats && path.Clean(path.Dir(name)) == f.partition() && strings.HasSuffix(name, ".part")
}

func (f *files) bootstrap(action string) {
	f.r.Record(concern.Event{Concern: concern.Bootstrap, Action: action})
}

// Create implements [fs.FS].
func (f *files) Create(name string) (fs.File, error) {
	file, err := f.FS.Create(name)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.flushed, name)
	_, meta, temp := f.of(name)
	if f.part(name) && !f.zero {
		f.zero = true
		f.bootstrap("BeginFormat")
	}
	if !f.part(name) && !meta && !temp {
		return file, nil
	}
	return &watched{File: file, f: f, name: name}, nil
}

// watched is a file of which writes and flushes are recorded.
type watched struct {
	fs.File
	f       *files
	name    string
	written bool
}

// WriteAt implements [fs.File].
func (w *watched) WriteAt(b []byte, at int64) (int, error) {
	n, err := w.File.WriteAt(b, at)
	if err != nil {
		return n, err
	}
	w.f.mu.Lock()
	defer w.f.mu.Unlock()
	delete(w.f.flushed, w.name)
	dir, meta, _ := w.f.of(w.name)
	switch {
	case w.written:
	case w.f.part(w.name):
		w.f.bootstrap("WriteZeroPart")
	case meta: // in place, so that a crash leaves neither the old one nor the new
		w.f.name(dir, true)
	case w.f.zero && dir == 0:
		w.f.bootstrap("WriteMetaTemp")
	}
	w.written = true
	return n, nil
}

// Sync implements [fs.File].
func (w *watched) Sync() error {
	if err := w.File.Sync(); err != nil {
		return err
	}
	w.f.mu.Lock()
	defer w.f.mu.Unlock()
	if w.f.flushed == nil {
		w.f.flushed = map[string]bool{}
	}
	w.f.flushed[w.name] = true
	switch dir, meta, _ := w.f.of(w.name); {
	case w.f.part(w.name):
		w.f.bootstrap("FlushZeroPart")
	case w.f.zero && dir == 0 && !meta:
		w.f.bootstrap("FlushMetaTemp")
	}
	return nil
}

// Rename implements [fs.FS].
func (f *files) Rename(from, to string) error {
	if err := f.FS.Rename(from, to); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	dir, meta, _ := f.of(to)
	switch {
	case f.part(from):
		b, _, err := metadata.ReadZero(f.FS, f.dirs[0])
		zero := FileOf(b.Records, err)
		f.r.Record(concern.Event{Concern: concern.Bootstrap, Action: "RenameZero", Zero: &zero})
	case meta:
		f.name(dir, !f.flushed[from])
	}
	return nil
}

// name records that meta.properties of a directory is another one.
func (f *files) name(dir int, unflushed bool) {
	if f.named == nil {
		f.named = map[int]bool{}
	}
	f.named[dir] = true
	d := metaprops.Dir{Path: f.dirs[dir]}
	d.Properties, d.Err = metaprops.Read(f.FS, d.Path)
	d.Formatted = d.Err == nil
	m := MetaOf(d)
	m.Unflushed = unflushed
	e := concern.Event{Concern: concern.ClusterID, Action: "WriteMeta", Dir: dir, Meta: &m}
	switch {
	case f.formats && f.zero && dir == 0:
		e.Concern, e.Action = concern.Bootstrap, "RenameMeta"
	case f.formats:
		e.Action = "Format"
	}
	f.r.Record(e)
}

// SyncDir implements [fs.FS].
func (f *files) SyncDir(dir string) error {
	if err := f.FS.SyncDir(dir); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	clean := path.Clean(dir)
	if f.zero && clean == f.partition() {
		f.bootstrap("FlushZeroDirectory")
	}
	for i, d := range f.dirs {
		switch {
		case d != clean || f.formats && !f.named[i]: // it was only made
		case f.formats && f.zero && i == 0:
			f.bootstrap("FlushMetaDirectory")
		default:
			f.r.Record(concern.Event{Concern: concern.ClusterID, Action: "FlushMeta", Dir: i})
		}
	}
	return nil
}
