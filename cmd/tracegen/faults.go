package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quorate/quorate/traces/history"
)

// Faults that a run can have.
const (
	faultKill  = "kill"  // kill -9, and a start
	faultPause = "pause" // SIGSTOP, and SIGCONT
	faultFull  = "full"  // no space left on the disk of a node, which ends, and starts when there is
	faultCut   = "cut"   // nothing arrives, of one or both directions between two groups of nodes
	faultDrop  = "drop"  // some messages do not arrive, between any nodes
	faultDelay = "delay" // messages arrive late, between any nodes
)

var (
	allFaults     = []string{faultKill, faultPause, faultFull, faultCut, faultDrop, faultDelay}
	networkFaults = []string{faultCut, faultDrop, faultDelay}
)

func isOfNetwork(fault string) bool { return slices.Contains(networkFaults, fault) }

// parseFaults reads a list with commas, or all.
func parseFaults(list string) ([]string, error) {
	if list == "all" {
		return allFaults, nil
	}
	var faults []string
	for f := range strings.SplitSeq(list, ",") {
		if !slices.Contains(allFaults, f) {
			return nil, fmt.Errorf("-faults: no fault %q; there are all, %s", f, strings.Join(allFaults, ", "))
		}
		if !slices.Contains(faults, f) {
			faults = append(faults, f)
		}
	}
	return faults, nil
}

// errNoFault says that a fault cannot be made here, and why.
var errNoFault = errors.New("cannot be made on this system")

// chaos makes the faults of a run: those of processes and those of the network each one
// after the other, both at the same time.
type chaos struct {
	c      *processes
	load   *load
	long   bool // some processes stay down until they need a snapshot
	counts map[string]int
	// skipped are faults that cannot be made here, and why.
	skipped map[string]string
}

// run makes count faults, spread over a time, in an order that the seed says.
func (x *chaos) run(ctx context.Context, seed uint64, faults []string, count int, span time.Duration) error {
	var process, network []string
	for _, f := range faults {
		switch {
		case x.skipped[f] != "":
		case isOfNetwork(f):
			network = append(network, f)
		default:
			process = append(process, f)
		}
	}
	// As many of each kind, as long as there are kinds of both.
	n := count * len(process) / max(1, len(process)+len(network))
	var wg sync.WaitGroup
	var mu sync.Mutex
	var failed error
	part := func(stream uint64, kinds []string, n int) {
		if len(kinds) == 0 || n == 0 {
			return
		}
		random := rand.New(rand.NewPCG(seed, stream))
		slot := span / time.Duration(n+1)
		for i := range n {
			// In its slot at random, with time left to start again and to elect.
			until := x.load.began.Add(time.Duration(i)*slot + slot/2 + time.Duration(random.Int64N(int64(slot)/2+1)))
			if !sleep(ctx, time.Until(until)) {
				return
			}
			err := x.fault(ctx, kinds[i%len(kinds)], random, slot)
			mu.Lock()
			if err != nil && failed == nil {
				failed = err
			}
			x.counts[kinds[i%len(kinds)]]++
			mu.Unlock()
			if err != nil {
				return
			}
		}
	}
	wg.Go(func() { part(1, process, n) })
	wg.Go(func() { part(3, network, count-n) })
	wg.Wait()
	if failed != nil {
		return failed
	}
	<-ctx.Done()
	return nil
}

// fault makes one fault, which lasts no longer than its slot.
func (x *chaos) fault(ctx context.Context, kind string, random *rand.Rand, slot time.Duration) error {
	from := x.load.now()
	lasts := min(between(random, 200, 2500), slot)
	note := ""
	var err error
	switch kind {
	case faultKill:
		return x.kill(ctx, random)
	case faultPause:
		i := random.IntN(len(x.c.all))
		note = fmt.Sprintf("node %d", i+1)
		if err = x.c.signal(i, stopSignal); err == nil {
			sleep(ctx, lasts)
			err = x.c.signal(i, continueSignal)
		}
	case faultFull:
		i := random.IntN(len(x.c.all))
		note = fmt.Sprintf("node %d", i+1)
		err = x.full(ctx, i, lasts)
	default:
		note = x.disturb(kind, random)
		sleep(ctx, lasts)
		x.c.net.heal()
	}
	x.load.mark(history.Mark{What: kind, From: from, To: x.load.now(), Note: note})
	return err
}

