package defects

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options of a run.
type Options struct {
	// Seeds is the last seed that is tried for a defect (200), More how many are tried
	// after the first finding, for the checks that have found nothing (10).
	Seeds, More int
	// FlushSeeds is the last seed that is tried for a flush (40).
	FlushSeeds int
	// Workers is how many defects are tried at once (1).
	Workers int
	// Walk: walk along the state graphs of models with each defect of the replica, too.
	Walk bool
	// Timeout bounds each build and each run (3 minutes).
	Timeout time.Duration
}

func (o Options) withDefaults() Options {
	if o.Seeds == 0 {
		o.Seeds = 200
	}
	if o.More == 0 {
		o.More = 10
	}
	if o.FlushSeeds == 0 {
		o.FlushSeeds = 40
	}
	if o.Workers == 0 {
		o.Workers = 1
	}
	if o.Timeout == 0 {
		o.Timeout = 3 * time.Minute
	}
	return o
}

const module = "github.com/quorate/quorate"

// judge is the package whose test runs seeds.
const judge = "traces/defects/judge"

// Root finds the module, which the working directory must be in.
func Root() (string, error) {
	if _, err := exec.LookPath("go"); err != nil {
		return "", errors.New("defects are compiled in: the go command is needed, and was not found")
	}
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return "", fmt.Errorf("not in a working copy of %s: %w", module, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// mutant is the module at root with something changed, in a directory of its own.
type mutant struct {
	root, dir, overlay string
	timeout            time.Duration
}

// use makes a mutant of changed sources and edits, for as long as do runs.
func use(root string, o Options, s sources, edits []Edit, do func(*mutant) error) error {
	dir, err := os.MkdirTemp("", "defect-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := s.apply(root, edits); err != nil {
		return err
	}
	m := &mutant{root: root, dir: dir, timeout: o.Timeout}
	if m.overlay, err = s.write(root, dir); err != nil {
		return err
	}
	return do(m)
}

// build compiles the test of a package.
func (m *mutant) build(ctx context.Context, pkg string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, m.timeout)
	defer cancel()
	bin := filepath.Join(m.dir, strings.ReplaceAll(pkg, "/", "_")+".test")
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-p", "1", "-overlay", m.overlay, "-o", bin, "./"+pkg)
	cmd.Dir = m.root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build of %s: %w\n%s", pkg, err, out)
	}
	return bin, nil
}

// run runs a test binary in the directory of its package. An error is returned if it
// could not be run, not if it failed.
func (m *mutant) run(ctx context.Context, bin, pkg string, args ...string) (out string, passed, ended bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, m.timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, args...)
	cmd.Dir = filepath.Join(m.root, filepath.FromSlash(pkg))
	var text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &text
	cmd.WaitDelay = time.Second
	err = cmd.Run()
	var failed *exec.ExitError
	switch {
	case err == nil:
		return text.String(), true, true, nil
	case ctx.Err() != nil:
		return text.String(), false, false, nil
	case errors.As(err, &failed):
		return text.String(), false, true, nil
	}
	return "", false, false, err
}

// Tests of the judge that run seeds: of replicas, and of controllers.
const (
	replicaSeeds    = "TestSeeds"
	controllerSeeds = "TestBootstrapSeeds"
)

// seeds runs a simulator in a test of the judge.
func (m *mutant) seeds(ctx context.Context, bin, test string, seeds, more int) (*Report, error) {
	name := filepath.Join(m.dir, "report.json")
	out, passed, ended, err := m.run(ctx, bin, judge, "-test.run", "^"+test+"$", "-judge.seeds", fmt.Sprint(seeds), "-judge.more", fmt.Sprint(more), "-judge.out", name)
	if err != nil {
		return nil, err
	}
	var r Report
	text, err := os.ReadFile(name)
	if err == nil {
		if err := json.Unmarshal(text, &r); err != nil {
			return nil, err
		}
	}
	if ended && !passed {
		return nil, fmt.Errorf("the judge failed:\n%s", out)
	}
	if !ended {
		r.Seeds++
		r.Note(Simulation, r.Seeds, fmt.Sprintf("no end within %v", m.timeout))
	}
	return &r, nil
}

var failure = regexp.MustCompile(`--- FAIL: (\w+)`)

// test runs tests until one fails, and says which.
func (m *mutant) test(ctx context.Context, bin, pkg, pattern string) (*Finding, error) {
	out, passed, ended, err := m.run(ctx, bin, pkg, "-test.failfast", "-test.short", "-test.run", pattern)
	switch {
	case err != nil:
		return nil, err
	case passed:
		return nil, nil
	case !ended:
		return &Finding{By: Tests, What: fmt.Sprintf("no end within %v", m.timeout)}, nil
	}
	if f := failure.FindStringSubmatch(out); f != nil {
		return &Finding{By: Tests, What: f[1]}, nil
	}
	return nil, fmt.Errorf("%s: a test failed, and none says so:\n%s", pkg, out)
}

