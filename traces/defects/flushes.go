package defects

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Site is a call that makes something durable, or asks for it.
type Site struct {
	File string
	Line int
	// Call is its text.
	Call string
	// start and end are its place in the file.
	start, end int
	// callee and args are its parts as text.
	callee string
	args   []string
}

// Key names a site without its line.
func (s *Site) Key() string { return s.File + ": " + s.Call }

// flushing are the names of functions of impl that make something durable.
var flushing = []string{"Sync", "SyncDir", "WriteFile", "Flush", "flush", "Save", "save", "rewriteTail", "writeStart", "writeDerived"}

// notCode are the packages of impl that only tests and simulations use.
var notCode = []string{"impl/sim"}

// Sites finds the calls that make something durable in impl, by their names.
func Sites(root string) ([]Site, error) {
	var list []Site
	err := filepath.WalkDir(filepath.Join(root, "impl"), func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() && (slices.Contains(notCode, rel) || isModule(name)) {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(rel, ".go") || strings.HasSuffix(rel, "_test.go") {
			return nil
		}
		found, err := sitesOf(name, rel)
		list = append(list, found...)
		return err
	})
	return list, err
}

// isModule: a directory with a module of its own is a program around a node.
func isModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

func sitesOf(name, rel string) ([]Site, error) {
	s := sources{}
	if err := s.read(name, rel); err != nil {
		return nil, err
	}
	text := s[rel]
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, rel, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	of := func(n ast.Node) string { return text[fset.Position(n.Pos()).Offset:fset.Position(n.End()).Offset] }
	var list []Site
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		called := ""
		switch f := call.Fun.(type) {
		case *ast.Ident:
			called = f.Name
		case *ast.SelectorExpr:
			called = f.Sel.Name
		}
		if !slices.Contains(flushing, called) {
			return true
		}
		site := Site{
			File: rel, Line: fset.Position(call.Pos()).Line, Call: of(call),
			start: fset.Position(call.Pos()).Offset, end: fset.Position(call.End()).Offset, callee: of(call.Fun),
		}
		for _, a := range call.Args {
			site.args = append(site.args, of(a))
		}
		list = append(list, site)
		return true
	})
	return list, nil
}

// without is the file without the call: what it is called with is still there, so
// that nothing goes unused.
func (s *Site) without(root string) (sources, error) {
	all := sources{}
	if err := all.read(filepath.Join(root, filepath.FromSlash(s.File)), s.File); err != nil {
		return nil, err
	}
	text := all[s.File]
	if s.end > len(text) || text[s.start:s.end] != s.Call {
		return nil, fmt.Errorf("%s has changed meanwhile", s.File)
	}
	nothing := "func(...any) error { return nil }(" + strings.Join(append([]string{s.callee}, s.args...), ", ") + ")"
	all[s.File] = text[:s.start] + nothing + text[s.end:]
	return all, nil
}

// Flush says what a site is, and which tests are to notice that it is missing.
type Flush struct {
	// Site is the key, see [Site.Key].
	Site string
	// What it makes durable.
	What string
	// Tests of the package to run: a regular expression; empty: none.
	Tests string
	// NoSeeds: no simulated run gets here.
	NoSeeds bool
	// Machine is a test of the judge that notices it.
	Machine string
	// Reason, if it is none that could be missed: why.
	Reason string
}

