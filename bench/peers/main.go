// Command peers runs the same small protocols in several model checkers, one after the
// other in one run on one machine: ours, Spin, rumur, and TLC where its jar is given.
// All must count the same states and steps; times and memory are printed.
//
//	go run ./bench/peers -quick
//	go run ./bench/peers -jar tla2tools.jar -n 5
//	go run ./bench/peers -models elect3_4 -checkers 'quorate,Spin BFS,Spin DFS'
//
// It exits with 1 if counts differ, and 2 if it cannot run. What is not installed is
// named, and passed over.
package main

import (
	"context"
	"embed"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/quorate/quorate/bench/internal/peer"
)

//go:embed Elect.tla TwoPhase.tla
var modules embed.FS

// slow are pairs of a checker and a model that take minutes: run with -slow only.
var slow = []string{"TLC 2pc9", "TLC elect3_4", "rumur 2pc9"}

func main() {
	jar := flag.String("jar", os.Getenv("TLA2TOOLS"), "tla2tools.jar; default: TLA2TOOLS")
	java := flag.String("java", "java", "the java command")
	heap := flag.String("heap", "4g", "the largest heap of TLC")
	command := flag.String("quorate", "bin/quorate", "our command")
	out := flag.String("out", "out/peers", "a directory for inputs and programs")
	names := flag.String("models", "", "models, separated by commas; default: all")
	only := flag.String("checkers", "", "checkers, separated by commas; default: all")
	quick := flag.Bool("quick", false, "the two small models only")
	all := flag.Bool("slow", false, "also what takes minutes: "+strings.Join(slow, ", "))
	times := flag.Int("n", 3, "how often each is run, by turns; the median counts")
	timeout := flag.Duration("timeout", 20*time.Minute, "the longest that one run may take")
	get := flag.Bool("install", false, "install spin, rumur and gcc with apt-get if they are missing")
	flag.Parse()
	if flag.NArg() > 0 {
		fatal("unexpected argument %q", flag.Arg(0))
	}
	if *times < 1 {
		fatal("-n %d: at least 1", *times)
	}
	var err error
	tlc := peer.TLC{Java: *java, Heap: *heap}
	if *jar != "" {
		if tlc.Jar, err = filepath.Abs(*jar); err == nil {
			_, err = os.Stat(tlc.Jar)
		}
		if err != nil {
			fatal("%v", err)
		}
	}
	dir, err := filepath.Abs(*out)
	if err != nil {
		fatal("%v", err)
	}
	chosen := chooseModels(*names, *quick)
	if *get {
		install("spin", "rumur", "gcc")
	}
	run := available(checkers(*command, tlc), *only)
	if *jar == "" {
		fmt.Println("TLC: SKIPPED: no jar (TLA2TOOLS; docs/tla/README.md says where to get it)")
	}
	same := true
	for _, m := range chosen {
		rows, err := measure(run, m, filepath.Join(dir, m.name), *times, *timeout, *all)
		if err != nil {
			fatal("%s: %v", m.name, err)
		}
		same = report(m, rows) && same
	}
	if !same {
		fmt.Println("\nDIFFERENT: the checkers do not count the same")
		os.Exit(1)
	}
}

func fatal(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "peers: "+format+"\n", args...)
	os.Exit(2)
}

func chooseModels(names string, quick bool) []*model {
	var chosen []*model
	for i := range models {
		m := &models[i]
		if names == "" && (!quick || m.distinct < 1_000_000) || slices.Contains(strings.Split(names, ","), m.name) {
			chosen = append(chosen, m)
		}
	}
	if names != "" && len(chosen) != len(strings.Split(names, ",")) {
		fatal("-models %s: not all of them exist", names)
	}
	return chosen
}

// available leaves out, with a word, checkers that are not here.
func available(all []contender, only string) []contender {
	var run []contender
	if only != "" {
		for _, name := range strings.Split(only, ",") {
			if !slices.ContainsFunc(all, func(c contender) bool { return c.name == name }) {
				var known []string
				for _, c := range all {
					known = append(known, c.name)
				}
				fatal("no checker %q: there are %s", name, strings.Join(slices.Compact(known), ", "))
			}
		}
	}
	for _, c := range all {
		if only != "" && !slices.Contains(strings.Split(only, ","), c.name) {
			continue
		}
		missing := slices.DeleteFunc(slices.Clone(c.needs), func(name string) bool {
			_, err := exec.LookPath(name)
			return err == nil
		})
		switch {
		case len(missing) == 0:
			run = append(run, c)
		case c.name == quorate:
			fatal("no %s: make build", c.needs[0])
		default:
			fmt.Printf("%s, %d workers: SKIPPED: no %s\n", c.name, c.workers, strings.Join(missing, ", "))
		}
	}
	return run
}

