package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/quorate/quorate/impl/sim"
)

// shrink finds a smaller run that fails in the same way, and prints the command that makes
// it and the faults that are left.
func (s *simulation) shrink(cfg sim.Config, stats sim.Stats, broken error, w io.Writer) {
	kind, runs := kindOf(broken), 0
	small, after := sim.Shrink(cfg, stats, s.checking.shrink, func(c sim.Config) (sim.Stats, bool) {
		runs++
		j, err := s.judge(c)
		return j.stats, err == nil && j.broken != nil && kindOf(j.broken) == kind
	})
	var script []string
	_, _ = sim.Run(small, sim.Sinks{Fault: func(h *sim.Happening) { script = append(script, h.String()) }})
	fmt.Fprintf(w, "smaller, by %d runs: %d steps instead of %d, %d faults instead of %d\n", runs, after.Steps, stats.Steps, len(script), stats.Faults)
	fmt.Fprintf(w, "again: %s\n", s.line(&small))
	const most = 30
	for i, line := range script {
		if i == most {
			fmt.Fprintf(w, "  and %d more (-script)\n", len(script)-most)
			break
		}
		fmt.Fprintln(w, "  "+line)
	}
}

var numbers = regexp.MustCompile(`[0-9a-f]*[0-9][0-9a-f]*`)

// kindOf tells failures apart: by the property, or by what is said of them without numbers.
func kindOf(broken error) string {
	var v *sim.ViolationError
	if errors.As(broken, &v) {
		return v.Property
	}
	line, _, _ := strings.Cut(broken.Error(), "\n")
	if _, panicked, ok := strings.Cut(line, "panic: "); ok {
		line = panicked
	}
	return numbers.ReplaceAllString(line, "#")
}

// line is the command that makes one run again.
func (s *simulation) line(cfg *sim.Config) string {
	line := fmt.Sprintf("tracegen -sim -check -seeds %d", cfg.Seed)
	add := func(name string, is bool, value any) {
		if is {
			line += fmt.Sprintf(" -%s=%v", name, value)
		}
	}
	s.flags.Visit(func(f *flag.Flag) {
		switch f.Name {
		case "ticks", "prevote", "no-faults", "lose-disks", "plain", "no-events", "twice":
			add(f.Name, true, f.Value)
		}
	})
	add("voters", cfg.Voters > 0, cfg.Voters)
	add("observers", cfg.Observers != 0, cfg.Observers)
	add("clients", cfg.Clients > 0, cfg.Clients)
	add("steps", cfg.Steps > 0, cfg.Steps)
	add("heals", cfg.Heals != 1, cfg.Heals)
	add("no-snapshots", !cfg.Snapshots, true)
	add("no-pauses", !cfg.Pauses, true)
	add("members", cfg.Members, true)
	switch only := cfg.Without.Others(); {
	case cfg.Without == 0:
	case only == 0:
		add("only", true, "none")
	case len(only.String()) < len(cfg.Without.String()):
		add("only", true, only)
	default:
		add("without", true, cfg.Without)
	}
	add("skip", len(cfg.Skip) > 0, cfg.Skip)
	return line + " -out DIR"
}
