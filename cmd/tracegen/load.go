package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/quorate/quorate/checker/linear"
	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/node"
	"github.com/quorate/quorate/traces/history"
)

const (
	opTimeout = time.Second
	// pause is the longest time that a client thinks between two operations.
	pause = 20 * time.Millisecond
)

// load is the clients of a run and what they saw.
type load struct {
	c     *processes
	seed  uint64
	began time.Time

	mu        sync.Mutex
	history   history.History // guarded by mu
	committed []history.Record
}

func newLoad(c *processes, seed uint64) *load {
	return &load{c: c, seed: seed, began: time.Now()}
}

// now is the time of the history.
func (l *load) now() int64 { return int64(time.Since(l.began)) }

func (l *load) record(op history.Op) {
	l.mu.Lock()
	l.history.Ops = append(l.history.Ops, op)
	l.mu.Unlock()
}

func (l *load) mark(m history.Mark) {
	l.mu.Lock()
	l.history.Marks = append(l.history.Marks, m)
	l.mu.Unlock()
}

// failovers ends each change of leader where an operation that began after it
// succeeded.
func (l *load) failovers() {
	for i := range l.history.Marks {
		m := &l.history.Marks[i]
		if m.What != history.LeaderChange {
			continue
		}
		m.To = l.now()
		for _, op := range l.history.Ops {
			if op.Call > m.From && op.Outcome == linear.Known && op.Return < m.To {
				m.To = op.Return
			}
		}
	}
}

// worker is one client: one operation after the other, of whom it takes for the
// leader.
type worker struct {
	l       *load
	client  int32
	count   int
	random  *rand.Rand
	target  int
	clients []*node.Client
}

func (l *load) newWorker(n int) *worker {
	return &worker{
		l: l, client: int32(n), random: rand.New(rand.NewPCG(l.seed, uint64(n)+2)),
		clients: make([]*node.Client, len(l.c.all)),
	}
}

// work appends unique values and reads until the context ends.
func (l *load) work(ctx context.Context, n int) {
	w := l.newWorker(n)
	defer w.close()
	for sleep(ctx, time.Duration(w.random.Int64N(int64(pause)))) {
		if w.random.IntN(5) < 3 {
			w.append()
		} else {
			w.read()
		}
	}
}

func (w *worker) close() {
	for _, c := range w.clients {
		if c != nil {
			c.Close()
		}
	}
}

func (w *worker) append() bool {
	w.count++
	op := history.Op{Client: w.client, Kind: linear.Append, Value: fmt.Sprintf("%d-%d", w.client, w.count), Call: w.l.now()}
	p, sent, err := w.do(&node.Request{Op: "append", Value: []byte(op.Value)})
	op.Return = w.l.now()
	switch {
	case err == nil && p.Err() == nil:
		op.Outcome, op.Offset = linear.Known, p.Offset
	case err != nil && sent, err == nil && p.Unknown:
		op.Outcome = linear.Unknown
	default:
		op.Outcome = linear.Failed
	}
	w.l.record(op)
	return op.Outcome == linear.Known
}

func (w *worker) read() {
	op := history.Op{Client: w.client, Kind: linear.Read, Call: w.l.now(), Outcome: linear.Failed}
	p, _, err := w.do(&node.Request{Op: "read"})
	op.Return = w.l.now()
	if err == nil && p.Err() == nil {
		op.Outcome, op.Offset, op.Value = linear.Known, p.End, string(p.Value)
	}
	w.l.record(op)
}