// walker is the package whose test walks along the state graphs of models.
const walker = "traces/modelbased"

var difference = regexp.MustCompile(`model (\S+): (.*)`)

// walk notes what a walk comes upon.
func (m *mutant) walk(ctx context.Context, r *Report) error {
	bin, err := m.build(ctx, walker)
	if err != nil {
		return err
	}
	out, passed, ended, err := m.run(ctx, bin, walker, "-test.failfast", "-test.run", "^TestWalk$")
	if err != nil || passed {
		return err
	}
	what := "fewer steps are taken"
	if f := difference.FindStringSubmatch(out); f != nil {
		what = f[1] + ": " + f[2]
	} else if !ended {
		what = fmt.Sprintf("no end within %v", m.timeout)
	}
	r.Note(Walk, 0, what)
	return nil
}

// CoreResult is what came of a defect of the core.
type CoreResult struct {
	*Defect
	Report
	// Error is why it could not be tried.
	Error error
}

// First is the finding with the least seed; a simulated run is judged before its
// trace, that before the history, and tests have no seed.
func (r *Report) First() *Finding {
	var first *Finding
	for i := range r.Found {
		if f := &r.Found[i]; f.Seed > 0 && (first == nil || f.Seed < first.Seed) {
			first = f
		}
	}
	if first == nil && r.By(Tests) == nil {
		return r.By(Walk)
	} else if first == nil {
		return r.By(Tests)
	}
	return first
}

// RunCore tries defects of the core. done is called as each is, if it is not nil.
func RunCore(ctx context.Context, root string, list []Defect, o Options, done func(*CoreResult)) []CoreResult {
	o = o.withDefaults()
	results := make([]CoreResult, len(list))
	each(o.Workers, len(list), func(i int) {
		r := &results[i]
		r.Defect = &list[i]
		r.Error = use(root, o, sources{}, append(append([]Edit(nil), r.Edits...), blind...), func(m *mutant) error {
			if r.Unsimulated == "" {
				bin, err := m.build(ctx, judge)
				if err != nil {
					return err
				}
				test := replicaSeeds
				if r.Bootstrap {
					test = controllerSeeds
				}
				report, err := m.seeds(ctx, bin, test, o.Seeds, o.More)
				if err != nil {
					return err
				}
				r.Report = *report
			}
			pkg := path.Dir(r.Edits[0].File)
			bin, err := m.build(ctx, pkg)
			if err != nil {
				return err
			}
			f, err := m.test(ctx, bin, pkg, ".")
			if f != nil {
				r.Note(f.By, 0, f.What)
			}
			if err != nil || !o.Walk || pkg != "impl/core" {
				return err
			}
			return m.walk(ctx, &r.Report)
		})
	}, func(i int) {
		if done != nil {
			done(&results[i])
		}
	})
	return results
}

// each calls do for 0 to n-1, by some workers, and done after each, one at a time.
func each(workers, n int, do, done func(int)) {
	next := make(chan int)
	var wg sync.WaitGroup
	var mu sync.Mutex
	for range workers {
		wg.Go(func() {
			for i := range next {
				do(i)
				mu.Lock()
				done(i)
				mu.Unlock()
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}

// Clean holds the module as it is against the same checks: whatever they find then is
// no sign of a defect.
func Clean(ctx context.Context, root string, seeds int, o Options) (*Report, error) {
	o = o.withDefaults()
	var report *Report
	err := use(root, o, sources{}, blind, func(m *mutant) error {
		bin, err := m.build(ctx, judge)
		if err != nil {
			return err
		}
		report, err = m.seeds(ctx, bin, replicaSeeds, seeds, 0)
		return err
	})
	return report, err
}

// CleanTests runs the tests of all packages that hold a defect, as they are, and those
// of the judge.
func CleanTests(ctx context.Context, root string, o Options) (*Report, error) {
	o = o.withDefaults()
	patterns := map[string]string{"impl/core": ".", judge: "^" + controllerSeeds + "$"}
	for _, f := range Flushes {
		if f.Machine != "" {
			patterns[judge] += "|^" + f.Machine + "$"
		}
		if f.Tests != "" {
			file, _, _ := strings.Cut(f.Site, ":")
			pkg := path.Dir(file)
			patterns[pkg] = strings.TrimPrefix(patterns[pkg]+"|"+f.Tests, "|")
		}
	}
	report := &Report{}
	return report, use(root, o, sources{}, nil, func(m *mutant) error {
		for _, pkg := range slices.Sorted(maps.Keys(patterns)) {
			bin, err := m.build(ctx, pkg)
			if err != nil {
				return err
			}
			f, err := m.test(ctx, bin, pkg, patterns[pkg])
			if err != nil {
				return err
			}
			if f != nil {
				report.Note(f.By, 0, pkg+" "+f.What)
			}
		}
		return nil
	})
}
