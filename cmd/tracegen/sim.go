package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/quorate/quorate/checker/linear"
	"github.com/quorate/quorate/impl/sim"
)

// simulation is the mode that records simulated runs.
type simulation struct {
	on                         bool
	seeds, preVote             string
	voters, observers, clients int
	ticks, steps               int64
	noFaults, loseDisks        bool
	noSnapshots, noPauses      bool
	members                    bool
	heals                      int
	without, only, skip        string
	script                     bool
	plain, noEvents, quiet     bool
	checking                   checking
	flags                      *flag.FlagSet
}

func newSim(flags *flag.FlagSet) mode {
	s := &simulation{flags: flags}
	s.checking.register(flags)
	flags.BoolVar(&s.on, "sim", false, "record simulated runs")
	flags.StringVar(&s.seeds, "seeds", "1", "with -sim: seeds of the runs, as 7 or 1-20 or 1-5,9")
	flags.IntVar(&s.voters, "voters", 0, "with -sim: number of voters, 1 to 9; 0: by seed")
	flags.IntVar(&s.observers, "observers", 0, "with -sim: number of observers, up to 9, -1 for none; 0: by seed")
	flags.IntVar(&s.clients, "clients", 0, "with -sim: number of clients; 0: by seed")
	flags.StringVar(&s.preVote, "prevote", "", "with -sim: on or off; empty: by seed")
	flags.Int64Var(&s.ticks, "ticks", 0, "with -sim: virtual milliseconds with faults and clients; 0: by seed")
	flags.Int64Var(&s.steps, "steps", 0, "with -sim: at most so many steps of replicas with faults and clients; 0: no limit")
	flags.BoolVar(&s.noFaults, "no-faults", false, "with -sim: no crash, no loss, no delay")
	flags.BoolVar(&s.loseDisks, "lose-disks", false, "with -sim: crashes may take the disk with them, which can break safety")
	flags.BoolVar(&s.noSnapshots, "no-snapshots", false, "with -sim: no snapshot is taken, and every log begins at 0")
	flags.BoolVar(&s.noPauses, "no-pauses", false, "with -sim: no process stops and goes on, and no partition comes and goes quickly")
	flags.BoolVar(&s.members, "members", false, "with -sim: the voters are in the log, and change (KIP-853)")
	flags.IntVar(&s.heals, "heals", 1, "with -sim: how often, in between, all faults stop until the cluster has made progress")
	flags.StringVar(&s.without, "without", "", "with -sim: kinds of faults to leave out, with commas, as loss,crash")
	flags.StringVar(&s.only, "only", "", "with -sim: leave out all kinds of faults but these; none: all")
	flags.BoolVar(&s.script, "script", false, "with -sim: print the faults as they happen, with their numbers")
	flags.StringVar(&s.skip, "skip", "", "with -sim: faults to leave out, by the numbers that -script prints, as 3,7-9,12-")
	flags.BoolVar(&s.plain, "plain", false, "with -sim: do not compress")
	flags.BoolVar(&s.noEvents, "no-events", false, "with -sim: write no files, only run and check")
	flags.BoolVar(&s.quiet, "quiet", false, "with -sim: print only runs that break a property, and the total")
	return s
}

func (s *simulation) asked() bool { return s.on }

func (s *simulation) name() string { return "sim" }

func (s *simulation) config() (sim.Config, error) {
	c := sim.Config{
		Voters: s.voters, Observers: s.observers, Clients: s.clients, Steps: s.steps,
		Duration: sim.Time(s.ticks) * 1000, NoFaults: s.noFaults, LoseDisks: s.loseDisks, Snapshots: !s.noSnapshots, Pauses: !s.noPauses,
		Members: s.members,
		Heals:   s.heals,
	}
	var err error
	if c.Without, err = sim.ParseKnobs(s.without); err != nil {
		return c, fmt.Errorf("-without: %w", err)
	}
	switch {
	case s.only == "none":
		c.Without = sim.Knobs(0).Others()
	case s.only != "":
		only, err := sim.ParseKnobs(s.only)
		if err != nil {
			return c, fmt.Errorf("-only: %w", err)
		}
		c.Without |= only.Others()
	}
	if c.Skip, err = sim.ParseRanges(s.skip); err != nil {
		return c, fmt.Errorf("-skip: %w", err)
	}
	switch s.preVote {
	case "":
	case "on":
		c.PreVote = sim.On
	case "off":
		c.PreVote = sim.Off
	default:
		return c, fmt.Errorf("-prevote %q: want on or off", s.preVote)
	}
	if ch := &s.checking; !ch.on && (ch.workers != 1 || ch.twice != 0 || ch.period != 0 || ch.allMet) {
		return c, errors.New("-parallel, -twice, -for and -all-met need -check")
	} else if ch.workers < 1 || ch.period < 0 || ch.shrink < 0 {
		return c, errors.New("-parallel: want 1 or more, and -for and -shrink cannot be negative")
	}
	if s.ticks < 0 || s.steps < 0 || s.clients < 0 || s.heals < 0 {
		return c, fmt.Errorf("-ticks, -steps, -clients and -heals cannot be negative")
	}
	_, err = c.Setup()
	return c, err
}