// Flushes are all sites.
var Flushes = []Flush{
	{Site: "impl/fs/os.go: d.Sync()", What: "a directory, in the kernel", NoSeeds: true, Machine: "TestKernel"},
	{Site: "impl/fs/fs.go: fsys.SyncDir(path.Dir(at))", What: "the name of a directory that a process before made, before anything is made in it", Tests: "TestMkdirAll", NoSeeds: true},
	{Site: "impl/fs/fs.go: fsys.SyncDir(path.Dir(made))", What: "the name of a directory, before anything is made in it", Tests: "TestMkdirAll", NoSeeds: true},
	{Site: "impl/fs/fs.go: fsys.SyncDir(path.Dir(name))", What: "the new name of a file that was replaced", Tests: "TestWriteFile"},
	{Site: "impl/fs/fs.go: f.Sync()", What: "the content of a file that replaces another", Tests: "TestWriteFile"},

	{Site: "impl/log/append.go: l.flush()", What: "a segment, before the next one is begun", Tests: "TestCrashSweep|TestFailureSweep|TestEveryCrash"},
	{Site: "impl/log/derived.go: p.file.Sync()", What: "the recovery point", Tests: "TestFlushCounts|TestDecay|TestCrashSweep|TestEveryCrash"},
	{Site: "impl/log/derived.go: fs.WriteFile(l.fsys, path.Join(l.dir, epochFile), renderEpochs(l.epochs))", What: "the epochs, when a log is opened", Tests: "TestCrashSweep|TestFailureSweep|TestEveryCrash"},
	{Site: "impl/log/derived.go: fs.WriteFile(l.fsys, l.point.name, renderPoint(l.end))", What: "the recovery point, when a log is opened", Tests: "TestCrashSweep|TestFailureSweep|TestEveryCrash"},
	{Site: "impl/log/flush.go: l.flush()", What: "what was appended and truncated (the whole of the next four)", Tests: "TestFlushCounts|TestCrashSweep|TestEveryCrash"},
	{Site: "impl/log/flush.go: seg.file.Sync()", What: "batches, and the cut of a truncation", Tests: "Sweep|TestEveryCrash"},
	{Site: "impl/log/flush.go: l.fsys.SyncDir(l.dir)", What: "the name of a new segment", Tests: "TestCrashSweep|TestDecay|TestEveryCrash"},
	{Site: "impl/log/flush.go: fs.WriteFile(l.fsys, path.Join(l.dir, epochFile), renderEpochs(epochs))", What: "the epochs", Tests: "TestFlushCounts"},
	{Site: "impl/log/flush.go: l.point.save(end, written)", What: "the recovery point, now and then", Tests: "TestFlushCounts"},
	{Site: "impl/log/foreign.go: l.fsys.SyncDir(l.dir)", What: "that nothing tells of Kafka any more, before the log begins anew", Tests: "TestEveryCrash"},
	{Site: "impl/log/log.go: l.flush()", What: "the log, when it is closed", Tests: "TestClose"},
	{Site: "impl/log/log.go: l.point.save(l.end, l.written)", What: "the recovery point, when the log is closed", Tests: "TestClose"},
	{Site: "impl/log/open.go: l.fsys.SyncDir(path.Dir(l.dir))", What: "the name of the directory of the log", Tests: "TestFiles|TestOpenSweep|TestCrashSweep|TestEveryCrash"},
	{Site: "impl/log/open.go: fs.WriteFile(l.fsys, name, []byte(want))", What: "partition.metadata", Tests: "TestFiles"},
	{Site: "impl/log/open.go: l.rewriteTail(seg)", What: "pages that a failed flush left clean and unwritten", Tests: "TestFailureSweep|TestEveryCrash"},
	{Site: "impl/log/open.go: seg.file.Sync()", What: "what recovery keeps of the segments", Tests: "TestOpenSweep|TestCrashSweep|TestEveryCrash"},
	{Site: "impl/log/open.go: l.fsys.SyncDir(l.dir)", What: "the names of the segments that recovery keeps", Tests: "TestOpenSweep|TestEveryCrash"},
	{Site: "impl/log/open.go: l.writeDerived()", What: "epochs and recovery point, when a log is opened", Tests: "TestCrashSweep|TestFailureSweep|TestEveryCrash"},
	{Site: "impl/log/open.go: l.writeStart(l.start)", What: "where a log starts that only Kafka has used", Tests: "TestAdopt"},
	{Site: "impl/log/start.go: l.flush()", What: "the record before the start of the log", Tests: "TestStartSweep|TestEveryCrash"},
	{Site: "impl/log/start.go: fs.WriteFile(l.fsys, path.Join(l.dir, startFile), s.render())", What: "where the log starts (the whole of the next ones)", Tests: "TestStartSweep|TestEveryCrash"},
	{Site: "impl/log/start.go: l.writeStart(next)", What: "where the log starts, before segments below can be deleted", Tests: "TestStartSweep|TestEveryCrash"},
	{Site: "impl/log/start.go: fs.WriteFile(l.fsys, path.Join(l.dir, epochFile), renderEpochs(saved))", What: "the epochs of a log that starts later", Tests: "TestStart$"},
	{Site: "impl/log/start.go: l.writeStart(begin)", What: "that the old segments do not count, before they go", Tests: "TestStartSweep|TestEveryCrash"},
	{Site: "impl/log/start.go: l.fsys.SyncDir(l.dir)", What: "that the old segments do not count, if the process before died in the reset", Tests: "TestEveryCrash"},
	{Site: "impl/log/start.go: l.writeDerived()", What: "that the old segments are gone, with epochs and recovery point", Tests: "TestStartSweep|TestEveryCrash"},
	{Site: "impl/log/start.go: l.writeStart(l.start)", What: "that the new log counts, before it is appended to", Tests: "TestStartSweep|TestEveryCrash"},
	{Site: "impl/log/truncate.go: l.point.save(end, l.written)", What: "the recovery point, before it goes down", Tests: "TestModel"},
	{Site: "impl/log/truncate.go: fs.WriteFile(l.fsys, path.Join(l.dir, epochFile), renderEpochs(kept))", What: "the epochs, before they go away", Tests: "TestCrashSweep|TestEveryCrash"},
	{Site: "impl/log/truncate.go: l.fsys.SyncDir(l.dir)", What: "that a segment is gone, before the one below it", Tests: "TestCrashSweep|TestEveryCrash"},

	{Site: "impl/snapshot/part.go: p.file.Sync()", What: "the content of a snapshot, before it has its name", Tests: "TestSweep|TestEveryCrash"},
	{Site: "impl/snapshot/part.go: p.fsys.SyncDir(p.dir)", What: "the name of a snapshot", Tests: "TestSweep|TestEveryCrash"},
	{Site: "impl/snapshot/dir.go: fsys.SyncDir(dir)", What: "the names of the snapshots that the process before may have renamed just before it died", Tests: "TestSweep|TestEveryCrash"},

	{Site: "impl/quorumstate/store.go: s.fsys.SyncDir(path.Dir(s.name))", What: "the name of a quorum-state file that is acted on", Tests: "TestSweep|TestStore|TestEveryCrash"},
	{Site: "impl/quorumstate/store.go: fs.WriteFile(s.fsys, s.name, b)", What: "epoch, leader and vote", Tests: "TestStore|TestSweep|TestEveryCrash"},

	{Site: "impl/driver/driver.go: d.log.Flush()", What: "the log, as the core asked", Tests: "."},
	{Site: "impl/driver/driver.go: h.Flush(op.Flush, op.End)", What: "that the core's wish to flush gets through", Tests: "."},
	{Site: "impl/driver/driver.go: d.store.Save(toStored(e))", What: "that the core's election is stored", Tests: "."},

	{Site: "impl/node/dir.go: fsys.SyncDir(path.Dir(dir))", What: "the name of the directory of a node", NoSeeds: true, Machine: "TestNodePowerLoss"},
	{Site: "impl/node/dir.go: (fs.OS{}).SyncDir(path.Dir(dir))", What: "the name of the directory of a node, in the kernel", NoSeeds: true, Machine: "TestNodeDirectory"},
	{Site: "impl/node/dir.go: fs.WriteFile(fsys, name, []byte(strconv.FormatInt(next, 10)+\"\\n\"))", What: "the number of the incarnation", NoSeeds: true, Machine: "TestNodePowerLoss"},
	{Site: "impl/node/node.go: n.driver.Flush()", What: "the log, by the goroutine that flushes", NoSeeds: true, Machine: "TestNodePowerLoss"},

	{Site: "impl/metaprops/metaprops.go: fs.WriteFile(fsys, path.Join(dir, FileName), content)", What: "meta.properties", Tests: "TestSweep|TestEveryCrash", NoSeeds: true},

	{Site: "impl/metaprops/adopt.go: fsys.SyncDir(d.Path)", What: "the name of a meta.properties that a process before may have renamed just before it died", Tests: "OfAdoption", NoSeeds: true},
	{Site: "impl/format/run.go: fsys.SyncDir(dir)", What: "the same, of a directory that is formatted already", Tests: "TestEveryCrash|TestEveryFlush", NoSeeds: true},
	{Site: "impl/node/daemon/file.go: fs.OS{}.SyncDir(dir)", What: "that the log of an observer without a cluster is gone, before it learns of one", Tests: "TestDropLog", NoSeeds: true},

	{Site: "impl/node/daemon/discover.go: fs.OS{}.SyncDir(dir)", Reason: "who finds the file again deletes it again"},
	{Site: "impl/concern/files.go: w.File.Sync()", Reason: "hands on a flush that is in this table where it is asked for"},
	{Site: "impl/concern/files.go: f.FS.SyncDir(dir)", Reason: "hands on a flush that is in this table where it is asked for"},
	{Site: "impl/snapshot/receive.go: p.file.Sync()", Reason: "Freeze flushes as well; this one, beside it, makes that quick"},
	{Site: "impl/node/daemon/trace.go: os.WriteFile(r.on(), []byte(run+\"\\n\"), 0o644)", Reason: "which trace a next process goes on with; the trace is no state of the replica"},
	{Site: "impl/node/trace.go: n.trace.Flush()", Reason: "hands events from a buffer to the system; the trace is no state of the replica"},
	{Site: "impl/driver/unrecorded.go: d.log.Flush()", Reason: "of a simulated machine, on a scratch disk"},
}

