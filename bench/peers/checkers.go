package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/quorate/quorate/bench/internal/peer"
)

// outcome is one exploration by one checker. Steps leave the initial state out.
type outcome struct {
	distinct, steps uint64
	run             peer.Run
	// within is how far steps may be off: Spin prints eight digits.
	within uint64
}

// contender is a model checker in one setting.
type contender struct {
	name    string
	workers int
	// needs are the commands that it cannot do without.
	needs []string
	// build makes what run needs, in dir; it is not timed.
	build func(ctx context.Context, dir string, m *model) error
	run   func(ctx context.Context, dir string, m *model) (*outcome, error)
}

// quorate is ours; times of others are given as multiples of it.
const quorate = "quorate"

func checkers(command string, tlc peer.TLC) []contender {
	all := []contender{
		ours(command, 1), ours(command, 2),
		spin("Spin BFS", "-DBFS"), spin("Spin DFS"),
		rumur(1), rumur(2),
	}
	if tlc.Jar != "" {
		for w := 1; w <= 2; w++ {
			t := tlc
			t.Workers = w
			all = append(all, tlcChecker(t))
		}
	}
	return all
}

func ours(command string, workers int) contender {
	return contender{
		name: quorate, workers: workers, needs: []string{command},
		build: func(context.Context, string, *model) error { return nil },
		run: func(ctx context.Context, _ string, m *model) (*outcome, error) {
			r, err := peer.Quorate(ctx, command, m.name, "-workers", strconv.Itoa(workers))
			if err != nil {
				return nil, err
			}
			return &outcome{distinct: r.Distinct, steps: r.Generated, run: r.Run}, nil
		},
	}
}

// spin compiles for a full search that loses no state, with the partial-order
// reduction off. -E: a state without successors is no error.
func spin(name string, defines ...string) contender {
	return contender{
		name: name, workers: 1, needs: []string{"spin", "gcc"},
		build: func(ctx context.Context, dir string, m *model) error {
			if err := write(dir, "m.pml", m.promela()); err != nil {
				return err
			}
			if err := peer.Must(ctx, dir, "spin", "-a", "m.pml"); err != nil {
				return err
			}
			args := append([]string{"-O3", "-march=native", "-w", "-DSAFETY", "-DNOREDUCE"}, defines...)
			return peer.Must(ctx, dir, "gcc", append(args, "pan.c", "-o", "pan")...)
		},
		run: func(ctx context.Context, dir string, _ *model) (*outcome, error) {
			r, err := peer.Do(ctx, dir, filepath.Join(dir, "pan"), "-E", "-n", "-w24", "-m100000")
			if err != nil {
				return nil, err
			}
			return parseSpin(r)
		},
	}
}

var (
	spinStates = regexp.MustCompile(`(?m)^\s*([\d.e+]+) states, stored`)
	spinSteps  = regexp.MustCompile(`(?m)^\s*([\d.e+]+) transitions `)
)

func parseSpin(r *peer.Run) (*outcome, error) {
	states, steps := spinStates.FindStringSubmatch(r.Output), spinSteps.FindStringSubmatch(r.Output)
	switch {
	case states == nil || steps == nil:
		return nil, fmt.Errorf("spin: no counts in its output:\n%s", r.Tail(10))
	case !strings.Contains(r.Output, "errors: 0") || strings.Contains(r.Output, "max search depth too small") ||
		strings.Contains(r.Output, "Search not completed"):
		return nil, fmt.Errorf("spin did not search everything:\n%s", r.Tail(30))
	}
	n, err := strconv.ParseFloat(steps[1], 64)
	if err != nil {
		return nil, fmt.Errorf("spin: %q transitions: %w", steps[1], err)
	}
	distinct, err := strconv.ParseFloat(states[1], 64)
	if err != nil {
		return nil, fmt.Errorf("spin: %q states: %w", states[1], err)
	}
	o := &outcome{distinct: uint64(distinct), steps: uint64(n) - 1, run: *r}
	for most := 1e8; n >= most; most *= 10 {
		o.within = max(1, o.within) * 10
	}
	return o, nil
}

func rumur(threads int) contender {
	return contender{
		name: "rumur", workers: threads, needs: []string{"rumur", "gcc"},
		build: func(ctx context.Context, dir string, m *model) error {
			if err := write(dir, "m.m", m.murphi()); err != nil {
				return err
			}
			if err := peer.Must(ctx, dir, "rumur", "--output", "m.c", "m.m", "--deadlock-detection", "off", "--threads", strconv.Itoa(threads)); err != nil {
				return err
			}
			return peer.Must(ctx, dir, "gcc", "-O3", "-march=native", "-std=c11", "-w", "m.c", "-lpthread", "-latomic", "-o", "m")
		},
		run: func(ctx context.Context, dir string, _ *model) (*outcome, error) {
			r, err := peer.Do(ctx, dir, filepath.Join(dir, "m"))
			if err != nil {
				return nil, err
			}
			return parseRumur(r)
		},
	}
}

var rumurEnd = regexp.MustCompile(`(?m)^\s*(\d+) states, (\d+) rules fired in`)

func parseRumur(r *peer.Run) (*outcome, error) {
	n := rumurEnd.FindStringSubmatch(r.Output)
	if n == nil || r.Exit != 0 || !strings.Contains(r.Output, "No error found") {
		return nil, fmt.Errorf("rumur did not search everything:\n%s", r.Tail(15))
	}
	return &outcome{distinct: number(n[1]), steps: number(n[2]), run: *r}, nil
}

func tlcChecker(t peer.TLC) contender {
	return contender{
		name: "TLC", workers: t.Workers, needs: []string{t.Java},
		build: func(_ context.Context, dir string, m *model) error {
			source, err := modules.ReadFile(m.module + ".tla")
			if err != nil {
				return err
			}
			if err := write(dir, m.module+".tla", string(source)); err != nil {
				return err
			}
			return write(dir, "m.cfg", m.config())
		},
		run: func(ctx context.Context, dir string, m *model) (*outcome, error) {
			r, err := t.Check(ctx, dir, filepath.Join(dir, "m.cfg"), filepath.Join(dir, m.module+".tla"))
			if err != nil {
				return nil, err
			}
			return &outcome{distinct: r.Distinct, steps: r.Generated - 1, run: r.Run}, nil
		},
	}
}

func write(dir, name, text string) error {
	return os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644)
}

func number(s string) uint64 {
	n, _ := strconv.ParseUint(s, 10, 64)
	return n
}