// do sends a request to the target and chooses the next target by the answer. sent
// says whether the request may have arrived.
func (w *worker) do(q *node.Request) (p *node.Response, sent bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), opTimeout)
	defer cancel()
	t := w.target
	if w.clients[t] == nil {
		if w.clients[t], err = node.DialClient(ctx, w.l.c.all[t].client); err != nil {
			w.clients[t] = nil
			w.target = w.random.IntN(len(w.clients))
			return nil, false, err
		}
	}
	p, err = w.clients[t].Do(ctx, q)
	switch {
	case err != nil:
		w.clients[t].Close()
		w.clients[t] = nil
		w.target = w.random.IntN(len(w.clients))
	case p.Err() != nil:
		w.target = w.random.IntN(len(w.clients))
		if hint := int(p.Leader) - 1; core.ErrorCode(p.Code) == core.NotLeaderOrFollower && hint >= 0 && hint < len(w.clients) && hint != t {
			w.target = hint
		}
	}
	return p, true, err
}

// states are the states of all nodes, nil for one that does not answer.
func (l *load) states(ctx context.Context) []*node.ClientState {
	states := make([]*node.ClientState, len(l.c.all))
	for i, p := range l.c.all {
		if r, err := ask(ctx, p.client, &node.Request{Op: "state"}); err == nil {
			states[i] = r.State
		}
	}
	return states
}

// ask sends one request on a connection of its own.
func ask(ctx context.Context, addr string, q *node.Request) (*node.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, opTimeout)
	defer cancel()
	c, err := node.DialClient(ctx, addr)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	p, err := c.Do(ctx, q)
	if err == nil {
		err = p.Err()
	}
	return p, err
}

// leader is the node that leads the highest epoch, -1 if none says so.
func (l *load) leader(ctx context.Context) int {
	leader, epoch := -1, int32(-1)
	for i, s := range l.states(ctx) {
		if s != nil && s.Role == core.Leader.String() && s.Epoch > epoch {
			leader, epoch = i, s.Epoch
		}
	}
	return leader
}

// converge waits until a last append is everywhere, and takes down the committed
// log, which must be the same at all nodes.
func (l *load) converge(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, spare/2)
	defer cancel()
	w := l.newWorker(1 << 20)
	defer w.close()
	for !w.append() {
		if !sleep(ctx, 50*time.Millisecond) {
			return errors.New("no append is acknowledged after the faults")
		}
	}
	for !settled(l.states(ctx)) {
		if !sleep(ctx, 20*time.Millisecond) {
			return errors.New("the nodes do not converge after the faults")
		}
	}
	for i, p := range l.c.all {
		log, err := committed(ctx, p.client)
		if err != nil {
			return fmt.Errorf("committed log of node %d: %w", p.id, err)
		}
		if i == 0 {
			l.committed = log
		} else if !slices.Equal(log, l.committed) {
			return fmt.Errorf("nodes 1 and %d have committed different logs", p.id)
		}
	}
	return nil
}

func settled(states []*node.ClientState) bool {
	for _, s := range states {
		if s == nil || s.Applied != s.LogEnd || s.LogEnd != states[0].LogEnd || s.Epoch != states[0].Epoch {
			return false
		}
	}
	return true
}

// committed reads the committed log of a node.
func committed(ctx context.Context, addr string) (log []history.Record, err error) {
	for {
		p, err := ask(ctx, addr, &node.Request{Op: "values", From: int64(len(log))})
		if err != nil {
			return nil, err
		}
		if len(p.Values) == 0 {
			return log, nil
		}
		for _, v := range p.Values {
			for int64(len(log)) < v.Offset {
				log = append(log, history.Record{Internal: true})
			}
			log = append(log, history.Record{Value: string(v.Value)})
		}
	}
}

// What stats counts.
const (
	appendAcked = iota
	appendUnknown
	appendFailed
	readOK
	readFailed
)

func (l *load) stats() (s [readFailed + 1]int) {
	for i := range l.history.Ops {
		op := &l.history.Ops[i]
		switch {
		case op.Kind == linear.Read && op.Outcome == linear.Known:
			s[readOK]++
		case op.Kind == linear.Read:
			s[readFailed]++
		case op.Outcome == linear.Known:
			s[appendAcked]++
		case op.Outcome == linear.Unknown:
			s[appendUnknown]++
		default:
			s[appendFailed]++
		}
	}
	return s
}
