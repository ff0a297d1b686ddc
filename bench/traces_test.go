package bench

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/checker/linear"
	"github.com/quorate/quorate/impl/sim"
	"github.com/quorate/quorate/traces"
	"github.com/quorate/quorate/traces/event"
	"github.com/quorate/quorate/traces/history"
)

// simulated is a run of three voters with crashes, a bad network and four clients.
var simulated = sim.Config{Seed: 7, Voters: 3, Observers: -1, Clients: 4, Duration: 60_000_000}

// recording is that run in memory.
type recording struct {
	run       *traces.Run
	byNode    [3][]event.Event
	events    int64
	history   history.History
	committed []history.Record
	stats     sim.Stats
}

var recorded = sync.OnceValues(func() (*recording, error) {
	setup, err := simulated.Setup()
	if err != nil {
		return nil, err
	}
	r := &recording{run: &traces.Run{Voters: []int32{1, 2, 3}, PreVote: traces.PreVote{All: setup.PreVote}}}
	r.history.Header = history.Header{Run: "bench", Clock: "us"}
	r.stats, err = sim.Run(simulated, sim.Sinks{
		Event: func(e *event.Event) error {
			r.byNode[e.Node.ID-1] = append(r.byNode[e.Node.ID-1], *e)
			r.events++
			return nil
		},
		Return: func(op sim.Operation) error {
			r.history.Ops = append(r.history.Ops, clientOp(op))
			return nil
		},
		Committed: func(offset int64, value []byte) error {
			r.pad(offset)
			r.committed = append(r.committed, history.Record{Value: string(value)})
			return nil
		},
	})
	r.pad(r.stats.Committed)
	return r, err
})

// pad fills the committed log with records of the protocol.
func (r *recording) pad(end int64) {
	for int64(len(r.committed)) < end {
		r.committed = append(r.committed, history.Record{Internal: true})
	}
}

func clientOp(op sim.Operation) history.Op {
	h := history.Op{Client: int32(op.Client), Call: int64(op.Invoked), Return: int64(op.Returned), Value: string(op.Value)}
	if op.Kind == sim.Read {
		h.Kind = linear.Read
	}
	switch op.Outcome {
	case sim.OK:
		h.Outcome, h.Offset = linear.Known, op.Offset
	case sim.Failed:
		h.Outcome = linear.Failed
	default:
		h.Outcome = linear.Unknown
	}
	return h
}

func record(b *testing.B) *recording {
	r, err := recorded()
	require.NoError(b, err)
	s := &r.stats
	must(b, s.Events == r.events && s.Crashes > 0 && s.Truncations > 0 && s.AppendsAcked > 0 && s.Reads > 0, "a run without much in it: %+v", s)
	return r
}

// BenchmarkValidate holds the recorded run against the specification, events in
// memory.
func BenchmarkValidate(b *testing.B) {
	r := record(b)
	var inputs []traces.Input
	for i, events := range r.byNode {
		inputs = append(inputs, traces.Events(fmt.Sprintf("node-%d", i+1), events))
	}
	var events int64
	for b.Loop() {
		res, err := traces.Validate(inputs, traces.Options{Run: r.run})
		require.NoError(b, err)
		must(b, res.Verdict == traces.Accepted && res.Stats.Events == r.events, "%v after %d of %d events", res.Verdict, res.Stats.Events, r.events)
		events += res.Stats.Events
	}
	rate(b, events, "events")
}

// encode writes a trace as a file has it.
func encode(b *testing.B, buf *bytes.Buffer, events []event.Event) {
	w := event.NewWriter(buf, events[0].Node)
	for i := range events {
		if err := w.Write(&events[i]); err != nil {
			b.Fatal(err)
		}
	}
	require.NoError(b, w.Close())
}

