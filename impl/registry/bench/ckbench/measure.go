package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quorate/quorate/impl/node"
	"github.com/quorate/quorate/impl/registry"
	"github.com/quorate/quorate/impl/registry/journal"
	"github.com/quorate/quorate/impl/registry/objects"
	"github.com/quorate/quorate/impl/registry/state"
)

// sample is what is measured of a shape.
type sample struct {
	shape
	raw, stored int64
	// Of each checkpoint.
	total, work, capture, pause []time.Duration
	// Of writes and reads while nothing else is done, and while a checkpoint is made.
	writeIdle, writeDuring, readIdle, readDuring []time.Duration
	// Start from the whole journal, and from an image with a tail of so many records.
	without, with time.Duration
	tail          int64
}

// result is what is told of it.
type result struct {
	Rows, Payload, Factor int
	Raw, Stored           int64
	Checkpoints           int
	// Medians of the checkpoints, and the longest transaction during any.
	Total, Work, Capture, Pause                  time.Duration
	WriteIdle, WriteDuring, ReadIdle, ReadDuring latency
	Without, With                                time.Duration
	Tail                                         int64
	// Load average when it was measured.
	Load string
}

func (r *result) shape() shape { return shape{r.Rows, r.Payload, r.Factor} }

func (r *sample) result() result {
	return result{
		Rows: r.rows, Payload: r.payload, Factor: r.factor, Raw: r.raw, Stored: r.stored, Checkpoints: len(r.total),
		Total: median(r.total), Work: median(r.work), Capture: median(r.capture), Pause: quantile(r.pause, 1),
		WriteIdle: latencyOf(r.writeIdle), WriteDuring: latencyOf(r.writeDuring), ReadIdle: latencyOf(r.readIdle), ReadDuring: latencyOf(r.readDuring),
		Without: r.without, With: r.with, Tail: r.tail, Load: load(),
	}
}

// latency is of N calls: the middle, the slowest of a hundred, the slowest of all, and how many
// were slow.
type latency struct {
	N              int
	P50, P99, P100 time.Duration
	Slow           int
}

// slow is what no write should take.
const slow = 50 * time.Millisecond

func latencyOf(d []time.Duration) latency {
	l := latency{N: len(d), P50: quantile(d, 0.5), P99: quantile(d, 0.99), P100: quantile(d, 1)}
	for _, took := range d {
		if took > slow {
			l.Slow++
		}
	}
	return l
}

// enough are so many reads that a hundredth of them is more than chance. Latencies are taken
// with and without a checkpoint in turns, each turn as long as the other: what else the
// machine does falls on both.
const (
	enough = 3000
	fewest = 3  // checkpoints, unless one of them has ten times as many reads
	most   = 40 // checkpoints
	// A turn without a checkpoint is no shorter and no longer than this.
	shortTurn, longTurn = 200 * time.Millisecond, 20 * time.Second
)

// filler is text that compresses about as well as schemas do.
func filler(r *rand.Rand, size int) string {
	words := []string{`"name":`, `"type":`, `"string",`, `"long",`, `{"fields":[`, `"record",`, `"doc":"`, `"null",`}
	var b strings.Builder
	for b.Len() < size {
		b.WriteString(words[r.IntN(len(words))])
		fmt.Fprintf(&b, "%x", r.Uint32())
	}
	return b.String()[:size]
}

// history writes the journal that leads to a shape. Of each row there are as many records
// as its factor: the schema is registered, deleted, registered again, and so on.
func history(ctx context.Context, k *journal.KRaft, s shape) error {
	r := rand.New(rand.NewPCG(1, uint64(s.rows*s.factor)))
	var batch [][]byte
	size := 0
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		_, err := k.AppendAll(ctx, batch)
		batch, size = batch[:0], 0
		return err
	}
	add := func(op state.Op) error {
		b, err := op.Encode()
		if err != nil {
			return err
		}
		batch, size = append(batch, b), size+len(b)
		if len(batch) >= 500 || size > 500_000 {
			return flush()
		}
		return nil
	}
	for row := range s.rows {
		subject := fmt.Sprintf("subject-%07d", row)
		for n := range s.factor {
			op := state.Op{Type: state.OpRegister, Subject: subject, SchemaType: "AVRO", Schema: fmt.Sprintf("%d %d ", row, n) + filler(r, s.payload)}
			switch left := s.factor - n - 1; {
			case left == 0 || left%3 == 0:
			case left%3 == 2:
				op = state.Op{Type: state.OpDeleteVersion, Subject: subject}
			default:
				op = state.Op{Type: state.OpDeleteVersion, Subject: subject, Version: (n + 1) / 3, Permanent: true}
			}
			if err := add(op); err != nil {
				return err
			}
		}
	}
	return flush()
}

