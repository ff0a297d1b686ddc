package main

import (
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"hash"
	"io"
	"math"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/checker/linear"
	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/sim"
	"github.com/quorate/quorate/spec"
	"github.com/quorate/quorate/traces"
	"github.com/quorate/quorate/traces/event"
	"github.com/quorate/quorate/traces/history"
)

// checking is what -check asks for: runs are made and judged in memory, and only
// those that fail are written.
type checking struct {
	on      bool
	workers int
	twice   uint64
	period  time.Duration
	allMet  bool
	shrink  int
}

func (c *checking) register(flags *flag.FlagSet) {
	flags.BoolVar(&c.on, "check", false, "with -sim: hold every run against the specification too, at once and in memory; only runs that fail are written")
	flags.IntVar(&c.workers, "parallel", 1, "with -check: how many runs to make at once")
	flags.Uint64Var(&c.twice, "twice", 0, "with -check: make every Nth run (whose seed N divides) twice, and compare the two; 0: none")
	flags.DurationVar(&c.period, "for", 0, "with -check: go on with the seeds behind the last one for so long")
	flags.IntVar(&c.shrink, "shrink", 300, "with -check: make at most so many runs to find a smaller one that fails as the first that failed does")
	flags.BoolVar(&c.allMet, "all-met", false, "with -check: it is a failure if something that should happen sometimes never did")
}

// gcPercent is that of debug.SetGCPercent while runs are checked.
const gcPercent = 500

// maxFailures is after how many failed runs no more are begun.
const maxFailures = 5

// judged is what came of one run.
type judged struct {
	stats     sim.Stats
	validated int64 // events
	reached   []string
	compared  bool
	// broken is why the run failed, nil if it did not.
	broken error
}

// judge makes one run, and holds it against everything that knows how it should be: the
// properties of the simulator, the specification, the history of the clients.
func (s *simulation) judge(cfg sim.Config) (j judged, err error) {
	setup, err := cfg.Setup()
	if err != nil {
		return j, err
	}
	r := keep(cfg, setup)
	defer r.done()
	j.stats, j.broken = sim.Run(cfg, r.sinks())
	if j.broken != nil {
		return j, nil
	}
	if err := r.close(int64(j.stats.VirtualTime)); err != nil {
		return j, err
	}
	res, err := traces.Validate(r.inputs(), traces.Options{Run: r.run})
	var malformed *traces.MalformedError
	switch {
	case errors.As(err, &malformed):
		j.broken = fmt.Errorf("trace is malformed: %w", err)
	case err != nil:
		return j, err
	case res.Verdict != traces.Accepted:
		j.broken = fmt.Errorf("trace %s by the specification after %d events\n%s", res.Verdict, res.Stats.Events, res.Rejection.Text())
	case res.Stats.Events != j.stats.Events:
		j.broken = fmt.Errorf("%d of %d events validated", res.Stats.Events, j.stats.Events)
	}
	if j.broken != nil {
		return j, nil
	}
	j.validated, j.reached = res.Stats.Events, res.Stats.Reached
	// The check of a history by offsets is exact. The second opinion, of porcupine, takes
	// longer the more operations it looks at together, and then more than all the rest.
	j.compared = s.checking.twice > 0 && cfg.Seed%s.checking.twice == 0
	limits := linear.Limits{Ops: 16}
	switch {
	case j.compared:
		limits = linear.Limits{}
	case cfg.Seed%8 == 0:
		limits = linear.Limits{Ops: 40}
	}
	report, err := r.judgeHistory(&j.stats, limits)
	if err != nil {
		return j, err
	}
	if report.Verdict == linear.NotLinearizable {
		j.broken = fmt.Errorf("history is not linearizable: %s", report.Why)
	} else if j.compared {
		j.broken = compare(cfg)
	}
	return j, nil
}

// compare makes a run again, and says whether it was the same run, byte by byte.
func compare(cfg sim.Config) error {
	var sums [2][]byte
	for i := range sums {
		h := sha256.New()
		if _, err := sim.Run(cfg, hashing(h)); err != nil {
			fmt.Fprintln(h, err)
		}
		sums[i] = h.Sum(nil)
	}
	if !slices.Equal(sums[0], sums[1]) {
		return errors.New("a second run of the seed is another run: something is not a function of the seed")
	}
	return nil
}

func hashing(h hash.Hash) sim.Sinks {
	var buf []byte
	operation := func(op sim.Operation) error {
		fmt.Fprintf(h, "%+v\n", op)
		return nil
	}
	return sim.Sinks{
		Event: func(e *event.Event) error {
			buf = append(event.AppendJSON(buf[:0], e), '\n')
			h.Write(buf)
			return nil
		},
		Invoke: operation, Return: operation,
	}
}

// keep is a recorder that has the events in memory.
func keep(cfg sim.Config, setup sim.Setup) *recorder {
	r := &recorder{pending: map[int64]sim.Operation{}, standing: -1}
	r.history.Header = history.Header{Run: fmt.Sprintf("seed %d", cfg.Seed), Clock: "us"}
	r.run = &traces.Run{PreVote: traces.PreVote{All: setup.PreVote}}
	if cfg.Members {
		r.run.KRaftVersion = 1
	}
	if cfg.Members {
		r.run.KRaftVersion = 1
	}
	for i := range setup.Voters + setup.Observers {
		dir := cfg.Directory(core.ReplicaID(i + 1)).String()
		r.run.Nodes = append(r.run.Nodes, traces.RunNode{ID: int32(i + 1), Dir: dir})
		if id := int32(i + 1); i < setup.Voters {
			r.run.Voters = append(r.run.Voters, id)
		} else {
			r.run.Observers = append(r.run.Observers, id)
		}
	}
	r.kept = *kept.Get().(*[][]event.Event)
	for len(r.kept) < setup.Voters+setup.Observers {
		r.kept = append(r.kept, nil)
	}
	return r
}

