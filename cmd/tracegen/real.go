package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/quorate/quorate/checker/linear"
	"github.com/quorate/quorate/impl/node/daemon"
	"github.com/quorate/quorate/traces/event"
	"github.com/quorate/quorate/traces/history"
)

// nodeVariable in the environment makes this program one node of a run: so it needs
// no other binary. The node ends when its standard input does, which is when the
// program that started it is gone, however that came about.
const nodeVariable = "QUORATE_TRACEGEN_NODE"

func init() {
	modes = append(modes, newReal)
	if os.Getenv(nodeVariable) == "" {
		return
	}
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(exitViolated)
	}()
	os.Exit(daemon.Start("node", os.Args[1:], os.Stdout, os.Stderr))
}

// realRun is the mode that records runs of real processes: sockets, files, and
// kill -9 under load. The seed chooses victims and clients' operations; the run
// itself happens as it happens.
type realRun struct {
	nodes, crashes, seconds, workers int
	seed                             uint64
	snapshots                        int64
	faults                           string
}

func newReal(flags *flag.FlagSet) mode {
	r := &realRun{}
	flags.IntVar(&r.nodes, "nodes", 0, "record a run of so many real processes, 1 to 8")
	flags.IntVar(&r.crashes, "crashes", 3, "with -nodes: how many faults there are, spread over the run. A kill is of one node, every other time the leader, and one time in six of all")
	flags.StringVar(&r.faults, "faults", faultKill, "with -nodes: which faults, a list with commas: "+strings.Join(allFaults, ", ")+"; or all of them")
	flags.IntVar(&r.seconds, "seconds", 10, "with -nodes: time under load, in seconds")
	flags.IntVar(&r.workers, "workers", 8, "with -nodes: concurrent clients")
	flags.Int64Var(&r.snapshots, "snapshot-bytes", 0, "with -nodes: bytes of records between two snapshots, where the log then starts; 0: none. Some processes then stay down for longer")
	flags.Uint64Var(&r.seed, "seed", 1, "with -nodes: whom to kill and what to ask; names the directory real-SEED")
	return r
}

func (r *realRun) asked() bool { return r.nodes != 0 }

func (r *realRun) name() string { return "nodes" }

const (
	// spare is how much longer than asked a run may take, to start and to converge.
	spare = 60 * time.Second
	// maxRealNodes is what the specification has room for.
	maxRealNodes = 8
)

func (r *realRun) run(out string, stdout, stderr io.Writer) (int, error) {
	switch {
	case r.nodes < 1 || r.nodes > maxRealNodes:
		return exitUsage, fmt.Errorf("-nodes %d: want 1 to %d", r.nodes, maxRealNodes)
	case r.crashes < 0 || r.crashes > 10_000:
		return exitUsage, fmt.Errorf("-crashes %d: want 0 to 10000", r.crashes)
	case r.seconds < 1 || r.seconds > 24*3600:
		return exitUsage, fmt.Errorf("-seconds %d: want 1 to a day", r.seconds)
	case r.snapshots < 0:
		return exitUsage, fmt.Errorf("-snapshot-bytes %d: want at least 0", r.snapshots)
	case r.workers < 1 || r.workers > 1000:
		return exitUsage, fmt.Errorf("-workers %d: want 1 to 1000", r.workers)
	}
	faults, err := parseFaults(r.faults)
	if err != nil {
		return exitUsage, err
	}
	dir := filepath.Join(out, fmt.Sprintf("real-%d", r.seed))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return exitUsage, fmt.Errorf("%w (runs are not overwritten)", err)
	}
	work, err := os.MkdirTemp("", "tracegen-")
	if err != nil {
		return exitUsage, err
	}
	defer os.RemoveAll(work)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, time.Duration(r.seconds)*time.Second+spare)
	defer cancel()

	c, err := newProcesses(r.nodes, dir, work, r.snapshots, slices.ContainsFunc(faults, isOfNetwork))
	if err != nil {
		return exitUsage, err
	}
	defer func() {
		c.killAll()
		if err := c.close(); err != nil {
			fmt.Fprintf(stderr, "tracegen: real %d: %v\n", r.seed, err)
		}
	}()
	x := &chaos{c: c, long: r.snapshots > 0, counts: map[string]int{}, skipped: map[string]string{}}
	if slices.Contains(faults, faultFull) {
		if err := c.newDisks(); errors.Is(err, errNoFault) {
			x.skipped[faultFull] = err.Error()
			fmt.Fprintf(stdout, "real %-4d SKIPPED: faults of kind full: %v\n", r.seed, err)
		} else if err != nil {
			return exitUsage, err
		}
	}
	if err := r.writeInfo(dir); err != nil {
		return exitUsage, err
	}
	load := newLoad(c, r.seed)
	x.load = load
	broken, err := r.underLoad(ctx, x, faults)
	if err != nil {
		return exitUsage, err
	}
	about := ""
	if r.snapshots > 0 {
		if about, err = aboutSnapshots(dir, r.nodes); err != nil {
			return exitUsage, err
		}
	}
	for id := 1; id <= r.nodes && broken == nil; id++ {
		if err := compressFile(filepath.Join(dir, fmt.Sprintf("node-%d.events", id))); err != nil {
			return exitUsage, err
		}
	}
	load.history.Header = history.Header{Run: fmt.Sprintf("real %d", r.seed), Clock: "ns"}
	load.failovers()
	if err := writeHistory(filepath.Join(dir, "history.ndjson.zst"), &load.history); err != nil {
		return exitUsage, err
	}
	verdict := "-"
	if broken == nil {
		if err := history.WriteLog(filepath.Join(dir, history.LogFile+".ndjson.zst"), load.committed); err != nil {
			return exitUsage, err
		}
		report, err := history.Check(&load.history, load.committed, history.Options{Whole: true})
		switch {
		case err != nil:
			return exitUsage, err
		case report.Verdict == linear.NotLinearizable:
			broken = fmt.Errorf("history is not linearizable: %s", report.Why)
		}
		verdict = fmt.Sprint(report.Verdict)
	}
	s := load.stats()
	fmt.Fprintf(stdout, "real %-4d %d nodes: killed %d, started %d;%s committed %d; appends acked %d unknown %d failed %d; reads %d failed %d;%s %s\n",
		r.seed, r.nodes, c.killed, c.started, x.text(c.net), len(load.committed), s[appendAcked], s[appendUnknown], s[appendFailed], s[readOK], s[readFailed], about, verdict)
	if broken != nil {
		fmt.Fprintf(stderr, "tracegen: real %d: %v\n", r.seed, broken)
		return exitViolated, nil
	}
	return exitOK, nil
}