// Match pairs the sites of the source with the table. An error names what is in one
// and not in the other.
func Match(sites []Site) (pairs []FlushResult, err error) {
	var missing []string
	used := map[string]bool{}
	for i := range sites {
		key := sites[i].Key()
		at := slices.IndexFunc(Flushes, func(f Flush) bool { return f.Site == key })
		if at < 0 || used[key] {
			missing = append(missing, "not in the table, or twice in the source: "+key)
			continue
		}
		used[key] = true
		if Flushes[at].Reason == "" {
			pairs = append(pairs, FlushResult{Site: &sites[i], Flush: &Flushes[at]})
		}
	}
	for i := range Flushes {
		if !used[Flushes[i].Site] {
			missing = append(missing, "not in the source: "+Flushes[i].Site)
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("flushes of impl:\n%s", strings.Join(missing, "\n"))
	}
	return pairs, nil
}

// FlushResult is what came of leaving a flush out.
type FlushResult struct {
	*Site
	*Flush
	Report
	Error error
}

// RunFlushes leaves out flushes, one at a time.
func RunFlushes(ctx context.Context, root string, list []FlushResult, o Options, done func(*FlushResult)) {
	o = o.withDefaults()
	each(o.Workers, len(list), func(i int) {
		r := &list[i]
		s, err := r.without(root)
		if err == nil {
			err = use(root, o, s, blind, func(m *mutant) error { return r.run(ctx, m, o) })
		}
		r.Error = err
	}, func(i int) {
		if done != nil {
			done(&list[i])
		}
	})
}

func (r *FlushResult) run(ctx context.Context, m *mutant, o Options) error {
	if r.Tests != "" {
		if err := r.tests(ctx, m, path.Dir(r.File)); err != nil {
			return err
		}
	}
	if r.NoSeeds && r.Machine == "" {
		return nil
	}
	bin, err := m.build(ctx, judge)
	if err != nil {
		return err
	}
	if !r.NoSeeds {
		report, err := m.seeds(ctx, bin, replicaSeeds, o.FlushSeeds, 0)
		if err != nil {
			return err
		}
		r.Seeds = report.Seeds
		for _, f := range report.Found {
			r.Note(f.By, f.Seed, f.What)
		}
	}
	if r.Machine != "" {
		f, err := m.test(ctx, bin, judge, "^"+r.Machine+"$")
		if err != nil {
			return err
		}
		if f != nil {
			r.Note(f.By, 0, f.What)
		}
	}
	return nil
}

func (r *FlushResult) tests(ctx context.Context, m *mutant, pkg string) error {
	bin, err := m.build(ctx, pkg)
	if err != nil {
		return err
	}
	f, err := m.test(ctx, bin, pkg, r.Tests)
	if f != nil {
		r.Note(f.By, 0, f.What)
	}
	return err
}
