// Command ckbench measures what checkpoints cost and what they save, over databases of
// different sizes, and writes a table (Markdown) and plots (SVG):
//
//	go run ./bench/ckbench -out ../../docs/registry
//
// The journal is the embedded one, each write flushed; the images go to a directory, each
// flushed. Everything is made from a seed; the times are the machine's.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/quorate/quorate/impl/registry/cli"
)

// shape is a database and the journal that leads to it.
type shape struct {
	rows, payload, factor int
}

func (s shape) records() int { return s.rows * s.factor }

// shapes are all combinations whose journal has at most so many records, the small ones
// first.
func shapes(most int) (all []shape) {
	for _, f := range []int{1, 10} {
		for _, p := range []int{100, 1000} {
			for _, r := range []int{1_000, 10_000, 100_000, 1_000_000} {
				if s := (shape{r, p, f}); s.records() <= most {
					all = append(all, s)
				}
			}
		}
	}
	slices.SortStableFunc(all, func(a, b shape) int { return a.records() - b.records() })
	return all
}

func main() {
	out := flag.String("out", "", "directory of the table and the plots; none: only print")
	most := flag.Int("most", 1_000_000, "records of the longest journal")
	only := flag.String("only", "", "rows, bytes and records of each of the only shape that is measured anew, as 100000x1000x1; none: all")
	scratch := flag.String("scratch", "", "directory for journals and databases, which needs 5 GB (a temporary one)")
	flag.Parse()
	runtime.GOMAXPROCS(runtime.NumCPU() + cli.SpareThreads) // as the registry does
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))
	list := shapes(*most)
	if *only != "" {
		var s shape
		if n, err := fmt.Sscanf(*only, "%dx%dx%d", &s.rows, &s.payload, &s.factor); n != 3 || s.rows < 1 || s.payload < 1 || s.factor < 1 {
			fmt.Fprintf(os.Stderr, "ckbench: -only %q: want rows, bytes and records of each, as 100000x1000x1 (%v)\n", *only, err)
			os.Exit(2)
		}
		list = []shape{s}
	}
	if err := run(*out, *scratch, list, *only != ""); err != nil {
		fmt.Fprintln(os.Stderr, "ckbench:", err)
		os.Exit(1)
	}
}

// run measures shapes. keep: those that are not in the list stay as they were.
func run(out, scratch string, list []shape, keep bool) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	began := time.Now()
	dir, err := os.MkdirTemp(scratch, "ckbench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var all []result
	if keep {
		if all, err = recall(out); err != nil {
			return err
		}
	}
	for n, s := range list {
		taken, err := measure(ctx, filepath.Join(dir, fmt.Sprint(n)), s)
		if err != nil {
			return fmt.Errorf("%d rows of %d bytes, %d records for each: %w", s.rows, s.payload, s.factor, err)
		}
		r := taken.result()
		all = slices.DeleteFunc(all, func(old result) bool { return old.shape() == s })
		all = append(all, r)
		fmt.Fprintf(os.Stderr, "%4.0f s: %d rows of %d bytes, %d records for each: replay %.2f s, checkpoint %.3f s, start %.3f s\n",
			time.Since(began).Seconds(), s.rows, s.payload, s.factor, r.Without.Seconds(), r.Total.Seconds(), r.With.Seconds())
		if err := os.RemoveAll(filepath.Join(dir, fmt.Sprint(n))); err != nil {
			return err
		}
		// After each, so that a run that is ended has told what it knows.
		if err := publish(out, all); err != nil {
			return err
		}
	}
	return nil
}

// recall reads what was measured before.
func recall(out string) (all []result, err error) {
	b, err := os.ReadFile(filepath.Join(out, "results.json"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &all)
	}
	return all, err
}

// publish writes table and plots, and the numbers for a run that measures some of them anew,
// or prints the table.
func publish(out string, all []result) error {
	slices.SortStableFunc(all, func(a, b result) int {
		return cmp.Or(a.Factor-b.Factor, a.Payload-b.Payload, a.Rows-b.Rows)
	})
	var b strings.Builder
	fmt.Fprintf(&b, "# What checkpoints cost and save\n\nMeasured by `ckbench`, %d CPUs (%s), %s; the command is in [registry.md](../registry.md).\n\n", runtime.NumCPU(), cpu(), runtime.Version())
	report(&b, all)
	if out == "" {
		fmt.Print(b.String())
		return nil
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	numbers, err := json.MarshalIndent(all, "", "\t")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(out, "results.json"), append(numbers, '\n'), 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(out, "results.md"), []byte(b.String()), 0o644); err != nil {
		return err
	}
	return plots(out, all)
}

// cpu is what the processor calls itself.
func cpu() string {
	b, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	for line := range strings.Lines(string(b)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

// load is the load average of a minute, "unknown" where it is not told.
func load() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(b), " ")
	return first
}