func (s *simulation) run(out string, stdout, stderr io.Writer) (int, error) {
	base, err := s.config()
	if err != nil {
		return exitUsage, err
	}
	seeds, err := parseSeeds(s.seeds)
	if err != nil {
		return exitUsage, err
	}
	if s.checking.on {
		return s.check(out, base, seeds, stdout, stderr)
	}
	code := exitOK
	var total sim.Stats
	for _, r := range seeds {
		for seed := r[0]; ; seed++ {
			cfg := base
			cfg.Seed = seed
			stats, broken, err := s.record(out, cfg, stdout)
			if err != nil {
				return exitUsage, err
			}
			if broken != nil {
				code = exitViolated
				fmt.Fprintf(stderr, "tracegen: %v\n", broken)
			}
			total.Add(&stats)
			if seed == r[1] {
				break
			}
		}
	}
	printTotal(stdout, &total, base)
	return code, nil
}

// record makes one run. broken is a property that it broke.
func (s *simulation) record(out string, cfg sim.Config, stdout io.Writer) (stats sim.Stats, broken, err error) {
	setup, err := cfg.Setup()
	if err != nil {
		return stats, nil, err
	}
	rec, err := s.newRecorder(out, cfg, setup)
	if err != nil {
		return stats, nil, err
	}
	sinks := rec.sinks()
	if s.script {
		sinks.Fault = func(h *sim.Happening) { fmt.Fprintln(stdout, h) }
	}
	stats, broken = sim.Run(cfg, sinks)
	if err := rec.close(int64(stats.VirtualTime)); err != nil {
		return stats, nil, err
	}
	verdict := "-"
	if broken == nil {
		report, err := rec.judgeHistory(&stats, linear.Limits{})
		switch {
		case err != nil:
			return stats, nil, err
		case report.Verdict == linear.NotLinearizable:
			broken = fmt.Errorf("seed %d: history is not linearizable: %s", cfg.Seed, report.Why)
		}
		verdict = fmt.Sprint(report.Verdict)
	}
	if !s.quiet || broken != nil {
		fmt.Fprintf(stdout, "seed %-6d %d voters %d observers prevote=%-5t events %-7d elections %-3d crashes %-3d truncations %-3d acked %-5d unknown %-4d reads %-5d %s\n",
			cfg.Seed, setup.Voters, setup.Observers, setup.PreVote, stats.Events, stats.Elections, stats.Crashes,
			stats.Truncations, stats.AppendsAcked, stats.AppendsUnknown, stats.Reads, verdict)
	}
	return stats, broken, nil
}

// printTotal shows the sums over all runs, and returns what could be met and never was.
func printTotal(w io.Writer, t *sim.Stats, cfg sim.Config) (never []string) {
	fmt.Fprintf(w, "total: steps %d events %d virtual %.0f s; elections %d truncations %d; crashes %d (in a step %d, in a start %d); "+
		"messages %d dropped %d duplicated %d; appends acked %d unknown %d failed %d; reads %d failed %d\n",
		t.Steps, t.Events, float64(t.VirtualTime)/1e6, t.Elections, t.Truncations, t.Crashes, t.CrashesInStep, t.CrashesInStart,
		t.Sent, t.Dropped, t.Duplicated, t.AppendsAcked, t.AppendsUnknown, t.AppendsFailed, t.Reads, t.ReadsFailed)
	fmt.Fprintf(w, "progress after the faults, in rounds of timeouts: a leader within %.2f, commits within %.2f, agreement within %.2f\n",
		float64(t.Slowest[0])/1000, float64(t.Slowest[1])/1000, float64(t.Slowest[2])/1000)
	var seen []string
	for i, n := range t.Sometimes {
		if n == 0 && !cfg.May(sim.Sometimes(i)) {
			continue
		} else if n == 0 {
			never = append(never, sim.Sometimes(i).String())
		} else {
			seen = append(seen, fmt.Sprintf("%s %d", sim.Sometimes(i), n))
		}
	}
	fmt.Fprintf(w, "met:   %s\n", strings.Join(seen, ", "))
	if len(never) > 0 {
		fmt.Fprintf(w, "never: %s\n", strings.Join(never, ", "))
	}
	return never
}

// parseSeeds parses lists of ranges.
func parseSeeds(text string) ([][2]uint64, error) {
	var list [][2]uint64
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		a, err := strconv.ParseUint(first, 10, 64)
		b, err2 := strconv.ParseUint(last, 10, 64)
		if err != nil || err2 != nil || b < a {
			return nil, fmt.Errorf("-seeds %q: want numbers and ranges, as 7 or 1-20 or 1-5,9", text)
		}
		list = append(list, [2]uint64{a, b})
	}
	return list, nil
}

func makeRunDir(out string, seed uint64) (string, error) {
	dir := filepath.Join(out, fmt.Sprintf("seed-%d", seed))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", fmt.Errorf("%w (runs are not overwritten)", err)
	}
	return dir, nil
}
