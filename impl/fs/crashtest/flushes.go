package crashtest

import (
	"fmt"
	"maps"
	"path"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/quorate/quorate/impl/fs"
)

// site is a flush in the source, with the calls that lead to it.
type site struct {
	// name is the kind of flush and the functions, innermost first.
	name string
	// id has lines too.
	id string
}

// is says whether an operation, which is being done, is the flush of the site.
func (s *site) is(op fs.Op) bool {
	return (op.Kind == fs.OpSync || op.Kind == fs.OpSyncDir) && here(op).id == s.id
}

// here is the site of a flush that is being done: the frames between the disk and the
// test.
func here(op fs.Op) site {
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	var names, lines []string
	for {
		f, more := frames.Next()
		file := path.Base(f.File)
		dir := path.Base(path.Dir(f.File))
		switch {
		case dir == "fs" && (file == "double.go" || file == "fault.go"), len(names) == 0 && dir == "crashtest":
		case dir == "crashtest", strings.HasSuffix(file, "_test.go"), !more:
			s := site{name: op.Kind.String() + " " + strings.Join(names, " < ")}
			s.id = s.name + " " + strings.Join(lines, " < ")
			return s
		default:
			names = append(names, path.Base(f.Function))
			lines = append(lines, fmt.Sprintf("%s:%d", file, f.Line))
		}
		if !more {
			return site{name: op.Kind.String(), id: op.Kind.String()}
		}
	}
}

// Flushes leaves out each flush of the cases in turn, by the calls that lead to it, and
// sweeps again: something must be wrong then. unneeded are those that nothing is wrong
// without, by how their names start, each with the reason; one that does not occur fails
// the test too.
func Flushes[S any](t testing.TB, cases []Case[S], unneeded map[string]string) {
	t.Helper()
	sites := map[string]site{}
	uses := map[string][]int{} // cases
	for i := range cases {
		for _, s := range flushesOf(t, &cases[i]) {
			sites[s.id] = s
			uses[s.id] = append(uses[s.id], i)
		}
	}
	used := map[string]bool{}
	missed := 0
	for _, id := range slices.Sorted(maps.Keys(sites)) {
		left := sites[id]
		if reason, why := unneededBy(unneeded, left.name); why != "" {
			used[reason] = true
			t.Logf("not needed: %s: %s", left.name, why)
			continue
		}
		where, err := without(t, cases, uses[id], &left)
		if err == nil {
			missed++
			t.Errorf("nothing is wrong without %s", left.id)
			continue
		}
		what, _, _ := strings.Cut(strings.TrimSpace(err.Error()), "\n")
		t.Logf("needed: %s\n\t%s: %s", left.id, where, what)
	}
	for reason := range unneeded {
		if !used[reason] {
			t.Errorf("no flush is %q", reason)
		}
	}
	t.Logf("TOTAL %d flushes by the calls that lead to them: %d noticed when left out, %d not, %d kinds exempt", len(sites), len(sites)-missed-len(used), missed, len(used))
}

func unneededBy(unneeded map[string]string, name string) (prefix, why string) {
	for _, prefix := range slices.Sorted(maps.Keys(unneeded)) {
		if strings.HasPrefix(name, prefix) {
			return prefix, unneeded[prefix]
		}
	}
	return "", ""
}

// without sweeps cases until one notices that a flush is left out, and returns its name
// and what was wrong.
func without[S any](t testing.TB, cases []Case[S], try []int, left *site) (string, error) {
	for _, i := range try {
		s := sweep[S]{t: t, c: &cases[i], left: left}
		if err := s.run(); err != nil {
			return cases[i].Name, err
		}
	}
	return "", nil
}

// flushesOf are the flushes of Do and of the start after it, whether it was killed
// before its first operation, in one, or after the last.
func flushesOf[S any](t testing.TB, c *Case[S]) (list []site) {
	seen := map[string]bool{}
	note := func(at int) func(op fs.Op) fs.Fault {
		return func(op fs.Op) fs.Fault {
			if op.Kind == fs.OpSync || op.Kind == fs.OpSyncDir {
				if s := here(op); !seen[s.id] {
					seen[s.id] = true
					list = append(list, s)
				}
			}
			if op.N == at {
				return fs.Crash
			}
			return fs.None
		}
	}
	for k, dead := 1, true; dead; k++ {
		d, known, err := c.begin(t)
		if err != nil {
			t.Fatal(err)
		}
		d.Fail(note(d.Ops() + k))
		known, _ = c.do(t, d, known)
		dead = d.Dead()
		for _, after := range []*fs.Double{d.Crash(fs.KeepAll), d.Crash(fs.KeepNone), d} {
			after.Restart()
			after.Fail(note(0))
			if _, err := c.recover(t, after, known); err != nil {
				t.Fatalf("%s: %v", c.Name, err)
			}
		}
	}
	return list
}