// between is a time from least to most milliseconds.
func between(random *rand.Rand, least, most int) time.Duration {
	return time.Duration(least+random.IntN(most-least)) * time.Millisecond
}

// kill kills one node, every other time the leader, and one time in six all, and starts
// them again.
func (x *chaos) kill(ctx context.Context, random *rand.Rand) error {
	victims := []int{random.IntN(len(x.c.all))}
	leader := x.load.leader(ctx)
	switch {
	case random.IntN(6) == 0:
		victims = random.Perm(len(x.c.all))
	case leader >= 0 && random.IntN(2) == 0:
		victims[0] = leader
	}
	from := x.load.now()
	for _, v := range victims {
		x.c.kill(v)
		if v == leader {
			x.load.mark(history.Mark{What: history.LeaderChange, From: from, To: from, Note: fmt.Sprintf("node %d led", v+1)})
		}
	}
	down := between(random, 50, 650)
	if x.long && random.IntN(3) == 0 {
		down += 3 * time.Second // long enough to need a snapshot
	}
	if !sleep(ctx, down) {
		return nil
	}
	for _, v := range victims {
		if err := x.c.start(v); err != nil {
			return err
		}
		x.load.mark(history.Mark{What: "crash", From: from, To: x.load.now(), Note: fmt.Sprintf("node %d", v+1)})
	}
	return nil
}

// disturb has the network be bad in a way, and says how.
func (x *chaos) disturb(kind string, random *rand.Rand) (note string) {
	n := len(x.c.all)
	if kind != faultCut {
		c := condition{loss: 0.05 + 0.4*random.Float64()}
		note = fmt.Sprintf("%.0f %% of all messages", 100*c.loss)
		if kind == faultDelay {
			c = condition{delay: between(random, 20, 600)}
			note = fmt.Sprintf("all messages, by up to %v", c.delay)
		}
		for a := range n {
			for b := range n {
				x.c.net.links[a][b].set(c)
			}
		}
		return note
	}
	// Every other time the leader is one of those that are cut off.
	order := random.Perm(n)
	size := 1 + random.IntN(max(1, n-1))
	side := map[int]bool{}
	for _, i := range order[:size] {
		side[i] = true
	}
	out, in := true, true // from the side, and to it
	switch random.IntN(3) {
	case 0:
		out = false
	case 1:
		in = false
	}
	var ids []string
	for a := range n {
		if side[a] {
			ids = append(ids, fmt.Sprint(a+1))
		}
		for b := range n {
			if side[a] != side[b] && (side[a] && out || side[b] && in) {
				x.c.net.links[a][b].set(condition{cut: true})
			}
		}
	}
	switch {
	case !in:
		note = "from nodes "
	case !out:
		note = "to nodes "
	default:
		note = "to and from nodes "
	}
	return note + strings.Join(ids, ", ")
}

// full leaves no space on the disk of a node for a time. The node ends by it, if it has
// anything to write, says why, and is started again. One that ends and does not say so
// is among those that died.
func (x *chaos) full(ctx context.Context, i int, d time.Duration) error {
	p := x.c.all[i]
	x.c.mu.Lock()
	p.filled = true
	x.c.mu.Unlock()
	if err := p.disk.fill(); err != nil {
		return err
	}
	sleep(ctx, d)
	if err := p.disk.free(); err != nil {
		return err
	}
	sleep(ctx, 300*time.Millisecond) // it may be about to end
	return x.c.start(i)
}

// text is how many faults of each kind there were, and which could not be made.
func (x *chaos) text(w *network) string {
	var parts []string
	for _, f := range allFaults {
		if n := x.counts[f]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", f, n))
		}
	}
	s := ""
	if len(parts) > 0 {
		s = " faults: " + strings.Join(parts, ", ") + ";"
	}
	if w != nil {
		s += fmt.Sprintf(" messages passed %d, dropped %d, delayed %d;", w.passed.Load(), w.dropped.Load(), w.delayed.Load())
	}
	return s
}
