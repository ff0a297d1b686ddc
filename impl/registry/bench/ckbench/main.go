// Command ckbench measures what checkpoints cost and what they save, over databases of
// different sizes, and writes a table (Markdown) and plots (SVG):
//
//	go run ./bench/ckbench -out ../../docs/registry
//
// The journal is the embedded one, each write flushed; the images go to a directory, each
// flushed. Everything is made from a seed; the times are the machine's.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/quorate/quorate/impl/registry/cli"
)

// shape is a database and the journal that leads to it.
type shape struct {
	rows, payload, factor int
}

func (s shape) records() int { return s.rows * s.factor }

// shapes are all combinations whose journal is small enough.
func shapes(quick bool) (all []shape) {
	rows, payloads := []int{1_000, 10_000, 100_000, 1_000_000}, []int{100, 1000}
	most := 1_000_000
	if quick {
		rows, most = rows[:2], 20_000
	}
	for _, f := range []int{1, 10} {
		for _, p := range payloads {
			for _, r := range rows {
				if s := (shape{r, p, f}); s.records() <= most {
					all = append(all, s)
				}
			}
		}
	}
	return all
}

func main() {
	out := flag.String("out", "", "directory of the table and the plots; none: only print")
	quick := flag.Bool("quick", false, "small databases only: seconds instead of minutes")
	scratch := flag.String("scratch", "", "directory for journals and databases, which needs 5 GB (a temporary one)")
	flag.Parse()
	runtime.GOMAXPROCS(runtime.NumCPU() + cli.SpareThreads) // as the registry does
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err := run(*out, *scratch, *quick); err != nil {
		fmt.Fprintln(os.Stderr, "ckbench:", err)
		os.Exit(1)
	}
}

func run(out, scratch string, quick bool) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	began := time.Now()
	dir, err := os.MkdirTemp(scratch, "ckbench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var all []result
	for n, s := range shapes(quick) {
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
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Measured by `ckbench`, %d CPUs (%s), %s, load average at the end %s, %.0f s in all.\n\n",
		runtime.NumCPU(), cpu(), runtime.Version(), load(), time.Since(began).Seconds())
	report(&b, all)
	fmt.Print(b.String())
	if out == "" {
		return nil
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
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
