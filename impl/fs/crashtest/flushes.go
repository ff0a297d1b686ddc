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
	name  string
	lines string
	// id is both.
	id string
}

// is says whether an operation, which is being done, is the flush of the site.
func (s *site) is(op fs.Op) bool {
	return (op.Kind == fs.OpSync || op.Kind == fs.OpSyncDir) && here(op).id == s.id
}

// here is the site of a flush that is being done: the frames between the disk and the
// test, two of them outside of package fs. A function that flushes for several reasons
// has one site for each caller.
func here(op fs.Op) site {
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	var names, lines []string
	callers := 0 // of a function of package fs, or of the disk
	for {
		f, more := frames.Next()
		file := path.Base(f.File)
		dir := path.Base(path.Dir(f.File))
		switch {
		case dir == "fs" && (file == "double.go" || file == "fault.go"), len(names) == 0 && dir == "crashtest":
		case dir == "crashtest", strings.HasSuffix(file, "_test.go"), callers == 2, !more:
			s := site{name: op.Kind.String() + " " + strings.Join(names, " < "), lines: strings.Join(lines, " < ")}
			s.id = s.name + " " + s.lines
			return s
		default:
			if dir != "fs" {
				callers++
			}
			names = append(names, path.Base(f.Function))
			lines = append(lines, fmt.Sprintf("%s:%d", file, f.Line))
		}
		if !more {
			return site{name: op.Kind.String(), id: op.Kind.String()}
		}
	}
}

// Flushes leaves out each flush of the cases in turn, by its place and its caller, and
// sweeps again: something must be wrong then. unneeded are those that nothing is wrong
// without, by name, each with the reason; one that does not occur fails the test too. A
// name is what is logged; where a function has several of one name, they have #1, #2 and
// so on behind it.
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
	alike, number := map[string]int{}, map[string]int{}
	for _, s := range sites {
		alike[s.name]++
	}
	used := map[string]bool{}
	missed := 0
	for _, id := range slices.Sorted(maps.Keys(sites)) {
		left := sites[id]
		name := left.name
		if alike[name] > 1 {
			number[left.name]++
			name += fmt.Sprintf(" #%d", number[left.name])
		}
		if why := unneeded[name]; why != "" {
			used[name] = true
			t.Logf("not needed: %s: %s", name, why)
			continue
		}
		where, err := without(t, cases, uses[id], &left)
		if err == nil {
			missed++
			t.Errorf("nothing is wrong without %s (%s)", name, left.lines)
			continue
		}
		what, _, _ := strings.Cut(strings.TrimSpace(err.Error()), "\n")
		t.Logf("needed: %s (%s)\n\t%s: %s", name, left.lines, where, what)
	}
	for name := range unneeded {
		if !used[name] {
			t.Errorf("no flush is %q", name)
		}
	}
	t.Logf("TOTAL %d flushes by place and caller: %d noticed when left out, %d not, %d that are not needed", len(sites), len(sites)-missed-len(used), missed, len(used))
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
