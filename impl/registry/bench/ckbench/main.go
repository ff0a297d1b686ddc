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
	only := flag.String("only", "", "rows, bytes and records of each of the only shape that is measured, as 100000x1000x1; none: all")
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
	if err := run(*out, *scratch, list); err != nil {
		fmt.Fprintln(os.Stderr, "ckbench:", err)
		os.Exit(1)
	}
}

func run(out, scratch string, list []shape) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	began := time.Now()
	dir, err := os.MkdirTemp(scratch, "ckbench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var all []result
	for n, s := range list {
		r, err := measure(ctx, filepath.Join(dir, fmt.Sprint(n)), s)
		if err != nil {
			return fmt.Errorf("%d rows of %d bytes, %d records for each: %w", s.rows, s.payload, s.factor, err)
		}
		all = append(all, r)
		fmt.Fprintf(os.Stderr, "%4.0f s: %d rows of %d bytes, %d records for each: replay %.2f s, checkpoint %.3f s, start %.3f s\n",
			time.Since(began).Seconds(), s.rows, s.payload, s.factor, r.without.Seconds(), median(r.total).Seconds(), r.with.Seconds())
		if err := os.RemoveAll(filepath.Join(dir, fmt.Sprint(n))); err != nil {
			return err
		}
		// After each, so that a run that is ended has told what it knows.
		if err := publish(out, all, time.Since(began)); err != nil {
			return err
		}
	}
	return nil
}

// publish writes table and plots, or prints the table.
func publish(out string, all []result, took time.Duration) error {
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b result) int {
		return cmp.Or(a.factor-b.factor, a.payload-b.payload, a.rows-b.rows)
	})
	var b strings.Builder
	fmt.Fprintf(&b, "Measured by `ckbench`, %d CPUs (%s), %s, load average at the end %s, %.0f s in all.\n\n",
		runtime.NumCPU(), cpu(), runtime.Version(), load(), took.Seconds())
	report(&b, sorted)
	if out == "" {
		fmt.Print(b.String())
		return nil
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(out, "results.md"), []byte(b.String()), 0o644); err != nil {
		return err
	}
	return plots(out, sorted)
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