// aboutSnapshots counts what the traces of a run say of snapshots.
func aboutSnapshots(dir string, nodes int) (string, error) {
	counts := map[string]int{}
	events := 0
	for id := 1; id <= nodes; id++ {
		r, err := event.Open(filepath.Join(dir, fmt.Sprintf("node-%d.events", id)))
		if err != nil {
			return "", err
		}
		for e, err := range r.All() {
			if err != nil {
				break // a line that a kill cut off is the judge's business
			}
			counts[e.Action]++
			events++
		}
		if err := r.Close(); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf(" events %d; snapshots taken %d installed %d, log starts moved %d;",
		events, counts["TakeSnapshot"], counts["InstallSnapshot"], counts["AdvanceLogStart"]), nil
}

// compressFile puts a compressed file in the place of one that a process wrote.
func compressFile(path string) error {
	from, err := os.Open(path)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := createFile(path+".zst", true)
	if err != nil {
		return err
	}
	if _, err := io.Copy(to, from); err != nil {
		return errors.Join(err, to.Close())
	}
	if err := to.Close(); err != nil {
		return err
	}
	return os.Remove(path)
}

// writeInfo writes run.json, as the simulated mode does.
func (r *realRun) writeInfo(dir string) error {
	info := runInfo{Kind: "real", Seed: r.seed, PreVote: true}
	for i := range r.nodes {
		info.Voters = append(info.Voters, int32(i+1))
		info.Nodes = append(info.Nodes, nodeKey{ID: int32(i + 1)})
	}
	text, err := json.MarshalIndent(info, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "run.json"), append(text, '\n'), 0o644)
}

// underLoad runs the processes, kills some, and lets them come to rest. broken is
// what no run may show; an error is that this one could not be made.
func (r *realRun) underLoad(ctx context.Context, x *chaos, faults []string) (broken, err error) {
	c, load := x.c, x.load
	for i := range c.all {
		if err := c.start(i); err != nil {
			return nil, err
		}
	}
	working, rest := context.WithTimeout(ctx, time.Duration(r.seconds)*time.Second)
	defer rest()
	var wg sync.WaitGroup
	for w := range r.workers {
		wg.Go(func() { load.work(working, w) })
	}
	err = x.run(working, r.seed, faults, r.crashes, time.Duration(r.seconds)*time.Second)
	rest()
	wg.Wait()
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("the run was ended: %w", err)
	}
	for i := range c.all {
		if err := c.start(i); err != nil {
			return nil, err
		}
	}
	if err := load.converge(ctx); err != nil {
		if ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return nil, err
		}
		return errors.Join(err, c.fullDisks(), c.deaths()), nil
	}
	return c.stopAll(), nil
}

// sleep waits, unless the context ends before.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

func writeHistory(path string, h *history.History) error {
	w, err := history.Create(path, h.Header)
	if err != nil {
		return err
	}
	return errors.Join(h.Write(w), w.Close())
}