// BenchmarkDecode reads the traces of the run, from memory.
func BenchmarkDecode(b *testing.B) {
	r := record(b)
	var plain, compressed [][]byte
	size := 0
	for _, events := range r.byNode {
		var text, buf bytes.Buffer
		encode(b, &text, events)
		plain = append(plain, text.Bytes())
		size += text.Len()
		w, err := zstd.NewWriter(&buf, zstd.WithEncoderConcurrency(1))
		require.NoError(b, err)
		_, err = w.Write(text.Bytes())
		require.NoError(b, err)
		require.NoError(b, w.Close())
		compressed = append(compressed, buf.Bytes())
	}
	for _, c := range []struct {
		ext   string
		files [][]byte
	}{{"ndjson", plain}, {"ndjson.zst", compressed}} {
		b.Run(c.ext, func(b *testing.B) {
			b.SetBytes(int64(size)) // of text, not compressed
			var events int64
			for b.Loop() {
				before := events
				for _, file := range c.files {
					events += decode(b, file, "node."+c.ext)
				}
				must(b, events-before == r.events, "%d of %d events", events-before, r.events)
			}
			rate(b, events, "events")
		})
	}
}

func decode(b *testing.B, file []byte, name string) (n int64) {
	d, err := event.NewReader(bytes.NewReader(file), name)
	require.NoError(b, err)
	defer d.Close()
	var e event.Event
	for {
		err := d.Read(&e)
		if err == io.EOF {
			return n
		}
		if err != nil {
			b.Fatal(err)
		}
		n++
	}
}

// BenchmarkEncode writes the traces of the run.
func BenchmarkEncode(b *testing.B) {
	r := record(b)
	var events, size int64
	var buf bytes.Buffer
	for b.Loop() {
		for _, list := range r.byNode {
			buf.Reset()
			encode(b, &buf, list)
			size += int64(buf.Len())
			events += int64(len(list))
		}
	}
	rate(b, events, "events")
	b.SetBytes(size / int64(b.N))
	must(b, decode(b, buf.Bytes(), "node.ndjson") == int64(len(r.byNode[2])), "a trace that does not say what was written")
}

// BenchmarkHistory judges what the clients of the run saw: by offsets, given the
// committed log, and by porcupine's search for an order of the register, without it.
func BenchmarkHistory(b *testing.B) {
	r := record(b)
	b.Run("log", func(b *testing.B) {
		var ops int64
		for b.Loop() {
			// One operation for the register: next to nothing.
			rep, err := history.Check(&r.history, r.committed, history.Options{Whole: true, Register: linear.Limits{Ops: 1}})
			require.NoError(b, err)
			must(b, rep.Verdict == linear.Linearizable && rep.Log.Placed > 0, "%v", rep)
			ops += int64(rep.Stats.Ops())
		}
		rate(b, ops, "ops")
	})
	b.Run("register", func(b *testing.B) {
		registers, values := registerOps(&r.history)
		var ops int64
		for b.Loop() {
			res := linear.CheckRegister(registers, linear.Limits{Ops: 150}, nil)
			must(b, res.Violation == nil && res.Searched > 50, "%v: %s", res.Verdict, res.Reason)
			ops += int64(res.Searched)
		}
		must(b, values > 100, "a history of %d values", values)
		rate(b, ops, "ops")
	})
}

// registerOps is a history without offsets.
func registerOps(h *history.History) (ops []linear.RegisterOp, values int) {
	ids := map[string]uint64{"": 0}
	for i := range h.Ops {
		op := &h.Ops[i]
		id, ok := ids[op.Value]
		if !ok {
			id = uint64(len(ids))
			ids[op.Value] = id
		}
		ops = append(ops, linear.RegisterOp{
			Client: op.Client, Write: op.Kind == linear.Append, Outcome: op.Outcome, Call: op.Call, Return: op.Return, Value: id,
		})
	}
	slices.SortStableFunc(ops, func(x, y linear.RegisterOp) int { return int(x.Call - y.Call) })
	return ops, len(ids) - 1
}

// BenchmarkSimulation makes the run again: replicas, disks, network, faults, and the
// checks of the simulator after each event.
func BenchmarkSimulation(b *testing.B) {
	r := record(b)
	var steps, events, virtual int64
	for b.Loop() {
		stats, err := sim.Run(simulated, sim.Sinks{})
		require.NoError(b, err)
		must(b, stats == r.stats, "another run: %+v", stats)
		steps += stats.Steps
		events += stats.Events
		virtual += int64(stats.VirtualTime)
	}
	rate(b, steps, "steps")
	rate(b, events, "events")
	b.ReportMetric(float64(virtual)/1e6/b.Elapsed().Seconds(), "virtual-s/s")
}