// kept is where runs that are over kept their events, by node: the next ones go there too.
var kept = sync.Pool{New: func() any { return new([][]event.Event) }}

// done gives up the events, of which nothing may be used any more.
func (r *recorder) done() {
	for i := range r.kept {
		r.kept[i] = r.kept[i][:0]
	}
	events := r.kept
	kept.Put(&events)
	r.kept = nil
}

// inputs are the traces that were kept.
func (r *recorder) inputs() []traces.Input {
	var list []traces.Input
	for i, events := range r.kept {
		if len(events) > 0 {
			list = append(list, traces.Events(fmt.Sprintf("node-%d", i+1), events))
		}
	}
	return list
}

// survey is what came of many runs.
type survey struct {
	mu             sync.Mutex
	runs, compared int
	total          sim.Stats
	validated      int64
	reached        map[string]int
	failures       int
	err            error
}

// seedsOf gives the seeds of ranges one by one, and then those behind the last one for as
// long as more says so. It may be called by several at once.
func seedsOf(ranges [][2]uint64, more func() bool) func() (uint64, bool) {
	var mu sync.Mutex
	at, next := 0, ranges[0][0]
	last := ranges[len(ranges)-1][1]
	return func() (uint64, bool) {
		mu.Lock()
		defer mu.Unlock()
		if at == len(ranges) {
			if last == math.MaxUint64 || !more() {
				return 0, false
			}
			last++
			return last, true
		}
		seed := next
		if next == ranges[at][1] {
			if at++; at < len(ranges) {
				next = ranges[at][0]
			}
		} else {
			next++
		}
		return seed, true
	}
}

// check makes and judges the runs of all seeds.
func (s *simulation) check(out string, base sim.Config, ranges [][2]uint64, stdout, stderr io.Writer) (int, error) {
	// A run needs little memory, and leaves much behind: collect it less often.
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	began := time.Now()
	next := seedsOf(ranges, func() bool { return time.Since(began) < s.checking.period })
	v := survey{reached: map[string]int{}}
	var wg sync.WaitGroup
	for range max(s.checking.workers, 1) {
		wg.Go(func() {
			for {
				seed, ok := next()
				if !ok || v.enough() {
					return
				}
				cfg := base
				cfg.Seed = seed
				j, err := s.judge(cfg)
				v.take(&j, err, func(first bool) error { return s.fail(out, cfg, &j, first, stdout, stderr) })
			}
		})
	}
	wg.Wait()
	if v.err != nil {
		return exitUsage, v.err
	}
	never := v.print(stdout, base, time.Since(began))
	switch {
	case v.failures > 0:
		return exitViolated, nil
	case s.checking.allMet && len(never) > 0:
		fmt.Fprintf(stderr, "tracegen: in %d runs there never was: %s\n", v.runs, strings.Join(never, ", "))
		return exitViolated, nil
	}
	return exitOK, nil
}

func (v *survey) enough() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.err != nil || v.failures >= maxFailures
}

// take adds a run; fail is called if it failed.
func (v *survey) take(j *judged, err error, fail func(first bool) error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err != nil {
		v.err = errors.Join(v.err, err)
		return
	}
	v.runs++
	v.total.Add(&j.stats)
	v.validated += j.validated
	for _, name := range j.reached {
		v.reached[name]++
	}
	if j.compared {
		v.compared++
	}
	if j.broken != nil {
		v.failures++
		v.err = errors.Join(v.err, fail(v.failures == 1))
	}
}

// fail writes the files of a run that failed, and says how to make it again, and of the
// first one a smaller run that fails in the same way.
func (s *simulation) fail(out string, cfg sim.Config, j *judged, first bool, stdout, stderr io.Writer) error {
	fmt.Fprintf(stderr, "tracegen: seed %d: %v\n", cfg.Seed, j.broken)
	again := *s
	again.quiet = true
	_, _, err := again.record(out, cfg, stdout)
	fmt.Fprintf(stderr, "again: %s\n", s.line(&cfg))
	if first && s.checking.shrink > 0 && err == nil {
		s.shrink(cfg, j.stats, j.broken, stderr)
	}
	return err
}

// print shows what was done and how fast, and returns what was never met.
func (v *survey) print(w io.Writer, cfg sim.Config, took time.Duration) (never []string) {
	never = printTotal(w, &v.total, cfg)
	var met, not []string
	for _, p := range spec.Properties {
		if p.Kind != checker.Sometimes {
			continue
		}
		if n := v.reached[p.Name]; n > 0 {
			met = append(met, fmt.Sprintf("%s %d", p.Name, n))
		} else {
			not = append(not, p.Name)
		}
	}
	fmt.Fprintf(w, "by the specification, in so many runs: %s\n", strings.Join(met, ", "))
	if len(not) > 0 {
		fmt.Fprintf(w, "by the specification, never: %s\n", strings.Join(not, ", "))
	}
	rate := func(n int64, d time.Duration) float64 { return float64(n) / max(d.Seconds(), 1e-9) }
	fmt.Fprintf(w, "checked: %d runs in %.1f s, %d failed; %d made twice and compared; %.0f core steps/s, %.0f validated events/s\n",
		v.runs, took.Seconds(), v.failures, v.compared, rate(v.total.Steps, took), rate(v.validated, took))
	if cpu, ok := cpuTime(); ok {
		fmt.Fprintf(w, "in a second of one processor: %.0f core steps simulated and %.0f events validated, both of one run\n", rate(v.total.Steps, cpu), rate(v.validated, cpu))
	}
	return never
}