// measure measures a shape. That the rows are those of a full replay is part of it.
func measure(ctx context.Context, dir string, s shape) (r sample, err error) {
	r.shape = s
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return r, err
	}
	k, err := journal.OpenKRaft(node.Config{
		ID: 1, Dir: filepath.Join(dir, "journal"), ClusterID: "bench", Listener: l, Voters: []node.Voter{{ID: 1, Addr: l.Addr().String()}},
	}, nil)
	if err != nil {
		return r, err
	}
	defer k.Kill()
	store, err := objects.NewDir(filepath.Join(dir, "images"))
	if err != nil {
		return r, err
	}
	if _, err := k.ID(ctx); err != nil {
		return r, err
	}
	if err := history(ctx, k, s); err != nil {
		return r, fmt.Errorf("write the journal: %w", err)
	}
	cfg := registry.Config{Dir: filepath.Join(dir, "a"), Journal: k, Objects: store}
	began := time.Now()
	a, err := start(ctx, cfg)
	if err != nil {
		return r, err
	}
	defer a.Close()
	r.without = time.Since(began)
	if err := r.load(ctx, a); err != nil {
		return r, err
	}
	// A tail, and a start with it; the last write of the load may still be under way.
	bounds, err := k.Bounds(ctx)
	if err != nil {
		return r, err
	}
	if err := a.WaitApplied(ctx, bounds.End-1); err != nil {
		return r, err
	}
	last, err := a.Checkpoint(ctx)
	if err != nil {
		return r, err
	}
	r.raw, r.stored = last.Raw, last.Size
	r.tail = int64(min(10_000, max(100, s.records()/10)))
	if err := history(ctx, k, shape{rows: int(r.tail), payload: s.payload, factor: 1}); err != nil {
		return r, err
	}
	cfg.Dir = filepath.Join(dir, "b")
	began = time.Now()
	b, err := start(ctx, cfg)
	if err != nil {
		return r, err
	}
	defer b.Close()
	r.with = time.Since(began)
	if b.Began().From == nil || b.Replayed() != r.tail {
		return r, fmt.Errorf("it replayed %d records, and the tail is %d", b.Replayed(), r.tail)
	}
	if err := a.WaitApplied(ctx, b.Next()-1); err != nil {
		return r, err
	}
	one, err := a.DB().Digest(ctx)
	if err != nil {
		return r, err
	}
	two, err := b.DB().Digest(ctx)
	if err == nil && one != two {
		err = errors.New("the rows are others than those of a full replay")
	}
	return r, err
}

func start(ctx context.Context, cfg registry.Config) (*registry.Instance, error) {
	i, err := registry.Start(cfg)
	if err != nil {
		return nil, err
	}
	select {
	case <-i.Ready():
		return i, nil
	case <-i.Done():
		return nil, errors.Join(i.Err(), errors.New("it did not start"))
	case <-ctx.Done():
		return nil, errors.Join(ctx.Err(), i.Close())
	}
}

// load takes latencies of a writer and a reader, without and with checkpoints.
func (r *sample) load(ctx context.Context, a *registry.Instance) error {
	running, cancel := context.WithCancel(ctx) // no write is given up: it might yet happen
	var mu sync.Mutex
	var during bool
	var failed error
	keep := func(idle, busy *[]time.Duration, began time.Time) {
		took := time.Since(began)
		mu.Lock()
		defer mu.Unlock()
		if during {
			*busy = append(*busy, took)
		} else {
			*idle = append(*idle, took)
		}
	}
	var wg sync.WaitGroup
	loop := func(every time.Duration, f func(n int) error) {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for n := 0; ; n++ {
			select {
			case <-running.Done():
				return
			case <-tick.C:
			}
			if err := f(n); err != nil && ctx.Err() == nil {
				mu.Lock()
				failed = err
				mu.Unlock()
				return
			}
		}
	}
	text := filler(rand.New(rand.NewPCG(3, 3)), r.payload)
	settle()
	wg.Go(func() {
		loop(5*time.Millisecond, func(n int) error {
			began := time.Now()
			_, _, err := a.Write(ctx, state.Op{Type: state.OpRegister, Subject: "load", SchemaType: "AVRO", Schema: fmt.Sprint(n, text, r.total)})
			keep(&r.writeIdle, &r.writeDuring, began)
			return err
		})
	})
	wg.Go(func() {
		random := rand.New(rand.NewPCG(4, 4))
		loop(2*time.Millisecond, func(int) error {
			began := time.Now()
			_, err := a.DB().Version(ctx, fmt.Sprintf("subject-%07d", random.IntN(r.rows)), 0, false)
			keep(&r.readIdle, &r.readDuring, began)
			return err
		})
	})
	defer wg.Wait()
	defer cancel()
	count := func(reads *[]time.Duration) int {
		mu.Lock()
		defer mu.Unlock()
		return len(*reads)
	}
	more := func() bool {
		n := count(&r.readDuring)
		return len(r.total) == 0 || n < enough && len(r.total) < most || n < 10*enough && len(r.total) < fewest
	}
	for more() {
		mu.Lock()
		during = true
		mu.Unlock()
		began := time.Now()
		c, err := a.Checkpoint(ctx)
		took := time.Since(began)
		mu.Lock()
		during = false
		r.total, r.work, r.capture, r.pause = append(r.total, took), append(r.work, took-c.Rested), append(r.capture, c.Capture), append(r.pause, a.Pause())
		err = errors.Join(err, failed)
		mu.Unlock()
		if err != nil {
			return err
		}
		time.Sleep(min(max(took, shortTurn), longTurn))
	}
	for count(&r.readIdle) < enough && ctx.Err() == nil {
		time.Sleep(shortTurn)
	}
	return nil
}

// quantile of durations, 0 of none.
func quantile(d []time.Duration, q float64) time.Duration {
	if len(d) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(d))
	return s[min(int(q*float64(len(s))), len(s)-1)]
}

func median(d []time.Duration) time.Duration { return quantile(d, 0.5) }