// install installs what is missing with apt-get, where there is one and it is allowed.
func install(commands ...string) {
	var missing []string
	for _, name := range commands {
		if _, err := exec.LookPath(name); err != nil {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return
	}
	apt := []string{"apt-get"}
	if os.Geteuid() != 0 {
		apt = []string{"sudo", "-n", "apt-get"}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	err := peer.Must(ctx, "", apt[0], append(apt[1:], "update", "-q")...)
	if err == nil {
		err = peer.Must(ctx, "", apt[0], append(append(apt[1:], "install", "-qy", "--no-install-recommends"), missing...)...)
	}
	if err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		fmt.Printf("could not install %s: %s\n", strings.Join(missing, ", "), first)
	}
}

// row is a checker on a model, over all its runs.
type row struct {
	checker  *contender
	outcomes []*outcome
	// base is the memory that the checker takes for next to no state.
	base int64
}

// tiny is a model with hardly a state, for what a checker takes by itself.
var tiny = &model{name: "2pc3", module: "TwoPhase", n: 3, distinct: 288, steps: 1_145}

// measure runs each checker on a model, by turns, so that what else goes on on the
// machine meets all of them alike.
func measure(run []contender, m *model, dir string, times int, timeout time.Duration, all bool) ([]row, error) {
	ctx := context.Background()
	var rows []row
	folder := func(i int, m *model) string { return filepath.Join(dir, m.name+"-"+fmt.Sprint(i)) }
	for i := range run {
		c := &run[i]
		if !all && slices.Contains(slow, c.name+" "+m.name) {
			fmt.Printf("%s, %d workers, %s: SKIPPED: takes minutes, -slow runs it\n", c.name, c.workers, m.name)
			continue
		}
		r := row{checker: c}
		for _, built := range []*model{tiny, m} {
			if err := peer.Clear(folder(len(rows), built)); err != nil {
				return nil, err
			}
			if err := c.build(ctx, folder(len(rows), built), built); err != nil {
				return nil, err
			}
		}
		o, err := c.run(ctx, folder(len(rows), tiny), tiny)
		if err != nil {
			return nil, err
		}
		r.base = o.run.PeakRSS
		rows = append(rows, r)
	}
	for range times {
		for i := range rows {
			limited, cancel := context.WithTimeout(ctx, timeout)
			o, err := rows[i].checker.run(limited, folder(i, m), m)
			cancel()
			if err != nil {
				return nil, err
			}
			rows[i].outcomes = append(rows[i].outcomes, o)
		}
	}
	return rows, nil
}

func (r *row) median(of func(*outcome) float64) float64 {
	var all []float64
	for _, o := range r.outcomes {
		all = append(all, of(o))
	}
	slices.Sort(all)
	n := len(all)
	return (all[(n-1)/2] + all[n/2]) / 2
}

// report prints the rows of a model and returns whether all counts are the known ones.
// Times are compared with those of our checker on as many workers.
func report(m *model, rows []row) bool {
	seconds := func(o *outcome) float64 { return o.run.Seconds }
	cpu := func(o *outcome) float64 { return o.run.CPU }
	fmt.Printf("\n| %s | workers | distinct | steps | s | CPU s | M steps/s | peak MB | B/state | time to ours | CPU to ours |\n", m.name)
	fmt.Println("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
	same := true
	for i := range rows {
		r := &rows[i]
		s, c := r.median(seconds), r.median(cpu)
		peak := r.median(func(o *outcome) float64 { return float64(o.run.PeakRSS) })
		ratio, ratioCPU := "", ""
		for k := range rows {
			if o := &rows[k]; o.checker.name == quorate && o.checker.workers == r.checker.workers {
				ratio = fmt.Sprintf("%.2f", s/o.median(seconds))
				ratioCPU = fmt.Sprintf("%.2f", c/o.median(cpu))
			}
		}
		o := r.outcomes[0]
		fmt.Printf("| %s | %d | %d | %d | %.2f | %.2f | %.2f | %.0f | %.0f | %s | %s |\n", r.checker.name, r.checker.workers, o.distinct, o.steps,
			s, c, float64(o.steps)/s/1e6, peak/1e6, max(0, peak-float64(r.base))/float64(o.distinct), ratio, ratioCPU)
		for _, o := range r.outcomes {
			if o.distinct != m.distinct || max(o.steps, m.steps)-min(o.steps, m.steps) > o.within {
				fmt.Printf("%s: %d states, %d steps; known are %d and %d\n", r.checker.name, o.distinct, o.steps, m.distinct, m.steps)
				same = false
			}
		}
	}
	return same
}
